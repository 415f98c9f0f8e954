"""What the one-sided test of a metric found, before policies and adjustments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from ...answers.gate import EquivalenceRecord, OneSidedTest


@dataclass(frozen=True, slots=True)
class Outcome(OneSidedTest):
    """The one-sided test of one metric.

    `attainable_at_most` bounds the least p-value of all outcomes where `min_attainable_p` is None. `equivalence` has the other tests of the policy equivalent; `missing`: bounds hold whatever missing outcomes are;
    `waiting`: evidence is still coming in (`anytime`).
    """

    attainable_at_most: float = 1.0
    equivalence: EquivalenceRecord | None = None
    missing: bool = False
    waiting: bool = False


class MarginTest(Protocol):
    """The test of a margin, validated and planned."""

    @property
    def seconds(self) -> float:
        """Predicted time of `run`."""
        ...

    def run(self) -> Outcome:
        """Run it."""
        ...


def greatest_known(*attainable: float | None) -> float | None:
    """The greatest of several least p-values, None where one is not known."""
    known = [one for one in attainable if one is not None]
    return max(known) if len(known) == len(attainable) else None
