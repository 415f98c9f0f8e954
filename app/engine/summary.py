"""The null distribution to look at: its probabilities where the mass is, moments and quantiles.

One untilted transform on a window (as in `fft`), heavy weights enumerated (as in `peeling`). The
probabilities carry an absolute error of some 1e-15: they are for pictures and quantiles; p-values
come from the tilted sums.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import fft as transform

from app.engine.enumeration import subset_sums
from app.engine.fft import window
from app.engine.lattice import CanonicalForm, Integers, once_per_form
from app.engine.null import LN2
from app.engine.peeling import best_split, heavy_sums, screening
from app.engine.spectrum import spectrum
from app.engine.tilt import tilt_at

MAX_BINS = 201
# Up to here every lattice point of the window is computed; beyond, cells of a grid this fine.
FINE_POINTS = 1 << 20
GRID_CELLS = 1 << 15
# Enumerated heavy weights multiply the points; more than this is not computed for a picture.
MAX_POINTS = 1 << 22
# Beyond this window there is no lattice to speak of: few items are listed, more are rounded.
MAX_WINDOW = 1 << 25
MAX_ENUMERATED = 18
STEPS_PER_SD = 1 << 9
# For so few items listing is as cheap as transforming, and exact.
FEW_ITEMS = 10
_OUTSIDE = 1e-16
_NOISE = 1e-15  # what the transform's rounding makes of a zero
# Bins are laid over all but this much of the mass on either side.
_TRIMMED = 1e-12
_TIE = 1e-12


@dataclass(frozen=True, slots=True)
class Law:
    """P(values[i] <= T < values[i] + width) = masses[i], `values` ascending, shape (P,).

    `width` is 1, every lattice point by itself, unless the window is too long for that.
    """

    values: Integers
    masses: NDArray[np.float64]
    width: int = 1

    def mean(self) -> float:
        """Mean of the law."""
        return float(np.dot(self.values, self.masses))

    def sd(self) -> float:
        """Standard deviation of the law."""
        centred = self.values - self.mean()
        return math.sqrt(float(np.dot(centred * centred, self.masses)))

    def quantile(self, q: float) -> int:
        """One of `quantiles`."""
        return self.quantiles((q,))[0]

    def quantiles(self, wanted: Sequence[float]) -> list[int]:
        """The smallest values with P(T <= value) >= q, to the width; a tie counts as reached."""
        reached = np.searchsorted(np.cumsum(self.masses), np.array(wanted) - _TIE)
        found: list[int] = self.values[np.minimum(reached, len(self.values) - 1)].tolist()
        return [value + self.width - 1 for value in found]


@dataclass(frozen=True, slots=True)
class Bins:
    """Probabilities of bins of `width` consecutive lattice values; `first` is each bin's lowest."""

    first: Integers
    masses: NDArray[np.float64]
    width: int


def law(form: CanonicalForm, *, rounded: bool = False) -> Law | None:
    """The law of T where it has mass, or None when that would take more than MAX_POINTS points.

    `rounded` puts the weights on a lattice of STEPS_PER_SD per standard deviation first: for pictures only.
    """
    if len(form.weights) == 0:
        return Law(np.zeros(1, dtype=np.int64), np.ones(1))
    split = best_split(form)
    if form.nonzero <= (MAX_ENUMERATED if split.length > FINE_POINTS else FEW_ITEMS):
        sums, often = np.unique(subset_sums(np.repeat(form.weights, form.counts)), return_counts=True)
        return Law(sums, often / float(1 << form.nonzero))
    if rounded or split.length > MAX_WINDOW:
        return _coarse_law(form)
    if split.heavy == 0:
        return _window_law(form)
    if split.length * split.combinations > MAX_POINTS:
        return None
    light = _window_law(form.without(split.heavy))
    ways, items = heavy_sums(form, split.heavy)
    values = np.concatenate([light.values + total for total in ways])
    weights = [math.exp(math.log(number) - items * LN2) for number in ways.values()]
    return _merge(values, np.concatenate([light.masses * weight for weight in weights]), light.width)


@once_per_form
def predicted_nanoseconds(form: CanonicalForm) -> int:
    """What the exact law would take: a window point, and a group at every frequency that is not retired."""
    if len(form.weights) == 0:
        return 0
    split = best_split(form)
    screened, retained = screening(form)
    points = split.length * split.combinations
    return 60 * points + 8 * screened + 120 * (len(form.weights) - split.heavy) * retained


