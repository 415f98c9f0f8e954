"""The midpoint linearisation of a statistic of several sums: an ordinary test of one sum that nearly is its test.

t = h(S), and a swap of item n moves S from stay_n to swap_n. The midpoint m = (sum of stay + sum of swap) / 2 stays
where it is under every swap, so with signs s_n (+1 as observed, -1 swapped)

    S - m = sum_n s_n (stay_n - swap_n) / 2,    h(S) = h(m) + grad h(m) . (S - m) + rest.

For a difference of scores, t = f(m + s) - f(m - s), h(m) is 0 and the rest begins with terms of the third order. The
linear part has one effect for each item and so a p-value that the methods for one sum compute exactly. It serves
as a control variate of samples, and in proven brackets. Whatever gradient is taken and however its effects are
rounded, they are a fixed function of the signs: rounding costs agreement with t, and no validity.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import flint
import numpy as np

from ..engine.lattice import Integers
from .gradient import NotSmoothError
from .joint_problem import Joint
from .reduction import totals
from .sum_function import FunctionOf

_BITS = 192
# Of the slopes, as powers of two: farther than any double.
_MOST_EXPONENT = 1 << 12
# Products of effects and integer slopes stay below this, sums of them included.
_ROOM = 1 << 61


@dataclass(frozen=True, slots=True)
class Linearisation:
    """h(S) = value + sum_j gradient[j] (S_j - twice_m[j] / 2) + rest.

    `gradient` and `twice_m` have one number for each of the k sums; `value` is h(m), exactly 0 for a difference
    of scores (a `mirrored` problem). All are dyadic rationals near the true ones.
    """

    twice_m: tuple[int, ...]
    value: Fraction
    gradient: tuple[Fraction, ...]


@dataclass(frozen=True, slots=True)
class RoundedLine:
    """The linear part in integers: each vector v moves it by `unit` times its integer, `effects`, of shape (U,)."""

    unit: Fraction
    effects: Integers


def linearise(problem: Joint) -> Linearisation | None:
    """The linearisation at the midpoint; None where the statistic has none there, or no slope at all."""
    function = problem.function
    if not isinstance(function, FunctionOf):
        return None
    twice = [one + other for one, other in zip(totals(problem.stay), totals(problem.swap), strict=True)]
    with flint.ctx.workprec(_BITS):
        point = [flint.arb(total) / 2 for total in twice]
        try:
            found = function.quantity.tangent(point)
            if found is None:
                return None
            slopes = [_dyadic(found.slopes.get(index)) for index in range(len(twice))]
            value = Fraction(0) if problem.mirrored else _dyadic(found.value)
        except NotSmoothError:
            return None
    if not any(slopes):
        return None
    return Linearisation(tuple(twice), value, tuple(slopes))


def rounded_line(
    slopes: Sequence[Fraction], vectors: Integers, counts: Integers, spread: int
) -> RoundedLine | None:
    """slope . v for each of the `vectors`, shape (U, m), that occur `counts` times, rounded to a lattice.

    Its step is such that the sum of signs times effects has a standard deviation of `spread` to twice as many steps.
    None where all are zero. In integers throughout, so that every machine rounds alike.
    """
    if not vectors.size:
        return None
    sizes = [max(-int(column.min()), int(column.max())) for column in vectors.T]
    most = sum(abs(slope) * size for slope, size in zip(slopes, sizes, strict=True))
    if most == 0 or sum(sizes) > _ROOM:
        return None
    fine = _power_of_two(Fraction(_ROOM) / most)
    # A sum that no swap moves may have any slope.
    factors = np.array(
        [round(slope * fine) if size else 0 for slope, size in zip(slopes, sizes, strict=True)],
        dtype=np.int64,
    )
    effects = vectors @ factors
    size = _root_mean_square(effects, counts)
    shift = max(int(size * math.sqrt(int(counts.sum())) / spread).bit_length() - 1, 0)
    if shift:
        effects = (effects + (1 << (shift - 1))) >> shift
    return RoundedLine(Fraction(1 << shift) / fine, effects) if effects.any() else None


def _root_mean_square(effects: Integers, counts: Integers) -> float:
    """Of all effects, from their leading bits: the same double on every machine."""
    largest = max(-int(effects.min()), int(effects.max()))
    items = int(counts.sum())
    dropped = max(largest.bit_length() - (62 - items.bit_length()) // 2, 0)
    leading = effects >> dropped
    return math.sqrt(int((counts * leading * leading).sum()) / items) * 2.0**dropped


def _power_of_two(value: Fraction) -> Fraction:
    """The largest power of two that is at most `value`."""
    bits = value.numerator.bit_length() - value.denominator.bit_length()
    power = Fraction(2) ** bits
    return power if power <= value else power / 2


def _dyadic(number: flint.arb | None) -> Fraction:
    """The middle of a ball; raises NotSmoothError for one that no double comes near to."""
    if number is None:
        return Fraction(0)
    mantissa, exponent = number.mid().man_exp()
    if abs(int(exponent)) > _MOST_EXPONENT:
        raise NotSmoothError
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)
