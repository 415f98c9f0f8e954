"""Power: exact by few states, of paired proportions, by tilted sums, at small levels."""

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from math import comb
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from exactperm.engine.lattice import CanonicalForm, Integers, canonical_form
from exactperm.engine.one_sum.rational import counting_polynomial
from exactperm.engine.power import parts
from exactperm.engine.power.paired_binary import (
    OutOfReachError,
    PairedBinary,
    critical_counts,
    detectable_difference,
    sample_size,
)
from exactperm.engine.power.parts import coarser, parts_of, resized, states_of
from exactperm.engine.power.tilted_sum import (
    SEARCH,
    LevelTest,
    TiltedLaw,
    laws_cost,
    mean,
    power,
    rejection,
    tilt_of_mean,
    tilt_of_power,
    tilted_law,
)
from exactperm.engine.probability import Alternative

# Sums of few items with enormous sizes, of sizes with gaps, at odd levels: every assignment of signs, whichever way the law comes.


Draw = Callable[[np.random.Generator, int], Integers]
DRAWS: dict[str, Draw] = {
    "small": lambda rng, n: rng.integers(1, 4, n),
    "any": lambda rng, n: rng.integers(1, 2_000, n),
    "powers": lambda rng, n: 2 ** rng.integers(0, 30, n),
    "one enormous": lambda rng, n: np.append(rng.integers(1, 5, n - 1), 10 ** int(rng.integers(4, 15))),
    "gaps": lambda rng, n: np.append(10 * rng.integers(1, 5, n - 1), 3),
}


def significant(form: CanonicalForm, test: LevelTest) -> tuple[Integers, NDArray[np.bool_]]:
    """(T, whether it is significant) of every assignment, by counting them."""
    weights = np.repeat(form.weights, form.counts)
    totals = np.array(list(itertools.product((0, 1), repeat=len(weights)))) @ weights
    signed = 2 * totals - form.range
    sizes = np.abs(signed) if test.two_sided else signed
    beyond, ties = sizes[:, None] < sizes, sizes[:, None] == sizes
    p_values = (beyond.sum(axis=1) + ties.sum(axis=1) * (0.5 if test.mid else 1.0)) / len(totals)
    return totals, p_values <= test.alpha


@pytest.mark.parametrize(
    ("kind", "most"),
    # Windows as wide as the largest sizes' are what is not taken.
    [(kind, 1 << 20) for kind in DRAWS]
    + [(kind, most) for kind in ("small", "any", "gaps") for most in (1, 8)],
)
@pytest.mark.parametrize("alternative", ["two-sided", "greater"])
def test_regions_levels_and_powers_are_those_of_all_assignments(
    monkeypatch: pytest.MonkeyPatch, alternative: Alternative, kind: str, most: int
) -> None:
    monkeypatch.setattr(parts, "MOST_STATES", most)
    for seed in range(12):
        rng = np.random.default_rng(seed)
        form = canonical_form(DRAWS[kind](rng, int(rng.integers(2, 9))))
        least_p = 2.0**-form.nonzero
        alpha = float(rng.choice([0.05, 0.0625, 0.25, 0.5, 0.9, least_p, 2 * least_p, 1 - least_p]))
        test = LevelTest(min(alpha, 1 - 1e-9), alternative, mid=bool(seed % 2))
        totals, rejected = significant(form, test)
        found = rejection(form, test)
        assert (found is not None) == rejected.any()
        if found is None:
            continue
        upper = rejected & (2 * totals >= form.range) if test.two_sided else rejected
        assert found.least == totals[upper].min()
        assert found.level == pytest.approx(rejected.mean(), rel=1e-9)
        for theta in (0.0, 0.5 / math.sqrt(form.variance), 3.0 / form.weights[0]):
            chances = np.exp(theta * (totals - totals.max()).astype(float))
            expected = chances[rejected].sum() / chances.sum()
            assert power(form, found.region, theta) == pytest.approx(expected, abs=1e-11)
        if rejected.mean() < 0.8:
            tilt = tilt_of_power(form, found.region, 0.8)
            assert tilt is not None
            assert power(form, found.region, tilt) == pytest.approx(0.8, abs=1e-9)


def test_few_items_of_any_size_are_as_many_states_as_can_be_reached() -> None:
    for enormous in (10**5, 10**9, 10**15):
        form = canonical_form(np.array([enormous + 3, -2, -enormous - 2]))
        assert parts_of(form).window == 0
        assert states_of(form).sums.tolist() == sorted(
            {a + b + c for a in (0, 2) for b in (0, enormous + 2) for c in (0, enormous + 3)}
        )
        # Eight states and a dozen laws, however long the lattice: under a tenth of a second is planned.
        assert laws_cost(form, LevelTest(0.5, "two-sided"), SEARCH).seconds < 0.1


