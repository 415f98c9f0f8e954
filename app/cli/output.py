"""Output: answers go to standard output or a file, problems in words to standard error."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import click

from ..reports.escaping import single_line
from ..reports.representations import BY_SUFFIX
from .compare_options import SECTIONS as OF_A_BOARD
from .options import SECTIONS as OF_TWO, option_of

PASSED, FAILED, ERROR, INTERRUPTED = 0, 1, 2, 130  # exit statuses
MAX_SHOWN = 20
UNAUTHORIZED = 401
INTERNAL = 500  # in this process there is no request id to ask for
SECTIONS = (*OF_TWO.values(), *OF_A_BOARD.values())
FIELDS = frozenset(field.name for section in SECTIONS for field in section) | {"compare"}
DIRECTIONS = {"true": "--higher-is-better", "false": "--lower-is-better"}
FILES = frozenset(("gold", "ref", "qrels", "documents"))
FLAGS = frozenset(field.name for section in SECTIONS for field in section if field.flag)
# The service speaks of fields and members; here they are options. What is in quotes is the caller's own.
QUOTED = r'"(?:[^"\\]|\\.)*"'
MEMBER = re.compile(r'\b(say|give) "(\w+)": "(\w+)"')
HINT = re.compile(rf"{QUOTED}|\b([a-z]\w*)=(true\b|false\b|)")
UNDERSCORED = re.compile(
    rf"{QUOTED}|(?<![\w-])({'|'.join(sorted((n for n in FIELDS if '_' in n), key=len, reverse=True))})\b"
)


class Refused(click.ClickException):
    """An error without usage help; the exit status is that of a comparison that could not be made."""

    exit_code = ERROR

    def show(self, file: IO[Any] | None = None) -> None:
        """Print it in one line."""
        click.echo(f"exactperm: {single_line(self.format_message())}", file=file, err=file is None)


def format_of(chosen: str | None, path: str | None) -> str:
    """The representation: the chosen one, else by the ending of the file, else a line of text.

    Raises
    ------
        BadParameter: no representation has this ending.
    """
    suffix = Path(path).suffix.lower() if path is not None else ""
    if chosen is not None or not suffix:
        return chosen or "text"
    if suffix not in BY_SUFFIX:
        detail = (
            f"There is no report with the ending {suffix}; there are {', '.join(BY_SUFFIX)}. Or say --format."
        )
        raise click.BadParameter(detail, param_hint="--output")
    return BY_SUFFIX[suffix].name


def write(content: bytes, path: str | None) -> None:
    """Write an answer; raises Refused when a file cannot be written. A closed pipe is not an error."""
    if path is not None:
        try:
            Path(path).write_bytes(content)
        except OSError as error:
            raise Refused(f"{path} cannot be written: {error.strerror}.") from None
        return
    stream = sys.stdout.buffer
    try:
        stream.write(content)
        stream.flush()
    except BrokenPipeError:
        # What is left in the buffer must not raise again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def append(text: str, path: str) -> None:
    """Add lines to a file; raises Refused when it cannot be written."""
    try:
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise Refused(f"{path} cannot be written: {error.strerror}.") from None


def require_server(url: str | None) -> None:
    """Refuse to keep an answer where there is no server; raises UsageError."""
    if url is None:
        raise click.UsageError(
            "--store is for a server: name it with --url, or in EXACTPERM_URL. Here nothing is kept; -o FILE writes the answer."
        )


def say_permalink(permalink: str | None, *, asked: bool) -> None:
    """Say where an answer is kept; or that nothing says so, though it was to be."""
    if permalink is not None:
        click.echo(f"exactperm: kept at {permalink}", err=True)
    elif asked:
        click.echo("exactperm: the server does not say where it keeps this answer, if it does", err=True)


def complain(problem: Mapping[str, Any], paths: Mapping[str, str]) -> None:
    """Print problem details (RFC 9457) in words: what is wrong, and where in which file or option."""
    detail = in_words(str(problem.get("detail", "")))
    if problem.get("status") == INTERNAL and not problem.get("instance", "").strip("-"):
        detail = "This is a bug of exactperm; please report it, with the line before this one."
    if detail.startswith("At /"):
        detail = detail.partition(": ")[2] or detail
    lines = [f"exactperm: {detail}"]
    flaws = [flaw for flaw in problem.get("errors", ()) if isinstance(flaw, dict)]
    for flaw in flaws[:MAX_SHOWN]:
        where, sentence = location(str(flaw.get("pointer", "")), paths), in_words(str(flaw.get("detail", "")))
        if sentence not in detail:
            lines.append(f"  at {where}: {sentence}" if where else f"  - {sentence}")
        elif where and where not in detail:
            lines.append(f"  at {where}")
    if problem.get("status") == UNAUTHORIZED:
        lines.append("  Give the key with --api-key, or in EXACTPERM_API_KEY.")
    click.echo("\n".join(map(printable, lines)), err=True)


def printable(text: str) -> str:
    """The text without control characters, and without the commands that runners of workflows look for in all output."""
    shown = "".join(character if character.isprintable() else "\ufffd" for character in text)
    return shown.replace("##[", "# #[")


def in_words(detail: str) -> str:
    """A sentence of the service, with options instead of fields."""
    detail = MEMBER.sub(lambda m: f"{m[1]} {option_of(m[2])} {m[3]}", detail)
    return UNDERSCORED.sub(_named, HINT.sub(_hinted, detail))


def _hinted(found: re.Match[str]) -> str:
    """`id_column=name` as `--id-column name`; `id_column=` as `--id-column`; quoted text as it is."""
    name, value = found[1], found[2]
    if name == "higher_is_better" and value:
        return DIRECTIONS[value]
    if name is None or name not in FIELDS | FILES:
        return found[0]
    if name in FLAGS:
        return option_of(name) if value == "true" else found[0]
    follows = found.string[found.end() : found.end() + 1]
    blank = " " if value or (follows and follows not in " ,.;:()") else ""
    return f"{option_of(name)}{blank}{value}"


def _named(found: re.Match[str]) -> str:
    return found[0] if found[1] is None else option_of(found[1])


def location(pointer: str, paths: Mapping[str, str]) -> str:
    """A pointer in words: the file, the line, the option."""
    if pointer.startswith("/?"):
        option, *parts = pointer[2:].split("/")
        return ", ".join(["--" + option.replace("_", "-"), *parts])
    first, *rest = pointer[1:].split("/")
    if first == "options" and rest:
        return ", ".join(
            [option_of(rest[0]), *(f"metric {int(one) + 1}" if one.isdigit() else one for one in rest[1:])]
        )
    if first == "files" and "/".join(rest[:2]) in paths:  # one of several baselines
        return ", ".join([paths["/".join(rest[:2])], *_within(rest[2:])])
    if first == "files" and rest:
        return ", ".join([paths.get(rest[0], f"file {rest[0]}"), *_within(rest[1:])])
    if first in FIELDS and not rest:
        return option_of(first)
    return ", ".join(_within([first, *rest])) if first else ""


def _within(parts: list[str]) -> list[str]:
    """The position in a file: /line/3/2 is line 3, field 2."""
    parts = [part.replace("~1", "/").replace("~0", "~") for part in parts]
    if len(parts) >= 2 and parts[0] == "line":
        field = [f"field {parts[2]}"] if len(parts) > 2 and parts[2].isdigit() else parts[2:3]
        return [f"line {parts[1]}", *field, *parts[3:]]
    return ["/".join(parts)] if parts else []
