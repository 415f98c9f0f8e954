"""What a rigorous bracket may take: so that its price holds, whatever the numbers are."""

from __future__ import annotations

from ..engine.plan import Cost

# A bracket that does not get there stops at so many times its predicted steps, and so many more: some 50 ms.
_MOST_TIMES, _SPARE_STEPS = 4, 10_000_000
_SECONDS_UNPROVEN = 0.01


def most_steps(cost: Cost) -> int:
    """Elementary steps after which a bracket of this predicted cost is left as wide as it is."""
    return _SPARE_STEPS + _MOST_TIMES * cost.operations


def unproven_seconds(cost: Cost) -> float:
    """What is added to the predicted seconds of a bracket: what it takes is likely and not proven."""
    return _SECONDS_UNPROVEN if cost.method == "bounds" else 0.0
