"""The characteristic function of a vector of sums at the frequencies of a box.

As in `spectrum`, with angles a_j(f) = pi * sum over axes of f v_j / L: phi_c(f) is the product over
distinct vectors of (cos a_j + i tau_j sin a_j) ** c_j. Small boxes multiply all factors, built from tables
of one axis each; large ones retire frequencies early, a few groups at a time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from app.engine.lattice import Integers, Reals
from app.engine.null import UNIT_ROUNDOFF
from app.engine.spectrum import factor_error, log_moduli
from app.engine.vector_form import VectorForm
from app.engine.vector_tilt import Tilted

Complex = NDArray[np.complex128]
Numbers = TypeVar("Numbers", Reals, Complex)
# Below this many factor evaluations no frequency is worth retiring.
_DENSE = 1 << 18
_CHUNK = 1 << 17
_BLOCK = 1 << 18
_MARGIN = 2.0


@dataclass(frozen=True, slots=True)
class Frequencies:
    """conj(phi) of T - low at the frequencies that matter: one index array per axis, values (F,).

    `index` is None when values are the whole half grid, in its shape. `relative` bounds the l2 norm of the
    error against `norm`, the l2 norm of phi on the full grid.
    """

    index: tuple[NDArray[np.intp], ...] | None
    values: Complex
    relative: float
    norm: float

    def spread(self, half: tuple[int, ...]) -> Complex:
        """The values on the half grid, zero where none is kept."""
        if self.index is None:
            return self.values
        phi = np.zeros(half, dtype=np.complex128)
        phi[self.index] = self.values
        return phi


def frequencies(form: VectorForm, law: Tilted, lengths: tuple[int, ...], low: Integers) -> Frequencies:
    """The frequencies of the half grid of `lengths` (last axis halved, as irfftn has it)."""
    half = (*lengths[:-1], lengths[-1] // 2 + 1)
    lines = [_shift(form, axis, length, half[axis], int(low[axis])) for axis, length in enumerate(lengths)]
    multiplicity = np.full(half[-1], 2.0)
    multiplicity[0] = 1.0
    if lengths[-1] % 2 == 0:
        multiplicity[-1] = 1.0
    if form.rank == 2 and math.prod(half) * len(form.counts) <= _DENSE:
        phi = _dense(form, law, lengths) * lines[0][:, None]
        norm = math.sqrt(float((np.square(np.abs(phi)) * multiplicity).sum()))
        # Every factor rounds, and powers multiply their base's error.
        return Frequencies(None, phi * lines[1], (4.0 * form.nonzero + 24.0) * UNIT_ROUNDOFF, norm)
    flat, values, relative = _sparse(form, law, lengths, half)
    index = np.unravel_index(flat, half)
    norm = math.sqrt(float((np.square(np.abs(values)) * multiplicity[index[-1]]).sum()))
    for axis, line in enumerate(lines):
        values *= line[index[axis]]
    return Frequencies(index, values, relative + 24.0 * UNIT_ROUNDOFF, norm)


def _shift(form: VectorForm, axis: int, length: int, count: int, low: int) -> Complex:
    """From the centred T to T - low along one axis: f (2 low - total) / L half-turns, reduced in integers."""
    total = int(form.counts @ form.vectors[:, axis])
    turns = (_signed(length, count) * ((2 * low - total) % (2 * length))) % (2 * length)
    return np.asarray(np.exp((1j * math.pi / length) * turns))


def _signed(length: int, count: int) -> Integers:
    """The first `count` frequencies of `length`, the upper half negative: small angles stay small."""
    frequencies = np.arange(count, dtype=np.int64)
    return np.where(2 * frequencies > length, frequencies - length, frequencies)


def _half_turns(steps: Integers, length: int, count: int) -> Reals:
    """pi f v / L reduced to [-pi, pi), shape (len(steps), count)."""
    turns = np.multiply.outer(steps, _signed(length, count)) % (2 * length)
    return np.asarray((math.pi / length) * np.where(turns >= length, turns - 2 * length, turns))


def _dense(form: VectorForm, law: Tilted, lengths: tuple[int, ...]) -> Complex:
    """All frequencies of a two-dimensional grid: angle sums from one table per axis; conj(phi_c)."""
    rows = _half_turns(form.vectors[:, 0], lengths[0], lengths[0])
    columns = _half_turns(form.vectors[:, 1], lengths[1], lengths[1] // 2 + 1)
    cos_rows, sin_rows, cos_columns, sin_columns = (
        np.cos(rows),
        np.sin(rows),
        np.cos(columns),
        np.sin(columns),
    )
    phi: Complex | None = None
    flat = not law.theta.any()
    real = np.ones((lengths[0], lengths[1] // 2 + 1))
    for j, count in enumerate(form.counts.tolist()):
        cosine = np.outer(cos_rows[j], cos_columns[j]) - np.outer(sin_rows[j], sin_columns[j])
        if flat:
            real *= _power(cosine, count)
            continue
        sine = np.outer(sin_rows[j], cos_columns[j]) + np.outer(cos_rows[j], sin_columns[j])
        factor = cosine - 1j * float(law.tau[j]) * sine
        powered = _power(factor, count)
        phi = powered if phi is None else phi * powered
    return real.astype(np.complex128) if phi is None else phi


def _power(base: Numbers, exponent: int) -> Numbers:
    """Integer powers by squaring: numpy's are a logarithm and an exponential each."""
    if exponent == 1:
        return base
    half = _power(base, exponent // 2)
    return half * half * base if exponent & 1 else half * half


def _sparse(
    form: VectorForm, law: Tilted, lengths: tuple[int, ...], half: tuple[int, ...]
) -> tuple[NDArray[np.intp], Complex, float]:
    """The frequencies that a few influential groups leave standing (flat indices), and conj(phi_c) there."""
    cells = math.prod(half)
    below = 42.0 + math.log(cells)
    spread = form.covariance.diagonal()
    influence = form.counts * law.sech2 * (form.vectors**2 / np.maximum(spread, 1e-300)).sum(axis=1)
    order = np.argsort(influence)[::-1]
    kept: list[NDArray[np.intp]] = []
    phi: list[Complex] = []
    block = max(_BLOCK // max(len(form.counts), 1), 1)
    squares = wrong = 0.0
    for start in range(0, cells, _CHUNK):
        index = _standing(form, law, lengths, half, (start, min(start + _CHUNK, cells)), order, below)
        for first in range(0, len(index), block):
            part = index[first : first + block]
            values, error = _evaluate(form, law, lengths, np.unravel_index(part, half))
            kept.append(part)
            phi.append(values)
            sizes = np.square(np.abs(values))
            squares += float(sizes.sum())
            wrong += float((sizes * np.square(error)).sum())
    retired = math.exp(-below) * math.sqrt(cells)
    return np.concatenate(kept), np.concatenate(phi), (math.sqrt(wrong) + retired) / math.sqrt(squares)


def _standing(
    form: VectorForm,
    law: Tilted,
    lengths: tuple[int, ...],
    half: tuple[int, ...],
    span: tuple[int, int],
    order: NDArray[np.intp],
    below: float,
) -> NDArray[np.intp]:
    index = np.arange(*span)
    axes = [
        _signed(length, count)[where].astype(np.float64) / (2 * length)
        for where, length, count in zip(np.unravel_index(index, half), lengths, half, strict=True)
    ]
    decay = np.zeros(len(index), dtype=np.float32)
    limit = np.float32(below + _MARGIN + 1e-6 * form.nonzero)
    for j in order.tolist():
        if len(index) * len(order) <= 4096:
            break
        turns = np.zeros(len(index))
        for axis, line in enumerate(axes):
            turns += line * float(form.vectors[j, axis])
        turns -= np.rint(turns)
        sine = np.sin(turns.astype(np.float32) * np.float32(2.0 * math.pi))
        modulus2 = np.maximum(1.0 - np.float32(law.sech2[j]) * sine * sine, np.float32(1e-10))
        decay -= np.float32(0.5 * float(form.counts[j])) * np.log(modulus2)
        standing = decay < limit
        if np.count_nonzero(standing) < 0.8 * len(index):
            index, decay = index[standing], decay[standing]
            axes = [line[standing] for line in axes]
    return index[decay < limit]


def _evaluate(
    form: VectorForm, law: Tilted, lengths: tuple[int, ...], where: tuple[NDArray[np.intp], ...]
) -> tuple[Complex, Reals]:
    """conj(phi_c) at given frequencies, one array of indices per axis, and its relative error."""
    angle = np.zeros((len(form.counts), len(where[0])))
    for axis, (frequencies, length) in enumerate(zip(where, lengths, strict=True)):
        signed = _signed(length, length)[frequencies]
        turns = np.multiply.outer(form.vectors[:, axis], signed) % (2 * length)
        angle += (math.pi / length) * np.where(turns >= length, turns - 2 * length, turns)
    angle -= 2.0 * math.pi * np.rint(angle / (2.0 * math.pi))
    sine, cosine = np.sin(angle), np.cos(angle)
    tau, sech2 = law.tau[:, None], law.sech2[:, None]
    counts = form.counts.astype(np.float64)
    modulus2 = np.maximum(cosine * cosine + tau * tau * sine * sine, 1e-300)
    turn = np.arctan2(tau * sine, cosine)
    log_modulus, phase = counts @ log_moduli(sine, modulus2, sech2), counts @ turn
    # The axes' angles were added, so each carries a few roundings more than on a line.
    rounding = 2.0 * (counts @ factor_error(angle, sine, cosine, turn, modulus2, np.abs(tau), sech2))
    tilt_rounding = 1.0 + 0.25 * float(np.abs(form.vectors @ law.theta).max())
    error = UNIT_ROUNDOFF * (rounding * tilt_rounding + 8.0 * np.abs(log_modulus) + 16.0)
    log_modulus = np.maximum(log_modulus, -600.0)
    return np.asarray(np.exp(log_modulus - 1j * phase)), np.minimum(error, 1.0)
