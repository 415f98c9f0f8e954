"""Several sums at once, and the values of T furthest from its centre."""

import itertools
import math
import random
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import flint
import numpy as np
import pytest
from numpy.typing import NDArray

from exactperm.engine.joint import enumeration, methods, monte_carlo
from exactperm.engine.joint.form import JointForm, joint_form
from exactperm.engine.joint.grid import dp, grid, small
from exactperm.engine.joint.linear_part import Distance, bracket, linear_part
from exactperm.engine.lattice import Integers, canonical_form
from exactperm.engine.one_sum import (
    dp as one_sum_dp,
    enumeration as one_sum_enumeration,
    fft,
    methods as one_sum_methods,
    rational,
)
from exactperm.engine.one_sum.methods import EXACT_METHODS
from exactperm.engine.probability import Alternative, Probability, Region, region
from exactperm.engine.rademacher import reach

from .cases import ALTERNATIVES, posed
from .exact_null import Case, check, exact_p as exact_p_of_effects, log10

# Statistics of several sums: rank reduction, the grid, the direct sum, enumeration and sampling.


Counts = NDArray[np.int64]


def f1(tp: int, incorrect: int) -> Fraction:
    """F1 of the paper (eq. 15), 0 when nothing is there."""
    return Fraction(2 * tp, 2 * tp + incorrect) if 2 * tp + incorrect else Fraction(0)


class DifferenceOfF1:
    """|F1(U) - F1(V)| >= the observed one, decided in exact integers."""

    def __init__(self, u: Counts, v: Counts) -> None:
        self.target = abs(f1(*map(int, u.sum(axis=0))) - f1(*map(int, v.sum(axis=0))))

    def __call__(self, sums: Sequence[Integers]) -> NDArray[np.bool_]:
        tp, wrong, other_tp, other_wrong = (column.astype(object) for column in sums)
        top = 2 * tp * (2 * other_tp + other_wrong) - 2 * other_tp * (2 * tp + wrong)
        below = (2 * tp + wrong) * (2 * other_tp + other_wrong)
        reached = abs(top) * self.target.denominator >= self.target.numerator * below
        return np.asarray(reached & (below > 0), dtype=bool) | self._empty(sums)

    def _empty(self, sums: Sequence[Integers]) -> NDArray[np.bool_]:
        """Where a system has nothing at all its F1 is 0, and the other's decides."""
        tp, wrong, other_tp, other_wrong = np.broadcast_arrays(*sums)
        empty = (2 * tp + wrong == 0) | (2 * other_tp + other_wrong == 0)
        result = np.zeros(empty.shape, dtype=bool)
        for index in zip(*np.nonzero(empty), strict=True):
            here = f1(int(tp[index]), int(wrong[index]))
            there = f1(int(other_tp[index]), int(other_wrong[index]))
            result[index] = abs(here - there) >= self.target
        return result


def workload(generator: np.random.Generator, items: int, gap: float) -> tuple[Counts, Counts]:
    """Counts (tp, incorrect) per item of two systems, U better by about `gap`."""
    gold = generator.integers(1, 6, items)
    u = np.stack([generator.binomial(gold, 0.8), generator.integers(0, 3, items)], axis=1)
    v = np.stack([generator.binomial(gold, max(0.8 - gap, 0.02)), generator.integers(0, 3, items)], axis=1)
    return u.astype(np.int64), v.astype(np.int64)


def swapped_form(u: Counts, v: Counts) -> JointForm:
    """The form of the paper's four sums."""
    return joint_form(np.hstack([u, v]), np.hstack([v, u]))


