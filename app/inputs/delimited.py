"""Delimited text: what is cut at C speed, and the rows of any other.

Two columns of numbers without a header, and tables with the header `u,v` and perhaps `id`, `cluster` and `weight`, in any order:
what the fast path does not take is read by `frame`, as a file is.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from pydantic_core import from_json

from ..errors import InvalidTest
from ..statistics.paired import Column
from . import columns, integer_lists, tiny_numbers

Delimiter = Literal[",", "\t"]

# The counts of rycolab/paired-perm-test, in the order of their columns.
HEADERLESS_COUNTS = ("tp_u", "incorrect_u", "tp_v", "incorrect_v")
HEADER = ("id", "u", "v", "cluster", "weight")
NEWLINE = ord("\n")
# Of any table. A thousand named counts of two systems with ids and clusters are half of it.
MAX_COLUMNS = 4_096


@dataclass(frozen=True, slots=True)
class Table:
    """A delimited body: two columns of numbers and, with a header, ids, cluster keys and weights as written."""

    u: Column  # with gaps a list where fields are empty, None for these; the request checks it
    v: Column
    ids: list[str] | None = None
    clusters: list[str] | None = None
    weights: list[str] | None = None


@dataclass(frozen=True, slots=True)
class CountTable:
    """Named counts of both systems, shape (n,) each."""

    u: Mapping[str, Column]
    v: Mapping[str, Column]


def plain_table(body: bytes | bytearray, delimiter: Delimiter) -> Table | None:
    """A fast path for the usual body: no quotes, no empty lines, JSON-like numbers. None for anything else.

    Fields are cut at C speed once it is known that every line has as many as the first one.
    """
    flat = bytes(body).rstrip(b"\r\n").replace(b"\r\n", b"\n")
    first, _, rest = flat.partition(b"\n")
    fields_of_first = first.decode("ascii", "replace").split(delimiter, len(HEADER))
    names = [name.strip().lower() for name in fields_of_first]
    if "u" not in names or "v" not in names:
        names, rest = ["u", "v"], flat
    if (
        not rest
        or len(set(names)) != len(names)
        or not set(names) <= set(HEADER)
        or not is_grid(rest, names, delimiter)
    ):
        return None
    if names == ["u", "v"]:
        whole = integer_lists.integers(rest.translate(bytes.maketrans(b"\n" + delimiter.encode(), b",,")))
        if whole is not None:
            return Table(np.ascontiguousarray(whole[::2]), np.ascontiguousarray(whole[1::2]))
    try:
        fields = rest.decode().replace("\n", delimiter).split(delimiter)
        column = {name: fields[index :: len(names)] for index, name in enumerate(names)}
        return Table(
            _plain_numbers(column["u"]),
            _plain_numbers(column["v"]),
            column.get("id"),
            column.get("cluster"),
            column.get("weight"),
        )
    except (ValueError, InvalidTest):
        return None  # the slow reader names the line


def plain_counts(body: bytes | bytearray, delimiter: Delimiter) -> CountTable | None:
    """Four columns of integers without a header, at C speed; None for anything else."""
    flat = bytes(body).rstrip(b"\r\n").replace(b"\r\n", b"\n")
    if not is_grid(flat, list(HEADERLESS_COUNTS), delimiter):
        return None
    whole = integer_lists.integers(flat.translate(bytes.maketrans(b"\n" + delimiter.encode(), b",,")))
    if whole is None:
        return None
    tp_u, incorrect_u, tp_v, incorrect_v = (np.ascontiguousarray(whole[column::4]) for column in range(4))
    return CountTable({"tp": tp_u, "incorrect": incorrect_u}, {"tp": tp_v, "incorrect": incorrect_v})


def is_grid(text: bytes, names: list[str], delimiter: str) -> bool:
    """Whether every line has one field per name: a line's end must be every k-th separator and no other."""
    if b'"' in text or b"\r" in text or b"\0" in text:
        return False
    characters = np.frombuffer(text, dtype=np.uint8)
    ends = characters[(characters == ord(delimiter)) | (characters == NEWLINE)] == NEWLINE
    k = len(names)
    wanted = np.zeros(ends.size, dtype=bool)
    wanted[k - 1 :: k] = True
    return bool((ends.size + 1) % k == 0 and (ends == wanted).all())


def _plain_numbers(fields: list[str]) -> Column:
    text = "[" + ",".join(fields) + "]"
    values: list[Any] = from_json(text, allow_inf_nan=False)
    if len(values) != len(fields) or tiny_numbers.may_hold(text):
        raise ValueError
    return columns.numbers(values)


class RowError(Exception):
    """A line cannot be split into fields; `line` is counted from one."""

    def __init__(self, line: int, detail: str) -> None:
        super().__init__(detail)
        self.line = line


class NotDelimited(RowError):
    """The csv module refuses the line."""


class TooWide(RowError):
    """The line has more than MAX_COLUMNS fields."""

    def __init__(self, line: int) -> None:
        super().__init__(line, f"more than {MAX_COLUMNS:,} fields, which is more than a table may have.")


def csv_rows(text: str, delimiter: str, *, start: int = 0) -> Iterator[tuple[int, list[str]]]:
    """Rows, one at a time, with the number of their last line; `start` lines come before the text.

    A line without quotes that is too wide is refused before it is split, so that a wide file costs no more than its
    text.

    Raises
    ------
    NotDelimited, TooWide
        At the first such line.
    """
    begins_row = True  # the next line does not continue a quoted field

    def checked() -> Iterator[str]:
        nonlocal begins_row
        for number, line in enumerate(io.StringIO(text, newline=""), start + 1):
            if begins_row and line.count(delimiter) >= MAX_COLUMNS and '"' not in line:
                raise TooWide(number)
            begins_row = False
            yield line

    reader = csv.reader(checked(), delimiter=delimiter, strict=True)
    try:
        for row in reader:
            if len(row) > MAX_COLUMNS:
                raise TooWide(start + reader.line_num)
            begins_row = True
            yield start + reader.line_num, row
    except csv.Error as error:
        raise NotDelimited(start + reader.line_num, str(error)) from None
