"""A planned test of any kind of problem, its result, and the proof that every answer needs.

Every p-value of every kind of test goes through here. A method returns a number and how sure it is. An answer that is no
probability, lies outside its bounds, is too uncertain to be called exact, or is smaller than the probability of the
observed assignment is not passed on: the next method of the plan answers instead, and without one the test is refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from ..answers.test import (
    ExactFraction,
    ExchangesRecord,
    Fraction2,
    ItemsRecord,
    LatticeRecord,
    MonteCarloRecord,
    NullRecord,
    Ratio,
    StatisticRecord,
)
from ..engine.joint.control import ControlledEstimate
from ..engine.lattice import CanonicalForm, Reals
from ..engine.one_sum import methods as engine_methods
from ..engine.one_sum.monte_carlo import Estimate
from ..engine.plan import Cost, Plan
from ..engine.probability import SMALLEST, Probability, Region
from ..engine.real.bounds import Bracket
from ..errors import InvalidTest
from ..statistics.reducers import Problem
from ..statistics.runs import Runs
from .options import Significance

# Beyond this relative error, apart from what rounding to a subnormal double costs, nothing is called exact.
MOST_ERROR = 1e-6
# Bounds of an exact p-value are MOST_ERROR away on either side; the products of an adjustment keep that, up to rounding.
EXACT_WIDTH = 3 * MOST_ERROR
# Doubles near zero lack digits: there the bounds of an exact p-value are a few of the smallest doubles apart.
EXACT_STEPS = 4 * math.ulp(0.0)


# The result of a method as the p-value part of a record


SMALLEST_NORMAL = 2.0**-1022
# Logarithms of numbers near one may be rounded to slightly above zero.
_ABOVE_ZERO = 1e-9


@dataclass(frozen=True, slots=True)
class Answer:
    """A p-value with its bounds; `relative_error_bound` is None for an estimate.

    `bracket` says that it is the middle of a bracket and nothing more is known; `wider` is the relative width of a
    bracket that is wider than requested. `mid` is p less half of the mass at the observed value, where it was computed.
    """

    p_value: float
    log10_p_value: float
    bounds: tuple[float, float]
    relative_error_bound: float | None
    fraction: ExactFraction | None = None
    monte_carlo: MonteCarloRecord | None = None
    bracket: bool = False
    wider: float | None = None
    mid: Probability | None = None


def significant(answer: Answer, alpha: float, significance: Significance = "p") -> bool:
    """Whether p <= alpha (or the mid-p-value) is certain; for an estimate, whether the estimate is at most alpha.

    An estimate with a control variate is not a valid p-value, so its whole interval must be.
    """
    if significance == "mid_p":
        if answer.mid is not None and answer.mid.ratio is not None and mid_p_value(answer) is not None:
            return is_at_most(answer.mid.ratio, alpha)
        return deciding_bounds(answer, significance)[1] <= alpha
    if answer.monte_carlo is not None:
        return (answer.bounds[1] if answer.monte_carlo.control else answer.p_value) <= alpha
    if answer.fraction is not None:
        level = Fraction(repr(float(alpha)))
        return answer.fraction.numerator * level.denominator <= level.numerator * _denominator(
            answer.fraction
        )
    return answer.bounds[1] <= alpha


def is_at_most(p: Fraction | float, alpha: float) -> bool:
    """Whether p <= alpha: a fraction is compared with the decimal that alpha was written as."""
    return p <= (Fraction(repr(float(alpha))) if isinstance(p, Fraction) else alpha)


def _denominator(fraction: ExactFraction) -> int:
    return 1 << fraction.log2_denominator if isinstance(fraction, Fraction2) else fraction.denominator


def undecided(answer: Answer, alpha: float) -> bool:
    """Whether alpha lies inside the bounds, so that the side of p is open."""
    low, high = answer.bounds
    if answer.monte_carlo is not None:
        return low <= alpha < high or (low <= alpha == high and answer.monte_carlo.control is None)
    return answer.fraction is None and low <= alpha < high


def certified(
    probability: Probability, fraction: ExactFraction | None = None, mid: Probability | None = None
) -> Answer:
    """An exact p-value and the interval that its certificate proves; `fraction` is its value, if known.

    `certificate` checks it before the answer is used.
    """
    p, log10_p, bound = probability.p, probability.log10_p, probability.relative_error_bound
    low, high = p, p
    if probability.log_p > _ABOVE_ZERO:
        bound = math.inf  # `p` stops at one, where such a thing must not look certain
    if bound != 0.0:
        low = max(math.nextafter(p * (1.0 - bound), 0.0), 0.0)
        high = min(math.nextafter(p * (1.0 + bound), 1.0), 1.0)
    if probability.fraction is not None:
        fraction = Fraction2(*probability.fraction)
    elif probability.ratio is not None:
        fraction = Ratio(probability.ratio.numerator, probability.ratio.denominator)
    return Answer(p, log10_p, (low, high), bound + rounded_to_subnormal(p, log10_p), fraction, mid=mid)


def mid_p_value(answer: Answer) -> float | None:
    """The mid-p-value of an exact answer, if its error bound is as small as that of an exact p-value."""
    mid = answer.mid
    if mid is None or not 0.0 <= mid.relative_error_bound <= MOST_ERROR:
        return None
    p = mid.p
    return p if p <= answer.bounds[1] else None


def deciding_bounds(answer: Answer, significance: Significance) -> tuple[float, float]:
    """The bounds that decide about alpha: of the p-value, or of the mid-p-value.

    The mass at the observed value is at most p, so that a mid-p-value lies between p / 2 and p where no more is known.
    """
    low, high = answer.bounds
    if significance == "p":
        return low, high
    mid = mid_p_value(answer)
    if mid is None or answer.mid is None:
        return 0.5 * low, high
    if answer.mid.fraction is not None:
        return mid, mid
    bound = answer.mid.relative_error_bound
    return max(math.nextafter(mid * (1.0 - bound), 0.0), 0.0), min(
        math.nextafter(mid * (1.0 + bound), 1.0), 1.0
    )


def rounded_to_subnormal(p: float, log10_p: float) -> float:
    """How far p, the double nearest to 10**log10_p, may be from it relatively where it has not all its digits.

    0 for a p that underflows to the smallest double: there the error bound is that of 10**log10_p_value.
    """
    if p >= SMALLEST_NORMAL or log10_p < math.log10(SMALLEST):
        return 0.0
    return SMALLEST / p


def bracketed(bracket: Bracket, precision: float, fraction: ExactFraction | None = None) -> Answer:
    """The middle of a rigorous bracket, and the bracket; `precision` is the relative width requested."""
    p, log10_p = bracket.p, min(bracket.log10_p, 0.0)
    bound = bracket.half_width + rounded_to_subnormal(p, log10_p)
    wider = None if bracket.relative_width <= precision else bracket.relative_width
    return Answer(p, log10_p, (bracket.low, bracket.high), bound, fraction, bracket=True, wider=wider)


def sampled(estimate: Estimate, fraction: ExactFraction | None = None) -> Answer:
    """A Monte Carlo p-value and Clopper & Pearson's interval at 99 %."""
    record = MonteCarloRecord(estimate.samples, estimate.seed, estimate.exceedances, estimate.standard_error)
    low, high = estimate.interval()
    p = estimate.p
    return Answer(p, math.log10(p), (min(low, p), max(high, p)), None, fraction, record)


