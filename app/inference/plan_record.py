"""The answer to a plan, as plain data, like that to a test in `record.py`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PlannedMethod:
    """A method, its predicted cost, and why it was chosen or not."""

    method: str
    exact: bool
    operations: int
    bytes: int
    seconds: float
    reason: str


@dataclass(frozen=True, slots=True)
class PlanRecord(PlannedMethod):
    """What a test would do and cost, predicted before any of its arrays exists, and the alternatives."""

    alternatives: tuple[PlannedMethod, ...]
