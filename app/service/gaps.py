"""Scores with missing outcomes (`on_missing` bounds): complete items, and those that a system lacks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidTest
from ..inputs import nested
from ..inputs.pairing import ById, Gapped, clusters_of, coded, require_unique
from ..statistics.paired import Gaps, Pairing, Scores
from .schema.requests import ScoresRequest

BOUNDS = "bounds"
DEFAULT_RANGE = (0.0, 1.0)


@dataclass(frozen=True, slots=True)
class _Side:
    """A column's values, and where each of all items stands in it; -1 where it is missing."""

    values: Any
    place: NDArray[np.int64]

    def taken(self, items: NDArray[np.bool_]) -> Any:
        """The values of some of the items, all of which it has."""
        if not items.any():
            return np.zeros(0, dtype=np.int64)
        return nested.taken(self.values, self.place[items])


def scores_with_gaps(request: ScoresRequest) -> tuple[Scores, list[str]]:
    """The data, and the names of the complete items in their order, for pointers.

    Raises
    ------
        InvalidTest: the columns are not of one form or length, no item is complete, or there are weights.
    """
    if request.weights is not None:
        detail = "Missing outcomes have bounds where all items count alike: leave weights out, or set on_missing to drop."
        raise InvalidTest.at("/weights", "no_missing_bounds", detail)
    keys, sides, ids = _placed(request)
    there = [side.place >= 0 for side in sides]
    both, only_u, only_v = there[0] & there[1], there[0] & ~there[1], there[1] & ~there[0]
    if not both.any():
        detail = "No item has an outcome of both systems; there is nothing to pair."
        raise InvalidTest.at("/u", "no_common_ids", detail)
    order = np.concatenate([np.flatnonzero(mask) for mask in (both, only_u, only_v, ~(there[0] | there[1]))])
    u, v = (side.taken(both) for side in sides)
    lacking = [sides[0].taken(only_u), sides[1].taken(only_v)]
    if request.decimals is not None:
        u, v, *lacking = (nested.to_decimals(column, request.decimals) for column in (u, v, *lacking))
    named = [keys[index] for index in order[: int(both.sum())].tolist()]
    every = _clusters(request, [keys[index] for index in order.tolist()], order, ids)
    codes, n_clusters = coded(None if every is None else every[: len(named)])
    pairing = Pairing(
        codes,
        n_clusters,
        by_id=ids is not None,
        ids=ids and [ids[index] for index in order[: len(named)].tolist()],
    )
    if len(order) == len(named):
        return Scores(u, v, pairing), named
    low, high = DEFAULT_RANGE if request.missing_range is None else request.missing_range
    all_codes, n_all = coded(every)
    neither = len(order) - len(named) - int(only_u.sum()) - int(only_v.sum())
    gaps = Gaps(lacking[0], lacking[1], neither, float(low), float(high), all_codes, n_all)
    return Scores(u, v, pairing, None, gaps), named


def _placed(request: ScoresRequest) -> tuple[list[str], list[_Side], Sequence[Any] | None]:
    """The items' keys, both columns placed on them, and the ids if there are any."""
    columns = (request.u, request.v)
    if all(isinstance(column, ById) for column in columns):
        if request.ids is not None:
            raise InvalidTest.at(
                "/ids", "redundant_ids", "The systems are keyed by id already; leave ids out."
            )
        keys = list(dict.fromkeys(key for column in columns for key in (*column.ids, *column.absent)))
        index = {key: position for position, key in enumerate(keys)}
        sides = []
        for column in columns:
            place = np.full(len(keys), -1, dtype=np.int64)
            place[[index[key] for key in column.ids]] = np.arange(len(column.ids))
            sides.append(_Side(column.values, place))
        return keys, sides, keys
    if any(isinstance(column, ById) for column in columns):
        detail = "Give all systems as objects keyed by id, or all as arrays."
        raise InvalidTest.at("/v", "mixed_forms", detail)
    n, other = (len(column) for column in columns)
    if n != other:
        detail = f"u has {n:,} items and v has {other:,}; give null where an outcome is missing."
        raise InvalidTest.at("/v", "length_mismatch", detail)
    if request.ids is not None:
        if len(request.ids) != n:
            detail = f"u has {n:,} items and ids has {len(request.ids):,}."
            raise InvalidTest.at("/ids", "length_mismatch", detail)
        require_unique(request.ids)
    sides = []
    for column in columns:
        if isinstance(column, Gapped):
            place = np.full(n, -1, dtype=np.int64)
            place[column.positions] = np.arange(len(column.positions))
            sides.append(_Side(column.values, place))
        else:
            sides.append(_Side(column, np.arange(n)))
    return [str(position) for position in range(n)], sides, request.ids


def _clusters(
    request: ScoresRequest, keys: list[str], order: NDArray[np.int64], ids: Sequence[Any] | None
) -> list[Any] | None:
    """The cluster of every item in its order."""
    given = request.clusters
    if given is None:
        return None
    if isinstance(given, dict):
        if ids is None:
            detail = (
                "Clusters keyed by id need ids, or systems keyed by id; or give one cluster key per item."
            )
            raise InvalidTest.at("/clusters", "no_ids", detail)
        return clusters_of([str(ids[index]) for index in order.tolist()], given)
    if isinstance(request.u, ById):
        detail = "The systems are keyed by id; give clusters as an object keyed by id too."
        raise InvalidTest.at("/clusters", "mixed_forms", detail)
    if len(given) != len(keys):
        detail = f"u has {len(keys):,} items and clusters has {len(given):,}."
        raise InvalidTest.at("/clusters", "length_mismatch", detail)
    return [given[index] for index in order.tolist()]
