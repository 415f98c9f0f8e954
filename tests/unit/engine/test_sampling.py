"""Sampled swaps, their control variates, the bootstrap, and e-values."""

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

import flint
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.typing import NDArray
from scipy import stats

from exactperm.engine.bootstrap import law as bootstrap, monte_carlo as bootstrap_monte_carlo, quantiles
from exactperm.engine.bootstrap.form import resample_form, shifted_null, with_room
from exactperm.engine.bootstrap.law import IMPOSSIBLE, WindowTooLongError
from exactperm.engine.bootstrap.quantiles import bootstrap_law
from exactperm.engine.e_value import GRID, EValue, e_value, reaches
from exactperm.engine.joint import methods, monte_carlo as joint_monte_carlo
from exactperm.engine.joint.control import ControlledEstimate, tail_of
from exactperm.engine.joint.form import JointForm, joint_form
from exactperm.engine.lattice import CanonicalForm, Integers, LatticeOverflowError, canonical_form
from exactperm.engine.one_sum import methods as one_sum, monte_carlo
from exactperm.engine.one_sum.monte_carlo import (
    COUNTED_BITS,
    SAMPLES_PER_BLOCK,
    Estimate,
    draw_block,
    estimate,
)
from exactperm.engine.probability import Alternative, Probability

from .cases import ALTERNATIVES, cases, posed
from .exact_null import Case, exact_p, miss

# Sampled swaps: the estimate, its interval, the law that is sampled, and that a seed fixes all of it.


def form_of(weights: Sequence[int]) -> CanonicalForm:
    return canonical_form(np.zeros(len(weights), dtype=np.int64), np.array(weights, dtype=np.int64))


@given(cases(max_items=12), st.integers(1, 3 * SAMPLES_PER_BLOCK), st.integers(0, 2**64 - 1))
@settings(max_examples=60)
def test_p_counts_the_observed_assignment_among_the_samples(case: Case, samples: int, seed: int) -> None:
    form, tail = posed(case)
    result = estimate(form, tail, samples=samples, seed=seed)
    drawn = np.concatenate([draw_block(form, seed, block) for block in range(3)])[:samples]
    extreme = sum(
        case.extreme(form.offset + form.step * int(t)) * n for t, n in Counter(drawn.tolist()).items()
    )
    assert (result.samples, result.seed, result.exceedances) == (samples, seed, extreme)
    assert result.p == (extreme + 1) / (samples + 1)
    assert 0.0 < result.p <= 1.0


def test_blocks_may_be_drawn_in_any_order_and_any_share_of_them() -> None:
    form = form_of([1, 2, 2, 7] * 40)
    once = [draw_block(form, 5, block).tolist() for block in range(4)]
    assert [draw_block(form, 5, block).tolist() for block in (3, 0, 2, 1)] == [once[b] for b in (3, 0, 2, 1)]


@pytest.mark.parametrize(
    "samples", [1, SAMPLES_PER_BLOCK - 1, SAMPLES_PER_BLOCK, SAMPLES_PER_BLOCK + 1, 20_000]
)
def test_more_samples_only_add_to_the_first_ones(samples: int) -> None:
    form, tail = posed(Case((1, 2, 2, -1, 3) * 5))
    drawn = np.concatenate([draw_block(form, 11, block) for block in range(5)])[:samples]
    inside = sum(int(((drawn >= low) & (drawn <= high)).sum()) for low, high in tail.intervals)
    assert estimate(form, tail, samples=samples, seed=11).exceedances == inside
    assert sum(size for _, size in monte_carlo.blocks(samples)) == samples


