"""E-values: their mean over all flips is one, and no stream of nulls crosses 1 / alpha too often."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from exactperm.engine.e_value import GRID, EValue, e_value, reaches
from exactperm.engine.lattice import canonical_form
from exactperm.engine.probability import Alternative

ALTERNATIVES: tuple[Alternative, ...] = ("two-sided", "greater", "less")


def _e(
    differences: np.ndarray[tuple[int], np.dtype[np.int64]], unit: Fraction, alternative: Alternative
) -> EValue:
    return e_value(canonical_form(differences), int(differences.sum()), unit, alternative)


@pytest.mark.parametrize(("wins", "losses", "expected"), [(10, 2, 2.7033072), (25, 10, 3.2461518)])
def test_wins_and_losses(wins: int, losses: int, expected: float) -> None:
    found = _e(np.array([1] * wins + [-1] * losses), Fraction(1), "two-sided")
    assert found.value == pytest.approx(expected, abs=5e-8)


@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize("seed", range(4))
def test_the_mean_over_all_flips_is_one(seed: int, alternative: Alternative) -> None:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(0, 10, size=9)
    unit = Fraction(1, int(rng.integers(1, 12)))
    values = [
        _e(np.array(signs) * sizes, unit, alternative).value for signs in itertools.product((1, -1), repeat=9)
    ]
    assert all(value is not None for value in values)
    assert math.fsum(values) / 2**9 == pytest.approx(1.0, abs=1e-12)  # type: ignore[arg-type]  # none is None


@pytest.mark.parametrize("alternative", ALTERNATIVES)
def test_it_is_the_definition(alternative: Alternative) -> None:
    differences = np.array([5, -3, 2, 2, 7, 0, -1, 4])
    values = 0.0
    for tilt in GRID:
        up, down = (math.exp(sign * tilt * differences.sum() / 7) for sign in (1, -1))
        product = math.prod(math.cosh(tilt * d / 7) for d in differences.tolist())
        values += {"greater": up, "less": down, "two-sided": (up + down) / 2}[alternative] / product
    assert _e(differences, Fraction(1, 7), alternative).value == pytest.approx(values / len(GRID), rel=1e-13)


def test_order_does_not_matter_and_beyond_doubles_there_is_a_logarithm() -> None:
    rng = np.random.default_rng(0)
    differences = rng.integers(-(10**6), 10**6, size=3_000)
    found = _e(differences, Fraction(1, 10**6), "greater")
    assert found == _e(rng.permutation(differences), Fraction(1, 10**6), "greater")
    huge = _e(np.ones(5_000, dtype=np.int64), Fraction(1), "greater")
    assert huge.value is None
    # Every sign up: the largest tilt has nearly all of it, 2**n / (1 + exp(-4))**n / 17.
    expected = 5_000 * (math.log(2.0) - math.log1p(math.exp(-4.0))) - math.log(17.0)
    assert huge.log_e == pytest.approx(expected, rel=1e-9)


def test_whether_it_reaches_a_level_is_decided_where_doubles_cannot_tell() -> None:
    differences = np.array([1] * 10 + [-1] * 2)
    form, observed = canonical_form(differences), 8
    found = e_value(form, observed, Fraction(1), "two-sided")
    near = Fraction(math.exp(-found.log_e))
    step = Fraction(1, 10**17)
    decided = [
        reaches(form, observed, Fraction(1), "two-sided", level=near + k * step) for k in range(-200, 201, 20)
    ]
    # A larger level is reached sooner; somewhere among doubles' neighbours it turns, once.
    assert decided == sorted(decided)
    assert decided[0] is False
    assert decided[-1] is True


def test_nothing_different_is_no_evidence() -> None:
    assert _e(np.zeros(5, dtype=np.int64), Fraction(1), "two-sided").value == 1.0
    form = canonical_form(np.zeros(5, dtype=np.int64))
    assert reaches(form, 0, Fraction(1), "two-sided", level=Fraction(1))
