"""How certain the adjusted p-values of a board are: an exact test may have an adjusted p-value that is not."""

from __future__ import annotations

import numpy as np

from ..exactness import EXACT_STEPS, EXACT_WIDTH
from .adjusted import Adjusted
from .pair_tests import PairTests
from .record import CertaintyRecord


def certainty(tests: PairTests, adjusted: Adjusted) -> CertaintyRecord:
    """How many adjusted p-values are exact, bracketed and sampled, over all tests, whether they are listed or not."""
    sampled = tests.sampled if adjusted.sampled is None else adjusted.sampled | tests.sampled
    tight = adjusted.high - adjusted.low <= np.maximum(EXACT_WIDTH * adjusted.high, EXACT_STEPS)
    exact = int(np.count_nonzero(tests.exact & tight & ~sampled))
    estimated = int(np.count_nonzero(sampled))
    return CertaintyRecord(exact, len(tests) - exact - estimated, estimated)
