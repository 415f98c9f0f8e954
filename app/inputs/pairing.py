"""Which items of the systems form pairs, and which items swap together.

Columns given as arrays are paired by their order; columns given as `{id: value}` objects by id, in the order of
the first one. Nothing is matched by guessing, and nothing is dropped without on_missing=drop.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..errors import Flaw, InvalidTest, choices_of
from ..statistics.paired import Pairing
from .quoting import quoted

OnMissing = Literal["error", "drop"]
NAMED_IDS = 5
DROP = choices_of("on_missing", {"drop": "Leave such items out, and count them"})

Values = Sequence[Any] | NDArray[Any]


@dataclass(frozen=True, slots=True)
class ById:
    """A column given as an object: one value per id, in the order they were written; `absent` are ids of null."""

    ids: list[str]
    values: Values
    absent: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        """How many items it has."""
        return len(self.ids)


@dataclass(frozen=True, slots=True)
class Gapped:
    """A column given as a list of n items with nulls: the values that there are, and their positions."""

    values: Any
    positions: NDArray[np.int64]
    n: int

    def __len__(self) -> int:
        """How many items it has, missing ones included."""
        return self.n


Given = Values | ById


@dataclass(frozen=True, slots=True)
class Paired:
    """Columns of one length and in one order, by name."""

    columns: dict[str, Values]
    pairing: Pairing


def pair(
    columns: Mapping[str, Given],
    *,
    ids: Sequence[Any] | None,
    clusters: Sequence[Any] | Mapping[str, Any] | None,
    on_missing: OnMissing,
) -> Paired:
    """Bring two or more columns into one order.

    Raises
    ------
        InvalidTest: lengths differ, ids repeat or do not match, there is nothing to test, or the columns are
            not all of one form. Pointers are relative to the request (`/v`).
    """
    keyed = {name: column for name, column in columns.items() if isinstance(column, ById)}
    if not keyed:
        arrays = {name: column for name, column in columns.items() if not isinstance(column, ById)}
        return _by_order(arrays, ids, clusters)
    if len(keyed) != len(columns):
        other = next(name for name in columns if name not in keyed)
        detail = "Give all systems as objects keyed by id, or all as arrays."
        raise InvalidTest.at(f"/{other}", "mixed_forms", detail)
    if ids is not None:
        raise InvalidTest.at("/ids", "redundant_ids", "The systems are keyed by id already; leave ids out.")
    return _by_id(keyed, clusters, on_missing)


def _by_order(
    arrays: Mapping[str, Values],
    ids: Sequence[Any] | None,
    clusters: Sequence[Any] | Mapping[str, Any] | None,
) -> Paired:
    first = next(iter(arrays))
    n = len(arrays[first])
    for name, column in arrays.items():
        _same_length(name, len(column), first, n)
    if n == 0:
        raise InvalidTest.at(f"/{first}", "no_items", "There is no item to test; give at least one.")
    if ids is not None:
        _same_length("ids", len(ids), first, n)
        require_unique(ids)
    if isinstance(clusters, Mapping):
        if ids is None:
            detail = (
                "Clusters keyed by id need ids, or systems keyed by id; or give one cluster key per item."
            )
            raise InvalidTest.at("/clusters", "no_ids", detail)
        clusters = clusters_of([str(key) for key in ids], clusters)
    elif clusters is not None:
        _same_length("clusters", len(clusters), first, n)
    codes, n_clusters = coded(clusters)
    return Paired(dict(arrays), Pairing(codes, n_clusters, by_id=ids is not None, ids=ids))


def _same_length(name: str, length: int, first: str, n: int) -> None:
    if length != n:
        detail = f"{first} has {n:,} items and {name} has {length:,}; every item needs a value in both."
        raise InvalidTest.at(f"/{name}", "length_mismatch", detail)


def require_unique(ids: Sequence[Any]) -> None:
    """Refuse ids that repeat; raises InvalidTest at `/ids/<index>`."""
    if len(set(ids)) == len(ids):
        return
    seen: set[Any] = set()
    flaws = []
    for index, key in enumerate(ids):
        if key in seen:
            detail = f"The id {quoted(key)} is a duplicate; ids must be unique."
            flaws.append(Flaw(f"/ids/{index}", "duplicate_id", detail))
            if len(flaws) == NAMED_IDS:
                break
        seen.add(key)
    raise InvalidTest(
        f"Ids must be unique: {len(ids) - len(set(ids)):,} of {len(ids):,} repeat.", flaws=tuple(flaws)
    )


def _by_id(
    keyed: Mapping[str, ById], clusters: Sequence[Any] | Mapping[str, Any] | None, on_missing: OnMissing
) -> Paired:
    first = next(iter(keyed))
    if not any(column.ids for column in keyed.values()):
        raise InvalidTest.at(f"/{first}", "no_items", "There is no item to test; give at least one.")
    order = keyed[first].ids
    matched = order
    if any(column.ids != order for column in keyed.values()):
        sets = [set(column.ids) for column in keyed.values()]
        common = set.intersection(*sets)
        matched = [key for key in order if key in common]
        if on_missing == "error" and any(len(ids) != len(common) for ids in sets):
            _refuse_unmatched(keyed, common)
    if not matched:
        raise InvalidTest.at(
            f"/{first}", "no_common_ids", "No id is in all columns; there is nothing to pair."
        )
    columns = {name: _reordered(column, matched) for name, column in keyed.items()}
    if clusters is not None and not isinstance(clusters, Mapping):
        detail = "The systems are keyed by id; give clusters as an object keyed by id too."
        raise InvalidTest.at("/clusters", "mixed_forms", detail)
    codes, n_clusters = coded(None if clusters is None else clusters_of(matched, clusters))
    pairing = Pairing(
        clusters=codes,
        n_clusters=n_clusters,
        by_id=True,
        matched=len(matched),
        only_u=len(keyed["u"].ids) - len(matched) if "u" in keyed else 0,
        only_v=len(keyed["v"].ids) - len(matched) if "v" in keyed else 0,
        largest=max(len(column.ids) for column in keyed.values()),
        ids=matched,
    )
    return Paired(columns, pairing)


def _refuse_unmatched(keyed: Mapping[str, ById], common: set[str]) -> None:
    flaws: list[Flaw] = []
    counts = []
    for name, column in keyed.items():
        alone = [key for key in column.ids if key not in common]
        if alone:
            named = ", ".join(quoted(key) for key in alone[:NAMED_IDS])
            more = f" and {len(alone) - NAMED_IDS:,} more" if len(alone) > NAMED_IDS else ""
            detail = f"Without a counterpart: {named}{more}."
            flaws.append(Flaw(f"/{name}", "unmatched_ids", detail, () if flaws else DROP))
            counts.append(f"{len(alone):,} of {len(column.ids):,} ids in {name}")
    detail = (
        f"The ids do not match: {' and '.join(counts)} have no counterpart. "
        "Add them, or set on_missing to drop to test only the items that match."
    )
    raise InvalidTest(detail, flaws=tuple(flaws))


def _reordered(column: ById, order: list[str]) -> Values:
    if column.ids == order:
        return column.values
    index = {key: row for row, key in enumerate(column.ids)}
    if isinstance(column.values, np.ndarray):
        return column.values[np.fromiter(map(index.__getitem__, order), dtype=np.int64, count=len(order))]
    return [column.values[index[key]] for key in order]


def clusters_of(ids: Sequence[str], clusters: Mapping[str, Any]) -> list[Any]:
    """The cluster of each id; raises InvalidTest at `/clusters` where one has none."""
    missing = [key for key in ids if key not in clusters]
    if missing:
        named = ", ".join(quoted(key) for key in missing[:NAMED_IDS])
        detail = f"{len(missing):,} of {len(ids):,} items have no cluster: {named}."
        raise InvalidTest.at("/clusters", "unmatched_ids", detail)
    return [clusters[key] for key in ids]


def coded(keys: Sequence[Any] | None) -> tuple[NDArray[np.int64] | None, int | None]:
    """Codes 0..n_clusters-1 in order of first appearance."""
    if keys is None:
        return None, None
    code = {key: index for index, key in enumerate(dict.fromkeys(keys))}
    return np.fromiter(map(code.__getitem__, keys), dtype=np.int64, count=len(keys)), len(code)
