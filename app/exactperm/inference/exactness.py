"""How close the bounds of a p-value must be for it to be called exact."""

from __future__ import annotations

import math

# Beyond this relative error, apart from what rounding to a subnormal double costs, nothing is called exact.
MOST_ERROR = 1e-6
# Bounds of an exact p-value are MOST_ERROR away on either side; the products of an adjustment keep that, up to rounding.
EXACT_WIDTH = 3 * MOST_ERROR
# Doubles near zero lack digits: there the bounds of an exact p-value are a few of the smallest doubles apart.
EXACT_STEPS = 4 * math.ulp(0.0)
