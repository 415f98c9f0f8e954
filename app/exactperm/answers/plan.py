"""The plans of tests and of comparisons; annotated as in `test.py`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from .test import COST, Form, Method


@dataclass(frozen=True, slots=True)
class PlannedMethod:
    """A method, its predicted cost, and the reason for or against it."""

    method: Annotated[str, Form(Method, str)]
    exact: bool
    operations: Annotated[float, COST]
    bytes: Annotated[float, COST]
    seconds: Annotated[float, COST]
    reason: str


@dataclass(frozen=True, slots=True)
class PlanRecord(PlannedMethod):
    """The method and cost of a test, predicted before any of its arrays exists, and the alternatives."""

    alternatives: tuple[PlannedMethod, ...]


@dataclass(frozen=True, slots=True)
class BoardPlanRecord:
    """The tests of the pairs of one board."""

    dataset: Annotated[
        str | None, "The name of the data set; null for a single data set and for the overall board."
    ]
    systems: int
    tests: int
    methods: Annotated[
        tuple[str, ...], "The methods that run; if pairs are planned one by one, those of a few pairs."
    ]
    seconds: Annotated[float, COST]


@dataclass(frozen=True, slots=True)
class ComparePlanRecord:
    """The methods and total cost of a comparison on one processor, predicted before any test runs."""

    tests: Annotated[int, "Pairs of systems, over all boards."]
    seconds: Annotated[float, COST]
    longest_seconds: Annotated[float | None, "An upper bound of the time; null if unknown."]
    boards: tuple[BoardPlanRecord, ...]