def test_the_same_seed_repeats_and_another_seed_or_block_does_not() -> None:
    form = form_of([1, 3, 9, 27] * 30)
    first = draw_block(form, 1, 0)
    assert first.tolist() == draw_block(form, 1, 0).tolist()
    others = [
        draw_block(form, 2, 0),
        draw_block(form, 1, 1),
        draw_block(form, 0, 0),
        draw_block(form, 2**64 - 1, 0),
    ]
    drawn = [first, *others]
    for index, one in enumerate(drawn):
        for other in drawn[index + 1 :]:
            assert one.tolist() != other.tolist()
            # 4,096 pairs: independent draws correlate by about 1/64.
            assert abs(np.corrcoef(one, other)[0, 1]) < 5 / math.sqrt(SAMPLES_PER_BLOCK)


@pytest.mark.parametrize(
    ("exceedances", "samples"), [(0, 1), (1, 1), (0, 999), (999, 999), (7, 20_000), (500, 1000)]
)
@pytest.mark.parametrize("confidence", [0.9, 0.99, 0.999])
def test_the_interval_is_clopper_and_pearsons(exceedances: int, samples: int, confidence: float) -> None:
    low, high = Estimate(samples, 0, exceedances).interval(confidence)
    expected = stats.binomtest(exceedances, samples).proportion_ci(confidence, method="exact")
    # SciPy looks for the roots to 2e-12; the definition, on the ends themselves, is sharper.
    assert (low, high) == pytest.approx((expected.low, expected.high), abs=1e-11)
    if exceedances > 0:
        assert stats.binom.sf(exceedances - 1, samples, low) == pytest.approx((1 - confidence) / 2, rel=1e-9)
    if exceedances < samples:
        assert stats.binom.cdf(exceedances, samples, high) == pytest.approx((1 - confidence) / 2, rel=1e-9)


def test_the_standard_error_is_that_of_a_proportion() -> None:
    result = Estimate(9999, 0, 2499)
    assert result.p == 0.25
    assert result.standard_error == pytest.approx(math.sqrt(0.25 * 0.75 / 9999), rel=1e-15)


# Counts around the 64 bits of a word, and over the limit beyond which a binomial sampler takes over.
MIXTURES = [[1] * 5, [1] * 63, [1] * 64, [1] * 65, [1] * 200, [1, 1, 2, 5, 5, 5, 9], [1] * (COUNTED_BITS + 1)]


@pytest.mark.parametrize("weights", MIXTURES, ids=lambda weights: f"{len(weights)} of {sorted(set(weights))}")
def test_samples_follow_the_exact_law(weights: list[int]) -> None:
    form = form_of(weights)
    drawn = np.concatenate([draw_block(form, 2024, block) for block in range(10)])
    pmf = np.ones(1)
    for weight in weights:
        pmf = (np.pad(pmf, (0, weight)) + np.pad(pmf, (weight, 0))) / 2.0
    assert chi_square_p(np.bincount(drawn, minlength=len(pmf)), pmf) > 1e-3


@pytest.mark.parametrize("counts", [(3, 3), (40, 40), (63, 5), (1, 1), (70, 50)])
def test_groups_that_share_random_words_are_independent(counts: tuple[int, int]) -> None:
    """With weights 1 and 1,000 one total tells both groups' heads."""
    form = form_of([1] * counts[0] + [1000] * counts[1])
    drawn = np.concatenate([draw_block(form, 7, block) for block in range(10)])
    light, heavy = drawn % 1000, drawn // 1000
    laws = [stats.binom(count, 0.5).pmf(np.arange(count + 1)) for count in counts]
    joint = np.outer(*laws).ravel()
    observed = np.bincount(light * (counts[1] + 1) + heavy, minlength=len(joint))
    assert chi_square_p(observed, joint) > 1e-3


def chi_square_p(
    observed: np.ndarray[tuple[int], np.dtype[np.int64]], pmf: np.ndarray[tuple[int], np.dtype[np.float64]]
) -> float:
    """Pearson's test; cells of fewer than five expected are put together."""
    expected = pmf * observed.sum()
    large = expected >= 5.0
    seen = [*observed[large], observed[~large].sum()]
    wanted = [*expected[large], expected[~large].sum()]
    if wanted[-1] < 5.0:
        last_seen, last_wanted = seen.pop(), wanted.pop()
        seen[0], wanted[0] = seen[0] + last_seen, wanted[0] + last_wanted
    return float(stats.chisquare(seen, wanted).pvalue)


