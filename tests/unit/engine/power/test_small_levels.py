"""Levels far below what the normal approximation knows: critical counts by fractions, and a search that ends as soon."""

from fractions import Fraction
from math import comb

import numpy as np
import pytest

from exactperm.engine.power.paired_binary import PairedBinary, critical_counts
from exactperm.engine.power.sample_size import sample_size


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
