"""Power given the sizes: every assignment of signs with its chance under the tilt."""

import itertools
import math

import numpy as np
import pytest

from exactperm.engine.lattice import canonical_form
from exactperm.engine.power.resizing import resized
from exactperm.engine.power.tilted_sum import LevelTest, mean, power, rejection, tilt_of_mean, tilt_of_power
from exactperm.engine.probability import Alternative


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
    found = rejection(form, LevelTest(0.05, "two-sided"))
    assert found is not None
    theta = tilt_of_power(form, found.region, 0.8)
    assert theta is not None
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
