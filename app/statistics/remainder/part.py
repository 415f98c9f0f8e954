"""A function of the sums at m + s and m - s: its even and its odd part in s, each with a bound of its error.

    even:  (x(m + s) + x(m - s)) / 2 = middle + something of size at most `even`
    odd:   (x(m + s) - x(m - s)) / 2 = l . s  + something of size at most |l . s| `relative` + `rest`

for all s that the bounds of `spread.Reaches` allow. The bounds are sums of squares of linear forms of s, plus a constant:
so much less than their largest value is likely that what multiplies them may be at its largest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ...engine.lattice import Reals


@dataclass(frozen=True, slots=True)
class Bound:
    """sum of weight (form . s)**2 + constant, by the numbers of the forms; nothing is negative."""

    squares: Mapping[int, float] = field(default_factory=dict)
    constant: float = 0.0

    @property
    def nothing(self) -> bool:
        """Whether it is zero."""
        return not self.squares and self.constant == 0.0

    def times(self, factor: float) -> Bound:
        """The bound times a number that is not negative."""
        if factor == 0.0 or self.nothing:
            return NOTHING
        return Bound({i: factor * weight for i, weight in self.squares.items()}, factor * self.constant)

    def plus(self, *others: Bound) -> Bound:
        """The sum of bounds."""
        squares, constant = dict(self.squares), self.constant
        for other in others:
            for index, weight in other.squares.items():
                squares[index] = squares.get(index, 0.0) + weight
            constant += other.constant
        return Bound(squares, constant)


NOTHING = Bound()


@dataclass(frozen=True, slots=True)
class Part:
    """See the module; `slope` is l, shape (k,), known as `index`, and |l . s| is at most `reach`."""

    middle: float
    slope: Reals
    index: int
    reach: float
    even: Bound = NOTHING
    relative: Bound = NOTHING
    rest: Bound = NOTHING

    @property
    def constant(self) -> bool:
        """Whether nothing moves it."""
        return self.reach == 0.0 and self.rest.nothing
