"""The exact common order of the values of two systems, on the scale where they are exchanged."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import isqrt

import numpy as np

from ...engine.lattice import EXACT_DOUBLE, Integers, Reals, Whole, Wide, decimal_lattice, shortest_decimal
from ...errors import InvalidTest
from ..effects import MAX_INTEGER
from ..paired import Column
from ..scores import doubled_midranks

# Scores as the decimals they print as, with any number of digits, on one lattice. Sums read a score of more than 15
# digits as a double, since its last digits come from arithmetic. Comparisons read decimals throughout, and an epsilon
# of 0.1 means the decimal: 0.3 and 0.2 are 0.1 apart, even next to a 1/3.


def as_printed(*columns: Column) -> tuple[Fraction, tuple[Whole, ...]]:
    """Return (unit, the columns in units), shape (n,) each: int64 up to 2**59 in size, or Python integers."""
    if all(column.dtype == np.int64 for column in columns):
        if all(_largest(column) <= MAX_INTEGER for column in columns):
            return Fraction(1), tuple(column.astype(np.int64) for column in columns)
    elif all(column.dtype == np.float64 or _largest(column) < EXACT_DOUBLE for column in columns):
        plain = decimal_lattice(*(column.astype(np.float64) for column in columns))
        if plain is not None:
            return plain
    distinct = [np.unique(column, return_inverse=True) for column in columns]
    parts = [
        [(x, 0) if isinstance(x, int) else shortest_decimal(x) for x in values.tolist()]
        for values, _ in distinct
    ]
    finest = max((places for part in parts for _, places in part), default=0)
    wide = (
        np.array([digits * 10 ** (finest - places) for digits, places in part], dtype=object)
        for part in parts
    )
    return Fraction(10) ** -finest, tuple(
        column[where.reshape(-1)] for column, (_, where) in zip(wide, distinct, strict=True)
    )


def _largest(column: Column) -> int:
    """Return the largest absolute value as a Python integer, since |-2**63| does not fit int64."""
    return max(-int(column.min()), int(column.max())) if len(column) else 0


# The three scales


@dataclass(frozen=True, slots=True)
class Placed:
    """The values of one system, shape (n,) each, by integers that compare with those of the other system.

    A value y is more than epsilon below x if its `code` is less than `below` of x; more than epsilon above x if its
    code is not less than `upto` of x; else the two tie.
    """

    code: Integers
    below: Integers
    upto: Integers

    def take(self, at: Integers) -> Placed:
        """Select the items at these positions."""
        return Placed(self.code[at], self.below[at], self.upto[at])


def placed(u: Column, v: Column, scale: str, epsilon: Fraction) -> tuple[Placed, Placed]:
    """Place both systems' values, shape (n,) each, in one order; epsilon is in units of the scale.

    Raises InvalidTest where a system cannot be put on the scale.
    """
    if scale == "standardized":
        return standardized(u, v, epsilon)
    if scale == "ranks":
        within = min(int(2 * epsilon), 2 * len(u))
        return _on_ranks(doubled_midranks(u), within), _on_ranks(doubled_midranks(v), within)
    if epsilon == 0 and u.dtype == v.dtype:
        return _on_integers(u, v, 0)  # doubles compare as the decimals that they print as
    unit, columns = as_printed(u, v)
    return _on_integers(columns[0], columns[1], int(epsilon / unit))


def _on_ranks(doubled: Integers, within: int) -> Placed:
    """Place integers from 2 to 2 n, which serve as codes."""
    return Placed(doubled, np.maximum(doubled - within, 0), doubled + within + 1)


def _on_integers(u: Whole | Reals, v: Whole | Reals, within: int) -> tuple[Placed, Placed]:
    """Place values, with ties up to `within` apart; doubles come only with 0."""
    values, where = np.unique(np.concatenate([u, v]), return_inverse=True)
    code = where.reshape(-1).astype(np.int64)
    below, upto = code, code + 1
    if within:
        reach = within if values.dtype == object else min(within, 2 * MAX_INTEGER)
        below = np.searchsorted(values, values - reach, side="left")[code]
        upto = np.searchsorted(values, values + reach, side="right")[code]
    n = len(u)
    return Placed(code[:n], below[:n], upto[:n]), Placed(code[n:], below[n:], upto[n:])


# Standardized values: numbers with two different square roots, compared exactly. With integers x of a common unit and
# X = n x - sum(x), Q = sum(X^2), the z-score is X sqrt(n / Q). Within a system integers are compared. Between two, X of one lies
# below Y of the other if sgn(X) X^2 Q_y < sgn(Y) Y^2 Q_x; with an epsilon, integers nearest to an expression of two roots are found
# from brackets, and by squaring where a bracket holds an integer.


# Bits behind the binary point of a bracket, where it matters whether it holds an integer.
_BITS = 64


@dataclass(frozen=True, slots=True)
class _Centred:
    """n x - sum(x) as Python integers, shape (n,), and the sum of their squares."""

    values: Wide
    squares: int


def standardized(u: Column, v: Column, epsilon: Fraction) -> tuple[Placed, Placed]:
    """Place both systems on standardized scales; raises InvalidTest at /u or /v where all values are equal."""
    n = len(u)
    _, columns = as_printed(u, v)
    first, second = (
        _centred(np.asarray(column, dtype=object), pointer)
        for column, pointer in zip(columns, ("/u", "/v"), strict=True)
    )
    keys = np.concatenate([_keys(first, second.squares), _keys(second, first.squares)])
    _, where = np.unique(keys, return_inverse=True)
    code = where.reshape(-1).astype(np.int64)
    codes = code[:n], code[n:]
    if epsilon == 0:
        return Placed(codes[0], codes[0], codes[0] + 1), Placed(codes[1], codes[1], codes[1] + 1)
    order = tuple(_Sorted.of(system, each) for system, each in zip((first, second), codes, strict=True))
    return (
        _window(first, codes[0], order[0], order[1], (first.squares, second.squares), epsilon),
        _window(second, codes[1], order[1], order[0], (second.squares, first.squares), epsilon),
    )


def _centred(column: Wide, pointer: str) -> _Centred:
    values = column * len(column) - sum(column.tolist())
    squares = sum(x * x for x in values.tolist())
    if squares == 0:
        detail = "All scores of this system are equal and cannot be standardized: set scale to ranks or raw."
        raise InvalidTest.at(pointer, "constant_scores", detail)
    return _Centred(values, squares)


def _keys(system: _Centred, squares: int) -> Wide:
    """Return sgn(X) X^2 times the other system's sum of squares."""
    return np.asarray(system.values * np.abs(system.values) * squares, dtype=object)


