"""The answer to a question about power, as plain data. Fields are annotated as in `test.py`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from .members import FROM_REQUEST, identifier
from .test import Alternative, WarningRecord

Solve = Literal["power", "n", "effect"]
_CHANCE = {"ge": 0, "le": 1}


@dataclass(frozen=True, slots=True)
class Solution:
    """The four numbers, the one that was asked for among them, for the first `n` where several were given.

    Power goes up and down with n. Of a binary design `n` is the least number of items with the power, and `n_always` the one
    from which on every number has it. Of a pilot `n` has the power, but a somewhat smaller number may have it, too: it is
    found by bisection. `n_always` is null where n was given, or is not proven: of a pilot with differences of more than one size. `effect` has the sign of U - V that the
    alternative looks for; null where no difference is found so often, as `power` is where there is no effect.
    """

    effect: float | None
    n: int | None
    n_always: int | None
    power: Annotated[
        float | None, "The power of n items at this effect; at least the one wanted where n was solved."
    ]


@dataclass(frozen=True, slots=True)
class PowerPoint:
    """A point of the curve."""

    n: int
    effect: float
    power: Annotated[float, _CHANCE]


@dataclass(frozen=True, slots=True)
class PowerMethod:
    """How it was computed, and given what."""

    name: Annotated[
        str, "unconditional_binomial, tilted_sum (given the sizes), tilted_sum_rounded, midpoint, or normal."
    ]
    exact: bool
    given: Annotated[str, "What is taken as known, in a sentence."]


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerRecord:
    """The answer to a question about power: a function of the request alone."""

    id: Annotated[str, identifier("w", FROM_REQUEST)]
    solve: Solve
    solution: Solution
    wanted_power: Annotated[float | None, _CHANCE, "The power asked for; null where power was solved."]
    alpha: float
    comparisons: int
    alternative: Alternative
    critical_difference: Annotated[
        float | None, "The least |difference| of n items with p at most alpha; null where none has."
    ]
    actual_alpha: Annotated[
        float | None, _CHANCE, "The probability of a false alarm that the test really has: at most alpha."
    ]
    curve: tuple[PowerPoint, ...]
    method: PowerMethod
    sentence: str
    warnings: tuple[WarningRecord, ...] = ()