def exact_p(u: Counts, v: Counts) -> Fraction:
    """The p-value by a dynamic program over integer pairs: every way to reach every pair, in integers."""
    total = u.sum(axis=0) + v.sum(axis=0)
    target = abs(f1(*map(int, u.sum(axis=0))) - f1(*map(int, v.sum(axis=0))))
    ways = {(0, 0): 1}
    for stay, swap in zip(u.tolist(), v.tolist(), strict=True):
        following: dict[tuple[int, int], int] = {}
        for (tp, wrong), number in ways.items():
            for step in (stay, swap):
                state = (tp + step[0], wrong + step[1])
                following[state] = following.get(state, 0) + number
        ways = following
    extreme = sum(
        number
        for (tp, wrong), number in ways.items()
        if abs(f1(tp, wrong) - f1(int(total[0]) - tp, int(total[1]) - wrong)) >= target
    )
    return Fraction(extreme, 2 ** len(u))


def error_of(result: Probability, truth: Fraction) -> float:
    """Relative error of a reported p-value."""
    return abs(float(Fraction(result.p) / truth - 1))


def test_f1_equals_brute_force_over_all_swaps() -> None:
    generator = np.random.default_rng(14)
    for items in range(1, 11):
        u, v = workload(generator, items, 0.1)
        decide = DifferenceOfF1(u, v)
        inside = 0
        for signs in itertools.product((False, True), repeat=items):
            flip = np.array(signs)[:, None]
            one, other = np.where(flip, v, u).sum(axis=0), np.where(flip, u, v).sum(axis=0)
            inside += abs(f1(*map(int, one)) - f1(*map(int, other))) >= decide.target
        truth = Fraction(int(inside), 2**items)
        form = swapped_form(u, v)
        assert error_of(methods.exact_probability("grid", form, decide), truth) < 1e-9
        counted: Any = methods.exact_probability("enumeration", form, decide)
        assert Fraction(counted.fraction[0], 2 ** counted.fraction[1]) == truth


@pytest.mark.slow
@pytest.mark.parametrize("gap", [0.0, 0.05, 0.3, 0.78])
def test_f1_agrees_with_the_integer_dynamic_program_up_to_200_items(gap: float) -> None:
    generator = np.random.default_rng(int(1000 * gap))
    for items in (17, 60, 200):
        u, v = workload(generator, items, gap)
        truth = exact_p(u, v)
        form, decide = swapped_form(u, v), DifferenceOfF1(u, v)
        for result in (grid.probability(form, decide), dp.probability(form, decide)):
            assert error_of(result, truth) < 1e-9
            assert error_of(result, truth) <= result.relative_error_bound


def test_the_tilted_grid_keeps_its_digits_where_the_direct_sum_is_too_large() -> None:
    generator = np.random.default_rng(8)
    u, v = workload(generator, 300, 0.45)
    form, decide = swapped_form(u, v), DifferenceOfF1(u, v)
    direct = dp.probability(form, decide)
    assert direct.p < 1e-9
    tilted = small.small_probability(form, decide, math.log(1e-9))
    assert abs(tilted.p / direct.p - 1) < 1e-8
    assert abs(tilted.p / direct.p - 1) <= tilted.relative_error_bound + direct.relative_error_bound


def test_the_paper_s_four_sums_of_f1_have_rank_two_and_shared_references_rank_one() -> None:
    generator = np.random.default_rng(2)
    u, v = workload(generator, 50, 0.1)
    assert swapped_form(u, v).rank == 2
    words = generator.integers(3, 9, 50)
    errors_u, errors_v = generator.integers(0, 4, (2, 50))
    with_words = [np.stack([errors, words], axis=1) for errors in (errors_u, errors_v)]
    assert swapped_form(*with_words).rank == 1
    assert swapped_form(with_words[0], with_words[0]).rank == 0


