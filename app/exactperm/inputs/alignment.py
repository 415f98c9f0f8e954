"""Align the columns of the systems of a test or a board: bring them into one order, or name the missing items.

A test is a board of two systems. Arrays are aligned by their order; objects `{id: value}` are aligned by id, in the order of the first
column. No match is guessed, and no item is left out unless `on_missing` allows it. Columns are named by pointers into a JSON request: `/u`,
`/gold`, `/systems/A`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, Literal
from unicodedata import normalize

import numpy as np
from numpy.typing import NDArray

from ..errors import Flaw, InvalidTest, PointerMap, choices_of, mapped, pointer_token
from ..statistics.columns import taken
from ..statistics.item_ids import distinct_and_order
from ..statistics.paired import Gaps, NamedCounts, Pairing
from .columns import to_decimals
from .quoting import quoted, some

OnMissing = Literal["error", "drop", "bounds"]  # of a test
OnMissingOnBoard = Literal["error", "pairwise", "complete"]
Way = Literal["error", "drop", "complete", "pairwise", "bounds"]
BOUNDS = "bounds"
DEFAULT_RANGE = (0.0, 1.0)  # of a missing outcome
GOLD = "/gold"
NAMED_IDS = 5
WHOLE_NUMBER = re.compile(r"0*([0-9]+)(?:\.0*)?")
DROP = choices_of("on_missing", {"drop": "Leave such items out, and count them"})
_MISSING_CHOICES = {
    "pairwise": "Compare each pair on the items that both have",
    "complete": "Compare only the items that all systems have",
}
MENDED = choices_of("on_missing", _MISSING_CHOICES)
_PAIRS = "`on_missing=pairwise` (each pair on the items that both have) or"

Values = Sequence[Any] | NDArray[Any]
Positions = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class ById:
    """A column sent as an object: one value per id, in the order in which they were written; `absent` lists ids without a value."""

    ids: list[str]
    values: Values
    absent: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        """The number of items that have a value."""
        return len(self.ids)


@dataclass(frozen=True, slots=True)
class Gapped:
    """A column of n items, some without a value: the values, and their positions in any order."""

    values: Any
    positions: Positions
    n: int

    def __len__(self) -> int:
        """The number of items, including missing ones."""
        return self.n

    @property
    def in_order(self) -> bool:
        """Whether the column has a value for every item, in order."""
        return len(self.positions) == self.n and bool((self.positions == np.arange(self.n)).all())


RawColumn = Values | ById | Gapped


@dataclass(frozen=True, slots=True)
class Items:
    """All items with a value in any column; `kept` lists those that are compared, None for all in order.

    `ids` are the items' ids, a range if they have none. `positions` are those of each column's values in the list, None if the column has
    all of them in this order. `keyed`: the columns were sent by id instead of in the order of the items. `largest` is the number of items
    of the largest column, including those without a value. `order` has the positions that sort all ids, if it is known.
    """

    ids: Sequence[Any]
    positions: Mapping[str, Positions | None] = field(default_factory=dict)
    largest: int = 0
    keyed: bool = False
    kept: Positions | None = None
    order: Positions | None = None

    def size(self, column: str) -> int:
        """The number of values of a column."""
        positions = self.positions[column]
        return len(self.ids) if positions is None else len(positions)

    def has(self, column: str) -> NDArray[np.bool_]:
        """A mask of the items for which a column has a value, shape (n,)."""
        positions = self.positions[column]
        mask = np.full(len(self.ids), positions is None)
        mask[() if positions is None else positions] = True
        return mask

    def of(self, column: Any, name: str) -> tuple[Any, Callable[[int], str]]:
        """The cluster, weight, group or event of each compared item, and the pointer to it; None if `column` is None. Raises InvalidTest at `/<name>`."""
        value, kept = name.removesuffix("s"), self.kept
        if isinstance(column, Mapping):
            if isinstance(self.ids, range):
                detail = f"{name.capitalize()} keyed by id need ids, or systems keyed by id; or give one {value} per item."
                raise InvalidTest.at(f"/{name}", "no_ids", detail)
            keys = list(map(str, self.named()))
            missing = [key for key in keys if key not in column]
            if missing:
                named = ", ".join(quoted(key) for key in missing[:NAMED_IDS])
                detail = f"{len(missing):,} of {len(keys):,} items have no {value}: {named}."
                raise InvalidTest.at(f"/{name}", "unmatched_ids", detail)
            return [column[key] for key in keys], lambda index: f"/{name}/{pointer_token(keys[index])}"
        if self.keyed and column is not None:
            detail = f"The systems are keyed by id; give {name} as an object keyed by id too."
            raise InvalidTest.at(f"/{name}", "mixed_forms", detail)
        if column is not None:
            _require_length(f"/{name}", len(column), "The data", len(self.ids))
        if column is None or kept is None:
            return column, lambda index: f"/{name}/{index}"
        return taken(column, kept), lambda index: f"/{name}/{kept[index]}"

    def placed(self, column: RawColumn, name: str) -> tuple[Any, Positions, Callable[[int], str]]:
        """The values of a column that need not have all items; which of those compared they are of, -1 of none; the pointer to one.

        Raises InvalidTest at `/<name>`.
        """
        if isinstance(column, ById):
            if isinstance(self.ids, range):
                detail = "Objects keyed by id need ids, or systems keyed by id; or give a list with one value per item."
                raise InvalidTest.at(f"/{name}", "no_ids", detail)
            index = {str(key): at for at, key in enumerate(self.ids)}
            unknown = [key for key in column.ids if key not in index]
            if unknown:
                detail = f"{len(unknown):,} of {len(column):,} ids here are of no item: {some(unknown)}."
                raise InvalidTest.at(f"/{name}", "unmatched_ids", detail)
            at = np.fromiter(map(index.__getitem__, column.ids), dtype=np.int64, count=len(column))
        elif self.keyed:
            detail = "The systems are keyed by id; give objects keyed by id here too."
            raise InvalidTest.at(f"/{name}", "mixed_forms", detail)
        else:
            _require_length(f"/{name}", len(column), "The data", len(self.ids))
            at = column.positions if isinstance(column, Gapped) else np.arange(len(column))
        kept = np.arange(len(self.ids)) if self.kept is None else self.kept
        number = np.full(len(self.ids), -1)
        number[kept] = np.arange(len(kept))

        def place(item: int) -> str:
            key = self.ids[kept[item]] if isinstance(column, ById) else kept[item]
            return f"/{name}/{pointer_token(str(key))}"

        return column.values if isinstance(column, ById | Gapped) else column, number[at], place

    def codes(self, column: Any, name: str) -> tuple[NDArray[np.int64] | None, int | None]:
        """The clusters or groups of the items as numbers, and their count."""
        return coded(self.of(column, name)[0])

    def named(self) -> Sequence[Any]:
        """The ids of the compared items."""
        return self.ids if self.kept is None else [self.ids[index] for index in self.kept.tolist()]


@dataclass(frozen=True, slots=True)
class Aligned:
    """The order in which to take each column's values, and the items they belong to.

    `order` maps the pointer of each column to positions in that column, in the common order; None takes all values unchanged. `present`
    has the positions of the items that a system has, if it lacks some and `on_missing` is pairwise. `pairing` has the ids and clusters
    of the n items; its `matched` and `largest` are set if items were or could have been left out. `lacking` has, with `on_missing`
    bounds, the items that one or both systems of a test lack: positions in their columns, for values that are taken later.
    """

    n: int
    order: Mapping[str, Positions | None]
    pairing: Pairing
    items: Items
    present: Mapping[str, Positions] = field(default_factory=dict)
    lacking: Gaps | None = None


def system_pointer(name: str) -> str:
    """The pointer to a system of a JSON request."""
    return "/systems/" + pointer_token(name)


def align(
    columns: Mapping[str, RawColumn], *, ids: Sequence[Any] | None = None, clusters: Any = None, on_missing: Way = "error",
    distinct: bool = False,
) -> Aligned:  # fmt: skip
    """Bring two or more columns, by their pointers, into one order; sort the systems of a board by name, in code-point order.

    `distinct` promises that no id repeats, which saves a pass. Raises InvalidTest, at the columns, `/ids` and `/clusters`: lengths differ,
    ids repeat or do not match, no item can be compared, or the columns mix forms.
    """
    keyed = {name: column for name, column in columns.items() if isinstance(column, ById)}
    if 0 < len(keyed) < len(columns):
        other = next(name for name in columns if name not in keyed)
        detail = "Give all columns as objects keyed by id, or all as arrays."
        raise InvalidTest.at(other, "mixed_forms", detail)
    if keyed and ids is not None:
        raise InvalidTest.at("/ids", "redundant_ids", "The systems are keyed by id already; leave ids out.")
    items = _by_key(keyed) if keyed else _by_order(columns, ids, distinct=distinct)
    return _aligned(items, clusters, on_missing)


def _by_order(columns: Mapping[str, RawColumn], ids: Sequence[Any] | None, *, distinct: bool) -> Items:
    first = next(iter(columns))
    n, order = len(columns[first]), None
    for name, column in columns.items():
        _require_length(name, len(column), _called(first), n)
    if n and ids is not None:
        _require_length("/ids", len(ids), _called(first), n)
        if not distinct:
            order = require_unique(ids)
    positions = {
        name: column.positions if isinstance(column, Gapped) and not column.in_order else None
        for name, column in columns.items()
    }
    return Items(range(n) if ids is None else ids, positions, largest=n, order=order)


def _require_length(pointer: str, length: int, first: str, n: int) -> None:
    if length != n:
        detail = (
            f"{first} has {n:,} items and {_called(pointer)} has {length:,}; without ids, all need a value for every item, in "
            "the same order. Where items are missing give objects keyed by id, or null, and say so (`on_missing`)."
        )
        raise InvalidTest.at(pointer, "length_mismatch", detail)


def require_unique(ids: Sequence[Any]) -> Positions | None:
    """Refuse ids that repeat; raises InvalidTest at `/ids/<index>`. Returns the positions that sort them, where these are known."""
    distinct, order = distinct_and_order(ids)
    if distinct:
        return order
    seen: set[Any] = set()
    flaws = []
    for index, key in enumerate(ids):
        if key in seen:
            detail = f"The id {quoted(key)} is a duplicate; ids must be unique."
            flaws.append(Flaw(f"/ids/{index}", "duplicate_id", detail))
            if len(flaws) == NAMED_IDS:
                break
        seen.add(key)
    detail = f"Ids must be unique: {len(ids) - len(set(ids)):,} of {len(ids):,} repeat."
    raise InvalidTest(detail, flaws=tuple(flaws))


def _by_key(columns: Mapping[str, ById]) -> Items:
    """Place columns by id on the list of all ids, each where the first column with it has it."""
    largest = max(len(column.ids) + len(column.absent) for column in columns.values())
    first = next(iter(columns.values()))
    absent = any(column.absent for column in columns.values())
    others = {name for name, column in columns.items() if column.ids != first.ids}
    if not others and not absent:
        return Items(first.ids, dict.fromkeys(columns), largest, keyed=True)
    keys = chain.from_iterable(
        (*column.ids, *column.absent) if absent else column.ids
        for name, column in columns.items()
        if absent or column is first or name in others
    )
    index = {key: position for position, key in enumerate(dict.fromkeys(keys))}
    positions: dict[str, Positions | None] = {}
    for name, column in columns.items():
        same = name not in others and len(index) == len(first.ids)
        places = map(index.__getitem__, column.ids)
        positions[name] = None if same else np.fromiter(places, dtype=np.int64, count=len(column.ids))
    return Items(list(index), positions, largest, keyed=True)


def _aligned(columns: Items, clusters: Any, on_missing: Way) -> Aligned:
    """Bring columns that are placed on a list of items into the order of that list."""
    n = len(columns.ids)
    if not any(map(columns.size, columns.positions)):
        first = next(iter(columns.positions))
        raise InvalidTest.at(first, "no_items", "There is no item to compare; give at least one.")
    lacking = [name for name in columns.positions if columns.size(name) < n]
    if lacking and on_missing == "error":
        _refuse_missing(columns)
    kept = np.ones(n, dtype=bool)
    if len(lacking) == len(columns.positions) and on_missing == "pairwise":
        kept = np.logical_or.reduce([columns.has(name) for name in lacking])  # drop items that no system has
    for name in lacking:
        if on_missing != "pairwise" or name == GOLD:
            kept &= columns.has(name)
    if not kept.any():
        detail = f"No item has a value in all columns; there is nothing to compare. {_forms_of(columns.ids)}"
        raise InvalidTest.at(lacking[0], "no_common_ids", detail.rstrip())
    matched = int(kept.sum())
    items = replace(columns, kept=None if matched == n else np.flatnonzero(kept))
    codes, n_clusters = items.codes(clusters, "clusters")
    order, present = _taken(columns, kept)
    ids = None if isinstance(columns.ids, range) else items.named()
    kept_order = columns.order if items.kept is None else None
    pairing = Pairing(codes, n_clusters, by_id=columns.keyed or ids is not None, ids=ids, order=kept_order)
    if columns.keyed or lacking:  # count the values of each system of a test that were left out
        alone = [columns.size(name) - matched if name in columns.positions else 0 for name in ("/u", "/v")]
        pairing = replace(pairing, matched=matched, only_u=alone[0], only_v=alone[1], largest=columns.largest)
    left = _lacking(columns, kept, clusters) if lacking and on_missing == BOUNDS else None
    return Aligned(matched, order, pairing, items, present, left)


def _taken(
    columns: Items, kept: NDArray[np.bool_]
) -> tuple[dict[str, Positions | None], dict[str, Positions]]:
    """The values of each column to take, in order, None for all unchanged; and the items that it has, if it lacks some."""
    matched = int(kept.sum())
    number: Any = None  # the position of a kept item among the kept ones
    if any(columns.size(name) < len(kept) for name in columns.positions):
        number = np.cumsum(kept) - 1
    order: dict[str, Positions | None] = {}
    present: dict[str, Positions] = {}
    for name, positions in columns.positions.items():
        if positions is None:
            order[name] = None if matched == len(kept) else np.flatnonzero(kept)
            continue
        rows = np.argsort(positions, kind="stable")
        rows = rows[kept[positions[rows]]]
        if not len(rows):
            detail = (
                "This system has no value, or none of an item that gold has: check the ids, or leave it out."
            )
            raise InvalidTest.at(name, "no_common_ids", detail)
        order[name] = rows
        if len(rows) < matched:
            present[name] = number[positions[rows]]
    return order, present


def _lacking(columns: Items, kept: NDArray[np.bool_], clusters: Any) -> Gaps:
    """The items that one or both of two columns lack."""
    has = {name: columns.has(name) for name in columns.positions}
    only = {name: mask & ~kept for name, mask in has.items()}
    rest = ~np.logical_or.reduce(list(has.values()))
    every = np.concatenate([np.flatnonzero(mask) for mask in (kept, *only.values(), rest)])
    codes, n_clusters = replace(columns, kept=every).codes(clusters, "clusters")
    places = []
    for name, positions in columns.positions.items():
        place = np.arange(len(columns.ids))
        if positions is not None:
            place[positions] = np.arange(len(positions))
        places.append(place[only[name]])
    return Gaps(places[0], places[1], int(rest.sum()), *DEFAULT_RANGE, codes, n_clusters)


def _refuse_missing(columns: Items) -> None:
    """Raise InvalidTest with the systems of a board that lack items, or those of a test with unmatched items, and the first ids."""
    has = {name: columns.has(name) for name in columns.positions}
    of_board, common = (
        any(name.startswith("/systems/") for name in has),
        np.logical_and.reduce([*has.values()]),
    )
    flaws: list[Flaw] = []
    counts = []
    for name, mask in has.items():
        at = np.flatnonzero(~mask if of_board else mask & ~common).tolist()
        if at:
            ids = some([columns.ids[index] for index in at])
            lacks = f"{_called(name)} lacks {len(at):,} of {len(columns.ids):,} items: {ids}."
            without = [_called(other) for other, present in has.items() if (mask & ~present).any()]
            detail = lacks if of_board else f"Without a counterpart in {' and '.join(without)}: {ids}."
            choices = MENDED if of_board else DROP
            flaws.append(Flaw(name, "unmatched_ids", detail, () if flaws else choices))
            counts.append(f"{len(at):,} of {columns.size(name):,} ids in {_called(name)}")
    forms = _forms_of(columns.ids)
    if of_board:
        several = f"; {len(flaws) - 1:,} more columns lack items" if len(flaws) > 1 else ""
        detail = f"{flaws[0].detail[:-1]}{several}. {forms}Add them; or set {_PAIRS} `on_missing=complete` (the items that "
        detail += "all have)."
    else:
        detail = f"The ids do not match: {' and '.join(counts)} have no counterpart. {forms}"
        detail += "Add them, or set `on_missing=drop` to test only the items that match."
    raise InvalidTest(detail, flaws=tuple(flaws))


def without_pairs(error: InvalidTest) -> InvalidTest:
    """The refusal of missing items, for a test of all systems at once, which compares no pairs."""
    flaws = (
        replace(flaw, choices=tuple(way for way in flaw.choices if way.fields != MENDED[0].fields))
        for flaw in error.flaws
    )
    return type(error)(error.detail.replace(f"{_PAIRS} ", ""), flaws=tuple(flaws))


def _forms_of(ids: Iterable[Any]) -> str:
    """A hint if many ids occur in two forms: number formats, capitals or Unicode forms; else empty."""
    first: dict[str, str] = {}
    listed = [str(key) for key in ids]
    twice = [(before, key) for key in listed if (before := first.setdefault(_plainest(key), key)) != key]
    if 4 * len(twice) < len(listed):
        return ""
    one, other = map(quoted, twice[0])
    return f"{one} and {other} may be one id in two forms: write each id in one form. "


def _plainest(key: str) -> str:
    match = WHOLE_NUMBER.fullmatch(key)
    return match[1] if match else normalize("NFKC", key).casefold()


def _called(pointer: str) -> str:
    """The name of a column for messages: u, gold, ids, or the name of a system in quotes."""
    *_, above, name = pointer.split("/")
    return quoted(name.replace("~1", "/").replace("~0", "~")) if above else name


def coded(keys: Iterable[Any] | None) -> tuple[NDArray[np.int64] | None, int | None]:
    """`numbered`, or None if there are no keys."""
    return (None, None) if keys is None else numbered(keys)


def numbered(keys: Iterable[Any]) -> tuple[NDArray[np.int64], int]:
    """Keys as numbers 0..n-1 in order of first appearance, and n."""
    listed = keys.tolist() if isinstance(keys, np.ndarray) else list(keys)
    different = dict.fromkeys(listed)
    if len(different) == len(listed):
        return np.arange(len(listed)), len(listed)
    number = dict(zip(different, range(len(different)), strict=True))
    return np.fromiter(map(number.__getitem__, listed), dtype=np.int64, count=len(listed)), len(number)


# The columns of a test or a board, before their items are aligned


# Finds an item of a column (by its position there and the rest of the pointer), or the column if the item is None.
Place = Callable[[str, int | None, Sequence[str]], str]
# A value for each item, by position or by id.
OfItems = Sequence[Any] | Mapping[str, Any] | None
COLUMNS = frozenset(
    {"stay", "swap", "gold", "u", "v", "ids", "clusters", "weights", "groups", "event", "slices"}
)


@dataclass(frozen=True, slots=True)
class PairedColumns:
    """The columns of a test (of its two systems, or stay and swap) or of one data set of a board, as sent.

    The systems of a board are in code-point order. `place` finds a column (`/systems/A`, `/gold`, `/ids`, `/weights`), or an item of it, in
    the data that was sent; None for JSON requests.
    """

    systems: Mapping[str, RawColumn]
    place: Place | None = None
    gold: RawColumn | None = None
    ids: Sequence[Any] | None = None
    clusters: OfItems = None
    weights: OfItems = None
    groups: OfItems = None
    event: OfItems = None
    slices: OfItems = None
    distinct: bool = False  # no id repeats
    of_test: bool = False

    def columns(self) -> dict[str, RawColumn]:
        """The columns of values by their pointers: gold is first in a test, which follows its order, and last on a board."""
        gold = {} if self.gold is None else {GOLD: self.gold}
        if self.of_test:
            return gold | {f"/{name}": column for name, column in self.systems.items()}
        return {system_pointer(name): column for name, column in self.systems.items()} | gold

    def taken(
        self, on_missing: Way, decimals: int | None = None
    ) -> tuple[dict[str, Any], Aligned, PointerMap]:
        """Take the values of all columns in one order, rounded except for gold; the map is for pointers to them.

        Values that only one system of a test has are in `lacking`. Raises InvalidTest as `align` does, at the places of the columns.
        """
        columns = self.columns()
        lengths = {None if isinstance(one, ById | Gapped) else len(one) for one in columns.values()}
        if self.ids is None and self.clusters is None and len(lengths) == 1 and lengths.isdisjoint((None, 0)):
            n = len(next(iter(columns.values())))
            aligned = Aligned(n, {}, Pairing(), Items(range(n)))
        else:
            aligned = mapped(
                self.whole, align, columns, ids=self.ids, clusters=self.clusters, on_missing=on_missing, distinct=self.distinct
            )  # fmt: skip

        def values_at(pointer: str, order: Any) -> Any:
            column = columns[pointer]
            values: Any = column.values if isinstance(column, ById | Gapped) else column
            values = values if order is None else taken(values, order)
            if isinstance(values, NamedCounts):
                return values.columns
            return values if decimals is None or pointer == GOLD else to_decimals(values, decimals)

        values = {pointer: values_at(pointer, aligned.order.get(pointer)) for pointer in columns}
        if aligned.lacking is not None:
            only = {"/u": aligned.lacking.u, "/v": aligned.lacking.v}
            u, v = (values_at(name, items) if len(items) else items for name, items in only.items())
            aligned = replace(aligned, lacking=replace(aligned.lacking, u=u, v=v))
        return values, aligned, self._pointer_map(columns, aligned)

    def whole(self, pointer: str) -> str:
        """Map pointers to whole columns, ids and clusters, before items are aligned."""
        column, index, rest = item_of(pointer) or ("", None, [])
        if self.place is None or (index is not None and column not in ("ids", "clusters")):
            return pointer
        return self.place(pointer if index is None else f"/{column}", index, rest)

    def within(self, outer: PointerMap) -> PairedColumns:
        """The same board with its places inside another document."""
        place = self.place
        assert place is not None
        return replace(self, place=lambda column, index, rest: outer(place(column, index, rest)))

    def _pointer_map(self, columns: Mapping[str, RawColumn], aligned: Aligned) -> PointerMap:
        """Map pointers to items in the common order."""

        def pointer_map(pointer: str) -> str:
            item = item_of(pointer)
            if item is None:
                return self.whole(pointer)
            column, index, rest = f"/{item[0]}", *item[1:]
            raw, order = columns.get(column), aligned.order.get(column)
            if order is not None:
                if index >= len(order):
                    return self.whole(column)
                index = int(order[index])
            if raw is not None and index >= len(raw):
                return self.whole(column)
            values = raw.values if isinstance(raw, ById | Gapped) else raw
            if isinstance(raw, Gapped):
                index = int(raw.positions[index])
            if self.place is not None:
                return self.place(column, index, rest)
            key = pointer_token(raw.ids[index]) if isinstance(raw, ById) else str(index)
            after = isinstance(values, NamedCounts) and not values.by_item
            return "/".join([column, *rest, key] if after else [column, key, *rest])

        return pointer_map


def in_files(column: str, *_: object) -> str:
    """The place of a column in the files of a form."""
    return f"/files{column}"


def item_of(pointer: str, n: int = 10**9) -> tuple[str, int, list[str]] | None:
    """Column, index of the item, and the rest of `/u/17/…`, `/systems/A/17`, or a named count `/u/tp/17`; None for other pointers."""
    tokens = pointer[1:].split("/")
    head = 2 if tokens[0] == "systems" else int(tokens[0] in COLUMNS)
    column, rest = "/".join(tokens[:head]), tokens[head:]
    for at in range(min(2, len(rest)) if head else 0):
        if rest[at].isdecimal() and rest[at].isascii() and len(rest[at]) < 10 and int(rest[at]) < n:
            return column, int(rest[at]), rest[:at] + rest[at + 1 :]
    return None
