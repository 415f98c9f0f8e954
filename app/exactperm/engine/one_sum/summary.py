"""The null distribution for display: its probabilities, moments and quantiles.

One untilted transform on a window (as in `fft`), heavy weights enumerated (as in `heavy_weights`). The probabilities
have an absolute error of about 1e-15, enough for pictures and quantiles; p-values come from the tilted sums. T is
symmetric about half its range, and so are this law, to the last bit, and its bins.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import fft as transform, special

from ..lattice import CanonicalForm, Integers, Reals, once_per_form
from ..probability import LN2, SMALLEST, Alternative, region
from .enumeration import subset_sums
from .fft import have_tables, probability, short_masses, window_of
from .heavy_weights import best_split, heavy_sums, screening
from .rational import half_of_ways, is_short
from .spectrum import Spectrum, spectrum
from .tilt import tilt_at

MAX_BINS = 201
# Up to FINE_POINTS, every lattice point of the window is computed; beyond, GRID_CELLS cells.
FINE_POINTS = 1 << 20
GRID_CELLS = 1 << 15
# Enumerated heavy weights multiply the points; a picture is not worth more than this.
MAX_POINTS = 1 << 22
# On a longer window, up to MAX_ENUMERATED items are listed, and the weights of more are rounded.
MAX_WINDOW = 1 << 25
MAX_ENUMERATED = 18
STEPS_PER_SD = 1 << 11
# The largest number of listed values, however far apart.
MAX_LISTED = 400_000
# Up to this many items, listing costs no more than the transform, and is exact.
FEW_ITEMS = 10
_OUTSIDE = 1e-16
_NOISE = 1e-15  # smaller values may be zeros, rounded by the transform
_TIE = 1e-12


@dataclass(frozen=True, slots=True)
class Law:
    """P(values[i] <= T < values[i] + width) = masses[i], `values` ascending, shape (P,).

    `width` is 1, a cell for each lattice point, unless the window is too long.
    """

    values: Integers
    masses: NDArray[np.float64]
    width: int = 1

    def mean(self) -> float:
        """Return the mean of the law."""
        return float(np.dot(self.values, self.masses))

    def sd(self, mean: float | None = None) -> float:
        """Return the standard deviation of the law; `mean` saves computing it."""
        centred = self.values - (self.mean() if mean is None else mean)
        return math.sqrt(float(np.dot(centred * centred, self.masses)))

    def quantile(self, q: float) -> Fraction:
        """Return one of `quantiles`."""
        return self.quantiles((q,))[0]

    def quantiles(self, levels: Sequence[float]) -> list[Fraction]:
        """Return the smallest values with P(T <= value) >= q, to the middle of a cell.

        Where P(T <= value) = q, the mean of that value and the next (definition 2 of Hyndman & Fan 1996), so that
        the quantiles of a symmetric law are symmetric.
        """
        return [Fraction(twice, 2) for twice in self.doubled_quantiles(levels)]

    def doubled_quantiles(self, levels: Sequence[float]) -> list[int]:
        """Return twice the `quantiles`, which are integers."""
        ends = _around(tuple(levels))
        at = self.masses.cumsum()[:-1].searchsorted(ends)  # the last value where rounding leaves less than q
        values: list[int] = self.values[at].tolist()
        return [low + high + self.width - 1 for low, high in zip(values[::2], values[1::2], strict=True)]

    def mirrored(self) -> Law:
        """Average each probability with that of its mirror image; the values are symmetric."""
        return Law(self.values, (self.masses + self.masses[::-1]) / 2.0, self.width)


@lru_cache(maxsize=16)
def _around(levels: tuple[float, ...]) -> Reals:
    """Return numbers just below and above each, shape (2 Q,), cached because all laws use the same few."""
    return np.array([q + slack for q in levels for slack in (-_TIE, _TIE)])


def law(form: CanonicalForm, *, rounded: bool = False, listed: bool = False) -> Law | None:
    """Compute the law of T where it has mass; None where that would take more than MAX_POINTS points.

    `rounded` first rounds the weights to a lattice of STEPS_PER_SD per standard deviation, for pictures only. With
    `listed`, every value has a cell, wherever there are few enough.
    """
    if len(form.weights) == 0:
        return Law(np.zeros(1, dtype=np.int64), np.ones(1))
    if form.nonzero > FEW_ITEMS and is_short(form):
        return _counted_law(form)
    if form.nonzero > FEW_ITEMS and have_tables(form):
        return _tabled_law(form)
    split = best_split(form)
    if form.nonzero <= (MAX_ENUMERATED if split.length > FINE_POINTS else FEW_ITEMS):
        sums, often = np.unique(subset_sums(np.repeat(form.weights, form.counts)), return_counts=True)
        return Law(sums, often / float(1 << form.nonzero))
    if listed and few_sums(form) is not None:
        return _listed_law(form)
    if rounded or split.length > MAX_WINDOW:
        return _coarse_law(form)
    if split.heavy == 0:
        return _window_law(form)
    if split.length * split.combinations > MAX_POINTS:
        return None
    light = _window_law(form.without(split.heavy))
    sums, weights = _heavy_law(form, split.heavy)
    if len(light.values) == 1:
        order = sums.argsort()
        return Law(sums[order], weights[order]).mirrored()
    values = np.add.outer(sums, light.values).ravel()
    merged = _merge(values, np.multiply.outer(weights, light.masses).ravel(), light.width)
    return merged.mirrored()


def _heavy_law(form: CanonicalForm, heavy: int) -> tuple[Integers, NDArray[np.float64]]:
    """Return the sums of the heavy part and their probabilities; shape (S,) each."""
    ways, items = heavy_sums(form, heavy)
    # Few numbers of ways are distinct, because mirror images share them.
    known = {number: math.exp(math.log(number) - items * LN2) for number in set(ways.values())}
    return np.array(list(ways), dtype=np.int64), np.array([known[number] for number in ways.values()])


def few_sums(form: CanonicalForm) -> int | None:
    """Return prod_j (c_j + 1), an upper bound on the number of values of T; None beyond MAX_LISTED."""
    sums = 1
    for count in form.counts.tolist():
        sums *= count + 1
        if sums > MAX_LISTED:
            return None
    return sums


def points_listed(form: CanonicalForm) -> int | None:
    """Return an upper bound on the number of values that `law` lists; None where it cannot list all."""
    split = best_split(form)
    few, windowed = few_sums(form), split.length * split.combinations
    if few is not None:
        return min(few, form.range + 1)
    return windowed if split.length <= FINE_POINTS and windowed <= MAX_POINTS else None


def _counted_law(form: CanonicalForm) -> Law:
    """Compute the law from the numbers of ways, rounded once; the p-value has often counted them already."""
    below, ways = half_of_ways(form), 1 << form.nonzero
    half = [number / ways for number in below]
    masses = np.array(half + half[: form.range + 1 - len(half)][::-1])
    return Law(np.arange(form.range + 1, dtype=np.int64), masses)


def _tabled_law(form: CanonicalForm) -> Law:
    """Compute the law on a window of all values."""
    masses = short_masses(form)
    masses[masses < _NOISE] = 0.0
    return Law(np.arange(form.range + 1, dtype=np.int64), masses).mirrored()


def _listed_law(form: CanonicalForm) -> Law:
    """Compute the law by adding group after group; for few groups of weights, however large."""
    values, masses = np.zeros(1, dtype=np.int64), np.ones(1)
    for weight, count in zip(form.weights.tolist(), form.counts.tolist(), strict=True):
        often = np.arange(count + 1, dtype=np.int64)
        binomial = np.exp(-special.betaln(count - often + 1, often + 1) - math.log(count + 1) - count * LN2)
        spread = (values[:, None] + weight * often).ravel()
        merged = _merge(spread, np.multiply.outer(masses, binomial).ravel(), 1)
        values, masses = merged.values, merged.masses
    return Law(values, masses).mirrored()


@once_per_form
def predicted_nanoseconds(form: CanonicalForm) -> int:
    """Predict the nanoseconds of the exact law, with the constants of `methods.fft_cost`."""
    if len(form.weights) == 0:
        return 0
    if is_short(form):
        return 30_000 + 150 * form.range
    if have_tables(form):
        return 100_000 + 40 * form.range
    split = best_split(form)
    _, screened, retained = screening(form)
    points = split.length * split.combinations
    return 60 * points + 8 * screened + 120 * (len(form.weights) - split.heavy) * retained


def _coarse_law(form: CanonicalForm) -> Law:
    """Compute the law with weights rounded to STEPS_PER_SD steps per standard deviation, for pictures."""
    step = max(int(math.sqrt(form.variance)) // STEPS_PER_SD, 1)
    step += (step + form.range + 1) % 2  # the parity of the number of lattice points
    nearest = np.rint(form.weights / step).astype(np.int64)
    if form.range % 2 == 0 and int((nearest * form.counts % 2).sum()) % 2:
        # An odd number of cells lies symmetrically: increase the weight of an odd group by one.
        nearest[int(np.flatnonzero(form.counts % 2)[-1])] += 1
    rounded, where = np.unique(nearest, return_inverse=True)
    counts = _added(where, form.counts.astype(np.float64)).astype(np.int64)
    kept = rounded > 0
    coarse = CanonicalForm(0, 1, rounded[kept], counts[kept], form.items)
    window_law = _window_law(coarse)
    width = window_law.width * step
    first = (form.range + 1 - (coarse.range + 1) * step) // 2
    return Law(first + window_law.values * step, window_law.masses, width)


def _window_law(form: CanonicalForm) -> Law:
    """Compute the law on one window: point by point, or in cells where the window is long.

    A cell's mass is a contraction with `width` ones; in the frequency domain that multiplies phi by a geometric sum
    and merges frequencies that differ by GRID_CELLS.
    """
    if len(form.weights) == 0:
        return Law(np.zeros(1, dtype=np.int64), np.ones(1))
    untilted = tilt_at(form, 0.0)
    low, high = window_of(form, untilted, _OUTSIDE)
    # Extend the window equally to both sides of the middle.
    low = min(low, form.range - high)
    made = masses_on(
        low, form.range - low, form.range, lambda length: spectrum(form, untilted, length, bounded=False)
    )
    return made.mirrored()


def masses_on(low: int, high: int, twice_centre: int, phi_of: Callable[[int], Spectrum]) -> Law:
    """Compute the law on the window from `low` to `high`, which overhang equally, from a spectrum about `twice_centre`
    / 2.

    `phi_of(length)` returns the untilted spectrum on `length` points, without negligible frequencies.
    """
    points = high - low + 1
    width, keep = _cells(points)
    low -= (width * keep - points) // 2
    cells = transform.next_fast_len(points, real=True) if width == 1 else GRID_CELLS
    length = cells * width
    phi = phi_of(length)
    turns = (phi.frequencies * ((2 * low - twice_centre) % (2 * length))) % (2 * length)
    line = np.exp(phi.log_modulus - 1j * (phi.phase - (math.pi / length) * turns))
    if width > 1:
        line *= _box(phi.frequencies, length, width)
    masses = transform.irfft(_wrapped(line, phi.frequencies, length, cells), cells) / width
    masses = np.where(masses < _NOISE, 0.0, masses)[:keep]
    return Law(low + width * np.arange(keep, dtype=np.int64), masses, width)


def _cells(points: int) -> tuple[int, int]:
    """Return (width, number) of cells that cover the points and overhang both ends equally."""
    if points <= FINE_POINTS:
        return 1, points
    width = -(-points // (GRID_CELLS - 1))
    width += (width + points) % 2  # odd for an odd number of points
    number = -(-points // width)
    return width, number + (number * width - points) % 2


def _box(frequencies: Integers, length: int, width: int) -> NDArray[np.complex128]:
    """Return sum_{i < width} exp(2 pi i f / L), the transform of a cell."""
    half = math.pi * frequencies / length
    with np.errstate(invalid="ignore", divide="ignore"):
        size = np.where(frequencies == 0, float(width), np.sin(half * width) / np.sin(half))
    return np.asarray(size * np.exp(1j * half * (width - 1)))


def _wrapped(
    line: NDArray[np.complex128], frequencies: Integers, length: int, cells: int
) -> NDArray[np.complex128]:
    """Return the half spectrum of `cells` points, the full spectrum of `line` wrapped modulo `cells`."""
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


def _absolute_law(values: Integers, masses: NDArray[np.float64]) -> Law:
    """Return the law of |X|, given the law of an X symmetric about zero, value by value."""
    middle = len(values) // 2
    upper = masses[middle:] * 2.0
    if len(values) % 2:
        upper[0] = masses[middle]
    return Law(values[middle:], upper)


def _added(index: Integers, masses: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(np.bincount(index, weights=masses), dtype=np.float64)


def law_of_sum(
    form: CanonicalForm, *, absolute: bool = False, rounded: bool = False, listed: bool = False
) -> Law | None:
    """Compute the law of S, or of |S|, in units of the data's lattice; None where `law` is None."""
    law_of_t = law(form, rounded=rounded, listed=listed)
    if law_of_t is None:
        return None
    values = form.offset + form.step * law_of_t.values
    width = form.step * (law_of_t.width - 1) + 1
    if absolute and width == 1 and values[0] == -values[-1]:
        return _absolute_law(values, law_of_t.masses)
    if absolute:
        return _merge(np.where(values < 0, np.maximum(1 - width - values, 0), values), law_of_t.masses, width)
    return Law(values, law_of_t.masses, width)


