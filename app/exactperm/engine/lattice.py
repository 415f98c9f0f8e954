"""The integer lattice of the data, and the canonical form of a sum.

`decimal_lattice` converts scores, read as the decimals that people write, to integers, so that 0.1 + 0.2 ties with 0.3.
`canonical_form` reduces the stay and swap effects of N items to the offset, step and weights that determine the law.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, wraps
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Reals = NDArray[np.float64]
# Exact Python integers beyond 64 bits, dtype object.
Wide = NDArray[np.object_]
Whole = Integers | Wide
Value = TypeVar("Value")
Exact = TypeVar("Exact", bound=NDArray[Any])

MAX_DECIMALS = 15
# Every decimal of this many digits can be recovered from the double nearest to it.
DIGITS = 15
# Rounded products x * 10**k are integers that a double holds exactly only below this.
EXACT_DOUBLE = 2**53
# Sums of effects must stay inside int64 with a bit to spare for stay - swap.
MAX_TOTAL = 2**61
# Up to this many integers, Python adds as quickly as NumPy, and exactly.
_FEW, _FEW_GROUPS = 256, 16
# Below this many buckets per item, counting beats sorting.
_BUCKETS_PER_ITEM = 4


class LatticeOverflowError(ValueError):
    """The effects are so large that their exact sum does not fit 62 bits."""


@dataclass(frozen=True, eq=False)
class CanonicalForm:
    """S = offset + step * T with T = sum_j weights[j] * Binomial(counts[j], 1/2).

    `weights` are the distinct non-zero |stay - swap| / step in ascending order, shape (U,); `counts` are the numbers of
    items with each weight; `items` is N, zeros included. T lives on {0, ..., range} and is symmetric about range / 2
    (Zmigrod, Vieira & Cotterell 2022, eq. 4, with equal factors grouped).
    """

    offset: int
    step: int
    weights: Integers
    counts: Integers
    items: int

    @cached_property
    def nonzero(self) -> int:
        """n, the number of items whose swap changes the sum."""
        return int(self.counts.sum())

    @cached_property
    def range(self) -> int:
        """W, the largest value of T, exactly."""
        return _dot(self.weights, self.counts)

    @cached_property
    def variance(self) -> float:
        """The variance of T, not of S."""
        weights = self.weights.astype(np.float64)
        return float(np.dot(self.counts, weights * weights)) / 4.0

    def without(self, heaviest: int) -> CanonicalForm:
        """Drop the `heaviest` largest distinct weights; the offset stays."""
        if heaviest == 0:
            return self
        keep = len(self.weights) - heaviest
        return CanonicalForm(self.offset, self.step, self.weights[:keep], self.counts[:keep], self.items)


def once_per_form(function: Callable[[CanonicalForm], Value]) -> Callable[[CanonicalForm], Value]:
    """Cache the value of a function in the form, as planning and running need the same values."""
    name = f"{function.__module__}.{function.__qualname__}"  # no attribute has a dot

    @wraps(function)
    def cached(form: CanonicalForm) -> Value:
        known = form.__dict__
        if name not in known:
            known[name] = function(form)
        return cast("Value", known[name])

    return cached


def canonical_form(stay: Integers, swap: Integers | None = None) -> CanonicalForm:
    """Reduce local effects, shape (N,) each, to their canonical form; `swap` None means -stay.

    Raises LatticeOverflowError when the sum of |effects| is 2**61 or more.
    """
    return _form(stay, swap, _largest(stay, swap))


def form_and_sum(stay: Integers, swap: Integers | None = None) -> tuple[CanonicalForm, int]:
    """Return the `canonical_form` and the observed S, the exact sum of `stay`."""
    largest = _largest(stay, swap)
    return _form(stay, swap, largest), exact_total(stay, largest)


def _form(stay: Integers, swap: Integers | None, largest: int) -> CanonicalForm:
    """Compute `canonical_form`; no effect is larger than `largest`."""
    if largest >= MAX_TOTAL:
        raise LatticeOverflowError("an effect is 2**61 or more")
    # |stay - swap|, halved where swap is -stay. Its sum is the distance from min S to the mean of S, or twice that.
    magnitudes = np.abs(stay if swap is None else stay - swap)
    weights, counts = _distinct(magnitudes)
    spread = _dot(weights, counts)
    offset, factor = -spread, 2
    if swap is not None:
        offset = (exact_total(stay, largest) + exact_total(swap, largest) - spread) // 2
        factor = 1
    if spread + abs(offset) >= MAX_TOTAL:
        raise LatticeOverflowError("the sum of the absolute effects is 2**61 or more")
    items = len(stay)
    if len(weights) == 0:
        return CanonicalForm(offset, 1, weights, counts, items)
    divisor = int(np.gcd.reduce(weights))
    if divisor > 1:
        weights = weights // divisor
    form = CanonicalForm(offset, factor * divisor, weights, counts, items)
    form.__dict__["range"] = spread // divisor  # already known
    return form


def _largest(stay: Integers, swap: Integers | None) -> int:
    """Return the largest |effect|, 0 without effects."""
    if len(stay) == 0:
        return 0
    return largest_size(stay) if swap is None else max(largest_size(stay), largest_size(swap))


def largest_size(values: Integers) -> int:
    """Return the largest |value|, shape (N,), N > 0, as a Python integer, since |-2**63| does not fit int64."""
    return max(-int(np.minimum.reduce(values)), int(np.maximum.reduce(values)))


def exact_total(values: Whole, most: int | None = None) -> int:
    """Return the exact sum of integers, shape (N,), N < 2**31; `most` bounds their absolute values where known."""
    if len(values) <= _FEW or values.dtype != np.int64:
        return int(sum(values.tolist()))
    if (largest_size(cast("Integers", values)) if most is None else most) < (1 << 62) // len(values):
        return int(np.add.reduce(values))
    # The high and low 32 bits are added separately, so that nothing overflows for N < 2**31.
    return (int((values >> 32).sum()) << 32) + int((values & 0xFFFFFFFF).sum())


def _dot(weights: Integers, counts: Integers) -> int:
    if len(weights) > _FEW_GROUPS and float(np.dot(weights.astype(np.float64), counts)) < MAX_TOTAL:
        return int(np.dot(weights, counts))
    return sum(w * c for w, c in zip(weights.tolist(), counts.tolist(), strict=True))


def _distinct(magnitudes: Integers) -> tuple[Integers, Integers]:
    """Return the distinct non-zero values, ascending, and their counts."""
    if len(magnitudes) == 0:
        empty = np.zeros(0, dtype=np.int64)
        return empty, empty
    largest = int(np.maximum.reduce(magnitudes))
    if largest <= max(_BUCKETS_PER_ITEM * len(magnitudes), 1024):
        histogram = np.bincount(magnitudes).astype(np.int64, copy=False)
        histogram[0] = 0
        values = histogram.nonzero()[0].astype(np.int64, copy=False)
        return values, histogram[values]
    values, counts = np.unique(magnitudes, return_counts=True)
    first = 1 if values[0] == 0 else 0
    return values[first:], counts[first:].astype(np.int64)


def sum_by_cluster(values: Exact, codes: Integers, clusters: int) -> Exact:
    """Sum `values`, shape (N,) or (N, m), within each cluster; exact integers, shape (clusters, ...)."""
    sums = np.zeros_like(values, shape=(clusters, *values.shape[1:]))
    np.add.at(sums, codes, values)
    return cast("Exact", sums)


def decimal_lattice(*columns: Reals) -> tuple[Fraction, tuple[Integers, ...]] | None:
    """Return the coarsest decimal lattice that holds every number exactly as its shortest repr prints it.

    Finds the smallest k <= 15 such that each x equals round(x * 10**k) / 10**k as a double, and gives (10**-k, the
    integers). None when there is no such k, or when an integer has more than 15 digits (for k = 0: reaches 2**53),
    because several decimals then share a double and the written one is unknown. Dividing by 10**k is correctly rounded
    (10**15 is exact), so equality means that x is the double nearest to that decimal.
    """
    places = 0
    for column in columns:
        needed = _decimals(column, places)
        if needed is None:
            return None
        places = needed
    with np.errstate(over="ignore"):
        scaled = tuple(np.rint(column * 10.0**places) for column in columns)
    most = 10**DIGITS if places else EXACT_DOUBLE
    if any(len(column) and float(np.abs(column).max()) >= most for column in scaled):
        return None
    return Fraction(1, 10**places), tuple(column.astype(np.int64) for column in scaled)


def _decimals(column: Reals, at_least: int) -> int | None:
    """Return the smallest number of decimals, at least `at_least`, that prints every value exactly."""
    rest = column
    for places in range(at_least, MAX_DECIMALS + 1):
        power = 10.0**places
        with np.errstate(over="ignore"):
            scaled = np.rint(rest * power)
        # A number that this many places print needs no more, so only the others continue.
        rest = rest[scaled / power != rest]
        if len(rest) == 0:
            return places
    return None


# Numbers whose lattice does not fit 64 bits: exact Python integers in arrays of objects. A score is read as the
# shortest decimal of its double where that has at most 15 digits: 9999 and 1e-12 are integers in units of 1e-12. A
# score with more digits is read as the double itself, an integer over a power of two.


# The largest power of ten that is a double.
_MAX_POWER = 22
_MANTISSA_BITS = 53
# Decimals of single precision that are tried for all numbers at once.
_MAX_NARROW_PLACES = 12


def digits_and_places(column: Reals) -> tuple[Integers, Integers] | None:
    """Return (m, k), shape (N,) each, with x = m / 10**k as its shortest repr prints it; k may be negative.

    None when a number has more than 15 digits and is not an integer below 2**53.
    """
    digits = np.zeros(len(column), dtype=np.int64)
    places = np.zeros(len(column), dtype=np.int64)
    left = np.flatnonzero(column)
    for power in range(_MAX_POWER + 1):
        rest = column[left]
        if power == MAX_DECIMALS + 1 and bool(((np.abs(rest) >= 0.1) & (np.abs(rest) < 10.0**DIGITS)).any()):
            return None
        with np.errstate(over="ignore"):
            scaled = np.rint(rest * 10.0**power)
        most = 10**DIGITS if power else EXACT_DOUBLE
        hit = (scaled / 10.0**power == rest) & (np.abs(scaled) < most)
        digits[left[hit]], places[left[hit]] = scaled[hit].astype(np.int64), power
        left = left[~hit]
        if len(left) == 0:
            return digits, places
    values, where = np.unique(column[left], return_inverse=True)
    parts = []
    for value in values.tolist():
        part = shortest_decimal(value)
        if abs(part[0]) >= 10**DIGITS:
            return None
        parts.append(part)
    digits[left] = np.array([digit for digit, _ in parts], dtype=np.int64)[where]
    places[left] = np.array([place for _, place in parts], dtype=np.int64)[where]
    return digits, places


def shortest_decimal(value: float) -> tuple[int, int]:
    """Return (m, k) of the shortest decimal m / 10**k that reads back as `value`; m is no multiple of ten unless 0."""
    text, _, exponent = repr(value).partition("e")
    whole, _, fraction = text.partition(".")
    power = int(exponent or 0) - len(fraction)
    digits = int(whole + fraction)
    if digits == 0:
        return 0, 0
    while digits % 10 == 0:
        digits, power = digits // 10, power + 1
    return digits, -power


def needs_more_digits(column: Reals) -> NDArray[np.bool_]:
    """Mark the numbers, shape (N,), that print with more than 15 significant digits, except integers below 2**53."""
    sizes = np.abs(column)
    result = np.zeros(len(column), dtype=bool)
    with np.errstate(divide="ignore"):
        places = np.where(sizes > 0.0, DIGITS - 1 - np.floor(np.log10(sizes)), 0.0)
    plain = (places >= 0) & (places <= _MAX_POWER)
    powers = 10.0 ** places[plain]
    result[plain] = np.rint(column[plain] * powers) / powers != column[plain]
    rest = np.flatnonzero(~plain)
    if len(rest):
        values, where = np.unique(column[rest], return_inverse=True)
        longer = np.array(
            [abs(shortest_decimal(value)[0]) >= 10**DIGITS for value in values.tolist()], dtype=bool
        )
        result[rest] = longer[where]
    return np.asarray(result & ((sizes >= EXACT_DOUBLE) | (column != np.rint(column))))


def shortest_decimals(reals: Reals, narrow: np.dtype[np.generic]) -> Reals:
    """Convert numbers of single or half precision to the decimals that they print as: float32's 0.1 becomes 0.1.

    `reals` are these numbers as doubles, shape (N,); `narrow` is their original type.
    """
    decimals = reals.copy()
    left = np.flatnonzero(reals)
    for places in range(_MAX_NARROW_PLACES + 1):
        rest = reals[left]
        with np.errstate(over="ignore"):
            near = np.rint(rest * 10.0**places) / 10.0**places
            hit = near.astype(narrow) == rest
        decimals[left[hit]] = near[hit]
        left = left[~hit]
    # The remaining numbers are very small: integers match without decimals.
    decimals[left] = [float(str(x)) for x in reals[left].astype(narrow)]
    return decimals


def wide_decimals(*columns: Reals, most_places: int, room: int) -> tuple[Fraction, tuple[Whole, ...]] | None:
    """Return (unit, exact integers) for decimals of at most 15 digits, one array per column.

    None when a decimal has more digits, or when they span more than `most_places` places. The integers are int64 where
    the sum of all absolute values is below `room`, and Python integers otherwise.
    """
    parts = []
    for column in columns:
        short = digits_and_places(column)
        if short is None:
            return None
        parts.append(short)
    finest = max(int(places.max(initial=0)) for _, places in parts)
    coarsest = min(int(places[digits != 0].min(initial=finest)) for digits, places in parts)
    if finest - coarsest > most_places:
        return None
    if finest - coarsest < 19:
        plain = tuple((d, np.where(d == 0, 0, finest - p)) for d, p in parts)
        if sum(float((np.abs(d) * 10.0**p).sum()) for d, p in plain) < room / 2:
            return Fraction(10) ** -finest, tuple(d * 10**p for d, p in plain)
    powers = {k: 10 ** (finest - k) for k in {int(k) for _, p in parts for k in np.unique(p)}}
    whole = tuple(
        np.array([m * powers[k] for m, k in zip(d.tolist(), p.tolist(), strict=True)], dtype=object)
        for d, p in parts
    )
    return Fraction(10) ** -finest, whole


def wide_binaries(*columns: Reals) -> tuple[Fraction, tuple[Wide, ...]]:
    """Return (unit, exact integers) for any doubles; the unit is the power of two of the finest binary place."""
    parts = []
    for column in columns:
        mantissas, exponents = np.frexp(column)
        whole = np.ldexp(mantissas, _MANTISSA_BITS).astype(np.int64)
        parts.append((whole, exponents.astype(np.int64) - _MANTISSA_BITS))
    least = min(int(e[m != 0].min(initial=0)) for m, e in parts)
    wide = tuple(
        np.array([x << max(e - least, 0) for x, e in zip(m.tolist(), es.tolist(), strict=True)], dtype=object)
        for m, es in parts
    )
    return Fraction(2) ** least, wide


def narrowed(*columns: Wide, most: int) -> tuple[int, tuple[Integers, ...]] | None:
    """Return (divisor, columns / divisor), exact in int64; None when the sum of absolute values is `most` or more."""
    divisor = math.gcd(*(int(x) for column in columns for x in column)) or 1
    if sum(abs(x) for column in columns for x in column.tolist()) >= most * divisor:
        return None
    return divisor, tuple((column // divisor).astype(np.int64) for column in columns)


def rounded(*columns: Wide, bits: int) -> tuple[int, tuple[Integers, ...]]:
    """Return (shift, columns / 2**shift), where the sum of all absolute values has about `bits` bits.

    Each number is rounded to its nearest integer, but to 1 or -1 rather than to zero.
    """
    total = sum(abs(x) for column in columns for x in column.tolist())
    shift = max(total.bit_length() - bits, 0)
    half = 1 << shift >> 1
    integers = []
    for column in columns:
        nearest = np.array([(abs(x) + half) >> shift for x in column.tolist()], dtype=np.int64)
        nearest = np.maximum(nearest, (column != 0).astype(np.int64))
        integers.append(np.where(column < 0, -nearest, nearest))
    return shift, tuple(integers)
