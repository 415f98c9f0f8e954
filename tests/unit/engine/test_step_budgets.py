"""A budget of steps ends every search with a valid bracket, and is kept: steps are counted, seconds are not."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from exactperm.engine.intervals import subset_bounds
from exactperm.engine.intervals.subset_means import units_of
from exactperm.engine.lattice import canonical_form
from exactperm.engine.probability import region
from exactperm.engine.real import bounds
from exactperm.engine.real.form import from_lattice, items_up
from exactperm.engine.real.price import fixed_steps
from exactperm.engine.real.spectrum import Circle, retained
from exactperm.engine.real.tail_bracket import tail_bracket
from exactperm.engine.real.tilt import real_tilt_at
from tests.unit.engine.cases import ALTERNATIVES
from tests.unit.engine.real_effects import real_form, real_region

Integers = NDArray[np.int64]
UNIT = 2.0**-40  # so that sums of these doubles are exact in 64 bits
BUDGETS = [0, 1, 5_000, 150_000, 400_000, 3_000_000]


def _spiky(rng: np.random.Generator, items: int) -> Integers:
    """A few huge effects beside small ones, some of them alike, of either sign."""
    sizes = rng.choice(
        [rng.integers(1, 1 << 20, items), rng.integers(1, 4, items), rng.integers(1, 1 << 36, items)]
    )
    spikes = rng.random(items) < rng.choice([0.0, 0.1, 0.5])
    sizes = np.where(spikes, sizes << int(rng.integers(1, 10)), sizes)
    return np.asarray(sizes * rng.choice([-1, 1], items, p=[0.3, 0.7]), dtype=np.int64)


def _doubles(effects: Integers) -> NDArray[np.float64]:
    return effects.astype(np.float64) * UNIT


def _truth(stay: Integers, swap: Integers, alternative: str, *, absolute: bool) -> Fraction:
    """The definition, over all 2**n sums in exact integers."""
    sums = np.zeros(1, dtype=np.int64)
    for one, other in zip(stay.tolist(), swap.tolist(), strict=True):
        sums = np.concatenate((sums + one, sums + other))
    seen = int(stay.sum())
    if absolute:
        sums, seen = np.abs(sums), abs(seen)
    extreme = {"greater": sums >= seen, "less": sums <= seen}.get(alternative, np.abs(sums) >= abs(seen))
    return Fraction(int(np.count_nonzero(extreme)), len(sums))


@pytest.mark.parametrize("seed", range(20))
def test_a_bracket_holds_the_enumerated_p_value_whatever_it_may_spend(seed: int) -> None:
    rng = np.random.default_rng([11, seed])
    wide = 0
    for _ in range(105):
        stay = _spiky(rng, int(rng.integers(1, 14)))
        swap = -stay if rng.random() < 0.5 else _spiky(rng, len(stay))
        alternative, absolute = ALTERNATIVES[rng.integers(3)], bool(rng.random() < 0.25)
        steps, precision = int(rng.choice(BUDGETS)), 10.0 ** -float(rng.integers(1, 18))
        truth = _truth(stay, swap, alternative, absolute=absolute)
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
        truth = float(_truth(stay, -stay, "greater", absolute=False))
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
    result = units_of(effects, None)
    assert result is not None
    units, tail = result[0], Fraction(1, 40)
    planned = subset_bounds.plan(units, tail)
    assert planned is not None
    spent: list[int] = []
    real = bounds.bracket

    def counted(*args: object, **options: object) -> bounds.Bracket:
        one = real(*args, **options)  # type: ignore[arg-type]
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
    result = units_of(np.arange(1, 100, dtype=np.int64) ** 2, None)
    assert result is not None
    assert subset_bounds.plan(result[0], (1 - Fraction(1, 10**300)) / 2) is None