def controlled(
    estimate: ControlledEstimate, attainable: float, fraction: ExactFraction | None = None
) -> Answer:
    """A Monte Carlo p-value with a control variate, and its interval at 99 %; p is at least `attainable`.

    Where the samples leave nothing of the control's tail, the estimate would be 0 or less: there the samples alone
    say how large p is.
    """
    plain, (low, high) = estimate.plain, estimate.interval()
    low = max(low, attainable)
    high = max(high, low)
    p = min(max(estimate.raw if estimate.raw > 0.0 else plain.p, low), high)
    record = MonteCarloRecord(
        plain.samples,
        plain.seed,
        plain.exceedances,
        estimate.standard_error,
        control="midpoint",
        control_p_value=estimate.tail.p,
        gained=estimate.gained,
        lost=estimate.lost,
        p_value_plain=plain.p,
    )
    return Answer(p, math.log10(p), (low, high), None, fraction, record)


@dataclass(frozen=True, slots=True)
class Result:
    """What running a test gives."""

    answer: Answer
    by: Cost  # the method that answered, which need not be the planned one
    lattice: LatticeRecord | None
    # The least p-value that any outcome on the same items has lies between these; they are equal where it is known.
    attainable_between: tuple[float, float]
    items: ItemsRecord
    statistic: StatisticRecord
    null: NullRecord
    warnings: tuple[tuple[str, str], ...] = ()
    # The statistic's values in resamples, shape (K,), where it is resampled.
    resampled: Reals | None = None
    # Of a test that exchanges both items and runs.
    exchanges: ExchangesRecord | None = None

    @property
    def attainable(self) -> float | None:
        """The least p-value that any outcome on the same items has, None where it is not known."""
        low, high = self.attainable_between
        return low if low == high else None

    @property
    def exact(self) -> bool:
        """Whether the answer is the p-value itself: neither a bracket, an estimate nor an upper bound."""
        return not self.answer.bracket and self.answer.relative_error_bound is not None