def spacing_of(form: CanonicalForm, law: Law, *, absolute: bool = False) -> int:
    """Return the least distance between the values of a law of S or |S|, the unit of the widths of bins.

    The values of |S| lie on two interleaved lattices when the offset is not a multiple of half the step; bins as
    wide as the step then hold two values each, unless the values are few enough for a bin each.
    """
    steps = (law.width - 1) // form.step + 1
    if absolute and law.width == 1:
        together = math.gcd(form.step, 2 * form.offset)
        if int(law.values[-1] - law.values[0]) // together < MAX_BINS:
            return together
    return form.step * steps


# A law in bins of equal width, for pictures; the bins of a symmetric law are symmetric.


# The mass that bins may omit on either side.
_TRIMMED = 1e-12


@dataclass(frozen=True, slots=True)
class Bins:
    """The probabilities of bins of `width` consecutive lattice values; `first` holds the lowest value of each."""

    first: Integers
    masses: NDArray[np.float64]
    width: int


def trimmed(law: Law) -> Law:
    """Drop the outer values, with at most 1e-12 of the mass on either side."""
    masses = law.masses
    first = 0 if masses[0] > _TRIMMED else int(masses.cumsum().searchsorted(_TRIMMED, side="right"))
    last = len(masses) - 1 - int(masses[::-1].cumsum().searchsorted(_TRIMMED, side="right"))
    kept = slice(first, max(last, first) + 1)
    values, masses = law.values[kept], masses[kept]
    if not masses.min() > 0.0:
        positive = masses > 0.0
        values, masses = values[positive], masses[positive]
    return Law(values, masses, law.width)


