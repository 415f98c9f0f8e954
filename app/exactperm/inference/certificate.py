"""What an answer must prove before it leaves: every p-value of every kind of test goes through here.

A method returns a number and how sure it is. An answer that is no
probability, lies outside its bounds, is too uncertain to be called exact, or is smaller than the probability of the
observed assignment is not passed on: the next method of the plan answers instead, and without one the test is refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

from ..engine.lattice import CanonicalForm
from ..engine.one_sum import methods as engine_methods
from ..engine.plan import Cost
from ..engine.probability import Probability, Region, from_fraction
from ..errors import InvalidTest
from .result import MOST_ERROR, SMALLEST_NORMAL, Answer, certified, rounded_to_subnormal

# Rounding of a logarithm, of its exponential, and of log10.
_ROUNDING = 1e-9
# Least attainable p-values are known this well.
_ATTAINABLE = 1e-2


def certified_by(
    methods: Iterable[Cost],
    run: Callable[[Cost], Answer],
    *,
    least_log10: float,
    settles: Callable[[Cost, Answer], bool] = lambda _, __: True,
) -> tuple[Cost, Answer]:
    """The first of `methods` whose answer passes and `settles` the question, and that answer.

    `run` computes the answer by a method; `least_log10` is log10 of the probability of the observed assignment,
    which is as extreme as itself. An answer that passes and settles nothing is given where no exact one follows.
    Raises InvalidTest (`not_certified`) when no method passes.
    """
    failed, unsettled = [], None
    for cost in methods:
        if unsettled is not None and not cost.exact:
            break
        answer = run(cost)
        flaw = flaw_of(answer, exact=cost.exact, least_log10=least_log10)
        if flaw is None and settles(cost, answer):
            return cost, answer
        if flaw is None:
            unsettled = cost, answer
        else:
            failed.append(f"{cost.method}: {flaw}")
    if unsettled is not None:
        return unsettled
    detail = (
        f"No method that may run here can prove its answer ({'; '.join(failed)}). Use method auto, dp, rational, "
        "bounds or monte_carlo where they apply, or raise the server's budget."
    )
    raise InvalidTest.at("/method", "not_certified", detail)


def require(answer: Answer, *, exact: bool, attainable: float) -> None:
    """Raise ArithmeticError, which is a fault of the service, when an answer that is about to leave does not pass."""
    flaw = flaw_of(answer, exact=exact)
    if flaw is None and answer.monte_carlo is None and answer.bounds[1] * (1.0 + _ATTAINABLE) < attainable:
        flaw = "it is below the least p-value that can be attained"
    if flaw is not None:
        raise ArithmeticError(f"a p-value without a certificate: {flaw}")


def flaw_of(answer: Answer, *, exact: bool, least_log10: float = -math.inf) -> str | None:
    """What is wrong with an answer, None when nothing is. Comparisons are written so that a NaN fails them."""
    p, log10, error = answer.p_value, answer.log10_p_value, answer.relative_error_bound
    flaw = flaw_of_numbers(p, log10, answer.bounds)
    if flaw is not None:
        return flaw
    if (
        exact
        and not answer.bracket
        and not (error is not None and 0.0 <= error <= MOST_ERROR + rounded_to_subnormal(p, log10))
    ):
        return "its error bound is too large"
    if answer.monte_carlo is not None:
        return None
    if error is not None and answer.bounds == (0.0, 1.0):
        return "its bounds say nothing"
    if not _upper_log10(answer) >= least_log10 - _ROUNDING * (1.0 - least_log10):
        return "it is smaller than the observed outcome's own share"
    return _disagreement(answer)


def flaw_of_numbers(p: float, log10: float, bounds: tuple[float, float]) -> str | None:
    """What is wrong with a p-value and its bounds, whether exact or not; None when nothing is."""
    if not (0.0 < p <= 1.0 and -math.inf < log10 <= 0.0):
        return "it is no probability"
    if p >= SMALLEST_NORMAL and not abs(math.log10(p) - log10) <= _ROUNDING * (1.0 - log10):
        return "the p-value and its logarithm disagree"
    if not 0.0 <= bounds[0] <= p <= bounds[1] <= 1.0:
        return "its bounds are not around it"
    return None


def _upper_log10(answer: Answer) -> float:
    """log10 of the upper bound; a double has no digits left where p underflows, and the logarithm decides."""
    high = answer.bounds[1]
    return max(math.log10(high), answer.log10_p_value) if high >= SMALLEST_NORMAL else answer.log10_p_value


def _disagreement(answer: Answer) -> str | None:
    """Whether the fraction of a p-value, by another method perhaps, is another number."""
    if answer.fraction is None:
        return None
    numerator, log2_denominator = answer.fraction.numerator, answer.fraction.log2_denominator
    if not 0 < numerator <= 1 << log2_denominator:
        return "its fraction is no probability"
    known = from_fraction(numerator, log2_denominator).log10_p
    error, slack = answer.relative_error_bound or 0.0, _ROUNDING * (1.0 - known)
    # The truth is within p (1 - error) and p (1 + error): a wide bracket reaches farther down than up.
    low = answer.log10_p_value + (math.log10(1.0 - error) if error < 1.0 else -math.inf)
    high = answer.log10_p_value + math.log10(1.0 + error)
    if answer.monte_carlo is None and not low - slack <= known <= high + slack:
        return "its fraction is another number"
    return None


def proven(methods: Iterable[Cost], form: CanonicalForm, tail: Region) -> Probability | None:
    """The probability of a tail that holds the observed sum, by the first exact method that proves it; None where none does."""
    least = -form.nonzero * math.log10(2.0)
    for cost in methods:
        found = engine_methods.exactly(cost.method, form, tail)
        if flaw_of(certified(found), exact=True, least_log10=least) is None:
            return found
    return None
