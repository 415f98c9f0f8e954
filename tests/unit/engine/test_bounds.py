"""Brackets of p-values of real effects: they hold the truth, and their steps are counted."""

import itertools
import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import flint
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.typing import NDArray

from exactperm.engine.intervals import subset_bounds
from exactperm.engine.intervals.subset_means import units_of
from exactperm.engine.lattice import canonical_form
from exactperm.engine.one_sum import fft
from exactperm.engine.probability import Alternative, region
from exactperm.engine.real import bounds
from exactperm.engine.real.bounds import Bracket, tail_bracket
from exactperm.engine.real.form import RealForm, RealRegion, Tail, from_lattice, items_up
from exactperm.engine.real.price import fixed_steps, steps_and_bytes
from exactperm.engine.real.spectrum import Circle, Sawtooth, characteristic, retained
from exactperm.engine.real.tilt import deviations, real_tilt_at, real_tilt_towards

from .cases import ALTERNATIVES
from .real_effects import real_form, real_region

# `bounds`: the p-value always lies inside the bracket, which is as narrow as `precision` asks for.


Reals = NDArray[np.float64]
Integers = NDArray[np.int64]
# Effects in units of 2**-40 are doubles whose sums int64 holds exactly.
UNIT = 2.0**-40


def _signed(rng: np.random.Generator, sizes: Reals) -> Reals:
    return np.asarray(sizes * rng.choice([-1.0, 1.0], len(sizes), p=[0.35, 0.65]))


LAWS: Mapping[str, Callable[[np.random.Generator, int], Reals]] = {
    "normal": lambda rng, n: rng.normal(0.3, 1.0, n),
    "uniform": lambda rng, n: rng.uniform(-0.5, 1.0, n),
    "lognormal": lambda rng, n: _signed(rng, rng.lognormal(0.0, 2.0, n)),
    "square roots": lambda rng, n: _signed(rng, np.sqrt(rng.integers(1, 12, n))),
    "near ties": lambda rng, n: _signed(rng, rng.integers(1, 3, n) + 1e-7 * rng.integers(0, 3, n)),
    "few huge": lambda rng, n: rng.normal(0.2, 1.0, n) * np.where(rng.random(n) < 0.2, 1e5, 1.0),
}


def _rounded(law: str, rng: np.random.Generator, n: int) -> Integers:
    return np.asarray(np.rint(LAWS[law](rng, n) / UNIT), dtype=np.int64)


def _doubles(effects: Integers) -> Reals:
    return effects.astype(np.float64) * UNIT


def enumerated(stay: Integers, swap: Integers, alternative: Alternative, *, absolute: bool) -> Fraction:
    """The definition, over all 2**n sums in exact integers."""
    sums = np.zeros(1, dtype=np.int64)
    for one, other in zip(stay.tolist(), swap.tolist(), strict=True):
        sums = np.concatenate((sums + one, sums + other))
    observed = int(stay.sum())
    if absolute:
        sums, observed = np.abs(sums), abs(observed)
    extreme = {"greater": sums >= observed, "less": sums <= observed}.get(
        alternative, np.abs(sums) >= abs(observed)
    )
    return Fraction(int(np.count_nonzero(extreme)), len(sums))


def bracketed(
    stay: Reals,
    swap: Reals | None = None,
    alternative: Alternative = "two-sided",
    *,
    absolute: bool = False,
    precision: float = 1e-3,
    steps: int = bounds.MAX_STEPS,
) -> Bracket:
    form, seen = real_form(stay, swap)
    wanted = real_region(form, seen, alternative, absolute=absolute)
    return bounds.bracket(form, wanted, precision=precision, steps=steps)


def holds(result: Bracket, truth: Fraction) -> bool:
    return Fraction(result.low) <= truth <= Fraction(result.high)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("law", LAWS)
def test_every_enumerated_case_is_inside_and_no_wider_than_asked(law: str, seed: int) -> None:
    rng = np.random.default_rng([seed, *law.encode()])
    for _ in range(12):
        n = int(rng.integers(1, 17))
        precision = 10.0 ** -float(rng.integers(1, 5))
        alternative, absolute = ALTERNATIVES[rng.integers(3)], bool(rng.random() < 0.25)
        stay = _rounded(law, rng, n)
        swap = -stay if rng.random() < 0.5 else _rounded(law, rng, n)
        mirrored = None if (swap == -stay).all() else _doubles(swap)
        result = bracketed(_doubles(stay), mirrored, alternative, absolute=absolute, precision=precision)
        truth = enumerated(stay, swap, alternative, absolute=absolute)
        assert holds(result, truth), (n, alternative, absolute, result, truth)
        assert result.reached
        assert result.high - result.low <= precision * result.low * (1.0 + 1e-12)
        assert result.low <= result.p <= result.high


