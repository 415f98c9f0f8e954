"""The data of one pair: what both systems have, as every test of two systems takes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np

from ...engine.lattice import Integers
from ...statistics.columns import first_seen, order_of_ids, taken, taken_pairing
from ...statistics.corpus import counted
from ...statistics.numbers import taken_weights
from ...statistics.paired import (
    Column,
    Counts,
    Item,
    Paired,
    Predictions,
    Repeated,
    Scores,
    Segments,
    StatisticSpec,
    SystemColumn,
    Systems,
)


def pair_data(systems: Systems, u: str, v: str) -> Paired | None:
    """The test data of systems `u` and `v` on the items that both have; None where there are none."""
    items, pairing = common_items(systems, u, v), systems.pairing
    if items is not None:
        if len(items) == 0:
            return None
        pairing = taken_pairing(pairing, items)
    one, other = (_on(systems, name, items) for name in (u, v))
    if systems.kind == "scores":
        weights = systems.weights if items is None else taken_weights(systems.weights, items)
        return Scores(cast("Column | Repeated", one), cast("Column | Repeated", other), pairing, weights)
    if systems.kind == "counts":
        return Counts(cast("Mapping[str, Column]", one), cast("Mapping[str, Column]", other), pairing)
    gold = cast("Sequence[Any]", systems.gold if items is None else taken(systems.gold, items))
    if systems.kind == "predictions":
        groups, event = systems.groups, systems.event
        if items is not None:
            groups = None if groups is None else first_seen(groups[items])
            event = None if event is None else event[items]
        return Predictions(
            gold, cast("Sequence[Item]", one), cast("Sequence[Item]", other), pairing, groups, event
        )
    return Segments(cast("Sequence[str]", one), cast("Sequence[str]", other), gold, pairing)


def common_items(systems: Systems, u: str, v: str) -> Integers | None:
    """Positions, ascending, of the items that both have; None for all."""
    own = [systems.present[name] for name in dict.fromkeys((u, v)) if name in systems.present]
    if not own:
        return None
    return own[0] if len(own) == 1 else np.intersect1d(own[0], own[1], assume_unique=True)


def counted_systems(systems: Systems, spec: StatisticSpec) -> tuple[Systems, StatisticSpec]:
    """Text segments as the counts of their statistic, each system counted once; anything else as it is.

    Systems that lack items stay texts: the counts of an item may depend on which others there are (`corpus.counted`).
    """
    if systems.kind != "segments" or systems.present:
        return systems, spec
    columns: dict[str, SystemColumn] = {}
    names, counted_spec = systems.names, spec
    # Two at a time, as everything of a pair is counted together; the last one of an odd number with itself.
    for u, v in zip(names[::2], (*names[1::2], names[-1])[: len(names[::2])], strict=True):
        data = pair_data(systems, u, v)
        assert isinstance(data, Segments)
        counts, counted_spec = counted(data, spec)
        columns |= {u: counts.u, v: counts.v}
    return replace(systems, kind="counts", columns=columns, gold=None), counted_spec


def _on(systems: Systems, name: str, items: Integers | None) -> SystemColumn:
    """A system's column on some of the items."""
    column = systems.columns[name]
    if items is None:
        return column
    own = systems.present.get(name)
    if own is not None:
        if len(own) == len(items):
            return column
        items = np.searchsorted(own, items)
    return taken(column, items)


def sorted_by_id(systems: Systems) -> Systems:
    """The same systems with the items in the order of their ids, where they have any: nothing may depend on another one."""
    order = order_of_ids(systems.pairing.ids)
    if order is None:
        return systems
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    columns: dict[str, SystemColumn] = {}
    present: dict[str, Integers] = {}
    for name, column in systems.columns.items():
        own = systems.present.get(name)
        inside = order if own is None else np.argsort(place[own])
        columns[name] = taken(column, inside)
        if own is not None:
            present[name] = place[own][inside]
    return replace(
        systems,
        columns=columns,
        gold=taken(systems.gold, order),
        pairing=taken_pairing(systems.pairing, order),
        present=present,
        weights=taken_weights(systems.weights, order),
        groups=None if systems.groups is None else first_seen(systems.groups[order]),
        event=taken(systems.event, order),
    )
