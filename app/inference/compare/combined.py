"""p-values of data sets combined into one, from one-sided exact tests (Fisher 1925; Stouffer et al. 1949).

Only one-sided p-values are combined: two-sided ones have lost the direction, so that opposite differences would count as
agreement. An exact p-value is at most x with probability at most x, and both combinations grow with each p-value. So with
independent data sets the result is valid, and conservative where p-values are discrete; it is not the p-value of an exact
test. Two-sided it is twice the smaller combination, and the side is that one's, whatever the sign of the mean difference: one
data set of large numbers may outweigh all others in the mean, and not in the evidence.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import special

from ...answers.board import Combine
from ...engine.lattice import Integers, Reals
from ...engine.plan import Budget
from ...engine.probability import SMALLEST
from ...statistics.paired import StatisticSpec
from ...statistics.systems import Systems
from ..options import Options
from .exact_values import Listed
from .pair_tests import PairTests
from .pairs import PlannedPairs, plan_pairs

_LN10 = math.log(10.0)
# What the functions and sums of logarithms may be off by, relative to 1 + |log p|: some thousand roundings.
_MARGIN = 1e-11
# Differences that cancel to less than this part of their sizes count as none.
_NOTHING = 1e-12


@dataclass(frozen=True)
class CombinedPairs:
    """The pairs of an overall board, from the one-sided tests of D data sets.

    `greater` and `less` have the same pairs in the same order, each for one data set.
    """

    method: Combine
    greater: tuple[PlannedPairs, ...]
    less: tuple[PlannedPairs, ...]
    options: Options

    @property
    def seconds(self) -> float:
        """Predicted time of all pairs."""
        return sum(planned.seconds for planned in self._planned)

    @property
    def longest_seconds(self) -> float:
        """What they take at the most."""
        return sum(planned.longest_seconds for planned in self._planned)

    @property
    def methods(self) -> tuple[str, ...]:
        """How p-values are combined."""
        return (self.method,)

    @property
    def _planned(self) -> tuple[PlannedPairs, ...]:
        return {"greater": self.greater, "less": self.less}.get(
            self.options.alternative, (*self.greater, *self.less)
        )

    def solve(self, start: int = 0, stop: int | None = None) -> PairTests:
        """The tests of a slice of the pairs; raises InvalidTest and PlanTooLarge."""
        alternative = self.options.alternative
        if alternative != "two-sided":
            own = [planned.solve(start, stop) for planned in self._planned]
            return combined(own, self.method)
        above = combined([planned.solve(start, stop) for planned in self.greater], self.method)
        below = combined([planned.solve(start, stop) for planned in self.less], self.method)
        return doubled(above, below)


def combined_pairs(
    method: Combine,
    parts: Sequence[Systems],
    spec: StatisticSpec,
    options: Options,
    pairs: Integers,
    budget: Budget,
) -> CombinedPairs:
    """Plan the one-sided tests of data sets with the same systems; raises InvalidTest and PlanTooLarge."""
    above, below = (
        tuple(plan_pairs(part, spec, replace(options, alternative=side), pairs, budget) for part in parts)
        for side in ("greater", "less")
    )
    return CombinedPairs(method, above, below, options)


def combined(tests: Sequence[PairTests], method: Combine) -> PairTests:
    """The combination of the tests of D data sets, which are one-sided and to the same side."""
    first, sampled = tests[0], np.any([own.sampled for own in tests], axis=0)
    fold = _fisher if method == "fisher" else _stouffer
    log10_p, low, high, attainable = (
        fold(np.array([getattr(own, name) for own in tests]))
        for name in ("log10_p", "log10_low", "log10_high", "attainable")
    )
    difference = np.array(
        [math.fsum(each) / len(tests) for each in zip(*(own.difference for own in tests), strict=True)]
    )
    sizes = np.sum([np.abs(own.difference) for own in tests], axis=0)
    # Where lower is better, the sign is another one than that of the difference.
    turned = np.sign(np.sum([own.sign * np.sign(own.difference) for own in tests], axis=0))
    sign = np.where(np.abs(difference) * len(tests) <= _NOTHING * sizes, 0.0, np.sign(difference) * turned)
    return PairTests(
        u=first.u,
        v=first.v,
        n=_sum(tests, "n"),
        wins=_sum(tests, "wins"),
        ties=_sum(tests, "ties"),
        losses=_sum(tests, "losses"),
        difference=np.where(sign == 0.0, 0.0, difference),
        sign=sign.astype(np.int64),
        **_bounded(log10_p, low, high),
        attainable=np.minimum(attainable, 0.0),
        method=(method,) * len(first),
        exact=np.zeros(len(first), dtype=np.bool_),
        sampled=sampled,
        fraction=Listed((None,) * len(first)),
        notes=tuple(note for own in tests for note in own.notes),
    )


def doubled(above: PairTests, below: PairTests) -> PairTests:
    """The two-sided tests of `above`, to the greater side, and `below`, to the lesser: twice the smaller one, and its side.

    p is 1 where neither is smaller, beyond what rounding may do: no side could be claimed.
    """
    up = above.log10_p < below.log10_p
    none = np.abs(above.log10_p - below.log10_p) <= 2.0 * _MARGIN * (1.0 + np.abs(above.log10_p))
    highs = np.where(up, above.log10_high, below.log10_high)
    lows = np.minimum(above.log10_low, below.log10_low)
    logs = [
        np.where(none, 0.0, each + math.log10(2.0))
        for each in (np.minimum(above.log10_p, below.log10_p), lows, highs)
    ]
    least = np.minimum(np.minimum(above.attainable, below.attainable) + math.log10(2.0), 0.0)
    return replace(
        above,
        sign=np.where(none, 0, np.where(up, 1, -1)),
        **_bounded(*(np.minimum(each, 0.0) for each in logs)),
        attainable=least,
        sampled=(above.sampled | below.sampled) & ~none,
        notes=(*above.notes, *below.notes),
    )


def _sum(tests: Sequence[PairTests], name: str) -> Integers:
    return np.asarray(np.sum([getattr(own, name) for own in tests], axis=0), dtype=np.int64)


def _fisher(log10_p: Reals) -> Reals:
    """log10 P(chi2 of 2 D degrees >= -2 sum ln p), shape (m,), of logarithms of shape (D, m).

    With x = -sum ln p that is exp(-x) sum_{k < D} x^k / k!.
    """
    sets = len(log10_p)
    x = np.maximum(-log10_p.sum(axis=0) * _LN10, 0.0)
    powers = np.arange(sets)[:, None]
    terms = special.xlogy(powers, x) - special.gammaln(powers + 1.0)
    # An infinite sum of logarithms is p = 0: the lower bound of a sampled test.
    with np.errstate(invalid="ignore"):
        logs = special.logsumexp(terms, axis=0) - x
    return np.asarray(np.where(np.isinf(x), -np.inf, np.minimum(logs / _LN10, 0.0)))


def _stouffer(log10_p: Reals) -> Reals:
    """log10 P(Z >= sum z / sqrt(D)), z the normal quantiles of 1 - p; shapes as in `_fisher`."""
    z = special.ndtri_exp(np.minimum(log10_p * _LN10, 0.0))
    # One p-value of 1 is an infinite z: no evidence is stronger.
    certain = np.any(np.isposinf(z), axis=0)
    with np.errstate(invalid="ignore"):
        logs = special.log_ndtr(z.sum(axis=0) / math.sqrt(len(z))) / _LN10
    return np.asarray(np.where(certain, 0.0, logs))


def _bounded(log10_p: Reals, low: Reals, high: Reals) -> dict[str, Any]:
    """p-values and bounds, widened by what the logarithms may be off."""
    with np.errstate(invalid="ignore"):
        bottom = np.where(np.isneginf(low), -np.inf, low - _MARGIN * (1.0 + np.abs(low)))
    top = np.minimum(high + _MARGIN * (1.0 + np.abs(high)), 0.0)
    middle = np.clip(log10_p, bottom, top)
    with np.errstate(under="ignore"):
        p, least, most = (np.power(10.0, logs) for logs in (middle, bottom, top))
    least = np.where(least > 0.0, np.nextafter(least * (1.0 - _MARGIN), 0.0), 0.0)
    most = np.where(top == 0.0, 1.0, np.minimum(np.nextafter(most * (1.0 + _MARGIN), 1.0), 1.0))
    p = np.clip(np.maximum(p, SMALLEST), least, np.maximum(most, SMALLEST))
    return {
        "p": p,
        "p_low": least,
        "p_high": np.maximum(most, SMALLEST),
        "log10_p": middle,
        "log10_low": bottom,
        "log10_high": top,
    }
