"""The data of a validated request in one order, paired by position or by id."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..errors import BodyTooLarge, InvalidTest
from ..inputs import nested
from ..inputs.alignment import (
    BOUNDS,
    DEFAULT_RANGE,
    Aligned,
    ById,
    Gapped,
    Positions,
    align,
    bounded_scores,
    in_order,
)
from ..inputs.nested import NamedCounts
from ..statistics.paired import Counts, Effects, Paired, Predictions, Scores
from .body_decoders import REQUIRED
from .item_columns import events_for, groups_for, weights_for
from .messages import Limits
from .schema.requests import AnyRequest, CountsRequest, EffectsRequest, ScoresRequest

Order = dict[str, list[str]]


def refuse_too_many(what: str, n: int, limits: Limits) -> None:
    """Refuse more items than the limits allow; raises BodyTooLarge."""
    if n > limits.max_items:
        raise BodyTooLarge(f"{what} {n:,} items; at most {limits.max_items:,} are allowed.")


def paired(request: AnyRequest, limits: Limits) -> tuple[Paired, Order | None]:
    """The data in one order; and what names its items in pointers, where they are not numbered as they were sent.

    Raises InvalidTest, and BodyTooLarge for too many items.
    """
    bounds = request.on_missing == BOUNDS
    if bounds:
        _require_scores(request)
    elif isinstance(request, ScoresRequest) and request.missing_range is not None:
        detail = "`missing_range` is of `on_missing=bounds`: set that as well, or leave it out."
        raise InvalidTest.at("/missing_range", "redundant", detail)
    given: dict[str, Any] = {name: getattr(request, name) for name in _columns(request)}
    for name, column in given.items():
        refuse_too_many(f"{name} has", len(column), limits)
    order: Order | None = {} if by_item(request) else None
    if request.ids is None and request.clusters is None and not bounds and _in_order(given):
        return _data(request, given, in_order(len(next(iter(given.values()))))), order
    columns = {f"/{name}": column for name, column in given.items()}
    aligned = align(columns, ids=request.ids, clusters=request.clusters, on_missing=request.on_missing)
    names = {name: _names(column, aligned.order[f"/{name}"]) for name, column in given.items()}
    named = {name: own for name, own in names.items() if own is not None}
    if bounds:
        assert isinstance(request, ScoresRequest)
        return _bounded(request, aligned), named or order
    taken = {name: _taken(column, aligned.order[f"/{name}"]) for name, column in given.items()}
    return _data(request, taken, aligned), named or order


def _in_order(columns: dict[str, Any]) -> bool:
    """Whether the columns are paired by their order and of one length: most are, and then there is nothing to do."""
    lengths = {None if isinstance(column, ById | Gapped) else len(column) for column in columns.values()}
    return len(lengths) == 1 and lengths.isdisjoint((None, 0))


def _columns(request: AnyRequest) -> list[str]:
    if isinstance(request, EffectsRequest):
        return ["stay"] if request.swap is None else ["stay", "swap"]
    return list(REQUIRED["scores" if isinstance(request, ScoresRequest | CountsRequest) else "predictions"])


def by_item(request: AnyRequest) -> bool:
    """Whether counts were sent as one object per item."""
    if not isinstance(request, CountsRequest):
        return False
    counts = request.u.values if isinstance(request.u, ById | Gapped) else request.u
    return isinstance(counts, NamedCounts) and counts.by_item


def _names(column: Any, order: Positions | None) -> list[str] | None:
    """What an object, or a list with nulls, calls the items of a column in their order; None for their numbers."""
    if isinstance(column, ById):
        return column.ids if order is None else [column.ids[index] for index in order.tolist()]
    if isinstance(column, Gapped):
        order = column.positions if order is None else column.positions[order]
    return None if order is None else list(map(str, order.tolist()))


def _taken(column: Any, order: Positions | None) -> Any:
    """The values of a column at these positions."""
    values = column.values if isinstance(column, ById | Gapped) else column
    return values if order is None else nested.taken(values, order)


def _require_scores(request: AnyRequest) -> None:
    """Refuse what missing outcomes have no bounds in; raises InvalidTest."""
    if not isinstance(request, ScoresRequest):
        detail = "Missing outcomes have bounds in scores alone: give right and wrong as 1 and 0, or set `on_missing=drop`."
        raise InvalidTest.at("/on_missing", "no_missing_bounds", detail)
    if request.weights is not None:
        detail = "Missing outcomes have bounds where all items count alike: leave weights out, or set `on_missing=drop`."
        raise InvalidTest.at("/weights", "no_missing_bounds", detail)


def _bounded(request: ScoresRequest, aligned: Aligned) -> Scores:
    """Scores of which the missing ones have bounds."""

    def take(name: str, order: Positions | None) -> Any:
        values = _taken(request.u if name == "/u" else request.v, order)
        return values if request.decimals is None else nested.to_decimals(values, request.decimals)

    data = bounded_scores(aligned, take, request.missing_range or DEFAULT_RANGE)
    # Nothing was left out: the missing outcomes are in the answer by themselves.
    return replace(data, pairing=replace(data.pairing, matched=None, only_u=0, only_v=0, largest=None))


def _data(request: AnyRequest, columns: dict[str, Any], aligned: Aligned) -> Paired:
    pairing, items = aligned.pairing, aligned.items
    if isinstance(request, EffectsRequest):
        return Effects(columns["stay"], columns.get("swap"), pairing)
    if isinstance(request, ScoresRequest):
        u, v = columns["u"], columns["v"]
        if request.decimals is not None:
            u, v = (nested.to_decimals(column, request.decimals) for column in (u, v))
        return Scores(u, v, pairing, weights_for(request.weights, items))
    if isinstance(request, CountsRequest):
        return Counts(columns["u"].columns, columns["v"].columns, pairing)
    groups, event = groups_for(request.groups, items), events_for(request.event, items)
    return Predictions(columns["gold"], columns["u"], columns["v"], pairing, groups, event)
