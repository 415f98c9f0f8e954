"""Rows of id, system and score, in any order, become columns of systems by data set."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidTest
from ..statistics.item_order import taken
from ..statistics.paired import Repeated
from .quoting import quoted

Codes = NDArray[np.int64]
Locate = Callable[[int], str]


@dataclass(frozen=True, slots=True)
class Keys:
    """A column of keys as codes: `names[codes[row]]` is the key of a row."""

    codes: Codes
    names: list[str]


@dataclass(frozen=True, slots=True)
class LongRows:
    """What each row is about, shape (n,) each; `missing` rows have no score. Where it `repeats`, rows of one item and system are its runs."""

    items: Keys
    systems: Keys
    datasets: Keys | None
    clusters: Keys | None
    missing: NDArray[np.bool_]
    weights: Keys | None = None
    repeats: bool = False


@dataclass(frozen=True, slots=True)
class WideBoard:
    """Scores by system, shape (n,) each, and where they are missing; `rows` are the table's rows of these items, the first of each."""

    systems: dict[str, Any]
    missing: dict[str, NDArray[np.bool_]]
    ids: list[str] | None
    clusters: list[str] | None
    rows: Codes
    weights: list[str] | None = None


@dataclass(frozen=True, slots=True)
class LongBoard:
    """One data set: its ids in the order of their first rows; of each system the values, the positions of their items, and their rows."""

    ids: list[str]
    values: dict[str, Any]
    positions: dict[str, Codes]
    rows: dict[str, Codes]
    clusters: dict[str, str] | None
    weights: dict[str, str] | None = None


def coded_keys(texts: Sequence[str]) -> Keys:
    """Keys as codes in the order of their first rows; blanks around them do not count."""
    different = list(dict.fromkeys(texts))
    index = dict(zip(different, range(len(different)), strict=True))
    codes = np.fromiter(map(index.__getitem__, texts), dtype=np.int64, count=len(texts))
    names = list(map(str.strip, different))
    if names == different:
        return Keys(codes, names)
    distinct = {name: code for code, name in enumerate(dict.fromkeys(names))}
    return Keys(np.array([distinct[name] for name in names], dtype=np.int64)[codes], list(distinct))


def boards_of(rows: LongRows, values: Any, locate: Locate) -> dict[str | None, LongBoard]:
    """The boards by data set, in code-point order, and their systems likewise.

    Raises
    ------
    InvalidTest
        There are two rows for one item and system, or an item is in two clusters; `locate` points to a row.
    """
    n = len(rows.items.codes)
    datasets = np.zeros(n, dtype=np.int64) if rows.datasets is None else rows.datasets.codes
    order = np.lexsort((rows.items.codes, rows.systems.codes, datasets))
    item, system, dataset = (codes[order] for codes in (rows.items.codes, rows.systems.codes, datasets))
    same = (item[1:] == item[:-1]) & (system[1:] == system[:-1]) & (dataset[1:] == dataset[:-1])
    if same.any() and not rows.repeats:
        _refuse_twice(rows, order, np.flatnonzero(same), locate)
    cuts = np.flatnonzero((np.diff(system) != 0) | (np.diff(dataset) != 0)) + 1
    names: list[str | None] = [None] if rows.datasets is None else list(rows.datasets.names)
    parts: dict[str | None, dict[str, Codes]] = {name: {} for name in sorted(names, key=str)}
    for part in np.split(order, cuts):
        parts[names[int(datasets[part[0]])]][rows.systems.names[int(rows.systems.codes[part[0]])]] = part
    return {name: _board(rows, parts[name], values, locate) for name in parts}


def _board(rows: LongRows, parts: dict[str, Codes], values: Any, locate: Locate) -> LongBoard:
    own = np.sort(np.concatenate(list(parts.values())))
    codes, first = np.unique(rows.items.codes[own], return_index=True)
    codes = codes[np.argsort(first)]  # in the order of their first rows
    position = np.zeros(len(rows.items.names), dtype=np.int64)
    position[codes] = np.arange(len(codes))
    kept = {name: parts[name][~rows.missing[parts[name]]] for name in sorted(parts)}
    ids = [rows.items.names[code] for code in codes.tolist()]
    columns = {name: taken(values, part) for name, part in kept.items()}
    if rows.repeats:
        for name, part in kept.items():
            _, first_rows, lengths = np.unique(rows.items.codes[part], return_index=True, return_counts=True)
            columns[name], kept[name] = _joined(columns[name], lengths), part[first_rows]
    return LongBoard(
        ids,
        columns,
        {name: position[rows.items.codes[part]] for name, part in kept.items()},
        kept,
        _by_item(rows, "cluster", rows.clusters, own, position, ids, locate),
        _by_item(rows, "weight", rows.weights, own, position, ids, locate),
    )


def _joined(values: Any, lengths: Codes) -> Repeated:
    """The values of rows that stand together as samples of one item each."""
    if isinstance(values, Repeated):
        starts = np.concatenate(([0], np.cumsum(lengths)[:-1]))
        return Repeated(values.values, np.add.reduceat(values.lengths, starts))
    return Repeated(values, lengths)


def _by_item(
    rows: LongRows, what: str, keys: Keys | None, own: Codes, position: Codes, ids: list[str], locate: Locate
) -> dict[str, str] | None:
    """The cluster or the weight of each id, which all its rows must agree about."""
    if keys is None:
        return None
    where, codes = position[rows.items.codes[own]], keys.codes[own]
    first = np.zeros(len(ids), dtype=np.int64)
    first[where[::-1]] = codes[::-1]  # of several, the first
    other = np.flatnonzero(first[where] != codes)
    if other.size:
        row = int(own[other[0]])
        key = ids[int(where[other[0]])]
        here, before = (quoted(keys.names[int(of[other[0]])]) for of in (codes, first[where]))
        said = f"is in cluster {here}" if what == "cluster" else f"has the weight {here}"
        detail = f"The item {quoted(key)} {said} here and {'in ' if what == 'cluster' else ''}{before} before: an item has one {what}."
        raise InvalidTest.at(locate(row), f"{what}_mismatch", detail)
    return {key: keys.names[code] for key, code in zip(ids, first.tolist(), strict=True)}


def _refuse_twice(rows: LongRows, order: Codes, places: Codes, locate: Locate) -> None:
    pairs = [(int(order[place]), int(order[place + 1])) for place in places.tolist()]
    first, second = min(pairs, key=max)
    key = rows.items.names[int(rows.items.codes[second])]
    system = rows.systems.names[int(rows.systems.codes[second])]
    of = ""
    if rows.datasets is not None:
        of = f" of {quoted(rows.datasets.names[int(rows.datasets.codes[second])])}"
    detail = (
        f"The item {quoted(key)}{of} has two values of {quoted(system)}: here and at {locate(first)[1:].replace('/', ' ')}. Give one, or their mean; "
        "or number the runs in the id, with the item as cluster."
    )
    raise InvalidTest.at(locate(second), "duplicate_value", detail)
