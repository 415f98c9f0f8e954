"""Decide gates without a baseline: whether one system is at least as good as a threshold.

For right or wrong items with one run each, the p-value is a binomial tail. For scores in a range, and items' means over several runs, it is
a bound that holds for every law (`engine.one_proportion`).
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Literal

import numpy as np

from ..answers.gate import GateTerms
from ..answers.test import (
    Alternative,
    ConfidenceInterval,
    Exchange,
    ItemsRecord,
    NullRecord,
    StatisticRecord,
    TestRecord,
    WarningRecord,
)
from ..engine.one_proportion import binomial_interval, convex_bound, convex_interval, upper_tail
from ..engine.plan import Budget, Cost, Plan
from ..engine.power.paired_binary import binomial_masses
from ..engine.probability import Probability
from ..errors import InvalidTest, choices_of
from ..presentation.numbers import exactly
from ..statistics.columns import per_item, scores_by_item
from ..statistics.effects import Additive
from ..statistics.paired import DataWarning, Paired, Scores, StatisticSpec, lengths_of, samples_in
from ..statistics.reducers import reduce
from .certificate import Answer, Result, certified, is_at_most
from .one_sided import Outcome, Question, ratio_of, without_margin
from .options import Options, request_digest
from .paired import ALGORITHM_VERSION, of_data, record_of
from .record import sampled_null_record
from .warnings import data_warnings

# Options of other tests, and their defaults.
_OTHERS = {"test": "permutation", "method": "auto", "significance": "p", "sequential": None, "power": None, "exact_fraction": False}  # fmt: skip
_SECONDS, _SECONDS_PER_ITEM = 2e-3, 6e-7
IntervalMethod = Literal["clopper_pearson", "convex_bound"]
_REASONS = {
    "binomial": "right-or-wrong items against a threshold: the tail of a binomial distribution",
    "convex_bound": "scores in a range against a threshold: a bound that holds for all their distributions",
}


@dataclass(frozen=True, slots=True)
class Scaled:
    """The values of one system:

    `total` is the sum of `n` of them scaled to [0, 1], `low` and `width` scale back. `whole` values are right or wrong; `runs` are all
    runs of the items, which may have unequal probabilities.
    """

    n: int
    total: Fraction
    low: Fraction
    width: Fraction
    whole: bool
    runs: bool = False

    def is_binomial(self, total: Fraction, chance: Fraction) -> bool:
        """Whether P(S >= total) is at most the binomial tail: for unequal probabilities at least one beyond the mean, or for all (Hoeffding 1956)."""
        return self.whole and (not self.runs or total in {0, self.n} or total >= self.n * chance + 1)

    @property
    def mean(self) -> Fraction:
        """The value in the units of the scores."""
        return self.low + self.width * self.total / self.n

    def interval(self, level: float) -> tuple[Fraction, Fraction, IntervalMethod]:
        """The bounds of the true mean, with half of the error at each end, rounded outwards."""
        tail = (1 - Fraction(repr(float(level)))) / 2
        n, total = self.n, self.total
        method: IntervalMethod = "convex_bound"
        ends = binomial_interval(int(total), n, tail) if self.whole else (0.0, 1.0)
        sides = ((total, Fraction(ends[0])), (n - total, 1 - Fraction(ends[1])))
        if all(self.is_binomial(*side) for side in sides):
            method = "clopper_pearson"
        else:
            ends = convex_interval(total, n, tail)
        low, high = (self.low + self.width * Fraction(end) for end in ends)
        return low, high, method


def scaled(
    data: Paired, spec: StatisticSpec, limits: tuple[float, float] | None, exchange: Exchange = "items"
) -> Scaled | None:
    """U's values, within these `limits`; None if only limits would make them comparable.

    Scores that are all 0 or 1 are right or wrong, with limits of 0 and 1 or without. Raises InvalidTest if the statistic is not a mean
    of items, or a score is outside (at /u).
    """
    runs = (
        exchange == "runs" and isinstance(data, Scores) and spec.parameters.get("repeats") in {None, "mean"}
    )
    if isinstance(data, Scores) and (runs or int(np.max(lengths_of(data.u))) == 1):
        every = samples_in(data.u)
        data = Scores(every, every)
    problem = reduce(data, spec)
    if not isinstance(problem, Additive) or problem.score_u is None or spec.name not in MEANS:
        detail = f"A threshold is one of the mean of the items' scores; {spec.name} is none: send scores, or accuracy of predictions."
        raise InvalidTest.at("/statistic/name", "threshold_needs_means", detail)
    single = problem.samples is None
    low, high = Fraction(0), problem.all_right or Fraction(0)
    if limits is not None:
        low, high = (Fraction(repr(float(end))) for end in limits)
        _require_inside(data, float(low), float(high))
    elif not single and isinstance(data, Scores):
        every = samples_in(data.u)
        high = reduce(Scores(every, every), StatisticSpec("mean_difference")).all_right or high  # type: ignore[union-attr]  # a mean is additive
    if not low < high:
        return None
    width, n = high - low, problem.items
    whole = single and low == 0 and high == problem.all_right
    return Scaled(n, n * (problem.score_u - low) / width, low, width, whole, runs)


@dataclass(frozen=True)  # no slots: `cached_property` needs a `__dict__`
class TargetTest:
    """The values of one system, and the threshold, `chance`, scaled like them."""

    data: Paired
    spec: StatisticSpec
    options: Options
    terms: GateTerms
    values: Scaled
    chance: Fraction
    items: ItemsRecord
    data_warnings: tuple[DataWarning, ...]

    @property
    def seconds(self) -> float:
        """Predicted time: a few incomplete beta functions, and the picture."""
        return _SECONDS + _SECONDS_PER_ITEM * self.values.n

    @property
    def longest_seconds(self) -> float:
        """The same."""
        return self.seconds

    @property
    def threshold(self) -> Fraction:
        """The value in the units of the scores."""
        return self.values.low + self.values.width * self.chance

    @property
    def alternative(self) -> Alternative:
        """The side of the threshold that a small p-value supports."""
        upwards = (self.terms.policy == "at_least") == self.terms.higher_is_better
        return "greater" if upwards else "less"

    @cached_property
    def _is_binomial(self) -> bool:
        return self.values.is_binomial(*self._upwards(self.values.total))

    def _upwards(self, total: Fraction) -> tuple[Fraction, Fraction]:
        """A sum and the threshold, mirrored if small sums are extreme."""
        if self.alternative == "greater":
            return total, self.chance
        return self.values.n - total, 1 - self.chance

    def _of(self, total: Fraction) -> Probability:
        """The p-value of a sum of scaled values."""
        n, (total, chance) = self.values.n, self._upwards(total)
        binomial = self.values.is_binomial(total, chance)
        return upper_tail(n, int(total), chance) if binomial else convex_bound(n, total, chance)

    @cached_property
    def _answer(self) -> Answer:
        return certified(self._of(self.values.total))

    @property
    def _ratio(self) -> Fraction | None:
        return ratio_of(self._answer.fraction)

    def solve(self) -> Result:
        """The p-value: a binomial tail where it holds, otherwise a bound, which is not exact."""
        answer, spec, mean = replace(self._answer, fraction=None), self.spec, self.values.mean
        if not self._is_binomial:
            answer = replace(answer, bounds=(0.0, answer.bounds[1]), relative_error_bound=None)
        best = self._of(Fraction(self.values.n if self.alternative == "greater" else 0)).p
        scores = float(mean - self.threshold), float(mean), float(self.threshold)
        statistic = StatisticRecord(spec.name, *scores)
        return Result(
            answer, Cost(self.procedure, 0, 0), None, (best, best), self.items, statistic, self._null()
        )

    def outcome(self, record: TestRecord) -> Outcome:
        """The one-sided test; its exact p-value is at least that of right-or-wrong scores, or 1 on the other side."""
        outcome, least = without_margin(Question(self.alternative, Fraction(0)), record), None
        if not self._is_binomial:
            n, (total, chance) = self.values.n, self._upwards(self.values.total)
            tail = upper_tail(n, math.ceil(total), chance)
            least = 1.0 if total <= n * chance else tail.p * (1.0 - 1e-9)
        return replace(outcome, decides_from=least, ratio=self._ratio)

    @property
    def procedure(self) -> Literal["binomial", "convex_bound"]:
        """The method, which is also the name of the test."""
        return "binomial" if self._is_binomial else "convex_bound"

    def record(self) -> TestRecord:
        """The test of the difference from the threshold, which takes the place of V's score."""
        terms, data, spec, options, result = self.terms, self.data, self.spec, self.options, self.solve()
        digest = request_digest(data, spec, options, ALGORITHM_VERSION)
        identity = f"{digest} {terms.policy} {self.threshold} {terms.range}"
        record = record_of(
            f"t_{hashlib.sha256(identity.encode()).hexdigest()}",
            Plan(result.by, _REASONS[self.procedure], (), Budget(0, 0)),
            result,
            replace(options, alternative=self.alternative),
            significant=is_at_most(self._ratio or result.answer.bounds[1], terms.alpha),
            **of_data(data, spec, options),
            null=result.null,
            confidence_interval=self._interval(),
            warnings=tuple(WarningRecord(warning.code, warning.detail) for warning in self.data_warnings),
        )
        return replace(record, test=self.procedure)

    def _null(self) -> NullRecord:
        """The distribution of the difference at the threshold: for right-or-wrong items exactly, for other scores that of the most dispersed ones."""
        n, width, chance = self.values.n, self.values.width, float(self.chance)
        first, masses = binomial_masses(n, chance)
        counts = np.arange(first, first + len(masses))
        low, high = (float(width * (end - self.chance)) for end in (0, 1))
        values = float(width) * (counts / n - chance)
        null = sampled_null_record(values, masses, self.options.pmf)
        sd = float(width) * float(np.sqrt(chance * (1.0 - chance) / n))
        return NullRecord(0.0, sd, low, high, null.quantiles, null.pmf, null.pmf_bin_width, self.values.whole)

    def _interval(self) -> ConfidenceInterval | None:
        """Of the difference from the threshold."""
        level = self.options.confidence_level
        if level is None:
            return None
        *ends, method = self.values.interval(level)
        low, high = (float(end - self.threshold) for end in ends)
        exact = method == "clopper_pearson"
        return ConfidenceInterval(
            level, low, high, method, "exact" if exact else "bounded", 0.0 if exact else high - low
        )


