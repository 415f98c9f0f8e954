"""The root of an increasing function, by secants inside a bracket with regular bisections."""

from __future__ import annotations

from collections.abc import Callable

_MOST_STEPS = 200


def root(function: Callable[[float], float], low: float, high: float, *, tolerance: float) -> float:
    """Return x in [low, high] with function(x) = 0, to within `tolerance`; function(low) <= 0 <= function(high).

    The Illinois method (Dowell & Jarratt 1971, *BIT* 11:168-174) with a bisection after every third step.
    """
    at_low, at_high = function(low), function(high)
    if at_low == 0.0:
        return low
    side = 0
    for step in range(_MOST_STEPS):
        if at_high == 0.0 or high - low <= tolerance:
            break
        middle = 0.5 * (low + high)
        if step % 3 != 2:
            secant = high - at_high * (high - low) / (at_high - at_low)
            middle = secant if low < secant < high else middle
        value = function(middle)
        if value >= 0.0:
            at_low, side = (at_low * 0.5 if side > 0 else at_low), 1
            high, at_high = middle, value
        else:
            at_high, side = (at_high * 0.5 if side < 0 else at_high), -1
            low, at_low = middle, value
    return high
