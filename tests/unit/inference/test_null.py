"""The null of an answer: its record, its range, symmetry, and rounding noise."""

import itertools
import json
import math
import random
import re
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import flint
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from exactperm.answers.test import NullRecord, TestRecord
from exactperm.engine.lattice import canonical_form
from exactperm.engine.one_sum.summary import predicted_nanoseconds
from exactperm.engine.plan import Budget
from exactperm.inference.options import Options
from exactperm.inference.paired import run_test
from exactperm.inference.record import MAX_PICTURE_NANOSECONDS
from exactperm.statistics.paired import Column, Counts, Effects, Predictions, Repeated, Scores, StatisticSpec
from tests.enumeration import signed_sums
from tests.refusals import refused_alone

from .run_shorthands import clusters, effects, score

# The null distribution in the statistic's own units.


tenths = st.lists(st.integers(-30, 30), min_size=1, max_size=8)


def exact_null(values: list[Fraction], *, absolute: bool = False) -> dict[Fraction, Fraction]:
    ways = Counter(abs(total) if absolute else total for total in signed_sums(values))
    return {total: Fraction(ways[total], 2 ** len(values)) for total in sorted(ways)}


@settings(max_examples=80)
@given(tenths)
def test_the_full_null_of_a_mean_is_every_value_with_its_probability(tops: list[int]) -> None:
    u, v = [max(t, 0) / 10 for t in tops], [max(-t, 0) / 10 for t in tops]
    null: Any = score(u, v, pmf="full").null
    truth = exact_null([Fraction(t, 10 * len(tops)) for t in tops])
    assert [value for value, _ in null.pmf] == [float(value) for value in truth]
    assert [p for _, p in null.pmf] == pytest.approx([float(p) for p in truth.values()], abs=1e-14)
    assert (null.min, null.max, null.mean) == (float(min(truth)), float(max(truth)), 0.0)
    variance = sum((x * x * p for x, p in truth.items()), Fraction(0))
    assert null.sd == pytest.approx(math.sqrt(variance), rel=1e-12)


@settings(max_examples=80)
@given(tenths, st.booleans())
def test_quantiles_are_the_smallest_values_that_reach_them_or_half_way_to_the_next(
    tops: list[int], absolute: bool
) -> None:
    record: Any = effects([t / 10 for t in tops], expression="abs(x1)" if absolute else "x1", pmf="full")
    truth = exact_null([Fraction(t, 10) for t in tops], absolute=absolute)
    for q, value in record.null.quantiles.items():
        reached = list(itertools.accumulate(truth.values()))
        low = next(x for x, sum_ in zip(truth, reached, strict=True) if sum_ >= Fraction(q))
        high = next(x for x, sum_ in zip(truth, reached, strict=True) if sum_ > Fraction(q))
        assert value == float((low + high) / 2)


@pytest.mark.parametrize("expression", ["x1", "abs(x1)"])
@settings(max_examples=60)
@given(pairs=st.lists(st.tuples(st.integers(-9, 9), st.integers(-9, 9)), min_size=1, max_size=8))
def test_the_ends_of_the_null_are_values_it_takes(expression: str, pairs: list[tuple[int, int]]) -> None:
    null = effects([a for a, _ in pairs], [b for _, b in pairs], expression, pmf="full").null
    values = {abs(sum(c)) if expression == "abs(x1)" else sum(c) for c in itertools.product(*pairs)}
    assert (null.min, null.max) == (float(min(values)), float(max(values)))


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(-9, 9), st.integers(-9, 9)), min_size=1, max_size=8))
def test_the_null_of_an_absolute_sum_of_unrelated_effects_is_right(pairs: list[tuple[int, int]]) -> None:
    stay, swap = [a for a, _ in pairs], [b for _, b in pairs]
    null: Any = effects(stay, swap, "abs(x1)", pmf="full").null
    ways = Counter(abs(sum(chosen)) for chosen in itertools.product(*pairs))
    truth = {value: Fraction(ways[value], 2 ** len(pairs)) for value in sorted(ways)}
    assert [value for value, _ in null.pmf] == [float(value) for value in truth]
    assert [p for _, p in null.pmf] == pytest.approx([float(p) for p in truth.values()], abs=1e-14)
    mean = sum((x * p for x, p in truth.items()), Fraction(0))
    assert null.mean == pytest.approx(float(mean), abs=1e-12)
    variance = sum((x * x * p for x, p in truth.items()), Fraction(0)) - mean * mean
    assert null.sd == pytest.approx(math.sqrt(variance), rel=1e-6, abs=1e-6)
    assert null.max == float(max(truth))


