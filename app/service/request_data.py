"""The data of a validated request in one order, paired by position or by id."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..errors import BodyTooLarge, InvalidTest
from ..inputs import nested
from ..inputs.nested import NamedCounts
from ..inputs.pairing import ById, Given, pair
from ..statistics.paired import Counts, Effects, Paired, Pairing, Predictions, Scores
from .body_decoders import REQUIRED
from .gaps import BOUNDS, scores_with_gaps
from .messages import Limits
from .pairwise import events_for, groups_for
from .schema.requests import AnyRequest, CountsRequest, EffectsRequest, ScoresRequest
from .weights import weights_for

Order = dict[str, list[str]]


def refuse_too_many(what: str, n: int, limits: Limits) -> None:
    """Refuse more items than the limits allow; raises BodyTooLarge."""
    if n > limits.max_items:
        raise BodyTooLarge(f"{what} {n:,} items; at most {limits.max_items:,} are allowed.")


def paired(request: AnyRequest, limits: Limits) -> tuple[Paired, Order | None]:
    """The data in one order; and the ids in that order, where the columns were keyed by id.

    Raises InvalidTest, and BodyTooLarge for too many items.
    """
    if request.on_missing == BOUNDS:
        if not isinstance(request, ScoresRequest):
            detail = "Missing outcomes have bounds in scores alone: send right and wrong as 1 and 0, or set on_missing to drop."
            raise InvalidTest.at("/on_missing", "no_missing_bounds", detail)
        for name in ("u", "v"):
            refuse_too_many(f"{name} has", len(getattr(request, name)), limits)
        data, named = scores_with_gaps(request)
        return data, {"u": named, "v": named}
    if isinstance(request, ScoresRequest) and request.missing_range is not None:
        detail = "missing_range is of on_missing bounds: set that as well, or leave it out."
        raise InvalidTest.at("/missing_range", "redundant", detail)
    given = {name: getattr(request, name) for name in _columns(request)}
    for name, column in given.items():
        refuse_too_many(f"{name} has", len(column), limits)
    if request.ids is None and request.clusters is None and _in_order(given):
        return _data(request, given, Pairing()), ({} if by_item(request) else None)
    # Positions are paired, not values: a column may be anything that has a length.
    positions: dict[str, Given] = {
        name: ById(column.ids, np.arange(len(column))) if isinstance(column, ById) else range(len(column))
        for name, column in given.items()
    }
    on_missing: Literal["error", "drop"] = "error" if request.on_missing == "error" else "drop"
    found = pair(positions, ids=request.ids, clusters=request.clusters, on_missing=on_missing)
    columns = {name: _ordered(given[name], positions[name], found.columns[name]) for name in given}
    order = {
        name: [column.ids[index] for index in np.asarray(found.columns[name]).tolist()]
        for name, column in given.items()
        if isinstance(column, ById)
    }
    return _data(request, columns, found.pairing), order or ({} if by_item(request) else None)


def _in_order(columns: dict[str, Any]) -> bool:
    """Whether the columns are paired by their order and of one length: most are, and then there is nothing to do."""
    lengths = {None if isinstance(column, ById) else len(column) for column in columns.values()}
    return len(lengths) == 1 and lengths.isdisjoint((None, 0))


def _columns(request: AnyRequest) -> list[str]:
    if isinstance(request, EffectsRequest):
        return ["stay"] if request.swap is None else ["stay", "swap"]
    return list(REQUIRED["scores" if isinstance(request, ScoresRequest | CountsRequest) else "predictions"])


def by_item(request: AnyRequest) -> bool:
    """Whether counts were sent as one object per item."""
    if not isinstance(request, CountsRequest):
        return False
    counts = request.u.values if isinstance(request.u, ById) else request.u
    return isinstance(counts, NamedCounts) and counts.by_item


def _ordered(given: Any, before: Given, after: Any) -> Any:
    if not isinstance(given, ById):
        return given
    assert isinstance(before, ById)
    order: NDArray[np.int64] = after
    return given.values if order is before.values else nested.taken(given.values, order)


def _data(request: AnyRequest, columns: dict[str, Any], pairing: Pairing) -> Paired:
    if isinstance(request, EffectsRequest):
        return Effects(columns["stay"], columns.get("swap"), pairing)
    if isinstance(request, ScoresRequest):
        u, v = columns["u"], columns["v"]
        if request.decimals is not None:
            u, v = (nested.to_decimals(column, request.decimals) for column in (u, v))
        return Scores(u, v, pairing, weights_for(request.weights, len(u), pairing))
    if isinstance(request, CountsRequest):
        return Counts(columns["u"].columns, columns["v"].columns, pairing)
    n = len(columns["gold"])
    groups, event = groups_for(request.groups, n, pairing), events_for(request.event, n, pairing)
    return Predictions(columns["gold"], columns["u"], columns["v"], pairing, groups, event)