def target_test(data: Paired, spec: StatisticSpec, options: Options, terms: GateTerms) -> TargetTest:
    """Validate the data and the terms; V's column is ignored.

    Raises InvalidTest at /threshold, /range, /u and at options of other tests.
    """
    _require_alone(data, spec, options)
    assert terms.threshold is not None
    threshold = Fraction(repr(float(terms.threshold)))
    values = scaled(data, spec, terms.range, options.exchange)
    if values is None:
        raise InvalidTest.at("/range", "range_missing", _RANGE, _RANGES)
    chance = (threshold - values.low) / values.width
    if not 0 < chance < 1:
        ends = f"{exactly(float(values.low))} and {exactly(float(values.low + values.width))}"
        detail = f"The threshold must lie between {ends}, the least and the largest possible score."
        raise InvalidTest.at("/threshold", "out_of_range", detail)
    items = _items(data, spec, values, threshold)
    return TargetTest(data, spec, options, terms, values, chance, items, data_warnings(data, spec))


_EXCHANGES = {"items": "New items", "runs": "New runs of these items"}
MEANS = frozenset({"mean_difference", "accuracy", "exact_match"})
_RANGE = (
    "Scores that are not right or wrong are compared with a threshold by a bound that needs their `range`: "
    "the least and the largest possible score."
)
_RANGES = choices_of("range", {"[0,1]": "Scores from 0 to 1", "[0,100]": "Scores from 0 to 100"})


