"""Weights of items, and midpoints."""

import math
import random
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

from exactperm.answers.test import TestRecord
from exactperm.engine.plan import Budget
from exactperm.inference.options import Options
from exactperm.inference.paired import run_test
from exactperm.statistics.corpus import Bleu, Chrf, Difference
from exactperm.statistics.effects import Joint, joined_weights, taken_weights, weights_of
from exactperm.statistics.expression import parse
from exactperm.statistics.midpoint import Linearisation, linearise, rounded_line
from exactperm.statistics.paired import Pairing, Repeated, Scores, StatisticSpec
from exactperm.statistics.quantity import Formula, Quantity
from exactperm.statistics.reduction import difference_of_scores
from exactperm.statistics.sum_function import FunctionOf
from tests.enumeration import share, signed_sums
from tests.refusals import refused

# Item weights: weighted means and sums are exact, for weights as they are written.


U, V = [0.9, 0.1, 1, 0.5, 0, 1, 0.25], [0.3, 0.4, 0, 0.5, 1, 0.8, 0]
WRITTEN: list[Any] = ["1/3", 0.1, 2, "0.25", 1, "2e-1", 0.3]
AS_FRACTIONS = [Fraction("1/3"), *map(Fraction, ("0.1", "2", "0.25", "1", "0.2", "0.3"))]


def decimals(values: Sequence[float]) -> list[Fraction]:
    return [Fraction(repr(value)) for value in values]


def brute_force(units: Sequence[Fraction], alternative: str) -> Fraction:
    return share(signed_sums(units), alternative)


def weighted_test(
    weights: Any, statistic: str = "mean_difference", pairing: Pairing | None = None, **options: Any
) -> TestRecord:
    data = Scores(np.array(U), np.array(V), pairing or Pairing(), weights_of(weights))
    return run_test(data, StatisticSpec(statistic), Options(**options), Budget())


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
@pytest.mark.parametrize("statistic", ["mean_difference", "sum_difference"])
def test_p_values_and_scores_in_fractions(statistic: str, alternative: str) -> None:
    record: Any = weighted_test(WRITTEN, statistic, alternative=alternative, exact_fraction=True)
    pairs = list(zip(AS_FRACTIONS, decimals(U), decimals(V), strict=True))
    known = brute_force([w * (u - v) for w, u, v in pairs], alternative)
    below = sum(AS_FRACTIONS) if statistic == "mean_difference" else Fraction(1)
    assert record.p_value_fraction.value == known
    assert record.method.exact
    assert record.statistic.u == float(sum(w * u for w, u, _ in pairs) / below)
    assert record.statistic.v == float(sum(w * v for w, _, v in pairs) / below)
    assert record.statistic.observed == float(sum(w * (u - v) for w, u, v in pairs) / below)


def test_clusters() -> None:
    codes = [0, 0, 1, 2, 2, 1, 3]
    pairing = Pairing(clusters=np.array(codes, dtype=np.int64), n_clusters=4)
    units = [Fraction(0)] * 4
    for code, w, u, v in zip(codes, AS_FRACTIONS, decimals(U), decimals(V), strict=True):
        units[code] += w * (u - v)
    record = weighted_test(WRITTEN, pairing=pairing)
    assert record.p_value == float(brute_force(units, "two-sided"))


def test_ties_are_those_of_the_weights_as_written() -> None:
    """0.1 + 0.2 = 0.3 and 3 (1/3) = 1: doubles would not tie."""
    data = Scores(np.ones(3), np.array([0.0, 0.0, 2.0]), weights=weights_of([0.1, 0.2, 0.3]))
    assert run_test(data, StatisticSpec("mean_difference"), Options(), Budget()).p_value == 1.0
    thirds = weights_of(["1/3", "1/3", "1/3", 1])
    data = Scores(np.ones(4), np.array([0.0, 0.0, 0.0, 2.0]), weights=thirds)
    assert run_test(data, StatisticSpec("sum_difference"), Options(), Budget()).p_value == 1.0


def test_equal_weights_equal_no_weights() -> None:
    plain = run_test(Scores(np.array(U), np.array(V)), StatisticSpec("mean_difference"), Options(), Budget())
    record = weighted_test(["2/7"] * 7)
    assert (record.p_value, record.statistic) == (plain.p_value, plain.statistic)


def test_whole_weights_are_items_that_swap_together() -> None:
    """Weight 3 is three copies of an item in one cluster."""
    weights = [1, 3, 2, 1, 1, 2, 4]
    u, v = np.repeat(U, weights), np.repeat(V, weights)
    pairing = Pairing(clusters=np.repeat(np.arange(7), weights), n_clusters=7)
    for level in (0.5, 0.9):
        copies = run_test(
            Scores(u, v, pairing), StatisticSpec("mean_difference"), Options(confidence_level=level), Budget()
        )
        record = weighted_test(weights, confidence_level=level)
        assert record.p_value == copies.p_value
        assert record.statistic == copies.statistic
        assert record.confidence_interval == copies.confidence_interval


