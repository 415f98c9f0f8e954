"""How many items a paired test of right or wrong needs, and the smallest difference that it finds: `paired_binary` solved.

`smallest` is the first n whose power reaches what is wanted, `always` the first from which on every n does; between the two
power goes up and down (its saw-tooth). Both are proven by the envelopes of `paired_binary`: every n that these leave open is
computed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..probability import Alternative
from ..root import root
from .paired_binary import ROUNDING, PairedBinary

# Beyond so many items nothing is searched.
MOST_ITEMS = 1_000_000


class OutOfReachError(ValueError):
    """No number of items up to MOST_ITEMS, or no difference, has the power that is wanted."""


@dataclass(frozen=True, slots=True)
class SampleSize:
    """The first number of items with the power, and the first from which on every number has it."""

    smallest: int
    always: int


def sample_size(design: PairedBinary, power: float) -> SampleSize:
    """The items that `design` needs for `power`, which is above alpha and below 1; raises OutOfReachError."""
    if design.p10 == design.p01:
        raise OutOfReachError(
            "equal systems are found different only by chance, whatever the number of items"
        )
    least = _first(lambda n: design.randomised_power(n, design.alpha) >= power - ROUNDING, 1)
    smallest = least
    while design.power(smallest) < power:
        smallest += 1
        if smallest > MOST_ITEMS:
            raise OutOfReachError(f"more than {MOST_ITEMS} items are needed")
    return SampleSize(smallest, _always(design, power, smallest))


def _always(design: PairedBinary, power: float, smallest: int) -> int:
    """The first number from which on every one has the power: downwards from where the lower envelope proves it."""
    proven, gap = smallest, max(smallest // 500, 1)
    while True:
        level = design.least_level_from(design.fewest_discordant(proven))
        if level > 0.0 and design.randomised_power(proven, level) - 2.0 * ROUNDING >= power:
            break
        proven, gap = proven + gap, 2 * gap
        if proven > 2 * MOST_ITEMS:
            raise OutOfReachError(f"more than {MOST_ITEMS} items are needed")
    while proven > smallest and design.power(proven - 1) >= power:
        proven -= 1
    return proven


def _first(holds: Callable[[int], bool], start: int) -> int:
    """The first number from `start` on for which something that stays true is true."""
    low, high = start - 1, start
    while not holds(high):
        low, high = high, 2 * high
        if low > MOST_ITEMS:
            raise OutOfReachError(f"more than {MOST_ITEMS} items are needed")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def detectable_difference(
    discordant: float, items: int, power: float, *, alpha: float, alternative: Alternative
) -> float:
    """The true p10 - p01 >= 0 that a test of `items` items finds with `power`, p10 + p01 being `discordant`.

    For the alternative less it is p01 - p10. Raises OutOfReachError where even p01 = 0 is not found so often.
    """
    side: Alternative = "greater" if alternative == "less" else alternative

    def missing(difference: float) -> float:
        p10 = (discordant + difference) / 2.0
        return PairedBinary(p10, max(discordant - p10, 0.0), alpha, side).power(items) - power

    if missing(discordant) < 0.0:
        raise OutOfReachError(f"{items} items with so few discordant ones cannot have this power")
    if missing(0.0) >= 0.0:
        return 0.0
    return root(missing, 0.0, discordant, tolerance=1e-15)
