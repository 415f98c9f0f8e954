"""Confidence intervals of answers, and the bootstrap."""

import itertools
import math
import random
import tracemalloc
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import flint
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats

from exactperm.answers.test import Alternative, ConfidenceInterval, TestRecord
from exactperm.engine.bootstrap.form import resample_form
from exactperm.engine.bootstrap.law import cost
from exactperm.engine.bootstrap.quantiles import bootstrap_law, evaluations_for, law_cost
from exactperm.engine.plan import Budget
from exactperm.inference.intervals import contains_zero
from exactperm.inference.options import Options, PmfDetail
from exactperm.inference.paired import finish, prepare, run_test
from exactperm.statistics.paired import Counts, Effects, Paired, Predictions, Scores, StatisticSpec
from tests.refusals import refused

from .run_shorthands import clusters, column, effects, score

CODES = ("interval_not_available", "interval_disagrees")


def codes(record: TestRecord) -> list[str]:
    return [warning.code for warning in record.warnings if warning.code in CODES]


def interval(record: TestRecord) -> ConfidenceInterval:
    assert record.confidence_interval is not None
    return record.confidence_interval


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["stars", "tenths", "doubles"])
@given(data=st.data())
@settings(max_examples=60)
def test_0_is_inside_exactly_when_p_is_above(kind: str, data: st.DataObject) -> None:
    n = data.draw(st.one_of(st.integers(1, 14), st.sampled_from([30, 60, 120, 1500])))
    seed = data.draw(st.integers(0, 10**6))
    level = data.draw(st.sampled_from([0.95, 0.9, 0.5, 0.75, 0.99]))
    generator = np.random.default_rng(seed)
    moved = data.draw(st.sampled_from([0.0, 0.1, 0.3]))
    u: list[Any]
    v: list[Any]
    if kind == "doubles":
        u, v = (generator.random(n) + moved).tolist(), generator.random(n).tolist()
    else:
        u = (generator.integers(0, 6, n) + round(3 * moved)).tolist()
        v = generator.integers(0, 6, n).tolist()
    if kind == "tenths":
        u, v = [tenths / 10 for tenths in u], [tenths / 10 for tenths in v]
    key = data.draw(st.sampled_from([None, 1, 2]))
    groups = None if key is None else [place // key for place in range(n)]
    record = score(u, v, codes=groups, confidence_level=level)
    assert codes(record) == []
    assert contains_zero(interval(record)) == (Fraction(record.p_value) > 1 - Fraction(repr(level)))


def test_the_handout_has_an_interval_of_its_five_differences() -> None:
    record = score([0.85, 0.90, 0.78, 0.92, 0.88], [0.80, 0.85, 0.75, 0.88, 0.82], confidence_level=0.9)
    # Of 31 means of subsets of .05 .05 .03 .04 .06, one lies outside on each side: p < 0.1 takes 3 of 32.
    assert interval(record) == ConfidenceInterval(0.9, 0.03, 0.06, "test_inversion", "exact", 0.0)
    wide = score([0.85, 0.90, 0.78, 0.92, 0.88], [0.80, 0.85, 0.75, 0.88, 0.82], confidence_level=0.95)
    assert interval(wide) == ConfidenceInterval(0.95, None, None, "test_inversion", "exact", 0.0)


def test_a_sum_has_the_ends_of_the_mean_times_the_items() -> None:
    u, v = [5, 3, 4, 4, 2, 5, 3, 1, 4], [4, 3, 2, 4, 1, 2, 3, 2, 1]
    mean: Any = interval(score(u, v, confidence_level=0.95))
    total = interval(score(u, v, "sum_difference", confidence_level=0.95))
    assert total.low is not None
    assert total.high is not None
    assert (total.low, total.high) == pytest.approx((9 * mean.low, 9 * mean.high))


def test_the_interval_is_two_sided_for_any_alternative() -> None:
    generator = np.random.default_rng(1)
    u, v = generator.random(50).round(2).tolist(), generator.random(50).round(2).tolist()
    found = [
        interval(score(u, v, alternative=side, confidence_level=0.95))
        for side in ("two-sided", "greater", "less")
    ]
    assert found[0] == found[1] == found[2]


def test_swapping_the_systems_mirrors_the_interval_and_shifting_moves_it() -> None:
    generator = np.random.default_rng(4)
    u, v = generator.integers(0, 9, 40), generator.integers(0, 9, 40)
    here: Any = interval(score(u.tolist(), v.tolist(), confidence_level=0.95))
    swapped = interval(score(v.tolist(), u.tolist(), confidence_level=0.95))
    moved = interval(score((u + 2).tolist(), v.tolist(), confidence_level=0.95))
    assert (swapped.low, swapped.high) == (-here.high, -here.low)
    assert (moved.low, moved.high) == pytest.approx((here.low + 2, here.high + 2), abs=1e-12)


def test_tokens_share_a_shift_by_the_length_of_their_sentence() -> None:
    generator = np.random.default_rng(6)
    gold = [["a"] * int(k) for k in generator.integers(1, 9, 30)]
    u = [["a" if generator.random() < 0.9 else "b" for _ in item] for item in gold]
    v = [["a" if generator.random() < 0.6 else "b" for _ in item] for item in gold]
    data, spec = Predictions(gold, u, v), StatisticSpec("token_accuracy")
    record = run_test(data, spec, Options(confidence_level=0.95), Budget())
    found: Any = interval(record)
    assert found.kind == "exact"
    assert found.low <= record.statistic.observed <= found.high
    by_item = [sum(x == "a" for x in a) - sum(x == "a" for x in b) for a, b in zip(u, v, strict=True)]
    means = []
    for _ in range(200_000 // 50):
        chosen = generator.random((50, 30)) < 0.5
        sizes = chosen @ np.array([len(item) for item in gold])
        means.extend((chosen @ np.array(by_item) / np.maximum(sizes, 1)).tolist())
    assert np.quantile(means, [0.025, 0.975]) == pytest.approx([found.low, found.high], abs=0.01)


@pytest.mark.parametrize("name", ["mean_difference", "sum_difference"])
def test_right_and_wrong_have_tangos_interval(name: str) -> None:
    u, v = [1] * 30 + [0] * 12 + [1] * 58, [0] * 30 + [1] * 12 + [1] * 58
    record = score(u, v, name, confidence_level=0.95)
    found: Any = interval(record)
    assert (found.method, found.kind) == ("tango_score", "approximate")
    factor = 100 if name == "sum_difference" else 1
    assert found.low < record.statistic.observed < found.high
    assert 0.05 * factor < found.low < 0.06 * factor
    assert contains_zero(found) == (record.p_value > 0.05)
    assert codes(record) == []


def test_an_asymptotic_interval_that_disagrees_with_the_test_says_so() -> None:
    # 6 of 6 discordant items: exact p is 1/32, or 5 of 5: 1/16, which a normal law calls significant.
    record = score([1] * 5 + [1] * 20, [0] * 5 + [1] * 20, confidence_level=0.95)
    assert record.p_value == 0.0625
    assert not contains_zero(interval(record))
    assert codes(record) == ["interval_disagrees"]
    assert score([1] * 9 + [1] * 20, [0] * 9 + [1] * 20, confidence_level=0.95).warnings == ()


def test_clustered_right_and_wrong_are_inverted() -> None:
    generator = np.random.default_rng(9)
    u, v = generator.integers(0, 2, 60), generator.integers(0, 2, 60)
    record = score(u.tolist(), v.tolist(), codes=[k // 3 for k in range(60)], confidence_level=0.95)
    assert interval(record).method == "test_inversion"
    assert interval(record).kind == "exact"


@pytest.mark.parametrize("name", ["sign", "signed_rank"])
def test_statistics_without_a_shift_have_no_interval_and_say_why(name: str) -> None:
    record = score([3, 1, 4, 1, 5], [2, 7, 1, 8, 2], name, confidence_level=0.95)
    assert record.confidence_interval is None
    assert codes(record) == ["interval_not_available"]


def test_expressions_and_joint_statistics_have_no_interval_and_say_why() -> None:
    assert codes(effects([3, -1, 2], [1, 2, 3], confidence_level=0.9)) == ["interval_not_available"]
    assert codes(effects([3, -1, 2], None, "abs(x1)", confidence_level=0.9)) == ["interval_not_available"]
    counts = {"tp": column([8, 3, 7]), "incorrect": column([2, 3, 1])}
    other = {"tp": column([6, 5, 7]), "incorrect": column([1, 2, 1])}
    record = run_test(Counts(counts, other), StatisticSpec("f1"), Options(confidence_level=0.95), Budget())
    assert record.confidence_interval is None
    assert codes(record) == ["interval_not_available"]


def test_an_interval_over_the_budget_is_left_out_with_a_warning() -> None:
    generator = np.random.default_rng(0)
    data = Scores(generator.random(60), generator.random(60))
    small = Budget(operations=20_000_000)
    options = Options(method="monte_carlo", samples=1000, confidence_level=0.95, pmf="none")
    record = run_test(data, StatisticSpec("mean_difference"), options, small)
    assert record.confidence_interval is None
    assert codes(record) == ["interval_not_available"]


def test_the_interval_is_part_of_the_price() -> None:
    generator = np.random.default_rng(0)
    data, spec = Scores(generator.random(60), generator.random(60)), StatisticSpec("mean_difference")
    without = prepare(data, spec, Options(), Budget())
    with_it = prepare(data, spec, Options(confidence_level=0.95), Budget())
    assert without.interval is None
    assert with_it.seconds > without.seconds + 0.01
    nothing = finish(without)
    assert (nothing.confidence_interval, nothing.effect_size, nothing.moved) == (None, None, None)


def test_an_item_level_is_not_asked_for_an_interval() -> None:
    options = Options(confidence_level=0.95)
    data = Scores(column([3, 1, 4, 1]), column([2, 1, 1, 5]), clusters([0, 0, 1, 1]))
    prepared = prepare(data, StatisticSpec("mean_difference"), options, Budget())
    assert prepared.item_level is not None
    assert finish(prepared).item_level is not None


def test_bootstrap_percentiles_are_those_of_very_many_resamples() -> None:
    pytest.importorskip("scipy", minversion="1.15")
    generator = np.random.default_rng(8)
    u, v = generator.random(60).round(2), (generator.random(60) - 0.1).round(2)
    record = score(u.tolist(), v.tolist(), test="bootstrap", confidence_level=0.9)
    found = interval(record)
    assert (found.method, found.kind) == ("bootstrap_percentile", "exact")
    sampled = stats.bootstrap(
        (u - v,), np.mean, confidence_level=0.9, n_resamples=100_000, method="percentile", rng=0
    ).confidence_interval
    assert (found.low, found.high) == pytest.approx((sampled.low, sampled.high), abs=1e-3)


@given(st.lists(st.integers(-4, 4), min_size=1, max_size=5), st.sampled_from([0.5, 0.8, 0.95]))
@settings(max_examples=50)
def test_bootstrap_percentiles_of_few_units_are_listed(values: list[int], level: float) -> None:
    found = interval(score(values, [0] * len(values), test="bootstrap", confidence_level=level))
    sums = np.array([0])
    for _ in values:
        sums = np.add.outer(sums, np.array(values)).reshape(-1)
    tail = (1 - Fraction(repr(level))) / 2
    place = max(-(-(tail.numerator * len(sums)) // tail.denominator), 1)
    ordered = np.sort(sums) / len(values)
    assert (found.low, found.high) == pytest.approx((ordered[place - 1], ordered[-place]), abs=1e-12)


def test_a_bootstrap_too_fine_for_its_law_has_sampled_percentiles() -> None:
    generator = np.random.default_rng(3)
    u, v = generator.random(50), generator.random(50)
    record = score(u.tolist(), v.tolist(), test="bootstrap", confidence_level=0.95, samples=20_000)
    found = interval(record)
    assert (record.method.name, found.kind) == ("monte_carlo", "sampled")
    expected = np.mean(u - v) + np.array([-1.96, 1.96]) * np.std(u - v) / np.sqrt(50)
    assert (found.low, found.high) == pytest.approx(tuple(expected), abs=0.02)


def test_bootstraps_of_several_sums_have_sampled_percentiles() -> None:
    generator = np.random.default_rng(3)
    u = {"tp": generator.integers(0, 9, 40), "incorrect": generator.integers(0, 4, 40)}
    v = {"tp": generator.integers(0, 9, 40), "incorrect": generator.integers(0, 6, 40)}
    options = Options(test="bootstrap", confidence_level=0.95, samples=4000)
    record = run_test(Counts(u, v), StatisticSpec("f1"), options, Budget())
    found: Any = interval(record)
    assert found.kind == "sampled"
    assert found.low < record.statistic.observed < found.high
    again = run_test(Counts(u, v), StatisticSpec("f1"), options, Budget())
    assert interval(again) == found


# The paired bootstrap through the front door: shifted-null p-values against full enumeration.


EFFECTS = [(3, -1, 2, 0, 1), (1, 1, -2, 4), (5, -5, 1, 2, 2, -1), (2, 3)]


def enumerated(effects: tuple[int, ...], alternative: Alternative) -> Fraction:
    """P*(S* - S at least as extreme as S) over all n**n resamples."""
    total, inside = sum(effects), 0
    for drawn in itertools.product(effects, repeat=len(effects)):
        shift = sum(drawn) - total
        inside += {"two-sided": abs(shift) >= abs(total), "greater": shift >= total, "less": shift <= total}[
            alternative
        ]
    return Fraction(inside, len(effects) ** len(effects))


@pytest.mark.parametrize("effects", EFFECTS, ids=str)
@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_the_exact_bootstrap_equals_all_n_to_the_n_resamples(
    effects: tuple[int, ...], alternative: Alternative
) -> None:
    truth = enumerated(effects, alternative)
    data = Effects(np.array(effects, dtype=np.int64))
    options = Options(test="bootstrap", alternative=alternative)
    found = run_test(data, StatisticSpec("expression"), options, Budget())
    if truth == 0:
        assert found.p_value_bounds[0] == 0.0
        assert found.log10_p_value == pytest.approx(-len(effects) * math.log10(len(effects)))
        assert "bootstrap_empty_tail" in {warning.code for warning in found.warnings}
    else:
        assert found.p_value == pytest.approx(float(truth), rel=1e-11)
        assert found.p_value_bounds[0] <= float(truth) * (1 + 1e-15)
        assert found.p_value_bounds[1] >= float(truth) * (1 - 1e-15)


def test_resampling_agrees_with_the_exact_bootstrap_within_its_own_interval() -> None:
    generator = np.random.default_rng(4)
    data = Scores(generator.integers(0, 5, 300), generator.integers(0, 5, 300) - 0)
    spec = StatisticSpec("mean_difference")
    exact = run_test(data, spec, Options(test="bootstrap"), Budget())
    drawn = run_test(data, spec, Options(test="bootstrap", method="monte_carlo", samples=200_000), Budget())
    assert exact.method.exact
    low, high = drawn.p_value_bounds
    assert low <= exact.p_value <= high


def test_effects_whose_sum_no_lattice_holds_have_the_p_value_of_their_multiples() -> None:
    """Differences of up to 5e17 on a hundred items; they were answered with a 500."""
    generator = np.random.default_rng(9)
    u, v = generator.integers(0, 500, (2, 100))
    spec, options = StatisticSpec("mean_difference"), Options(test="bootstrap")
    small, large = (run_test(Scores(u * by, v * by), spec, options, Budget()) for by in (1, 10**15))
    low, high = large.p_value_bounds
    assert low <= small.p_value <= high
    assert large.p_value == pytest.approx(small.p_value, rel=1e-2)
    assert large.items == small.items


def test_identical_systems_have_a_bootstrap_p_value_of_one_for_sums_and_for_ratios() -> None:
    counts = {"tp": np.array([3, 1, 4], dtype=np.int64), "incorrect": np.array([1, 5, 9], dtype=np.int64)}
    options = Options(test="bootstrap", samples=500)
    assert run_test(Counts(counts, counts), StatisticSpec("f1"), options, Budget()).p_value == 1.0
    scores = np.array([1, 2, 3], dtype=np.int64)
    assert run_test(Scores(scores, scores), StatisticSpec("sum_difference"), options, Budget()).p_value == 1.0


def test_the_ratio_of_sums_is_resampled_by_unit() -> None:
    """F1 of three items: all 27 resamples against what sampling says, within its interval."""
    u = {"tp": np.array([3, 1, 4], dtype=np.int64), "incorrect": np.array([1, 0, 2], dtype=np.int64)}
    v = {"tp": np.array([2, 1, 1], dtype=np.int64), "incorrect": np.array([1, 2, 0], dtype=np.int64)}

    def f1(counts: dict[str, np.ndarray[tuple[int], np.dtype[np.int64]]], drawn: list[int]) -> float:
        tp, wrong = int(counts["tp"][drawn].sum()), int(counts["incorrect"][drawn].sum())
        return 2 * tp / (2 * tp + wrong)

    observed = f1(u, [0, 1, 2]) - f1(v, [0, 1, 2])
    inside = sum(
        abs(f1(u, list(drawn)) - f1(v, list(drawn)) - observed) >= abs(observed) - 1e-12
        for drawn in itertools.product(range(3), repeat=3)
    )
    found = run_test(Counts(u, v), StatisticSpec("f1"), Options(test="bootstrap", samples=50_000), Budget())
    low, high = found.p_value_bounds
    assert low <= inside / 27 <= high


def test_options_that_the_bootstrap_lacks_are_refused_with_a_pointer() -> None:
    data = Effects(np.array([1, 2], dtype=np.int64))
    for options, spec, pointer in (
        (Options(test="bootstrap", method="dp"), StatisticSpec("expression"), "/method"),
        (Options(test="bootstrap", exact_fraction=True), StatisticSpec("expression"), "/exact_fraction"),
        (
            Options(test="bootstrap"),
            StatisticSpec("expression", {"expression": "abs(x1)"}),
            "/statistic/expression",
        ),
    ):
        with refused(None, pointer):
            run_test(data, spec, options, Budget())


@pytest.mark.parametrize("items", [40, 2_000])
def test_scores_on_no_lattice_are_resampled_however_many_there_are(items: int) -> None:
    effects = np.random.default_rng(items).normal(1.5 / math.sqrt(items), 1.0, items)
    found = run_test(
        Effects(effects),
        StatisticSpec("expression"),
        Options(test="bootstrap", confidence_level=0.95),
        Budget(),
    )
    assert found.method.name == "monte_carlo"
    assert found.statistic.observed == pytest.approx(math.fsum(effects), rel=1e-14)
    # NumPy's own resamples, on other seeds.
    drawn = np.concatenate(
        [np.random.default_rng(seed).choice(effects, (500, items)).sum(axis=1) for seed in range(40)]
    )
    share = float(np.mean(np.abs(drawn - effects.sum()) >= abs(effects.sum())))
    error = math.sqrt(share * (1 - share) * (1 / len(drawn) + 1 / 20_000))
    assert abs(found.p_value - share) < 5 * error
    interval: Any = found.confidence_interval
    sd = float(effects.std()) * math.sqrt(items)
    assert [interval.low, interval.high] == pytest.approx(np.quantile(drawn, [0.025, 0.975]), abs=0.1 * sd)


def test_the_reason_says_why_it_is_sampled_and_only_then() -> None:
    counts = {"tp": np.array([2, 1, 0, 3]), "incorrect": np.array([1, 0, 2, 1])}
    other = {"tp": np.array([1, 1, 1, 2]), "incorrect": np.array([2, 0, 1, 3])}
    whole, real = Effects(np.array([3, -1, 2, 0, 1])), Effects(np.random.default_rng(0).normal(size=50))
    asked: list[tuple[Paired, str]] = [
        (Counts(counts, other), "f1"),
        (real, "expression"),
        (whole, "expression"),
    ]
    options = Options(test="bootstrap")
    found = [run_test(data, StatisticSpec(name), options, Budget()).method for data, name in asked]
    assert [method.exact for method in found] == [False, False, True]
    assert ["sampled" in method.reason for method in found] == [True, True, False]


# What a bootstrap looks at besides its p-value is within its budget too: the law, its quantiles, its picture.


# What NumPy, the record and the interpreter take whatever the data are.
SLACK = 6_000_000
EXPRESSION = StatisticSpec("expression")


def spike(items: int, giant: int) -> list[int]:
    """Small effects and one far from all others: the lattice is as long as that one, and hardly any frequency retires."""
    generator = random.Random(items)
    return [*(generator.randint(-5, 9) for _ in range(items - 1)), giant]


def peak(work: Callable[[], object]) -> int:
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def cumulated(units: list[int]) -> dict[int, Fraction]:
    """P(S* <= x) for every x that can come about, from a power of a polynomial."""
    low = min(units)
    single = [0] * (max(units) - low + 1)
    for unit in units:
        single[unit - low] += 1
    power, below, found = flint.fmpz_poly(single) ** len(units), 0, {}
    for k in range(power.degree() + 1):
        if power[k] != 0:
            below += int(power[k])
            found[k + low * len(units)] = Fraction(below, len(units) ** len(units))
    return found


@pytest.mark.parametrize("pmf", ["none", "summary"])
@pytest.mark.parametrize("level", [None, 0.95])
@pytest.mark.parametrize("giant", [10**4, 10**6, 10**8])
def test_a_giant_among_small_effects_stays_within_the_bytes(
    giant: int, level: float | None, pmf: PmfDetail
) -> None:
    """242 bytes of effects took all of a worker's memory: the p-value was sampled, its picture was not."""
    budget = Budget(bytes=40_000_000)
    data = Effects(np.array(spike(20, giant)))
    options = Options(test="bootstrap", pmf=pmf, confidence_level=level)
    assert peak(lambda: run_test(data, EXPRESSION, options, budget)) <= budget.bytes + SLACK


@pytest.mark.parametrize(("items", "giant"), [(20, 10**4), (5, 300_000), (100, 30_000), (300, 1000)])
def test_the_law_holds_no_more_than_its_price_says(items: int, giant: int) -> None:
    form = resample_form(np.array(spike(items, giant)))
    looks = evaluations_for(form, 9) + 102
    assert peak(lambda: bootstrap_law(form, looks)) <= law_cost(form, looks)[1] + SLACK


def test_the_picture_is_part_of_the_predicted_time() -> None:
    effects, options = spike(40, 10**4), Options(test="bootstrap", pmf="summary", method="fft")
    planned = prepare(Effects(np.array(effects)), EXPRESSION, options, Budget())
    form = resample_form(np.array(effects))
    looks = evaluations_for(form, 9) + 102
    both = 1e-9 * (cost(form)[0] + law_cost(form, looks)[0])
    assert planned.seconds >= both * (1.0 - 1e-12)


def test_the_price_of_the_law_grows_with_the_looks_and_not_beyond_two_transforms() -> None:
    spread = resample_form(np.random.default_rng(1).integers(-50, 50, 2_000))
    assert law_cost(spread, 10_000)[0] > 5 * law_cost(spread, 10)[0]
    giant = resample_form(np.array(spike(20, 10**5)))
    assert law_cost(giant, 10_000) == law_cost(giant, 10)


def test_a_law_over_the_budget_is_sampled_and_the_answer_says_so() -> None:
    effects = spike(8, 3_000)
    data, options = Effects(np.array(effects)), Options(test="bootstrap", pmf="summary")
    whole = run_test(data, EXPRESSION, options, Budget())
    assert "null_sampled" not in {warning.code for warning in whole.warnings}
    found: Any = run_test(data, EXPRESSION, options, Budget(bytes=1 << 25, operations=1_000_000))
    assert "null_sampled" in {warning.code for warning in found.warnings}
    assert (found.null.mean, found.null.sd, found.null.min, found.null.max) == (
        whole.null.mean,
        whole.null.sd,
        whole.null.min,
        whole.null.max,
    )
    below, total = cumulated(effects), sum(effects)
    points = np.array(sorted(below))
    for name, shift in found.null.quantiles.items():
        # Five standard errors of 20,000 resamples, from the value itself and from the one before.
        slack = 5.0 * (float(name) * (1.0 - float(name)) / 20_000) ** 0.5
        place = int(np.searchsorted(points, shift + total, side="right")) - 1
        before = 0.0 if place == 0 else float(below[int(points[place - 1])])
        assert before - slack <= float(name) <= float(below[int(points[place])]) + slack


def test_quantiles_beside_a_giant_are_those_of_the_full_law() -> None:
    effects = spike(8, 3_000)
    options = Options(test="bootstrap", pmf="summary")
    found: Any = run_test(Effects(np.array(effects)), EXPRESSION, options, Budget())
    below, total = cumulated(effects), sum(effects)
    for name, shift in found.null.quantiles.items():
        first = next(at for at in sorted(below) if below[at] >= Fraction(name))
        assert shift == first - total
