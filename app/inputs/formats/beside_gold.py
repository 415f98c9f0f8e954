"""Scores of two systems and gold, each by id: brought into one order, with groups, clusters and events."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...errors import InvalidTest, relocated
from ...inference.reading import LeftOut
from ...statistics.paired import Predictions
from .. import columns
from ..alignment import BOUNDS, align, coded
from ..quoting import quoted
from .outputs_by_id import known_values, values_in
from .reader import OnMissingOutcome, no_bounds
from .source import Source


@dataclass(frozen=True, slots=True)
class ValuesById:
    """One column by id; None is missing, `place` gives the pointer to the value of an index."""

    source: Source
    ids: list[str]
    values: list[Any]
    place: Callable[[int], str]

    def require_unique(self) -> None:
        """Refuse an id that repeats; raises InvalidTest."""
        if len(set(self.ids)) == len(self.ids):
            return
        seen: dict[str, int] = {}
        for index, key in enumerate(self.ids):
            if seen.setdefault(key, index) != index:
                detail = f"{self.source.label}: the id {quoted(key)} is there twice; ids must be unique."
                raise InvalidTest.at(self.place(index), "duplicate_id", detail)


@dataclass(frozen=True, slots=True)
class OfItems:
    """What else is known of items, each by id: groups, clusters, and which times are of events."""

    groups: Mapping[str, str] | None = None
    clusters: Mapping[str, str] | None = None
    events: Mapping[str, bool] | None = None


def predictions_by_id(
    gold: ValuesById,
    u: ValuesById,
    v: ValuesById,
    of_items: OfItems,
    on_missing: OnMissingOutcome,
    notes: list[Any],
    column_of: Callable[[Sequence[Any], str], Any] | None = None,
) -> Predictions:
    """Gold and both systems' scores in the order of gold; `column_of` makes a column of values and their role.

    Raises
    ------
    InvalidTest
        Ids repeat or do not match, or values are missing, without on_missing=drop. Bounds are of scores without gold.
    """
    if on_missing == BOUNDS:
        raise no_bounds()
    sides = {"gold": gold, "u": u, "v": v}
    known = {}
    for role, side in sides.items():
        side.require_unique()
        known[f"/{role}"] = known_values(
            side.source, side.ids, side.values, role, on_missing, notes, side.place
        )
    for role, side in sides.items():
        if not known[f"/{role}"].ids:
            raise side.source.empty()
    with relocated(lambda pointer: f"/files{pointer}"):
        aligned = align(
            known, clusters=of_items.clusters, on_missing="drop" if on_missing == "drop" else "error"
        )
    ids = [str(key) for key in aligned.pairing.ids or ()]
    for role in sides:
        alone = len(known[f"/{role}"]) - len(ids)
        if alone:
            notes.append(LeftOut(role, alone, "file"))
    pairing = replace(aligned.pairing, largest=max(len(side.ids) for side in (u, v)))
    made = scores if column_of is None else column_of

    gold_values, *systems = (values_in(known[name], aligned.order[name]) for name in known)
    return Predictions(
        gold_values,
        made(systems[0], "u"),
        made(systems[1], "v"),
        pairing,
        None if of_items.groups is None else coded([of_items.groups[key] for key in ids])[0],
        None if of_items.events is None else np.array([of_items.events[key] for key in ids], dtype=bool),
    )


def scores(values: Sequence[Any], role: str) -> Any:
    """One number per item, shape (n,); raises InvalidTest at `/files/<role>/item/<n>`."""
    with relocated(lambda pointer: f"/files/{role}/item{pointer}"):
        return columns.numbers(list(values), may_hold_booleans=False)
