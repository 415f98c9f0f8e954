"""The answer to a question about power, as plain data. Fields are annotated as in `test.py`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from .test import FROM_REQUEST, Alternative, WarningRecord, identifier

Solve = Literal["power", "n", "effect", "floor", "false_alarm"]
MOST_RUNS = 1_000  # planned ones of an item
_CHANCE = {"ge": 0, "le": 1}


@dataclass(frozen=True, slots=True)
class Solution:
    """The three numbers of the question and the solved one, for the first `n` of a list.

    Power goes up and down with n. For a binary design, `n` is the least number of items with the power, and `n_always`
    the one from which on every number has it. For a pilot, `n` has the power, but since it comes from bisection, a
    slightly smaller number may have it as well. `n_always` is null if n was given, or if it cannot be proven (a pilot
    with differences of several sizes). `effect` has the sign of U - V that the alternative looks for; null if no
    difference has this power, as `power` is null if there is no effect.
    """

    effect: float | None
    n: int | None
    n_always: int | None
    power: Annotated[
        float | None, "The power of n items at this effect; at least the requested power if n was solved."
    ]
    floor: Annotated[
        float | None, "For runs: the least accuracy of a new run without an alarm; a count over the items."
    ] = None
    false_alarm: Annotated[
        float | None, _CHANCE, "The probability that a new run of the same system is below the floor."
    ] = None
    runs: Annotated[
        int | None, "For a plan of runs: the runs of each item by each system; the best number for item_cost."
    ] = None
    standard_error: Annotated[float | None, "For a plan of runs: that of the difference of n items."] = None


@dataclass(frozen=True, slots=True)
class PowerPoint:
    """A point of the curve."""

    n: int
    effect: float
    power: Annotated[float, _CHANCE]


@dataclass(frozen=True, slots=True)
class PowerMethod:
    """The method, and what it takes as known."""

    name: Annotated[
        str,
        "unconditional_binomial, tilted_sum (given the sizes), tilted_sum_rounded, midpoint, normal, or poisson_binomial.",
    ]
    exact: bool
    given: Annotated[str, "What the method takes as known, in a sentence."]


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerRecord:
    """The answer to a question about power: a function of the request alone."""

    id: Annotated[str, identifier("w", FROM_REQUEST)]
    solve: Solve
    solution: Solution
    wanted_power: Annotated[float | None, _CHANCE, "The requested power; null if power was solved."]
    alpha: float
    comparisons: int
    alternative: Alternative
    critical_difference: Annotated[
        float | None, "The least |difference| of n items with p <= alpha; null if there is none."
    ]
    actual_alpha: Annotated[float | None, _CHANCE, "The actual probability of a false alarm, at most alpha."]
    curve: tuple[PowerPoint, ...]
    method: PowerMethod
    sentence: str
    warnings: tuple[WarningRecord, ...] = ()