def _require_alone(data: Paired, spec: StatisticSpec, options: Options) -> None:
    for name, default in _OTHERS.items():
        if getattr(options, name) != default:
            detail = f"A threshold has a separate test: leave `{name}` out."
            raise InvalidTest.at(f"/{name}", "not_available", detail)
    if options.exchange == "both":
        detail = "A threshold speaks of new items or of new runs: set `exchange` to items or runs."
        raise InvalidTest.at("/exchange", "not_available", detail, choices_of("exchange", _EXCHANGES))
    of_scores = data if isinstance(data, Scores) else None
    correction = of_scores and of_scores.correction
    for option, name, code, detail in (
        (data.pairing.clusters, "clusters", "no_clusters", "A threshold is for independent items: give a score for each cluster."),
        (of_scores and of_scores.weights, "weights", "no_weights", "A threshold needs items of equal weight: leave weights out."),
        (of_scores and of_scores.gaps, "on_missing", "no_missing_bounds", "Missing outcomes have bounds between two systems: set `on_missing=drop`, or score them as wrong."),
        (correction, "covariates" if correction and correction.labelled is None else "labels", "not_available", "Labels and covariates correct a difference: leave them out."),
    ):  # fmt: skip
        if option is not None:
            raise InvalidTest.at(f"/{name}", code, detail)


def _require_inside(data: Paired, low: float, high: float) -> None:
    if not isinstance(data, Scores):
        return
    values = samples_in(data.u)
    outside = (values < low) | (values > high)
    if outside.any():
        at = int(outside.argmax())
        item = int(np.searchsorted(np.cumsum(lengths_of(data.u)), at, side="right"))
        detail = f"The score {exactly(float(values[at]))} is outside of the range from {exactly(low)} to {exactly(high)}."
        raise InvalidTest.at(f"/u/{item}", "outside_range", detail)


def _items(data: Paired, spec: StatisticSpec, values: Scaled, threshold: Fraction) -> ItemsRecord:
    """Count items better than the threshold, equal to it, and worse."""
    n = values.n
    if isinstance(data, Scores):
        scores = scores_by_item(per_item(data, spec), spec)
        column, at = scores.columns[0], threshold / scores.unit
        above = int(np.count_nonzero(column > at.numerator // at.denominator))
        equal = int(np.count_nonzero(column == at.numerator)) if at.denominator == 1 else 0
    else:
        above, equal = int(values.total), 0
    return ItemsRecord(n, n - equal, None, above, equal, n - above - equal)
