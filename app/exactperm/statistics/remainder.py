"""The linear part of a difference of scores, with proven bounds on the remainder.

t = f(m + s) - f(m - s) with m the midpoint of both systems' sums, which no swap changes: t / 2 is the odd part of f, and
`Arithmetic` carries its slope l and the bounds of |t / 2 - l . s| through the formula of f.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from ..engine.lattice import EXACT_DOUBLE, Integers, Reals
from . import formula
from .corpus import BLEU_ORDERS, Bleu, Chrf, Difference
from .effects import Joint
from .formula import Call, Linear, Node, Product, Quotient, Sum
from .midpoint import Reaches, Spread, Strip, spread_of
from .quantity import Formula, Quantity
from .reduction import totals


@dataclass(frozen=True, slots=True)
class Bound:
    """The bound sum of weight (form . s)**2 + constant, by the indices of the forms; nothing is negative."""

    squares: Mapping[int, float] = field(default_factory=dict)
    constant: float = 0.0

    @property
    def nothing(self) -> bool:
        """Whether the bound is zero."""
        return not self.squares and self.constant == 0.0

    def times(self, factor: float) -> Bound:
        """Multiply the bound by a nonnegative number."""
        if factor == 0.0 or self.nothing:
            return NOTHING
        return Bound({i: factor * weight for i, weight in self.squares.items()}, factor * self.constant)

    def plus(self, *others: Bound) -> Bound:
        """Add bounds."""
        squares, constant = dict(self.squares), self.constant
        for other in others:
            for index, weight in other.squares.items():
                squares[index] = squares.get(index, 0.0) + weight
            constant += other.constant
        return Bound(squares, constant)


NOTHING = Bound()


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the formula (see the module); `slope` is l, shape (k,), with index `index`, and |l . s| <= `reach`."""

    middle: float
    slope: Reals
    index: int
    reach: float
    even: Bound = NOTHING
    relative: Bound = NOTHING
    rest: Bound = NOTHING

    @property
    def constant(self) -> bool:
        """Whether no swap changes it."""
        return self.reach == 0.0 and self.rest.nothing


# Formulas of corpus scores


def score_node(quantity: Quantity, middle: Sequence[int]) -> Node | None:
    """Return f of a statistic f(U) - f(V), as a formula of U's m sums; None where it has no such form.

    `middle` has the sign of each sum at the midpoint. Where every sum of it that is positive stays so, the formula
    is the score: orders of n-grams without any are left out.
    """
    if isinstance(quantity, Formula):
        return _first(quantity.node, len(middle))
    if not isinstance(quantity, Difference):
        return None
    if isinstance(quantity.score, Bleu):
        return _bleu(middle)
    return _chrf(quantity.score, middle) if isinstance(quantity.score, Chrf) else None


def _first(node: Node, half: int) -> Node | None:
    """Return the parts over the first `half` of the sums; None where some part involves both halves."""
    parts = node.parts if isinstance(node, Sum) else (node,)
    kept: list[Node] = []
    for part in parts:
        if isinstance(part, Linear):
            terms = [(index, Fraction(c, part.divisor)) for index, c in part.terms if index < half]
            kept.append(formula.linear(terms, Fraction(0)))
            continue
        used = formula.variables(part)
        if not used or max(used) < half:
            kept.append(part)
        elif min(used) < half:
            return None
    return formula.add(*kept) if kept else None


def _bleu(middle: Sequence[int]) -> Node | None:
    """Return 100 exp(min(0, 1 - ref / sys) + mean of log(c_n / t_n)); None where an order has no match."""
    if min(middle) <= 0:
        return None
    logarithms = [
        formula.scale(formula.call("log", [formula.variable(2 + order)]), sign)
        for order in range(2 * BLEU_ORDERS)
        for sign in [Fraction(1 if order < BLEU_ORDERS else -1, BLEU_ORDERS)]
    ]
    excess = formula.subtract(formula.number(1), formula.divide(formula.variable(1), formula.variable(0)))
    penalty = formula.call("min", [formula.number(0), excess])
    return formula.scale(formula.call("exp", [formula.add(penalty, *logarithms)]), Fraction(100))


def _chrf(score: Chrf, middle: Sequence[int]) -> Node | None:
    """Return 100 (1 + beta^2) / (beta^2 / recall + 1 / precision), both means over the existing orders."""
    n, factor = score.orders, score.beta**2
    used = [k for k in range(n) if middle[k] > 0 and middle[n + k] > 0]
    if not used:
        return None
    mean = Fraction(1, len(used))
    precision, recall = (
        formula.add(*(formula.divide(formula.variable(2 * n + k), formula.variable(at + k)) for k in used))
        for at in (0, n)
    )
    one = formula.number(1)
    below = formula.add(formula.scale(formula.divide(one, recall), factor), formula.divide(one, precision))
    return formula.divide(formula.number(100 * (1 + factor) * mean), below)


