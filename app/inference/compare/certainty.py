"""How certain the adjusted p-values of a board are: an exact test may have an adjusted p-value that is not."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ...answers.board import CERTAINTIES, CertaintyRecord
from ..exactness import EXACT_STEPS, EXACT_WIDTH
from .adjusted import Adjusted
from .pair_tests import PairTests


def certainty_codes(tests: PairTests, adjusted: Adjusted) -> npt.NDArray[np.int64]:
    """The place in CERTAINTIES of each adjusted p-value, shape (m,)."""
    sampled = tests.sampled if adjusted.sampled is None else adjusted.sampled | tests.sampled
    tight = adjusted.high - adjusted.low <= np.maximum(EXACT_WIDTH * adjusted.high, EXACT_STEPS)
    return np.where(sampled, 2, np.where(tests.exact & tight, 0, 1))


def certainty(tests: PairTests, adjusted: Adjusted) -> CertaintyRecord:
    """How many adjusted p-values are exact, bracketed and sampled, over all tests, whether they are listed or not."""
    codes = certainty_codes(tests, adjusted)
    return CertaintyRecord(*np.bincount(codes, minlength=len(CERTAINTIES)).tolist())