@pytest.mark.parametrize("law", LAWS)
def test_twenty_two_items_of_every_law_are_inside(law: str) -> None:
    rng = np.random.default_rng([22, *law.encode()])
    stay = _rounded(law, rng, 22)
    result = bracketed(_doubles(stay))
    assert holds(result, enumerated(stay, -stay, "two-sided", absolute=False))
    assert result.reached or law == "near ties"


@pytest.mark.parametrize("law", LAWS)
def test_the_polynomials_alone_hold_every_enumerated_tail(law: str) -> None:
    rng = np.random.default_rng([7, *law.encode()])
    solved = 0
    for _ in range(8):
        stay = _rounded(law, rng, int(rng.integers(4, 17)))
        form, seen = real_form(_doubles(stay))
        (tail,) = real_region(form, seen, "greater").tails
        if tail.outer >= form.reach * (1.0 - 1e-9):
            continue
        result = tail_bracket(form, tail, 1e-2, steps=400_000)
        truth = float(enumerated(stay, -stay, "greater", absolute=False))
        assert math.exp(result.log_low) * (1.0 - 1e-13) <= truth <= math.exp(result.log_high) * (1.0 + 1e-13)
        assert result.degree > 0
        solved += 1
    assert solved > 2


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.floats(-1e6, 1e6, allow_subnormal=False), min_size=1, max_size=9),
    st.sampled_from(ALTERNATIVES),
    st.booleans(),
)
def test_any_doubles_at_all_are_inside(
    effects: list[float], alternative: Alternative, absolute: bool
) -> None:
    exact = [Fraction(x) for x in effects]
    observed = sum(exact, Fraction(0))
    hits = 0
    for signs in itertools.product((1, -1), repeat=len(exact)):
        total = sum((s * x for s, x in zip(signs, exact, strict=True)), Fraction(0))
        t, xi = (abs(total), abs(observed)) if absolute else (total, observed)
        hits += {"greater": t >= xi, "less": t <= xi}.get(alternative, abs(t) >= abs(xi))
    result = bracketed(np.array(effects), None, alternative, absolute=absolute, steps=2_000_000)
    assert holds(result, Fraction(hits, 2 ** len(exact)))


@pytest.mark.slow
@pytest.mark.parametrize("precision", [1e-2, 1e-3, 1e-5])
def test_a_thousand_scores_are_bracketed_as_narrowly_as_asked(precision: float) -> None:
    stay = np.random.default_rng(1).normal(0.13, 1.0, 1000)
    result, finer = bracketed(stay, precision=precision), bracketed(stay, precision=1e-7)
    assert 0.001 < result.p < 0.1
    assert result.reached
    assert result.relative_width <= precision
    assert result.low <= finer.low <= finer.high <= result.high


@pytest.mark.slow
def test_brackets_of_a_fine_lattice_hold_the_certified_transform() -> None:
    rng = np.random.default_rng(3)
    for shift, precision in ((0, 1e-6), (400, 1e-6), (3_000, 1e-6), (7_000, 1e-3)):
        effects = rng.integers(-10_000, 10_001, 300) + shift
        form = canonical_form(effects)
        wanted = region(form, int(effects.sum()), "two-sided")
        exact = fft.probability(form, wanted)
        result = bounds.bracket(*from_lattice(form, wanted), precision=precision)
        assert result.reached
        assert result.log_low - 1e-11 <= exact.log_p <= result.log_high + 1e-11
        assert bracketed(effects.astype(np.float64)).log_high >= exact.log_p - 1e-11


def test_deep_tails_are_bracketed_relatively() -> None:
    rng = np.random.default_rng(4)
    effects = rng.integers(1, 40, 3000)
    effects[rng.permutation(3000)[:300]] *= -1
    form = canonical_form(effects)
    wanted = region(form, int(effects.sum()), "greater")
    exact = fft.probability(form, wanted)
    result = bounds.bracket(*from_lattice(form, wanted))
    assert result.reached
    assert exact.log_p < -750
    assert result.log_low - 1e-10 <= exact.log_p <= result.log_high + 1e-10
    assert result.p > 0.0
    assert result.log10_p * math.log(10.0) == pytest.approx(exact.log_p, abs=1e-3)


