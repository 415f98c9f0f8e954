"""Intervals: of the difference, of Monte Carlo, and of paired proportions."""

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats
from scipy.optimize import minimize_scalar
from scipy.special import bdtr, bdtrc, ndtr, ndtri

from exactperm.engine.intervals import subset_bounds, subset_halves, subset_law
from exactperm.engine.intervals.interval import Ends, NotAnIntervalError, plan
from exactperm.engine.intervals.subset_means import Approximation, End, Units, edgeworth, end_of, units_of
from exactperm.engine.joint import enumeration, methods
from exactperm.engine.joint.form import joint_form
from exactperm.engine.lattice import Integers, canonical_form
from exactperm.engine.one_sum import fft, monte_carlo
from exactperm.engine.one_sum.enumeration import subset_sums
from exactperm.engine.one_sum.rational import probability
from exactperm.engine.paired_proportions import (
    clopper_pearson,
    restricted_estimate,
    tango_interval,
    tango_test,
)
from exactperm.engine.plan import Budget
from exactperm.engine.probability import region
from exactperm.engine.real.bounds import Bracket

BUDGET = Budget()
TWENTIETH = Fraction(1, 20)


def column(values: Sequence[int]) -> Integers:
    return np.array(values, dtype=np.int64)


def two_sided(effects: Sequence[int], sizes: Sequence[int], delta: Fraction) -> Fraction:
    """Every assignment of signs to d - delta s, counted: P(|sum| >= |observed sum|)."""
    moved = [d * delta.denominator - s * delta.numerator for d, s in zip(effects, sizes, strict=True)]
    sums = 2 * subset_sums(column(moved)) - sum(moved)
    return Fraction(int(np.count_nonzero(np.abs(sums) >= abs(sum(moved)))), 1 << len(moved))


def units(effects: Sequence[int], sizes: Sequence[int] | None = None) -> Units:
    result = units_of(column(effects), None if sizes is None else column(sizes))
    assert result is not None
    return result[0]


EFFECTS = {
    "zero and one": st.integers(-1, 1),
    "ties": st.integers(-3, 3),
    "decimals": st.integers(-10_000, 10_000),
    "doubles": st.integers(-(2**40), 2**40),
}
ALPHAS = st.sampled_from([TWENTIETH, Fraction(1, 10), Fraction(1, 2), Fraction(1, 4), Fraction(1, 100)])


@pytest.mark.parametrize("kind", EFFECTS)
@given(data=st.data(), alpha=ALPHAS)
@settings(max_examples=60)
def test_ends_are_where_the_two_sided_p_crosses_alpha(
    kind: str, data: st.DataObject, alpha: Fraction
) -> None:
    effects = data.draw(st.lists(EFFECTS[kind], min_size=1, max_size=12))
    clustered = data.draw(st.booleans())
    sizes = data.draw(st.lists(st.integers(1, 6), min_size=len(effects), max_size=len(effects)))
    sizes = sizes if clustered else [1] * len(effects)
    result = plan(column(effects), column(sizes) if clustered else None, alpha, BUDGET).solve()
    assert result.width == 0
    if result.low is None or result.high is None:
        assert result.low is result.high is None
        assert 2 * Fraction(1, 1 << len(effects)) > alpha
        return
    assert result.low <= Fraction(sum(effects), sum(sizes)) <= result.high
    # Two subset means are at least this far apart.
    apart = Fraction(1, 2 * sum(sizes) ** 2)
    for end, outwards in ((result.low, -apart), (result.high, apart)):
        assert two_sided(effects, sizes, end) > alpha
        assert two_sided(effects, sizes, end + outwards) <= alpha
        if result.low < result.high:
            assert two_sided(effects, sizes, end - outwards) > alpha


@pytest.mark.slow
@given(data=st.data())
@settings(max_examples=60)
def test_every_method_finds_the_same_ends(data: st.DataObject) -> None:
    effects = data.draw(st.lists(st.integers(-4, 4), min_size=7, max_size=30))
    sizes = data.draw(st.lists(st.integers(1, 3), min_size=len(effects), max_size=len(effects)))
    these = units(effects, sizes)
    if these.lowest == these.observed:
        return
    tail = TWENTIETH / 2
    truth = subset_halves.lower_end(these, tail)
    law: Any = subset_law.plan(these, BUDGET.bytes)
    for direct in (True, False):
        way = subset_law.LawPlan(direct, law.box, law.nanoseconds) if not direct else law
        if direct and not law.direct:
            continue
        joint = subset_law.subset_law(these, way)
        assert joint.masses.sum() == pytest.approx(1.0, abs=1e-12)
        assert subset_law.lower_end(these, joint, tail) == truth
    planned = subset_bounds.plan(these, tail)
    assert planned is not None
    bracket = subset_bounds.lower_end(planned, tail)
    assert bracket.at <= truth.at <= bracket.at + bracket.width


