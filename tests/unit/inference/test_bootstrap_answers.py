"""The paired bootstrap through the front door: shifted-null p-values against full enumeration."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from exactperm.answers.test import Alternative
from exactperm.engine.plan import Budget
from exactperm.inference.options import Options
from exactperm.inference.paired_test import run_test
from exactperm.statistics.paired import Counts, Effects, Paired, Scores, StatisticSpec
from tests.refusals import refused

EFFECTS = [(3, -1, 2, 0, 1), (1, 1, -2, 4), (5, -5, 1, 2, 2, -1), (2, 3)]


def enumerated(effects: tuple[int, ...], alternative: Alternative) -> Fraction:
    """P*(S* - S at least as extreme as S) over all n**n resamples."""
    total, inside = sum(effects), 0
    for drawn in itertools.product(effects, repeat=len(effects)):
        shift = sum(drawn) - total
        inside += {
            "two-sided": abs(shift) >= abs(total),
            "greater": shift >= total,
            "less": shift <= total,
        }[alternative]
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


def test_what_the_bootstrap_does_not_do_is_refused_with_a_pointer() -> None:
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
    interval = found.confidence_interval
    assert interval is not None
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
