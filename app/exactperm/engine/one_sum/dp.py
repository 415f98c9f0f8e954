"""`dp`: the shift algorithm, with one addition of positive numbers per item and cell.

Streitberg & Roehmel 1986; convolve_DP of Zmigrod, Vieira & Cotterell 2022 (Algorithm 3). Cells count
subsets by D = W - T, the distance from the maximum, so that an upper tail needs only the cells near
zero; counts are symmetric, so nothing needs more than half of them. Every cell is a sum of products of
at most n roundings and nothing cancels: relative error n u.

The counts span 2**n, more than a double's exponent. Cell d is therefore kept as count(d) * 2**-e(d) with e(d) = BITS *
floor(d / block), the block being the length over which the exponential tilt takes BITS bits. Multiplying by powers of
two is exact, and underflow is negligible under the tilt. The error bound of a region with too little mass is infinite.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ..lattice import CanonicalForm, Reals
from ..probability import (
    IMPOSSIBLE,
    LN2,
    UNIT_ROUNDOFF,
    Probability,
    Region,
    add,
    complement,
    sum_of_intervals,
    upper,
)
from .tilt import tilt_towards

# Additions at most double a cell, so this many steps keep a normalised array below overflow.
_STEPS_PER_RESCALE = 256
_BITS = 256
# Number of cells updated at a time; a few such arrays stay in the cache.
TILE = 1 << 13
# Two arrays of this many cells stay in a large cache.
_CACHED = 1 << 20
# Underflow loses less than 2**-1030 of the cells' sum, and up to 2**(2 * BITS) times as much under the tilted law: less
# than _LOST of a region with a share of at least _SHARE.
_SHARE, _LOST = 2.0**-300, 2.0**-200
# Sums of at most _SUMMED_EXACTLY cells are rounded once; longer ones are summed in pairs, with _PAIRWISE roundings.
_SUMMED_EXACTLY, _PAIRWISE = 1 << 12, 48.0


def probability(form: CanonicalForm, region: Region) -> Probability:
    """Return P(T in region); its relative error is at most about n roundoffs."""
    return sum_of_intervals(form, region, _interval)


def with_ties(form: CanonicalForm, region: Region, ties: tuple[int, ...]) -> tuple[Probability, Probability]:
    """Return P(T in region) and P(T in ties), `ties` being values in the region, from the same cells.

    Ties need not be assigned to intervals: their masses are read wherever their cells are counted.
    """
    points = {max(value, form.range - value) for value in ties}
    masses: dict[int, Probability] = {}

    def solve(form: CanonicalForm, low: int, high: int) -> Probability:
        return _interval(form, low, high, points, masses)

    inside = sum_of_intervals(form, region, solve)  # a region of all values needs no `solve`
    for point in points - masses.keys():
        _from_the_top(form, point, point, points, masses)
    parts = [masses[max(value, form.range - value)] for value in ties]
    parts = [part for part in parts if part.log_p > -math.inf]
    return inside, add(parts) if parts else IMPOSSIBLE


def cells_of(form: CanonicalForm, region: Region) -> int:
    """Return the number of cells that the region needs."""
    return 1 + max((_depth(form, *upper(form, interval)) for interval in region.intervals), default=0)


def additions(form: CanonicalForm, cells: int) -> int:
    """Count the additions of all items; cells beyond the sum of the weights so far are still zero and skipped."""
    weights, counts = form.weights.astype(np.float64), form.counts.astype(np.float64)
    reached = np.minimum((weights * counts).cumsum(), cells)
    return int(np.dot(counts, np.maximum(reached - weights, 0.0)))


def _depth(form: CanonicalForm, low: int, high: int) -> int:
    """Return the last cell that an interval needs; its middle is not below range / 2."""
    if high >= form.range and 2 * low <= form.range:
        return max(low - 1, 0)
    return min(form.range - low, form.range // 2)


Points = set[int] | frozenset[int]


def _interval(
    form: CanonicalForm,
    low: int,
    high: int,
    points: Points = frozenset(),
    masses: dict[int, Probability] | None = None,
) -> Probability:
    if 2 * low <= form.range and high >= form.range:
        return complement(_from_the_top(form, form.range - low + 1, form.range, points, masses))
    return _from_the_top(form, low, high, points, masses)


def _from_the_top(
    form: CanonicalForm,
    low: int,
    high: int,
    points: Points = frozenset(),
    masses: dict[int, Probability] | None = None,
) -> Probability:
    """Return P(low <= T <= high) from the cells D = W - T in [W - high, W - low], mirroring those beyond the middle.

    Store the masses of `points`, not below W / 2, in `masses` if the interval's cells and the next one hold them.
    """
    last = min(form.range - low, form.range // 2)
    near = [point for point in points if form.range - point <= last + 1]
    last = max([last, *(form.range - point for point in near)])
    towards = min(max(low, (form.range + 1) // 2), form.range - 1)
    alpha = tilt_towards(form, towards).theta / LN2 if form.range > 1 else 0.0
    block = max(int(_BITS / alpha), 1) if alpha * last > _BITS else last + 1
    cells, scale = _count(form, last + 1, block)
    depth = min(form.range - low, form.range // 2)
    parts = [_summed(cells, form.range - high, depth, block)]
    if form.range - low > depth:
        parts.append(_summed(cells, low, form.range - depth - 1, block))
    for point in near:
        assert masses is not None
        cell = form.range - point
        counted = _summed(cells, cell, cell, block)
        # No assignment reaches an empty cell, or its mass is less than _LOST of the region's.
        masses[point] = (
            _probability(form, [counted], float(cells.sum()), scale, last) if counted[0] > 0.0 else IMPOSSIBLE
        )
    return _probability(form, parts, float(cells.sum()), scale, last)


def _probability(
    form: CanonicalForm, parts: list[tuple[float, float, int]], held: float, scale: int, last: int
) -> Probability:
    """Return the probability of the cells with the sums `parts`, and its certificate; all cells sum to `held`."""
    top = max(power for _, _, power in parts)
    total = math.fsum(math.ldexp(part, power - top) for part, _, power in parts)
    share = math.fsum(part for _, part, _ in parts) / held
    if not share >= _SHARE:
        return Probability(-math.inf, math.inf)
    # Powers of two are split off first, because near p = 1/2 the two logarithms would cancel.
    mantissa, power = math.frexp(total)
    log_p = math.log(mantissa) + (power + top + scale - form.nonzero) * LN2
    rounding = UNIT_ROUNDOFF * (8.0 + 1.01 * form.nonzero + 2.0 * abs(log_p))
    if last >= _SUMMED_EXACTLY:
        rounding += UNIT_ROUNDOFF * _PAIRWISE
    return Probability(log_p, rounding + _LOST)


def _summed(cells: Reals, first: int, last: int, block: int) -> tuple[float, float, int]:
    """Sum the cells first .. last; return (total, held, power): counts of total * 2**power, stored as `held`."""
    sums = []
    for number in range(first // block, last // block + 1):
        part = cells[max(first, number * block) : min(last + 1, (number + 1) * block)]
        exactly = len(part) <= _SUMMED_EXACTLY
        sums.append((math.fsum(part.tolist()) if exactly else float(part.sum()), _BITS * number))
    top = sums[-1][1] if sums else 0
    total = math.fsum(math.ldexp(part, power - top) for part, power in sums)
    return total, math.fsum(part for part, _ in sums), top


def _count(form: CanonicalForm, size: int, block: int) -> tuple[NDArray[np.float64], int]:
    """Return count(d) * 2**-(e(d) + scale) for d = 0 .. size - 1, and the scale."""
    cells = np.zeros(size)
    cells[0] = 1.0
    # Each item reads one array and writes the other where both stay in the cache; else it adds in place.
    cached = size <= _CACHED
    other = np.zeros(size) if cached else cells
    tile = 4 * TILE if cached else TILE
    lifted = np.empty(min(tile, size))
    scale = since = reached = 0
    for weight, count in zip(form.weights.tolist(), form.counts.tolist(), strict=True):
        if weight >= size:
            break  # weights ascend: this one and the rest leave the needed cells
        pieces = _pieces(size, weight, block, tile)
        for _ in range(count):
            reached = min(reached + weight, size - 1)
            if cached:
                other[:weight] = cells[:weight]
            for first, stop, lift in pieces:
                if first <= reached:
                    end = min(stop, reached + 1)
                    moved = cells[first - weight : end - weight]
                    if lift < 1.0 or (end - first > weight and not cached):
                        # A copy, because the old cells are added.
                        moved = np.multiply(moved, lift, out=lifted[: end - first])
                    np.add(cells[first:end], moved, out=other[first:end])
            cells, other = other, cells
            since += 1
            if since == _STEPS_PER_RESCALE:
                excess = math.frexp(float(cells.max()))[1]
                np.ldexp(cells, -excess, out=cells)
                scale, since = scale + excess, 0
    return cells, scale


def _pieces(size: int, weight: int, block: int, tile: int) -> list[tuple[int, int, float]]:
    """List (first, stop, lift) of each piece: its cells, and the power of two that scales the added cells.

    The last piece comes first, so that the added cells still hold the counts before this item. A piece lies in one
    block, and so do the cells added to it.
    """
    far, short = divmod(weight, block)
    pieces = []
    stop = size
    while stop > weight:
        number, offset = divmod(stop - 1, block)
        start = number * block + (short if offset >= short else 0)
        first = max(start, weight, stop - tile)
        blocks = far if offset >= short else far + 1
        pieces.append((first, stop, math.ldexp(1.0, -_BITS * blocks)))
        stop = first
    return pieces
