"""Many two-sided p-values at once are within their error bounds of the exact fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from exactperm.engine.lattice import canonical_form
from exactperm.engine.one_sum import many, rational
from exactperm.engine.probability import region


@pytest.mark.parametrize("step", [1, 2, 3])
@pytest.mark.parametrize(
    ("items", "largest"), [(3, 1), (8, 3), (30, 5), (200, 20), (1_000, 20), (2_000, 3), (40, 100)]
)
def test_p_is_within_its_error(items: int, largest: int, step: int) -> None:
    generator = np.random.default_rng((items, largest, step))
    differences = step * generator.integers(-largest, largest + 1, (24, items))
    shift = generator.random((24, 1)) < 0.5
    differences = np.where(
        shift, differences, np.where(generator.random((24, items)) < 0.1, np.abs(differences), differences)
    )
    observed = np.abs(differences.sum(axis=1))
    differences, observed = differences[observed > 0], observed[observed > 0]
    sizes = np.abs(differences)
    counts = np.array([np.bincount(row, minlength=step * largest + 1)[1:] for row in sizes])
    p, error = many.two_sided(counts, observed)
    assert error.max() < 1e-11
    for at, row in enumerate(differences):
        form = canonical_form(row)
        exact = rational.probability(form, region(form, int(observed[at]), "two-sided")).fraction
        assert exact is not None
        assert abs(Fraction(float(p[at])) - Fraction(exact[0], 1 << exact[1])) <= Fraction(float(error[at]))


def test_sums_far_out_are_not_told_from_nothing() -> None:
    p, error = many.two_sided(np.array([[200]]), np.array([200]))
    assert abs(p[0] - 2.0**-199) <= error[0]
    assert error[0] > 1e-17
