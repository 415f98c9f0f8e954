"""How a list or a job is cut: pure, and whatever the cut, the result is the same."""

from __future__ import annotations

import math
from collections.abc import Sequence


def chunk_count(seconds: float, chunk_seconds: float, most: int) -> int:
    """How many chunks work of so many predicted seconds becomes: at least 1, at most `most`."""
    wanted = seconds / chunk_seconds
    return max(1, min(most, math.ceil(wanted) if math.isfinite(wanted) else most))


def runs_of(costs: Sequence[float], chunk_seconds: float, most: int) -> list[int]:
    """The lengths of consecutive runs of about the same predicted seconds, at most `most`; they add up to all.

    A test that is longer than a chunk by itself is a run of its own end: nothing follows it in its chunk.
    """
    if not costs:
        return []
    share = max(chunk_seconds, sum(costs) / most)
    lengths: list[int] = []
    length, filled = 0, 0.0
    for cost in costs:
        if length and filled + cost > share and len(lengths) < most - 1:
            lengths.append(length)
            length, filled = 0, 0.0
        length += 1
        filled += cost
    return [*lengths, length]
