"""Sums of few items with enormous sizes, of sizes with gaps, at odd levels: every assignment of signs, whichever way the law comes."""

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from exactperm.engine.lattice import CanonicalForm, Integers, canonical_form
from exactperm.engine.one_sum.rational import counting_polynomial
from exactperm.engine.power import parts
from exactperm.engine.power.parts import parts_of, states_of
from exactperm.engine.power.price import SEARCH, laws_cost
from exactperm.engine.power.resizing import coarser, resized
from exactperm.engine.power.tilted_law import TiltedLaw, tilted_law
from exactperm.engine.power.tilted_sum import LevelTest, mean, power, rejection, tilt_of_mean, tilt_of_power
from exactperm.engine.probability import Alternative

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
        found = rejection(form, LevelTest(0.05, "two-sided"))
        assert found is not None
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
    found = rejection(rough, LevelTest(0.04, "greater"))
    other = rejection(alone, LevelTest(0.08, "greater"))
    assert found is not None
    assert other is not None
    assert found.least - rough.weights[-1] == pytest.approx(other.least * alone.step / rough.step, rel=1e-3)


def test_more_items_of_few_sizes_have_no_enormous_window() -> None:
    form = resized(canonical_form(np.array([100_003, -2, -100_002])), 10**7)
    assert parts_of(coarser(form, 2_048)).operations < 20_000_000