# Arithmetic of even and odd parts: the bounds of a `Part` after an operation


# Eight roundings of a number.
_ROUNDED = 8.0 * 2.0**-52
# A denominator keeps at least this share of its size, so that rounding of the bounds is negligible and they are useful.
_LEAST_DENOMINATOR = 1e-3


class UnboundedError(ArithmeticError):
    """The deviations reach a point where a function has no value, or is unbounded."""


class Arithmetic:
    """Operations on parts, with the bounds of `reaches`."""

    def __init__(self, reaches: Reaches) -> None:
        self._reaches = reaches

    def linear(self, middle: float, slope: Reals) -> Part:
        """Return middle + slope . s, `middle` and `slope` each rounded once."""
        return self._part(middle, slope, np.abs(slope), rounded=abs(middle))

    def add(self, parts: Sequence[Part]) -> Part:
        """Add parts; errors relative to one of several slopes become absolute."""
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
        """Return factor * part, the factor rounded once."""
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
        """Return x * y."""
        for factor, other in ((x, y), (y, x)):
            if factor.constant:
                return self._constant_times(factor, other)
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

    def _constant_times(self, factor: Part, other: Part) -> Part:
        """Multiply by a factor that no swap changes, except for the error of its value."""
        scaled, off = self.scale(other, factor.middle), self._top(factor.even)
        far = abs(other.middle) + self._top(other.even)
        even = scaled.even.plus(Bound({}, off * far))
        return replace(scaled, even=even, rest=scaled.rest.plus(Bound({}, off * self._odd(other))))

    def divide(self, x: Part, y: Part) -> Part:
        """Return x / y."""
        a, most_x, most_y, far = abs(y.middle), self._odd(x), self._odd(y), self._top(y.even)
        if not a - far - most_y > _LEAST_DENOMINATOR * a:
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
                y.even.times(abs(x.middle)), x.even.times(a + far), self._product_of_odd(x, y, most_x, most_y)
            ).times((1.0 + most_zeta) / a**2),
        )
        return self._part(ratio, slope, sizes, even, zeta, rest, rounded=abs(ratio))

    def exp(self, x: Part) -> Part:
        """Return exp(x)."""
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
        """Return log(x)."""
        a, most, far = x.middle, self._odd(x), self._top(x.even)
        least = a - far
        if not least - most > _LEAST_DENOMINATOR * a or not a > 0.0:
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
        """Return |x|."""
        sign = self._sign(x)
        if sign:
            return self.scale(x, sign)
        return self.add([x, self.scale(self._below_zero(x), -2.0)])

    def least(self, x: Part, y: Part) -> Part:
        """Return min(x, y) = y + min(0, x - y)."""
        difference = self.add([x, self.scale(y, -1.0)])
        sign = self._sign(difference)
        if sign:
            return x if sign < 0.0 else y
        return self.add([y, self._below_zero(difference)])

    def _sign(self, x: Part) -> float:
        """Return the sign of x for all s; 0 where unknown."""
        reaches_to = self._odd(x) + self._top(x.even)
        return 0.0 if reaches_to > abs(x.middle) else math.copysign(1.0, x.middle)

    def _below_zero(self, x: Part) -> Part:
        """Return min(0, x) as a share of x, with a first-order error where s may cross the corner."""
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
        """Return a part whose middle is rounded by a few units of `rounded`, and whose slope sums terms of `sizes`."""
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
        """Return the bound of |D - l . s|."""
        return x.relative.times(x.reach).plus(x.rest)

    def _odd(self, x: Part) -> float:
        """Return the bound of |D|."""
        return x.reach * (1.0 + self._top(x.relative)) + self._top(x.rest)

    def _square(self, x: Part, most: float) -> Bound:
        """Return the bound of D**2; (u + v)**2 <= (1 + k) u**2 + (1 + 1 / k) v**2 for any k."""
        rest = self._top(x.rest)
        if x.reach == 0.0:
            return x.rest.times(most)
        grown = (1.0 + self._top(x.relative)) ** 2
        line = Bound({x.index: grown * (1.0 + rest / x.reach)})
        return line.plus(x.rest.times(rest + x.reach))

    def _product_of_odd(self, x: Part, y: Part, most_x: float, most_y: float) -> Bound:
        """Return the bound of |D_x D_y|."""
        if most_x == 0.0 or most_y == 0.0:
            return NOTHING
        balance = most_y / most_x
        return self._square(x, most_x).times(0.5 * balance).plus(self._square(y, most_y).times(0.5 / balance))


# The bounds of a problem


# Covariances of more sums or units (in additions) take too long, and so do longer formulas.
MOST_SUMS, _MOST_ADDED, _MOST_NODES = 128, 400_000_000, 512
# All roundings of the bounds together, if denominators keep a thousandth of their size.
_WIDER = 1.0 + 1e-6


