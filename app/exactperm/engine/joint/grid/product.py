"""The characteristic function of a vector of sums on a whole half grid: a product over the groups (distinct vectors).

Row by row of the leading axes: an angle is the sum of a row's and a column's, so that its cosine and sine are
products from two short tables. This costs a few nanoseconds for each group and frequency, and is the method for
boxes of few items, where hardly any frequency is negligible.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ...lattice import Integers, Reals
from ...probability import UNIT_ROUNDOFF
from ..form import JointForm
from ..tilt import Tilted

Complex = NDArray[np.complex128]
Numbers = TypeVar("Numbers", Reals, Complex)
_CELLS_AT_ONCE = 1 << 15
# Factors smaller than this count as this much in the error bound: their error is absolute, not relative.
_LEAST = 0.25
# Whether a row is negligible is checked after this many groups each.
_CHECKED_EVERY = 16


@dataclass(frozen=True, slots=True)
class Products:
    """conj(phi_c) on the half grid, in its shape, and a bound on the l2 norm of its error over the full grid."""

    values: Complex
    error: float


def products(
    form: JointForm, law: Tilted, lengths: tuple[int, ...], below: float, multiplicity: Reals
) -> Products:
    """All frequencies of the half grid of `lengths`; rows whose largest modulus is below exp(-below) stay 0.

    `multiplicity`, shape (lengths[-1] // 2 + 1,): how often each column occurs on the full grid.
    """
    columns = len(multiplicity)
    rows = math.prod(lengths[:-1])
    values = np.zeros((rows, columns), dtype=np.complex128)
    angles = half_turns(form.vectors[:, -1], lengths[-1], columns)
    cosines, sines = np.cos(angles), np.sin(angles)
    step = max(_CELLS_AT_ONCE // columns, 1)
    squares = 0.0
    for start in range(0, rows, step):
        stop = min(start + step, rows)
        angle = _row_angles(form, lengths[:-1], start, stop)
        tables = np.cos(angle), np.sin(angle), cosines, sines
        if law.theta.any():
            block, sizes = _block(form, law, tables, math.exp(-below))
            values[start:stop] = block
        else:
            real, sizes = _flat_block(form, tables, math.exp(-below))
            values[start:stop] = real
        squares += float((sizes * sizes).sum(axis=0) @ multiplicity)
    # Absolute errors in units of roundoff, for factors of modulus at most one: an angle of at most pi is off by 3 pi on
    # each axis, and by 2 pi for every sum over leading axes; two cosines, two sines, two products, a difference by 7.
    axes = len(lengths)
    each = (3.0 * math.pi * axes + 2.0 * math.pi * max(axes - 2, 0) + 7.0) * UNIT_ROUNDOFF / _LEAST
    error = 1.01 * form.nonzero * each * math.sqrt(squares)
    dropped = math.exp(-below) * math.sqrt(math.prod(lengths))
    return Products(values.reshape(*lengths[:-1], columns), error + dropped)


def signed(length: int, count: int) -> Integers:
    """The first `count` frequencies of `length`, the upper half negative: small angles stay small."""
    frequencies = np.arange(count, dtype=np.int64)
    return np.where(2 * frequencies > length, frequencies - length, frequencies)


def half_turns(steps: Integers, length: int, count: int) -> Reals:
    """pi f v / L reduced to [-pi, pi), shape (len(steps), count)."""
    turns = np.multiply.outer(steps, signed(length, count)) % (2 * length)
    return np.asarray((math.pi / length) * np.where(turns >= length, turns - 2 * length, turns))


def _row_angles(form: JointForm, lengths: tuple[int, ...], start: int, stop: int) -> Reals:
    """The angles of all groups at rows start .. stop of the leading axes, shape (U, rows)."""
    where = np.unravel_index(np.arange(start, stop), lengths) if lengths else ()
    angle = np.zeros((len(form.counts), stop - start))
    for axis, (index, length) in enumerate(zip(where, lengths, strict=True)):
        turns = np.multiply.outer(form.vectors[:, axis], signed(length, length)[index]) % (2 * length)
        angle += (math.pi / length) * np.where(turns >= length, turns - 2 * length, turns)
    return angle


def _flat_block(
    form: JointForm, tables: tuple[Reals, Reals, Reals, Reals], least: float
) -> tuple[Reals, Reals]:
    """Without a tilt, where every factor is a cosine: the products, and those of factors of at least _LEAST."""
    cos_rows, sin_rows, cos_columns, sin_columns = tables
    shape = (cos_rows.shape[1], cos_columns.shape[1])
    values, sizes = np.ones(shape), np.ones(shape)
    factor, other = np.empty(shape), np.empty(shape)
    for j, count in enumerate(form.counts.tolist()):
        np.multiply.outer(cos_rows[j], cos_columns[j], out=factor)
        np.multiply.outer(sin_rows[j], sin_columns[j], out=other)
        factor -= other
        np.abs(factor, out=other)
        np.maximum(other, _LEAST, out=other)
        values *= power(factor, count)
        sizes *= power(other, count)
        if j % _CHECKED_EVERY == _CHECKED_EVERY - 1 and float(sizes.max()) < least:
            return np.zeros(shape), np.zeros(shape)
    return values, sizes


def _block(
    form: JointForm, law: Tilted, tables: tuple[Reals, Reals, Reals, Reals], least: float
) -> tuple[Complex, Reals]:
    cos_rows, sin_rows, cos_columns, sin_columns = tables
    shape = (cos_rows.shape[1], cos_columns.shape[1])
    values, sizes = np.ones(shape, dtype=np.complex128), np.ones(shape)
    factor = np.empty(shape, dtype=np.complex128)
    for j, count in enumerate(form.counts.tolist()):
        factor.real = np.outer(cos_rows[j], cos_columns[j]) - np.outer(sin_rows[j], sin_columns[j])
        sine = np.outer(sin_rows[j], cos_columns[j]) + np.outer(cos_rows[j], sin_columns[j])
        factor.imag = -float(law.tau[j]) * sine
        values *= power(factor, count)
        sizes *= power(np.maximum(np.abs(factor), _LEAST), count)
        if j % _CHECKED_EVERY == _CHECKED_EVERY - 1 and float(sizes.max()) < least:
            return np.zeros(shape, dtype=np.complex128), np.zeros(shape)
    return values, sizes


def power(base: Numbers, exponent: int) -> Numbers:
    """Integer powers by squaring: numpy's are a logarithm and an exponential each."""
    if exponent == 1:
        return base
    half = power(base, exponent // 2)
    return half * half * base if exponent & 1 else half * half
