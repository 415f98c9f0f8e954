"""Describe a file format: its reader, the files and options it takes, and how to recognise its files."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import Any

from .delimited import declared_delimiter, fields_of, guessed_delimiter
from .json_records import holds_lists
from .json_text import object_in
from .reader import UTF8_BOM, ZIP_MAGIC, Kind, ReaderOptions, Reading, Source

START_BYTES = 65_536
MAX_LINES = 50
COMMENT = re.compile(r"#\s*(?:newdoc|newpar|[\w.]+\s*=)")


class Sign(IntEnum):
    """How certain it is that files have a format. The strongest sign decides; among equals, the format listed first."""

    NONE = 0
    LINES = 1  # numbers or text, line by line
    SHAPE = 2  # every line has the shape of the format
    HEADER = 3  # names of columns
    MARK = 4  # a feature of no other format


class FirstLook:
    """The part of the files that a guess uses: roles, and the first bytes of one file as text or JSON."""

    def __init__(self, files: Mapping[str, Source]) -> None:
        self.files = files
        self.roles = frozenset(files)
        self.source = files.get("u") or files.get("file") or next(iter(files.values()))
        start = self.source.content.removeprefix(UTF8_BOM)[:START_BYTES]
        self.text = start.decode("utf-8", "replace")
        self.name = re.sub(r"\.(gz|zst)\Z", "", self.source.name.lower())
        self.is_archive = self.source.content.startswith(ZIP_MAGIC)
        self.is_json = not self.is_archive and self.text.lstrip()[:1] in ("{", "[")

    def other(self, role: str) -> FirstLook:
        """The first look at the file in another role."""
        return FirstLook({role: self.files[role]})

    @cached_property
    def record(self) -> dict[str, Any] | None:
        """The JSON object on the first line, if it is a record and not the whole document."""
        line = object_in(self._first_line) if self.is_json else None
        if line is None or not self._is_single_line:
            return line
        inner = [line.get(name) for name in ("eval", "results", "items", "benchmarks")]
        return None if holds_lists(line) or any(isinstance(each, dict | list) for each in inner) else line

    @cached_property
    def _is_single_line(self) -> bool:
        """Whether only empty lines follow the first non-empty one."""
        return b"\n" not in self.source.content.strip()

    @cached_property
    def _first_line(self) -> str:
        """The first line of text, even if it is longer than the part that a guess uses."""
        first, end, _ = self.text.lstrip().partition("\n")
        content = self.source.content.removeprefix(UTF8_BOM)
        if end or len(content) <= START_BYTES:
            return first
        return content.lstrip().partition(b"\n")[0].decode("utf-8", "replace")

    @cached_property
    def first_object(self) -> dict[str, Any]:
        """The first object of lines of JSON or of an array; empty if there is none."""
        if self.record is not None or not self.text.lstrip().startswith("["):
            return self.record or {}
        whole = self.source.content.removeprefix(UTF8_BOM).decode("utf-8", "replace")
        try:
            value, _ = json.JSONDecoder().raw_decode(whole.lstrip()[1:].lstrip())
        except (ValueError, RecursionError):
            return {}
        return value if isinstance(value, dict) else {}

    @cached_property
    def document(self) -> dict[str, Any]:
        """The JSON object that is the whole file; empty if the file is not an object, or if its first line is a record."""
        if not self.is_json or self.text.lstrip().startswith("[") or self.record is not None:
            return {}
        return object_in(self.source.content.removeprefix(UTF8_BOM).decode("utf-8", "replace")) or {}

    @cached_property
    def whole(self) -> dict[str, Any]:
        """The only JSON object of the file, on one or several lines; empty for other files."""
        return self.document or (self.record or {} if self._is_single_line else {})

    @cached_property
    def rows(self) -> list[str]:
        """The first lines of text that hold data; none for JSON and archives."""
        if self.is_archive or self.is_json:
            return []
        lines = [line.rstrip("\r") for line in self.text.split("\n", MAX_LINES)][:MAX_LINES]
        if declared_delimiter(lines[0]) is not None:
            lines.pop(0)
        return [line for line in lines if line.strip() and not COMMENT.match(line)]

    @cached_property
    def delimiter(self) -> str:
        """The separator of the columns: as declared on line 1, or guessed."""
        return declared_delimiter(self.text.partition("\n")[0].rstrip("\r")) or guessed_delimiter(self.rows)

    @cached_property
    def columns(self) -> frozenset[str]:
        """The first line as names of columns."""
        if not self.rows:
            return frozenset()
        return frozenset(name.strip().lower() for name in fields_of(self.rows[0].strip(), self.delimiter))

    @cached_property
    def table(self) -> list[list[str]]:
        """The first lines as rows of a table, without comments at the top and without a last line that may be cut off."""
        rows = list(itertools.dropwhile(lambda row: row.startswith("#"), self.rows))
        cells = [[field.strip() for field in fields_of(row, self.delimiter)] for row in rows]
        return cells[:-1] if len(self.text) >= START_BYTES and len(cells) > 1 else cells

    @cached_property
    def first_values(self) -> dict[str, list[Any]]:
        """The first values of each column or field, by its name in lower case; empty if the file has neither."""
        if self.is_json:
            try:
                if self.text.lstrip().startswith("["):
                    values = json.loads(self.source.content)[:MAX_LINES]
                else:
                    lines = self.text.split("\n", MAX_LINES)[:MAX_LINES]
                    if len(self.text) < len(self.source.content) and len(lines) > 1:
                        lines.pop()  # it may be cut off
                    values = [json.loads(line) for line in lines if line.strip()]
            except (ValueError, RecursionError):
                return {}
            records = [value for value in values if isinstance(value, dict)]
            fields = dict.fromkeys(name for record in records for name in record)
            return {name.lower(): [record.get(name) for record in records] for name in fields}
        names, *rows = self.table or [[]]
        whole = [row for row in rows if len(row) == len(names)]
        columns = {name.lower(): [row[at] for row in whole] for at, name in enumerate(names)}
        return columns if whole else {}


# The signature of a reader: from files by role, options and the name of the format to a reading; raises InputError.
Read = Callable[[Mapping[str, Source], ReaderOptions, str], Reading]


@dataclass(frozen=True, slots=True)
class Format:
    """A reader, the roles of its files, the options it uses, and a one-line summary of the format.

    `kinds` are the kinds of tests that its readings may be; empty if the statistic follows from the format. `statistics` are the values of
    the option `statistic` that the reader handles. `delimiter` is its default. `suffixes` are endings of names of text files that decide if
    the content does not. `several`: whether the systems may have a file for each task. `zero`: whether a missing item may count 0.
    """

    name: str
    read: Read
    roles: tuple[str, ...]
    uses: frozenset[str]
    summary: str
    kinds: tuple[Kind, ...] = ()
    statistics: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    delimiter: str | None = None
    sign: Callable[[FirstLook], Sign] = lambda _: Sign.NONE  # for formats that are read only if named
    suffixes: tuple[str, ...] = ()
    several: bool = True
    zero: bool = False