@dataclass(frozen=True, eq=False)
class Remainder:
    """|t / 2 - slope . s| <= relative |slope . s| + absolute, except with probability exp(log_outside).

    Under these bounds the statistic has a value. `reaches` counts the events; `nodes` are those of the formula.
    """

    slope: Reals
    relative: float
    absolute: float
    reaches: Reaches
    nodes: int


@dataclass(frozen=True, eq=False)
class Midpoint:
    """f as a formula of m sums, `twice` the midpoint, shape (m,), and the spread of s; `differences` of shape (N, m)."""

    node: Node
    twice: tuple[int, ...]
    differences: Integers
    spread: Spread
    # The linear forms of the formula, by identity, for all bounds to try.
    lines: dict[int, tuple[float, Reals]] = field(default_factory=dict)

    def remainder(self, log_odds: float, strip: Strip | None = None) -> Remainder | None:
        """Return the bounds, with probability exp(-log_odds) per event, in a strip; None where there are none."""
        reaches = Reaches(self.spread, log_odds, strip)
        try:
            with np.errstate(all="ignore"):
                walk = _Walk(Arithmetic(reaches), self.twice, self.lines)
                part = walk.visit(self.node)
            relative = reaches.of_squares(part.relative.squares) if part.relative.squares else 0.0
            absolute = reaches.of_squares(part.rest.squares) if part.rest.squares else 0.0
        except (UnboundedError, OverflowError, ZeroDivisionError):
            return None
        relative = _WIDER * (relative + part.relative.constant)
        absolute = _WIDER * (absolute + part.rest.constant)
        if not (relative < 1.0 and math.isfinite(absolute) and part.reach > 0.0):
            return None
        return Remainder(part.slope, relative, absolute, reaches, walk.nodes)


def midpoint_of(problem: Joint) -> Midpoint | None:
    """Expand the statistic about its midpoint; None where it is not a difference of scores that can be bounded."""
    function, half = problem.function, problem.stay.shape[1] // 2
    if not problem.mirrored or not 0 < half <= MOST_SUMS:
        return None
    u, v = problem.stay[:, :half], problem.stay[:, half:]
    if len(problem.stay) * half**2 > _MOST_ADDED:
        return None
    twice = [x + y for x, y in zip(totals(u), totals(v), strict=True)]
    if max(totals(np.abs(u))) + max(totals(np.abs(v))) >= EXACT_DOUBLE:
        return None
    node = score_node(function.quantity, twice)
    if node is None:
        return None
    differences = u - v
    return Midpoint(node, tuple(twice), differences, spread_of(differences))


class _Walk:
    """The formula in parts, each node once."""

    def __init__(
        self, arithmetic: Arithmetic, twice: Sequence[int], lines: dict[int, tuple[float, Reals]]
    ) -> None:
        self._do, self._twice, self._lines = arithmetic, twice, lines
        # By identity, because hashing a node walks the whole tree under it.
        self._known: dict[int, Part] = {}

    @property
    def nodes(self) -> int:
        """Return the number of nodes."""
        return len(self._known)

    def visit(self, node: Node) -> Part:
        known = self._known.get(id(node))
        if known is None:
            if len(self._known) >= _MOST_NODES:
                raise UnboundedError
            known = self._known[id(node)] = self._visit(node)
        return known

    def _visit(self, node: Node) -> Part:
        do = self._do
        if isinstance(node, Linear):
            if id(node) not in self._lines:
                self._lines[id(node)] = self._line(node)
            return do.linear(*self._lines[id(node)])
        if isinstance(node, Sum):
            return do.add([self.visit(part) for part in node.parts])
        if isinstance(node, Product):
            return do.multiply(self.visit(node.left), self.visit(node.right))
        if isinstance(node, Quotient):
            return do.divide(self.visit(node.numerator), self.visit(node.denominator))
        return self._call(node)

    def _line(self, node: Linear) -> tuple[float, Reals]:
        """Return the value at the midpoint and the coefficients, each rounded once."""
        middle = Fraction(node.constant) + Fraction(sum(c * self._twice[i] for i, c in node.terms), 2)
        slope = np.zeros(len(self._twice))
        for index, coefficient in node.terms:
            slope[index] = float(Fraction(coefficient, node.divisor))
        return float(middle / node.divisor), slope

    def _call(self, node: Call) -> Part:
        do, arguments = self._do, [self.visit(argument) for argument in node.arguments]
        first = arguments[0]
        if node.function == "exp":
            return do.exp(first)
        if node.function == "log":
            return do.log(first)
        if node.function == "sqrt":
            return do.exp(do.scale(do.log(first), 0.5))
        if node.function == "abs":
            return do.size(first)
        sign = 1.0 if node.function == "min" else -1.0
        for other in arguments[1:]:
            # max(x, y) = -min(-x, -y).
            least = do.least(do.scale(first, sign), do.scale(other, sign))
            first = do.scale(least, sign)
        return first
