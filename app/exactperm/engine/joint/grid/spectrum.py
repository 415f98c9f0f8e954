"""The characteristic function of a vector of sums at the frequencies of a box.

As in `one_sum.spectrum`, with angles a_j(f) = pi * sum over axes of f v_j / L: phi_c(f) is the product over distinct
vectors of (cos a_j + i tau_j sin a_j) ** c_j. Where few frequencies matter (`screening`) it is evaluated only there;
otherwise on the whole half grid (`products`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray
from scipy import fft as transform

from ...lattice import Integers, Reals
from ...one_sum.spectrum import factor_error, log_moduli
from ...probability import UNIT_ROUNDOFF
from ..form import JointForm
from ..tilt import Tilted, untilted
from .box import Box
from .screening import average_decay, log_below, retained

_BLOCK = 1 << 18
# The error of an FFT is a small multiple of u log2(cells) in the l2 norm.
_FFT_CONSTANT = 2.0
# The largest half grid to hold as a whole.
MAX_WHOLE = 1 << 24
# Up to this many factors, screening does not pay.
TINY_FACTORS = 1 << 18
# A factor evaluated alone costs as much as this many in the product over the whole grid (see `price`).
APART = 40
# Many decays are below average: screening pays where the average exceeds the needed decay by this factor.
SPARE = 1.25
# The largest number of frequencies of an untilted box to cache with their form.
_MOST_CACHED = 1 << 22


@dataclass(frozen=True, slots=True)
class Frequencies:
    """conj(phi) of T - low at the retained frequencies: one index array per axis, values (F,).

    `index` is None when values are the whole half grid, in its shape. `relative` bounds the l2 norm of the error
    relative to `norm`, the l2 norm of phi on the full grid.
    """

    index: tuple[NDArray[np.intp], ...] | None
    values: Complex
    relative: float
    norm: float

    def spread(self, half: tuple[int, ...]) -> Complex:
        """Return the values on the half grid, zero where none is kept."""
        if self.index is None:
            return self.values
        phi = np.zeros(half, dtype=np.complex128)
        phi[self.index] = self.values
        return phi

    def transform_error(self, lengths: tuple[int, ...]) -> float:
        """Bound the l2 norm of the error after an FFT, relative to `norm` (Higham 2002, section 24.1)."""
        return self.relative + _FFT_CONSTANT * UNIT_ROUNDOFF * math.log2(max(math.prod(lengths), 2))


def fft_lengths(box: Box) -> tuple[int, ...]:
    """Return lengths, at least the box's shape, with fast real FFTs."""
    last = len(box.shape) - 1
    return tuple(transform.next_fast_len(size, real=axis == last) for axis, size in enumerate(box.shape))


_CACHE: WeakKeyDictionary[JointForm, tuple[object, Frequencies]] = WeakKeyDictionary()


def frequencies(form: JointForm, law: Tilted, lengths: tuple[int, ...], low: Integers) -> Frequencies:
    """Return the frequencies of the half grid of `lengths` (last axis halved, as in irfftn).

    Those of the untilted law are cached: the p-value and the picture of the null use the same box.
    """
    if law.theta.any():
        return _frequencies(form, law, lengths, low)
    key = (lengths, tuple(low.tolist()))
    kept = _CACHE.get(form)
    if kept is None or kept[0] != key:
        kept = key, _frequencies(form, law, lengths, low)
        if len(kept[1].values.reshape(-1)) <= _MOST_CACHED:
            _CACHE[form] = kept
    return kept[1]


