"""The frontier of a board: which systems another one beats in both quality and cost.

System i dominates j where it is better and cheaper. That is shown where both one-sided tests show it, whose larger p-value is
one of the intersection (Berger 1982); the K (K - 1) ordered pairs are adjusted by Holm. Systems that are not excluded hold the
true frontier with confidence 1 - alpha.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations

import numpy as np

from ...answers.board import FrontierPair, FrontierRecord, FrontierSystem
from ..verdict import holm
from .pair_tests import PairTests


def frontier_record(
    names: Sequence[str], costs: Sequence[float], quality: PairTests, cost: PairTests, alpha: float
) -> FrontierRecord:
    """The frontier from one-sided tests of the pairs in both orders (`permutations`); `costs` are the systems' means. Bounds decide on exclusion."""
    p, high = np.maximum(quality.p, cost.p), np.maximum(quality.p_high, cost.p_high)
    adjusted, adjusted_high = holm(p.tolist()), holm(high.tolist())
    pairs = tuple(
        FrontierPair(u, v, of_pair, float(quality.p[at]), float(cost.p[at]), adjusted[at])
        for at, ((u, v), of_pair) in enumerate(zip(permutations(names, 2), p.tolist(), strict=True))
    )
    systems = []
    for name, mean in zip(names, costs, strict=True):
        least = min(
            (at for at, pair in enumerate(pairs) if pair.v == name), key=lambda at: (adjusted_high[at], p[at])
        )
        excluded = adjusted_high[least] <= alpha
        by = pairs[least].u if excluded else None
        systems.append(
            FrontierSystem(name, mean, excluded, by, pairs[least].p_value, pairs[least].p_adjusted)
        )
    return FrontierRecord(tuple(systems), pairs)
