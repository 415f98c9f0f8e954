"""The paired bootstrap."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ..answers.test import LatticeRecord, Mass, NullRecord
from ..engine.bootstrap import law as bootstrap, monte_carlo
from ..engine.bootstrap.form import ResampleForm, resample_form, shifted_null, with_room
from ..engine.bootstrap.quantiles import bootstrap_law, evaluations_for, law_cost
from ..engine.lattice import EXACT_DOUBLE, MAX_TOTAL, Integers, Reals, exact_total
from ..engine.one_sum.monte_carlo import blocks
from ..engine.plan import Budget, Cost, Plan, choose
from ..engine.probability import IMPOSSIBLE, SMALLEST, UNIT_ROUNDOFF, Alternative, Region
from ..engine.real.bounds import Bracket
from ..errors import InvalidTest
from ..statistics.decisions import compared, exact_value
from ..statistics.effects import Additive, Joint
from ..statistics.reduction import in_linear_forms
from ..statistics.sum_function import FunctionOf, values_of
from .certificate import MOST_ERROR, Answer, Result, bracketed, certified, certified_by, sampled
from .options import Options
from .record import QUANTILES, items_record, joint_items, sampled_null_record, statistic_record

# The null of a bootstrapped sum for display: its law if affordable, else resamples


NANOSECONDS_PER_DRAW = 11.0
_BINS = 101
# Seconds for the null, or as long as the p-value takes; else it is sampled.
_LOOK_S = 0.1
_LOOK_SAMPLES, _FEW_SAMPLES = 20_000, 1_000
SAMPLED = (
    "The quantiles and the picture of the null distribution were sampled; `method` refers to the p-value."
)


@dataclass(frozen=True, slots=True)
class NullLook:
    """How the null is computed: its law (`samples` is 0), this many resamples, or not at all; and the predicted
    time.
    """

    way: Literal["law", "sampled", "none"]
    seconds: float = 0.0
    samples: int = 0


def look_at(form: ResampleForm, options: Options, budget: Budget, p_value_seconds: float) -> NullLook:
    """Plan the null of a test whose p-value takes `p_value_seconds`, within the budget."""
    if options.pmf == "none" or form.range == 0:
        return NullLook("none")
    allowed = max(_LOOK_S, p_value_seconds)
    nanoseconds, held = law_cost(form, _law_looks(form))
    if nanoseconds <= min(1e9 * allowed, budget.operations) and held <= budget.bytes:
        return NullLook("law", 1e-9 * nanoseconds)
    each = 1e-9 * NANOSECONDS_PER_DRAW * min(16 * len(form.values), form.draws)
    samples = min(_LOOK_SAMPLES, int(allowed / each))
    return (
        NullLook("sampled", (samples + 4096) * each, samples) if samples >= _FEW_SAMPLES else NullLook("none")
    )


def _law_looks(form: ResampleForm) -> int:
    return _BINS + 1 + evaluations_for(form, len(QUANTILES))


def null_of(form: ResampleForm, unit: Fraction, look: NullLook, options: Options) -> NullRecord:
    """S* - S in the statistic's units: mean 0, and percentiles without resampling error if affordable."""
    spread = form.values - float(np.dot(form.values, form.probabilities))
    sd = form.step * math.sqrt(form.draws * float(np.dot(spread * spread, form.probabilities))) * float(unit)
    low = float((form.offset - form.observed) * unit)
    high = float((form.offset + form.step * form.range - form.observed) * unit)
    moments = NullRecord(0.0, sd, low, high, None, None, None)
    if look.way == "none":
        return moments
    if look.way == "sampled":
        drawn = _shifts(form, unit, look.samples, options.seed)
        seen = sampled_null_record(drawn, np.ones(len(drawn)), options.pmf)
        return replace(moments, quantiles=seen.quantiles, pmf=seen.pmf, pmf_bin_width=seen.pmf_bin_width)
    law = bootstrap_law(form, _law_looks(form))
    quantiles = {str(q): float((law.quantile(q) - form.observed) * unit) for q in QUANTILES}
    width = -(-(law.high - law.low + 1) // _BINS)
    edges = [law.low - 1 + width * index for index in range(_BINS + 1)]
    cumulative = [law.cumulative(edge) for edge in edges]
    middles = [edge + (width + 1) / 2 for edge in edges[:-1]]
    pmf = tuple(
        Mass(
            float((form.offset + form.step * middle - form.observed) * float(unit)), max(after - before, 0.0)
        )
        for middle, before, after in zip(middles, cumulative[:-1], cumulative[1:], strict=True)
        if after - before > 1e-12
    )
    return NullRecord(0.0, sd, low, high, quantiles, pmf, float(form.step * width * unit))


def _shifts(form: ResampleForm, unit: Fraction, samples: int, seed: int) -> Reals:
    """S* - S of `samples` resamples, shape (samples,)."""
    totals = np.concatenate(
        [monte_carlo.draw_block(form, seed, block)[:size] for block, size in blocks(samples)]
    )
    return np.asarray(((form.offset - form.observed) + form.step * totals).astype(np.float64) * float(unit))


# Cost of a joint statistic: for each unit and each value of a resample, and for each block.
_NANOSECONDS_PER_UNIT, _NANOSECONDS_PER_VALUE, _CALL = 9, 50, 120_000
# Values this close to the threshold are decided in fractions, or count as reaching it if they have none.
_TIE = 1e-12
_ROUNDED = (
    "The scores take more than 60 bits together with their resamples. p_value_bounds hold for the original "
    "scores; the distribution is for rounded ones. With fewer digits (`decimals`), all is exact."
)


@dataclass(frozen=True, slots=True)
class BootstrapTest:
    """The bootstrap of one additive statistic."""

    options: Options
    problem: Additive
    form: ResampleForm
    unit: Fraction  # of the form's sums
    plan: Plan
    look: NullLook
    # The largest error, from rounding effects, of a resample's sum less twice the observed one.
    off: int = 0

    @property
    def seconds(self) -> float:
        """Predicted time of the p-value and of the quantiles."""
        return self.plan.chosen.seconds + self.look.seconds

    def solve(self) -> Result:
        """Run the planned method and summarise the bootstrap distribution, shifted to the null."""
        problem, form = self.problem, self.form
        region = shifted_null(form, self.options.alternative, self.off)
        warnings: tuple[tuple[str, str], ...] = ()
        one, log10_of_one = _single_resample(form.draws)
        by = self.plan.chosen
        if region.intervals or not by.exact:
            methods, answer_by = self.plan.attempts, partial(self._answer, region)
            by, answer = certified_by(methods, answer_by, least_log10=log10_of_one)
        else:
            answer, warnings = _impossible(form.draws)
        value = float(exact_total(problem.stay) * problem.unit)
        if self.off:
            warnings = (*warnings, ("scores_rounded", _ROUNDED))
        if self.look.way == "sampled":
            warnings = (*warnings, ("null_sampled", SAMPLED))
        return Result(
            answer=answer,
            by=by,
            lattice=LatticeRecord(float(self.unit * form.step), len(form.values), form.range),
            attainable_between=(one, 1.0),
            items=items_record(problem, problem.stay, problem.swap, _moving(problem)),
            statistic=statistic_record(problem, value),
            null=null_of(form, self.unit, self.look, self.options),
            warnings=warnings,
        )

    def _answer(self, region: Region, by: Cost) -> Answer:
        """The unchecked answer of one method."""
        if by.method != "monte_carlo":
            return self._between(region) if self.off else certified(bootstrap.probability(self.form, region))
        form, samples, seed = self.form, self.options.samples, self.options.seed
        answer = sampled(monte_carlo.estimate(form, region, samples=samples, seed=seed))
        if self.off:
            surely = shifted_null(form, self.options.alternative, -self.off)
            least = monte_carlo.estimate(form, surely, samples=samples, seed=seed)
            answer = replace(answer, bounds=(min(answer.bounds[0], least.interval()[0]), answer.bounds[1]))
        return answer

    def _between(self, outer: Region) -> Answer:
        """For rounded effects: from surely extreme to possibly extreme; exact if these nearly agree."""
        inner = shifted_null(self.form, self.options.alternative, -self.off)
        most = bootstrap.probability(self.form, outer)
        least = bootstrap.probability(self.form, inner) if inner.intervals else IMPOSSIBLE
        low = least.log_p + math.log1p(-min(least.relative_error_bound, 0.5)) - UNIT_ROUNDOFF
        high = min(most.log_p + math.log1p(most.relative_error_bound) + UNIT_ROUNDOFF, 0.0)
        bracket = Bracket(min(low, high), high, 0, 0, reached=True)
        return replace(bracketed(bracket, math.inf), bracket=bracket.relative_width > MOST_ERROR)


def bootstrap_test(
    problem: Additive | Joint, options: Options, budget: Budget
) -> BootstrapTest | JointBootstrap:
    """Plan the bootstrap; raises InvalidTest and PlanTooLarge."""
    if options.exact_fraction:
        raise InvalidTest.at(
            "/exact_fraction",
            "fraction_not_available",
            "A bootstrap p-value has no binary fraction: leave `exact_fraction` out.",
        )
    if isinstance(problem, Joint):
        return _joint(problem, options, budget)
    if problem.pairwise:
        raise refuse_pairs()
    if problem.absolute:
        raise InvalidTest.at(
            "/statistic/expression",
            "not_bootstrapped",
            (
                "The bootstrap tests the sum itself: use the expression without abs, with alternative "
                "two-sided."
            ),
        )
    units, bits = with_room(problem.stay)
    form = resample_form(units)
    exact = Cost("fft", *bootstrap.cost(form))
    each = 0 if problem.rounding is None else problem.rounding.each
    off = 3 * len(units) * ((each >> bits) + 2) if bits or each else 0
    draws = (options.samples + 4096) * min(16 * len(form.values), form.draws) * (2 if off else 1)
    drawing = Cost("monte_carlo", draws, 1 << 24, NANOSECONDS_PER_DRAW)
    plan = choose((exact, drawing), budget, method=options.method)
    look = look_at(form, options, budget, plan.chosen.seconds)
    return BootstrapTest(options, problem, form, problem.unit * 2**bits, plan, look, off)


def refuse_pairs() -> InvalidTest:
    """The bootstrap of a statistic of pairs is not offered."""
    detail = (
        "A resample of the items has other pairs, so the statistic is no longer a sum of effects: use the "
        "permutation test."
    )
    return InvalidTest.at("/test", "not_bootstrapped", detail)


def _moving(problem: Additive) -> int:
    """The number of units that a swap changes; their sums may exceed any lattice of the permutation test."""
    return int(np.count_nonzero(problem.stay if problem.swap is None else problem.stay != problem.swap))


def _single_resample(draws: int) -> tuple[float, float]:
    """The probability of a single resample, N**-N, and its log10."""
    log10 = -draws * math.log10(draws) if draws > 1 else 0.0
    return max(10.0**log10 if log10 > -300.0 else 0.0, SMALLEST), log10


def _impossible(draws: int) -> tuple[Answer, tuple[tuple[str, str], ...]]:
    """No resample is as extreme as the observed sum: report one in N**N instead of 0."""
    p, log10 = _single_resample(draws)
    detail = (
        "No resample is as extreme as the observed difference; p = 0 is not a p-value, so the probability "
        "of one resample, n**-n, is given as an upper bound."
    )
    return Answer(p, log10, (0.0, p), None), (("bootstrap_empty_tail", detail),)


@dataclass(frozen=True, slots=True)
class JointBootstrap:
    """The bootstrap of a statistic of several sums, by resampling."""

    options: Options
    problem: Joint
    reduced: Joint  # over the sums that the statistic depends on
    plan: Plan

    @property
    def seconds(self) -> float:
        """Predicted time."""
        return self.plan.chosen.seconds

    def solve(self) -> Result:
        """Resample units, recompute the statistic, and compare its shifts with the observed value."""
        problem, options = self.problem, self.options
        units, function = self.reduced.stay, self.reduced.function
        start = units.sum(axis=0)
        observed = float(values_of(function, [start[k : k + 1] for k in range(len(start))])[0])
        # BLAS adds sums that a double holds exactly.
        exact = _largest_sum(units) < EXACT_DOUBLE
        effects: Integers | Reals = units.astype(np.float64) if exact else units
        shifts: list[Reals] = []

        def extreme(weights: Integers) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
            sums = (weights.astype(effects.dtype) @ effects).astype(np.int64)
            shift = values_of(function, list(sums.T)) - observed
            shifts.append(shift)
            reached, near = _reaches(shift, observed, options)
            if near.any():
                exactly = _decided(function, sums[near], start, options.alternative)
                reached[near] = True if exactly is None else exactly
            return reached

        estimate = monte_carlo.estimate_any(len(units), extreme, samples=options.samples, seed=options.seed)
        drawn = np.concatenate(shifts)
        return Result(
            answer=sampled(estimate),
            by=self.plan.chosen,
            lattice=None,
            attainable_between=(_single_resample(len(units))[0], 1.0),
            items=joint_items(problem),
            statistic=statistic_record(problem, observed),
            null=replace(sampled_null_record(drawn, np.ones(len(drawn)), options.pmf), range_exact=False),
            resampled=observed + drawn,
        )


def _reaches(shift: Reals, observed: float, options: Options) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which shifts are as extreme as the observed value, and which are too close to tell in doubles; shape (K,)
    each.
    """
    size, aim = shift, observed
    if options.alternative == "two-sided":
        size, aim = np.abs(shift), abs(observed)
    reached = size <= aim if options.alternative == "less" else size >= aim
    # Relative to both values, so that the unit of the statistic does not matter.
    return np.asarray(reached), np.asarray(np.abs(size - aim) <= _TIE * (np.abs(shift) + 2.0 * abs(observed)))


def _decided(
    function: FunctionOf, states: Integers, start: Integers, side: Alternative
) -> NDArray[np.bool_] | None:
    """The same in fractions, at each row of `states`, shape (K, k); None if values are not fractions."""
    seen = exact_value(function.quantity, start.tolist())
    if not isinstance(seen, Fraction):
        return None
    ratios = function.quantity.ratios(states, 4 * max(abs(seen.numerator), seen.denominator))
    if ratios is None:
        return None
    if side != "two-sided":
        return compared(ratios, 2 * seen, side)
    size = abs(seen)
    return np.asarray(compared(ratios, seen + size, "greater") | compared(ratios, seen - size, "less"))


def _joint(problem: Joint, options: Options, budget: Budget) -> JointBootstrap:
    reduced = in_linear_forms(problem)
    if _largest_sum(reduced.stay) >= MAX_TOTAL:
        reduced = problem
    if _largest_sum(reduced.stay) >= MAX_TOTAL:
        detail = "A resample of these counts may sum to 2**61 or more, beyond what can be added exactly."
        raise InvalidTest.at("", "integer_too_large", detail)
    units, width = reduced.stay.shape
    rows = monte_carlo.rows_at_once(units)
    price = reduced.function.price(reduced.stay, None, options.alternative)
    each = units * (_NANOSECONDS_PER_UNIT + width) + price.value_ns + 10 * width
    call = _CALL + int(price.call_ns)
    steps = int(options.samples * (each + _NANOSECONDS_PER_VALUE)) + call * (options.samples // rows + 4)
    held = 48 * options.samples + (64 + 8 * width) * max(rows, units) + 32 * rows * units
    drawing = Cost("monte_carlo", steps, held + (1 << 22))
    plan = choose((drawing,), budget, method=options.method, where="the bootstrap of several sums")
    return JointBootstrap(options, problem, reduced, plan)


def _largest_sum(effects: Integers) -> int:
    """The largest |sum| of any resample: the largest unit, as often as there are units."""
    return len(effects) * max(-int(effects.min()), int(effects.max()))
