"""Sums of a (tilted) law over runs of cells, directly from the retained frequencies.

The inverse transform runs only along the leading axes, for the few retained frequencies of the last axis; along the
last axis a run of cells contracts to a geometric sum, as in `one_sum.fft`. No grid of probabilities or frequencies is
held.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy import fft as transform

from ...lattice import Reals
from ...one_sum.fft import one_minus
from ...probability import UNIT_ROUNDOFF
from ..form import JointForm
from ..tilt import Tilted
from .box import Box, Runs
from .spectrum import Frequencies, fft_lengths, frequencies

_AT_ONCE = 1 << 17


def run_sum(form: JointForm, law: Tilted, box: Box, runs: Runs) -> tuple[float, float, float]:
    """Sum exp(-(theta . x - lowest)) P_theta(x) over the runs; return it, its error, and `lowest`, the least theta . x.

    For `lowest`, x counts from the box's low corner, so that no digits cancel. Mass outside the box aliases into
    it; the caller must bound that.
    """
    lengths = fft_lengths(box)
    phi = frequencies(form, law, lengths, box.low)
    which, lines = _lines(phi, lengths)
    anchor = runs.first if law.theta[-1] >= 0.0 else runs.last
    height = (runs.head - box.low[:-1]) @ law.theta[:-1] + (anchor - box.low[-1]) * law.theta[-1]
    lowest = float(height.min())
    weights = np.exp(lowest - height)
    total = size = 0.0
    # Without a tilt the phases come from one table of the half turns.
    turns = (
        np.exp((1j * math.pi / lengths[-1]) * np.arange(2 * lengths[-1])) if law.theta[-1] == 0.0 else None
    )
    step = max(_AT_ONCE // max(len(which), 1), 1)
    for start in range(0, len(runs), step):
        part = slice(start, start + step)
        some = Runs(runs.head[part], runs.first[part], runs.last[part])
        terms = _contracted(law, box, lengths[-1], which, lines, some, turns) * weights[part]
        total += float(terms.real.sum())
        size += float(np.abs(terms).sum())
    norm = phi.norm / math.sqrt(math.prod(lengths))
    error = norm * phi.transform_error(lengths) * _weight_norm(runs, weights, abs(float(law.theta[-1])))
    return total, 1.01 * error + 64.0 * UNIT_ROUNDOFF * size, lowest


def _lines(phi: Frequencies, lengths: tuple[int, ...]) -> tuple[NDArray[np.int64], NDArray[np.complex128]]:
    """Return the retained frequencies of the last axis, shape (F,), and the transforms along the leading axes."""
    if phi.index is None:
        which = np.arange(lengths[-1] // 2 + 1)
        lines = np.moveaxis(phi.values, -1, 0)
    else:
        which, where = np.unique(phi.index[-1], return_inverse=True)
        lines = np.zeros((len(which), *lengths[:-1]), dtype=np.complex128)
        lines[(where, *phi.index[:-1])] = phi.values
    if len(lengths) > 1:
        lines = np.asarray(transform.ifftn(lines, axes=tuple(range(1, len(lengths)))))
    alone = (which == 0) | (2 * which == lengths[-1])
    multiplicity = np.where(alone, 1.0, 2.0) / lengths[-1]
    return which.astype(np.int64), lines * multiplicity.reshape(-1, *([1] * (len(lengths) - 1)))


def _contracted(
    law: Tilted,
    box: Box,
    length: int,
    which: NDArray[np.int64],
    lines: NDArray[np.complex128],
    runs: Runs,
    turns: NDArray[np.complex128] | None,
) -> NDArray[np.complex128]:
    """Return terms whose sum over axis 0 has the real part sum exp(-|theta| i) P(cell), over the cells of each run."""
    values = lines[(slice(None), *(runs.head - box.low[:-1]).T)]
    if values.ndim == 1:
        values = values[:, None]
    theta = float(law.theta[-1])
    first, last = runs.first - int(box.low[-1]), runs.last - int(box.low[-1])
    if turns is not None:
        return np.asarray((values * _flat(turns, which, first, last)).sum(axis=0))
    anchor, sign = (first, 1.0) if theta > 0.0 else (last, -1.0)
    return np.asarray((values * _geometric(length, which, anchor, last - first + 1, theta, sign)).sum(axis=0))


def _flat(
    turns: NDArray[np.complex128], which: NDArray[np.int64], first: NDArray[np.int64], last: NDArray[np.int64]
) -> NDArray[np.complex128]:
    """Sum exp(2 pi i f y / L) over first <= y <= last, as a phase times a ratio of sines.

    `turns` (2 L,) holds exp(pi i k / L).
    """
    phase = turns[np.multiply.outer(which, first + last) % len(turns)]
    sines = turns.imag[np.multiply.outer(which, last - first + 1) % len(turns)]
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = sines / turns.imag[which, None]
    ratio[which == 0] = last - first + 1
    return np.asarray(phase * ratio)


def _geometric(
    length: int,
    which: NDArray[np.int64],
    anchor: NDArray[np.int64],
    count: NDArray[np.int64],
    theta: float,
    sign: float,
) -> NDArray[np.complex128]:
    """Return sum_{i < count} exp(-|theta| i + 2 pi i f (anchor + sign i) / L)."""
    radians = 2.0 * math.pi / length
    decay = abs(theta)
    turned = radians * (np.multiply.outer(which, anchor) % length)
    through = radians * (np.multiply.outer(which, count) % length)
    numerator = one_minus(np.asarray(decay * count, dtype=np.float64), np.asarray(-sign * through))
    denominator = one_minus(decay, np.asarray(-sign * radians * which))[:, None]
    return np.asarray(np.exp(1j * turned) * numerator / denominator)


def _weight_norm(runs: Runs, weights: Reals, decay: float) -> float:
    """Return the l2 norm of the weights over all cells."""
    count = (runs.last - runs.first + 1).astype(np.float64)
    each = count if decay == 0.0 else np.expm1(-2.0 * decay * count) / math.expm1(-2.0 * decay)
    return math.sqrt(float((weights * weights * each).sum()))
