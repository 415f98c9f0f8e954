"""Sizes and shapes at the edges: N = 10,000, 2**-n under the doubles, one item, none, huge weights."""

from __future__ import annotations

import math
import random
from bisect import bisect_left, bisect_right
from fractions import Fraction

import flint
import numpy as np
import pytest

from exactperm.engine import methods
from exactperm.engine.lattice import canonical_form
from exactperm.engine.one_sum import dp, enumeration, fft, meet_in_the_middle, rational
from exactperm.engine.one_sum.planner import EXACT_METHODS
from exactperm.engine.probability import Alternative, Region, region
from tests.unit.engine.cases import ALTERNATIVES, posed
from tests.unit.engine.exact_null import Case, check, exact_p, log10

CLOSE = 1e-12


def binomial_tail(n: int, wins: int) -> Fraction:
    """P(Binomial(n, 1/2) >= wins), term by term."""
    term = math.comb(n, wins)
    ways = 0
    for k in range(wins, n + 1):
        ways += term
        term = term * (n - k) // (k + 1)
    return Fraction(ways, 2**n)


@pytest.mark.parametrize("method", EXACT_METHODS)
@pytest.mark.parametrize("alternative", ALTERNATIVES)
def test_identical_systems_have_p_one(method: str, alternative: Alternative) -> None:
    for zeros in (1, 3, 10_000):
        result = methods.exactly(method, *posed(Case((0,) * zeros, None, alternative)))
        assert (result.p, result.log10_p, result.relative_error_bound, result.fraction) == (
            1.0,
            0.0,
            0.0,
            (1, 0),
        )


@pytest.mark.parametrize("method", EXACT_METHODS)
@pytest.mark.parametrize("effect", [1, -1, 7, -(10**9), 2**40])
def test_one_item_has_p_one_two_sided_and_a_half_or_one_otherwise(method: str, effect: int) -> None:
    p = {a: methods.exactly(method, *posed(Case((effect,), None, a))).p for a in ALTERNATIVES}
    towards: Alternative = "greater" if effect > 0 else "less"
    away: Alternative = "less" if effect > 0 else "greater"
    assert (p["two-sided"], p[towards], p[away]) == (1.0, 0.5, 1.0)


@pytest.mark.parametrize("method", ["fft", "rational"])
def test_sixty_wins_of_sixty_are_exactly_two_to_the_minus_59(method: str) -> None:
    assert methods.exactly(method, *posed(Case((1,) * 60))).p == 2.0**-59


@pytest.mark.parametrize("method", ["fft", "dp", "rational"])
@pytest.mark.parametrize("n", [1022, 1023, 1024, 1074, 1075, 1500, 5000, 10_000])
def test_all_wins_at_lengths_where_two_to_the_minus_n_leaves_the_doubles(method: str, n: int) -> None:
    result = methods.exactly(method, *posed(Case((1,) * n, None, "greater")))
    check(result, Fraction(1, 2**n), within=CLOSE)
    if method != "dp":  # which adds up roundings, and says so
        assert result.p == max(math.ldexp(1.0, -n), math.ulp(0.0))


@pytest.mark.parametrize("wins", [5000, 5001, 5100, 5233, 5500, 6500, 8000, 9900, 9999])
@pytest.mark.parametrize("method", ["fft", "dp"])
def test_ten_thousand_items_of_equal_weight_follow_the_binomial(method: str, wins: int) -> None:
    stay = (3,) * wins + (-3,) * (10_000 - wins)
    result = methods.exactly(method, *posed(Case(stay, None, "greater")))
    check(result, binomial_tail(10_000, wins), within=CLOSE)


@pytest.fixture(scope="module")
def sentences() -> tuple[list[int], list[int]]:
    """Weights of 10,000 items, and how many of the 2**10000 assignments give each T."""
    rng = random.Random("sentences")
    weights = [rng.choice([1, 1, 1, 1, 2, 2, 3]) for _ in range(10_000)]
    ways = flint.fmpz_poly([1])
    for weight in (1, 2, 3):
        ways *= flint.fmpz_poly([1] + [0] * (weight - 1) + [1]) ** weights.count(weight)
    return weights, [int(count) for count in ways.coeffs()]


