"""Scores of two systems and gold, each by id: brought into one order, with groups, clusters and events."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...errors import InvalidTest, relocated
from ...inference.reading import LeftOut, Read
from ...statistics.paired import Predictions
from .. import columns
from ..alignment import BOUNDS, ById, align, coded
from ..nested import taken
from ..quoting import quoted
from .outputs_by_id import missing_values
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

    def known(self, role: str, on_missing: OnMissingOutcome, notes: list[Any]) -> ById:
        """The items that have a value; raises InvalidTest for the others, unless they are dropped."""
        self.require_unique()
        absent = [key for key, value in zip(self.ids, self.values, strict=True) if value is None]
        notes.append(Read(role, len(self.ids), self.source.label, self.source.name[:80]))
        if not absent:
            return ById(self.ids, self.values)
        if on_missing != "drop":
            raise missing_values(self.source, self.ids, self.values, role, self.place)
        notes.append(LeftOut(role, len(absent), "value"))
        keep = [index for index, value in enumerate(self.values) if value is not None]
        return ById([self.ids[index] for index in keep], [self.values[index] for index in keep], absent)


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
    known = {f"/{role}": side.known(role, on_missing, notes) for role, side in sides.items()}
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

    def values(role: str) -> list[Any]:
        order, column = aligned.order[f"/{role}"], known[f"/{role}"].values
        return list(column if order is None else taken(column, order))

    return Predictions(
        values("gold"),
        made(values("u"), "u"),
        made(values("v"), "v"),
        pairing,
        None if of_items.groups is None else coded([of_items.groups[key] for key in ids])[0],
        None if of_items.events is None else np.array([of_items.events[key] for key in ids], dtype=bool),
    )


def scores(values: Sequence[Any], role: str) -> Any:
    """One number per item, shape (n,); raises InvalidTest at `/files/<role>/item/<n>`."""
    with relocated(lambda pointer: f"/files/{role}/item{pointer}"):
        return columns.numbers(list(values), may_hold_booleans=False)
