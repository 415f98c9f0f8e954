"""Numbers whose lattice does not fit 64 bits: exact Python integers in arrays of objects.

A score is read as the decimal that its double prints as, if that has at most 15 digits: 9999 and 1e-12 are integers in
units of 1e-12. Scores with more digits are read as the doubles they are, which are integers over a power of two.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from .lattice import DIGITS, EXACT_DOUBLE, MAX_DECIMALS, Integers, Reals, Whole, Wide

# The largest power of ten that is a double.
_MAX_POWER = 22
_MANTISSA_BITS = 53
# Decimals of single precision that are tried for all numbers at once.
_MAX_NARROW_PLACES = 12


def digits_and_places(column: Reals) -> tuple[Integers, Integers] | None:
    """(m, k), shape (N,) each, with x = m / 10**k as its shortest repr prints it; k may be negative.

    None when a number has more than 15 digits and is no integer below 2**53.
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
        part = printed(value)
        if abs(part[0]) >= 10**DIGITS:
            return None
        parts.append(part)
    digits[left] = np.array([digit for digit, _ in parts], dtype=np.int64)[where]
    places[left] = np.array([place for _, place in parts], dtype=np.int64)[where]
    return digits, places


def printed(value: float) -> tuple[int, int]:
    """(m, k) of the shortest decimal m / 10**k whose nearest double `value` is; m is not a multiple of ten."""
    text, _, exponent = repr(value).partition("e")
    whole, _, fraction = text.partition(".")
    power = int(exponent or 0) - len(fraction)
    digits = int(whole + fraction)
    if digits == 0:
        return 0, 0
    while digits % 10 == 0:
        digits, power = digits // 10, power + 1
    return digits, -power


def takes_more_digits(column: Reals) -> NDArray[np.bool_]:
    """Which numbers, shape (N,), print with more than 15 significant digits; integers below 2**53 do not count."""
    sizes = np.abs(column)
    result = np.zeros(len(column), dtype=bool)
    with np.errstate(divide="ignore"):
        places = np.where(sizes > 0.0, DIGITS - 1 - np.floor(np.log10(sizes)), 0.0)
    plain = (places >= 0) & (places <= _MAX_POWER)
    powers = 10.0 ** places[plain]
    result[plain] = np.rint(column[plain] * powers) / powers != column[plain]
    rest = np.flatnonzero(~plain)
    values, where = np.unique(column[rest], return_inverse=True)
    longer = np.array([abs(printed(value)[0]) >= 10**DIGITS for value in values.tolist()], dtype=bool)
    if len(rest):
        result[rest] = longer[where]
    return np.asarray(result & ((sizes >= EXACT_DOUBLE) | (column != np.rint(column))))


def shortest_decimals(reals: Reals, narrow: np.dtype[np.generic]) -> Reals:
    """Numbers of single or half precision as the decimals that they print as: 0.1 of float32 is 0.1.

    `reals` are such numbers as doubles, shape (N,); `narrow` is their type.
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
    # What is left is very small: integers match with no decimals.
    decimals[left] = [float(str(x)) for x in reals[left].astype(narrow)]
    return decimals


def wide_decimals(*columns: Reals, most_places: int, room: int) -> tuple[Fraction, tuple[Whole, ...]] | None:
    """(unit, exact integers) of decimals of at most 15 digits, one array per column.

    None when one has more digits, or when they span more than `most_places` places. The integers have 64 bits where
    the sum of all absolute values is below `room`, and are Python integers otherwise.
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
    """(unit, exact integers) of any doubles: the unit is the power of two of the finest binary place."""
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
    """(divisor, columns / divisor) in 64 bits, exactly; None when the sum of their absolute values is `most` or more."""
    divisor = math.gcd(*(int(x) for column in columns for x in column)) or 1
    if sum(abs(x) for column in columns for x in column.tolist()) >= most * divisor:
        return None
    return divisor, tuple((column // divisor).astype(np.int64) for column in columns)


def rounded(*columns: Wide, bits: int) -> tuple[int, tuple[Integers, ...]]:
    """(shift, columns / 2**shift), so that the sum of all absolute values has about `bits` bits.

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
