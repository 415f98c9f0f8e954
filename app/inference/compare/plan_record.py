"""What a comparison would do and cost, as plain data; annotated as `app.inference.record` is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated


@dataclass(frozen=True, slots=True)
class BoardPlanRecord:
    """The tests of the pairs of one board."""

    dataset: Annotated[
        str | None, "The name of the data set; null of a single one, and of the overall board."
    ]
    systems: int
    tests: int
    methods: Annotated[
        tuple[str, ...], "Methods that run; of pairs that are planned one by one, those of some of them."
    ]
    seconds: float


@dataclass(frozen=True, slots=True)
class ComparePlanRecord:
    """What a comparison would do and cost on one processor, predicted before any of its tests runs."""

    tests: Annotated[int, "Pairs of systems, over all boards."]
    seconds: Annotated[float, "Predicted time of the whole comparison."]
    longest_seconds: Annotated[float | None, "What it takes at the most; null where that is not known."]
    boards: tuple[BoardPlanRecord, ...]
