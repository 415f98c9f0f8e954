"""Budgets, costs and plans: the choice of a method by its predicted cost.

Costs are predicted in exact integers before any array exists, by `one_sum.methods` for one sum, by `joint.planner` for
several, by `bootstrap` for resampled ones. `choose` takes the cheapest exact method within the budget; where none fits,
a rigorous bracket; and only then Monte Carlo. An exact method that takes long gives way to a much faster bracket that
is likely to decide about alpha. No method runs over the budget, even if requested by name.
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
    """The predicted cost of a method, in elementary operations of `rate` nanoseconds each on an ordinary core.

    `precision` is the relative width that a bracket of this cost aims at; None for other methods.
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

    `by_name` is true when the method was requested by name, so that no other may replace it. `rest` is a function where
    the choice did not need the costs of the others.
    """

    chosen: Cost
    reason: str
    rest: tuple[Cost, ...] | Callable[[], tuple[Cost, ...]]
    budget: Budget
    by_name: bool = False

    @property
    def others(self) -> tuple[Cost, ...]:
        """The costs of the other methods, exact ones first, each group by time."""
        return self.rest() if callable(self.rest) else self.rest

    @property
    def attempts(self) -> tuple[Cost, ...]:
        """The methods to run until one proves its answer: `chosen`, then the others within the budget."""
        if self.by_name:
            return (self.chosen,)
        return (self.chosen, *(cost for cost in self.others if cost.fits(self.budget)))

    def reason_against(self, other: Cost) -> str:
        """Explain why `other` was not chosen."""
        if not other.fits(self.budget):
            return "over the budget"
        if other.exact and self.by_name and not self.chosen.exact:
            return "fits, but was not requested"
        if other.exact:
            return f"about {other.seconds / max(self.chosen.seconds, 1e-12):.3g} times the cost"
        if other.method == "bounds":
            return "a rigorous bracket: where no exact method fits, or the cheapest takes long"
        return "sampled: only where neither an exact method nor a bracket fits"


# The engine's errors hold facts about methods, costs and budgets. `exactperm.inference.paired.engine_errors` adds the
# field of the request and advice.


class EngineError(Exception):
    """Base class of the errors for tests that the engine refuses to plan."""


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
    """No method fits the budget; `cost` is the cost of the fallback."""

    def __init__(self, cost: Cost, budget: Budget) -> None:
        super().__init__(cost, budget)
        self.cost, self.budget = cost, budget


class TooManySteps(EngineError):
    """The requested method would never end; `reason` explains why, and `fitting` names methods that end."""

    def __init__(self, reason: str, fitting: tuple[str, ...]) -> None:
        super().__init__(reason, fitting)
        self.reason, self.fitting = reason, fitting


class FractionOverBudget(EngineError):
    """None of `methods`, the only ones with an exact fraction, fits; `costs` are those that could be computed."""

    def __init__(self, methods: tuple[str, ...], costs: tuple[Cost, ...], budget: Budget) -> None:
        super().__init__(methods, costs, budget)
        self.methods, self.costs, self.budget = methods, costs, budget


# The planner


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
    """Plan `method`, or the best of `candidates` when it is `auto`.

    The reason begins with `where`, which describes what the candidates have in common. `endless` maps methods that
    would never end, and so are not candidates, to the reason. `decisive` means that a bracket is likely to lie on one
    side of alpha: `auto` prefers it to an exact method that takes more than LONG_S and TIMES_LONGER as long. Raises
    NothingFits, and for a method requested by name OverBudget, TooManySteps or MethodDoesNotApply.
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
    return Plan(requested, "requested by name", others, budget, by_name=True)


def quicker_plan(plan: Plan, quick: Cost, how: str) -> Plan | None:
    """Replace an exact method that `auto` chose and that takes too long by `quick`; None where it is fast enough.

    `how` describes `quick`. Samples precede exact methods, in case a bracket says less than they do.
    """
    exact, budget = plan.chosen, plan.budget
    if not quick.fits(budget) or exact.seconds <= TIMES_LONGER * quick.seconds:
        return None
    others = sorted((exact, *_without(plan.others, quick)), key=lambda cost: (cost.exact, cost.seconds))
    reason = (
        f"{how}: {exact.method}, the cheapest exact method, would take about {exact.seconds:.1f} s, "
        f"{_times(exact, quick)} as long; it is exact if requested by name"
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
