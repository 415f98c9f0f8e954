"""How numbers are written for people. JSON has its own way: shortest, and nothing lost."""

from __future__ import annotations

import math

SMALLEST_WRITTEN = 1e-300


def number(value: float) -> str:
    """Six significant digits."""
    return f"{value:.6g}"


def probability(p: float, log10_p: float) -> str:
    """A p-value; as a power of ten where it is too small for a double."""
    if p >= SMALLEST_WRITTEN:
        return number(p)
    exponent = math.floor(log10_p)
    mantissa = f"{10 ** (log10_p - exponent):.4g}"
    if mantissa == "10":
        mantissa, exponent = "1", exponent + 1
    return f"{mantissa}e{exponent}"
