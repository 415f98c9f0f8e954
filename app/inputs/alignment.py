"""Which items K systems have in common: their columns come into one order, or what is missing is named.

Columns given as arrays are aligned by their order, columns given as `{id: value}` by id, in the order of the first
system by name, so that nothing depends on the order of the systems in a request.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..errors import Flaw, InvalidTest, choices_of
from ..statistics.paired import Pairing
from .pairing import NAMED_IDS, ById, Given, clusters_of, coded, require_unique
from .quoting import quoted

MENDED = choices_of(
    "on_missing",
    {
        "pairwise": "Compare each pair on the items that both have",
        "complete": "Keep the items that all systems have",
    },
)

OnMissing = Literal["error", "pairwise", "complete"]
GOLD = "/gold"
NAMED_SYSTEMS = 5

Positions = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Aligned:
    """How to take each column's values, and what items they are.

    Attributes
    ----------
    order
        By pointer (`/systems/A`, `/gold`): positions in the given column, in the common order; None to take all as they
        are.
    present
        By the systems' pointers, where they lack items and `on_missing` is pairwise: the positions of those they have.
    pairing
        Ids and clusters of the N items. `matched` and `largest` are there where items were left out, or may have been.
    """

    n: int
    order: Mapping[str, Positions | None]
    pairing: Pairing
    present: Mapping[str, Positions] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Placed:
    """Columns on a common list of ids: positions of each column's values in it, None where it has all in this order."""

    ids: Sequence[str]
    positions: Mapping[str, Positions | None]

    def size(self, column: str) -> int:
        """How many items a column has."""
        positions = self.positions[column]
        return len(self.ids) if positions is None else len(positions)


def system_pointer(name: str) -> str:
    """The pointer to a system of a JSON request."""
    return "/systems/" + name.replace("~", "~0").replace("/", "~1")


def align(
    systems: Mapping[str, Given],
    gold: Given | None,
    *,
    ids: Sequence[Any] | None,
    clusters: Sequence[Any] | Mapping[str, Any] | None,
    on_missing: OnMissing,
) -> Aligned:
    """Bring the columns of K systems, named in code-point order, and gold into one order.

    Raises
    ------
    InvalidTest
        Lengths differ, ids repeat or do not match, there is nothing to compare, or the columns are not all of one form.
        Pointers are `/systems/<name>`, `/gold`, `/ids` and `/clusters`.
    """
    columns = {system_pointer(name): column for name, column in systems.items()}
    if gold is not None:
        columns[GOLD] = gold
    keyed = {name: column for name, column in columns.items() if isinstance(column, ById)}
    if not keyed:
        return _by_order(columns, ids, clusters)
    if len(keyed) != len(columns):
        other = next(name for name in columns if name not in keyed)
        detail = "Give all columns as objects keyed by id, or all as arrays."
        raise InvalidTest.at(other, "mixed_forms", detail)
    if ids is not None:
        raise InvalidTest.at("/ids", "redundant_ids", "The systems are keyed by id already; leave ids out.")
    return align_placed(placed({name: column.ids for name, column in keyed.items()}), clusters, on_missing)


def _by_order(
    columns: Mapping[str, Given],
    ids: Sequence[Any] | None,
    clusters: Sequence[Any] | Mapping[str, Any] | None,
) -> Aligned:
    first = next(iter(columns))
    n = len(columns[first])
    for name, column in columns.items():
        _same_length(name, len(column), first, n)
    if n == 0:
        raise InvalidTest.at(first, "no_items", "There is no item to compare; give at least one.")
    if ids is not None:
        _same_length("/ids", len(ids), first, n)
        require_unique(ids)
    if isinstance(clusters, Mapping):
        if ids is None:
            detail = (
                "Clusters keyed by id need ids, or systems keyed by id; or give one cluster key per item."
            )
            raise InvalidTest.at("/clusters", "no_ids", detail)
        clusters = clusters_of([str(key) for key in ids], clusters)
    elif clusters is not None:
        _same_length("/clusters", len(clusters), first, n)
    codes, n_clusters = coded(clusters)
    pairing = Pairing(codes, n_clusters, by_id=ids is not None, ids=ids)
    return Aligned(n, dict.fromkeys(columns), pairing)


def _same_length(pointer: str, length: int, first: str, n: int) -> None:
    if length != n:
        names = [
            quoted(name.rpartition("/")[2].replace("~1", "/").replace("~0", "~")) for name in (first, pointer)
        ]
        detail = (
            f"{names[0]} has {n:,} items and {names[1]} has {length:,}; without ids, all need a value for every item, in "
            "the same order. Give objects keyed by id where items are missing."
        )
        raise InvalidTest.at(pointer, "length_mismatch", detail)


