"""Paired columns of numbers on one integer lattice, exactly where that can be."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import cast

import numpy as np

from ..engine.decimals import narrowed, rounded, wide_binaries, wide_decimals
from ..engine.lattice import (
    EXACT_DOUBLE,
    Integers,
    Reals,
    Whole,
    decimal_lattice,
    exact_total,
    largest_size,
)
from ..errors import InvalidTest
from .additive_problem import Rounding, is_integral
from .paired import Column

# Room for the sum of effects in int64 (see engine.lattice.MAX_TOTAL).
_BITS = 59
MAX_INTEGER = 2**59
# Up to so many items any double is taken exactly, as a Python integer; decimals always, unless they span more
# places than these with more items.
MAX_WIDE_ITEMS = 10_000
_MANY_PLACES = 60
_ALL_PLACES = 1_000
# Of more items than Python integers hold, each number has at most so many digits of some forty bits.
_MOST_DIGITS = 4
# 1e300: sums of more have no double.
_LARGEST_EXPONENT = 996


@dataclass(frozen=True, slots=True)
class Lattice:
    """Numbers as unit * integers: int64, or exact Python integers (dtype object) where those outgrow it.

    `error` is what the difference of two numbers is off by at most, in units: zero, unless too many doubles
    outgrow 60 bits. `binary` says that they were taken as the doubles they are, not as decimals.
    """

    unit: Fraction
    columns: tuple[Whole, ...]
    error: int = 0
    binary: bool = False


def on_lattices(*groups: tuple[Column, ...]) -> list[Lattice]:
    """Each group of columns on a lattice: all as decimals, or all as doubles, so that equal numbers are equal. Raises as `on_lattice`."""
    found = [on_lattice(*columns) for columns in groups]
    if any(lattice.binary for lattice in found):
        return [
            lattice if lattice.binary else on_lattice(*columns, binary=True)
            for lattice, columns in zip(found, groups, strict=True)
        ]
    return found


def on_lattice(*columns: Column, exactly: bool = False, binary: bool = False) -> Lattice:
    """The columns, shape (N,) each, on one lattice.

    Integers keep unit 1; short decimals get the power of ten that holds all of them (`decimals`); any other
    doubles the power of two of their finest binary place, as all doubles do with `binary`; more than 10,000 of
    them that outgrow 60 bits are rounded, unless `exactly`. Raises InvalidTest for integers beyond 2**59.
    """
    if is_integral(*columns):
        for column in columns:
            _refuse_beyond(column, MAX_INTEGER)
        return Lattice(Fraction(1), tuple(column.astype(np.int64, copy=False) for column in columns))
    reals = tuple(column.astype(np.float64) for column in columns)
    for column in columns:
        if column.dtype == np.int64:
            _refuse_beyond(column, EXACT_DOUBLE)
    plain = None if binary else decimal_lattice(*reals)
    if plain is not None and _have_room(plain[1]):
        return Lattice(*plain)
    exponent = _exponent_of_sum(*reals)
    if exponent > _LARGEST_EXPONENT:
        raise InvalidTest.at(
            "", "number_too_large", "The scores are too large to be summed: scale them down."
        )
    few = exactly or len(reals[0]) <= MAX_WIDE_ITEMS
    most_places = _ALL_PLACES if few else _MANY_PLACES
    wide = None if binary else wide_decimals(*reals, most_places=most_places, room=MAX_INTEGER)
    if wide is not None:
        return Lattice(*wide)
    unit, whole, exact = _binary_lattice(reals, _BITS - exponent)
    if exact:
        return Lattice(unit, whole, binary=True)
    if few:
        return Lattice(*wide_binaries(*reals), binary=True)
    return Lattice(unit, whole, error=1, binary=True)


def in_digits(lattice: Lattice, *columns: Column) -> list[tuple[Fraction, tuple[Integers, ...]]]:
    """The columns of a lattice, shape (N,) each, as sums of unit * integers: one term where 60 bits hold them, else a digit each; exact.

    The sum of N integers of one digit is below 2**59 in size, whichever they are. Raises InvalidTest where many numbers have many
    digits each.
    """
    if all(column.dtype != object for column in lattice.columns) and not lattice.error:
        return [(lattice.unit, tuple(column.astype(np.int64, copy=False) for column in lattice.columns))]
    if lattice.error:
        return _binary_digits(tuple(column.astype(np.float64) for column in columns))
    wide = tuple(np.asarray(column, dtype=object) for column in lattice.columns)
    fitting = narrowed(*wide, most=MAX_INTEGER)
    if fitting is not None:
        return [(lattice.unit * fitting[0], fitting[1])]
    bits = _BITS - 1 - len(wide[0]).bit_length()
    half, mask, unit = 1 << bits - 1, (1 << bits) - 1, lattice.unit
    digits = []
    while any(column.any() for column in wide):
        low = tuple(((column + half) & mask) - half for column in wide)
        digits.append((unit, tuple(column.astype(np.int64) for column in low)))
        wide = tuple((column - digit) >> bits for column, digit in zip(wide, low, strict=True))
        unit *= 1 << bits
    return digits


def _binary_digits(columns: tuple[Reals, ...]) -> list[tuple[Fraction, tuple[Integers, ...]]]:
    """The same of doubles that are too many for Python integers: what a multiple of a power of two leaves is the next digit."""
    digits: list[tuple[Fraction, tuple[Integers, ...]]] = []
    exact = False
    while not exact:
        if len(digits) == _MOST_DIGITS:
            detail = "The numbers take too many digits together: give them with fewer digits (`decimals`), or scale them."
            raise InvalidTest.at("", "number_too_long", detail)
        largest = max(math.frexp(float(np.abs(column).max(initial=0.0)))[1] for column in columns)
        places = _BITS - largest - len(columns[0]).bit_length()
        unit, whole, exact = _binary_lattice(columns, places)
        digits.append((unit, whole))
        columns = tuple(
            column - _shifted(digit.astype(np.float64), -places)
            for column, digit in zip(columns, whole, strict=True)
        )
    return digits


def effects_on(
    unit: Fraction, *effects: Whole, error: int = 0
) -> tuple[Fraction, tuple[Integers, ...], Rounding | None]:
    """(unit, effects in 64 bits, what was rounded) of effects = unit * integers, shape (M,) each.

    `error` is what every effect is off by already, in units. None when nothing is rounded.
    """
    if all(column.dtype != object for column in effects):
        integers = tuple(column.astype(np.int64, copy=False) for column in effects)
        return unit, integers, _off_by(error, len(integers[0]))
    wide = tuple(np.asarray(column, dtype=object) for column in effects)
    fitting = narrowed(*wide, most=MAX_INTEGER)
    if fitting is not None:
        divisor, integers = fitting
        return unit * divisor, integers, _off_by(-(-error // divisor), len(wide[0]))
    shift, integers = rounded(*wide, bits=_BITS - 1)
    if error:
        return unit * 2**shift, integers, _off_by(1 + -(-error >> shift), len(wide[0]))
    return unit * 2**shift, integers, Rounding(1, 2 * len(wide[0]) + 2, wide, unit)


def _off_by(error: int, effects: int) -> Rounding | None:
    """What sums are off by where every effect is by `error`: a swap changes a sum by two of them."""
    return Rounding(error, 2 * error * effects + 2) if error else None


def total_of(column: Whole) -> int:
    """The exact sum, shape (N,) with N < 2**31."""
    if column.dtype == np.int64:
        return exact_total(cast("Integers", column))
    return sum(int(x) for x in column.tolist())


def _have_room(columns: tuple[Integers, ...]) -> bool:
    """Whether the sum of all sizes leaves room in 60 bits."""
    return sum(float(np.abs(column).sum(dtype=np.float64)) for column in columns) < MAX_INTEGER


def _refuse_beyond(column: Column, limit: int) -> None:
    if len(column) and largest_size(cast("Integers", column)) > limit:
        raise InvalidTest.at(
            "",
            "integer_too_large",
            f"An integer is beyond {limit} in size, more than can be summed exactly here: scale the data down.",
        )


def _exponent_of_sum(*columns: Reals) -> int:
    """e with 2**e above the sum of all sizes."""
    largest = max(math.frexp(float(np.abs(column).max(initial=0.0)))[1] for column in columns)
    # Near one, so that no sum over- or underflows.
    total = sum(float(_shifted(np.abs(column), -largest).sum()) for column in columns)
    return largest + math.frexp(total)[1]


def _binary_lattice(columns: tuple[Reals, ...], places: int) -> tuple[Fraction, tuple[Integers, ...], bool]:
    """(unit, integers, whether they are exact): the nearest multiples of 2**-places, `places` of any sign."""
    scaled = tuple(np.rint(_shifted(column, places)) for column in columns)
    exact = all(
        np.array_equal(_shifted(whole, -places), column)
        for whole, column in zip(scaled, columns, strict=True)
    )
    return Fraction(2) ** -places, tuple(whole.astype(np.int64) for whole in scaled), exact


def _shifted(column: Reals, places: int) -> Reals:
    """column * 2**places, in two steps so that no power over- or underflows by itself."""
    half = places // 2
    return np.asarray(np.ldexp(np.ldexp(column, half), places - half))
