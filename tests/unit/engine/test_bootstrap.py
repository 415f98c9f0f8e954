"""The bootstrap: the exact law is the full enumeration's, and resampling agrees with it."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import flint
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.typing import NDArray

from exactperm.engine.bootstrap import law as bootstrap, monte_carlo, quantiles
from exactperm.engine.bootstrap.form import resample_form, shifted_null, with_room
from exactperm.engine.bootstrap.law import IMPOSSIBLE
from exactperm.engine.bootstrap.quantiles import bootstrap_law
from exactperm.engine.bootstrap.spectrum import WindowTooLongError
from exactperm.engine.lattice import LatticeOverflowError
from exactperm.engine.probability import Alternative, Probability
from tests.unit.engine.cases import ALTERNATIVES
from tests.unit.engine.exact_null import miss

SAMPLES = 10**6


def extreme(total: int, observed: int, alternative: Alternative) -> bool:
    """The definition of the shifted null."""
    moved = total - observed
    return {"greater": moved >= observed, "less": moved <= observed}.get(
        alternative, abs(moved) >= abs(observed)
    )


def enumerated(units: list[int], alternative: Alternative) -> Fraction:
    """All N**N resamples."""
    hits = sum(
        extreme(sum(drawn), sum(units), alternative) for drawn in itertools.product(units, repeat=len(units))
    )
    return Fraction(hits, len(units) ** len(units))


def law_of(units: list[int]) -> dict[int, int]:
    """Every resampled sum and in how many of the N**N ways it comes: a power of a polynomial."""
    low = min(units)
    single = [0] * (max(units) - low + 1)
    for unit in units:
        single[unit - low] += 1
    power = flint.fmpz_poly(single) ** len(units)
    return {k + low * len(units): int(power[k]) for k in range(power.degree() + 1) if power[k] != 0}


def expanded(units: list[int], alternative: Alternative) -> Fraction:
    hits = sum(ways for total, ways in law_of(units).items() if extreme(total, sum(units), alternative))
    return Fraction(hits, len(units) ** len(units))


def solved(units: list[int] | NDArray[np.int64], alternative: Alternative) -> Probability:
    form = resample_form(np.asarray(units, dtype=np.int64))
    return bootstrap.probability(form, shifted_null(form, alternative))


def check(p: Probability, truth: Fraction, within: float = 1e-11) -> None:
    if truth == 0:
        assert p == IMPOSSIBLE
        return
    off = miss(p, truth).relative
    assert off <= p.relative_error_bound + 2.0**-52 * (2.0 + abs(p.log_p))
    assert p.relative_error_bound <= within


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(st.lists(st.integers(-9, 9), min_size=1, max_size=5), st.sampled_from(ALTERNATIVES))
def test_the_exact_law_equals_full_enumeration(units: list[int], alternative: Alternative) -> None:
    truth = enumerated(units, alternative)
    assert truth == expanded(units, alternative)
    check(solved(units, alternative), truth)


@pytest.mark.parametrize("units", [[1, 2, 3, 4, 5, 6], [-5, 0, 0, 3, 11, 2], [7, 7, 7, -1, -1, 100]])
def test_six_units_equal_all_46656_resamples(units: list[int]) -> None:
    for alternative in ALTERNATIVES:
        check(solved(units, alternative), enumerated(units, alternative))


@settings(max_examples=120, deadline=None)
@given(
    st.lists(st.one_of(st.integers(-3, 5), st.integers(-60, 60)), min_size=2, max_size=60),
    st.sampled_from([1, 7, 1000]),
    st.sampled_from(ALTERNATIVES),
)
def test_more_units_equal_the_power_of_a_polynomial(
    units: list[int], unit: int, alternative: Alternative
) -> None:
    check(solved([unit * x for x in units], alternative), expanded(units, alternative))


def test_small_p_values_keep_relative_accuracy() -> None:
    rng = np.random.default_rng(1)
    units = rng.choice([-1, 0, 1, 2], 300, p=[0.05, 0.45, 0.3, 0.2]).tolist()
    truth = expanded(units, "two-sided")
    assert truth < Fraction(1, 10**20)
    check(solved(units, "two-sided"), truth, within=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_a_million_resamples_stay_within_five_standard_errors(seed: int) -> None:
    rng = np.random.default_rng(seed)
    units = (rng.integers(-3, 4, 40), rng.integers(-50, 60, 25), rng.choice([-1, 0, 1], 500))[seed % 3]
    form = resample_form(units)
    wanted = shifted_null(form, ALTERNATIVES[seed % 3])
    exact = bootstrap.probability(form, wanted).p
    sampled = monte_carlo.estimate(form, wanted, samples=SAMPLES, seed=seed)
    assert sampled.p == (sampled.exceedances + 1) / (SAMPLES + 1)
    assert abs(sampled.exceedances / SAMPLES - exact) <= 5.0 * math.sqrt(exact * (1.0 - exact) / SAMPLES)


def test_single_draws_and_multinomial_counts_are_the_same_law(monkeypatch: pytest.MonkeyPatch) -> None:
    form = resample_form(np.array([0] * 30 + [1] * 20 + [5] * 10))
    low = [monte_carlo.draw_block(form, 3, block) for block in range(20)]
    monkeypatch.setattr(monte_carlo, "_DRAWS_PER_GROUP", 10**9)
    high = [monte_carlo.draw_block(form, 3, block) for block in range(20)]
    sums = np.array([np.concatenate(part) for part in (low, high)], dtype=np.float64)
    assert not (sums[0] == sums[1]).all()
    variance = form.draws * float(
        np.dot(form.probabilities, (form.values - form.mean_total / form.draws) ** 2)
    )
    for part in sums:
        assert abs(part.mean() - form.mean_total) < 5.0 * math.sqrt(variance / part.size)
        assert part.var() == pytest.approx(variance, rel=0.05)


def test_the_answer_depends_on_the_seed_and_not_on_the_number_of_blocks() -> None:
    form = resample_form(np.arange(-20, 30))
    blocks = [monte_carlo.draw_block(form, 5, block) for block in (1, 0)]
    again = monte_carlo.draw_block(form, 5, 1)
    assert (blocks[0] == again).all()
    assert not (blocks[0] == blocks[1]).all()
    weights = [np.concatenate(list(monte_carlo.resampled(700, n, 5))) for n in (1000, 3000)]
    assert (weights[0] == weights[1][:1000]).all()


def test_weights_are_multinomial_and_resample_several_sums_at_once() -> None:
    rng = np.random.default_rng(2)
    units = rng.integers(-4, 6, 30)
    form = resample_form(units)
    observed = int(units.sum())
    rows = np.concatenate(list(monte_carlo.resampled(30, 5000, 1)))
    assert rows.shape == (5000, 30)
    assert (rows.sum(axis=1) == 30).all()
    assert rows.mean(axis=0) == pytest.approx(np.ones(30), abs=5.0 * math.sqrt(30 * (1 / 30) / 5000))
    estimate = monte_carlo.estimate_any(
        30, lambda weights: weights @ units - observed >= observed, samples=40_000, seed=1
    )
    exact = bootstrap.probability(form, shifted_null(form, "greater")).p
    assert abs(estimate.exceedances / 40_000 - exact) < 5.0 * math.sqrt(exact / 40_000)


@pytest.fixture(params=["by two transforms", "by contraction"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways to the law; the planner of either is left aside."""
    if request.param == "by contraction":
        monkeypatch.setattr(quantiles, "_MOST_DRAWS", 0)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("q", [0.001, 0.025, 0.1, 0.5, 0.9, 0.975, 0.999])