def placed(ids: Mapping[str, Sequence[str]]) -> Placed:
    """Columns by their ids: on all ids there are, in the order of the first column that has each."""
    first = next(iter(ids.values()))
    others = {name: own for name, own in ids.items() if own != first}
    if not others:
        return Placed(first, dict.fromkeys(ids))
    index = {key: position for position, key in enumerate(dict.fromkeys(chain(first, *others.values())))}
    positions: dict[str, Positions | None] = {}
    for name, own in ids.items():
        same = name not in others and len(index) == len(first)
        positions[name] = (
            None if same else np.fromiter(map(index.__getitem__, own), dtype=np.int64, count=len(own))
        )
    return Placed(list(index), positions)


def align_placed(
    columns: Placed, clusters: Sequence[Any] | Mapping[str, Any] | None, on_missing: OnMissing
) -> Aligned:
    """Bring columns that are placed on a list of ids into its order; raises InvalidTest as `align` does."""
    n = len(columns.ids)
    if n == 0:
        first = next(iter(columns.positions))
        raise InvalidTest.at(first, "no_items", "There is no item to compare; give at least one.")
    lacking = [name for name in columns.positions if columns.size(name) < n]
    if lacking and on_missing == "error":
        _refuse_missing(columns, lacking)
    if clusters is not None and not isinstance(clusters, Mapping):
        detail = "The systems are keyed by id; give clusters as an object keyed by id too."
        raise InvalidTest.at("/clusters", "mixed_forms", detail)
    kept = np.ones(n, dtype=bool)
    if lacking:
        for name, positions in columns.positions.items():
            if positions is not None and (on_missing == "complete" or name == GOLD):
                kept &= _mask(positions, n)
        if not kept.any():
            detail = "No id is in all columns; there is nothing to compare."
            raise InvalidTest.at(lacking[0], "no_common_ids", detail)
    matched = int(kept.sum())
    number = np.cumsum(kept) - 1  # of a kept item among those kept
    order: dict[str, Positions | None] = {}
    present: dict[str, Positions] = {}
    for name, positions in columns.positions.items():
        order[name], own = _taken(positions, kept, number)
        if own is None:
            continue
        if not len(own):
            detail = (
                "This system has no value, or none of an item that gold has: check the ids, or leave it out."
            )
            raise InvalidTest.at(name, "no_common_ids", detail)
        if len(own) < matched:
            present[name] = own
    keys = columns.ids
    if matched < n:
        keys = [key for key, keep in zip(columns.ids, kept.tolist(), strict=True) if keep]
    codes, n_clusters = coded(None if clusters is None else clusters_of(keys, clusters))
    largest = max(columns.size(name) for name in columns.positions)
    pairing = Pairing(codes, n_clusters, by_id=True, matched=matched, largest=largest, ids=keys)
    return Aligned(matched, order, pairing, present)


def _mask(positions: Positions, n: int) -> NDArray[np.bool_]:
    mask = np.zeros(n, dtype=bool)
    mask[positions] = True
    return mask


def _taken(
    positions: Positions | None, kept: NDArray[np.bool_], number: Positions
) -> tuple[Positions | None, Positions | None]:
    """Which values of a column to take in which order, and the numbers of their items; None for all as they are."""
    if positions is None:
        return (None, None) if kept.all() else (np.flatnonzero(kept), None)
    order = np.argsort(positions, kind="stable")
    order = order[kept[positions[order]]]
    return order, number[positions[order]]


def _refuse_missing(columns: Placed, lacking: Sequence[str]) -> None:
    """Name the systems that lack items, and the first ids that each lacks."""
    n = len(columns.ids)
    flaws: list[Flaw] = []
    for name in lacking:
        positions = columns.positions[name]
        assert positions is not None
        absent = np.flatnonzero(~_mask(positions, n))
        named = ", ".join(quoted(columns.ids[index]) for index in absent[:NAMED_IDS].tolist())
        more = f" and {len(absent) - NAMED_IDS:,} more" if len(absent) > NAMED_IDS else ""
        detail = f"{_called(name)} lacks {len(absent):,} of {n:,} items: {named}{more}."
        flaws.append(Flaw(name, "unmatched_ids", detail, () if flaws else MENDED))
    several = f"; {len(lacking) - 1:,} more columns lack items" if len(lacking) > 1 else ""
    detail = (
        f"{flaws[0].detail[:-1]}{several}. Add them; or set on_missing to pairwise (each pair on the items that both have) or "
        "to complete (the items that all have)."
    )
    raise InvalidTest(detail, flaws=tuple(flaws))


def _called(pointer: str) -> str:
    name = pointer.rpartition("/")[2].replace("~1", "/").replace("~0", "~")
    return "gold" if pointer == GOLD else quoted(name)
