"""The exact methods agree with the oracle: dp, fft, regions, frequencies, many sums at once."""

import dataclasses
import itertools
import math
import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from exactperm.engine.lattice import CanonicalForm, canonical_form, sum_by_cluster
from exactperm.engine.one_sum import dp, fft, many, methods, rational
from exactperm.engine.one_sum.heavy_weights import window_length
from exactperm.engine.one_sum.methods import EXACT_METHODS, FRACTION_METHODS
from exactperm.engine.one_sum.spectrum import Spectrum, spectrum, widest_block
from exactperm.engine.one_sum.tilt import Tilt, tilt_towards
from exactperm.engine.probability import (
    CERTAIN,
    Alternative,
    Probability,
    Region,
    add,
    from_fraction,
    region,
    ties_of,
)

from .cases import FAMILIES, cases, generated, log_uniform, posed
from .exact_null import Case, Sums, check, enumerated, exact_p, log10, miss

# Every exact method against the definition, on anything hypothesis comes up with.


CLOSE = 1e-12
# Up to here the windows stay short, so that trying every method of a case stays quick.
RANGE = 300_000


@pytest.mark.slow
@pytest.mark.parametrize("method", EXACT_METHODS)
@settings(max_examples=150)
@given(case=cases(max_items=10))
def test_a_method_gives_the_proportion_of_assignments(method: str, case: Case) -> None:
    form, tail = posed(case)
    check(methods.exact_probability(method, form, tail), enumerated(case), within=CLOSE)


@pytest.mark.parametrize("method", ["fft", "dp", "rational"])
@settings(max_examples=100)
@given(case=cases(max_items=60))
def test_a_method_gives_the_counted_proportion_for_more_items(method: str, case: Case) -> None:
    form, tail = posed(case)
    if form.range <= RANGE:
        check(methods.exact_probability(method, form, tail), exact_p(case), within=CLOSE)


@pytest.mark.parametrize("method", FRACTION_METHODS)
@settings(max_examples=60)
@given(case=cases(max_items=14))
def test_the_exact_methods_carry_the_fraction_in_lowest_terms(method: str, case: Case) -> None:
    form, tail = posed(case)
    result: Any = methods.exact_probability(method, form, tail)
    numerator, log2_denominator = result.fraction
    truth = exact_p(case)
    assert (numerator, 2**log2_denominator) == (truth.numerator, truth.denominator)
    # Division of integers rounds once, which is the nearest double to the truth.
    assert result.p == float(truth)


@pytest.mark.parametrize("method", ["fft", "dp"])
@settings(max_examples=100)
@given(
    weights=st.lists(st.integers(0, 30), min_size=1, max_size=14),
    ends=st.tuples(st.integers(0, 400), st.integers(0, 400)),
)
def test_a_single_interval_anywhere_in_the_null_is_right(
    method: str, weights: list[int], ends: tuple[int, int]
) -> None:
    form = canonical_form(np.array(weights, dtype=np.int64))
    low, high = sorted(end % (form.range + 1) for end in ends)
    truth = between(weights, form.offset + form.step * low, form.offset + form.step * high)
    if truth:
        check(methods.exact_probability(method, form, Region(((low, high),))), truth, within=CLOSE)


def between(weights: list[int], low: int, high: int) -> Fraction:
    sums = Sums([(w, -w) for w in weights])
    return Fraction(sums.at_least(low) - sums.at_least(high + 1), sums.all)


@settings(max_examples=100)
@given(cases(max_items=12))
def test_the_one_sided_tails_share_the_observed_sum_and_nothing_else(case: Case) -> None:
    """P(S >= x) + P(S <= x) = 1 + P(S = x)."""
    p = {}
    for alternative in ("greater", "less"):
        posed_case = dataclasses.replace(case, alternative=alternative, absolute=False)
        form, tail = posed(posed_case)
        fraction: Any = methods.exact_probability("enumeration", form, tail).fraction
        p[alternative] = Fraction(fraction[0], 2 ** fraction[1])
    at = sum(1 for total in all_sums(case) if total == case.observed)
    assert p["greater"] + p["less"] == 1 + Fraction(at, 2 ** len(case.stay))


def all_sums(case: Case) -> list[int]:
    sums = [0]
    for stay, swap in case.pairs:
        sums = [total + stay for total in sums] + [total + swap for total in sums]
    return sums