def test_quantiles_are_those_of_the_full_law(q: float) -> None:
    rng = np.random.default_rng(3)
    for units in (
        rng.integers(-9, 10, 6),
        rng.integers(0, 3, 40) * 10,
        np.array([2, 2, 2]),
        rng.integers(-80, 99, 50),
    ):
        below, wanted = 0, Fraction(q) * len(units) ** len(units)
        for total, ways in sorted(law_of(units.tolist()).items()):
            below += ways
            if below >= wanted:
                assert bootstrap_law(resample_form(units), 1000).quantile(q) == total
                break


@pytest.mark.usefixtures("way")
def test_the_cumulative_law_is_the_full_one() -> None:
    units = [-3, 0, 0, 4, 4, 9, -7, 1]
    law, below = bootstrap_law(resample_form(np.array(units)), 1000), 0
    for total, ways in sorted(law_of(units).items()):
        below += ways
        at = total + 7 * len(units)
        assert law.cumulative(at) == pytest.approx(below / 8**8, abs=1e-12)
    assert law.cumulative(-1) == 0.0


def test_without_spread_no_resample_is_far_out_unless_the_sum_is_zero() -> None:
    assert solved([5, 5, 5], "two-sided") == IMPOSSIBLE
    assert solved([5, 5, 5], "greater") == IMPOSSIBLE
    assert solved([5, 5, 5], "less").log_p == 0.0
    assert solved([0, 0, 0], "two-sided").log_p == 0.0
    assert solved([3], "less").log_p == 0.0
    assert solved([1, -1], "two-sided").log_p == 0.0