@pytest.mark.parametrize("seed", range(20))
def test_states_and_their_ways_are_those_of_the_polynomial_and_no_more_than_planned(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sizes = np.repeat(rng.integers(1, 40, 3), rng.integers(1, 30, 3))
    form = canonical_form(np.append(sizes, 10 ** int(rng.integers(1, 4))))
    planned = parts_of(form)
    states = states_of(form)
    assert len(states.sums) <= planned.states
    if planned.window == 0:
        ways = counting_polynomial(form)
        assert states.sums.tolist() == [t for t in range(form.range + 1) if ways[t] != 0]
        logs = [math.log(int(ways[t])) for t in states.sums.tolist()]
        assert states.log_ways == pytest.approx(logs, abs=1e-11)


@pytest.mark.parametrize("kind", DRAWS)
def test_a_search_takes_about_as_many_laws_as_are_planned(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    laws: list[float] = []

    def counted(form: CanonicalForm, theta: float) -> TiltedLaw:
        laws.append(theta)
        return tilted_law(form, theta)

    monkeypatch.setattr("exactperm.engine.power.tilted_sum.tilted_law", counted)
    for seed in range(8):
        rng = np.random.default_rng(seed)
        form = canonical_form(DRAWS[kind](rng, 14))
        found: Any = rejection(form, LevelTest(0.05, "two-sided"))
        for wanted in (0.6, 0.8, 0.999):
            laws.clear()
            assert tilt_of_power(form, found.region, wanted) is not None
            assert len(laws) <= 3 * SEARCH


def test_a_mean_next_to_its_end_has_a_tilt_in_no_time() -> None:
    form = canonical_form(np.array([2**57 + 1, 2**56 + 3, 3]))
    end = form.range / 2.0
    tilt = tilt_of_mean(form, math.nextafter(end, 0.0))
    assert tilt is not None
    assert mean(form, tilt) == pytest.approx(end)


def test_rounded_sizes_keep_what_lies_far_below_the_largest() -> None:
    rng = np.random.default_rng(3)
    form = canonical_form(np.append(rng.integers(1, 10**9, 400), 10**17))
    rough = coarser(form, 2_048)
    assert rough.nonzero == form.nonzero
    assert len(rough.weights) > 200
    # The largest falls either way; beside it the others decide, as without it at half the level.
    alone = coarser(form.without(1), 2_048)
    found: Any = rejection(rough, LevelTest(0.04, "greater"))
    other: Any = rejection(alone, LevelTest(0.08, "greater"))
    assert found.least - rough.weights[-1] == pytest.approx(other.least * alone.step / rough.step, rel=1e-3)


def test_more_items_of_few_sizes_have_no_enormous_window() -> None:
    form = resized(canonical_form(np.array([100_003, -2, -100_002])), 10**7)
    assert parts_of(coarser(form, 2_048)).operations < 20_000_000


# Power of the paired test of right or wrong: published figures, and every outcome counted in fractions.


@pytest.mark.parametrize(
    ("items", "p10", "p01", "power"),
    [(200, 0.15, 0.10, 0.2497449), (1319, 0.08, 0.05, 0.8425310), (100, 0.5, 0.3, 0.5693193)],
)
def test_two_sided_power_is_that_of_gpower(items: int, p10: float, p01: float, power: float) -> None:
    assert PairedBinary(p10, p01).power(items) == pytest.approx(power, abs=5e-8)


def test_one_sided_power_and_its_level_are_those_of_gpower() -> None:
    design = PairedBinary(0.32, 0.08, 0.05, "greater")
    assert (design.power(50), design.level(50)) == pytest.approx((0.839357, 0.032579), abs=5e-7)


def _counted(items: int, p10: Fraction, p01: Fraction, alpha: Fraction, *, two_sided: bool) -> Fraction:
    """The chance of every table whose exact p-value is at most alpha."""
    power = Fraction(0)
    for wins in range(items + 1):
        for losses in range(items + 1 - wins):
            flips = wins + losses
            extreme = [
                b
                for b in range(flips + 1)
                if (abs(2 * b - flips) >= abs(wins - losses) if two_sided else b >= wins)
            ]
            if Fraction(sum(comb(flips, b) for b in extreme), 2**flips) <= alpha:
                ways = comb(items, wins) * comb(items - wins, losses)
                power += ways * p10**wins * p01**losses * (1 - p10 - p01) ** (items - flips)
    return power


@pytest.mark.parametrize("alternative", ["two-sided", "greater"])
@pytest.mark.parametrize("alpha", [Fraction(1, 16), Fraction(1, 8), Fraction(3, 64)])
def test_power_is_the_chance_of_all_tables_that_are_significant(
    alternative: Alternative, alpha: Fraction
) -> None:
    p10, p01 = Fraction(7, 16), Fraction(3, 16)
    design = PairedBinary(float(p10), float(p01), float(alpha), alternative)
    for items in (1, 4, 5, 8, 11):
        expected = _counted(items, p10, p01, alpha, two_sided=alternative == "two-sided")
        assert design.power(items) == pytest.approx(float(expected), abs=1e-12)
        half = (p10 + p01) / 2
        level = _counted(items, half, half, alpha, two_sided=alternative == "two-sided")
        assert design.level(items) == pytest.approx(float(level), abs=1e-12)


def test_levels_that_are_met_exactly_are_met() -> None:
    flips = np.arange(9)
    most = critical_counts(flips, 0.0625)
    for k, c in zip(flips.tolist(), most.tolist(), strict=True):
        tails = [Fraction(sum(comb(k, i) for i in range(j + 1)), 2**k) for j in range(k + 1)]
        assert c == sum(tail <= Fraction(1, 16) for tail in tails) - 1


@pytest.mark.parametrize(
    ("p10", "p01", "alpha", "alternative", "power"),
    [
        (0.7, 0.3, 0.05, "two-sided", 0.8),
        (0.9, 0.1, 0.01, "greater", 0.9),
        (0.62, 0.38, 0.0625, "two-sided", 0.7),
        (0.3, 0.1, 0.2, "greater", 0.5),
        (0.08, 0.02, 0.05, "two-sided", 0.9),
    ],
)
def test_first_and_lasting_sizes_are_those_of_a_search_through_all(
    p10: float, p01: float, alpha: float, alternative: Alternative, power: float
) -> None:
    design = PairedBinary(p10, p01, alpha, alternative)
    found = sample_size(design, power)
    powers = [design.power(items) for items in range(1, 4 * found.always)]
    assert found.smallest == next(n for n, value in enumerate(powers, 1) if value >= power)
    assert found.always == 1 + max(n for n, value in enumerate(powers, 1) if value < power)


def test_power_goes_up_and_down_where_every_item_is_discordant() -> None:
    found = sample_size(PairedBinary(0.65, 0.35), 0.8)
    assert found.smallest < found.always


def test_detectable_difference_has_the_power_and_nothing_smaller_has() -> None:
    found = detectable_difference(0.13, 1319, 0.8, alpha=0.05, alternative="two-sided")
    assert PairedBinary((0.13 + found) / 2, (0.13 - found) / 2).power(1319) == pytest.approx(0.8, abs=1e-9)
    less = found * (1 - 1e-6)
    assert PairedBinary((0.13 + less) / 2, (0.13 - less) / 2).power(1319) < 0.8


def test_effects_that_no_number_of_items_shows_are_out_of_reach() -> None:
    with pytest.raises(OutOfReachError):
        sample_size(PairedBinary(0.1, 0.1), 0.8)
    with pytest.raises(OutOfReachError):
        detectable_difference(0.05, 20, 0.8, alpha=0.05, alternative="two-sided")


# Power given the sizes: every assignment of signs with its chance under the tilt.


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("alternative", ["two-sided", "greater"])
def test_regions_and_powers_are_those_of_all_assignments(seed: int, alternative: Alternative) -> None:
    rng = np.random.default_rng(seed)
    effects = rng.integers(1, int(rng.choice([2, 5, 60])), size=int(rng.integers(3, 12)))
    form = canonical_form(effects)
    weights = np.repeat(form.weights, form.counts)
    heads = np.array(list(itertools.product((0, 1), repeat=len(weights))))
    totals = heads @ weights
    least_p = 2.0 ** (1 - len(weights) + (alternative == "two-sided"))
    for alpha in (0.0625, 0.05, 0.25, least_p):
        middle = form.range / 2
        sizes = np.abs(totals - middle) if alternative == "two-sided" else totals - middle
        p_values = np.array([np.count_nonzero(sizes >= size) for size in sizes]) / len(totals)
        significant = p_values <= alpha
        found = rejection(form, LevelTest(alpha, alternative))
        assert (found is not None) == significant.any()
        if found is None:
            continue
        assert found.level == pytest.approx(significant.mean(), rel=1e-12)
        for theta in (0.0, 0.3, 2.0):
            up = 1.0 / (1.0 + np.exp(-theta * weights))
            chances = np.prod(np.where(heads == 1, up, 1.0 - up), axis=1)
            assert power(form, found.region, theta) == pytest.approx(chances[significant].sum(), abs=1e-12)
            assert mean(form, theta) == pytest.approx(chances @ totals - middle, abs=1e-9)
        tilt = tilt_of_power(form, found.region, 0.9)
        assert tilt is not None
        assert power(form, found.region, tilt) == pytest.approx(0.9, abs=1e-9)


def test_conditional_power_is_what_simulation_finds() -> None:
    rng = np.random.default_rng(5)
    form = canonical_form(rng.integers(-30, 31, 400))
    found: Any = rejection(form, LevelTest(0.05, "two-sided"))
    theta: Any = tilt_of_power(form, found.region, 0.8)
    heads = np.zeros(200_000, dtype=np.int64)
    for weight, count in zip(form.weights.tolist(), form.counts.tolist(), strict=True):
        heads += weight * rng.binomial(count, 1.0 / (1.0 + math.exp(-theta * weight)), size=len(heads))
    reached = np.mean((heads >= found.least) | (heads <= form.range - found.least))
    assert reached == pytest.approx(0.8, abs=4 * math.sqrt(0.16 / len(heads)))


def test_a_mean_is_reached_by_its_tilt_unless_the_sizes_cannot_have_it() -> None:
    form = canonical_form(np.array([3, 1, 2, 2, 5]))
    tilt = tilt_of_mean(form, 2.0)
    assert tilt is not None
    assert mean(form, tilt) == pytest.approx(2.0, rel=1e-9)
    assert tilt_of_mean(form, form.range / 2) is None


def test_more_items_have_the_same_mixture_of_sizes() -> None:
    form = canonical_form(np.array([0, 0, 1, 1, 1, 4]))
    larger = resized(form, 600)
    assert larger.items == 600
    assert dict(zip(larger.weights.tolist(), larger.counts.tolist(), strict=True)) == {1: 300, 4: 100}
    fewer = resized(form, 4)
    assert (fewer.items, fewer.nonzero) == (4, 3)


@pytest.mark.parametrize("items", [6, 50, 399, 1_000])
def test_fewer_items_of_many_sizes_keep_small_and_large_ones(items: int) -> None:
    sizes = np.random.default_rng(3).integers(1, 10**6, 400)
    form = canonical_form(sizes)
    other = resized(form, items)
    assert (other.items, other.nonzero) == (items, items)
    shown = float(np.dot(other.weights.astype(float) * other.step, other.counts)) / items
    own = float(np.dot(form.weights.astype(float) * form.step, form.counts)) / 400
    assert shown == pytest.approx(own, rel=0.5 / items**0.5)


# Levels far below what the normal approximation knows: critical counts by fractions, and a search that ends as soon.


@pytest.mark.parametrize("level", [1e-7, 2.0**-40, 1e-30, 2.0**-200, 1e-250])
def test_critical_counts_are_those_of_fractions(level: float) -> None:
    flips = np.array([1, 20, 40, 41, 100, 200, 201, 500, 900])
    for k, found in zip(flips.tolist(), critical_counts(flips, level).tolist(), strict=True):
        tail, count = Fraction(0), -1
        while count < k and tail + Fraction(comb(k, count + 1), 1 << k) <= Fraction(level):
            count += 1
            tail += Fraction(comb(k, count), 1 << k)
        assert found == count


@pytest.mark.parametrize("alpha", [1e-12, 1e-60, 1e-290])
def test_a_search_at_a_small_level_asks_for_few_numbers(
    monkeypatch: pytest.MonkeyPatch, alpha: float
) -> None:
    asked: list[int] = []
    power = PairedBinary.power

    def counted(design: PairedBinary, items: int) -> float:
        asked.append(items)
        return power(design, items)

    monkeypatch.setattr(PairedBinary, "power", counted)
    design = PairedBinary(0.01, 0.5, alpha)
    found = sample_size(design, 0.8)
    assert len(asked) < 8_000
    reached = [power(design, n) >= 0.8 for n in range(found.always - 30, found.always + 200)]
    assert all(reached[30:])
    assert not power(design, found.smallest - 1) >= 0.8
