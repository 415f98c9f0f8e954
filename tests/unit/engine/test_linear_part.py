"""The bounds that a bracket of several sums stands on: tails of sums of signs, and what rounding moves."""

from __future__ import annotations

import itertools
import math

import flint
import numpy as np
import pytest

from exactperm.engine.joint.linear_part import Distance, bracket, linear_part
from exactperm.engine.rademacher import reach


@pytest.mark.parametrize("log_odds", [0.1, 1.0, 3.0, 10.0, 40.0, 400.0])
def test_no_linear_form_is_allowed_less_than_a_theorem_proves(log_odds: float) -> None:
    """2 exp(-x^2 / 2), or P(Z >= x) / (2 P(Z >= sqrt 2)): one of them is at most exp(-log_odds) at the reach x."""
    x, wanted = flint.arb(reach(log_odds)), (-flint.arb(log_odds)).exp()
    hoeffding = 2 * (-x * x / 2).exp()
    gaussian = (x / flint.arb(2).sqrt()).erfc() / (2 * flint.arb(1).erfc())
    assert hoeffding <= wanted or gaussian <= wanted


@pytest.mark.parametrize("relative", [0.0, 0.3, 0.9])
@pytest.mark.parametrize("moved", [-0.5, -0.2, 0.2, 0.5])
def test_a_bracket_holds_where_rounding_and_the_remainder_are_at_their_worst(
    relative: float, moved: float
) -> None:
    """|t| / 2 = (1 +- relative) |l . s|, and |l . s| off the lattice by as much as it may be, always the same way."""
    weights = np.array([1, 1, 2, 3, 5], dtype=np.int64)
    part = linear_part(weights, 1.0, np.zeros(len(weights)))
    assert part is not None
    distance = Distance(relative, abs(moved), -math.inf)
    sums = [abs(sum(w * e for w, e in zip(weights, signs, strict=True))) for signs in itertools.product((1, -1), repeat=5)]  # fmt: skip
    for factor in (1.0 + relative, 1.0 - relative):
        halves = np.array([factor * max(one + moved, 0.0) for one in sums])
        for size in set(halves.tolist()) - {0.0}:
            found = bracket(part, size, 1e-12, distance, "two-sided", 1, precision=1e-6)
            p = (halves >= size).mean()
            assert found.low * (1 - 1e-9) <= p <= found.high * (1 + 1e-9)
