"""Short laws from tables against counted ways: each sum within its bound, each mass, and where tables are not used."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from exactperm.engine.lattice import CanonicalForm, canonical_form
from exactperm.engine.one_sum import fft, rational
from exactperm.engine.one_sum.summary import law
from exactperm.engine.one_sum.tables import LONGEST, MAX_WEIGHT, have_tables, short_masses, short_sum
from exactperm.engine.probability import Probability, Region, region as region_of, ties_of


def ways_to(form: CanonicalForm) -> list[int]:
    """In how many ways T takes each value: one item after the other is added."""
    ways = [1] + [0] * form.range
    for weight, count in zip(form.weights.tolist(), form.counts.tolist(), strict=True):
        for _ in range(count):
            ways = [way + (ways[at - weight] if at >= weight else 0) for at, way in enumerate(ways)]
    return ways


def drawn(generator: np.random.Generator) -> CanonicalForm:
    """Small integers with many zeros; now and then nearly all even, or with one heavy item."""
    items, largest = int(generator.integers(12, 260)), int(generator.integers(1, 9))
    values = generator.integers(-largest, largest + 1, items) * (generator.random(items) < generator.random())
    if generator.random() < 0.3:
        values = 2 * values
        values[0] = 1
    if generator.random() < 0.3:
        values[1] = int(generator.integers(1, MAX_WEIGHT + 1))
    return canonical_form(values, -values if generator.random() < 0.5 else None)


def distance(found: Probability, truth: Fraction) -> float:
    """|p - truth| as a share of p."""
    return float(abs(Fraction(math.exp(found.log_p)) / truth - 1))


@pytest.mark.parametrize("seed", range(40))
def test_sums_over_intervals_are_within_their_bounds_and_masses_are_right(seed: int) -> None:
    generator = np.random.default_rng(seed)
    form = drawn(generator)
    if not have_tables(form):
        assert form.range == 0 or form.range >= LONGEST or form.weights[-1] > MAX_WEIGHT
        return
    ways, all_ways = ways_to(form), 1 << form.nonzero
    assert np.abs(short_masses(form) - np.array([way / all_ways for way in ways])).max() < 2e-15
    for _ in range(30):
        low = int(np.clip(generator.normal(form.range / 2, 1.5 * math.sqrt(form.variance)), 0, form.range))
        high = int(generator.choice(np.array([low, form.range, generator.integers(low, form.range + 1)])))
        found, truth = short_sum(form, low, high), Fraction(sum(ways[low : high + 1]), all_ways)
        if truth == 0 or math.isinf(found.relative_error_bound):
            assert truth < 1e-13
            continue
        rounded_here = 4e-16 * (1.0 + abs(found.log_p))
        assert distance(found, truth) <= found.relative_error_bound + rounded_here
        if truth > 1e-2:
            assert found.relative_error_bound < 1e-11


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_a_p_value_and_its_ties_by_tables_are_those_of_counted_ways(seed: int, alternative: str) -> None:
    generator = np.random.default_rng(100 + seed)
    form = drawn(generator)
    observed = (
        form.offset + form.step * int(generator.binomial(form.range, 0.5)) if form.range else form.offset
    )
    region = region_of(form, observed, alternative)  # type: ignore[arg-type]  # one of three words
    ties = ties_of(form, observed, alternative)  # type: ignore[arg-type]
    found = fft.with_ties(form, region, ties)
    counted = rational.with_ties(form, region, ties)
    for mine, truth in zip(found, counted, strict=True):
        if truth.fraction is None or truth.p < 1e-9:
            continue
        exact = Fraction(truth.fraction[0], 1 << truth.fraction[1])
        assert distance(mine, exact) <= mine.relative_error_bound + 4e-16 * (1.0 + abs(mine.log_p))
        assert mine.relative_error_bound < 1e-8


def test_what_is_far_out_is_tilted_and_keeps_its_digits() -> None:
    form = canonical_form(np.array([1] * 400 + [2] * 100))
    far = Region(((form.range - 150, form.range),))
    assert have_tables(form)
    assert not fft.is_tabled(form, far)
    found, truth = fft.probability(form, far), rational.probability(form, far)
    assert truth.fraction is not None
    assert truth.p < 1e-20
    assert distance(found, Fraction(truth.fraction[0], 1 << truth.fraction[1])) < 1e-11


@pytest.mark.parametrize(
    ("values", "tabled"),
    [
        ([0, 0], False),
        ([MAX_WEIGHT, 1], True),
        ([MAX_WEIGHT + 1, 1], False),
        ([1] * (LONGEST - 1), True),
        ([1] * LONGEST, False),
    ],
)
def test_where_tables_end(values: list[int], tabled: bool) -> None:
    form = canonical_form(np.array(values))
    assert have_tables(form) is tabled
    if form.range:
        shown = law(form)
        assert shown is not None
        assert math.isclose(float(shown.masses.sum()), 1.0, rel_tol=1e-12)
        assert shown.mean() == pytest.approx(form.range / 2)
        assert shown.sd() == pytest.approx(math.sqrt(form.variance))


def test_a_law_with_gaps_at_its_middle_is_counted_whole() -> None:
    """Far apart: FLINT's polynomial ends before the middle, where there is nothing."""
    form = canonical_form(np.array([1] * 12 + [200]))
    ways = ways_to(form)
    shown = law(form)
    assert shown is not None
    assert shown.masses.tolist() == [way / (1 << form.nonzero) for way in ways]
    middle = Region(((form.range // 2 - 95, form.range // 2 + 95),))
    assert rational.probability(form, middle).p == sum(
        ways[middle.intervals[0][0] : middle.intervals[0][1] + 1]
    ) / (1 << form.nonzero)
