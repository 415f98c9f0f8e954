"""Arithmetic of even and odd parts: what an operation makes of the bounds of `part.Part`.

With A the even and D the odd part, x(m + s) = A + D and x(m - s) = A - D, so that

    x y:     odd A_x D_y + A_y D_x,                          even A_x A_y + D_x D_y
    x / y:   odd (D_x A_y - A_x D_y) / (A_y**2 - D_y**2),    even (A_x A_y - D_x D_y) / (A_y**2 - D_y**2)
    exp x:   odd exp(A) sinh(D),                             even exp(A) cosh(D)
    log x:   odd atanh(D / A),                               even log(A**2 - D**2) / 2

and min(0, x), from which min, max and the size follow, has a corner that may be crossed. Each new slope is rounded to
doubles and then taken as it is; what that changes is added to the bounds. The engine's notes have the inequalities.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...engine.lattice import Reals
from .part import NOTHING, Bound, Part
from .spread import Reaches

# Eight roundings of a number.
_ROUNDED = 8.0 * 2.0**-52
# A denominator keeps at least this share of its size: then rounding of the bounds is negligible, and the bounds are of use.
_KEPT = 1e-3


class UnboundedError(ArithmeticError):
    """The deviations reach where a function has no value, or is not bounded."""


class Arithmetic:
    """Operations on parts, with the bounds of `reaches`."""

    def __init__(self, reaches: Reaches) -> None:
        self._reaches = reaches

    def linear(self, middle: float, slope: Reals) -> Part:
        """middle + slope . s, `middle` and `slope` each rounded once from what they stand for."""
        return self._part(middle, slope, np.abs(slope), rounded=abs(middle))

    def add(self, parts: Sequence[Part]) -> Part:
        """The sum of parts; what is relative to one of several slopes becomes absolute."""
        moving = [part for part in parts if not part.constant]
        middle = math.fsum(part.middle for part in parts)
        slope = np.sum([part.slope for part in parts], axis=0)
        sizes = len(parts) * np.sum([np.abs(part.slope) for part in parts], axis=0)
        even = NOTHING.plus(*(part.even for part in parts))
        alone = len(moving) == 1
        relative = moving[0].relative if alone else NOTHING
        rest = moving[0].rest if alone else NOTHING.plus(*(self._odd_error(part) for part in moving))
        return self._part(middle, slope, sizes, even, relative, rest, rounded=abs(middle))

    def scale(self, part: Part, factor: float) -> Part:
        """factor * part, the factor rounded once from what it stands for."""
        size = abs(factor)
        return self._part(
            factor * part.middle,
            factor * part.slope,
            np.abs(factor * part.slope),
            part.even.times(size * (1.0 + _ROUNDED)),
            part.relative,
            part.rest.times(size * (1.0 + _ROUNDED)),
            rounded=abs(factor * part.middle),
        )

    def multiply(self, x: Part, y: Part) -> Part:
        """x * y."""
        for one, other in ((x, y), (y, x)):
            if one.constant:
                return self._constant_times(one, other)
        most_x, most_y = self._odd(x), self._odd(y)
        far_y = abs(y.middle) + self._top(y.even)
        slope = x.middle * y.slope + y.middle * x.slope
        sizes = np.abs(x.middle * y.slope) + np.abs(y.middle * x.slope)
        rest = NOTHING.plus(
            self._odd_error(y).times(abs(x.middle)),
            x.even.times(most_y),
            self._odd_error(x).times(abs(y.middle)),
            y.even.times(most_x),
        )
        even = NOTHING.plus(
            y.even.times(abs(x.middle)), x.even.times(far_y), self._product_of_odd(x, y, most_x, most_y)
        )
        middle = x.middle * y.middle
        return self._part(middle, slope, sizes, even, NOTHING, rest, rounded=abs(middle))

    def _constant_times(self, one: Part, other: Part) -> Part:
        """A product of which one factor is the same under every swap, but for the error of its value."""
        scaled, off = self.scale(other, one.middle), self._top(one.even)
        far = abs(other.middle) + self._top(other.even)
        even = scaled.even.plus(Bound({}, off * far))
        return replace(scaled, even=even, rest=scaled.rest.plus(Bound({}, off * self._odd(other))))

    def divide(self, x: Part, y: Part) -> Part:
        """x / y."""
        a, most_x, most_y, far = abs(y.middle), self._odd(x), self._odd(y), self._top(y.even)
        if not a - far - most_y > _KEPT * a:
            raise UnboundedError
        # 1 / (A**2 - D**2) = (1 + zeta) / a**2.
        below = (a - far - most_y) * (a - far + most_y)
        zeta = self._square(y, most_y).plus(y.even.times(2.0 * a + far)).times(1.0 / below)
        most_zeta = (most_y**2 + (2.0 * a + far) * far) / below
        ratio = x.middle / y.middle
        slope = (x.slope - ratio * y.slope) / y.middle
        sizes = (np.abs(x.slope) + np.abs(ratio * y.slope)) / a
        above = NOTHING.plus(
            self._odd_error(x).times(a + far),
            y.even.times(x.reach),
            x.even.times(most_y),
            self._odd_error(y).times(abs(x.middle)),
        )
        rest = above.times((1.0 + most_zeta) / a**2)
        even = NOTHING.plus(
            zeta.times(abs(ratio)),
            NOTHING.plus(
                y.even.times(abs(x.middle)),
                x.even.times(a + far),
                self._product_of_odd(x, y, most_x, most_y),
            ).times((1.0 + most_zeta) / a**2),
        )
        return self._part(ratio, slope, sizes, even, zeta, rest, rounded=abs(ratio))

    def exp(self, x: Part) -> Part:
        """exp(x)."""
        most, far = self._odd(x), self._top(x.even)
        if most + far > 20.0 or abs(x.middle) > 500.0:
            raise UnboundedError
        value, cosh = math.exp(x.middle), math.cosh(most)
        square, grown = self._square(x, most), math.exp(far)
        # sinh(D) = D (1 + sigma) with sigma at most D**2 cosh(D) / 6.
        most_sigma = most**2 * cosh / 6.0
        factor = grown * (1.0 + most_sigma)
        relative = x.relative.times(factor).plus(
            x.even.times(grown * (1.0 + most_sigma)), square.times(cosh / 6.0)
        )
        even = x.even.times(grown * cosh).plus(square.times(cosh / 2.0)).times(value)
        slope, rest = value * x.slope, x.rest.times(factor * value)
        return self._part(value, slope, np.abs(slope), even, relative, rest, rounded=4.0 * value)

    def log(self, x: Part) -> Part:
        """log(x)."""
        a, most, far = x.middle, self._odd(x), self._top(x.even)
        least = a - far
        if not least - most > _KEPT * a or not a > 0.0:
            raise UnboundedError
        largest = most / least
        squared = self._square(x, most).times(1.0 / (least**2 * (1.0 - largest**2)))
        # q = D / A, and atanh(q) = q (1 + kappa) with kappa at most q**2 / (3 (1 - q**2)).
        grown = 1.0 + largest**2 / (3.0 * (1.0 - largest**2))
        relative = x.relative.times(a / least).plus(x.even.times(1.0 / least)).times(grown)
        relative = relative.plus(squared.times(1.0 / 3.0))
        rest = x.rest.times(grown / least)
        even = x.even.times(1.0 / least).plus(squared.times(0.5))
        value = math.log(a)
        slope = x.slope / a
        return self._part(value, slope, np.abs(slope), even, relative, rest, rounded=4.0 * abs(value) + 1.0)

    def size(self, x: Part) -> Part:
        """|x|."""
        sign = self._sign(x)
        if sign:
            return self.scale(x, sign)
        return self.add([x, self.scale(self._below_zero(x), -2.0)])

    def least(self, x: Part, y: Part) -> Part:
        """min(x, y) = y + min(0, x - y)."""
        difference = self.add([x, self.scale(y, -1.0)])
        sign = self._sign(difference)
        if sign:
            return x if sign < 0.0 else y
        return self.add([y, self._below_zero(difference)])

    def _sign(self, x: Part) -> float:
        """Of x wherever s may be; 0 where that is not known."""
        reaches_to = self._odd(x) + self._top(x.even)
        return 0.0 if reaches_to > abs(x.middle) else math.copysign(1.0, x.middle)

    def _below_zero(self, x: Part) -> Part:
        """min(0, x) as a share of x, with an error of the first order where s may cross the corner."""
        a, most, far = x.middle, self._odd(x), self._top(x.even)
        beyond = 0.5 * max(most - (abs(a) - far), 0.0)
        corner = 0.5 * (abs(a) + far)
        share, error = (
            (0.5, corner) if abs(a) < far or corner <= beyond else (1.0 if a < 0.0 else 0.0, beyond)
        )
        line = self.scale(x, share)
        even = x.even.plus(Bound({}, beyond))
        return self._part(
            min(a, 0.0), line.slope, np.abs(line.slope), even, line.relative, line.rest.plus(Bound({}, error))
        )

    def _part(
        self,
        middle: float,
        slope: Reals,
        sizes: Reals,
        even: Bound = NOTHING,
        relative: Bound = NOTHING,
        rest: Bound = NOTHING,
        rounded: float = 0.0,
    ) -> Part:
        """A part whose middle was rounded by a few units of `rounded`, and whose slope is a sum of terms of `sizes`."""
        lost = _ROUNDED * float(sizes @ self._reaches.spread.most) * (1.0 + self._top(relative))
        index = self._reaches.index(slope)
        reach = self._reaches.of(index) if slope.any() else 0.0
        even = even.plus(Bound({}, _ROUNDED * rounded)) if rounded else even
        rest = rest.plus(Bound({}, lost)) if lost else rest
        if not (math.isfinite(middle) and math.isfinite(reach) and math.isfinite(lost)):
            raise UnboundedError
        return Part(middle, slope, index, reach, even, relative, rest)

    def _top(self, bound: Bound) -> float:
        squares = self._reaches.of_squares(bound.squares) if bound.squares else 0.0
        top = squares + bound.constant
        if not math.isfinite(top):
            raise UnboundedError
        return top

    def _odd_error(self, x: Part) -> Bound:
        """Of |D - l . s|."""
        return x.relative.times(x.reach).plus(x.rest)

    def _odd(self, x: Part) -> float:
        """Of |D|."""
        return x.reach * (1.0 + self._top(x.relative)) + self._top(x.rest)

    def _square(self, x: Part, most: float) -> Bound:
        """Of D**2; (u + v)**2 <= (1 + k) u**2 + (1 + 1 / k) v**2 for any k."""
        rest = self._top(x.rest)
        if x.reach == 0.0:
            return x.rest.times(most)
        grown = (1.0 + self._top(x.relative)) ** 2
        line = Bound({x.index: grown * (1.0 + rest / x.reach)})
        return line.plus(x.rest.times(rest + x.reach))

    def _product_of_odd(self, x: Part, y: Part, most_x: float, most_y: float) -> Bound:
        """Of |D_x D_y|."""
        if most_x == 0.0 or most_y == 0.0:
            return NOTHING
        balance = most_y / most_x
        return self._square(x, most_x).times(0.5 * balance).plus(self._square(y, most_y).times(0.5 / balance))