def binned(law: Law, spacing: int, max_bins: int = MAX_BINS) -> Bins:
    """Sort the law into at most `max_bins` bins of a multiple of `spacing`, which overhang both ends equally."""
    points = int(law.values[-1] - law.values[0]) // spacing + 1
    if points == len(law.values) <= max_bins:  # a bin for each value
        return Bins(law.values, law.masses, spacing)
    each = -(-points // max_bins)
    while (number := _even_number(points, each)) > max_bins:
        each += 1
    width = spacing * each
    first = int(law.values[0]) - spacing * ((number * each - points) // 2)
    index = (law.values - first) // width
    masses = np.asarray(np.bincount(index, weights=law.masses), dtype=np.float64)
    (filled,) = masses.nonzero()  # none is negative
    return Bins(first + filled * width, masses[filled], width)


def _even_number(points: int, each: int) -> int:
    """Return how many bins of `each` points cover all and overhang both ends equally; points + 1 if impossible."""
    number = -(-points // each)
    number += (number * each - points) % 2
    return number if (number * each - points) % 2 == 0 else points + 1


# The smallest attainable p-value


# The number of lattice values around zero to try for the least |S|, and the error bound its mass needs.
_NEAR = 16
_SURE = 1e-6
_CHEAP_NANOSECONDS = 2_000_000
# Up to this many items, all sums are listed instead.
FEW = 14


def smallest_attainable(
    form: CanonicalForm, alternative: Alternative, *, absolute: bool
) -> tuple[float, float]:
    """Bound the smallest p-value that any outcome on these items could have; equal, positive bounds where it is known.

    The largest sum has probability 2**-n; for |S| both ends count when they are equally far out.
    """
    two_tailed = absolute or alternative == "two-sided"
    if form.nonzero == 0:
        return 1.0, 1.0
    if absolute and alternative == "less":
        return _smallest_of_the_middle(form)
    both_ends = two_tailed and 2 * form.offset + form.step * form.range == 0
    least = max(math.ldexp(1.0, int(both_ends) - form.nonzero), SMALLEST)
    return least, least


def _smallest_of_the_middle(form: CanonicalForm) -> tuple[float, float]:
    """Return P(|S| = min |S|) twice, from the first lattice value with mass; (2**-n, 1) where that is far or costly."""
    least = max(math.ldexp(1.0, -form.nonzero), SMALLEST)
    if form.nonzero <= FEW:
        sizes = np.abs(form.offset + form.step * subset_sums(np.repeat(form.weights, form.counts)))
        attained = float(np.count_nonzero(sizes == sizes.min())) / float(1 << form.nonzero)
        return attained, attained
    if best_split(form).nanoseconds > _CHEAP_NANOSECONDS:
        return least, 1.0
    nearest = -(form.offset // form.step)
    for index in range(_NEAR):
        # Outwards from zero on both sides: |offset + step k| for k = nearest, nearest - 1, nearest + 1, ...
        size = abs(form.offset + form.step * (nearest + (-(index + 1) // 2 if index % 2 else index // 2)))
        tail = region(form, size, "less", absolute=True)
        if not tail.intervals:
            continue
        inside = probability(form, tail)
        if not inside.relative_error_bound < _SURE or inside.p < 0.9 * least:
            break  # the mass may be zero
        return inside.p, inside.p
    return least, 1.0
