"""Doubles next to exact values, and bounds of p-values that underflow."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np

from ...engine.lattice import Reals
from ...engine.probability import SMALLEST
from .pair_tests import PairTests

# Below this p-values are taken from their logarithms: products of doubles could lose digits there.
LOG10_DEEP = -300.0
_LOGARITHM_ROUNDED = 1e-11


def exact_alpha(alpha: float) -> Fraction:
    """alpha as it is written, 0.05 as 1/20: not the double next to it."""
    return Fraction(repr(alpha))


def nearest(values: Sequence[Fraction]) -> tuple[Reals, Reals, Reals]:
    """The nearest doubles (no positive value becomes 0), and the closest ones at or below, at or above."""
    p = np.array([float(value) for value in values], np.float64)
    side = np.array(
        [_side(value, double) for value, double in zip(values, p.tolist(), strict=True)], np.int64
    )
    low = np.where(side < 0, np.nextafter(p, 0.0), p)
    high = np.where(side > 0, np.nextafter(p, math.inf), p)
    return np.maximum(p, SMALLEST), low, high


def _side(value: Fraction, double: float) -> int:
    """1 where the value is above its double, -1 below, 0 at it."""
    top, bottom = double.as_integer_ratio()
    difference = value.numerator * bottom - top * value.denominator
    return (difference > 0) - (difference < 0)


def raw_bounds(tests: PairTests) -> tuple[Reals, Reals]:
    """Certified bounds of the raw p-values as doubles, also where these underflow."""
    high = np.minimum(tests.p_high, 1.0)
    deep = tests.log10_low < LOG10_DEEP
    if not deep.any():
        return np.maximum(tests.p_low, 0.0), high
    from_log = 10.0 ** np.where(deep, tests.log10_low, 0.0) * (1.0 - _LOGARITHM_ROUNDED)
    return np.where(deep, np.nextafter(from_log, 0.0), tests.p_low), high


def log10_or(p: Reals, deep: Callable[[], Reals]) -> Reals:
    """Logarithms of p; those of `deep` where p is too small to have all its digits."""
    shallow = p >= 10.0**LOG10_DEEP
    logarithms = np.minimum(np.log10(np.where(shallow, p, 1.0)), 0.0)
    return logarithms if shallow.all() else np.where(shallow, logarithms, deep())


def log10_of(value: Fraction) -> float:
    """log10 of a positive fraction of any size."""
    shift = value.numerator.bit_length() - value.denominator.bit_length()
    top, bottom = (0, shift) if shift > 0 else (-shift, 0)
    scaled = Fraction(value.numerator << top, value.denominator << bottom)
    return min(math.log10(float(scaled)) + shift * math.log10(2.0), 0.0)