def test_every_state_that_swaps_can_reach_is_on_the_reduced_lattice() -> None:
    generator = np.random.default_rng(3)
    for _ in range(50):
        items, sums = int(generator.integers(1, 9)), int(generator.integers(1, 5))
        stay = generator.integers(-4, 5, (items, sums)) * 2
        swap = generator.integers(-4, 5, (items, sums)) * 2
        form = joint_form(stay, swap)
        reached = sorted(
            tuple(np.where(np.array(signs)[:, None], swap, stay).sum(axis=0).tolist())
            for signs in itertools.product((False, True), repeat=items)
        )
        coordinates, ways = enumeration.listed(form)
        repeats = ways * 2 ** (items - form.nonzero)
        listed = sorted(
            tuple(state)
            for state, number in zip(form.states(coordinates).tolist(), repeats.tolist(), strict=True)
            for _ in range(number)
        )
        assert listed == reached


def test_sampling_by_items_and_by_groups_follow_the_exact_probability() -> None:
    generator = np.random.default_rng(5)
    for items, values in ((40, 40), (2000, 2)):
        u = generator.integers(0, values, (items, 3))
        v = generator.integers(0, values, (items, 3))
        form = joint_form(np.hstack([u, v]), np.hstack([v, u]))
        states = np.concatenate(list(monte_carlo.draws(form, 40_000, 1)))
        total = (u.sum(axis=0) + v.sum(axis=0)) / 2
        spread = np.sqrt((((u - v) / 2) ** 2).sum(axis=0))
        assert np.all(np.abs(states[:, :3].mean(axis=0) - total) < 5 * spread / math.sqrt(40_000))
        assert np.allclose(states[:, :3].std(axis=0) / spread, 1.0, atol=0.02)
        assert np.all(states[:, :3] + states[:, 3:] == u.sum(axis=0) + v.sum(axis=0))


def test_a_seed_gives_the_same_sample_however_many_samples_follow() -> None:
    generator = np.random.default_rng(6)
    u, v = generator.integers(0, 9, (2, 30, 2))
    form = swapped_form(u, v)
    short = np.concatenate(list(monte_carlo.draws(form, 5_000, 7)))
    long = np.concatenate(list(monte_carlo.draws(form, 20_000, 7)))
    assert np.array_equal(short, long[:5_000])


def test_three_sums_are_solved_on_a_grid_of_rank_three() -> None:
    generator = np.random.default_rng(9)
    u, v = generator.integers(0, 3, (2, 9, 3))
    form = joint_form(np.hstack([u, v]), np.hstack([v, u]))
    assert form.rank == 3

    def product(sums: Sequence[Integers]) -> NDArray[np.bool_]:
        return np.asarray(np.abs(sums[0] * sums[1] - sums[2] * sums[3]) >= observed)

    start = u.sum(axis=0).tolist() + v.sum(axis=0).tolist()
    observed = abs(start[0] * start[1] - start[2] * start[3])
    counted = enumeration.probability(form, lambda states: product(list(states.T)))
    for result in (grid.probability(form, product), dp.probability(form, product)):
        assert abs(result.p / counted.p - 1) < 1e-11


# The bounds that a bracket of several sums stands on: tails of sums of signs, and what rounding moves.


@pytest.mark.parametrize("log_odds", [0.1, 1.0, 3.0, 10.0, 40.0, 400.0])
def test_no_linear_form_is_allowed_less_than_a_theorem_proves(log_odds: float) -> None:
    """2 exp(-x^2 / 2), or P(Z >= x) / (2 P(Z >= sqrt 2)): one of them is at most exp(-log_odds) at the reach x."""
    x, wanted = flint.arb(reach(log_odds)), (-flint.arb(log_odds)).exp()
    hoeffding = 2 * (-x * x / 2).exp()
    gaussian = (x / flint.arb(2).sqrt()).erfc() / (2 * flint.arb(1).erfc())
    assert hoeffding <= wanted or gaussian <= wanted


