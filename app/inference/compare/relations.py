"""What a test says about a pair: better, worse, tied, undecided or untestable."""

from __future__ import annotations

from fractions import Fraction
from typing import get_args

import numpy as np

from ...answers.board import Relation
from ...answers.test import Alternative
from ...engine.lattice import Integers
from .adjusted import Adjusted
from .attainable import untestable
from .pair_tests import PairTests

RELATIONS: tuple[Relation, ...] = get_args(Relation)
BETTER, WORSE, TIED, UNDECIDED, UNTESTABLE = range(5)
# `greater` means that u is better.
_SIDES: dict[Alternative, int] = {"greater": 1, "less": -1}
# What a relation is from the other side.
TURNED = np.array([WORSE, BETTER, TIED, UNDECIDED, UNTESTABLE])


def relations(tests: PairTests, adjusted: Adjusted, alternative: Alternative, alpha: Fraction) -> Integers:
    """Positions in RELATIONS, of u to v; shape (m,)."""
    direction = tests.sign if alternative == "two-sided" else np.full(len(tests), _SIDES[alternative])
    found = np.where(untestable(tests, alpha), UNTESTABLE, TIED)
    found = np.where(adjusted.open, UNDECIDED, found)
    rejected = np.where(direction > 0, BETTER, WORSE)
    return np.where(adjusted.rejected, rejected, found)
