"""How close the bounds of a p-value must be for it to be called exact, and which digits of a sampled one mean something."""

from __future__ import annotations

import math

# Beyond this relative error, apart from what rounding to a subnormal double costs, nothing is called exact.
MOST_ERROR = 1e-6
# Bounds of an exact p-value are MOST_ERROR away on either side; the products of an adjustment keep that, up to rounding.
EXACT_WIDTH = 3 * MOST_ERROR
# Doubles near zero lack digits: there the bounds of an exact p-value are a few of the smallest doubles apart.
EXACT_STEPS = 4 * math.ulp(0.0)


def is_tight(low: float, high: float) -> bool:
    """Whether the bounds of an adjusted p-value are as close as those of an exact one."""
    return high - low <= max(EXACT_WIDTH * high, EXACT_STEPS)


# Of a p-value as it is printed; more where they tell it from alpha, or from 1.
MOST_DIGITS, _ALL_DIGITS = 6, 17


def known_digits(p: float, bounds_kind: str, low: float, high: float) -> int:
    """The significant digits that are worth printing: of a sampled p-value those down to a tenth of its interval's width.

    >>> known_digits(0.2643256, "confidence", 0.26332, 0.26534), known_digits(0.2643256, "certified", 0.26332, 0.26534)
    (4, 6)
    """
    if bounds_kind != "confidence" or not (p > 0.0 and high > low):
        return MOST_DIGITS
    digits = math.floor(math.log10(p)) - math.floor(math.log10(high - low)) + 2
    return min(max(digits, 1), MOST_DIGITS)


def written(p: float, *landmarks: float, digits: int = MOST_DIGITS) -> str:
    """A p-value with at least so many digits, enough to compare with each landmark, such as alpha, as p does."""
    for enough in range(digits, _ALL_DIGITS):
        text = f"{p:.{enough}g}"
        if all(_order(float(text), mark) == _order(p, mark) for mark in (1.0, *landmarks)):
            return text
    return repr(p)


def _order(left: float, right: float) -> int:
    return (left > right) - (left < right)