def test_all_effects_one_way_leave_one_assignment_in_each_tail() -> None:
    effects = np.random.default_rng(5).lognormal(0.0, 1.0, 3000)
    result = bracketed(effects)
    assert result.log_low <= -2999 * math.log(2.0) <= result.log_high
    assert result.relative_width < 1e-9
    assert result.high > 0.0


def test_identical_systems_and_a_sum_of_zero_are_certain() -> None:
    assert bracketed(np.zeros(5)) == Bracket(0.0, 0.0, 0, 0, reached=True)
    assert bracketed(np.array([math.pi, -math.pi])).low == 1.0
    assert bracketed(np.array([math.pi]), None, "less", absolute=True).high == 1.0


def test_ties_through_equal_weights_count_as_extreme() -> None:
    effects = np.array([math.sqrt(2.0)] * 60 + [-math.sqrt(2.0)] * 40 + [math.pi, -math.pi])
    result = bracketed(effects, precision=1e-6)
    # P(sqrt(2) H + pi K >= 20 sqrt(2)): H the head of a hundred coins, K of two.
    truth = Fraction(0)
    for heads in range(101):
        for pis in range(3):
            total = math.sqrt(2.0) * (2 * heads - 100) + math.pi * (2 * pis - 2)
            ways = math.comb(100, heads) * math.comb(2, pis)
            tied = heads == 60 and pis == 1
            truth += Fraction(ways if tied or total > 20 * math.sqrt(2.0) else 0, 2**102)
    assert result.reached
    assert holds(result, 2 * truth)


@pytest.mark.parametrize("unrelated", [False, True])
def test_ties_on_a_lattice_too_fine_to_see_count_as_extreme(unrelated: bool) -> None:
    rng = np.random.default_rng(12)
    weights = np.array([10**9, 1_414_213_562, 1_732_050_807])
    effects = np.repeat(weights, 40) * rng.choice([-1, 1], 120, p=[0.45, 0.55])
    swap = rng.integers(-3, 4, 120) * 10**9 if unrelated else None
    stay = effects if swap is None else swap + effects
    form = canonical_form(stay, swap)
    wanted = region(form, int(stay.sum()), "greater")
    # T is a sum of three binomials of forty coins.
    heads = np.arange(41)
    one = np.array([math.comb(40, k) / 2**40 for k in range(41)])
    totals = np.add.outer(np.add.outer(weights[0] * heads, weights[1] * heads), weights[2] * heads)
    masses = np.multiply.outer(np.multiply.outer(one, one), one)
    observed = int(effects[effects > 0].sum())
    truth, tied = float(masses[totals >= observed].sum()), float(masses[totals == observed].sum())
    assert tied > 1e-4 * truth
    real, tails = from_lattice(form, wanted, items_up(form, stay, swap))
    for result in (bounds.bracket(real, tails), tail_bracket(real, tails.tails[0], 1e-3, steps=10**7)):
        assert math.exp(result.log_low) * (1.0 - 1e-12) <= truth <= math.exp(result.log_high) * (1.0 + 1e-12)
        assert result.log_high - result.log_low <= 1e-3
    # The bracket without that knowledge holds the truth too, but cannot be that narrow.
    unaware = tail_bracket(*_first_tail(from_lattice(form, wanted)), 1e-3, steps=10**6)
    assert math.exp(unaware.log_low) < truth - 0.5 * tied
    assert math.exp(unaware.log_high) > truth


def _first_tail(posed: tuple[RealForm, RealRegion]) -> tuple[RealForm, Tail]:
    return posed[0], posed[1].tails[0]


def test_swapping_the_systems_mirrors_the_tails_and_scaling_changes_nothing() -> None:
    rng = np.random.default_rng(6)
    stay, swap = rng.normal(0.1, 1.0, 200), rng.normal(0.0, 1.0, 200)
    ways = [bracketed(stay, swap), bracketed(swap[::-1], stay[::-1])]
    assert ways[0].low <= ways[1].high
    up, down = bracketed(stay, None, "greater"), bracketed(-stay, None, "less")
    assert (up.log_low, up.log_high) == (down.log_low, down.log_high)
    for scale in (2.0**900, 2.0**-900):
        scaled = bracketed(stay * scale, None, "greater")
        assert (scaled.log_low, scaled.log_high) == (up.log_low, up.log_high)