@pytest.mark.parametrize("n", [1, 100, 5000])
def test_the_summary_has_at_most_201_bins_in_ascending_order(n: int) -> None:
    null: Any = score([1] * n, [0] * n, pmf="summary").null
    values = [value for value, _ in null.pmf]
    assert 1 <= len(values) <= 201
    assert values == sorted(values)
    assert math.fsum(p for _, p in null.pmf) == pytest.approx(1.0, abs=1e-11)
    steps = {round((b - a) / null.pmf_bin_width, 6) for a, b in itertools.pairwise(values)}
    assert all(step == round(step) >= 1 for step in steps)


def test_pmf_none_omits_the_null_distribution() -> None:
    null = score([1, 2, 3], [0, 0, 0], pmf="none").null
    assert (null.pmf, null.quantiles, null.pmf_bin_width) == (None, None, None)
    assert (null.mean, null.min, null.max) == (0.0, -2.0, 2.0)


def test_a_full_null_of_millions_of_points_is_refused_by_its_pointer() -> None:
    with refused_alone(None, "/pmf"):
        score([7 * k + 1000 for k in range(3000)], [0] * 3000, pmf="full")


def test_the_null_is_the_same_whichever_way_the_items_went() -> None:
    """The null knows the sizes of the effects and not their signs."""
    one = score([3, 0, 2, 0], [0, 1, 0, 5], pmf="full").null
    other = score([0, 1, 2, 5], [3, 0, 0, 0], pmf="full").null
    assert one == other


def test_bins_of_the_least_doubles_have_their_values() -> None:
    least = 5e-324
    null = score([0.0, 0.0], [2 * least, 2 * least], "median_difference", pmf="summary").null
    assert null.pmf == ((-2 * least, 0.25), (0.0, 0.5), (2 * least, 0.25))
    assert null.pmf_bin_width == least


def test_a_null_whose_values_differ_by_rounding_alone_is_drawn() -> None:
    # exp(y) exp(-y) is one, or its neighbour among the doubles: the middle of the two is one of them.
    one = "exp(x2/1e3)*exp(-x2/1e3)"
    stay = np.array([[1, 1], [2, 1], [1, 2], [1, 2]])
    swap = np.array([[1, 1], [2, 2], [1, 2], [2, 2]])
    spec = StatisticSpec("expression", {"expression": f"{one}-7*{one}"})
    record: Any = run_test(Effects(stay, swap), spec, Options(alternative="less", pmf="summary"), Budget())
    assert record.p_value == 1.0
    assert math.fsum(p for _, p in record.null.pmf) == pytest.approx(1.0, abs=1e-12)
    assert all(math.isclose(value, -6.0) for value, _ in record.null.pmf)


# The range of the null distribution: that of all swaps where it says so, and never without what was observed.


NO_PICTURE = Options(pmf="none")


def labels(
    items: int, seed: int, statistic: str, **parameters: str
) -> tuple[TestRecord, list[str], list[str], list[str]]:
    """U is right more often than V on two classes."""
    random = Random(seed)
    gold = [random.choice("ab") for _ in range(items)]
    u, v = ([one if random.random() < right else random.choice("ab") for one in gold] for right in (0.9, 0.3))
    record = run_test(Predictions(gold, u, v), StatisticSpec(statistic, parameters), NO_PICTURE, Budget())
    return record, gold, u, v


def reachable(gold: list[str], u: list[str], v: list[str]) -> set[tuple[int, int]]:
    """How many of class a U has right, and how often it says a, under any swaps."""
    states = {(0, 0)}
    for one, first, second in zip(gold, u, v, strict=True):
        moves = {(int(one == said == "a"), int(said == "a")) for said in (first, second)}
        states = {(hits + hit, told + tell) for hits, told in states for hit, tell in moves}
    return states


