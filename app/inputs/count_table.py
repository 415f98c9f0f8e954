"""Delimited tables of counts: `tp_u,incorrect_u,tp_v,incorrect_v` without a header, or named in one.

The headerless form is that of rycolab/paired-perm-test. With a header, every count has two columns, `<name>_u` and
`<name>_v`, in any order, beside `id` and `cluster`, which may be missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ..errors import InvalidTest
from ..statistics.paired import Column
from . import integer_lists
from .delimited import (
    Delimiter,
    Rows,
    column_of,
    fields_of,
    first_line_and_rows,
    is_grid,
    keys_of,
    require_rows,
)

HEADERLESS_COUNTS = ("tp", "incorrect")
HEADERLESS = ["tp_u", "incorrect_u", "tp_v", "incorrect_v"]
KEYS = ("id", "cluster")


@dataclass(frozen=True, slots=True)
class CountTable:
    """Named counts of both systems, shape (n,) each, and with a header ids and cluster keys."""

    u: Mapping[str, Column]
    v: Mapping[str, Column]
    ids: list[str] | None = None
    clusters: list[str] | None = None


def read(body: bytes | bytearray, delimiter: Delimiter) -> CountTable:
    """Read a delimited body of counts.

    Raises
    ------
    MalformedBody
        It is not UTF-8 or not delimited text.
    InvalidTest
        A line or the header is wrong; pointers are `/line/<n>[/<field>]`, from one.
    """
    quick = _headerless_integers(body, delimiter)
    if quick is not None:
        return quick
    names, rows = first_line_and_rows(body, delimiter)
    if any(name.endswith(("_u", "_v")) for name in names):
        return from_rows(names, rows[1:])
    return from_rows(HEADERLESS, rows)


def _headerless_integers(body: bytes | bytearray, delimiter: Delimiter) -> CountTable | None:
    """A fast path at C speed for the usual body; None for anything else, which the slow reader reads or refuses."""
    flat = bytes(body).rstrip(b"\r\n").replace(b"\r\n", b"\n")
    if not is_grid(flat, HEADERLESS, delimiter):
        return None
    whole = integer_lists.integers(flat.translate(bytes.maketrans(b"\n" + delimiter.encode(), b",,")))
    if whole is None:
        return None
    tp_u, incorrect_u, tp_v, incorrect_v = (np.ascontiguousarray(whole[column::4]) for column in range(4))
    return CountTable({"tp": tp_u, "incorrect": incorrect_u}, {"tp": tp_v, "incorrect": incorrect_v})


def from_rows(names: list[str], rows: Rows) -> CountTable:
    """A table whose columns have these names; raises InvalidTest as `read` does."""
    counts = _count_names(names)
    require_rows(rows)
    for line, row in rows:
        fields_of(line, row, len(names), f"{', '.join(names)}")
    index = {name: position for position, name in enumerate(names)}
    u, v = ({count: column_of(rows, index[f"{count}_{system}"]) for count in counts} for system in ("u", "v"))
    ids, clusters = (keys_of(rows, index.get(key)) for key in KEYS)
    return CountTable(u, v, ids, clusters)


def _count_names(names: list[str]) -> list[str]:
    all_names = set(names)
    seen: set[str] = set()
    for position, name in enumerate(names):
        pointer = f"/line/1/{position + 1}"
        if name in seen:
            raise InvalidTest.at(
                pointer, "duplicate_column", f"Column {position + 1} has the name of an earlier column."
            )
        seen.add(name)
        if name in KEYS:
            continue
        other = name[:-2] + ("_v" if name.endswith("_u") else "_u")
        if not name.endswith(("_u", "_v")) or len(name) < 3 or other not in all_names:
            detail = f"Column {position + 1} of the header is neither id, cluster, nor one of a pair <count>_u, <count>_v."
            raise InvalidTest.at(pointer, "unknown_column", detail)
    return [name[:-2] for name in names if name.endswith("_u")]