@pytest.mark.parametrize("relative", [0.0, 0.3, 0.9])
@pytest.mark.parametrize("moved", [-0.5, -0.2, 0.2, 0.5])
def test_a_bracket_holds_where_rounding_and_the_remainder_are_at_their_worst(
    relative: float, moved: float
) -> None:
    """|t| / 2 = (1 +- relative) |l . s|, and |l . s| off the lattice by as much as it may be, always the same way."""
    weights = np.array([1, 1, 2, 3, 5], dtype=np.int64)
    part = linear_part(weights, 1.0, np.zeros(len(weights)))
    assert part is not None
    distance = Distance(relative, abs(moved), -math.inf)
    sums = [abs(sum(w * e for w, e in zip(weights, signs, strict=True))) for signs in itertools.product((1, -1), repeat=5)]  # fmt: skip
    for factor in (1.0 + relative, 1.0 - relative):
        halves = np.array([factor * max(one + moved, 0.0) for one in sums])
        for size in set(halves.tolist()) - {0.0}:
            found = bracket(part, size, 1e-12, distance, "two-sided", 1, precision=1e-6)
            p = (halves >= size).mean()
            assert found.low * (1 - 1e-9) <= p <= found.high * (1 + 1e-9)


# Sizes and shapes at the edges: N = 10,000, 2**-n under the doubles, one item, none, huge weights.


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
        result = one_sum_methods.exact_probability(method, *posed(Case((0,) * zeros, None, alternative)))
        assert (result.p, result.log10_p, result.relative_error_bound, result.fraction) == (
            1.0, 0.0, 0.0, (1, 0),
        )  # fmt: skip


@pytest.mark.parametrize("method", EXACT_METHODS)
@pytest.mark.parametrize("effect", [1, -1, 7, -(10**9), 2**40])
def test_one_item_has_p_one_two_sided_and_a_half_or_one_otherwise(method: str, effect: int) -> None:
    p = {
        a: one_sum_methods.exact_probability(method, *posed(Case((effect,), None, a))).p for a in ALTERNATIVES
    }
    towards: Alternative = "greater" if effect > 0 else "less"
    away: Alternative = "less" if effect > 0 else "greater"
    assert (p["two-sided"], p[towards], p[away]) == (1.0, 0.5, 1.0)


@pytest.mark.parametrize("method", ["fft", "rational"])
def test_sixty_wins_of_sixty_are_exactly_two_to_the_minus_59(method: str) -> None:
    assert one_sum_methods.exact_probability(method, *posed(Case((1,) * 60))).p == 2.0**-59


@pytest.mark.parametrize("method", ["fft", "dp", "rational"])
@pytest.mark.parametrize("n", [1022, 1023, 1024, 1074, 1075, 1500, 5000, 10_000])
def test_all_wins_at_lengths_where_two_to_the_minus_n_leaves_the_doubles(method: str, n: int) -> None:
    result = one_sum_methods.exact_probability(method, *posed(Case((1,) * n, None, "greater")))
    check(result, Fraction(1, 2**n), within=CLOSE)
    if method != "dp":  # which adds up roundings, and says so
        assert result.p == max(math.ldexp(1.0, -n), math.ulp(0.0))


@pytest.mark.parametrize("wins", [5000, 5001, 5100, 5233, 5500, 6500, 8000, 9900, 9999])
@pytest.mark.parametrize("method", ["fft", "dp"])
def test_ten_thousand_items_of_equal_weight_follow_the_binomial(method: str, wins: int) -> None:
    stay = (3,) * wins + (-3,) * (10_000 - wins)
    result = one_sum_methods.exact_probability(method, *posed(Case(stay, None, "greater")))
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
    for method in (fft, one_sum_dp):
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
            truth = exact_p_of_effects(case)
            methods = [one_sum_enumeration.probability_by_halves, one_sum_enumeration.probability]
            if n <= 12:  # these are enumerated as heavy; more would ask for a window of 10**10 points
                methods.append(fft.probability)
            for method in methods:
                check(method(form, tail), truth, within=CLOSE)


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
    check(one_sum_enumeration.probability_by_halves(form, tail), Fraction(inside, 2**34), within=CLOSE)