@pytest.mark.parametrize("average", ["binary", "macro"])
@pytest.mark.parametrize(("items", "seed"), [(60, 1), (150, 2), (300, 3)])
def test_two_classes_have_the_range_of_all_swaps(items: int, seed: int, average: str) -> None:
    """The law on a grid leaves out what is unlikely, and what was observed is."""
    parameters = {"average": "macro"} if average == "macro" else {"positive": "a"}
    record, gold, u, v = labels(items, seed, "f1", **parameters)
    of_a = gold.count("a")
    both = (
        sum(one == "a" for one in (*u, *v)),
        sum(one == said == "a" for system in (u, v) for one, said in zip(gold, system, strict=True)),
    )

    def score(hits: int, told: int) -> Fraction:
        first = Fraction(2 * hits, told + of_a)
        if average == "binary":
            return first
        # Of b: all that is not a, on both sides.
        others = items - of_a - told + hits
        return (first + Fraction(2 * others, 2 * items - told - of_a)) / 2

    values = [
        score(hits, told) - score(both[1] - hits, both[0] - told) for hits, told in reachable(gold, u, v)
    ]
    assert record.null.range_exact
    assert record.null.max == pytest.approx(float(max(values)), rel=1e-12)
    assert record.null.min == pytest.approx(float(min(values)), rel=1e-12)
    assert abs(record.statistic.observed) <= record.null.max


@pytest.mark.parametrize("seed", range(6))
def test_quantiles_of_clusters_say_whether_the_range_is_of_all_swaps(seed: int) -> None:
    random = Random(seed)
    units = random.choice([12, 40])
    u = np.array([random.randint(0, 30) for _ in range(3 * units)])
    v = np.minimum(u, np.array([random.randint(0, 30) for _ in range(3 * units)]))
    data = Scores(u, v, clusters([item % units for item in range(3 * units)]))
    record = run_test(data, StatisticSpec("median_difference", {}), NO_PICTURE, Budget())
    assert record.null.range_exact == (units == 12)
    assert record.null.min == -record.null.max <= record.statistic.observed <= record.null.max
    if units == 12:
        swaps = (np.arange(1 << units)[:, None] >> np.arange(units)) & 1 == 1
        each = np.tile(swaps, 3)
        medians = [np.median(np.where(each, *pair), axis=1) for pair in ((v, u), (u, v))]
        assert record.null.max == float((medians[0] - medians[1]).max())


def test_a_size_says_whether_its_least_value_is_known() -> None:
    """|S| of many sums next to zero: which of them can be reached is read off a law with noise."""
    few, many = (Effects(np.arange(1, items + 1) * 2 + 1) for items in (9, 30))
    spec = StatisticSpec("expression", {"expression": "abs(x1)"})
    small, large = (run_test(data, spec, NO_PICTURE, Budget()).null for data in (few, many))
    assert (small.range_exact, large.range_exact) == (True, False)
    sums = {0}
    for effect in range(3, 20, 2):
        sums = {total + sign * effect for total in sums for sign in (1, -1)}
    assert (small.min, small.max) == (min(map(abs, sums)), max(sums))


# The null of a paired test is symmetric: its probabilities, quantiles and bins, against a convolution in integers.


EXAMPLES = Path(__file__).parents[3] / "openapi" / "examples"


def exact_law(effects: list[int]) -> tuple[int, list[int]]:
    """(lowest sum, numbers of ways of reaching it and every second one above)."""
    sizes = [abs(effect) for effect in effects if effect]
    ways = flint.fmpz_poly([1])
    for size in sorted(set(sizes)):
        ways *= (flint.fmpz_poly([1, 1]) ** sizes.count(size)).inflate(size)
    return -sum(sizes), [int(way) for way in ways.coeffs()]


def is_symmetric(null: NullRecord) -> None:
    assert null.quantiles is not None
    assert null.pmf is not None
    quantiles = dict(null.quantiles)
    assert null.mean == 0.0
    assert null.min == -null.max
    assert quantiles["0.5"] == 0.0
    for low, high in (("0.005", "0.995"), ("0.025", "0.975"), ("0.05", "0.95"), ("0.25", "0.75")):
        assert quantiles[low] == -quantiles[high]
    assert [value for value, _ in null.pmf] == [-value for value, _ in reversed(null.pmf)]
    masses = [mass for _, mass in null.pmf]
    assert masses == masses[::-1]