def test_repeated_samples() -> None:
    """The means of samples are weighted, not the samples."""
    u = Repeated(np.array([1, 0, 1, 1, 0, 1]), np.array([2, 3, 1]))
    v = Repeated(np.array([0, 0, 1, 1, 1, 0]), np.array([2, 3, 1]))
    weights = [Fraction(1), Fraction(5), Fraction(2)]
    means = [(Fraction(1, 2), Fraction(0)), (Fraction(2, 3), Fraction(1)), (Fraction(1), Fraction(0))]
    record = run_test(
        Scores(u, v, weights=weights_of([1, 5, 2])), StatisticSpec("mean_difference"), Options(), Budget()
    )
    units = [w * (one - other) for w, (one, other) in zip(weights, means, strict=True)]
    assert record.p_value == float(brute_force(units, "two-sided"))
    assert record.statistic.observed == float(sum(units) / 8)


def test_many_items_against_scipy() -> None:
    """The normal limit of the sum, which thousands of items are near."""
    rng = np.random.default_rng(2)
    n = 4_000
    u, v = rng.integers(0, 11, n), rng.integers(0, 11, n)
    w = rng.integers(1, 50, n)
    record = run_test(
        Scores(u, v, weights=weights_of(w.tolist())), StatisticSpec("mean_difference"), Options(), Budget()
    )
    effects = w * (u - v)
    z = abs(int(effects.sum())) / float(np.sqrt(np.square(effects, dtype=np.float64).sum()))
    assert record.method.exact
    assert record.p_value == pytest.approx(2 * float(stats.norm.sf(z)), rel=2e-2)
    assert record.statistic.observed == pytest.approx(float(np.average(u - v, weights=w)), rel=1e-12)


def test_weights_that_outgrow_integers_are_bracketed() -> None:
    """Many primes as denominators: no lattice, a bracket; the same test, exact, with every weight once."""
    primes = [p for p in range(101, 2_000) if all(p % k for k in range(2, 45))]
    rng = np.random.default_rng(4)
    u, v = rng.integers(0, 2, len(primes)), rng.integers(0, 2, len(primes))
    record = run_test(
        Scores(u, v, weights=weights_of([f"1000/{p}" for p in primes[:80]] + [1] * (len(primes) - 80))),
        StatisticSpec("mean_difference"),
        Options(precision=1e-4),
        Budget(),
    )
    assert not record.method.exact
    assert record.method.name == "bounds"
    low, high = record.p_value_bounds
    assert low <= record.p_value <= high <= low * (1 + 1e-4)
    nearest = np.array([round(1000 / p * 10**6) for p in primes[:80]] + [10**6] * (len(primes) - 80))
    close = run_test(
        Scores(u, v, weights=weights_of(nearest.tolist())),
        StatisticSpec("mean_difference"),
        Options(),
        Budget(),
    )
    assert close.p_value == pytest.approx(record.p_value, rel=1e-3)


def test_no_effect_sizes_of_weighted_items() -> None:
    record: Any = weighted_test(WRITTEN, confidence_level=0.9)
    assert record.effect_size is None
    # Weight 2 times a difference of 1 moved most.
    assert record.moved.toward_u[0] == "2"


@pytest.mark.parametrize(
    ("given", "where"),
    [
        ([1, 2, 0], "/2"),
        ([1, -0.5, 3], "/1"),
        ([1, float("nan"), 3], "/1"),
        ([1, float("inf"), 3], "/1"),
        (["1/0", 1, 1], "/0"),
        ([1, True, 1], "/1"),
        ([1, None, 1], "/1"),
        ([1, "x", 1], "/1"),
        (["0/5", 1, 1], "/0"),
        (["1e999", 1, 1], "/0"),
        ([1, [2], 3], "/1"),
    ],
)
def test_invalid_weights_are_refused(given: list[Any], where: str) -> None:
    with refused(None, where):
        weights_of(given)


def test_no_common_unit() -> None:
    primes = [p for p in range(10_000, 14_000) if all(p % k for k in range(2, 120))]
    with refused("weights_too_fine"):
        weights_of([f"1/{p}" for p in primes])


@pytest.mark.parametrize("statistic", ["sign", "signed_rank"])
def test_signs_and_ranks_have_no_weights(statistic: str) -> None:
    with refused(None, "/weights"):
        weighted_test(WRITTEN, statistic)


def test_no_bootstrap_of_weighted_items() -> None:
    with refused(None, "/weights"):
        weighted_test(WRITTEN, test="bootstrap")


