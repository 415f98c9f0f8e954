"""Scores of two systems and gold, each by id: brought into one order, with groups, clusters and events."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...errors import Flaw, InvalidTest, relocated
from ...statistics.paired import Predictions
from .. import columns
from ..pairing import DROP, NAMED_IDS, ById, OnMissing, coded, pair
from ..quoting import quoted
from . import missing_scores
from .reader import OnMissingOutcome
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

    def known(self, role: str, on_missing: OnMissing, notes: list[str]) -> ById:
        """The items that have a value; raises InvalidTest for the others, unless they are dropped."""
        self.require_unique()
        gaps = [index for index, value in enumerate(self.values) if value is None]
        notes.append(f"{role}: {len(self.ids):,} items read from {self.source.label}.")
        if gaps and on_missing == "error":
            flaws = tuple(
                Flaw(
                    self.place(index),
                    "missing_value",
                    f"The item {quoted(self.ids[index])} of {role} has no value.",
                    () if place else DROP,
                )
                for place, index in enumerate(gaps[:NAMED_IDS])
            )
            detail = (
                f"{self.source.label}: {len(gaps):,} of {len(self.ids):,} items of {role} have no value. Missing is not "
                "zero: add them, or give on_missing=drop to leave these items out."
            )
            raise InvalidTest(detail, flaws=flaws)
        if gaps:
            notes.append(f"{role}: {len(gaps):,} items without a value were left out (on_missing=drop).")
        keep = [index for index, value in enumerate(self.values) if value is not None]
        return ById([self.ids[index] for index in keep], [self.values[index] for index in keep])


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
    notes: list[str],
    column_of: Callable[[Sequence[Any], str], Any] | None = None,
) -> Predictions:
    """Gold and both systems' scores in the order of gold; `column_of` makes a column of values and their role.

    Raises
    ------
    InvalidTest
        Ids repeat or do not match, or values are missing, without on_missing=drop. Bounds are of scores without gold.
    """
    if on_missing == "bounds":
        raise missing_scores.no_bounds()
    sides = {"gold": gold, "u": u, "v": v}
    way: OnMissing = "drop" if on_missing == "drop" else "error"
    kept = {role: side.known(role, way, notes) for role, side in sides.items()}
    for role, column in kept.items():
        if not column.ids:
            raise sides[role].source.empty()
    with relocated(lambda pointer: f"/files{pointer}"):
        paired = pair(kept, ids=None, clusters=of_items.clusters, on_missing=way)
    ids = [str(key) for key in paired.pairing.ids or ()]
    for role, column in kept.items():
        alone = len(column.ids) - len(ids)
        if alone:
            notes.append(
                f"{alone:,} items of {role} that not all files have were left out (on_missing=drop)."
            )
    pairing = replace(paired.pairing, largest=max(len(side.ids) for side in (u, v)))
    made = scores if column_of is None else column_of
    return Predictions(
        list(paired.columns["gold"]),
        made(list(paired.columns["u"]), "u"),
        made(list(paired.columns["v"]), "v"),
        pairing,
        None if of_items.groups is None else coded([of_items.groups[key] for key in ids])[0],
        None if of_items.events is None else np.array([of_items.events[key] for key in ids], dtype=bool),
    )


def scores(values: Sequence[Any], role: str) -> Any:
    """One number per item, shape (n,); raises InvalidTest at `/files/<role>/item/<n>`."""
    with relocated(lambda pointer: f"/files/{role}/item{pointer}"):
        return columns.numbers(list(values), may_hold_booleans=False)
