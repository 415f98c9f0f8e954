"""The engine's own errors: plain facts about methods, costs and budgets.

They name no field of a request and give no advice; `exactperm.inference.engine_errors` adds both.
"""

from __future__ import annotations

from .plan import Budget, Cost


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