def test_the_two_one_sided_brackets_overlap_one() -> None:
    stay = np.random.default_rng(8).normal(0.02, 1.0, 300)
    up, down = bracketed(stay, None, "greater"), bracketed(stay, None, "less")
    assert up.low + down.low <= 1.0 <= up.high + down.high


def test_a_spent_budget_widens_the_bracket_and_says_so() -> None:
    stay = np.random.default_rng(9).normal(0.1, 1.0, 60)
    narrow = bracketed(stay, precision=1e-4)
    wide = bracketed(stay, precision=1e-7, steps=200_000)
    assert narrow.reached
    assert not wide.reached
    assert wide.relative_width > 1e-7
    assert wide.low <= narrow.low * (1.0 + 1e-4)
    assert wide.high >= narrow.high * (1.0 - 1e-4)
    assert bracketed(stay, steps=0).high <= 1.0
    assert bracketed(stay, steps=0).low <= narrow.high


@pytest.mark.parametrize("outliers", [[1e6], [1e3, -3e3, 2e3], [1e9, -1e9, 2e9, 7.0]])
def test_outliers_are_branched_upon_and_agree_with_conditioning(outliers: list[float]) -> None:
    rest = np.random.default_rng(10).normal(0.05, 1.0, 300)
    result = bracketed(np.append(rest, outliers), None, "greater")
    assert result.reached
    observed = math.fsum([*rest.tolist(), *outliers])
    low = high = 0.0
    form, _ = real_form(rest)
    for signs in itertools.product((1, -1), repeat=len(outliers)):
        left = observed - sum(s * x for s, x in zip(signs, outliers, strict=True))
        if abs(left) > form.reach * form.unit:
            low, high = low + (left < 0), high + (left < 0)
            continue
        edge = left / form.unit
        part = bounds.bracket(form, RealRegion((Tail(edge - 1e-9, edge + 1e-9),)), precision=1e-4)
        low, high = low + part.low, high + part.high
    ways = 2 ** len(outliers)
    assert result.low <= high / ways
    assert result.high >= low / ways


@pytest.mark.parametrize("items", [5, 19, 40, 100, 1000, 20_000])
@pytest.mark.parametrize("precision", [1e-2, 1e-4])
def test_the_predicted_cost_is_of_the_right_size(items: int, precision: float) -> None:
    stay = np.random.default_rng(items).normal(1.5 / math.sqrt(items), 1.0, items)
    form, seen = real_form(stay)
    wanted = real_region(form, seen, "two-sided")
    steps, held = steps_and_bytes(form, wanted, precision)
    spent = bounds.bracket(form, wanted, precision=precision).steps
    assert isinstance(steps, int)
    assert isinstance(held, int)
    assert spent / 4 <= steps <= 100 * spent + 1_000_000


# The parts that brackets are made of: majorants above, minorants below, and no frequency dropped in error.


PLENTY = 1 << 40  # steps


@pytest.mark.parametrize("degree", [0, 1, 2, 7, 40, 301])
@pytest.mark.parametrize("decay", [0.0, 1e-9, 0.3, 5.0, 60.0, 4000.0])
@pytest.mark.parametrize("length", [0.125, 0.5, 0.984375])
def test_the_polynomials_enclose_the_sawtooth_everywhere(degree: int, decay: float, length: float) -> None:
    shape = Sawtooth(decay, length)
    frequencies = np.arange(1, degree + 1)
    nodes = np.arange(degree + 1) / (degree + 1)
    y = np.sort(
        np.concatenate(
            (np.linspace(0.0, 1.0, 1999, endpoint=False), nodes, [length, np.nextafter(length, 0)])
        )
    )
    truth = np.where(y < length, np.exp(-decay * y), 0.0)
    waves = np.exp(2j * np.pi * np.outer(y, frequencies))
    for above, sign in ((True, 1.0), (False, -1.0)):
        mean, line = shape.coefficients(degree, frequencies, above=above)
        values = mean + 2.0 * (waves @ line).real
        assert (sign * (values - truth)).min() >= -1e-12 * (degree + 2)
        assert 2.0 * np.abs(line).sum() <= Sawtooth.largest(degree)