class PlannedTest(Protocol):
    """A validated and planned test, before its run."""

    @property
    def problem(self) -> Problem | Runs:
        """What is tested."""
        ...

    @property
    def plan(self) -> Plan:
        """The method that will run, and what the others would cost."""
        ...

    @property
    def seconds(self) -> float:
        """Predicted time of everything that `solve` will do."""
        ...

    def solve(self) -> Result:
        """Run it."""
        ...


# What an answer must prove before it leaves


# Rounding of a logarithm, of its exponential, and of log10.
_ROUNDING = 1e-9
# Accuracy of least attainable p-values.
_ATTAINABLE = 1e-2


def certified_by(
    methods: Iterable[Cost],
    run: Callable[[Cost], Answer],
    *,
    least_log10: float,
    settles: Callable[[Cost, Answer], bool] = lambda _, __: True,
) -> tuple[Cost, Answer]:
    """The first of `methods` whose answer passes and `settles` the question, and that answer.

    `run` computes the answer by a method; `least_log10` is log10 of the probability of the observed assignment, which
    is as extreme as itself. An answer that passes without settling is returned if no exact one follows. Raises
    InvalidTest (`not_certified`) when no method passes.
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
        f"No available method can prove its answer ({'; '.join(failed)}). Use method auto, dp, rational, "
        "bounds or monte_carlo where they apply, or raise the server's budget."
    )
    raise InvalidTest.at("/method", "not_certified", detail)


def require(answer: Answer, *, exact: bool, attainable: float) -> None:
    """Raise ArithmeticError, a fault of the service, if a final answer does not pass."""
    flaw = flaw_of(answer, exact=exact)
    if flaw is None and answer.monte_carlo is None and answer.bounds[1] * (1.0 + _ATTAINABLE) < attainable:
        flaw = "it is below the least p-value that can be attained"
    if flaw is not None:
        raise ArithmeticError(f"a p-value without a certificate: {flaw}")


def flaw_of(answer: Answer, *, exact: bool, least_log10: float = -math.inf) -> str | None:
    """The flaw of an answer, or None. NaN fails the comparisons."""
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
        return "its bounds are not informative"
    if not _upper_log10(answer) >= least_log10 - _ROUNDING * (1.0 - least_log10):
        return "it is smaller than the observed outcome's probability"
    return _disagreement(answer)


def flaw_of_numbers(p: float, log10: float, bounds: tuple[float, float]) -> str | None:
    """The flaw of a p-value and its bounds, exact or not, or None."""
    if not (0.0 < p <= 1.0 and -math.inf < log10 <= 0.0):
        return "it is not a probability"
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
    """The flaw of a p-value's fraction, perhaps from another method, or None."""
    if answer.fraction is None:
        return None
    numerator, denominator = answer.fraction.numerator, _denominator(answer.fraction)
    if not 0 < numerator <= denominator:
        return "its fraction is not a probability"
    known = math.log10(numerator) - math.log10(denominator)
    error, slack = answer.relative_error_bound or 0.0, _ROUNDING * (1.0 - known)
    # The truth is within p (1 - error) and p (1 + error): a wide bracket reaches farther down than up.
    low = answer.log10_p_value + (math.log10(1.0 - error) if error < 1.0 else -math.inf)
    high = answer.log10_p_value + math.log10(1.0 + error)
    if answer.monte_carlo is None and not low - slack <= known <= high + slack:
        return "its fraction differs from it"
    return None


def proven(methods: Iterable[Cost], form: CanonicalForm, tail: Region) -> Probability | None:
    """The probability of a tail that holds the observed sum, by the first exact method that proves it, or None."""
    least = -form.nonzero * math.log10(2.0)
    for cost in methods:
        probability = engine_methods.exact_probability(cost.method, form, tail)
        if flaw_of(certified(probability), exact=True, least_log10=least) is None:
            return probability
    return None