@settings(max_examples=150)
@given(st.data())
def test_items_of_a_cluster_swap_together(data: st.DataObject) -> None:
    case = data.draw(cases(max_items=14))
    codes = data.draw(st.lists(st.integers(0, 5), min_size=len(case.stay), max_size=len(case.stay)))
    names = sorted(set(codes))
    together = [
        (
            sum(pair[0] for pair, code in zip(case.pairs, codes, strict=True) if code == name),
            sum(pair[1] for pair, code in zip(case.pairs, codes, strict=True) if code == name),
        )
        for name in names
    ]
    merged = dataclasses.replace(
        case, stay=tuple(pair[0] for pair in together), swap=tuple(pair[1] for pair in together)
    )
    index = np.array([names.index(code) for code in codes], dtype=np.int64)
    stay, swap = (
        sum_by_cluster(np.array(column, dtype=np.int64), index, len(names))
        for column in zip(*case.pairs, strict=True)
    )
    form = canonical_form(stay, swap)
    tail = region(form, case.observed, case.alternative, absolute=case.absolute)
    for method in ("fft", "dp", "rational") if form.range <= RANGE else ("enumeration",):
        check(methods.exact_probability(method, form, tail), enumerated(merged), within=CLOSE)


@pytest.mark.parametrize("coins", [1, 2, 3, 64, 488, rational.FEW_COINS, rational.FEW_COINS + 1])
def test_coins_alone_have_binomial_tails_and_ties(coins: int) -> None:
    form = canonical_form(np.ones(coins, dtype=np.int64))
    near = {0, min(7, coins - 1), *((coins // 3, coins // 2) if coins < 500 else ())}
    for high in {*near, coins - 1 - min(near), coins - 1 - max(near)}:
        below, above = range(high + 1), range(high + 1, coins + 1)
        few = sum(math.comb(coins, heads) for heads in min(below, above, key=len))
        tail = few if len(below) <= len(above) else 2**coins - few
        inside, tied = rational.with_ties(form, Region(((0, high),)), (high,))
        assert fraction_of(inside) == Fraction(tail, 2**coins)
        assert fraction_of(tied) == Fraction(math.comb(coins, high), 2**coins)


def fraction_of(probability: Probability) -> Fraction:
    assert probability.fraction is not None
    return Fraction(probability.fraction[0], 2 ** probability.fraction[1])


@given(
    light=st.lists(st.integers(-3, 3), min_size=1, max_size=6),
    heavy=st.lists(st.integers(10**6, 10**12), min_size=1, max_size=4),
    alternative=st.sampled_from(["two-sided", "greater"]),
)
def test_ties_of_a_certain_value_cost_no_window_of_the_heavy_weights(
    light: list[int], heavy: list[int], alternative: Any
) -> None:
    """p = 1 costs nothing, and its mid-p-value no more than the planned transform: a window of 10**12 would not be answered."""
    effects = np.array([*light, *heavy, *(-weight for weight in heavy)], dtype=np.int64)
    form = canonical_form(effects)
    observed = 0 if alternative == "two-sided" else form.offset
    if (observed - form.offset) % form.step:
        observed = form.offset + form.step * (form.range // 2)
    extreme, ties = region(form, observed, alternative), ties_of(form, observed, alternative)
    found, tied = methods.with_ties("fft", form, extreme, ties)
    expected = methods.with_ties("enumeration", form, extreme, ties)
    assert found.p == pytest.approx(expected[0].p, rel=1e-9)
    # A single assignment may be below what a window resolves; then it says so.
    assert abs(tied.p - expected[1].p) <= 1e-12 + tied.relative_error_bound * tied.p


# `dp` on regions that touch neither end, on blocks of scaled cells, and where the cells hold next to nothing.


PROVEN = 1e-6


def ways_of(form: CanonicalForm) -> list[int]:
    """Counts of every T, by definition."""
    counts = [1]
    for weight, count in zip(form.weights.tolist(), form.counts.tolist(), strict=True):
        for _ in range(count):
            counts = [a + b for a, b in itertools.zip_longest(counts, [0] * weight + counts, fillvalue=0)]
    return counts


def off_by(form: CanonicalForm, region: Region, ways: list[int]) -> tuple[float, float]:
    """The relative error of log p, and its bound."""
    result = dp.probability(form, region)
    inside = sum(sum(ways[low : high + 1]) for low, high in region.intervals)
    if inside == 0:
        return 0.0, result.relative_error_bound
    truth = (
        math.log(Fraction(inside, 2**form.nonzero))
        if form.nonzero < 1000
        else (math.log(inside) - form.nonzero * math.log(2.0))
    )
    slack = 4.0 * 2.0**-53 * (1.0 + abs(truth) + (form.nonzero if form.nonzero >= 1000 else 0))
    return max(abs(math.expm1(result.log_p - truth)) - slack, 0.0), result.relative_error_bound


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_any_interval_agrees_with_the_counts(data: st.DataObject) -> None:
    weights = data.draw(st.lists(st.integers(1, 30), min_size=1, max_size=40))
    form = canonical_form(np.array(weights))
    low = data.draw(st.integers(0, form.range))
    high = data.draw(st.integers(low, form.range))
    if (low, high) == (0, form.range):
        return
    error, bound = off_by(form, Region(((low, high),)), ways_of(form))
    assert error <= bound


@pytest.mark.parametrize("tile", [1, 7, 64])
@pytest.mark.parametrize("bits", [4, 256])
def test_blocks_and_tiles_change_nothing(monkeypatch: pytest.MonkeyPatch, tile: int, bits: int) -> None:
    form = canonical_form(np.array([3, 5, 5, 11, 2, 29, 7, 7, 1, 16, 4, 9]))
    ways = ways_of(form)
    whole = {}
    for low, high in itertools.product(
        range(0, form.range + 1, 5), (form.range // 2, form.range - 3, form.range)
    ):
        if 0 < low <= high:
            whole[low, high] = dp.probability(form, Region(((low, high),)))
    monkeypatch.setattr(dp, "TILE", tile)
    monkeypatch.setattr(dp, "_BITS", bits)
    for interval, before in whole.items():
        again = dp.probability(form, Region((interval,)))
        assert again.log_p == pytest.approx(before.log_p, abs=1e-12)
        error, bound = off_by(form, Region((interval,)), ways)
        assert error <= bound


def test_thousands_of_items_take_many_blocks_and_lose_nothing() -> None:
    form = canonical_form(np.array([1] * 3000 + [2] * 500))
    ways = rational.counting_polynomial(form)
    for low in (2001, 2500, 3000, 3900):
        inside = sum(int(ways[value]) for value in range(low, form.range + 1))
        truth = math.log(inside) - form.nonzero * math.log(2.0)
        result = dp.probability(form, Region(((low, form.range),)))
        assert result.log_p == pytest.approx(truth, rel=1e-13)
        assert result.relative_error_bound < 1e-11


def test_a_region_with_negligible_mass_in_the_cells_is_not_certified() -> None:
    """Between the two humps of one heavy item and many light ones: what underflows there is all there is."""
    form = canonical_form(np.array([100_000] + [1] * 4000))
    gap = dp.probability(form, Region(((20_000, 80_000),)))
    assert gap.relative_error_bound > PROVEN
    edge = dp.probability(form, Region(((4_000, 100_000),)))
    assert edge.relative_error_bound > PROVEN


# Which values of T are at least as extreme: the definition, value by value.


@settings(max_examples=300)
@given(
    st.lists(st.tuples(st.integers(-9, 9), st.integers(-9, 9)), min_size=1, max_size=8),
    st.sampled_from(["two-sided", "greater", "less"]),
    st.booleans(),
)
def test_a_value_is_in_the_region_exactly_when_it_is_as_extreme(
    pairs: list[tuple[int, int]], alternative: Alternative, absolute: bool
) -> None:
    stay, swap = zip(*pairs, strict=True)
    case = Case(stay, swap, alternative, absolute)
    form, tail = posed(case)
    for t in range(form.range + 1):
        inside = any(low <= t <= high for low, high in tail.intervals)
        assert inside == case.extreme(form.offset + form.step * t)


@given(cases(max_items=20))
def test_intervals_are_ascending_disjoint_and_inside_the_support(case: Case) -> None:
    form, tail = posed(case)
    assert tail.intervals
    ends = [end for interval in tail.intervals for end in interval]
    assert ends == sorted(ends)
    assert ends[0] >= 0
    assert ends[-1] <= form.range
    assert all(
        after[0] > before[1] + 1 for before, after in zip(tail.intervals, tail.intervals[1:], strict=False)
    )


@given(st.integers(1, 2**80), st.integers(0, 3000))
def test_a_fraction_is_reduced_and_its_logarithm_right(numerator: int, log2_denominator: int) -> None:
    log2_denominator = max(log2_denominator, numerator.bit_length())
    truth = Fraction(numerator, 2**log2_denominator)
    result = from_fraction(numerator, log2_denominator)
    assert result.fraction == (truth.numerator, truth.denominator.bit_length() - 1)
    assert miss(result, truth).relative <= result.relative_error_bound


@pytest.mark.parametrize("below_one", [1, 3, 2**40])
def test_a_fraction_next_to_one_keeps_its_distance_from_one(below_one: int) -> None:
    result = from_fraction(2**100 - below_one, 100)
    assert result.log_p == pytest.approx(-below_one / 2.0**100, rel=1e-9)


def test_p_is_never_zero_and_its_logarithm_says_how_small() -> None:
    tiny = Probability(-1e6, 1e-9)
    assert tiny.p == math.ulp(0.0)
    assert tiny.log10_p == pytest.approx(-1e6 / math.log(10), rel=1e-15)
    assert from_fraction(1, 10**6).p == math.ulp(0.0)
    assert CERTAIN.p == 1.0


@given(st.lists(st.tuples(st.integers(1, 2**60), st.integers(0, 1100)), min_size=1, max_size=5))
def test_sums_of_disjoint_events_stay_within_the_bound_of_the_sum(parts: list[tuple[int, int]]) -> None:
    truth = sum((Fraction(top, 2 ** (70 + depth)) for top, depth in parts), Fraction(0))
    exact: Any = add([from_fraction(top, 70 + depth) for top, depth in parts])
    assert Fraction(exact.fraction[0], 2 ** exact.fraction[1]) == truth
    rounded = [from_fraction(top, 70 + depth) for top, depth in parts]
    logs = [Probability(part.log_p, 2.0**-52 * (1 + abs(part.log_p))) for part in rounded]
    total = add(logs)
    assert miss(total, truth).relative <= total.relative_error_bound


# Frequencies that `fft` drops are negligible, whether they were judged by themselves or in blocks.


def ranks(generator: np.random.Generator, n: int) -> CanonicalForm:
    """Differences of ranks, as an AUC has them: many weights, from very small to very large."""
    u, v = (np.argsort(np.argsort(generator.normal(size=n))) for _ in range(2))
    return canonical_form(u - v)


def multiples(generator: np.random.Generator, n: int) -> CanonicalForm:
    """Weights that are nearly all multiples of twelve: moduli return where the frequency is a twelfth."""
    weights = 12 * generator.integers(1, n, n)
    weights[:3] += 1
    return canonical_form(weights)


def few_light(generator: np.random.Generator, n: int) -> CanonicalForm:
    """Some light weights, and heavy ones that say little of wide blocks."""
    return canonical_form(np.concatenate([np.arange(1, 20), generator.integers(2 * n, 3 * n, n)]))


def all_log_moduli(
    form: CanonicalForm, law: Tilt, length: int
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """log|phi_c| at 0 <= f <= length / 2 from its definition, shape (length // 2 + 1,)."""
    total = np.zeros(length // 2 + 1)
    for weight, count in zip(form.weights.tolist(), form.counts.tolist(), strict=True):
        angle = np.pi / length * (np.arange(len(total)) * weight % (2 * length))
        tilted = np.exp(0.5 * law.theta * weight)
        factor = tilted * np.exp(1j * angle) + np.exp(-1j * angle) / tilted
        total += count * np.log(np.maximum(np.abs(factor) / (tilted + 1.0 / tilted), 1e-300))
    return total


def dropped_properly(form: CanonicalForm, law: Tilt, length: int) -> Spectrum:
    phi = spectrum(form, law, length)
    truth = all_log_moduli(form, law, length)
    assert (np.diff(phi.frequencies) > 0).all()
    assert phi.dropped + len(phi.frequencies) == len(truth)
    assert np.delete(truth, phi.frequencies).max() < -phi.dropped_below + 1e-6
    assert np.allclose(phi.log_modulus, truth[phi.frequencies], rtol=1e-9, atol=1e-9)
    return phi


@pytest.mark.parametrize("made", [ranks, multiples, few_light])
@pytest.mark.parametrize("sds", [0.0, 2.0, 8.0])
def test_mass_dropped_by_blocks_is_negligible(made: object, sds: float) -> None:
    assert callable(made)
    form = made(np.random.default_rng(5), 200)
    length = window_length(form) | 1
    assert widest_block(form, length) > 1
    target = int(form.range / 2 + sds * form.variance**0.5)
    dropped_properly(form, tilt_towards(form, target), length)


def test_lengths_that_no_block_divides_lose_no_frequency() -> None:
    form = ranks(np.random.default_rng(6), 120)
    law = tilt_towards(form, int(form.range / 2 + form.variance**0.5))
    lengths = range(window_length(form) | 1, (window_length(form) | 1) + 12, 2)
    retained = {tuple(dropped_properly(form, law, length).frequencies.tolist()) for length in lengths}
    assert len(retained) == 1


@pytest.mark.parametrize("made", [ranks, multiples])
def test_p_values_by_blocks_are_those_of_the_shift_algorithm(made: object) -> None:
    assert callable(made)
    form = made(np.random.default_rng(7), 120)
    for sds in (0.5, 2.0, 5.0):
        region = Region(((int(form.range / 2 + sds * form.variance**0.5), form.range),))
        found, exact = fft.probability(form, region), dp.probability(form, region)
        bound = found.relative_error_bound + exact.relative_error_bound
        assert bound < 1e-9
        assert abs(found.log_p - exact.log_p) <= bound


# Over 3,900 seeded cases from p = 1 to below 1e-400: how close `fft` and `dp` are, and that they know it.


# dp visits every lattice point up to the threshold, so it is not run on huge weights.
DP_RANGE = 400_000
SMALL, MEDIUM, LARGE = (1, 12, 200), (13, 90, 200), (91, 420, 35)
# Long enough for 2**-n to be below 1e-300; the families whose oracle stays quick at this size.
DEEP_FAMILIES = ("0-1", "small counts", "sentences", "two sizes", "even only", "one huge")


def sweep(family: str, least: int, most: int, count: int) -> list[Case]:
    rng = random.Random(f"{family} {least} {most}")
    return [generated(rng, FAMILIES[family](rng, log_uniform(rng, least, most))) for _ in range(count)]


@pytest.mark.slow
@pytest.mark.parametrize("size", [SMALL, MEDIUM, LARGE], ids=["1 to 12", "13 to 90", "91 to 420"])
@pytest.mark.parametrize("family", FAMILIES)
def test_fft_and_dp_are_within_1e_12_and_below_their_own_bounds(
    family: str, size: tuple[int, int, int]
) -> None:
    check_all(sweep(family, *size))


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
@pytest.mark.parametrize("family", DEEP_FAMILIES)
def test_the_promises_hold_where_p_underflows(family: str, part: int) -> None:
    rng = random.Random(f"deep {family} {part}")
    result = [generated(rng, FAMILIES[family](rng, rng.randint(1030, 1500))) for _ in range(2)]
    one_way = tuple(max(pair) for pair in result[0].pairs)
    result.append(Case(one_way, tuple(min(pair) for pair in result[0].pairs), "greater"))
    deepest = check_all(result)
    assert deepest < -300 or family in {"small counts", "even only"}  # there some items are zero


def check_all(result: list[Case]) -> float:
    """Every promise of every case; all broken ones are reported. Returns the smallest log10 p."""
    broken = []
    deepest = 0.0
    for case in result:
        form, tail = posed(case)
        truth = enumerated(case) if len(case.stay) <= 8 else exact_p(case)
        if truth == 0:
            pytest.fail(f"the observed sum itself must count: {case}")
        deepest = min(deepest, log10(truth))
        for method in (fft, dp):
            if method is dp and form.range > DP_RANGE:
                continue
            try:
                check(method.probability(form, tail), truth, within=CLOSE)
            except AssertionError as error:
                message = str(error).splitlines()[0]
                shown = case if len(case.stay) <= 40 else f"{len(case.stay)} items"
                broken.append(f"{method.__name__} at 1e{log10(truth):.4g}: {message} {shown}")
    assert not broken, f"{len(broken)} of {len(result)} cases:\n" + "\n".join(broken)
    return deepest


# Many two-sided p-values at once are within their error bounds of the exact fractions.


@pytest.mark.parametrize("step", [1, 2, 3])
@pytest.mark.parametrize(
    ("items", "largest"), [(3, 1), (8, 3), (30, 5), (200, 20), (1_000, 20), (2_000, 3), (40, 100)]
)
def test_p_is_within_its_error(items: int, largest: int, step: int) -> None:
    generator = np.random.default_rng((items, largest, step))
    differences = step * generator.integers(-largest, largest + 1, (24, items))
    shift = generator.random((24, 1)) < 0.5
    differences = np.where(
        shift, differences, np.where(generator.random((24, items)) < 0.1, np.abs(differences), differences)
    )
    observed = np.abs(differences.sum(axis=1))
    differences, observed = differences[observed > 0], observed[observed > 0]
    sizes = np.abs(differences)
    counts = np.array([np.bincount(row, minlength=step * largest + 1)[1:] for row in sizes])
    p, error = many.two_sided(counts, observed)
    assert error.max() < 1e-11
    for at, row in enumerate(differences):
        form = canonical_form(row)
        exact: Any = rational.probability(form, region(form, int(observed[at]), "two-sided")).fraction
        assert abs(Fraction(float(p[at])) - Fraction(exact[0], 1 << exact[1])) <= Fraction(float(error[at]))


def test_error_bounds_of_distant_tails_may_exceed_the_tail() -> None:
    p, error = many.two_sided(np.array([[200]]), np.array([200]))
    assert abs(p[0] - 2.0**-199) <= error[0]
    assert error[0] > 1e-17