@pytest.mark.parametrize("decay", [0.0, 2.0, 50.0])
def test_the_two_differ_by_a_kernel_of_one_node(decay: float) -> None:
    shape = Sawtooth(decay, 0.5)
    (above, _), (below, _) = (shape.coefficients(99, np.arange(1, 100), above=up) for up in (True, False))
    assert above - below == pytest.approx((1.0 + math.exp(-0.5 * decay)) / 100.0)


def _circle(law: str, items: int, target: float) -> Circle:
    rng = np.random.default_rng([items, *law.encode()])
    form, _ = real_form(LAWS[law](rng, items))
    tilted = real_tilt_towards(form, target * math.sqrt(form.variance))
    return Circle(form, tilted, 13.0 * math.sqrt(form.variance))


@pytest.mark.parametrize("law", [law for law in LAWS if law != "few huge"])
@pytest.mark.parametrize(("items", "target"), [(12, 0.0), (60, 0.5), (400, 0.0), (400, 3.0), (3000, 2.0)])
def test_no_frequency_is_dropped_that_is_not_negligible(law: str, items: int, target: float) -> None:
    circle = _circle(law, items, target)
    for below in (4.0, 15.0):
        result = retained(circle, 1, 3000, below, 1 << 20, PLENTY)
        assert result.stop == 3000
        everything = np.arange(1, 3000)
        phi, error = characteristic(circle, everything)
        large = everything[np.abs(phi) - error > math.exp(-below)]
        assert set(large.tolist()) <= set(result.frequencies.tolist())
        assert len(np.unique(result.frequencies)) == len(result.frequencies)


def test_most_frequencies_of_many_items_are_dropped_in_blocks() -> None:
    circle = _circle("normal", 3000, 0.0)
    result = retained(circle, 1, 1 << 20, 18.0, 1 << 20, PLENTY)
    assert len(result.frequencies) < 40
    assert result.steps < 5 * (1 << 20)


def test_a_limit_on_the_frequencies_says_how_far_it_got() -> None:
    circle = _circle("normal", 8, 0.0)
    result = retained(circle, 1, 10_000, 18.0, 100, PLENTY)
    assert result.stop == 101
    assert result.frequencies.tolist() == list(range(1, 101))
    assert retained(circle, 50, 50, 18.0, 100, PLENTY).stop == 50


@pytest.mark.parametrize("target", [0.0, 2.0])
def test_the_characteristic_function_is_within_its_error_of_ball_arithmetic(target: float) -> None:
    form = RealForm(np.array([0.1, math.sqrt(0.5), 1.0]), np.array([3, 1, 6]), 10)
    circle = Circle(form, real_tilt_towards(form, target), 7.3)
    frequencies = np.array([1, 2, 50, 12_345, 10**7])
    phi, error = characteristic(circle, frequencies)
    before = flint.ctx.prec
    flint.ctx.prec = 200
    try:
        for k, value, off in zip(frequencies.tolist(), phi.tolist(), error.tolist(), strict=True):
            product = flint.acb(1)
            for half, count in zip(form.halves.tolist(), form.counts.tolist(), strict=True):
                angle = 2 * flint.arb.pi() * k * flint.arb(half) / flint.arb(7.3)
                tau = (flint.arb(circle.law.theta) * flint.arb(half)).tanh()
                product *= flint.acb(angle.cos(), tau * angle.sin()) ** count
            assert float(abs(product - flint.acb(value)).upper()) <= off
    finally:
        flint.ctx.prec = before


@pytest.mark.parametrize("theta", [0.0, 0.3, 2.0])
def test_deviations_are_as_rare_as_promised(theta: float) -> None:
    rng = np.random.default_rng(2)
    form, _ = real_form(rng.normal(0.0, 1.0, 14))
    sums, log_chance = np.zeros(1), np.zeros(1)
    law = real_tilt_at(form, theta)
    for half, tau in zip(form.halves.tolist(), law.tau.tolist(), strict=True):
        sums = np.concatenate((sums - half, sums + half))
        log_chance = np.concatenate(
            (log_chance + math.log(0.5 * (1.0 - tau)), log_chance + math.log(0.5 * (1.0 + tau)))
        )
    chance = np.exp(log_chance)
    assert float(np.dot(chance, sums)) == pytest.approx(law.mean, abs=1e-12)
    assert law.cumulant == pytest.approx(math.log(float(np.exp(theta * sums).mean())), abs=1e-12)
    for odds in (0.5, 2.0, 5.0, 9.0):
        below, above = deviations(form, law, odds)
        assert float(chance[sums < law.mean - below].sum()) <= math.exp(-odds)
        assert float(chance[sums > law.mean + above].sum()) <= math.exp(-odds)


