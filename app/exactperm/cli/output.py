"""Output: answers go to standard output or a file, problems in words and progress to standard error.

Progress is one line on a terminal; elsewhere lines are written only if it takes long.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
import threading
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any, Self, TextIO

import click

from ..errors import place_of
from ..presentation.escaping import single_line
from ..reports.representations import BY_SUFFIX
from .options import BOARD_SECTIONS, RARE, SECTIONS as PAIR_SECTIONS, option_of

if TYPE_CHECKING:
    from ..client.errors import Spelling

PASSED, FAILED, ERROR, INTERRUPTED = 0, 1, 2, 130  # exit statuses
MAX_SHOWN = 20
UNAUTHORIZED = 401
INTERNAL = 500  # in this process there is no request id
SECTIONS = (*PAIR_SECTIONS.values(), *BOARD_SECTIONS.values())
FIELDS = frozenset(field.name for section in SECTIONS for field in section) | {"compare"}
DIRECTIONS = {"true": "--higher-is-better", "false": "--lower-is-better"}
FILES = frozenset(("gold", "ref", "qrels", "documents"))
ORDER = {"u": "the first FILE", "v": "the second FILE", "file": "FILE", "system": "FILE FILE ..."}
SIDES = {"u": "candidate", "v": "baseline", "file": "candidate"}
# The inputs of action.yml that are fields of a form.
INPUTS = frozenset((
    "format", "statistic", "metric", "metrics", "filter", "id_column", "score_column", "system_u", "system_v", "on_missing",
    "on_mismatch", "repeats", "policy", "margin", "threshold", "range", "alpha", "on_inconclusive", "higher_is_better", "clusters", "sequential",
    "gold", "ref", "against", "candidate", "baseline",
))  # fmt: skip
PLAIN = re.compile(r"[A-Za-z_][\w.@/-]*")
FLAGS = frozenset(field.name for section in SECTIONS for field in section if field.flag)


class Refused(click.ClickException):
    """An error without usage help, and the exit status of a comparison that could not be made."""

    exit_code = ERROR

    def show(self, file: IO[Any] | None = None) -> None:
        """Print it in one line."""
        click.echo(f"exactperm: {single_line(self.format_message())}", file=file, err=file is None)


def format_of(chosen: str | None, path: str | None) -> str:
    """The representation: as chosen, else by the ending of the file, else a line of text.

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
        # The rest of the buffer must not raise again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def append(text: str, path: str) -> None:
    """Add lines to a file; raises Refused when it cannot be written."""
    try:
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise Refused(f"{path} cannot be written: {error.strerror}.") from None


def require_server(url: str | None) -> None:
    """Refuse to store an answer without a server; raises UsageError."""
    if url is None:
        raise click.UsageError(
            "--store needs a server: name it with --url or EXACTPERM_URL. To keep the answer here, write "
            "it with -o FILE."
        )


def say_permalink(permalink: str | None, *, stored: bool) -> None:
    """Print the address of a stored answer, or that the server gave none."""
    if permalink is not None:
        click.echo(f"exactperm: kept at {permalink}", err=True)
    elif stored:
        click.echo("exactperm: the server gave no address for this answer; it may not be stored", err=True)


def complain(problem: Mapping[str, Any], paths: Mapping[str, str], entrance: str | None = None) -> None:
    """Print problem details (RFC 9457) in words, with the file or option of each fault.

    Options are spelt as typed, or as in the `entrance` that ran the command: github, gitlab.
    """
    spelled = partial(in_words, spelling=SPELLINGS.get(entrance))
    detail = spelled(str(problem.get("detail", "")))
    if problem.get("status") == INTERNAL and not problem.get("instance", "").strip("-"):
        detail = "This is a bug of exactperm; please report it, with the line before this one."
    lines = [f"exactperm: {detail}"]
    flaws = [flaw for flaw in problem.get("errors", ()) if isinstance(flaw, dict)]
    sentences = [spelled(str(flaw.get("detail", ""))) for flaw in flaws]
    if detail.startswith("At ") and sentences and detail.endswith(sentences[0]):
        lines = [f"exactperm: {sentences[0]}"]
    for flaw, sentence in list(zip(flaws, sentences, strict=True))[:MAX_SHOWN]:
        where = spelled(where_in(str(flaw.get("pointer", "")), paths))
        if sentence not in detail:
            lines.append(f"  at {where}: {sentence}" if where else f"  - {sentence}")
        elif where and where not in lines[0]:
            lines.append(f"  at {where}")
    if problem.get("status") == UNAUTHORIZED:
        lines.append("  Give the key with --api-key, or in EXACTPERM_API_KEY.")
    click.echo("\n".join(map(printable, lines)), err=True)


