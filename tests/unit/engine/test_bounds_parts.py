"""The parts that brackets are made of: majorants above, minorants below, and no frequency dropped in error."""

from __future__ import annotations

import math

import flint
import numpy as np
import pytest

from exactperm.engine.real.form import RealForm
from exactperm.engine.real.majorant import Sawtooth
from exactperm.engine.real.spectrum import Circle, characteristic, retained
from exactperm.engine.real.tilt import deviations, real_tilt_at, real_tilt_towards
from tests.unit.engine.real_effects import real_form, real_region
from tests.unit.engine.test_bounds import LAWS

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
