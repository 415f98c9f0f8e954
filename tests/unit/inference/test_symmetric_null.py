"""The null of a paired test is symmetric: its probabilities, quantiles and bins, against a convolution in integers."""

from __future__ import annotations

import json
import math
import random
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import flint
import numpy as np
import pytest

from exactperm.answers.test import NullRecord
from exactperm.engine.lattice import canonical_form
from exactperm.engine.one_sum.summary import predicted_nanoseconds
from exactperm.engine.plan import Budget
from exactperm.inference.null_record import MAX_PICTURE_NANOSECONDS
from exactperm.inference.options import Options
from exactperm.inference.paired_test import run_test
from exactperm.statistics.paired import Counts, StatisticSpec
from tests.unit.inference.run_shorthands import effects, score

EXAMPLES = Path(__file__).parents[3] / "openapi" / "examples"


def exact_law(effects: list[int]) -> tuple[int, list[int]]:
    """(lowest sum, numbers of ways of reaching it and every second one above)."""
    sizes = [abs(effect) for effect in effects if effect]
    ways = flint.fmpz_poly([1])
    for size in sorted(set(sizes)):
        ways *= (flint.fmpz_poly([1, 1]) ** sizes.count(size)).inflate(size)
    return -sum(sizes), [int(way) for way in ways.coeffs()]


def is_symmetric(null: NullRecord) -> None:
    assert null.quantiles is not None
    assert null.pmf is not None
    quantiles = dict(null.quantiles)
    assert null.mean == 0.0
    assert null.min == -null.max
    assert quantiles["0.5"] == 0.0
    for low, high in (("0.005", "0.995"), ("0.025", "0.975"), ("0.05", "0.95"), ("0.25", "0.75")):
        assert quantiles[low] == -quantiles[high]
    assert [value for value, _ in null.pmf] == [-value for value, _ in reversed(null.pmf)]
    masses = [mass for _, mass in null.pmf]
    assert masses == masses[::-1]


def bins_are_exact(null: NullRecord, effects: list[int], unit: Fraction) -> None:
    """Every bin has the mass of the values that its width says, and all have as many.

    Where the picture would take long it is of rounded weights, and nearly so.
    """
    fine = predicted_nanoseconds(canonical_form(np.array(effects))) <= MAX_PICTURE_NANOSECONDS
    relative, absolute = (1e-6, 3e-12) if fine else (2e-3, 1e-6)
    low, ways = exact_law(effects)
    total = 2 ** sum(1 for effect in effects if effect)
    assert null.pmf is not None
    assert null.pmf_bin_width is not None
    half = Fraction(null.pmf_bin_width).limit_denominator(10**15) / 2
    for middle, mass in null.pmf:
        centre = Fraction(middle).limit_denominator(10**15)
        first, last = (math.ceil(((centre + sign * half) / unit - low) / 2) for sign in (-1, 1))
        inside = sum(ways[max(first, 0) : max(last, 0)])
        assert mass == pytest.approx(float(Fraction(inside, total)), rel=relative, abs=absolute)


def test_the_bins_of_robust03_have_no_notch() -> None:
    body = json.loads((EXAMPLES / "scores-robust03-map.json").read_text(), parse_float=Decimal)
    u, v = body["u"], body["v"]
    if isinstance(u, dict):
        u, v = list(u.values()), [v[key] for key in u]
    whole = [int((a - b).scaleb(4)) for a, b in zip(u, v, strict=True)]
    null = score([float(x) for x in u], [float(x) for x in v], pmf="summary").null
    is_symmetric(null)
    bins_are_exact(null, whole, Fraction(1, 10**4 * len(whole)))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(40))
def test_random_symmetric_tests_are_shown_symmetrically(seed: int) -> None:
    rng = random.Random(seed)
    n, most = rng.choice([1, 2, 3, 7, 11, 40, 150]), rng.choice([1, 3, 30, 999, 3_000])
    whole = [rng.randint(-most, most) for _ in range(n)]
    if not any(whole):
        whole[0] = 1
    null = effects(whole, pmf="summary").null
    is_symmetric(null)
    bins_are_exact(null, whole, Fraction(1))


@pytest.mark.parametrize(
    ("n", "most"), [(60, 10**9), (61, 10**12), (300, 10**6), (301, 10**6 + 1), (2000, 10**5)]
)
def test_nulls_in_cells_and_of_rounded_weights_are_symmetric(n: int, most: int) -> None:
    rng = random.Random(n)
    null = effects([rng.randint(1, most) for _ in range(n)], pmf="summary").null
    is_symmetric(null)
    assert null.pmf is not None
    masses = [mass for _, mass in null.pmf]
    # Neighbouring bins of so many items are near to a smooth curve: no one holds a value more than others.
    for before, here, after in zip(masses, masses[1:], masses[2:], strict=False):
        if here > 1e-3:
            assert here == pytest.approx(0.5 * (before + after), rel=0.02)


@pytest.mark.parametrize("n", [3, 9, 40, 400])
def test_a_difference_of_f1_has_a_symmetric_null_listed_or_sampled(n: int) -> None:
    rng = random.Random(n)
    u, v = (
        {name: np.array([rng.randint(0, 9) for _ in range(n)]) for name in ("tp", "fp", "fn")} for _ in "uv"
    )
    is_symmetric(run_test(Counts(u, v), StatisticSpec("f1"), Options(), Budget()).null)


@pytest.mark.parametrize(
    ("stay", "points"), [([1_000_000_000, 1, 2], 8), ([10**12, 10**12, 3, 3, 1], 18), ([5, 5, 5], 4)]
)
def test_a_full_null_lists_its_values_and_not_its_range(stay: list[int], points: int) -> None:
    null = effects(stay, pmf="full").null
    assert null.pmf is not None
    assert len(null.pmf) == points
    assert math.fsum(mass for _, mass in null.pmf) == pytest.approx(1.0, abs=1e-14)
    is_symmetric(null)


def test_many_items_of_few_enormous_effects_are_listed_in_full() -> None:
    null = effects([10**9 + 7] * 90 + [3] * 80 + [1], pmf="full").null
    assert null.pmf is not None
    assert len(null.pmf) == 91 * 81 * 2
    is_symmetric(null)
