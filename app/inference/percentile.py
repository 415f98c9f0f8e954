"""The percentile interval of the paired bootstrap: quantiles of the bootstrap distribution itself.

Efron & Tibshirani 1993, *An Introduction to the Bootstrap*, section 13.3, with infinitely many resamples: the law of
one sum is known without resampling (`engine.bootstrap`). The upper end is the lower one of the mirror image, so
that swapping the systems mirrors the interval.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ..engine.bootstrap import monte_carlo
from ..engine.bootstrap.form import ResampleForm
from ..engine.bootstrap.quantiles import bootstrap_law, evaluations_for, law_cost
from ..engine.bootstrap.spectrum import WindowTooLongError
from ..engine.lattice import Reals
from ..engine.one_sum.monte_carlo import blocks
from ..engine.plan import Budget
from .bootstrap_test import BootstrapTest, JointBootstrap
from .confidence import IntervalResult
from .prepared import Result
from .record import ConfidenceInterval

METHOD = "bootstrap_percentile"
# The law's quantiles take a cumulative probability this close below q for q.
_TIE = 1e-12
_ENDS = 2


@dataclass(frozen=True, slots=True)
class Percentile:
    """The percentiles of one bootstrap; exact where its law fits the budget, else of its resamples."""

    test: BootstrapTest | JointBootstrap
    level: Fraction
    budget: Budget

    @property
    def seconds(self) -> float:
        """Predicted time; resamples of several sums are drawn for the p-value anyway."""
        if isinstance(self.test, JointBootstrap):
            return 0.0
        if self._fits(self.test.form):
            return _cost(self.test.form)[0] * 1e-9
        return self.test.plan.chosen.seconds

    def solve(self, result: Result) -> IntervalResult:
        """The interval of the statistic, in its units."""
        tail = (1 - self.level) / 2
        if isinstance(self.test, JointBootstrap):
            assert result.resampled is not None
            return IntervalResult(self._sampled(result.resampled, tail))
        form, unit = self.test.form, self.test.unit
        ends = _exact(form, tail) if self._fits(form) else None
        if ends is None:
            samples, seed = self.test.options.samples, self.test.options.seed
            drawn = [monte_carlo.draw_block(form, seed, block)[:size] for block, size in blocks(samples)]
            totals = form.offset + form.step * np.concatenate(drawn).astype(np.float64)
            return IntervalResult(self._sampled(totals * float(unit), tail))
        low, high = (float(end * unit) for end in ends)
        return IntervalResult(ConfidenceInterval(float(self.level), low, high, METHOD, "exact", 0.0))

    def _fits(self, form: ResampleForm) -> bool:
        operations, held = _cost(form)
        return operations <= self.budget.operations and held <= self.budget.bytes

    def _sampled(self, values: Reals, tail: Fraction) -> ConfidenceInterval:
        ordered = np.sort(values)
        rank = max(math.ceil(tail * len(ordered)), 1)
        low, high = float(ordered[rank - 1]), float(ordered[-rank])
        return ConfidenceInterval(float(self.level), low, high, METHOD, "sampled", 0.0)


def _cost(form: ResampleForm) -> tuple[int, int]:
    """Nanoseconds and bytes of the two ends."""
    return law_cost(form, evaluations_for(form, _ENDS))


def _exact(form: ResampleForm, tail: Fraction) -> tuple[int, int] | None:
    """The smallest sum x with P(S* <= x) >= tail, and the largest with P(S* >= x) >= tail."""
    if form.range == 0:
        return form.observed, form.observed
    try:
        law = bootstrap_law(form, evaluations_for(form, _ENDS))
    except WindowTooLongError:
        return None
    return law.quantile(float(tail)), law.quantile(float(1 - tail) + 2.0 * _TIE)