@pytest.mark.parametrize("stay", [(1, 1, 1, 1, -1, 1, 1), (3, -1, 2, 2, 5, -4, 1, 1), (1,) * 7])
def test_the_interval_covers_the_exact_p_as_often_as_it_says(stay: tuple[int, ...]) -> None:
    case = Case(stay)
    form, tail = posed(case)
    truth = float(exact_p(case))
    result = [estimate(form, tail, samples=1000, seed=seed) for seed in range(400)]
    covered = sum(low <= truth <= high for low, high in (one.interval() for one in result))
    # At 99 % at least 387 of 400 but once in 10,000 runs, and these runs are always the same.
    assert covered >= 387
    mean = sum(one.exceedances for one in result) / sum(one.samples for one in result)
    assert abs(mean - truth) < 4.0 * math.sqrt(truth * (1.0 - truth) / 400_000)


# A control variate of sampled swaps: the same samples, an interval that holds whatever the control is.


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
    plain = np.concatenate(list(joint_monte_carlo.draws(form, 5_000, 3)))
    pairs = list(joint_monte_carlo.draws_with_control(form, form.table @ weights, 5_000, 3))
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
    control = tail.known(one_sum.exact_probability("fft", tail.line, tail.region))
    moved = np.concatenate([m for _, m in joint_monte_carlo.draws_with_control(form, effects, 40_000, 5)])
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
    """Effects unrelated to the statistic: intervals are wider, not wrong."""
    form = drawn(11, 2)
    truth = methods.exact_probability("enumeration", form, lambda sums: far(form, sums)).p
    draw = np.random.default_rng(4)
    missed = 0
    for seed in range(200):
        tail = tail_of(form, draw.integers(-50, 50, len(form.counts)), 0, "two-sided")
        control = tail.known(one_sum.exact_probability("enumeration", tail.line, tail.region))
        found, _ = methods.controlled_probability(
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


# The bootstrap: the exact law is the full enumeration's, and resampling agrees with it.


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
    sampled = bootstrap_monte_carlo.estimate(form, wanted, samples=SAMPLES, seed=seed)
    assert sampled.p == (sampled.exceedances + 1) / (SAMPLES + 1)
    assert abs(sampled.exceedances / SAMPLES - exact) <= 5.0 * math.sqrt(exact * (1.0 - exact) / SAMPLES)


def test_single_draws_and_multinomial_counts_are_the_same_law(monkeypatch: pytest.MonkeyPatch) -> None:
    form = resample_form(np.array([0] * 30 + [1] * 20 + [5] * 10))
    low = [bootstrap_monte_carlo.draw_block(form, 3, block) for block in range(20)]
    monkeypatch.setattr(bootstrap_monte_carlo, "_DRAWS_PER_GROUP", 10**9)
    high = [bootstrap_monte_carlo.draw_block(form, 3, block) for block in range(20)]
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
    blocks = [bootstrap_monte_carlo.draw_block(form, 5, block) for block in (1, 0)]
    again = bootstrap_monte_carlo.draw_block(form, 5, 1)
    assert (blocks[0] == again).all()
    assert not (blocks[0] == blocks[1]).all()
    weights = [np.concatenate(list(bootstrap_monte_carlo.resampled(700, n, 5))) for n in (1000, 3000)]
    assert (weights[0] == weights[1][:1000]).all()


def test_weights_are_multinomial_and_resample_several_sums_at_once() -> None:
    rng = np.random.default_rng(2)
    units = rng.integers(-4, 6, 30)
    form = resample_form(units)
    observed = int(units.sum())
    rows = np.concatenate(list(bootstrap_monte_carlo.resampled(30, 5000, 1)))
    assert rows.shape == (5000, 30)
    assert (rows.sum(axis=1) == 30).all()
    assert rows.mean(axis=0) == pytest.approx(np.ones(30), abs=5.0 * math.sqrt(30 * (1 / 30) / 5000))
    estimate = bootstrap_monte_carlo.estimate_any(
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


# E-values: their mean over all flips is one, and no stream of nulls crosses 1 / alpha too often.


E_ALTERNATIVES: tuple[Alternative, ...] = ("two-sided", "greater", "less")


def _e(
    differences: np.ndarray[tuple[int], np.dtype[np.int64]], unit: Fraction, alternative: Alternative
) -> EValue:
    return e_value(canonical_form(differences), int(differences.sum()), unit, alternative)


@pytest.mark.parametrize(("wins", "losses", "expected"), [(10, 2, 2.7033072), (25, 10, 3.2461518)])
def test_wins_and_losses(wins: int, losses: int, expected: float) -> None:
    found = _e(np.array([1] * wins + [-1] * losses), Fraction(1), "two-sided")
    assert found.value == pytest.approx(expected, abs=5e-8)


@pytest.mark.parametrize("alternative", E_ALTERNATIVES)
@pytest.mark.parametrize("seed", range(4))
def test_the_mean_over_all_flips_is_one(seed: int, alternative: Alternative) -> None:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(0, 10, size=9)
    unit = Fraction(1, int(rng.integers(1, 12)))
    values = [
        _e(np.array(signs) * sizes, unit, alternative).value for signs in itertools.product((1, -1), repeat=9)
    ]
    finite = [value for value in values if value is not None]
    assert len(finite) == 2**9
    assert math.fsum(finite) / 2**9 == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("alternative", E_ALTERNATIVES)
def test_it_is_the_definition(alternative: Alternative) -> None:
    differences = np.array([5, -3, 2, 2, 7, 0, -1, 4])
    values = 0.0
    for tilt in GRID:
        up, down = (math.exp(sign * tilt * differences.sum() / 7) for sign in (1, -1))
        product = math.prod(math.cosh(tilt * d / 7) for d in differences.tolist())
        values += {"greater": up, "less": down, "two-sided": (up + down) / 2}[alternative] / product
    assert _e(differences, Fraction(1, 7), alternative).value == pytest.approx(values / len(GRID), rel=1e-13)


def test_order_does_not_matter_and_beyond_doubles_there_is_a_logarithm() -> None:
    rng = np.random.default_rng(0)
    differences = rng.integers(-(10**6), 10**6, size=3_000)
    found = _e(differences, Fraction(1, 10**6), "greater")
    assert found == _e(rng.permutation(differences), Fraction(1, 10**6), "greater")
    huge = _e(np.ones(5_000, dtype=np.int64), Fraction(1), "greater")
    assert huge.value is None
    # Every sign up: the largest tilt has nearly all of it, 2**n / (1 + exp(-4))**n / 17.
    expected = 5_000 * (math.log(2.0) - math.log1p(math.exp(-4.0))) - math.log(17.0)
    assert huge.log_e == pytest.approx(expected, rel=1e-9)


def test_whether_it_reaches_a_level_is_decided_where_doubles_cannot_tell() -> None:
    differences = np.array([1] * 10 + [-1] * 2)
    form, observed = canonical_form(differences), 8
    found = e_value(form, observed, Fraction(1), "two-sided")
    near = Fraction(math.exp(-found.log_e))
    step = Fraction(1, 10**17)
    decided = [
        reaches(form, observed, Fraction(1), "two-sided", level=near + k * step) for k in range(-200, 201, 20)
    ]
    # A larger level is reached sooner; somewhere among doubles' neighbours it turns, once.
    assert decided == sorted(decided)
    assert decided[0] is False
    assert decided[-1] is True


def test_equal_systems_give_no_evidence() -> None:
    assert _e(np.zeros(5, dtype=np.int64), Fraction(1), "two-sided").value == 1.0
    form = canonical_form(np.zeros(5, dtype=np.int64))
    assert reaches(form, 0, Fraction(1), "two-sided", level=Fraction(1))
