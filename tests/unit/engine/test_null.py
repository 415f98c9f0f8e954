"""The null distribution: the oracle itself, tails, tables of short laws, and how it is shown."""

import math
import random
from collections import Counter
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import flint
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats

from exactperm.engine.binomial_tails import MOST_BY_RULE, exact_tail, exact_tails, upper_tails
from exactperm.engine.lattice import CanonicalForm, canonical_form
from exactperm.engine.one_sum import fft, rational, summary
from exactperm.engine.one_sum.fft import LONGEST, MAX_WEIGHT, have_tables, short_masses, short_sum
from exactperm.engine.one_sum.summary import MAX_BINS, Law, binned, law, law_of_sum, trimmed
from exactperm.engine.probability import Alternative, Probability, Region, region as region_of, ties_of

from .cases import cases, posed
from .exact_null import Case, Sums, check, counted, enumerated

# The oracle itself: its two ways agree, and it knows a wrong answer when it sees one.


@settings(max_examples=150)
@given(cases(max_items=9))
def test_counting_digits_gives_what_enumerating_every_assignment_gives(case: Case) -> None:
    assert counted(case) == enumerated(case)


def test_heavy_items_are_conditioned_upon_without_changing_the_count(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = [(3, -3), (5, 1), (40, -7), (2, 2), (900, 0), (1, -1)]
    whole = Sums(pairs)
    monkeypatch.setattr("tests.unit.engine.exact_null.MAX_BITS", 200)
    split = Sums(pairs)
    assert len(split.heavy) > 1
    reach = range(-100, 1000)
    assert [split.at_least(total) for total in reach] == [whole.at_least(total) for total in reach]


@pytest.mark.parametrize(
    "wrong",
    [
        Probability(math.log(0.1) + 2e-12, 1e-11),  # not close enough
        Probability(math.log(0.1) + 1e-14, 5e-15),  # close, but the certificate lies
        Probability(math.log(0.1), 1e-15, (1, 3)),  # another fraction
    ],
)
def test_the_check_refuses_what_breaks_a_promise(wrong: Probability) -> None:
    with pytest.raises(AssertionError):
        check(wrong, Fraction(1, 10), within=1e-12)
    check(Probability(math.log(0.1), 1e-15), Fraction(1, 10), within=1e-12)


# Tails of fair coins are within their error bounds of the exact fractions, wherever they are computed.


def exactly(n: int, k: int) -> Fraction:
    ways, term = 0, 1
    for i in range(n - k + 1):
        ways, term = ways + term, term * (n - i) // (i + 1)
    return Fraction(ways, 1 << n)


def log10_of(value: Fraction) -> flint.arb:
    return (flint.arb(value.numerator) / flint.arb(value.denominator)).log() / flint.arb(10).log()


@pytest.mark.parametrize("n", [0, 1, 2, 7, 53, 54, 200, 999, 1000, 1001, 1500, 3000])
def test_every_tail_is_within_its_bounds(n: int) -> None:
    step = max(n // 25, 1)
    heads = np.unique([*range(0, n + 1, step), *range(max(n // 2 - 3, 0), min(n // 2 + 4, n + 1)), n])
    tails = upper_tails(np.full(len(heads), n, dtype=np.int64), heads)
    with flint.ctx.workprec(300):
        for at, k in enumerate(heads.tolist()):
            true = exactly(n, k)
            if true >= Fraction(1, 1 << 1022):
                off = abs(Fraction(float(tails.p[at])) / true - 1)
                assert off <= Fraction(float(tails.error[at]))
                assert tails.error[at] <= 1.2e-13
            else:
                assert abs(float(tails.p[at]) - float(true)) <= 5e-324 * 1.01
            off_log = abs(flint.arb(float(tails.log10_p[at])) - log10_of(true))
            assert float(off_log.mid()) <= tails.log_error[at] / math.log(10.0)
            assert tails.log_error[at] <= 1e-12 + 1e-15 * abs(float(tails.log10_p[at])) * math.log(10.0) * 2


def test_a_million_coins_agree_with_scipy() -> None:
    n, heads = 1_000_000, np.array([500_000, 500_500, 502_000, 505_000, 515_000, 499_000])
    tails = upper_tails(np.full(len(heads), n, dtype=np.int64), heads)
    np.testing.assert_allclose(tails.p, stats.binom.sf(heads - 1, n, 0.5), rtol=1e-7)
    assert tails.error.max() < 1e-12


def test_rule_and_series_meet() -> None:
    n = np.array([MOST_BY_RULE, MOST_BY_RULE + 1, MOST_BY_RULE + 1], dtype=np.int64)
    k = np.array([560, 560, 561], dtype=np.int64)
    at, beyond, farther = upper_tails(n, k).p
    # Pascal's rule in the other direction: P(X' >= 561) + P(X >= 560) is twice P(X' >= 561) of one more coin.
    one_less = float(exactly(MOST_BY_RULE, 561))
    assert farther == pytest.approx(0.5 * (at + one_less), rel=1e-12)
    assert beyond > farther


def test_a_million_of_one_kind_has_a_logarithm_where_p_has_none() -> None:
    tails = upper_tails(np.array([1_000_000]), np.array([1_000_000]))
    assert tails.p[0] == 5e-324
    assert tails.log10_p[0] == pytest.approx(-1_000_000 * math.log10(2.0), rel=1e-14)


@pytest.mark.parametrize("n", [0, 1, 6, 31])
def test_exact_tails(n: int) -> None:
    listed = exact_tails(n)
    assert [Fraction(tail, 1 << n) for tail in listed] == [exactly(n, n - i) for i in range(n + 1)]
    assert [exact_tail(n, k) for k in range(n, -1, -1)] == listed


# Short laws from tables against counted ways: each sum within its bound, each mass, and where tables are not used.


def ways_to(form: CanonicalForm) -> list[int]:
    """In how many ways T takes each value: one item after the other is added."""
    ways = [1] + [0] * form.range
    for weight, count in zip(form.weights.tolist(), form.counts.tolist(), strict=True):
        for _ in range(count):
            ways = [way + (ways[at - weight] if at >= weight else 0) for at, way in enumerate(ways)]
    return ways


def drawn(generator: np.random.Generator) -> CanonicalForm:
    """Small integers with many zeros; now and then nearly all even, or with one heavy item."""
    items, largest = int(generator.integers(12, 260)), int(generator.integers(1, 9))
    values = generator.integers(-largest, largest + 1, items) * (generator.random(items) < generator.random())
    if generator.random() < 0.3:
        values = 2 * values
        values[0] = 1
    if generator.random() < 0.3:
        values[1] = int(generator.integers(1, MAX_WEIGHT + 1))
    return canonical_form(values, -values if generator.random() < 0.5 else None)


def distance(found: Probability, truth: Fraction) -> float:
    """|p - truth| as a share of p."""
    return float(abs(Fraction(math.exp(found.log_p)) / truth - 1))


@pytest.mark.parametrize("seed", range(40))
def test_sums_over_intervals_are_within_their_bounds_and_masses_are_right(seed: int) -> None:
    generator = np.random.default_rng(seed)
    form = drawn(generator)
    if not have_tables(form):
        assert form.range == 0 or form.range >= LONGEST or form.weights[-1] > MAX_WEIGHT
        return
    ways, all_ways = ways_to(form), 1 << form.nonzero
    assert np.abs(short_masses(form) - np.array([way / all_ways for way in ways])).max() < 2e-15
    for _ in range(30):
        low = int(np.clip(generator.normal(form.range / 2, 1.5 * math.sqrt(form.variance)), 0, form.range))
        high = int(generator.choice(np.array([low, form.range, generator.integers(low, form.range + 1)])))
        found, truth = short_sum(form, low, high), Fraction(sum(ways[low : high + 1]), all_ways)
        if truth == 0 or math.isinf(found.relative_error_bound):
            assert truth < 1e-13
            continue
        rounded_here = 4e-16 * (1.0 + abs(found.log_p))
        assert distance(found, truth) <= found.relative_error_bound + rounded_here
        if truth > 1e-2:
            assert found.relative_error_bound < 1e-11


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_a_p_value_and_its_ties_by_tables_are_those_of_counted_ways(
    seed: int, alternative: Alternative
) -> None:
    generator = np.random.default_rng(100 + seed)
    form = drawn(generator)
    observed = (
        form.offset + form.step * int(generator.binomial(form.range, 0.5)) if form.range else form.offset
    )
    region = region_of(form, observed, alternative)
    ties = ties_of(form, observed, alternative)
    found = fft.with_ties(form, region, ties)
    counted = rational.with_ties(form, region, ties)
    for mine, truth in zip(found, counted, strict=True):
        if truth.fraction is None or truth.p < 1e-9:
            continue
        exact = Fraction(truth.fraction[0], 1 << truth.fraction[1])
        assert distance(mine, exact) <= mine.relative_error_bound + 4e-16 * (1.0 + abs(mine.log_p))
        assert mine.relative_error_bound < 1e-8


def test_deep_tails_are_tilted_and_keep_their_digits() -> None:
    form = canonical_form(np.array([1] * 400 + [2] * 100))
    far = Region(((form.range - 150, form.range),))
    assert have_tables(form)
    assert not fft.is_tabled(form, far)
    found, truth = fft.probability(form, far), rational.probability(form, far)
    assert truth.fraction is not None
    assert truth.p < 1e-20
    assert distance(found, Fraction(truth.fraction[0], 1 << truth.fraction[1])) < 1e-11


@pytest.mark.parametrize(
    ("values", "tabled"),
    [
        ([0, 0], False),
        ([MAX_WEIGHT, 1], True),
        ([MAX_WEIGHT + 1, 1], False),
        ([1] * (LONGEST - 1), True),
        ([1] * LONGEST, False),
    ],
)
def test_where_tables_end(values: list[int], tabled: bool) -> None:
    form = canonical_form(np.array(values))
    assert have_tables(form) is tabled
    if form.range:
        shown: Any = law(form)
        assert math.isclose(float(shown.masses.sum()), 1.0, rel_tol=1e-12)
        assert shown.mean() == pytest.approx(form.range / 2)
        assert shown.sd() == pytest.approx(math.sqrt(form.variance))


def test_a_law_with_gaps_at_its_middle_is_counted_whole() -> None:
    """Far apart: FLINT's polynomial ends before the middle, where there is nothing."""
    form = canonical_form(np.array([1] * 12 + [200]))
    ways = ways_to(form)
    shown: Any = law(form)
    assert shown.masses.tolist() == [way / (1 << form.nonzero) for way in ways]
    middle = Region(((form.range // 2 - 95, form.range // 2 + 95),))
    assert rational.probability(form, middle).p == sum(
        ways[middle.intervals[0][0] : middle.intervals[0][1] + 1]
    ) / (1 << form.nonzero)


# The null distribution as it is shown: probabilities, moments, quantiles and bins against brute force.


CLOSE = 1e-14
QUANTILES = (0.005, 0.025, 0.05, 0.25, 0.5, 0.75, 0.95, 0.975, 0.995)


def exact_law(case: Case, *, absolute: bool = False) -> dict[int, Fraction]:
    """P(S = s), or P(|S| = s), by adding items one by one in integers."""
    ways = Counter({0: 1})
    for stay, swap in case.pairs:
        after: Counter[int] = Counter()
        for total, number in ways.items():
            after[total + stay] += number
            after[total + swap] += number
        ways = after
    if absolute:
        folded: Counter[int] = Counter()
        for total, number in ways.items():
            folded[abs(total)] += number
        ways = folded
    return {total: Fraction(ways[total], 2 ** len(case.stay)) for total in sorted(ways)}


def assert_same_law(result: Law | None, truth: Mapping[int, Fraction]) -> None:
    assert result is not None
    assert result.width == 1
    values = result.values.tolist()
    assert values == sorted(set(values))
    masses = dict(zip(values, result.masses.tolist(), strict=True))
    for value in masses.keys() | truth.keys():
        assert abs(masses.get(value, 0.0) - float(truth.get(value, 0))) <= CLOSE
    assert math.fsum(masses.values()) == pytest.approx(1.0, abs=1e-13)


@pytest.mark.parametrize("absolute", [False, True])
@settings(max_examples=120)
@given(case=cases(max_items=11))
def test_probabilities_sum_to_one_and_are_those_of_brute_force(absolute: bool, case: Case) -> None:
    form, _ = posed(case)
    assert_same_law(law_of_sum(form, absolute=absolute), exact_law(case, absolute=absolute))


@pytest.mark.parametrize("absolute", [False, True])
@settings(max_examples=120)
@given(case=cases(max_items=10))
def test_moments_and_quantiles_are_those_of_brute_force(absolute: bool, case: Case) -> None:
    form, _ = posed(case)
    result, truth = law_of_sum(form, absolute=absolute), exact_law(case, absolute=absolute)
    assert result is not None
    mean = sum((value * p for value, p in truth.items()), Fraction(0))
    variance = sum((value * value * p for value, p in truth.items()), Fraction(0)) - mean * mean
    size = max(abs(value) for value in truth) or 1
    assert result.mean() == pytest.approx(float(mean), abs=1e-12 * size)
    assert result.sd() == pytest.approx(math.sqrt(variance), rel=1e-6, abs=1e-7 * size)
    for q in QUANTILES:
        assert result.quantile(q) == exact_quantile(truth, Fraction(str(q)))


def exact_quantile(truth: Mapping[int, Fraction], q: Fraction) -> Fraction:
    """The mean of the smallest value that reaches q and the smallest that exceeds it."""
    ends, reached = [], Fraction(0)
    for value, p in truth.items():
        before, reached = reached, reached + p
        ends += [value] * ((before < q <= reached) + (before <= q < reached))
    return Fraction(sum(ends), 2)


@pytest.mark.slow
@pytest.mark.parametrize("n", [40, 400, 4000])
def test_a_long_null_has_the_binomial_law(n: int) -> None:
    form = canonical_form(np.ones(n, dtype=np.int64))
    result: Any = law_of_sum(form)
    truth = {2 * k - n: Fraction(math.comb(n, k), 2**n) for k in range(n + 1)}
    shown = dict(zip(result.values.tolist(), result.masses.tolist(), strict=True))
    for value, p in truth.items():
        assert abs(shown.get(value, 0.0) - float(p)) <= CLOSE
    assert result.mean() == pytest.approx(0.0, abs=1e-9)
    assert result.sd() == pytest.approx(math.sqrt(n), rel=1e-9)
    assert [result.quantile(q) for q in QUANTILES] == [
        exact_quantile(truth, Fraction(str(q))) for q in QUANTILES
    ]


@pytest.mark.parametrize("heavy", [[10**6], [10**9, 3 * 10**9], [10**7, 10**7, 10**7]])
def test_a_null_with_outliers_is_listed_around_each_of_their_sums(heavy: list[int]) -> None:
    rng = random.Random("outliers")
    case = Case((*(rng.randint(1, 9) for _ in range(25)), *heavy))
    form, _ = posed(case)
    for absolute in (False, True):
        assert_same_law(law_of_sum(form, absolute=absolute), exact_law(case, absolute=absolute))


@pytest.mark.slow
@pytest.mark.parametrize("n", [12, 18])
def test_a_few_enormous_weights_are_listed_sum_by_sum(n: int) -> None:
    rng = random.Random("enormous")
    case = Case(tuple(rng.randint(10**8, 10**9) for _ in range(n)))
    form, _ = posed(case)
    assert_same_law(law_of_sum(form), exact_law(case))


def test_a_window_that_is_far_too_long_is_pictured_on_a_rounded_lattice() -> None:
    rng = random.Random("too long")
    weights = [rng.randint(10**11, 10**12) for _ in range(60)]
    form = canonical_form(np.array(weights, dtype=np.int64))
    result: Any = law(form)
    sd = math.sqrt(sum(weight * weight for weight in weights) / form.step**2)
    assert abs(result.masses.sum() - 1.0) < 1e-9
    assert abs(result.mean() - form.range / 2) < 0.01 * sd
    assert abs(result.sd() / sd - 1.0) < 0.01
    # Sixty coins are near enough to normal for its quantile.
    assert abs((form.range / 2 - result.quantile(0.025)) / sd - 1.96) < 0.05


def drawn_of_summary(name: str, n: int, most: int) -> list[int]:
    rng = random.Random(name)
    return [rng.randint(1, most) for _ in range(n)]


def fine_and_coarse(form: CanonicalForm, monkeypatch: pytest.MonkeyPatch) -> tuple[Law, Law]:
    monkeypatch.setattr(summary, "FINE_POINTS", 1 << 24)
    monkeypatch.setattr(summary, "MAX_POINTS", 1 << 24)
    fine: Any = law(form)
    monkeypatch.setattr(summary, "FINE_POINTS", 1 << 14)
    monkeypatch.setattr(summary, "GRID_CELLS", 1 << 12)
    coarse: Any = law(form)
    assert fine.width == 1
    assert coarse.width > 1
    return fine, coarse


@pytest.mark.slow
@pytest.mark.parametrize("n", [60, 900])
def test_cells_of_a_long_window_add_up_the_points_of_a_fine_one(
    n: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    form = canonical_form(np.array(drawn_of_summary("coarse", n, 10_000), dtype=np.int64))
    fine, coarse = fine_and_coarse(form, monkeypatch)
    edges = np.append(coarse.values, coarse.values[-1] + coarse.width)
    reached = np.append(0.0, np.cumsum(fine.masses))
    expected = np.diff(reached[np.searchsorted(fine.values, edges)])
    # Every fine point below 1e-15 is shown as nothing, and a cell holds `width` of them.
    assert np.abs(coarse.masses - expected).max() <= 1e-13 + 1e-15 * coarse.width


@pytest.mark.slow
@pytest.mark.parametrize("outliers", [[], [3_000_000], [3_000_001, 7_000_003]])
def test_a_coarse_picture_has_the_quantiles_and_moments_of_the_fine_one_to_its_width(
    outliers: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    form = canonical_form(np.array(drawn_of_summary("moments", 300, 10_000) + outliers, dtype=np.int64))
    fine, coarse = fine_and_coarse(form, monkeypatch)
    assert coarse.masses.sum() == pytest.approx(1.0, abs=1e-12)
    assert coarse.sd() == pytest.approx(fine.sd(), rel=1e-3)
    assert abs(coarse.mean() - fine.mean()) <= coarse.width
    for q in QUANTILES:
        if outliers and q in {0.25, 0.5, 0.75}:
            continue  # between two humps, where next to no mass is, any value would do
        assert abs(coarse.quantile(q) - fine.quantile(q)) <= coarse.width


@pytest.mark.slow
def test_a_long_window_is_shown_in_cells_without_being_asked_to() -> None:
    rng = random.Random("long")
    stay = np.array([rng.randint(1, 200_000) for _ in range(200)], dtype=np.int64)
    result: Any = law_of_sum(canonical_form(stay))
    assert result.width > 1
    assert result.masses.sum() == pytest.approx(1.0, abs=1e-12)
    assert result.sd() == pytest.approx(math.sqrt(float((stay.astype(float) ** 2).sum())), rel=1e-4)
    assert abs(result.quantile(0.5)) <= 2 * result.width


@settings(max_examples=60)
@given(
    st.dictionaries(st.integers(-5000, 5000), st.integers(1, 100), min_size=1, max_size=60),
    st.sampled_from([1, 2, 3, 10]),
    st.integers(1, MAX_BINS),
)
def test_bins_are_at_most_as_many_as_allowed_and_lose_nothing(
    weights: dict[int, int], spacing: int, most: int
) -> None:
    values = np.array(sorted(spacing * value for value in weights), dtype=np.int64)
    masses = np.array([weights[value // spacing] for value in values.tolist()], dtype=np.float64)
    masses /= masses.sum()
    bins = binned(Law(values, masses), spacing, most)
    assert 1 <= len(bins.first) <= most
    assert bins.width % spacing == 0
    for first, mass in zip(bins.first.tolist(), bins.masses.tolist(), strict=True):
        inside = (values >= first) & (values < first + bins.width)
        assert mass == pytest.approx(masses[inside].sum(), rel=1e-12)
        assert (first - int(bins.first[0])) % bins.width == 0
    # Empty bins are left out, so that what is over at either end is known to a bin.
    over = int(values[0]) - int(bins.first[0])
    assert (int(bins.first[-1]) + bins.width - spacing - int(values[-1]) - over) % bins.width == 0
    assert bins.masses.sum() == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize("n", [1, 5, 199, 200, 201, 402, 10_000])
def test_the_summary_has_at_most_201_bins_and_nearly_all_of_the_mass(n: int) -> None:
    form = canonical_form(np.ones(n, dtype=np.int64))
    result = law_of_sum(form)
    assert result is not None
    bins = binned(trimmed(result), form.step)
    assert len(bins.first) <= 201
    assert bins.masses.sum() == pytest.approx(1.0, abs=1e-11)
    if n <= 40:
        assert len(bins.first) == n + 1


def test_trimming_removes_negligible_mass_from_either_end() -> None:
    form = canonical_form(np.ones(2000, dtype=np.int64))
    result: Any = law_of_sum(form)
    kept = trimmed(result)
    assert len(kept.values) < len(result.values)
    outside = (result.values < kept.values[0]) | (result.values > kept.values[-1])
    assert result.masses[outside].sum() <= 3e-12
    assert (kept.masses > 0.0).all()


def test_identical_systems_have_all_their_mass_at_the_one_sum() -> None:
    form: CanonicalForm = canonical_form(np.array([4, -1], dtype=np.int64), np.array([4, -1], dtype=np.int64))
    assert_same_law(law_of_sum(form), {3: Fraction(1)})
