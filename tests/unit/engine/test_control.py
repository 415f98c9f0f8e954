"""A control variate of sampled swaps: the same samples, an interval that holds whatever the control is."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from exactperm.engine import methods as one_sum
from exactperm.engine.joint import methods, monte_carlo
from exactperm.engine.joint.control import ControlledEstimate, tail_of
from exactperm.engine.joint.form import JointForm, joint_form
from exactperm.engine.lattice import Integers
from exactperm.engine.one_sum.monte_carlo import Estimate
from exactperm.engine.probability import Alternative, Probability


def drawn(units: int, seed: int, size: int = 9) -> JointForm:
    draw = np.random.default_rng(seed)
    return joint_form(draw.integers(-size, size, (units, 3)), draw.integers(-size, size, (units, 3)))


def far(form: JointForm, sums: Sequence[Integers]) -> NDArray[np.bool_]:
    """A tail with bends: |a b - c| at least as observed."""
    start = form.states(form.observed[None, :])[0]
    return np.asarray(np.abs(sums[0] * sums[1] - sums[2]) >= abs(start[0] * start[1] - start[2]))


@pytest.mark.parametrize(("units", "size"), [(12, 9), (300, 9), (300, 2)])
def test_the_samples_are_the_same_and_what_moves_beside_them_is_linear(units: int, size: int) -> None:
    form = drawn(units, units, size)
    weights = np.arange(1, form.table.shape[1] + 1)
    plain = np.concatenate(list(monte_carlo.draws(form, 5_000, 3)))
    pairs = list(monte_carlo.draws_beside(form, form.table @ weights, 5_000, 3))
    states, moved = (np.concatenate([pair[k] for pair in pairs]) for k in range(2))
    assert np.array_equal(states, plain)
    distinct = np.zeros((5_000, form.table.shape[1]), dtype=np.int64)
    distinct[:, form.index] = (states - form.origin) * form.sign
    assert np.array_equal(moved, distinct @ weights)


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
@pytest.mark.parametrize("shift", [0, 1001])
def test_the_tail_of_the_control_has_the_probability_that_its_samples_show(
    alternative: Alternative, shift: int
) -> None:
    form = drawn(40, 8)
    effects = np.random.default_rng(1).integers(-500, 500, len(form.counts))
    tail = tail_of(form, effects, shift, alternative)
    control = tail.known(one_sum.exactly("fft", tail.line, tail.region))
    moved = np.concatenate([m for _, m in monte_carlo.draws_beside(form, effects, 40_000, 5)])
    observed = shift + int((effects * (2 * form.heads - form.counts)).sum())
    totals = shift - int((effects * form.counts).sum()) + 2 * moved
    beyond = {
        "two-sided": np.abs(totals) >= abs(observed),
        "greater": totals >= observed,
        "less": totals <= observed,
    }[alternative]
    assert np.array_equal(control.inside(moved), beyond)
    low, high = Estimate(40_000, 5, int(beyond.sum())).interval(0.9999)
    assert low <= control.tail.p <= high


def test_any_control_gives_an_interval_that_holds() -> None:
    """Effects that have nothing to do with the statistic: wider, not wrong."""
    form = drawn(11, 2)
    truth = methods.exactly("enumeration", form, lambda sums: far(form, sums)).p
    draw = np.random.default_rng(4)
    missed = 0
    for seed in range(200):
        tail = tail_of(form, draw.integers(-50, 50, len(form.counts)), 0, "two-sided")
        control = tail.known(one_sum.exactly("enumeration", tail.line, tail.region))
        found, _ = methods.by_controlled_sampling(
            form,
            lambda sums: far(form, sums),
            control,
            samples=300,
            seed=seed,
            values=lambda sums: np.zeros(len(sums[0])),
        )
        low, high = found.interval()
        missed += not low <= truth <= high
        assert 0.0 <= low <= high <= 1.0
    assert missed <= stats.binom.ppf(0.9999, 200, 0.01)


def test_the_interval_is_that_of_both_counts() -> None:
    plain = Estimate(1_000, 0, 50)
    found = ControlledEstimate(plain, Probability(math.log(0.06), 0.0), gained=3, lost=12)
    assert found.raw == pytest.approx(0.06 - 0.009)
    gained, lost = (stats.binomtest(count, 1_000).proportion_ci(0.995, method="exact") for count in (3, 12))
    assert found.interval() == pytest.approx((0.06 - lost.high + gained.low, 0.06 - lost.low + gained.high))


def test_no_more_is_lost_than_the_control_has() -> None:
    plain = Estimate(1_000, 0, 0)
    small = ControlledEstimate(plain, Probability(math.log(1e-5), 0.0), gained=0, lost=1)
    assert small.raw < 0.0
    assert small.interval()[0] == 0.0
    large = ControlledEstimate(plain, Probability(math.log(1.0 - 1e-9), 0.0), gained=1, lost=0)
    assert large.raw > 1.0
    assert large.interval()[1] <= 1.0
    nothing = ControlledEstimate(plain, Probability(-2000.0, 0.0), gained=0, lost=0)
    assert nothing.interval()[0] == 0.0
