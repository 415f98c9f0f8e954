"""What a rigorous bracket may take: so that its price holds, whatever the numbers are."""

from __future__ import annotations

from ..engine.plan import Cost

# A bracket that does not get there stops at so many times its predicted steps, and so many more: some 50 ms.
_MOST_TIMES, _SPARE_STEPS = 4, 10_000_000


def most_steps(cost: Cost) -> int:
    """Elementary steps after which a bracket of this predicted cost is left as wide as it is."""
    return _SPARE_STEPS + _MOST_TIMES * cost.operations
