"""What the one-sided test of a metric found, before policies and adjustments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from .record import EquivalenceRecord, OneSidedTest


@dataclass(frozen=True, slots=True)
class Outcome(OneSidedTest):
    """The one-sided test of one metric. `beyond`: the estimate lies on the side of the alternative.

    `equivalence` has the other tests of the policy equivalent; `missing`: bounds hold whatever missing outcomes are;
    `waiting`: evidence is still coming in (`anytime`).
    """

    beyond: bool
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