@pytest.mark.parametrize("huge", [10**4, 10**6, 10**9, 10**12, 10**15])
@pytest.mark.parametrize("wins", [True, False])
def test_a_single_huge_weight_among_small_ones_keeps_twelve_digits(huge: int, *, wins: bool) -> None:
    rng = random.Random(f"huge {huge}")
    for n in (3, 30, 300):
        small = [rng.choice([-1, 1, 1]) * rng.randint(1, 5) for _ in range(n)]
        for alternative in ALTERNATIVES:
            case = Case((*small, huge if wins else -huge), None, alternative)
            check(fft.probability(*posed(case)), exact_p_of_effects(case), within=CLOSE)


# Found by random search: few items, some thousands of times heavier than the rest, p well in the tail.
FEW_HEAVY = [
    (2, -1, 1, 3, 4, 12_369, 9_427),
    (1, 3, 4, 5, -1, 3, 4, 10_837, 27_710),
    (-1, 1, 4, 1, 1, 2, 1, 1, 1, 2, 5_528, 8_601),
    (2, 4, 3, 2, 3, 4, -2, 2, 3, 3, 3, 5, 5, 20_068, 50_793, 41_826),
    (1, 2, 5, 1, 1, 2, 2, 4, 5, 4, 1, 1, 1, 5, 2, 1, -4, 1, -3, 5, -1, 3, 15_266, 12_440, 14_425),
    (
        6, 1, 2, 3, 11_814, 13_891, 2, 2, 1, 1, 4, 3, 1, -2, 2, 4, 4, 4, 3, 3, 3, 3, 2, 2, 3, 1, 3, 3, 2, 2,
        3, 4,
    ),
    (
        -4, 1, 2, 2, 2, 2, 1, 2, 4, 1, 1, 3, 1, 3, 5, 1, 1, 3, 613, 4545, 1381, 16316, 4205, 10930, 956, 1933,
        12861,
    ),
    (*(1, 1, 1, 1, 1) * 3, *(2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 4, 4, 4, 4) * 2, 5, 5, -3, 31_599, 23_681),
]  # fmt: skip


@pytest.mark.parametrize("stay", FEW_HEAVY, ids=[f"{len(stay)} items" for stay in FEW_HEAVY])
@pytest.mark.parametrize("alternative", ["two-sided", "greater"])
def test_a_few_heavy_items_among_light_ones_keep_twelve_digits(
    stay: tuple[int, ...], alternative: Alternative
) -> None:
    case = Case(stay, None, alternative)
    form, tail = posed(case)
    truth = exact_p_of_effects(case)
    for method in (one_sum_dp, rational, fft):
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
    check(one_sum_methods.exact_probability(method, *posed(case)), exact_p_of_effects(case), within=CLOSE)


@pytest.mark.parametrize("factor", [2, 6, 1000, 2**30])
def test_a_common_factor_of_all_weights_costs_and_changes_nothing(factor: int) -> None:
    rng = random.Random("factor")
    plain = tuple(rng.choice([-1, 1, 1]) * rng.randint(0, 9) for _ in range(80))
    for alternative in ALTERNATIVES:
        form, tail = posed(Case(plain, None, alternative))
        wide, wide_tail = posed(Case(tuple(factor * x for x in plain), None, alternative))
        assert wide.step == factor * form.step
        assert wide.range == form.range
        for method in (fft, one_sum_dp, rational):
            assert method.probability(wide, wide_tail) == method.probability(form, tail)


def test_an_interval_of_certainty_is_one_without_rounding() -> None:
    form = canonical_form(np.array([1, 2, 3], dtype=np.int64))
    for method in EXACT_METHODS:
        assert one_sum_methods.exact_probability(method, form, Region(((0, form.range),))).p == 1.0
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
        check(one_sum_dp.probability(*posed(case)), binomial_tail(n, wins), within=CLOSE)