@dataclass(frozen=True, slots=True)
class _Sorted:
    """A system's centred values in ascending order, shape (n,), and their codes."""

    values: Wide
    codes: Integers

    @classmethod
    def of(cls, system: _Centred, codes: Integers) -> _Sorted:
        """Sort by code, and so by value."""
        order = np.argsort(codes, kind="stable")
        return cls(system.values[order], codes[order])

    def first_codes(self, counts: Integers) -> Integers:
        """Return one more than the code of the last of the first `counts` values; 0 for none."""
        return np.asarray(np.concatenate([[0], self.codes + 1])[counts], dtype=np.int64)


def _window(
    system: _Centred,
    codes: Integers,
    of_system: _Sorted,
    other: _Sorted,
    squares: tuple[int, int],
    epsilon: Fraction,
) -> Placed:
    """Return, for each value of a system, the codes where the values that tie with it begin and end."""
    n, (mine, theirs) = len(codes), squares
    # |X - Y| sqrt(n / Q) <= a / b within a system.
    reach = isqrt(epsilon.numerator**2 * mine // (epsilon.denominator**2 * n))
    low = np.searchsorted(of_system.values, system.values - reach, side="left")
    high = np.searchsorted(of_system.values, system.values + reach, side="right")
    down = np.array([_ceiling(x, mine, theirs, n, -epsilon) for x in system.values.tolist()], dtype=object)
    up = np.array([-_ceiling(-x, mine, theirs, n, -epsilon) for x in system.values.tolist()], dtype=object)
    below = np.searchsorted(other.values, down, side="left")
    upto = np.searchsorted(other.values, up, side="right")
    return Placed(
        codes,
        np.maximum(of_system.first_codes(low), other.first_codes(below)),
        np.maximum(of_system.first_codes(high), other.first_codes(upto)),
    )


def _ceiling(x: int, mine: int, theirs: int, n: int, shift: Fraction) -> int:
    """Return the least integer y with y sqrt(n / theirs) >= x sqrt(n / mine) + shift.

    That is y >= (x b n sqrt(mine theirs) + a mine sqrt(theirs n)) / (b n mine), with shift = a / b.
    """
    first, second = x * shift.denominator * n, shift.numerator * mine
    p, q, below = mine * theirs, theirs * n, shift.denominator * n * mine
    # Enough for a bracket shorter than an integer, even where one system's scores are 1e300 times the other's.
    bits = max((abs(first) + abs(second)).bit_length() - below.bit_length(), 0) + _BITS
    root_p, root_q = isqrt(p << 2 * bits), isqrt(q << 2 * bits)
    low = first * (root_p + (first < 0)) + second * (root_q + (second < 0))
    high = first * (root_p + (first > 0)) + second * (root_q + (second > 0))
    y, most = -(-low // (below << bits)), -(-high // (below << bits))
    while y < most and sign_of(first, p, second, q, -y * below) > 0:
        y += 1
    return y


def sign_of(x: int, p: int, y: int, q: int, z: int) -> int:
    """Return the sign of x sqrt(p) + y sqrt(q) + z, for integers with p, q >= 0: exactly, by squaring."""
    roots = _sign_of_two(x, p, y, q)
    if z == 0 or roots == 0 or (roots > 0) == (z > 0):
        return roots or _sign(z)
    # With unlike signs the larger square decides, and it holds only one root.
    return roots * _sign_of_two(2 * x * y, p * q, x * x * p + y * y * q - z * z, 1)


def _sign_of_two(x: int, p: int, y: int, q: int) -> int:
    """Return the sign of x sqrt(p) + y sqrt(q)."""
    first, second = _sign(x) * x * x * p, _sign(y) * y * y * q
    return _sign(first + second)


def _sign(x: int) -> int:
    return (x > 0) - (x < 0)
