"""Budgets, costs and plans: the method is chosen by predicted cost.

Costs are predicted in exact integers before any array exists, by `one_sum.methods` for one sum, by `joint.planner`
for several, by `bootstrap` for resampled ones. The choice is made here for all of them: the cheapest exact method
within the budget; where none fits, a rigorous bracket; and only then Monte Carlo. An exact method that takes long
gives way to a much faster bracket that is likely to decide about alpha. Nothing runs that is planned over the
budget, requested by name or not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

INEXACT_METHODS = ("bounds", "monte_carlo")


@dataclass(frozen=True, slots=True)
class Budget:
    """The budget of a test: elementary operations, and peak bytes of arrays.

    `patience_s` limits the time of an exact method chosen by `auto` where samples with a control variate, or an
    equally informative bracket, are far quicker.
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
        """Return whether the method gives the exact p-value, not a bracket or an estimate."""
        return self.method not in INEXACT_METHODS

    @property
    def seconds(self) -> float:
        """Predicted time on one ordinary core."""
        return self.operations * self.rate * 1e-9

    def fits(self, budget: Budget) -> bool:
        """Return whether both operations and bytes are within the budget."""
        return self.operations <= budget.operations and self.bytes <= budget.bytes


@dataclass(frozen=True, slots=True)
class Plan:
    """The chosen method with the reason, the costs of the others (cheapest exact first), and the budget.

    `asked` is true when the method was requested by name, so that no other may replace it. Where the choice was certain
    without the prices of the others, `rest` computes them.
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
        """Return the methods to run in turn until one proves its answer: `chosen`, then the others that fit."""
        if self.asked:
            return (self.chosen,)
        return (self.chosen, *(cost for cost in self.others if cost.fits(self.budget)))

    def why_not(self, other: Cost) -> str:
        """Explain why `other` was not chosen."""
        if not other.fits(self.budget):
            return "over the budget"
        if other.exact and self.asked and not self.chosen.exact:
            return "fits, but was not requested"
        if other.exact:
            return f"about {other.seconds / max(self.chosen.seconds, 1e-12):.3g} times the cost"
        if other.method == "bounds":
            return "a rigorous bracket: where no exact method fits, or the cheapest takes long"
        return "sampled: only where neither an exact method nor a bracket fits"


# The errors of the engine: plain facts about methods, costs and budgets. They name no field of a request and give no
# advice; `exactperm.inference.paired.engine_errors` adds both.


class EngineError(Exception):
    """Base of the errors for tests that the engine refuses to plan."""


class MethodDoesNotApply(EngineError):
    """`method` is not among the methods that apply to this test, which are `applicable`."""

    def __init__(self, method: str, applicable: tuple[str, ...]) -> None:
        super().__init__(method, applicable)
        self.method, self.applicable = method, applicable


class OverBudget(EngineError):
    """The requested method costs more than the budget; `fitting` names methods within it."""

    def __init__(self, cost: Cost, budget: Budget, fitting: tuple[str, ...]) -> None:
        super().__init__(cost, budget, fitting)
        self.cost, self.budget, self.fitting = cost, budget, fitting


class NothingFits(EngineError):
    """No method fits the budget; `cost` is that of the fallback."""

    def __init__(self, cost: Cost, budget: Budget) -> None:
        super().__init__(cost, budget)
        self.cost, self.budget = cost, budget


class TooManySteps(EngineError):
    """The requested method would never end; `reason` explains why, and `fitting` names methods that end."""

    def __init__(self, reason: str, fitting: tuple[str, ...]) -> None:
        super().__init__(reason, fitting)
        self.reason, self.fitting = reason, fitting


class FractionOverBudget(EngineError):
    """None of `methods`, which alone give an exact fraction, fits; `costs` are those that could be priced."""

    def __init__(self, methods: tuple[str, ...], costs: tuple[Cost, ...], budget: Budget) -> None:
        super().__init__(methods, costs, budget)
        self.methods, self.costs, self.budget = methods, costs, budget


# The planner: chooses the method by predicted cost


# An exact method that takes longer than LONG_S, and TIMES_LONGER as long as a bracket, runs only if the bracket does not
# decide about alpha.
LONG_S, TIMES_LONGER = 1.0, 20.0


def choose(
    candidates: Sequence[Cost],
    budget: Budget,
    *,
    method: str,
    where: str = "",
    endless: Mapping[str, str] | None = None,
    decisive: bool = False,
) -> Plan:
    """The plan for `method`, or for the best of `candidates` when it is `auto`.

    The reason begins with `where`, which describes what the candidates have in common; `endless` gives, for methods
    that are not candidates because they would never end, a sentence why. `decisive` means that a bracket is likely to
    lie on one side of alpha: `auto` prefers it to an exact method that takes more than LONG_S and TIMES_LONGER as
    long. Raises NothingFits, and for a method requested by name OverBudget, TooManySteps or MethodDoesNotApply.
    """
    ordered = sorted(candidates, key=lambda cost: (_kind(cost), cost.seconds))
    if method == "auto":
        chosen = next((cost for cost in ordered if cost.fits(budget)), None)
        if chosen is None:
            raise NothingFits(ordered[-1], budget)
        bracket = None
        if decisive:
            bracket = next((cost for cost in ordered if cost.method == "bounds" and cost.fits(budget)), None)
        if bracket is not None and _takes_much_longer(chosen, bracket):
            return Plan(bracket, _quick(bracket, chosen), _without(ordered, bracket), budget)
        others = _without(ordered, chosen)
        reason = _why(chosen, others, budget)
        return Plan(chosen, f"{where}: {reason}" if where else reason, others, budget)
    requested = next((cost for cost in ordered if cost.method == method), None)
    if requested is None:
        raise _unavailable(method, ordered, endless or {}, budget)
    others = _without(ordered, requested)
    if not requested.fits(budget):
        raise OverBudget(requested, budget, _fitting(others, budget))
    return Plan(requested, "asked for", others, budget, asked=True)


def impatient(plan: Plan, quick: Cost, how: str) -> Plan | None:
    """`quick` instead of an exact method that `auto` chose and that takes too long; None where it takes not so long.

    `how` describes it. Samples come before exact methods where a bracket turns out to say less than they do.
    """
    exact, budget = plan.chosen, plan.budget
    if not quick.fits(budget) or exact.seconds <= TIMES_LONGER * quick.seconds:
        return None
    others = sorted((exact, *_without(plan.others, quick)), key=lambda cost: (cost.exact, cost.seconds))
    reason = (
        f"{how}: {exact.method}, the cheapest exact method, would take about {exact.seconds:.1f} s, "
        f"{_times(exact, quick)} as long; it is exact if asked for by name"
    )
    return Plan(quick, reason, tuple(others), budget)


def _takes_much_longer(exact: Cost, bracket: Cost) -> bool:
    return exact.exact and exact.seconds > LONG_S and exact.seconds > TIMES_LONGER * bracket.seconds


def _quick(bracket: Cost, exact: Cost) -> str:
    return (
        f"a rigorous bracket, as alpha is likely to lie outside it: {exact.method}, the cheapest exact method, would "
        f"take about {exact.seconds:.1f} s, {_times(exact, bracket)} as long; it follows if alpha lies inside"
    )


def _kind(cost: Cost) -> int:
    return 0 if cost.exact else 1 + INEXACT_METHODS.index(cost.method)


def _without(costs: Sequence[Cost], chosen: Cost) -> tuple[Cost, ...]:
    return tuple(cost for cost in costs if cost is not chosen)


def _fitting(costs: Sequence[Cost], budget: Budget) -> tuple[str, ...]:
    return tuple(cost.method for cost in costs if cost.fits(budget))


def _unavailable(
    method: str, ordered: Sequence[Cost], endless: Mapping[str, str], budget: Budget
) -> EngineError:
    if method in endless:
        return TooManySteps(endless[method], _fitting(ordered, budget))
    return MethodDoesNotApply(method, (*(cost.method for cost in ordered), *endless))


def _why(cost: Cost, others: Sequence[Cost], budget: Budget) -> str:
    exact = [other for other in others if other.exact]
    if not cost.exact:
        instead = "a rigorous bracket" if cost.method == "bounds" else "sampled"
        if not exact:
            return f"no exact method covers this: {instead}"
        if cost.precision is not None:
            instead += f" of precision {cost.precision:.1g}"
        nearest = exact[0]
        return (
            f"no exact method fits the budget (the cheapest, {nearest.method}, would take "
            f"{nearest.operations} operations and {nearest.bytes} bytes): {instead}"
        )
    fitting = [other for other in exact if other.fits(budget)]
    if not exact:
        return "the only exact method that applies"
    if not fitting:
        return "the only exact method that fits the budget"
    return f"the cheapest exact method here; next best is {fitting[0].method} at about {_times(fitting[0], cost)} the cost"


def _times(other: Cost, cost: Cost) -> str:
    ratio = other.seconds / max(cost.seconds, 1e-12)
    return f"{ratio:.1f} times" if ratio < 10 else f"{ratio:.0f} times"