def where_in(pointer: str, paths: Mapping[str, str]) -> str:
    """A pointer in words: the file, the line, the option with its mark."""
    if pointer.startswith("/?"):  # `format` is another option of the files
        return "--" + pointer[2:].replace("_", "-")
    return place_of(f"/options{pointer}" if pointer[1:] in FIELDS else pointer, paths)


def printable(text: str) -> str:
    """The text without control characters, and without the commands that workflow runners look for in output."""
    shown = "".join(character if character.isprintable() else "\ufffd" for character in text)
    return shown.replace("##[", "# #[")


def in_words(sentence: str, spelling: Spelling | None = None) -> str:
    """A sentence of the service, with its options as typed, or in another `spelling`."""
    from ..client.errors import spelt  # which loads libraries

    return spelt(sentence, spelling or option_typed)


def option_typed(name: str, value: str | None) -> str:
    """`id_column=name` as `--id-column name`; other fields as `-O NAME=VALUE`."""
    if name in ORDER:
        return ORDER[name]
    if name == "higher_is_better" and value in DIRECTIONS:
        return DIRECTIONS[value]
    if value is None or (name in FLAGS - RARE and value == "true"):
        return option_of(name)
    if name in RARE or name not in FIELDS | FILES:
        return f"-O {name}={shlex.quote(value)}"
    return f"{option_of(name)} {shlex.quote(value)}"


def input_of_action(name: str, value: str | None) -> str:
    """As an input of the action: `id-column: q`; other fields as a line of its input `options`."""
    name = SIDES.get(name, name)
    if name not in INPUTS:
        return f"options: {name}={'' if value is None else value}"
    return _in_yaml(name.replace("_", "-"), value)


def variable_of_job(name: str, value: str | None) -> str:
    """As a variable of the template for GitLab: `GATE_ID_COLUMN: q`."""
    return _in_yaml("GATE_" + SIDES.get(name, name).upper(), value)


def _in_yaml(name: str, value: str | None) -> str:
    if value is None:
        return name
    return f"{name}: {value if PLAIN.fullmatch(value) else json.dumps(value, ensure_ascii=False)}"


SPELLINGS: Mapping[str | None, Spelling] = {"github": input_of_action, "gitlab": variable_of_job}


# Progress


AFTER_S = 1.0  # of one step, before anything is printed without a terminal
READING_AFTER_S = 5.0  # loading the libraries takes a while on a busy machine
EVERY_S = 0.25
LONG_S = 3600.0


class Progress:
    """Shows the current step from `__enter__` to `__exit__`, unless `quiet`."""

    def __init__(self, *, quiet: bool, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._quiet = quiet
        self._live = self._stream.isatty()
        self._started = self._since = time.monotonic()
        self._due = READING_AFTER_S
        self._doing = "reading"
        self._planned_s: float | None = None
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        if not self._quiet:
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        if not self._quiet:
            self._thread.join(1.0)

    def doing(self, what: str, planned_s: float | None = None) -> None:
        """Begin a step that should take `planned_s`."""
        self._doing, self._planned_s = what, planned_s
        self._since, self._due = time.monotonic(), AFTER_S

    def _watch(self) -> None:
        """Update a line on a terminal; elsewhere print lines after 1, 2, 4, … seconds."""
        shown = False
        while not self._ended.wait(EVERY_S):
            if self._live:
                self._say(f"\r\x1b[K{self._line()}")
                shown = True
            elif time.monotonic() - self._since >= self._due:
                self._due *= 2
                self._say(f"{self._line()}\n")
        if shown:
            self._say("\r\x1b[K")

    def _line(self) -> str:
        planned = "" if self._planned_s is None else f", planned about {duration(self._planned_s)}"
        return f"exactperm: {self._doing}… {duration(time.monotonic() - self._started)}{planned}"

    def _say(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):
            self._ended.set()


def duration(seconds: float) -> str:
    """Seconds with a unit.

    >>> duration(0.04), duration(12.3), duration(200), duration(7200)
    ('0.04 s', '12 s', '3.3 min', '2 h')
    """
    if seconds < 1:
        return f"{seconds:.2g} s"
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.2g} min" if seconds < LONG_S else f"{seconds / LONG_S:.2g} h"
