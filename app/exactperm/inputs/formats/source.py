"""An uploaded file in its role: its text, its lines, and pointers into it.

Pointers are `/files/<role>/line/<n>[/<field>]` for files of lines (counted from one), and
`/files/<role>/<JSON pointer>` for one JSON document.
"""

from __future__ import annotations

import copy
import struct
import zipfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from ...errors import BodyTooLarge, Choice, Flaw, InvalidTest, MalformedBody
from .. import ndjson
from ..quoting import escaped
from .reader import UploadedFile

SHOWN_NAME_CHARS = 80
UTF8_BOM = b"\xef\xbb\xbf"
OTHER_BOMS = (b"\xff\xfe", b"\xfe\xff")
ZIP_MAGIC = b"PK"
READABLE = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
# What zipfile raises on archives that are truncated or malicious; RuntimeError asks for a password.
DAMAGED = (
    zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, ValueError, IndexError, OverflowError, RuntimeError,
)  # fmt: skip

P = ParamSpec("P")
Parsed = TypeVar("Parsed")


@dataclass(frozen=True, slots=True)
class Source:
    """One file in its role: `u`, `v`, `gold`, `qrels`, …, or `file` when it holds both systems; or a whole body.

    `memo` holds what was parsed of a file that is read again, beside another one; None where it is read once (`parsed_once`).
    """

    role: str
    name: str
    content: bytes
    is_body: bool = False
    memo: dict[Any, Any] | None = field(default=None, compare=False, repr=False)

    @property
    def pointer(self) -> str:
        """The pointer to the file in the request; empty for a body."""
        return "" if self.is_body else f"/files/{self.role}"

    @property
    def label(self) -> str:
        """Its role and name, for notes and errors."""
        if self.is_body:
            return "the body"
        return f"{self.role} ({self.name[:SHOWN_NAME_CHARS]})" if self.name else self.role

    def line(self, number: int, *below: object) -> str:
        """The pointer to a line, or to a field of it."""
        return "/".join((self.pointer, "line", str(number), *map(escaped, below)))

    def at(self, *below: object) -> str:
        """The pointer to a place inside a JSON document."""
        return "/".join((self.pointer, *map(escaped, below)))

    def text(self, notes: list[str]) -> str:
        """The content as text.

        Raises
        ------
        MalformedBody
            It is not UTF-8, or has NUL characters; the line is named.
        """
        content = self.content
        if content.startswith(UTF8_BOM):
            notes.append(f"{self.label}: it starts with a byte order mark, which was left out.")
            content = content[len(UTF8_BOM) :]
        if content.startswith(OTHER_BOMS):
            raise self.malformed(1, "not_utf8", "It looks like UTF-16; save it as UTF-8.")
        try:
            text = content.decode("utf-8")
        except UnicodeDecodeError as error:
            line = content.count(b"\n", 0, error.start) + 1
            raise self.malformed(line, "not_utf8", f"Line {line:,} is not UTF-8.") from None
        if "\0" in text:
            line = text.count("\n", 0, text.index("\0")) + 1
            raise self.malformed(line, "nul_character", f"Line {line:,} has a NUL character.")
        return text

    def lines(self, notes: list[str]) -> list[str]:
        r"""The lines, without their ends (\n or \r\n, nothing else: texts hold U+2028 and U+0085)."""
        lines = [line.removesuffix("\r") for line in self.text(notes).split("\n")]
        if lines[-1] == "":
            lines.pop()
        if not lines:
            raise self.empty()
        return lines

    def empty(self) -> InvalidTest:
        """The refusal of an empty file."""
        return InvalidTest.at(self.pointer, "no_items", f"{self.label}: there is nothing in this file.")

    def too_large(self, why: str) -> BodyTooLarge:
        """The refusal of a file that holds more than allowed."""
        detail = f"{self.label}: {why}"
        return BodyTooLarge(detail, flaws=(Flaw(self.pointer, "file_too_large", detail),))

    def refuse_more(self, n: int, most: int) -> None:
        """Refuse more items than the limit, before they are read; raises BodyTooLarge."""
        if n > most:
            raise self.too_large(f"it holds at least {n:,} items; at most {most:,} are allowed.")

    def malformed(self, line: int, code: str, detail: str) -> MalformedBody:
        """An error about bytes that cannot be read at all."""
        detail = f"{self.label}: {detail}"
        return MalformedBody(detail, flaws=(Flaw(self.line(line), code, detail),))

    def refused(
        self, at: int | str, code: str, detail: str, *below: object, choices: tuple[Choice, ...] = ()
    ) -> InvalidTest:
        """The refusal of a line, of what is at a path of the file, or of something below; of the file where the path is empty."""
        where, path = (f"line {at:,}", f"line/{at}") if isinstance(at, int) else (in_words(at), at)
        pointer = "/".join((self.pointer, *filter(None, (path, *map(escaped, below)))))
        return InvalidTest.at(
            pointer, code, f"{', '.join(filter(None, (self.label, where)))}: {detail}", choices
        )

    def decoded(self, notes: list[Any]) -> Any:
        """The value of the one JSON text that it is; raises MalformedBody."""
        return ndjson.decoded(self.text(notes), self.pointer, self.label)

    def document(self, notes: list[Any]) -> dict[str, Any]:
        """The one JSON object that it is; raises MalformedBody, or InvalidTest where it is none."""
        value = self.decoded(notes)
        if not isinstance(value, dict):
            raise self.refused("", "not_an_object", "this is not one JSON object.")
        return value

    def objects(
        self, value: Any, path: str = "", code: str = "not_a_list"
    ) -> list[tuple[str, dict[str, Any]]]:
        """The objects of a list, with their paths; raises InvalidTest with the code where it is another thing."""
        if isinstance(value, list) and all(isinstance(one, dict) for one in value):
            return [(f"{path}/{index}" if path else str(index), one) for index, one in enumerate(value)]
        below = filter(None, path.split("/"))
        raise self.refused("", code, f"{path or 'this'} is not a list of objects.", *below)


def in_words(path: str) -> str:
    """A path below a file as a sentence calls it: `line/7` is line 7."""
    head, _, rest = path.partition("/")
    number, _, below = rest.partition("/")
    if head not in {"line", "row"} or not number.isdecimal():
        return path
    return f"{head} {number}" + (f" ({below})" if below else "")


def sources(files: Mapping[str, UploadedFile]) -> dict[str, Source]:
    """The files by role."""
    return {
        role: Source(role, file.name, file.content, file.is_body, file.memo) for role, file in files.items()
    }


def parsed_once(parse: Callable[Concatenate[Source, P], Parsed]) -> Callable[Concatenate[Source, P], Parsed]:
    """Parse a source with a memo once: asked again, a copy of what was made of it, and its notes once more.

    Lists among the arguments are of notes; other files beside the source are the same in all calls.
    """

    @wraps(parse)
    def remembered(source: Source, /, *args: P.args, **options: P.kwargs) -> Parsed:
        if source.memo is None:
            return parse(source, *args, **options)
        given = (*args, *sorted(options.items()))
        key = (parse, *(each for each in given if not isinstance(each, list | dict)))
        notes: list[Any] = next((each for each in args if isinstance(each, list)), [])
        if key not in source.memo:
            before = len(notes)
            made = parse(source, *args, **options)
            source.memo[key] = made, notes[before:]
        else:
            notes += source.memo[key][1]
        parsed: Parsed = copy.copy(source.memo[key][0])
        return parsed

    return remembered
