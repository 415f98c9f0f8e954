"""The budget holds for all that a test computes: p-value, null distribution and smallest attainable p."""

from __future__ import annotations

import random
import tracemalloc
from typing import Any

import numpy as np
import pytest

from exactperm.engine.plan import Budget
from exactperm.inference.options import Options
from exactperm.inference.paired_test import run_test
from exactperm.statistics.paired import Effects, StatisticSpec

# Enough for meeting in the middle and far too little for an array as long as the lattice.
SMALL = Budget(operations=50_000_000, bytes=4_000_000)
SLACK = 1_000_000


def peak_bytes(n: int, top: int, expression: str, options: dict[str, Any]) -> int:
    rng = random.Random(f"{n} {top}")
    stay = np.array([rng.choice([-1, 1]) * rng.randint(top // 2, top) for _ in range(n)], dtype=np.int64)
    spec = StatisticSpec("expression", {"expression": expression})
    tracemalloc.start()
    try:
        run_test(Effects(stay), spec, Options(**options), SMALL)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("pmf", ["none", "summary"])
@pytest.mark.parametrize("expression", ["x1", "abs(x1)"])
def test_the_null_distribution_of_few_items_on_a_fine_lattice_stays_within_the_bytes(
    expression: str, pmf: str
) -> None:
    """Scores of five decimals: the lattice has a million points, the p-value needs none of them."""
    assert peak_bytes(24, 50_000, expression, {"pmf": pmf}) <= SMALL.bytes + SLACK


def test_the_smallest_attainable_p_of_a_middle_stays_within_the_bytes() -> None:
    options = {"pmf": "none", "alternative": "less"}
    assert peak_bytes(14, 30_000, "abs(x1)", options) <= SMALL.bytes + SLACK