def test_equal_weights_however_written() -> None:
    """Decimals, texts and large integers: one set of numbers."""
    ways: list[list[Any]] = [[0.5, 1.5, 2.0], ["0.5", 1.5, 2], ["1/2", "3/2", "4/2"], [0.5, "15e-1", "2.00"]]
    for way in ways:
        weights = weights_of(way)
        assert (weights.unit, weights.values.tolist()) == (Fraction(1, 2), [1, 3, 4])
    large = weights_of([2**70, 3 * 2**70])
    assert (large.unit, large.values.tolist()) == (Fraction(2**70), [1, 3])


def test_some_and_several() -> None:
    weights = weights_of(["1/2", 3, "1/6"])
    kept: Any = taken_weights(weights, np.array([2, 0]))
    assert [kept.unit * int(x) for x in kept.values] == [Fraction(1, 6), Fraction(1, 2)]
    joined: Any = joined_weights([(weights, 3), (None, 2)])
    assert [joined.unit * int(x) for x in joined.values] == [
        Fraction(1, 2), 3, Fraction(1, 6), 1, 1
    ]  # fmt: skip
    assert joined_weights([(None, 3), (None, 2)]) is None


def test_dust_in_weights_is_reported() -> None:
    thirds = weighted_test([1 / 3, 2 / 3, 1, 1, 1, 1, 1])
    assert "float_dust" in [warning.code for warning in thirds.warnings]
    plain = weighted_test(WRITTEN)
    assert "float_dust" not in [warning.code for warning in plain.warnings]


# The midpoint linearisation: gradients against differences of exact values, and the rounded effects against them.


Score = Callable[[Sequence[float]], float]


def bleu(sums: Sequence[float]) -> float:
    system, reference, *counts = sums
    logs = [math.log(c / t) for c, t in zip(counts[:4], counts[4:], strict=True)]
    return 100.0 * min(1.0, math.exp(1.0 - reference / system)) * math.exp(sum(logs) / 4.0)


def chrf(sums: Sequence[float]) -> float:
    precision = sum(m / h for h, m in zip(sums[:2], sums[4:], strict=True)) / 2.0
    recall = sum(m / r for r, m in zip(sums[2:4], sums[4:], strict=True)) / 2.0
    return 100.0 * 5.0 * precision * recall / (4.0 * precision + recall)


def macro(sums: Sequence[float]) -> float:
    return sum(2.0 * sums[k] / (sums[3 + k] + 40.0) for k in range(3)) / (1.0 + min(1.0, sums[6]) / 3.0)


MACRO = "(2*x1/(x4+40) + 2*x2/(x5+40) + 2*x3/(x6+40)) / (1 + min(1, x7)/3)"
WILD = "sqrt(x1 + 1) * exp(x2 / 100) - log(x3) / max(x1, x2) + abs(x2 - x3)"
CASES: list[tuple[str, Quantity, Score, list[int], list[int]]] = [
    ("bleu, shorter", Bleu(), bleu, [900, 1000, 620, 400, 300, 200, 900, 850, 800, 750], [1] * 10),
    ("bleu, longer", Bleu(), bleu, [1100, 1000, 620, 400, 300, 200, 900, 850, 800, 750], [1] * 10),
    ("chrf", Chrf(2), chrf, [700, 600, 720, 590, 500, 300], [1] * 6),
    (
        "macro",
        Formula(parse(MACRO, [f"x{i}" for i in range(1, 8)])),
        macro,
        [30, 20, 25, 41, 39, 45, 5],
        [1] * 7,
    ),
    (
        "wild",
        Formula(parse(WILD, ["x1", "x2", "x3"])),
        lambda s: (
            math.sqrt(s[0] + 1) * math.exp(s[1] / 100) - math.log(s[2]) / max(s[0], s[1]) + abs(s[1] - s[2])
        ),
        [30, 20, 25],
        [1, 1, 1],
    ),
]


def linearised(quantity: Quantity, start: list[int], step: list[int]) -> Linearisation:
    """Of h itself: two units, so that the midpoint is start + step / 2."""
    stay = np.array([start, step], dtype=np.int64)
    swap = np.array([start, [0] * len(step)], dtype=np.int64)
    found = linearise(Joint("h", stay, swap, FunctionOf(quantity), 2))
    assert found is not None
    return found


@pytest.mark.parametrize(("name", "quantity", "score", "start", "step"), CASES, ids=[c[0] for c in CASES])
def test_gradients_are_those_of_the_definition(
    name: str, quantity: Quantity, score: Score, start: list[int], step: list[int]
) -> None:
    found = linearised(quantity, start, step)
    middle = [total / 2 for total in found.twice_m]
    assert middle == [a + b / 2 for a, b in zip(start, step, strict=True)]
    assert float(found.value) == pytest.approx(score(middle), rel=1e-12)
    for index, slope in enumerate(found.gradient):
        up, down = list(middle), list(middle)
        up[index] += 1e-3
        down[index] -= 1e-3
        assert float(slope) == pytest.approx((score(up) - score(down)) / 2e-3, rel=1e-5, abs=1e-9)


