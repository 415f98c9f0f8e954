"""From the metrics' one-sided tests to their verdicts: Holm over the family, then the policy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Literal

from ...answers.gate import Decision, GateTerms, OneSidedTest, Policy, Verdict
from ...engine.probability import SMALLEST
from ..certificate import flaw_of_numbers
from .outcome import Outcome

# Holm's step-down adjustment: several tests at once, the chance of any false finding at most alpha


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjusted p-values, in the order given (Holm 1979, *Scandinavian Journal of Statistics* 6:65-70).

    The k-th smallest of m is multiplied by m - k + 1, is at least the one before it, and at most 1. Monotone in
    every p-value, so that bounds may be adjusted like the values they bound.
    """
    adjusted, largest = [0.0] * len(p_values), 0.0
    for factor, index in _steps(p_values):
        largest = max(largest, min(factor * p_values[index], 1.0))
        adjusted[index] = largest
    return adjusted


def holm_log10(log10_p_values: Sequence[float]) -> list[float]:
    """The same in logarithms, for p-values too small for a double."""
    adjusted, largest = [0.0] * len(log10_p_values), -math.inf
    for factor, index in _steps(log10_p_values):
        largest = max(largest, min(math.log10(factor) + log10_p_values[index], 0.0))
        adjusted[index] = largest
    return adjusted


def _steps(values: Sequence[float]) -> list[tuple[int, int]]:
    """(factor, index), the smallest value first."""
    order = sorted(range(len(values)), key=values.__getitem__)
    return [(len(values) - rank, index) for rank, index in enumerate(order)]


# Below this, multiples of a p-value come from its logarithm: the double has no digits left.
_NORMAL = 1e-300

Finding = Literal[
    "shown", "not_shown", "bounds_straddle", "unattainable", "not_known", "different", "missing_straddle"
]


@dataclass(frozen=True, slots=True)
class Judgement:
    """What one test found at its alpha, after Holm.

    `shown`: the conservative end of the p-value's bounds is at most alpha. `bounds_straddle`: alpha lies between the
    bounds, which are `bounds` after Holm. `unattainable`: not shown, and no outcome on these items could have shown it;
    `attainable` is the least adjusted p-value there could have been, the other metrics being as they are. `not_known`: not
    shown, and whether any outcome could have shown it is not known. `different`: a
    difference of at least the margin is shown, where equivalence was asked for. `family` counts the tests adjusted together.
    """

    decision: Decision
    finding: Finding
    bounds: tuple[float, float]
    attainable: float
    family: int = 1


def judgements(outcomes: Sequence[Outcome], terms: Sequence[GateTerms]) -> list[Judgement]:
    """Adjust the family and compare every metric with its own alpha.

    Raises ArithmeticError for an outcome that is no p-value: nothing can be decided by it, least of all a pass.
    """
    for outcome in outcomes:
        flaw = flaw_of_numbers(outcome.p_value, outcome.log10_p_value, outcome.p_value_bounds)
        if flaw is not None:
            raise ArithmeticError(f"a p-value without a certificate: {flaw}")
    p_values = [outcome.p_value for outcome in outcomes]
    highs = [outcome.p_value_bounds[1] for outcome in outcomes]
    adjusted = list(
        zip(
            _never_zero(
                holm(p_values), holm_log10([outcome.log10_p_value for outcome in outcomes]), p_values
            ),
            holm([outcome.p_value_bounds[0] for outcome in outcomes]),
            holm(highs),
            strict=True,
        )
    )
    judged = []
    for index, (outcome, (point, low, high)) in enumerate(zip(outcomes, adjusted, strict=True)):
        known = outcome.min_attainable_p
        least = outcome.attainable_at_most if known is None else known
        attainable, alpha = holm([*highs[:index], least, *highs[index + 1 :]])[index], terms[index].alpha
        decision = _decision(outcome, point, significant=high <= alpha)
        finding = _finding(low, high, attainable, alpha, known=known is not None)
        if finding == "bounds_straddle" and outcome.missing:
            finding = "missing_straddle"
        if _different(outcome, len(outcomes), alpha):
            # Both cannot be true: an alpha so large that both are shown decides nothing.
            finding = "not_shown" if finding == "shown" else "different"
        judged.append(Judgement(decision, finding, (low, high), attainable, len(outcomes)))
    return judged


def _different(outcome: Outcome, family: int, alpha: float) -> bool:
    """Whether a difference of at least the margin is shown, by Bonferroni's adjustment over the family.

    Of each metric's two claims, equivalent and different, one is true, so that Holm's steps would save nothing here.
    """
    equivalence = outcome.equivalence
    return equivalence is not None and family * equivalence.p_value_different_bounds[1] <= alpha


def _never_zero(
    adjusted: Sequence[float], logarithms: Sequence[float], p_values: Sequence[float]
) -> list[tuple[float, float]]:
    """(p, log10 p), p from its logarithm where a multiple of the smallest double would say too much."""
    return [
        (p if p >= _NORMAL else max(10.0**log10, own, SMALLEST), log10)
        for p, log10, own in zip(adjusted, logarithms, p_values, strict=True)
    ]


def _decision(outcome: Outcome, adjusted: tuple[float, float], *, significant: bool) -> Decision:
    return Decision(
        **{field.name: getattr(outcome, field.name) for field in fields(OneSidedTest)},
        p_value_adjusted=adjusted[0],
        log10_p_value_adjusted=adjusted[1],
        significant=significant,
        equivalence=outcome.equivalence,
    )


def _finding(low: float, high: float, attainable: float, alpha: float, *, known: bool) -> Finding:
    if high <= alpha:
        return "shown"
    if low <= alpha:
        return "bounds_straddle"
    if attainable <= alpha:
        return "not_shown"
    return "unattainable" if known else "not_known"


def verdict_of(policy: Policy, finding: Finding, *, same: bool = False, waiting: bool = False) -> Verdict:
    """The policy's verdict.

    non_inferior and improve pass only when shown. no_regression fails only when a regression is shown; it cannot
    tell when the bounds straddle alpha, and when no outcome on these items could have shown one, or that is not known,
    unless the systems are the `same` on every item: then nothing has become worse. equivalent passes when both its tests
    are shown, fails when a difference of at least the margin is, and is inconclusive between the two. Whatever depends on
    what missing outcomes are is inconclusive. A gate that is asked again is `waiting` until all planned items are there: what is not shown yet continues.
    """
    if waiting and finding != "shown":
        return "continue"
    if finding == "missing_straddle":
        return "inconclusive"
    if policy == "equivalent":
        return "pass" if finding == "shown" else "fail" if finding == "different" else "inconclusive"
    if policy != "no_regression":
        return "pass" if finding == "shown" else "fail"
    if finding == "shown":
        return "fail"
    return "pass" if finding == "not_shown" or (same and finding == "unattainable") else "inconclusive"


def overall(verdicts: Sequence[Verdict]) -> Verdict:
    """Fail when one fails, else inconclusive when one is, else continue when one waits, else pass."""
    worst: tuple[Verdict, ...] = ("fail", "inconclusive", "continue")
    return next((verdict for verdict in worst if verdict in verdicts), "pass")