def test_ends_of_a_thousand_units_are_those_of_binomials() -> None:
    plus, minus, none = 280, 180, 1540
    effects = [1] * plus + [-1] * minus + [0] * none

    def tail(r: float) -> float:
        """P(A - B <= r (A + B + C)) for binomials A, B, C: a random subset's gains, losses and ties."""
        a, b = np.arange(plus + 1)[:, None], np.arange(minus + 1)[None, :]
        ties = np.ceil((a - b - r * (a + b)) / r - 1e-9) if r > 0 else np.zeros(1)
        beyond = stats.binom.sf(ties - 1, none, 0.5)
        return float((stats.binom.pmf(a, plus, 0.5) * stats.binom.pmf(b, minus, 0.5) * beyond).sum())

    planned = plan(column(effects), None, TWENTIETH, BUDGET)
    result: Any = planned.solve()
    assert planned.method == "law"
    assert result.width == 0
    assert result.low > 0
    assert tail(float(result.low)) > 0.025 >= tail(float(result.low) - 1e-8)


def test_ends_of_two_thousand_real_values_are_those_of_an_integral() -> None:
    generator = np.random.default_rng(5)
    values = np.rint(generator.normal(0.03, 1.0, 2000) * 2.0**40).astype(np.int64)
    planned = plan(values, None, TWENTIETH, BUDGET)
    result: Any = planned.solve()
    assert planned.method == "bounds"
    assert 0 < result.width < (result.high - result.low) / 1000

    def greater(r: float) -> float:
        """P(sum of +-e >= sum of e) = 1/2 - 1/pi * integral of sin(t x) phi(t) / t (Gil-Pelaez 1951)."""
        moved = values * 2.0**-40 - r
        nodes = np.arange(600) + 0.5
        scaled = 0.02 * nodes / math.sqrt(float((moved**2).sum()))
        phi = np.prod(np.cos(np.multiply.outer(scaled, moved)), axis=1)
        return 0.5 - float((np.sin(scaled * moved.sum()) * phi / nodes).sum()) / math.pi

    low, inner = float(result.low) * 2.0**-40, float(result.low + result.width) * 2.0**-40
    assert greater(low) <= 0.025 < greater(inner)
    high, inner = float(result.high) * 2.0**-40, float(result.high - result.width) * 2.0**-40
    assert 1.0 - greater(high) <= 0.025 < 1.0 - greater(inner)


@pytest.mark.slow
def test_ends_of_sixty_clusters_agree_with_exact_fractions() -> None:
    generator = np.random.default_rng(2)
    sizes = generator.integers(1, 4, 60)
    effects = np.array([generator.integers(-s, s + 2) for s in sizes])
    result: Any = plan(effects, sizes, TWENTIETH, BUDGET).solve()
    assert result.width == 0

    def p_greater(r: Fraction) -> Fraction:
        moved = effects * r.denominator - sizes * r.numerator
        form = canonical_form(moved)
        fraction: Any = probability(form, region(form, int(moved.sum()), "greater")).fraction
        return Fraction(fraction[0], 1 << fraction[1])

    assert 2 * p_greater(result.low) > TWENTIETH
    assert 2 * p_greater(result.low - Fraction(1, 997)) <= TWENTIETH