def test_a_difference_of_scores_has_value_zero_and_opposite_slopes() -> None:
    rows = np.array([[7, 3, 9, 2], [4, 4, 8, 3]], dtype=np.int64)
    found: Any = linearise(
        Joint("d", rows, rows[:, [2, 3, 0, 1]], FunctionOf(Difference(_Ratio())), 2, mirrored=True)
    )
    assert found.value == 0
    assert found.gradient[0] == -found.gradient[2] != 0
    assert found.gradient[1] == -found.gradient[3] != 0


class _Ratio(Formula):
    def __init__(self) -> None:
        super().__init__(parse("a / (a + b)", ["a", "b"]))


@pytest.mark.parametrize(
    "text", ["sqrt(a - b)", "log(a - b)", "a / (b - b)", "1 / (a - b)", "exp(a * b * 1000000)"]
)
def test_without_a_gradient_there_is_no_linearisation(text: str) -> None:
    stay = np.array([[5, 5]], dtype=np.int64)
    problem = Joint("h", stay, stay * 3, FunctionOf(Formula(parse(text, ["a", "b"]))), 1)
    assert linearise(problem) is None


def test_zero_over_zero_is_flat_and_corners_have_the_mean_slope() -> None:
    stay = np.array([[5, 5]], dtype=np.int64)

    def slopes(text: str) -> list[object] | None:
        problem = Joint("h", stay, stay * 3, FunctionOf(Formula(parse(text, ["a", "b"]))), 1)
        found = linearise(problem)
        return None if found is None else [*found.gradient]

    assert slopes("a + (a - b) / (a - b)") == [1, 0]
    assert slopes("max(a, 3 * b - 20)") == [Fraction(1, 2), Fraction(3, 2)]
    assert slopes("abs(a - b)") is None
    assert slopes("b + abs(a - b)") == [0, 1]


def test_rounded_effects_are_the_slopes_times_the_vectors() -> None:
    chance = random.Random(5)
    for _ in range(50):
        width, units = chance.randint(1, 6), chance.randint(1, 40)
        size = 10 ** chance.randint(0, 6)
        vectors = np.array(
            [[chance.randint(-size, size) for _ in range(width)] for _ in range(units)], dtype=np.int64
        )
        counts = np.array([chance.randint(1, 5) for _ in range(units)], dtype=np.int64)
        slopes = [Fraction(chance.randint(-1000, 1000), chance.randint(1, 10**9)) for _ in range(width)]
        exact = [
            sum((slope * v for slope, v in zip(slopes, row, strict=True)), Fraction(0))
            for row in vectors.tolist()
        ]
        line = rounded_line(slopes, vectors, counts, spread=1000)
        if line is None:
            assert not any(exact)
            continue
        for effect, truth in zip(line.effects.tolist(), exact, strict=True):
            assert abs(effect * line.unit - truth) <= line.unit * Fraction(51, 100)
        spread = math.sqrt(
            sum(c * e * e for c, e in zip(counts.tolist(), line.effects.tolist(), strict=True))
        )
        assert 990 <= spread <= 2010


def test_constant_statistics_have_no_linear_part() -> None:
    vectors = np.array([[1, -1], [2, -2]], dtype=np.int64)
    assert rounded_line([Fraction(1), Fraction(1)], vectors, np.array([3, 1]), 1000) is None
    assert (
        rounded_line([Fraction(1)], np.zeros((0, 1), dtype=np.int64), np.zeros(0, dtype=np.int64), 1000)
        is None
    )


def test_linear_counts_as_its_own_linearisation() -> None:
    """A ratio whose denominator hardly moves: t and its linear part agree to the third order."""
    chance = np.random.default_rng(1)
    u = np.column_stack([chance.integers(0, 5, 400), chance.integers(4, 7, 400)])
    v = np.column_stack([chance.integers(0, 5, 400), chance.integers(4, 7, 400)])
    problem = difference_of_scores("r", parse("a / b", ["a", "b"]), u, v, Pairing())
    assert isinstance(problem, Joint)
    found: Any = linearise(problem)
    for _ in range(20):
        swapped = chance.integers(0, 2, 400).astype(bool)
        sums = np.where(swapped[:, None], problem.swap, problem.stay).sum(axis=0).tolist()
        t = Fraction(sums[0], sums[1]) - Fraction(sums[2], sums[3])
        line = sum(
            g * (s - Fraction(m, 2)) for g, s, m in zip(found.gradient, sums, found.twice_m, strict=True)
        )
        assert abs(t - line) < abs(t) * Fraction(1, 1000) + Fraction(1, 10**6)
