"""Tables of outcomes: how often both systems, one of them or none was right, unrolled into items that are 1 or 0.

A 2x2 table has an outcome for each row and each column, and counts in its cells; a table of frequencies has a row for each pair of
outcomes, and a column of counts. So have `{"b": 30, "c": 22}` and all four of a, b, c, d, as McNemar's test has them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import BodyTooLarge, InvalidTest
from .names import FREQUENCY, INDEX, find, is_one_of
from .quoting import quoted

RIGHT = frozenset(("right", "correct", "pass", "passed", "yes", "true", "1", "success", "solved", "hit"))
WRONG = frozenset(
    ("wrong", "incorrect", "fail", "failed", "no", "false", "0", "failure", "unsolved", "miss", "error")
)
CELLS = ("a", "b", "c", "d")
MOST_ROWS = 4
NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?")
MOST_ITEMS = 10_000_000
ROWS, COLUMNS = "rows", "columns"  # the systems of a 2x2 table


@dataclass(frozen=True, slots=True)
class Unrolled:
    """A row for each item; `origin` is the row of the table that it comes from."""

    header: list[str]
    rows: list[list[str]]
    origin: list[int]
    note: str


def outcome_of(text: str) -> bool | None:
    """Whether a name or a value says right (True) or wrong; None where it says neither, or both.

    >>> outcome_of("new right"), outcome_of("False"), outcome_of("arc"), outcome_of("not correct")
    (True, False, None, False)
    """
    words = set(text.lower().replace("_", " ").replace("-", " ").split())
    right, wrong = bool(words & RIGHT), bool(words & WRONG) or bool(words & {"not"})
    if right and words & {"not"}:
        return False
    return None if right == wrong else right


def unrolled(
    header: Sequence[str], rows: Sequence[Sequence[str]], *, has_header: bool = True
) -> Unrolled | None:
    """The items of a table of outcomes; None of any other table. Raises BodyTooLarge for too many items.

    Without `has_header` the first line has numbers in it, as a 2x2 table of 0 and 1 has beside a name.
    """
    if not rows or not 2 <= len(header) <= MOST_ROWS:
        return None
    if not has_header:
        return (
            None if outcome_of(header[0]) is not None or _number_of(header[0]) else _two_by_two(header, rows)
        )
    return _cells(header, rows) or _two_by_two(header, rows) or _frequencies(header, rows)


def _cells(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Unrolled | None:
    """The items of one row of b and c, or of all of a, b, c and d."""
    if len(rows) > 1 or not {"b", "c"} <= set(header) <= set(CELLS) or len(header) == 3:
        return None
    counts = [_count(field) for field in rows[0]]
    if None in counts:
        return None
    n = dict(zip(header, counts, strict=True))
    cells = [
        (list(outcome), n.get(name) or 0, 0)
        for name, outcome in zip(CELLS, ("11", "10", "01", "00"), strict=True)
    ]
    return _items(["u", "v"], cells, "b and c say how many items only u, and only v, gets right.")


def _two_by_two(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Unrolled | None:
    if len(header) != 3 or len(rows) != 2:
        return None
    across, down = [outcome_of(name) for name in header[1:]], [outcome_of(row[0]) for row in rows]
    counts = [[_count(field) for field in row[1:]] for row in rows]
    if set(across) != {True, False} or set(down) != {True, False} or any(None in row for row in counts):
        return None
    called = [_system_of([row[0] for row in rows]), _system_of(header[1:])]
    named = f" (rows: {quoted(called[0])}, columns: {quoted(called[1])})" if all(called) else ""
    cells = [
        ([str(int(bool(mine))), str(int(bool(other)))], n or 0, at)
        for at, (mine, row) in enumerate(zip(down, counts, strict=True))
        for other, n in zip(across, row, strict=True)
    ]
    note = f"This is a 2x2 table of outcomes{named}: its rows are one system and its columns the other."
    return _items([ROWS, COLUMNS], cells, note)


def _system_of(names: Sequence[str]) -> str:
    """What the names of outcomes share: `old`, of `old right` and `old wrong`."""
    own = [name.split() for name in names]
    return " ".join(word for word in own[0] if word in own[1])


def _frequencies(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Unrolled | None:
    column = find(header, FREQUENCY)
    kept = [
        at for at, name in enumerate(header) if name != column and not (at == 0 and is_one_of(name, INDEX))
    ]
    if column is None or len(kept) != 2:
        return None
    counts = [_count(row[list(header).index(column)]) for row in rows]
    pairs = [[_number_of(row[at]) for at in kept] for row in rows]
    values = [{pair[at] for pair in pairs} for at in (0, 1)]
    outcomes = values[0] | values[1] <= {
        "0",
        "1",
    }  # two data sets with their numbers of items have two values each as well
    several = [len(own) for own in values] == [2, 2] and len(rows) > 2
    if None in counts or "" in values[0] | values[1] or len({tuple(pair) for pair in pairs}) < len(rows):
        return None
    if not (outcomes or several):
        return None
    cells = [(pair, n or 0, at) for at, (pair, n) in enumerate(zip(pairs, counts, strict=True))]
    note = f"The column {quoted(column)} says how many items each row stands for."
    return _items([header[at] for at in kept], cells, note)


def _number_of(field: str) -> str:
    """A number as it is written, 1 and 0 of outcomes; empty for any other text."""
    outcome = outcome_of(field)
    if outcome is not None:
        return str(int(outcome))
    return field.strip() if NUMBER.fullmatch(field.strip()) else ""


def _count(field: str) -> int | None:
    text = field.strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


def _items(header: list[str], cells: list[tuple[list[str], int, int]], note: str) -> Unrolled | None:
    n = sum(count for _, count, _ in cells)
    _refuse_too_many(n)
    if not n:
        return None
    rows = [row for row, count, _ in cells for _ in range(count)]
    return Unrolled(header, rows, [at for _, count, at in cells for _ in range(count)], note)


def _refuse_too_many(n: int) -> None:
    if n > MOST_ITEMS:
        raise BodyTooLarge(f"The table counts {n:,} items; at most {MOST_ITEMS:,} are allowed.")


def columns_of(cells: Mapping[str, Any]) -> dict[str, list[int]]:
    """The scores of both systems, of counts a (both right), b (U alone), c (V alone) and d (neither), 0 where left out.

    Raises
    ------
    InvalidTest, BodyTooLarge
        A cell is no count, or they count too many items.
    """
    for name in CELLS:
        if type(cells.get(name, 0)) is not int or cells.get(name, 0) < 0:
            detail = f"{name} counts items, as b counts those that only U gets right: a whole number is needed, 0 or more."
            raise InvalidTest.at(f"/{name}", "not_a_count", detail)
    _refuse_too_many(sum(cells.get(name, 0) for name in CELLS))
    outcomes = ((1, 1), (1, 0), (0, 1), (0, 0))
    counts = [cells.get(name, 0) for name in CELLS]
    return {
        role: [outcome[side] for outcome, n in zip(outcomes, counts, strict=True) for _ in range(n)]
        for side, role in enumerate("uv")
    }
