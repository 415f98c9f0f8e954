"""`dp` on regions that touch neither end, on blocks of scaled cells, and where the cells hold next to nothing."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from exactperm.engine.lattice import CanonicalForm, canonical_form
from exactperm.engine.one_sum import dp, rational
from exactperm.engine.probability import Region

PROVEN = 1e-6


def ways_of(form: CanonicalForm) -> list[int]:
    """Counts of every T, by definition."""
    counts = [1]
    for weight, count in zip(form.weights.tolist(), form.counts.tolist(), strict=True):
        for _ in range(count):
            counts = [a + b for a, b in itertools.zip_longest(counts, [0] * weight + counts, fillvalue=0)]
    return counts


def off_by(form: CanonicalForm, region: Region, ways: list[int]) -> tuple[float, float]:
    """The relative error of log p, and its bound."""
    result = dp.probability(form, region)
    inside = sum(sum(ways[low : high + 1]) for low, high in region.intervals)
    if inside == 0:
        return 0.0, result.relative_error_bound
    truth = (
        math.log(Fraction(inside, 2**form.nonzero))
        if form.nonzero < 1000
        else (math.log(inside) - form.nonzero * math.log(2.0))
    )
    slack = 4.0 * 2.0**-53 * (1.0 + abs(truth) + (form.nonzero if form.nonzero >= 1000 else 0))
    return max(abs(math.expm1(result.log_p - truth)) - slack, 0.0), result.relative_error_bound


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_any_interval_agrees_with_the_counts(data: st.DataObject) -> None:
    weights = data.draw(st.lists(st.integers(1, 30), min_size=1, max_size=40))
    form = canonical_form(np.array(weights))
    low = data.draw(st.integers(0, form.range))
    high = data.draw(st.integers(low, form.range))
    if (low, high) == (0, form.range):
        return
    error, bound = off_by(form, Region(((low, high),)), ways_of(form))
    assert error <= bound


@pytest.mark.parametrize("tile", [1, 7, 64])
@pytest.mark.parametrize("bits", [4, 256])
def test_blocks_and_tiles_change_nothing(monkeypatch: pytest.MonkeyPatch, tile: int, bits: int) -> None:
    form = canonical_form(np.array([3, 5, 5, 11, 2, 29, 7, 7, 1, 16, 4, 9]))
    ways = ways_of(form)
    whole = {}
    for low, high in itertools.product(
        range(0, form.range + 1, 5), (form.range // 2, form.range - 3, form.range)
    ):
        if 0 < low <= high:
            whole[low, high] = dp.probability(form, Region(((low, high),)))
    monkeypatch.setattr(dp, "TILE", tile)
    monkeypatch.setattr(dp, "_BITS", bits)
    for interval, before in whole.items():
        again = dp.probability(form, Region((interval,)))
        assert again.log_p == pytest.approx(before.log_p, abs=1e-12)
        error, bound = off_by(form, Region((interval,)), ways)
        assert error <= bound


def test_thousands_of_items_take_many_blocks_and_lose_nothing() -> None:
    form = canonical_form(np.array([1] * 3000 + [2] * 500))
    ways = rational.counting_polynomial(form)
    for low in (2001, 2500, 3000, 3900):
        inside = sum(int(ways[value]) for value in range(low, form.range + 1))
        truth = math.log(inside) - form.nonzero * math.log(2.0)
        result = dp.probability(form, Region(((low, form.range),)))
        assert result.log_p == pytest.approx(truth, rel=1e-13)
        assert result.relative_error_bound < 1e-11


def test_a_region_that_the_cells_hold_next_to_nothing_of_is_not_certified() -> None:
    """Between the two humps of one heavy item and many light ones: what underflows there is all there is."""
    form = canonical_form(np.array([100_000] + [1] * 4000))
    gap = dp.probability(form, Region(((20_000, 80_000),)))
    assert gap.relative_error_bound > PROVEN
    edge = dp.probability(form, Region(((4_000, 100_000),)))
    assert edge.relative_error_bound > PROVEN
