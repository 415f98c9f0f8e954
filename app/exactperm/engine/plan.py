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


# The engine's own errors: plain facts about methods, costs and budgets.
#
# They name no field of a request and give no advice; `exactperm.inference.engine_errors` adds both.


class EngineError(Exception):
    """Base of what the engine refuses to plan."""


class MethodDoesNotApply(EngineError):
    """`method` is none of those that apply to this test, which are `applicable`."""

    def __init__(self, method: str, applicable: tuple[str, ...]) -> None:
        super().__init__(method, applicable)
        self.method, self.applicable = method, applicable


class OverBudget(EngineError):
    """The method that was asked for by name costs more than the budget; `fitting` names those that would not."""

    def __init__(self, cost: Cost, budget: Budget, fitting: tuple[str, ...]) -> None:
        super().__init__(cost, budget, fitting)
        self.cost, self.budget, self.fitting = cost, budget, fitting


class NothingFits(EngineError):
    """No method fits the budget; `cost` is that of the last resort."""

    def __init__(self, cost: Cost, budget: Budget) -> None:
        super().__init__(cost, budget)
        self.cost, self.budget = cost, budget


class TooManySteps(EngineError):
    """The method that was asked for would never end, as `reason` says in a sentence; `fitting` would."""

    def __init__(self, reason: str, fitting: tuple[str, ...]) -> None:
        super().__init__(reason, fitting)
        self.reason, self.fitting = reason, fitting


class FractionOverBudget(EngineError):
    """None of `methods`, which alone give an exact fraction, fits; `costs` are those that could be priced."""

    def __init__(self, methods: tuple[str, ...], costs: tuple[Cost, ...], budget: Budget) -> None:
        super().__init__(methods, costs, budget)
        self.methods, self.costs, self.budget = methods, costs, budget
