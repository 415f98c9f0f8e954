"""What is known before a test: a design that says how likely a true difference is to be found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from ...answers.power import PowerMethod, Solve
from ...answers.test import Alternative


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of a design. Effects are U - V; `alpha` is that of one of the `comparisons`, of all of them together.

    `n` are numbers of items, the first is the one that `solution` is about.
    """

    solve: Solve
    n: tuple[int, ...]
    power: float | None
    effect: float | None
    alpha: float = 0.05
    alternative: Alternative = "two-sided"
    comparisons: int = 1

    @property
    def level(self) -> float:
        """Bonferroni's share of alpha: what one test is made at."""
        return self.alpha / self.comparisons


@dataclass(frozen=True, slots=True)
class Needed:
    """A number of items that has the power, and the one from which on all have, None where that is not proven."""

    n: int
    always: int | None


class Design(Protocol):
    """How likely a difference is found. Sizes of effects are at least 0, in the direction that the test looks in."""

    def method_at(self, n: int) -> PowerMethod:
        """How it is computed for n items."""
        ...

    @property
    def own_n(self) -> int | None:
        """The number of items that it brings along, if it does."""
        ...

    @property
    def own_effect(self) -> float | None:
        """U - V, if it says so itself."""
        ...

    @property
    def rough(self) -> Design:
        """The same, for a curve: quick, and right to the eye."""
        ...

    def power(self, n: int, size: float) -> float:
        """The probability that the test of n items rejects when the true difference has this size."""
        ...

    def detectable(self, n: int, power: float) -> float | None:
        """The size that n items find with this power; None where there is none."""
        ...

    def needed(self, size: float, power: float) -> Needed | None:
        """The items that this size needs; None where more than can be searched."""
        ...

    def critical(self, n: int) -> float | None:
        """The least observed |difference| that is significant; None where none is."""
        ...

    def actual_alpha(self, n: int) -> float:
        """The probability that the test of n items rejects where there is no difference."""
        ...
