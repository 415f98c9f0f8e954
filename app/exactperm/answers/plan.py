"""The answers to plans of tests and of comparisons; annotated as those in `test.py`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from .members import COST, Form
from .test import Method


@dataclass(frozen=True, slots=True)
class PlannedMethod:
    """A method, its predicted cost, and why it was chosen or not."""

    method: Annotated[str, Form(Method, str)]
    exact: bool
    operations: Annotated[float, COST]
    bytes: Annotated[float, COST]
    seconds: Annotated[float, COST]
    reason: str


@dataclass(frozen=True, slots=True)
class PlanRecord(PlannedMethod):
    """What a test would do and cost, predicted before any of its arrays exists, and the alternatives."""

    alternatives: tuple[PlannedMethod, ...]


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
    seconds: Annotated[float, COST]


@dataclass(frozen=True, slots=True)
class ComparePlanRecord:
    """What a comparison would do and cost on one processor, as a whole, predicted before any of its tests runs."""

    tests: Annotated[int, "Pairs of systems, over all boards."]
    seconds: Annotated[float, COST]
    longest_seconds: Annotated[float | None, "What it takes at the most; null where that is not known."]
    boards: tuple[BoardPlanRecord, ...]
