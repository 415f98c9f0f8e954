"""Screening of the frequencies of a box, which skips tiles that are certainly negligible.

The angle of an item moves little over a tile, so its factor is at most its value at the nearest point, and the
product of a few dozen such bounds proves the whole tile negligible. This is `real.spectrum` in more dimensions.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ...lattice import Reals
from ..form import JointForm
from ..tilt import Tilted

Indices = NDArray[np.intp]
# Over a tile, the angle of an item of typical weight moves by _ORDINARY half-turns to either side of the middle; groups
# that move by more than _USEFUL do not screen.
_ORDINARY, _USEFUL = 0.06, 0.15
_LONGEST = 64
_MAX_GROUPS = 512
_CHUNK = 1 << 16
# Error bound of the logarithm in single precision.
_MARGIN = 2.0


def log_below(cells: int) -> float:
    """Return x such that `cells` frequencies of moduli below exp(-x) are negligible together, in the l2 norm."""
    return 42.0 + math.log(cells)


def average_decay(form: JointForm, law: Tilted) -> float:
    """Return the mean of -log |phi| at a frequency with random angles."""
    # The mean of log(1 - s sin^2) over angles is 2 log((1 + sqrt(1 - s)) / 2), and sqrt(1 - s) is |tau|.
    return float(-form.counts @ np.log(0.5 * (1.0 + np.abs(law.tau))))


def retained(
    form: JointForm, law: Tilted, lengths: tuple[int, ...], half: tuple[int, ...], most: int
) -> Indices | None:
    """Return the flat indices into the half grid not proved negligible; None when there are more than `most`."""
    below = log_below(math.prod(half))
    widths = tile_widths(form, lengths)
    parts: list[Indices] = [np.zeros(0, dtype=np.intp)]
    count = 0
    for index in _tiles_left(form, law, lengths, half, widths):
        for start in range(0, len(index), _CHUNK):
            part = _left(form, law, lengths, half, index[start : start + _CHUNK], below)
            parts.append(part)
            count += len(part)
            if count > most:
                return None
    return np.sort(np.concatenate(parts))


def influence(form: JointForm, law: Tilted) -> Reals:
    """Return the share of each group in the variance, summed over the axes, shape (U,)."""
    spread = np.maximum(form.covariance.diagonal(), 1e-300)
    squares = np.square(form.vectors.astype(np.float64))
    return np.asarray(form.counts * law.sech2 * (squares / spread).sum(axis=1))


def tile_widths(form: JointForm, lengths: tuple[int, ...]) -> list[int]:
    """Return the length of tiles along every axis, powers of two."""
    widths = []
    for axis, length in enumerate(lengths):
        turn = float(np.quantile(np.abs(form.vectors[:, axis]), 0.75)) / length * len(lengths)
        # In a tile of one frequency no angle moves.
        longest = 1.0 + 2.0 * _ORDINARY / turn if turn else float(_LONGEST)
        widths.append(1 << int(math.log2(min(longest, _LONGEST))))
    return widths


def _tiles_left(
    form: JointForm, law: Tilted, lengths: tuple[int, ...], half: tuple[int, ...], widths: list[int]
) -> Iterator[Indices]:
    """Yield the flat indices of the frequencies in tiles not proved negligible, a few tiles at a time."""
    tiles = tuple(-(-size // width) for size, width in zip(half, widths, strict=True))
    below = log_below(math.prod(half))
    middle = [(width - 1) / 2 for width in widths]
    leeway = sum(
        np.abs(form.vectors[:, axis]) * (wide / length)
        for axis, (wide, length) in enumerate(zip(middle, lengths, strict=True))
    )
    leeway = np.asarray(leeway, dtype=np.float64)
    order = np.argsort(influence(form, law))[::-1]
    order = order[leeway[order] <= _USEFUL][:_MAX_GROUPS]
    offsets = np.stack(np.meshgrid(*map(np.arange, widths), indexing="ij"), axis=-1).reshape(-1, len(widths))
    for start in range(0, math.prod(tiles), _CHUNK):
        index = np.arange(start, min(start + _CHUNK, math.prod(tiles)))
        where = np.unravel_index(index, tiles)
        lines = [
            (at * float(width) + wide) / length
            for at, width, wide, length in zip(where, widths, middle, lengths, strict=True)
        ]
        left = _screened(form, law, lines, order, below, leeway)
        corners = np.stack([at[left] * width for at, width in zip(where, widths, strict=True)], axis=1)
        step = max(_CHUNK // len(offsets), 1)
        for first in range(0, len(corners), step):
            cells = (corners[first : first + step, None, :] + offsets).reshape(-1, len(half))
            cells = cells[(cells < np.array(half)).all(axis=1)]
            yield np.ravel_multi_index(tuple(cells.T), half)


def _left(
    form: JointForm,
    law: Tilted,
    lengths: tuple[int, ...],
    half: tuple[int, ...],
    index: Indices,
    below: float,
) -> Indices:
    """Return the frequencies not proved negligible one by one."""
    lines = [at / length for at, length in zip(np.unravel_index(index, half), lengths, strict=True)]
    order = np.argsort(influence(form, law))[::-1]
    return index[_screened(form, law, lines, order, below, None)]


def _screened(
    form: JointForm,
    law: Tilted,
    lines: list[Reals],
    order: Indices,
    below: float,
    leeway: Reals | None,
    few: int = 4096,
) -> Indices:
    """Return the positions not proved negligible; `lines` are the frequencies over each axis length, shape (F,) each.

    Screening ends when at most `few` factors are left to compute.
    """
    index = np.arange(len(lines[0]))
    decay = np.zeros(len(index), dtype=np.float32)
    limit = np.float32(below + _MARGIN + 1e-6 * form.nonzero)
    for done, j in enumerate(order.tolist()):
        if len(index) * (len(order) - done) <= few:
            break
        turns = np.zeros(len(index))
        for axis, line in enumerate(lines):
            turns += line * float(form.vectors[j, axis])
        turns -= np.rint(turns)
        away = np.abs(turns).astype(np.float32)
        if leeway is not None:
            away = np.maximum(away - np.float32(leeway[j] + 1e-6), np.float32(0.0))
        sine = np.sin(away * np.float32(math.pi))
        modulus2 = np.maximum(1.0 - np.float32(law.sech2[j]) * sine * sine, np.float32(1e-10))
        decay -= np.float32(0.5 * float(form.counts[j])) * np.log(modulus2)
        if done % 4 == 3:
            kept = decay < limit
            if np.count_nonzero(kept) < 0.8 * len(index):
                index, decay = index[kept], decay[kept]
                lines = [line[kept] for line in lines]
    return index[decay < limit]


def retained_share(
    form: JointForm, law: Tilted, lengths: tuple[int, ...], samples: int, groups: int
) -> float:
    """Estimate the share of frequencies not negligible, from a sample and the most influential groups."""
    draw = np.random.default_rng(0)
    lines = [draw.integers(0, length, samples) / length for length in lengths]
    order = np.argsort(influence(form, law))[::-1][:groups]
    below = log_below(math.prod(lengths) // 2 + 1)
    return len(_screened(form, law, lines, order, below, None, 0)) / samples