def bins_are_exact(null: NullRecord, effects: list[int], unit: Fraction) -> None:
    """Every bin has the mass of the values that its width says, and all have as many.

    Where the picture would take long it is of rounded weights, and nearly so.
    """
    fine = predicted_nanoseconds(canonical_form(np.array(effects))) <= MAX_PICTURE_NANOSECONDS
    relative, absolute = (1e-6, 3e-12) if fine else (2e-3, 1e-6)
    low, ways = exact_law(effects)
    total = 2 ** sum(1 for effect in effects if effect)
    assert null.pmf is not None
    assert null.pmf_bin_width is not None
    half = Fraction(null.pmf_bin_width).limit_denominator(10**15) / 2
    for middle, mass in null.pmf:
        centre = Fraction(middle).limit_denominator(10**15)
        first, last = (math.ceil(((centre + sign * half) / unit - low) / 2) for sign in (-1, 1))
        inside = sum(ways[max(first, 0) : max(last, 0)])
        assert mass == pytest.approx(float(Fraction(inside, total)), rel=relative, abs=absolute)


def test_the_bins_of_robust03_have_no_notch() -> None:
    body = json.loads((EXAMPLES / "scores-robust03-map.json").read_text(), parse_float=Decimal)
    u, v = body["u"], body["v"]
    if isinstance(u, dict):
        u, v = list(u.values()), [v[key] for key in u]
    whole = [int((a - b).scaleb(4)) for a, b in zip(u, v, strict=True)]
    null = score([float(x) for x in u], [float(x) for x in v], pmf="summary").null
    is_symmetric(null)
    bins_are_exact(null, whole, Fraction(1, 10**4 * len(whole)))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(40))
def test_random_symmetric_tests_are_shown_symmetrically(seed: int) -> None:
    rng = random.Random(seed)
    n, most = rng.choice([1, 2, 3, 7, 11, 40, 150]), rng.choice([1, 3, 30, 999, 3_000])
    whole = [rng.randint(-most, most) for _ in range(n)]
    if not any(whole):
        whole[0] = 1
    null = effects(whole, pmf="summary").null
    is_symmetric(null)
    bins_are_exact(null, whole, Fraction(1))


@pytest.mark.parametrize(
    ("n", "most"), [(60, 10**9), (61, 10**12), (300, 10**6), (301, 10**6 + 1), (2000, 10**5)]
)
def test_nulls_in_cells_and_of_rounded_weights_are_symmetric(n: int, most: int) -> None:
    rng = random.Random(n)
    null: Any = effects([rng.randint(1, most) for _ in range(n)], pmf="summary").null
    is_symmetric(null)
    masses = [mass for _, mass in null.pmf]
    # Neighbouring bins of so many items are near to a smooth curve: no one holds a value more than others.
    for before, here, after in zip(masses, masses[1:], masses[2:], strict=False):
        if here > 1e-3:
            assert here == pytest.approx(0.5 * (before + after), rel=0.02)


@pytest.mark.parametrize("n", [3, 9, 40, 400])
def test_a_difference_of_f1_has_a_symmetric_null_listed_or_sampled(n: int) -> None:
    rng = random.Random(n)
    u, v = (
        {name: np.array([rng.randint(0, 9) for _ in range(n)]) for name in ("tp", "fp", "fn")} for _ in "uv"
    )
    is_symmetric(run_test(Counts(u, v), StatisticSpec("f1"), Options(), Budget()).null)


@pytest.mark.parametrize(
    ("stay", "points"), [([1_000_000_000, 1, 2], 8), ([10**12, 10**12, 3, 3, 1], 18), ([5, 5, 5], 4)]
)
def test_a_full_null_lists_its_values_and_not_its_range(stay: list[int], points: int) -> None:
    null: Any = effects(stay, pmf="full").null
    assert len(null.pmf) == points
    assert math.fsum(mass for _, mass in null.pmf) == pytest.approx(1.0, abs=1e-14)
    is_symmetric(null)