def test_single_precision_scores_have_sharp_sums_and_others_a_slack() -> None:
    rng = np.random.default_rng(11)
    scores = rng.normal(0.0, 1.0, (2, 50)).astype(np.float32).astype(np.float64)
    sharp, seen = real_form(scores[0] - scores[1])
    assert sharp.sharp
    assert sharp.slack == 0.0
    (tail,) = real_region(sharp, seen, "greater").tails
    assert tail.outer == tail.inner
    dull, seen = real_form(rng.normal(0.0, 1.0, 50))
    (tail,) = real_region(dull, seen, "greater").tails
    assert not dull.sharp
    assert tail.outer < tail.inner


# A budget of steps ends every search with a valid bracket, and is kept: steps are counted, seconds are not.


BUDGETS = [0, 1, 5_000, 150_000, 400_000, 3_000_000]


def _spiky(rng: np.random.Generator, items: int) -> Integers:
    """A few huge effects beside small ones, some of them alike, of either sign."""
    sizes = rng.choice(
        [rng.integers(1, 1 << 20, items), rng.integers(1, 4, items), rng.integers(1, 1 << 36, items)]
    )
    spikes = rng.random(items) < rng.choice([0.0, 0.1, 0.5])
    sizes = np.where(spikes, sizes << int(rng.integers(1, 10)), sizes)
    return np.asarray(sizes * rng.choice([-1, 1], items, p=[0.3, 0.7]), dtype=np.int64)


@pytest.mark.parametrize("seed", range(20))
def test_a_bracket_contains_the_enumerated_p_value_at_any_budget(seed: int) -> None:
    rng = np.random.default_rng([11, seed])
    wide = 0
    for _ in range(105):
        stay = _spiky(rng, int(rng.integers(1, 14)))
        swap = -stay if rng.random() < 0.5 else _spiky(rng, len(stay))
        alternative, absolute = ALTERNATIVES[rng.integers(3)], bool(rng.random() < 0.25)
        steps, precision = int(rng.choice(BUDGETS)), 10.0 ** -float(rng.integers(1, 18))
        truth = enumerated(stay, swap, alternative, absolute=absolute)
        if rng.random() < 0.5:
            mirrored = None if (swap == -stay).all() else _doubles(swap)
            form, seen = real_form(_doubles(stay), mirrored)
            wanted = real_region(form, seen, alternative, absolute=absolute)
        else:
            lattice = canonical_form(stay, swap)
            extreme = region(lattice, int(stay.sum()), alternative, absolute=absolute)
            form, wanted = from_lattice(lattice, extreme, items_up(lattice, stay, swap))
        result = bounds.bracket(form, wanted, precision=precision, steps=steps)
        assert Fraction(result.low) <= truth <= Fraction(result.high), (
            stay,
            swap,
            alternative,
            absolute,
            result,
        )
        assert not result.reached or result.high - result.low <= precision * result.low * (1 + 1e-9) + 4.5e-16
        wide += not result.reached
    assert wide > 5, "hardly any search was ended by its budget"


@pytest.mark.parametrize("steps", BUDGETS)
@pytest.mark.parametrize("seed", range(6))
def test_polynomials_and_branches_alone_hold_the_truth_for_few_steps(seed: int, steps: int) -> None:
    rng = np.random.default_rng([12, seed])
    for _ in range(8):
        stay = _spiky(rng, int(rng.integers(4, 15)))
        form, seen = real_form(_doubles(stay))
        (tail,) = real_region(form, seen, "greater").tails
        if tail.outer >= form.reach * (1.0 - 1e-9):
            continue
        truth = float(enumerated(stay, -stay, "greater", absolute=False))
        result = tail_bracket(form, tail, 1e-6, steps=steps)
        assert np.exp(result.log_low) * (1.0 - 1e-13) <= truth <= np.exp(result.log_high) * (1.0 + 1e-13)