def test_rounded_effects_give_a_bracket_of_the_unrounded_end(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(3)
    values = np.rint(generator.normal(0.0, 1.0, 3000) * 2.0**45).astype(np.int64)
    fine: Any = plan(values, None, TWENTIETH, BUDGET).solve()
    monkeypatch.setattr(subset_bounds, "_MOST_DISTINCT", 1000)
    coarse: Any = plan(values, None, TWENTIETH, BUDGET).solve()
    assert coarse.low <= fine.low + fine.width
    assert fine.low <= coarse.low + coarse.width
    assert coarse.width <= (coarse.high - coarse.low) / 1000


@pytest.mark.parametrize("level", [0.01, 0.5, 0.9, 0.999, 1 - 1e-9])
@pytest.mark.parametrize("decimals", [0, 1, 6])
def test_any_level_has_an_interval_that_holds_the_observed_mean(level: float, decimals: int) -> None:
    values = np.rint(np.random.default_rng(7).normal(0.2, 1.0, 400) * 10.0**decimals).astype(np.int64)
    result: Any = plan(values, None, 1 - Fraction(repr(level)), BUDGET).solve()
    assert result.low <= Fraction(int(values.sum()), 400) <= result.high
    assert result.width <= (result.high - result.low) / 500


def test_swapping_scaling_and_reordering_change_the_ends_as_the_data() -> None:
    generator = np.random.default_rng(11)
    for n, top in ((15, 2000), (50, 3), (300, 2000)):
        effects = generator.integers(-top, top, n)
        here: Any = plan(effects, None, TWENTIETH, BUDGET).solve()
        swapped = plan(-effects, None, TWENTIETH, BUDGET).solve()
        assert (swapped.low, swapped.high, swapped.width) == (-here.high, -here.low, here.width)
        scaled = plan(6 * effects[::-1], None, TWENTIETH, BUDGET).solve()
        assert (scaled.low, scaled.high) == (6 * here.low, 6 * here.high)
        moved: Any = plan(effects + 17, None, TWENTIETH, BUDGET).solve()
        assert abs(moved.low - 17 - here.low) <= here.width + moved.width


def test_two_clusters_of_different_sizes_reject_nothing() -> None:
    result = plan(column([5, 900]), column([1, 30]), TWENTIETH, BUDGET).solve()
    assert result == Ends(None, None, Fraction(0))


def test_equal_effects_leave_one_hypothesis() -> None:
    result = plan(column([4] * 40), None, TWENTIETH, BUDGET).solve()
    assert result == Ends(Fraction(4), Fraction(4), Fraction(0))


def test_an_effect_without_a_size_has_no_interval() -> None:
    with pytest.raises(NotAnIntervalError, match="no size"):
        plan(column([1, 2, 3]), column([0, 1, 1]), TWENTIETH, BUDGET)


def test_units_of_no_size_and_no_effect_have_no_say() -> None:
    effects, sizes = [0, 3, 1, 4, 1, 5, 9, 2], [0, 1, 2, 1, 2, 1, 2, 1]
    with_it = plan(column(effects), column(sizes), TWENTIETH, BUDGET).solve()
    assert with_it == plan(column(effects[1:]), column(sizes[1:]), TWENTIETH, BUDGET).solve()


def test_a_test_beyond_the_budget_is_refused_beforehand() -> None:
    values = np.random.default_rng(0).integers(-(2**40), 2**40, 60)
    with pytest.raises(NotAnIntervalError, match="would take"):
        plan(values, None, TWENTIETH, Budget(operations=1_000_000))


def test_the_expansion_is_that_of_a_binomial() -> None:
    n, k = 100, 60
    z = (k - 0.5 - n / 2) / math.sqrt(n / 4)
    assert edgeworth(z, -2.0 / n, 16.0 / n**2) == pytest.approx(stats.binom.sf(k - 1, n, 0.5), rel=0.02)
    these = units(list(range(-20, 30)))
    looking = Approximation(these)
    assert looking.tail(looking.end(0.025)) == pytest.approx(0.025, rel=1e-6)


def test_an_end_is_exact_when_only_one_mean_is_left() -> None:
    these = units([1, 0, 0])
    assert these.total_size == 3
    near = Fraction(1, 3)
    assert end_of(these, near - Fraction(1, 100), near) == End(near, Fraction(0))
    wide = end_of(these, Fraction(0), near)
    assert wide == End(Fraction(0), near)


LAWS = {
    "normal": lambda generator, n: np.rint(generator.normal(0.3, 1.0, n) * 2**30),
    "laplace": lambda generator, n: np.rint(generator.laplace(0.3, 1.0, n) * 2**30),
    "skewed sizes": lambda generator, n: np.rint((0.3 + generator.standard_t(3, n)) * 2**30),
}


@pytest.mark.slow
@pytest.mark.parametrize("law", LAWS)
def test_intervals_of_symmetric_data_cover_as_often_as_they_say(law: str) -> None:
    runs, n, level = 600, 16, Fraction(9, 10)
    truth = Fraction(3, 10) * 2**30
    inside = 0
    for seed in range(runs):
        values = LAWS[law](np.random.default_rng(seed), n).astype(np.int64)
        result: Any = plan(values, None, 1 - level, BUDGET).solve()
        inside += result.low <= truth <= result.high
    # Attained exactly but for the step of p, 2**-15, where ties have no chance.
    assert abs(inside / runs - 0.9) <= 3.0 * math.sqrt(0.09 / runs)


@pytest.mark.slow
@pytest.mark.parametrize("n", [20, 40, 60])
def test_intervals_of_discrete_data_cover_at_least_as_often_as_they_say(n: int) -> None:
    runs, level = 400, Fraction(9, 10)
    inside = 0
    for seed in range(runs):
        values = 2 + np.random.default_rng(seed).integers(-3, 4, n)
        result: Any = plan(values, None, 1 - level, BUDGET).solve()
        inside += result.low <= 2 <= result.high
    assert inside / runs >= 0.9 - 3.0 * math.sqrt(0.09 / runs)
    assert inside / runs <= 0.97


def test_a_p_of_exactly_alpha_is_rejected() -> None:
    # Below 9/44 a subset's mean is that small in one case of four: two-sided p is 1/2 there, and no more.
    result = plan(column([9, 9, *[0] * 43]), None, Fraction(1, 2), BUDGET).solve()
    assert result.low == Fraction(9, 44)


def test_a_bracket_that_holds_the_level_decides_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.rint(np.random.default_rng(1).normal(0.0, 1.0, 300) * 2.0**40).astype(np.int64)
    planned = plan(values, None, TWENTIETH, BUDGET)
    assert planned.method == "bounds"

    def undecided(*given: object, **options: object) -> Bracket:
        return Bracket(math.log(0.01), math.log(0.2), 1, 1_000_000, reached=False)

    monkeypatch.setattr("exactperm.engine.real.bounds.bracket", undecided)
    with pytest.raises(NotAnIntervalError, match="narrowed"):
        planned.solve()


# Monte Carlo intervals cover: over 400 seeds the 99 % interval holds the exact p nearly always.


SEEDS = 400


@pytest.mark.parametrize("shift", [0.0, 0.4, 0.8])
def test_the_interval_of_a_sum_holds_the_exact_p_at_least_95_percent_of_the_time(shift: float) -> None:
    generator = np.random.default_rng(int(10 * shift))
    effects = np.rint(generator.normal(shift, 2.0, 60)).astype(np.int64)
    form = canonical_form(effects)
    tail = region(form, int(effects.sum()), "two-sided")
    exact = fft.probability(form, tail).p
    held = 0
    for seed in range(SEEDS):
        low, high = monte_carlo.estimate(form, tail, samples=1000, seed=seed).interval()
        held += low <= exact <= high
    assert held >= 0.95 * SEEDS


def test_the_interval_of_several_sums_holds_the_exact_p_at_least_95_percent_of_the_time() -> None:
    generator = np.random.default_rng(1)
    u, v = generator.integers(0, 4, (2, 12, 2))
    form = joint_form(np.hstack([u, v]), np.hstack([v, u]))
    observed = abs(int(u[:, 0].sum()) * int(v[:, 1].sum()) - int(v[:, 0].sum()) * int(u[:, 1].sum()))

    def extreme(
        states: np.ndarray[tuple[int, int], np.dtype[np.int64]],
    ) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        return np.asarray(np.abs(states[:, 0] * states[:, 3] - states[:, 2] * states[:, 1]) >= observed)

    exact = enumeration.probability(form, extreme).p
    held = 0
    for seed in range(SEEDS):
        estimate, _ = methods.sampled_probability(
            form, lambda sums: extreme(np.stack(sums, 1)), samples=500, seed=seed
        )
        low, high = estimate.interval()
        held += low <= exact <= high
    assert held >= 0.95 * SEEDS


# Tango's test against the likelihood maximised by hand, published intervals and its own duality.


@st.composite
def tables(draw: st.DrawFn, most: int = 300) -> tuple[int, int, int]:
    items = draw(st.integers(1, most))
    only_u = draw(st.integers(0, items))
    return only_u, draw(st.integers(0, items - only_u)), items


def log_likelihood(q: float, only_u: int, only_v: int, items: int, difference: float) -> float:
    """Of the multinomial with cells q + difference, q and the rest; 0 log 0 is 0."""
    cells = ((only_u, q + difference), (only_v, q), (items - only_u - only_v, 1.0 - 2.0 * q - difference))
    return math.fsum(count * math.log(max(chance, 1e-300)) for count, chance in cells if count)


def by_maximisation(only_u: int, only_v: int, items: int, difference: float) -> float:
    """The restricted estimate by a golden-section search, with no formula of Tango's in it."""
    low, high = max(0.0, -difference), 0.5 * (1.0 - difference)
    result = minimize_scalar(
        lambda q: -log_likelihood(q, only_u, only_v, items, difference),
        bounds=(low, high),
        method="bounded",
        options={"xatol": 1e-12},
    )
    ends = [low, high, float(result.x)]
    return max(ends, key=lambda q: log_likelihood(q, only_u, only_v, items, difference))


def fisher_score(only_u: int, only_v: int, items: int, difference: float, q: float) -> float:
    """The score of the difference over its standard error, information about q projected out.

    The general recipe for a score test with a nuisance parameter (Cox & Hinkley 1974, section 9.3), with none of
    Tango's algebra in it: cells (q + d, q, 1 - 2q - d).
    """
    p12, p21, rest = q + difference, q, 1.0 - 2.0 * q - difference
    concordant = items - only_u - only_v
    score = only_u / p12 - concordant / rest
    in_d = items * (1.0 / p12 + 1.0 / rest)
    mixed = items * (1.0 / p12 + 2.0 / rest)
    in_q = items * (1.0 / p12 + 1.0 / p21 + 4.0 / rest)
    return score / math.sqrt(in_d - mixed * mixed / in_q)


@given(tables(), st.floats(0.0, 0.95))
def test_restricted_estimate_maximises_the_likelihood(table: tuple[int, int, int], difference: float) -> None:
    estimate = restricted_estimate(*table, difference)
    assert 0.0 <= estimate <= 0.5 * (1.0 - difference) + 1e-12
    best = by_maximisation(*table, difference)
    assert log_likelihood(estimate, *table, difference) >= log_likelihood(best, *table, difference) - 1e-7


@pytest.mark.parametrize("difference", [-0.6, -0.25, -0.01, 0.0, 0.01, 0.25, 0.6])
@pytest.mark.parametrize("table", [(3, 5, 20), (40, 20, 160), (7, 1, 21), (1, 1, 3), (6, 16, 161)])
def test_statistic_is_the_general_score_test(table: tuple[int, int, int], difference: float) -> None:
    estimate = by_maximisation(*table, difference)
    expected = fisher_score(*table, difference, estimate)
    assert tango_test(*table, difference) == pytest.approx(expected, rel=1e-5, abs=1e-6)


@given(tables())
def test_at_zero_it_is_mcnemar(table: tuple[int, int, int]) -> None:
    only_u, only_v, _ = table
    expected = (only_u - only_v) / math.sqrt(only_u + only_v) if only_u + only_v else 0.0
    assert tango_test(*table, 0.0) == pytest.approx(expected, rel=1e-14)


@given(tables(), st.floats(-1.0, 1.0))
def test_swapping_the_systems_mirrors(table: tuple[int, int, int], difference: float) -> None:
    only_u, only_v, items = table
    assert tango_test(only_v, only_u, items, -difference) == -tango_test(only_u, only_v, items, difference)
    low, high = tango_interval(only_u, only_v, items, 0.9)
    assert tango_interval(only_v, only_u, items, 0.9) == (-high, -low)


def test_statistic_falls_as_the_hypothesis_grows_on_every_small_table() -> None:
    grid = np.linspace(-1.0, 1.0, 401)
    for items in range(1, 13):
        for only_u in range(items + 1):
            for only_v in range(items - only_u + 1):
                result = [tango_test(only_u, only_v, items, float(d)) for d in grid]
                assert all(after < before for before, after in pairwise(result)), (only_u, only_v, items)


@given(tables(), st.sampled_from([0.5, 0.8, 0.9, 0.95, 0.99, 0.9999]))
def test_interval_ends_where_the_test_begins_to_reject(table: tuple[int, int, int], level: float) -> None:
    low, high = tango_interval(*table, level)
    only_u, only_v, items = table
    assert -1.0 <= low <= (only_u - only_v) / items <= high <= 1.0
    alpha = 1.0 - level
    for end, outwards in ((low, -1.0), (high, 1.0)):
        assert 2.0 * ndtr(-abs(tango_test(*table, end))) >= alpha * (1 - 1e-9)
        if abs(end) < 1.0:
            outside = min(max(end + outwards * 1e-9, -1.0), 1.0)
            assert 2.0 * ndtr(-abs(tango_test(*table, outside))) <= alpha * (1 + 1e-9)


@given(tables(), st.floats(-0.99, 0.99), st.sampled_from([0.8, 0.95]))
def test_interval_holds_a_difference_exactly_when_the_test_keeps_it(
    table: tuple[int, int, int], difference: float, level: float
) -> None:
    low, high = tango_interval(*table, level)
    z, critical = abs(tango_test(*table, difference)), -float(ndtri(0.5 * (1.0 - level)))
    if abs(z - critical) > 1e-9:
        assert (low <= difference <= high) == (z < critical)


@pytest.mark.parametrize("items", [1, 2, 7, 100, 100_000])
@pytest.mark.parametrize("level", [0.9, 0.95])
def test_edges_have_their_closed_forms(items: int, level: float) -> None:
    """Solved by hand: z(d)**2 is n d / (1 - d) without discordant items and n (1 - d) / (1 + d) when U alone is right."""
    square = float(ndtri(0.5 * (1.0 - level))) ** 2
    low, high = tango_interval(0, 0, items, level)
    assert high == pytest.approx(square / (items + square), rel=1e-12)
    assert low == -high
    low, high = tango_interval(items, 0, items, level)
    assert low == pytest.approx((items - square) / (items + square), rel=1e-9, abs=1e-12)
    assert high == 1.0


def test_interval_agrees_with_the_contingencytables_package() -> None:
    """R's `contingencytables` (Fagerland, Lydersen & Laake) tests itself on the data of Cavo et al. 2012."""
    low, high = tango_interval(6, 16, 59 + 6 + 16 + 80, 0.95)
    assert (round(low, 4), round(high, 4)) == (-0.1240, -0.0054)


def test_differences_of_one_are_certain_or_impossible() -> None:
    assert tango_test(5, 0, 5, 1.0) == 0.0
    assert tango_test(0, 5, 5, -1.0) == 0.0
    assert tango_test(4, 0, 5, 1.0) == -math.inf
    assert tango_test(5, 0, 5, -1.0) == math.inf
    assert tango_test(0, 0, 5, 0.0) == 0.0


@given(
    st.integers(0, 60).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))),
    st.sampled_from([0.9, 0.95, 0.99]),
)
def test_clopper_pearson_ends_have_half_of_alpha_in_each_tail(case: tuple[int, int], level: float) -> None:
    successes, trials = case
    low, high = clopper_pearson(successes, trials, level)
    tail = 0.5 * (1.0 - level)
    if successes == 0:
        assert low == 0.0
    else:
        assert float(bdtrc(successes - 1, trials, low)) == pytest.approx(tail, rel=1e-9)
    if successes == trials:
        assert high == 1.0
    else:
        assert float(bdtr(successes, trials, high)) == pytest.approx(tail, rel=1e-9)