def test_the_systems_swapped_mirror_the_tails() -> None:
    units = np.random.default_rng(4).integers(-20, 30, 80)
    assert solved(units, "greater").log_p == pytest.approx(solved(-units, "less").log_p, abs=1e-12)
    assert solved(units, "two-sided").log_p == pytest.approx(solved(-units, "two-sided").log_p, abs=1e-12)
    assert solved(units * 12, "two-sided") == solved(units, "two-sided")


def test_an_outlier_stretches_the_window_and_not_the_error() -> None:
    units = [*np.random.default_rng(5).integers(-2, 4, 40).tolist(), 900]
    for alternative in ALTERNATIVES:
        check(solved(units, alternative), expanded(units, alternative), within=1e-10)


def test_effects_that_overflow_are_refused() -> None:
    with pytest.raises(LatticeOverflowError):
        resample_form(np.array([2**60, 0, 1]))


@pytest.mark.parametrize("units", [[2**40, 1, 0], [2**28 + 1, -(2**28), 1, 0]])
def test_lattices_too_fine_for_a_transform_are_refused_before_memory_is_taken(units: list[int]) -> None:
    fine = resample_form(np.array(units))
    with pytest.raises(WindowTooLongError):
        bootstrap.probability(fine, shifted_null(fine, "two-sided"))
    assert bootstrap.cost(fine)[1] > 1 << 30


def test_the_cost_is_predicted_in_integers_and_grows_with_the_window() -> None:
    rng = np.random.default_rng(6)
    costs = [
        bootstrap.cost(resample_form(rng.integers(-size, size + 1, 1000))) for size in (1, 100, 10_000, 10**6)
    ]
    assert all(isinstance(part, int) for pair in costs for part in pair)
    assert costs == sorted(costs)
    assert costs[-1][0] > 20 * costs[0][0]


@given(st.lists(st.integers(-(2**59), 2**59), min_size=1, max_size=60))
def test_effects_are_rounded_only_as_far_as_resamples_need_the_room(units: list[int]) -> None:
    column = np.array(units, dtype=np.int64)
    coarse, bits = with_room(column)
    resample_form(coarse)  # does not overflow
    assert all(
        abs(unit - (int(one) << bits)) * 2 <= 1 << bits for unit, one in zip(units, coarse, strict=True)
    )
    spread = max(*units, 0) - min(*units, 0)
    assert bits == 0 or (spread * len(units)) >> (bits - 1) >= 2**59
    mirrored, same = with_room(-column)
    assert same == bits
    assert (mirrored == -coarse).all()
