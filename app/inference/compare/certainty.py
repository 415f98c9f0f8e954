"""How certain the adjusted p-values of a board are: an exact test may have an adjusted p-value that is not."""

from __future__ import annotations

import numpy as np

from ...engine.probability import SMALLEST
from ..certificate import MOST_ERROR
from .adjusted import Adjusted
from .pair_tests import PairTests
from .record import CertaintyRecord

# Bounds of an exact p-value are MOST_ERROR away on either side; the products of an adjustment keep that, up to rounding.
EXACT_WIDTH = 3 * MOST_ERROR
# Doubles near zero lack digits: there the bounds of an exact p-value are a few of the smallest doubles apart.
EXACT_STEPS = 4 * SMALLEST


def is_tight(low: float, high: float) -> bool:
    """Whether the bounds of an adjusted p-value are as close as those of an exact one."""
    return high - low <= max(EXACT_WIDTH * high, EXACT_STEPS)


def certainty(tests: PairTests, adjusted: Adjusted) -> CertaintyRecord:
    """How many adjusted p-values are exact, bracketed and sampled, over all tests, whether they are listed or not."""
    sampled = tests.sampled if adjusted.sampled is None else adjusted.sampled | tests.sampled
    tight = adjusted.high - adjusted.low <= np.maximum(EXACT_WIDTH * adjusted.high, EXACT_STEPS)
    exact = int(np.count_nonzero(tests.exact & tight & ~sampled))
    estimated = int(np.count_nonzero(sampled))
    return CertaintyRecord(exact, len(tests) - exact - estimated, estimated)
