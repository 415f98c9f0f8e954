"""The paired bootstrap: units drawn with replacement, the p-value that of the shifted null.

P*(|S* - S| >= |S|) for two-sided. Exact for one sum on a lattice; statistics of several sums are resampled.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np

from app.engine import bootstrap, bootstrap_monte_carlo
from app.engine.bootstrap import bootstrap_law
from app.engine.bootstrap_form import ResampleForm, resample_form, shifted_null, with_room
from app.engine.bootstrap_spectrum import WindowTooLongError
from app.engine.lattice import CanonicalForm, Integers, canonical_form, exact_total
from app.engine.null import Region
from app.engine.planner import Budget, Cost, Plan, choose
from app.errors import InvalidTest
from app.inference.additive import items_record
from app.inference.answers import SMALLEST, Answer, certified, sampled
from app.inference.certificate import certified_by
from app.inference.null_record import QUANTILES, sampled_null_record
from app.inference.options import Options
from app.inference.record import ItemsRecord, LatticeRecord, NullRecord, StatisticRecord
from app.inference.solvable import Findings
from app.statistics.joint import Joint
from app.statistics.problem import Additive

_BINS = 101
_PICTURE_S = 0.01
_NANOSECONDS_PER_DRAW = 5.0
_NANOSECONDS_PER_VALUE, _BYTES_PER_VALUE = 150, 72
# Joint statistics are doubles here: values this close to the threshold count as reaching it.
_TIE = 1e-12


@dataclass(frozen=True, slots=True)
class BootstrapTest:
    """The bootstrap of one additive statistic."""

    options: Options
    problem: Additive
    form: ResampleForm
    unit: Fraction  # of the form's sums
    plan: Plan

    @property
    def seconds(self) -> float:
        """Predicted time of the p-value and of the quantiles."""
        return self.plan.chosen.seconds + (0.0 if self.options.pmf == "none" else _PICTURE_S)

    def solve(self) -> Findings:
        """Run the planned method and summarise the bootstrap distribution, shifted to the null."""
        problem, form = self.problem, self.form
        region = shifted_null(form, self.options.alternative)
        cautions: tuple[tuple[str, str], ...] = ()
        one, log10_of_one = _one_resample(form.draws)
        by = self.plan.chosen
        if region.intervals or not by.exact:
            methods, answer_by = self.plan.in_turn, partial(self._answer, region)
            by, answer = certified_by(methods, answer_by, least_log10=log10_of_one)
        else:
            answer, cautions = _impossible(form.draws)
        value = float(exact_total(problem.stay) * problem.unit)
        return Findings(
            answer=answer,
            by=by,
            lattice=LatticeRecord(float(self.unit * form.step), len(form.values), form.range),
            attainable=one,
            items=_items(problem),
            statistic=StatisticRecord(problem.name, value, *_scores(problem)),
            null=_null(form, self.unit, pictured=self.options.pmf != "none"),
            cautions=cautions,
        )

    def _answer(self, region: Region, by: Cost) -> Answer:
        """The answer of one method, not checked yet."""
        if by.method == "monte_carlo":
            samples, seed = self.options.samples, self.options.seed
            return sampled(bootstrap_monte_carlo.estimate(self.form, region, samples=samples, seed=seed))
        return certified(bootstrap.probability(self.form, region))


def bootstrap_test(
    problem: Additive | Joint, options: Options, budget: Budget
) -> BootstrapTest | JointBootstrap:
    """Plan the bootstrap; raises InvalidTest and PlanTooLarge."""
    if options.exact_fraction:
        raise InvalidTest.at(
            "/exact_fraction",
            "fraction_not_available",
            "A bootstrap p-value has no binary fraction: leave it out.",
        )
    if isinstance(problem, Joint):
        return _joint(problem, options, budget)
    if problem.absolute:
        raise InvalidTest.at(
            "/statistic/expression",
            "not_bootstrapped",
            "The bootstrap is of the sum itself: use the expression without abs and alternative two-sided.",
        )
    units, bits = with_room(problem.stay)
    form = resample_form(units)
    exact = Cost("fft", *bootstrap.cost(form))
    draws = (options.samples + 4096) * min(16 * len(form.values), form.draws)
    drawing = Cost("monte_carlo", draws, 1 << 24, _NANOSECONDS_PER_DRAW)
    plan = choose((exact, drawing), budget, method=options.method)
    return BootstrapTest(options, problem, form, problem.unit * 2**bits, plan)


def _one_resample(draws: int) -> tuple[float, float]:
    """The probability of a single resample, N**-N, and its log10."""
    log10 = -draws * math.log10(draws) if draws > 1 else 0.0
    return max(10.0**log10 if log10 > -300.0 else 0.0, SMALLEST), log10


def _impossible(draws: int) -> tuple[Answer, tuple[tuple[str, str], ...]]:
    """No resample is as far out as the observed sum: one in N**N is reported instead of nought."""
    p, log10 = _one_resample(draws)
    detail = (
        "No resample is as far out as the observed difference; p = 0 is not a p-value, so the probability of "
        "one resample, n**-n, is given as an upper bound."
    )
    return Answer(p, log10, (0.0, p), None), (("bootstrap_empty_tail", detail),)


def _scores(problem: Additive | Joint) -> tuple[float | None, float | None]:
    u, v = problem.score_u, problem.score_v
    return (None if u is None else float(u), None if v is None else float(v))


def _items(problem: Additive) -> ItemsRecord:
    form: CanonicalForm = canonical_form(problem.stay, problem.swap)
    return items_record(problem, form)


def _null(form: ResampleForm, unit: Fraction, *, pictured: bool) -> NullRecord:
    """S* - S in the statistic's units: mean nought, and percentiles with no resampling error."""
    spread = form.values - float(np.dot(form.values, form.chances))
    sd = form.step * math.sqrt(form.draws * float(np.dot(spread * spread, form.chances))) * float(unit)
    low = float((form.offset - form.observed) * unit)
    high = float((form.offset + form.step * form.range - form.observed) * unit)
    if not pictured or form.range == 0:
        return NullRecord(0.0, sd, low, high, None, None, None)
    try:
        law = bootstrap_law(form)
    except WindowTooLongError:
        return NullRecord(0.0, sd, low, high, None, None, None)
    quantiles = tuple((str(q), float((law.quantile(q) - form.observed) * unit)) for q in QUANTILES)
    width = -(-(law.high - law.low + 1) // _BINS)
    edges = [law.low - 1 + width * index for index in range(_BINS + 1)]
    cumulative = [law.cumulative(edge) for edge in edges]
    middles = [edge + (width + 1) / 2 for edge in edges[:-1]]
    pmf = tuple(
        (float((form.offset + form.step * middle - form.observed) * float(unit)), max(after - before, 0.0))
        for middle, before, after in zip(middles, cumulative[:-1], cumulative[1:], strict=True)
        if after - before > 1e-12
    )
    return NullRecord(0.0, sd, low, high, quantiles, pmf, float(form.step * width * unit))


@dataclass(frozen=True, slots=True)
class JointBootstrap:
    """The bootstrap of a statistic of several sums, by resampling."""

    options: Options
    problem: Joint
    plan: Plan

    @property
    def seconds(self) -> float:
        """Predicted time."""
        return self.plan.chosen.seconds

    def solve(self) -> Findings:
        """Resample units, recompute the statistic, and compare its shifts with the observed value."""
        problem, options = self.problem, self.options
        start = problem.stay.sum(axis=0)
        observed = float(problem.function.values([start[k : k + 1] for k in range(len(start))])[0])
        shifts: list[np.ndarray[tuple[int], np.dtype[np.float64]]] = []

        def extreme(weights: Integers) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
            sums = np.rint(weights.astype(np.float64) @ problem.stay.astype(np.float64)).astype(np.int64)
            shift = np.asarray(problem.function.values(list(sums.T))) - observed
            shifts.append(shift)
            return _reaches(shift, observed, options)

        units = len(problem.stay)
        found = bootstrap_monte_carlo.estimate_any(units, extreme, samples=options.samples, seed=options.seed)
        drawn = np.concatenate(shifts)
        return Findings(
            answer=sampled(found),
            by=self.plan.chosen,
            lattice=None,
            attainable=_one_resample(units)[0],
            items=_joint_items(problem),
            statistic=StatisticRecord(problem.name, observed, *_scores(problem)),
            null=sampled_null_record(drawn, np.ones(len(drawn)), options.pmf),
            resampled=observed + drawn,
        )


def _reaches(
    shift: np.ndarray[tuple[int], np.dtype[np.float64]], observed: float, options: Options
) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    slack = _TIE * (1.0 + abs(observed))
    if options.alternative == "greater":
        return np.asarray(shift >= observed - slack)
    if options.alternative == "less":
        return np.asarray(shift <= observed + slack)
    return np.asarray(np.abs(shift) >= abs(observed) - slack)


def _joint_items(problem: Joint) -> ItemsRecord:
    differ = int((problem.stay != problem.swap).any(axis=1).sum())
    stay = np.asarray(problem.function.values(list(problem.stay.T)))
    swap = np.asarray(problem.function.values(list(problem.swap.T)))
    wins, losses = int((stay > swap).sum()), int((stay < swap).sum())
    return ItemsRecord(problem.items, differ, problem.clusters, wins, len(stay) - wins - losses, losses)


def _joint(problem: Joint, options: Options, budget: Budget) -> JointBootstrap:
    cells = len(problem.stay) * (options.samples + 4096)
    # The statistic's value in every resample is computed, kept and sorted.
    operations = cells * (4 + problem.stay.shape[1]) + _NANOSECONDS_PER_VALUE * options.samples
    drawing = Cost("monte_carlo", operations, (1 << 25) + _BYTES_PER_VALUE * options.samples)
    plan = choose((drawing,), budget, method=options.method, where="the bootstrap of several sums")
    return JointBootstrap(options, problem, plan)