@pytest.mark.parametrize("losing", [0.5, 0.495, 0.48, 0.4, 0.2, 0.02])
def test_ten_thousand_items_of_unequal_weights_keep_twelve_digits(
    sentences: tuple[list[int], list[int]], losing: float
) -> None:
    weights, ways = sentences
    rng = random.Random(f"losing {losing}")
    stay = tuple(-w if rng.random() < losing else w for w in weights)
    form, tail = posed(Case(stay))
    inside = sum(ways[(sum(weights) + abs(sum(stay))) // 2 :])
    truth = Fraction(2 * inside, 2**10_000)
    for method in (fft, dp):
        check(method.probability(form, tail), truth, within=CLOSE)
    if losing <= 0.2:
        assert log10(truth) < -300


def test_weights_of_a_thousand_million_with_few_items_are_exact() -> None:
    rng = random.Random("thousand million")
    for n in (2, 5, 9, 12, 16):
        stay = tuple(rng.choice([-1, 1]) * rng.randint(10**9 // 2, 10**9) for _ in range(n))
        for alternative in ALTERNATIVES:
            case = Case(stay, None, alternative)
            form, tail = posed(case)
            truth = exact_p(case)
            methods = [meet_in_the_middle, enumeration]
            if n <= 12:  # these are enumerated as heavy; more would ask for a window of 10**10 points
                methods.append(fft)
            for method in methods:
                check(method.probability(form, tail), truth, within=CLOSE)


def test_34_weights_of_a_thousand_million_are_counted_without_an_error() -> None:
    """Nothing lists 2**34 sums one by one; sorted half-sums and Python's bisect count them."""
    rng = random.Random("thirty-four")
    stay = tuple(rng.choice([-1, 1, 1]) * rng.randint(10**8, 10**9) for _ in range(34))
    form, tail = posed(Case(stay))
    halves = []
    for part in (stay[:17], stay[17:]):
        sums = [0]
        for effect in part:
            sums = [s + effect for s in sums] + [s - effect for s in sums]
        halves.append(sorted(sums))
    first, second = halves
    size = abs(sum(stay))
    inside = sum(len(second) - bisect_left(second, size - s) + bisect_right(second, -size - s) for s in first)
    check(meet_in_the_middle.probability(form, tail), Fraction(inside, 2**34), within=CLOSE)


@pytest.mark.parametrize("huge", [10**4, 10**6, 10**9, 10**12, 10**15])
@pytest.mark.parametrize("wins", [True, False])
def test_a_single_huge_weight_among_small_ones_keeps_twelve_digits(huge: int, *, wins: bool) -> None:
    rng = random.Random(f"huge {huge}")
    for n in (3, 30, 300):
        small = [rng.choice([-1, 1, 1]) * rng.randint(1, 5) for _ in range(n)]
        for alternative in ALTERNATIVES:
            case = Case((*small, huge if wins else -huge), None, alternative)
            check(fft.probability(*posed(case)), exact_p(case), within=CLOSE)


# Found by random search: few items, some thousands of times heavier than the rest, p well in the tail.
FEW_HEAVY = [
    (2, -1, 1, 3, 4, 12_369, 9_427),
    (1, 3, 4, 5, -1, 3, 4, 10_837, 27_710),
    (-1, 1, 4, 1, 1, 2, 1, 1, 1, 2, 5_528, 8_601),
    (2, 4, 3, 2, 3, 4, -2, 2, 3, 3, 3, 5, 5, 20_068, 50_793, 41_826),
    (1, 2, 5, 1, 1, 2, 2, 4, 5, 4, 1, 1, 1, 5, 2, 1, -4, 1, -3, 5, -1, 3, 15_266, 12_440, 14_425),
    (
        6,
        1,
        2,
        3,
        11_814,
        13_891,
        2,
        2,
        1,
        1,
        4,
        3,
        1,
        -2,
        2,
        4,
        4,
        4,
        3,
        3,
        3,
        3,
        2,
        2,
        3,
        1,
        3,
        3,
        2,
        2,
        3,
        4,
    ),
    (
        -4,
        1,
        2,
        2,
        2,
        2,
        1,
        2,
        4,
        1,
        1,
        3,
        1,
        3,
        5,
        1,
        1,
        3,
        613,
        4545,
        1381,
        16316,
        4205,
        10930,
        956,
        1933,
        12861,
    ),
    (*(1, 1, 1, 1, 1) * 3, *(2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 4, 4, 4, 4) * 2, 5, 5, -3, 31_599, 23_681),
]


@pytest.mark.parametrize("stay", FEW_HEAVY, ids=[f"{len(stay)} items" for stay in FEW_HEAVY])
@pytest.mark.parametrize("alternative", ["two-sided", "greater"])
def test_a_few_heavy_items_among_light_ones_keep_twelve_digits(
    stay: tuple[int, ...], alternative: Alternative
) -> None:
    case = Case(stay, None, alternative)
    form, tail = posed(case)
    truth = exact_p(case)
    for method in (dp, rational, fft):
        check(method.probability(form, tail), truth, within=CLOSE)


# |S| <= |xi| with one item as heavy as all the others, or many: nearly no mass lies between two humps.
BETWEEN_HUMPS = [
    (1, 1, 3, 2, 3, 4, 3, 4, 3, 3, 1, 4, 4, 4, 2, 4, 1, -53),
    (3, 4, 2, 2, 1, 1, 4, 2, 2, 1, 4, 2, 4, 3, 3, 3, 3, 4, 3, 3, 2, -3, -516),
    (*(1,) * 40, -40),
    (*(2,) * 50, *(1,) * 50, -150),
    (*(1,) * 200, -200),
    # Eighty humps, all of them an odd multiple of 100 from zero.
    (*(100,) * 40, *(-100,) * 39, *(-1,) * 95),
]


@pytest.mark.parametrize("stay", BETWEEN_HUMPS, ids=[f"{len(stay)} items" for stay in BETWEEN_HUMPS])
@pytest.mark.parametrize("method", ["fft", "dp", "rational"])
def test_little_mass_between_two_humps_keeps_twelve_digits(stay: tuple[int, ...], method: str) -> None:
    case = Case(stay, None, "less", absolute=True)
    check(methods.exactly(method, *posed(case)), exact_p(case), within=CLOSE)


@pytest.mark.parametrize("factor", [2, 6, 1000, 2**30])
def test_a_common_factor_of_all_weights_costs_and_changes_nothing(factor: int) -> None:
    rng = random.Random("factor")
    plain = tuple(rng.choice([-1, 1, 1]) * rng.randint(0, 9) for _ in range(80))
    for alternative in ALTERNATIVES:
        form, tail = posed(Case(plain, None, alternative))
        wide, wide_tail = posed(Case(tuple(factor * x for x in plain), None, alternative))
        assert wide.step == factor * form.step
        assert wide.range == form.range
        for method in (fft, dp, rational):
            assert method.probability(wide, wide_tail) == method.probability(form, tail)


def test_an_interval_of_certainty_is_one_without_rounding() -> None:
    form = canonical_form(np.array([1, 2, 3], dtype=np.int64))
    for method in EXACT_METHODS:
        assert methods.exactly(method, form, Region(((0, form.range),))).p == 1.0
    # |S| >= 0 always.
    assert region(form, 0, "two-sided") == Region(((0, form.range),))


def test_a_heavy_item_and_all_wins_is_exactly_two_to_the_minus_n_within_its_bound() -> None:
    """One assignment of 2**26: the certificate must cover the rounding of log p too."""
    case = Case((*(1, 2, 3, 4, 5) * 5, 10**6), None, "greater")
    check(fft.probability(*posed(case)), Fraction(1, 2**26), within=CLOSE)


@pytest.mark.parametrize("n", [56, 105, 109, 191, 401, 999])
def test_dp_near_a_half_stays_below_its_bound(n: int) -> None:
    """log p is small there and the logarithms it is the difference of are not."""
    for wins in (n // 2 + 1, n // 2 + 2, n // 2 + 5):
        case = Case((1,) * wins + (-1,) * (n - wins), None, "greater")
        check(dp.probability(*posed(case)), binomial_tail(n, wins), within=CLOSE)
