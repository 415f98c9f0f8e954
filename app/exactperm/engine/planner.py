"""The planner: chooses the method by predicted cost.

What a method costs is predicted in exact integers before any array exists, by `one_sum.planner` for one sum,
by `joint.planner` for several, by `bootstrap` for resampled ones. The choice is made here for all of them: the
cheapest exact method within the budget; where none fits, a rigorous bracket; and only then Monte Carlo. An exact
method that takes long gives way to a much faster bracket that is likely to decide about alpha. Nothing runs that is
planned over the budget, requested by name or not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .plan import (
    INEXACT_METHODS,
    Budget,
    Cost,
    EngineError,
    MethodDoesNotApply,
    NothingFits,
    OverBudget,
    Plan,
    TooManySteps,
)

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
        return "the only exact method there is"
    if not fitting:
        return "the only exact method that fits the budget"
    return f"the cheapest exact method here; next best is {fitting[0].method} at about {_times(fitting[0], cost)} the cost"


def _times(other: Cost, cost: Cost) -> str:
    ratio = other.seconds / max(cost.seconds, 1e-12)
    return f"{ratio:.1f} times" if ratio < 10 else f"{ratio:.0f} times"