@pytest.mark.parametrize("items", [30, 60, 200, 400])
@pytest.mark.parametrize("spikes", [0, 1, 12])
@pytest.mark.parametrize("precision", [5e-324, 1e-17, 1e-6])
def test_no_bracket_spends_much_more_than_its_budget(items: int, spikes: int, precision: float) -> None:
    rng = np.random.default_rng([items, spikes])
    stay = rng.normal(0.1, 1.0, items)
    stay[:spikes] *= 10.0 ** rng.integers(3, 9, spikes)
    form, seen = real_form(stay)
    wanted = real_region(form, seen, "two-sided")
    for steps in (200_000, 2_000_000, 20_000_000):
        result = bounds.bracket(form, wanted, precision=precision, steps=steps)
        # Beyond the budget: what is done before a step is counted, and one batch of blocks.
        assert result.steps <= steps + 10 * fixed_steps(items) + 3_000_000
        assert not result.reached or precision == 1e-6
        assert 0.0 <= result.low <= result.p <= result.high <= 1.0


def test_more_steps_never_make_a_bracket_wider_than_certainty_or_lose_the_truth_of_a_finer_one() -> None:
    stay = np.random.default_rng(5).normal(0.2, 1.0, 120)
    form, seen = real_form(stay)
    wanted = real_region(form, seen, "greater")
    fine = bounds.bracket(form, wanted, precision=1e-4)
    assert fine.reached
    for steps in BUDGETS:
        coarse = bounds.bracket(form, wanted, precision=1e-4, steps=steps)
        assert coarse.low <= fine.high
        assert fine.low <= coarse.high


@pytest.mark.parametrize("most", [0, 1, 7, 500])
@pytest.mark.parametrize("steps", [0, 1_000, 100_000, 10_000_000])
def test_a_search_for_frequencies_forgets_none_below_where_it_stops(most: int, steps: int) -> None:
    form, _ = real_form(np.random.default_rng(3).lognormal(0.0, 1.0, 300))
    circle = Circle(form, real_tilt_at(form, 0.0), 12.0 * float(np.sqrt(form.variance)))
    every = retained(circle, 1, 200_000, 18.0, 1 << 20, 1 << 40)
    result = retained(circle, 1, 200_000, 18.0, most, steps)
    assert every.stop == 200_000
    assert 1 <= result.stop <= every.stop
    assert len(result.frequencies) <= most
    assert result.frequencies.tolist() == every.frequencies[every.frequencies < result.stop].tolist()


@pytest.mark.parametrize("seed", range(8))
def test_an_end_keeps_to_its_steps_and_holds_the_truth(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """One huge effect beside many: the guess is wrong, looks are many. The end is where subsets of halves have it."""
    rng = np.random.default_rng([13, seed])
    effects = rng.integers(-(10**5), 2 * 10**5, 18).astype(np.int64)
    effects[: 1 + seed % 3] *= 10**6
    result: Any = units_of(effects, None)
    units, tail = result[0], Fraction(1, 40)
    planned: Any = subset_bounds.plan(units, tail)
    spent: list[int] = []
    real = bounds.bracket

    def counted(*args: Any, **options: Any) -> bounds.Bracket:
        one = real(*args, **options)
        spent.append(one.steps)
        return one

    monkeypatch.setattr(bounds, "bracket", counted)
    for upper in (False, True):
        spent.clear()
        end = subset_bounds.lower_end(planned, tail, upper=upper)
        assert sum(spent) <= planned.allowed + 2_000_000
        these = units.mirrored() if upper else units
        exact = _lower_end(these.effects.tolist(), these.counts.tolist(), tail)
        assert end.at <= exact <= end.at + end.width


def _lower_end(effects: list[int], counts: list[int], tail: Fraction) -> Fraction:
    """The smallest subset mean r with P(mean over a random subset <= r) > tail, the empty subset always among them."""
    sums, sizes = np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64)
    for effect in np.repeat(effects, counts).tolist():
        sums, sizes = np.concatenate((sums, sums + effect)), np.concatenate((sizes, sizes + 1))
    means = sums[1:] / sizes[1:]
    order = np.argsort(means, kind="stable")
    rank = int(tail * len(sums))  # with the empty one, rank + 1 subsets are more than the tail
    return Fraction(int(sums[1:][order[rank - 1]]), int(sizes[1:][order[rank - 1]]))


def test_a_level_that_doubles_do_not_tell_from_zero_has_no_ends() -> None:
    result: Any = units_of(np.arange(1, 100, dtype=np.int64) ** 2, None)
    assert subset_bounds.plan(result[0], (1 - Fraction(1, 10**300)) / 2) is None