def _coarse_law(form: CanonicalForm) -> Law:
    """The law with weights rounded to a few thousand steps per standard deviation, for the picture."""
    step = max(int(math.sqrt(form.variance)) // STEPS_PER_SD, 1)
    rounded, where = np.unique(np.rint(form.weights / step).astype(np.int64), return_inverse=True)
    counts = _added(where, form.counts.astype(np.float64)).astype(np.int64)
    kept = rounded > 0
    found = _window_law(CanonicalForm(0, 1, rounded[kept], counts[kept], form.items))
    return Law(found.values * step, found.masses, found.width * step)


def _window_law(form: CanonicalForm) -> Law:
    """The law on one window: point by point, or in cells where the window is long.

    A cell's mass is a contraction with `width` ones; in the frequency domain that multiplies phi by a
    geometric sum, after which frequencies that differ by GRID_CELLS fall together.
    """
    if len(form.weights) == 0:
        return Law(np.zeros(1, dtype=np.int64), np.ones(1))
    untilted = tilt_at(form, 0.0)
    low, high = window(form, untilted, _OUTSIDE)
    points = high - low + 1
    width = 1 if points <= FINE_POINTS else -(-points // GRID_CELLS)
    cells = transform.next_fast_len(points, real=True) if width == 1 else GRID_CELLS
    length = cells * width
    found = spectrum(form, untilted, length)
    turns = (found.frequencies * ((2 * low - form.range) % (2 * length))) % (2 * length)
    line = np.exp(found.log_modulus - 1j * (found.phase - (math.pi / length) * turns))
    if width > 1:
        line *= _box(found.frequencies, length, width)
    masses = transform.irfft(_wrapped(line, found.frequencies, length, cells), cells) / width
    keep = -(-points // width)
    masses = np.where(masses < _NOISE, 0.0, masses)[:keep]
    return Law(low + width * np.arange(keep, dtype=np.int64), masses, width)


def _box(frequencies: Integers, length: int, width: int) -> NDArray[np.complex128]:
    """sum_{i < width} exp(2 pi i f / L), the transform of a cell."""
    half = math.pi * frequencies / length
    with np.errstate(invalid="ignore", divide="ignore"):
        size = np.where(frequencies == 0, float(width), np.sin(half * width) / np.sin(half))
    return np.asarray(size * np.exp(1j * half * (width - 1)))


def _wrapped(
    line: NDArray[np.complex128], frequencies: Integers, length: int, cells: int
) -> NDArray[np.complex128]:
    """The half spectrum of `cells` points whose full spectrum is `line`'s, wrapped modulo `cells`."""
    if length == cells:  # nothing to wrap
        half = np.zeros(cells // 2 + 1, dtype=np.complex128)
        half[frequencies] = line
        return half
    full = np.zeros(cells, dtype=np.complex128)
    np.add.at(full, frequencies % cells, line)
    paired = (frequencies != 0) & (2 * frequencies != length)
    np.add.at(full, -frequencies[paired] % cells, line[paired].conj())
    return full[: cells // 2 + 1]


def _merge(values: Integers, masses: NDArray[np.float64], width: int) -> Law:
    distinct, where = np.unique(values, return_inverse=True)
    return Law(distinct, _added(where, masses), width)


def _added(index: Integers, masses: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(np.bincount(index, weights=masses), dtype=np.float64)


def law_of_sum(form: CanonicalForm, *, absolute: bool = False, rounded: bool = False) -> Law | None:
    """The law of S, or of |S|, in units of the data's lattice; None where `law` is."""
    found = law(form, rounded=rounded)
    if found is None:
        return None
    values = form.offset + form.step * found.values
    width = form.step * (found.width - 1) + 1
    if absolute:
        return _merge(np.abs(values), found.masses, width)
    return Law(values, found.masses, width)


def trimmed(found: Law) -> Law:
    """The law without the outer values that hold next to nothing."""
    cumulative = np.cumsum(found.masses)
    first = int(np.searchsorted(cumulative, _TRIMMED, side="right"))
    last = int(np.searchsorted(cumulative, cumulative[-1] - _TRIMMED))
    kept = slice(first, max(last, first) + 1)
    positive = found.masses[kept] > 0.0
    return Law(found.values[kept][positive], found.masses[kept][positive], found.width)


def binned(found: Law, spacing: int, max_bins: int = MAX_BINS) -> Bins:
    """At most `max_bins` bins of equal width, a multiple of `spacing`, over the law's values."""
    first = int(found.values[0])
    reach = int(found.values[-1]) - first + spacing
    width = spacing * -(-reach // (spacing * max_bins))
    index = (found.values - first) // width
    masses = _added(index, found.masses)
    filled = np.flatnonzero(masses > 0.0)
    return Bins(first + filled.astype(np.int64) * width, masses[filled], width)
