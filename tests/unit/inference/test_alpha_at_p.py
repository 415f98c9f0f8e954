"""`significant` where alpha is an attainable p-value: certain, or said not to be."""

from __future__ import annotations

from fractions import Fraction
from random import Random
from typing import Any

import pytest

from tests.unit.inference.run_shorthands import effects


@pytest.mark.parametrize("seed", range(12))
def test_alpha_at_the_p_value_is_certain_or_warned_of(seed: int) -> None:
    random = Random(seed)
    stay = [random.choice([-1, 1]) * random.randint(1, 50) for _ in range(60)]
    exact: Any = effects(stay, method="rational").p_value_fraction
    truth = Fraction(exact.numerator, 2**exact.log2_denominator)
    for alpha in (float(truth), float(truth) * (1 - 1e-15), float(truth) * (1 + 1e-6)):
        if not 0 < alpha < 1:
            continue
        for method in ("rational", "fft", "dp"):
            record = effects(stay, method=method, alpha=alpha)
            warned = "alpha_within_bounds" in {warning.code for warning in record.warnings}
            if record.significant:
                assert truth <= Fraction(alpha)
                assert not warned
            else:
                assert warned or truth > Fraction(alpha)
            if method == "rational":
                assert record.significant == (truth <= Fraction(alpha))