@pytest.mark.parametrize(("trials", "level"), [(1, 0.95), (10, 0.95), (43, 0.99)])
def test_clopper_pearson_of_nothing_but_successes(trials: int, level: float) -> None:
    """p**n = alpha/2 by hand."""
    low, high = clopper_pearson(trials, trials, level)
    assert high == 1.0
    assert low == pytest.approx(
        float(Fraction(1, 2) * (1 - Fraction(str(level)))) ** (1.0 / trials), rel=1e-12
    )
    assert clopper_pearson(0, trials, level)[1] == pytest.approx(1.0 - low, rel=1e-12)


@pytest.mark.parametrize(
    ("only_u", "only_v", "items", "difference"),
    [(1, 1, 1, 0.0), (-1, 0, 3, 0.0), (0, -1, 3, 0.0), (0, 0, 0, 0.0), (1, 0, 3, 1.5), (1, 0, 3, math.nan)],
)
def test_nonsense_is_refused(only_u: int, only_v: int, items: int, difference: float) -> None:
    with pytest.raises(ValueError, match=r"between -1 and 1|discordant counts"):
        tango_test(only_u, only_v, items, difference)


@pytest.mark.parametrize("level", [0.0, 1.0, -0.5, 2.0, math.nan])
def test_levels_outside_zero_and_one_are_refused(level: float) -> None:
    with pytest.raises(ValueError, match="level"):
        tango_interval(1, 0, 3, level)
    with pytest.raises(ValueError, match="level"):
        clopper_pearson(1, 3, level)
