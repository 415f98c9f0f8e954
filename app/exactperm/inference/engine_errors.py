"""The engine's errors as errors of a request: with a pointer to the field at fault, and advice."""

from __future__ import annotations

from ..engine.plan import (
    Budget,
    Cost,
    EngineError,
    FractionOverBudget,
    MethodDoesNotApply,
    NothingFits,
    OverBudget,
    TooManySteps,
)
from ..errors import Flaw, InvalidTest, PlanTooLarge


class engine_errors:  # noqa: N801  (used as contextlib's are; see `errors.relocated`)
    """Raise InvalidTest or PlanTooLarge where the engine refuses to plan."""

    __slots__ = ()

    def __enter__(self) -> None:
        pass

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if isinstance(error, EngineError):
            raise request_error(error) from error


def request_error(error: EngineError) -> InvalidTest | PlanTooLarge:
    """The request's error for one of the engine's."""
    match error:
        case MethodDoesNotApply():
            names = ", ".join(error.applicable)
            detail = f"The method {error.method} does not apply to this test: use auto or one of {names}."
            return InvalidTest.at("/method", "method_not_applicable", detail)
        case OverBudget():
            planned = _planned(error.cost, error.budget)
            return _too_large("/method", f"{planned} {_fitting(error.fitting)}")
        case TooManySteps():
            return _too_large("/method", f"{error.reason} {_fitting(error.fitting)}")
        case NothingFits():
            # The last resort is sampling, whose cost grows with the samples.
            planned = _planned(error.cost, error.budget)
            advice = "Ask for fewer samples, or give fewer items."
            return _too_large("/samples", f"No method fits: {planned} {advice}")
        case FractionOverBudget():
            return _too_large("/exact_fraction", _no_fraction(error))
    raise TypeError(f"{type(error).__name__} is no error of a request")


def _too_large(pointer: str, detail: str) -> PlanTooLarge:
    return PlanTooLarge(detail, flaws=(Flaw(pointer, "plan_too_large", detail),))


def _planned(cost: Cost, budget: Budget) -> str:
    """A sentence with the four numbers that decide."""
    return (
        f"{cost.method} is planned at {cost.operations} operations and {cost.bytes} bytes; "
        f"{budget.operations} and {budget.bytes} are allowed."
    )


def _fitting(names: tuple[str, ...]) -> str:
    return f"{', '.join(names)} would fit." if names else "No other method would fit."


def _no_fraction(error: FractionOverBudget) -> str:
    budget = error.budget
    needs = " and ".join(
        f"{cost.method} ({cost.operations} operations, {cost.bytes} bytes)" for cost in error.costs
    )
    return (
        f"An exact fraction comes from {' or '.join(error.methods)} alone: {needs or 'each of them'} would go over "
        f"the budget of {budget.operations} operations and {budget.bytes} bytes. Leave `exact_fraction` out."
    )