def _frequencies(form: JointForm, law: Tilted, lengths: tuple[int, ...], low: Integers) -> Frequencies:
    half = (*lengths[:-1], lengths[-1] // 2 + 1)
    lines = [_shift(form, axis, length, half[axis], int(low[axis])) for axis, length in enumerate(lengths)]
    multiplicity = np.full(half[-1], 2.0)
    multiplicity[0] = 1.0
    if lengths[-1] % 2 == 0:
        multiplicity[-1] = 1.0
    flat = None if whole_at_once(form, law, half) else retained(form, law, lengths, half, _most(half))
    if flat is None:
        whole = products(form, law, lengths, log_below(math.prod(half)), multiplicity)
        phi = whole.values
        norm = math.sqrt(float(np.square(np.abs(phi)).sum(axis=tuple(range(len(half) - 1))) @ multiplicity))
        for axis, line in enumerate(lines):
            phi *= line.reshape([-1 if a == axis else 1 for a in range(len(half))])
        return Frequencies(None, phi, whole.error / norm + 24.0 * UNIT_ROUNDOFF, norm)
    values, relative = _evaluate_retained(form, law, lengths, half, flat)
    index = np.unravel_index(flat, half)
    norm = math.sqrt(float((np.square(np.abs(values)) * multiplicity[index[-1]]).sum()))
    for axis, line in enumerate(lines):
        values *= line[index[axis]]
    return Frequencies(index, values, relative + 24.0 * UNIT_ROUNDOFF, norm)


def whole_at_once(form: JointForm, law: Tilted, half: tuple[int, ...]) -> bool:
    """Return whether to evaluate all frequencies, without screening."""
    cells = math.prod(half)
    if cells * len(form.counts) <= TINY_FACTORS:
        return True
    return cells <= MAX_WHOLE and average_decay(form, law) < SPARE * log_below(cells)


def _most(half: tuple[int, ...]) -> int:
    """Return the largest number of frequencies to evaluate one by one."""
    cells = math.prod(half)
    return cells if cells > MAX_WHOLE else max(cells // APART, 1 << 12)


def _shift(form: JointForm, axis: int, length: int, count: int, low: int) -> Complex:
    """Shift the centred T to T - low along one axis: f (2 low - total) / L half-turns, reduced in integers."""
    total = int(form.counts @ form.vectors[:, axis])
    turns = (signed(length, count) * ((2 * low - total) % (2 * length))) % (2 * length)
    return np.asarray(np.exp((1j * math.pi / length) * turns))


def _evaluate_retained(
    form: JointForm, law: Tilted, lengths: tuple[int, ...], half: tuple[int, ...], flat: NDArray[np.intp]
) -> tuple[Complex, float]:
    """Return conj(phi_c) at these frequencies of the half grid, and the error's relative l2 norm."""
    phi = np.empty(len(flat), dtype=np.complex128)
    block = max(_BLOCK // max(len(form.counts), 1), 1)
    squares = wrong = 0.0
    for start in range(0, len(flat), block):
        part = slice(start, start + block)
        values, error = _evaluate(form, law, lengths, np.unravel_index(flat[part], half))
        phi[part] = values
        sizes = np.square(np.abs(values))
        squares += float(sizes.sum())
        wrong += float((sizes * np.square(error)).sum())
    cells = math.prod(half)
    dropped = math.exp(-log_below(cells)) * math.sqrt(cells)
    return phi, (math.sqrt(wrong) + dropped) / math.sqrt(squares)


def _evaluate(
    form: JointForm, law: Tilted, lengths: tuple[int, ...], where: tuple[NDArray[np.intp], ...]
) -> tuple[Complex, Reals]:
    """Return conj(phi_c) and its relative error at frequencies given by one array of indices per axis."""
    angle = np.zeros((len(form.counts), len(where[0])))
    for axis, (frequencies_, length) in enumerate(zip(where, lengths, strict=True)):
        turned = signed(length, length)[frequencies_]
        turns = np.multiply.outer(form.vectors[:, axis], turned) % (2 * length)
        angle += (math.pi / length) * np.where(turns >= length, turns - 2 * length, turns)
    angle -= 2.0 * math.pi * np.rint(angle / (2.0 * math.pi))
    sine, cosine = np.sin(angle), np.cos(angle)
    tau, sech2 = law.tau[:, None], law.sech2[:, None]
    counts = form.counts.astype(np.float64)
    modulus2 = np.maximum(cosine * cosine + tau * tau * sine * sine, 1e-300)
    turn = np.arctan2(tau * sine, cosine)
    log_modulus, phase = counts @ log_moduli(sine, modulus2, sech2), counts @ turn
    # Adding the angles of the axes takes a few roundings more than on a line.
    rounding = 2.0 * (counts @ factor_error(angle, sine, cosine, turn, modulus2, np.abs(tau), sech2))
    tilt_rounding = 1.0 + 0.25 * float(np.abs(form.vectors @ law.theta).max())
    error = UNIT_ROUNDOFF * (rounding * tilt_rounding + 8.0 * np.abs(log_modulus) + 16.0)
    log_modulus = np.maximum(log_modulus, -600.0)
    return np.asarray(np.exp(log_modulus - 1j * phase)), np.minimum(error, 1.0)


# The characteristic function of a vector of sums on a whole half grid: a product over the groups (distinct vectors).
# The product is computed row by row of the leading axes: an angle is the sum of a row's and a column's, so its cosine
# and sine come from two short tables. This takes a few nanoseconds per group and frequency, and suits boxes of few
# items, where hardly any frequency is negligible.


Complex = NDArray[np.complex128]
Numbers = TypeVar("Numbers", Reals, Complex)
_CELLS_AT_ONCE = 1 << 15
# Factors smaller than this count as this much in the error bound: their error is absolute, not relative.
_LEAST = 0.25
# Groups between two tests of the rows for negligibility.
_CHECKED_EVERY = 16


@dataclass(frozen=True, slots=True)
class Products:
    """conj(phi_c) on the half grid, in its shape, and a bound on the l2 norm of its error over the full grid."""

    values: Complex
    error: float


def products(
    form: JointForm, law: Tilted, lengths: tuple[int, ...], below: float, multiplicity: Reals
) -> Products:
    """Compute all frequencies of the half grid of `lengths`; rows whose largest modulus is below exp(-below) stay 0.

    `multiplicity`, shape (lengths[-1] // 2 + 1,), is the number of occurrences of each column on the full grid.
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
    """Return the first `count` frequencies of `length`, the upper half negative, so that small angles stay small."""
    frequencies = np.arange(count, dtype=np.int64)
    return np.where(2 * frequencies > length, frequencies - length, frequencies)


def half_turns(steps: Integers, length: int, count: int) -> Reals:
    """Return pi f v / L reduced to [-pi, pi), shape (len(steps), count)."""
    turns = np.multiply.outer(steps, signed(length, count)) % (2 * length)
    return np.asarray((math.pi / length) * np.where(turns >= length, turns - 2 * length, turns))


def _row_angles(form: JointForm, lengths: tuple[int, ...], start: int, stop: int) -> Reals:
    """Return the angles of all groups at rows start .. stop of the leading axes, shape (U, rows)."""
    where = np.unravel_index(np.arange(start, stop), lengths) if lengths else ()
    angle = np.zeros((len(form.counts), stop - start))
    for axis, (index, length) in enumerate(zip(where, lengths, strict=True)):
        turns = np.multiply.outer(form.vectors[:, axis], signed(length, length)[index]) % (2 * length)
        angle += (math.pi / length) * np.where(turns >= length, turns - 2 * length, turns)
    return angle


def _flat_block(
    form: JointForm, tables: tuple[Reals, Reals, Reals, Reals], least: float
) -> tuple[Reals, Reals]:
    """Return the untilted products, of cosines, and those with factors raised to at least _LEAST."""
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
    """Raise to an integer power by squaring; NumPy takes a logarithm and an exponential."""
    if exponent == 1:
        return base
    half = power(base, exponent // 2)
    return half * half * base if exponent & 1 else half * half


# The law of a vector of sums on a box, cell by cell, for pictures and small checks.


def box_probabilities(form: JointForm, box: Box) -> tuple[Reals, float]:
    """Return the probabilities of the cells of a box, shape box.shape, by one inverse FFT; absolute error about 1e-16.

    Also return a bound on the transform's error in the probability of any set of cells, excluding mass outside the
    box, which aliases into it.
    """
    lengths = fft_lengths(box)
    phi = frequencies(form, untilted(form), lengths, box.low)
    masses = transform.irfftn(phi.spread((*lengths[:-1], lengths[-1] // 2 + 1)), lengths)
    inside = tuple(slice(0, size) for size in box.shape)
    return np.asarray(masses[inside], dtype=np.float64), phi.norm * phi.transform_error(lengths)
