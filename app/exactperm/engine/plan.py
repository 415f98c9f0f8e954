"""What a test may cost, what a method would cost, and the resulting plan."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

INEXACT_METHODS = ("bounds", "monte_carlo")


@dataclass(frozen=True, slots=True)
class Budget:
    """What one test may cost: elementary operations, and bytes of arrays at its peak.

    `patience_s` is how long an exact method may take that `auto` chooses where samples with a control variate, or a bracket
    that says as much, are far quicker.
    """

    operations: int = 60_000_000_000
    bytes: int = 1 << 30
    patience_s: float = 10.0


@dataclass(frozen=True, slots=True)
class Cost:
    """A method's predicted cost, in elementary operations of `rate` nanoseconds each on an ordinary core.

    `precision` is the relative width that a bracket of this cost aims at, None for other methods.
    """

    method: str
    operations: int
    bytes: int
    rate: float = 1.0
    precision: float | None = None

    @property
    def exact(self) -> bool:
        """Whether the method gives the p-value itself and neither a bracket nor an estimate."""
        return self.method not in INEXACT_METHODS

    @property
    def seconds(self) -> float:
        """Predicted time on one ordinary core."""
        return self.operations * self.rate * 1e-9

    def fits(self, budget: Budget) -> bool:
        """Whether both operations and bytes are within the budget."""
        return self.operations <= budget.operations and self.bytes <= budget.bytes


@dataclass(frozen=True, slots=True)
class Plan:
    """The method that will run, why, what the others would have cost (cheapest exact first), and the budget.

    `asked` is true when the method was requested by name, so that no other may replace it. Where the choice was certain
    without the prices of the others, `rest` is what finds them.
    """

    chosen: Cost
    reason: str
    rest: tuple[Cost, ...] | Callable[[], tuple[Cost, ...]]
    budget: Budget
    asked: bool = False

    @property
    def others(self) -> tuple[Cost, ...]:
        """The other methods with their prices, exact ones first, cheapest first."""
        return self.rest() if callable(self.rest) else self.rest

    @property
    def in_turn(self) -> tuple[Cost, ...]:
        """The methods to run, one after another until one proves its answer: `chosen`, then the others that fit."""
        if self.asked:
            return (self.chosen,)
        return (self.chosen, *(cost for cost in self.others if cost.fits(self.budget)))

    def why_not(self, other: Cost) -> str:
        """Why `other` was not chosen."""
        if not other.fits(self.budget):
            return "over the budget"
        if other.exact and self.asked and not self.chosen.exact:
            return "fits, but was not asked for"
        if other.exact:
            return f"about {other.seconds / max(self.chosen.seconds, 1e-12):.3g} times the cost"
        if other.method == "bounds":
            return "a rigorous bracket: where no exact method fits, or the cheapest takes long"
        return "sampled: only where neither an exact method nor a bracket fits"
