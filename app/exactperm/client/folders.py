"""Files of a folder or a pattern, read in the order of their names; links that lead out are not followed."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .errors import InvalidData

MAX_FILES = 2_000
MAX_DEPTH = 12
MAGIC = re.compile(r"[*?\[]")
# Files that evaluation tools write for each task, beside files about the run. Other files of such folders are skipped.
OF_TOOLS = (
    re.compile(r"samples_.+_\d{4}-\d\d-\d\dT.*\.jsonl(\.gz|\.zst)?"),  # lm-evaluation-harness
    re.compile(r"details_.+_\d{4}-\d\d-\d\dT.*\.(parquet|jsonl?)(\.gz|\.zst)?"),  # lighteval
    re.compile(r"per_instance_stats\.json(\.gz|\.zst)?"),  # HELM
)


@dataclass(frozen=True, slots=True)
class Several:
    """Several files of one system: names with their folders, contents, and the names of skipped files."""

    files: tuple[tuple[str, bytes], ...]
    left_out: tuple[str, ...] = ()


def several(path: str | os.PathLike[str]) -> Several | None:
    """The files of a folder or of a pattern with `*`, `?`, `[…]` or `**`; None for the path of one file.

    Raises
    ------
        InvalidData: no file, too many files, an unreadable file, or a link that leads out of the folder.
    """
    folder = Path(path)
    try:
        is_folder, is_there = folder.is_dir(), folder.exists()
    except OSError as error:  # the name is too long, or the folder may not be entered
        raise InvalidData(f"{path} cannot be read: {error.strerror}.") from None
    if is_folder:
        return _read(folder, sorted(_walked(folder, MAX_DEPTH)), str(path))
    text = os.fspath(path)
    if is_there or MAGIC.search(text) is None:
        return None
    base, pattern = _split(text)
    if not base.is_dir():
        raise InvalidData(f"{text} names no file: there is no folder {base}.")
    depth = MAX_DEPTH if "**" in pattern else pattern.count("/")
    matching = re.compile(_expression(pattern))
    files = sorted(file for file in _walked(base, depth) if matching.fullmatch(file))
    return _read(base, files, text)


def _read(base: Path, names: list[str], pattern: str) -> Several:
    by_tool = next((tool for tool in OF_TOOLS if any(tool.fullmatch(_name(file)) for file in names)), None)
    taken = names if by_tool is None else [file for file in names if by_tool.fullmatch(_name(file))]
    if not taken:
        raise InvalidData(f"{pattern} names no file.")
    if len(taken) > MAX_FILES:
        raise InvalidData(f"{pattern} has more than {MAX_FILES:,} files: is it the folder of one system?")
    folder = base.resolve().name
    files = []
    for name in taken:
        _require_inside(base / name, base.resolve())
        try:
            files.append((f"{folder}/{name}", (base / name).read_bytes()))
        except OSError as error:
            raise InvalidData(f"{base / name} cannot be read: {error.strerror}.") from None
    return Several(tuple(files), tuple(sorted(set(names) - set(taken))))


def _name(file: str) -> str:
    return file.rpartition("/")[2]


def _walked(base: Path, depth: int) -> Iterator[str]:
    """The files below a folder, with / between names: no hidden ones, and nothing behind a link to a folder."""
    home = base.resolve()
    seen = 0

    def refuse(error: OSError) -> None:
        raise InvalidData(f"{error.filename} cannot be read: {error.strerror}.")

    for where, folders, names in os.walk(base, onerror=refuse):
        folder = Path(where)
        level = len(folder.relative_to(base).parts)
        folders[:] = sorted(name for name in folders if not name.startswith(".")) if level < depth else []
        for name in folders:
            _require_inside(folder / name, home)
        for name in names:
            if name.startswith(".") or not (folder / name).is_file():
                continue
            seen += 1
            if seen > 10 * MAX_FILES:
                raise InvalidData(f"{base} has more than {10 * MAX_FILES:,} files: give a narrower pattern.")
            yield (folder / name).relative_to(base).as_posix()


def _require_inside(path: Path, home: Path) -> None:
    if path.is_symlink() and not path.resolve().is_relative_to(home):
        raise InvalidData(
            f"{path} is a link that leads out of {home}: it is not followed; give its files themselves."
        )


def _split(text: str) -> tuple[Path, str]:
    """The folder before the first part with a pattern, and the rest."""
    parts = Path(text).parts
    first = next(index for index, part in enumerate(parts) if MAGIC.search(part))
    return Path(*parts[:first]) if first else Path(), "/".join(parts[first:])


def _expression(pattern: str) -> str:
    """A regular expression for the paths that a pattern names; a star is within a folder, two are any folders."""
    expression, left = "", pattern
    while left:
        if left.startswith("**/"):
            expression, left = expression + r"(?:[^/]+/)*", left[3:]
        elif left.startswith("**"):
            expression, left = expression + r".*", left[2:]
        elif left[0] == "*":
            expression, left = expression + r"[^/]*", left[1:]
        elif left[0] == "?":
            expression, left = expression + r"[^/]", left[1:]
        elif left[0] == "[" and (end := left.find("]", 2)) > 0:
            inside = (
                left[1:end]
                .replace("\\", r"\\")
                .replace("[", r"\[")
                .replace("&&", r"&\&")
                .replace("~~", r"~\~")
                .replace("||", r"|\|")
            )
            inside = "^" + inside[1:] if inside[0] == "!" else inside
            expression, left = expression + f"(?!/)[{inside}]", left[end + 1 :]
        else:
            expression, left = expression + re.escape(left[0]), left[1:]
    return expression