def test_many_items_of_few_enormous_effects_are_listed_in_full() -> None:
    null: Any = effects([10**9 + 7] * 90 + [3] * 80 + [1], pmf="full").null
    assert len(null.pmf) == 91 * 81 * 2
    is_symmetric(null)


# Floating-point dust: the warning names the p-value of what the scores were before the arithmetic.


def run(u: Column | Repeated, v: Column | Repeated, unit: str | None = None, **asked: Any) -> TestRecord:
    spec = StatisticSpec("mean_difference", {} if unit is None else {"unit": unit})
    return run_test(Scores(u, v), spec, Options(**asked), Budget())


def dust(record: TestRecord) -> str | None:
    return next((one.detail for one in record.warnings if one.code == "float_dust"), None)


def named(detail: str | None) -> float:
    assert detail is not None
    found = re.search(r"p would be ([0-9.e-]+)\.$", detail)
    assert found, detail
    return float(found[1])


@pytest.mark.slow
@pytest.mark.parametrize("n", [6, 20, 200, 2000])
@pytest.mark.parametrize("size", [3, 7, 30])
def test_means_of_ratings_are_recognised_as_fractions(n: int, size: int) -> None:
    rng = np.random.default_rng(n * size)
    u, v = rng.integers(0, 4 * size, n) / size, rng.integers(0, 4 * size, n) / size
    u[0], v[0] = 1 / size, 2 / size  # so that it is no coarser
    detail = dust(run(u, v))
    assert detail is not None
    assert f'"unit": "1/{size}"' in detail
    meant = run(u, v, f"1/{size}")
    assert named(detail) == pytest.approx(meant.p_value, rel=1e-5)
    assert dust(meant) is None


def test_sums_of_decimals_are_recognised_as_decimals() -> None:
    detail: Any = dust(run(np.array([0.1 + 0.2, 0.4, 0.1]), np.array([0.2, 0.3, 0.2])))
    assert detail.startswith("1 of 6 scores")
    assert '"decimals": 12' in detail
    assert named(detail) == 1.0


def test_single_precision_is_recognised() -> None:
    rng = np.random.default_rng(1)
    first, second = (rng.integers(0, 10, 12) / 10 for _ in "uv")
    u, v = (side.astype(np.float32).astype(np.float64) for side in (first, second))
    detail = dust(run(u, v))
    assert detail is not None
    assert "float32" in detail
    assert '"decimals": 1' in detail
    assert named(detail) == pytest.approx(run(first, second).p_value, rel=1e-5)


def test_thirds_that_were_printed_are_recognised() -> None:
    rng = random.Random(2)
    u, v = (np.array([round(rng.randint(0, 12) / 3, 6) for _ in range(30)]) for _ in "uv")
    detail = dust(run(u, v))
    assert detail is not None
    assert "printed with 6 decimals" in detail
    assert named(detail) == pytest.approx(run(u, v, "1/3").p_value, rel=1e-5)


def test_samples_have_dust_as_single_scores_do() -> None:
    values = np.array([0.1 + 0.2, 0.3, 0.7, 0.1, 0.2, 0.4])
    u = Repeated(values, np.array([2, 2, 2]))
    v = Repeated(np.array([0.25, 0.5, 0.125, 0.5, 0.25, 0.75]), u.lengths)
    detail = dust(run(u, v))
    assert detail is not None
    assert '"decimals": 12' in detail


@pytest.mark.parametrize("decimals", [1, 4, 6])
def test_decimals_and_integers_have_none(decimals: int) -> None:
    rng = np.random.default_rng(decimals)
    u, v = np.round(rng.random(100), decimals), np.round(rng.random(100), decimals)
    assert dust(run(u, v)) is None
    assert dust(run(np.arange(5), np.arange(5)[::-1].copy())) is None


def test_real_valued_scores_are_counted_and_nothing_is_made_up() -> None:
    rng = np.random.default_rng(3)
    detail = dust(run(rng.normal(size=30), rng.normal(size=30)))
    assert detail is not None
    assert "p would be" not in detail
    assert "16 or 17 significant digits" in detail
