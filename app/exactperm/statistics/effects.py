"""The problems that statistics reduce to: one sum of integer effects, or a function of several sums; numbers on a
lattice, and weights.

The weighted statistics are t = sum w_n d_n / sum w_n and sum w_n d_n, with the weights as written: decimals, and
fractions as text.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NoReturn, cast

import numpy as np

from ..engine.lattice import (
    EXACT_DOUBLE,
    Exact,
    Integers,
    Reals,
    Whole,
    Wide,
    decimal_lattice,
    exact_total,
    largest_size,
    narrowed,
    rounded,
    sum_by_cluster,
    wide_binaries,
    wide_decimals,
)
from ..errors import InvalidTest
from .paired import Column, DataWarning, Pairing, Weights

if TYPE_CHECKING:
    from .correction import Corrected
    from .sum_function import FunctionOf


@dataclass(frozen=True, slots=True)
class Rounding:
    """The error of effects rounded to 60 bits.

    Each effect is off by at most `each` lattice units, and S less the observed sum by at most `most`. `exact` holds
    the exact effects in `exact_unit`: stay, and swap where there is one; None where they are too many.
    """

    each: int
    most: int
    exact: tuple[Wide, ...] | None = None
    exact_unit: Fraction = Fraction(1)


@dataclass(frozen=True, slots=True)
class Additive:
    """A statistic t = h(unit * S), S = sum over swapping units of stay or swap; shape (M,) each.

    `swap` None means -stay; h is the identity, or the absolute value when `absolute`. `items` counts items before
    clusters were summed. `score_u` and `score_v` are the scores of the systems; `samples` counts the repeated samples
    of u and v in all, None when there was one score per item. `shiftable` marks a difference of means or sums, which a
    margin or an interval can shift; `sizes`, shape (M,), counts the items or tokens of each unit, None for one each.
    `rounding` bounds the error of stay and swap rounded to 60 bits, None when they are exact. Where every unit is a
    single item, right or wrong, `all_right` is t if U were right on all of them and V on none; else None. `pairwise`
    marks effects that are sums over pairs of items, and so depend on the other items: resamples of the effects are not
    resamples of the items. `corrected` says how the statistic was corrected, if it was.
    """

    name: str
    stay: Integers
    swap: Integers | None
    unit: Fraction
    items: int
    clusters: int | None = None
    absolute: bool = False
    score_u: Fraction | None = None
    score_v: Fraction | None = None
    samples: tuple[int, int] | None = None
    sizes: Integers | None = None
    shiftable: bool = False
    rounding: Rounding | None = None
    all_right: Fraction | None = None
    pairwise: bool = False
    corrected: Corrected | None = None


def require_items(count: int, pointer: str) -> None:
    """Refuse a test without items."""
    if count == 0:
        raise InvalidTest.at(pointer, "empty", "There are no items: give at least one item for each system.")


def require_same_length(first: int, second: int, pointer: str, names: tuple[str, str]) -> None:
    """Refuse columns that cannot be paired."""
    if first != second:
        raise InvalidTest.at(
            pointer,
            "length_mismatch",
            f"{names[0]} has {first} items and {names[1]} has {second}: both systems need a value for "
            "the same items in the same order (or give {id: value} objects to pair by id).",
        )


def clustered(values: Exact, pairing: Pairing) -> Exact:
    """Sum the effects within each cluster; return them unchanged when every item swaps alone."""
    if pairing.clusters is None or pairing.n_clusters is None:
        return values
    require_same_length(len(values), len(pairing.clusters), "/clusters", ("The data", "clusters"))
    return sum_by_cluster(values, pairing.clusters, pairing.n_clusters)


def single_items(pairing: Pairing) -> bool:
    """Return whether every item swaps alone: there are no clusters, or none of more than one item."""
    return pairing.clusters is None or len(pairing.clusters) == pairing.n_clusters


def is_integral(*columns: Column) -> bool:
    """Return whether every column holds integers."""
    return all(column.dtype == np.int64 for column in columns)


@dataclass(frozen=True, slots=True)
class Joint:
    """A statistic t = h(S) of k sums (Zmigrod, Vieira & Cotterell 2022, eq. 12): unit n adds stay[n] or swap[n], shape (M, k).

    For a difference of scores f(U) - f(V) the vector is U's counts followed by V's; t then changes sign when everything
    is swapped (`mirrored`).
    """

    name: str
    stay: Integers
    swap: Integers
    function: FunctionOf
    items: int
    clusters: int | None = None
    mirrored: bool = False
    score_u: Fraction | float | None = None
    score_v: Fraction | float | None = None


# Paired columns of numbers on one integer lattice, exactly where possible


# Room for the sum of effects in int64 (see engine.lattice.MAX_TOTAL).
_BITS = 59
MAX_INTEGER = 2**59
# Up to MAX_WIDE_ITEMS items, doubles are exact Python integers, and decimals up to a span of _ALL_PLACES places; with
# more items, only decimals are, up to _MANY_PLACES.
MAX_WIDE_ITEMS = 10_000
_MANY_PLACES = 60
_ALL_PLACES = 1_000
# With more items than Python integers can serve, a number has at most this many digits of some forty bits.
_MOST_DIGITS = 4
# 1e300: larger numbers may have sums beyond all doubles.
_LARGEST_EXPONENT = 996


@dataclass(frozen=True, slots=True)
class Lattice:
    """Numbers as unit * integers: int64, or exact Python integers (dtype object) where those outgrow it.

    `error` bounds the error of the difference of two numbers, in units: zero, unless too many doubles outgrow 60 bits.
    `binary` marks numbers taken as doubles, not as decimals.
    """

    unit: Fraction
    columns: tuple[Whole, ...]
    error: int = 0
    binary: bool = False


def on_lattices(*groups: tuple[Column, ...]) -> list[Lattice]:
    """Put each group of columns on a lattice: all as decimals, or all as doubles, so that equal numbers are equal.
    Raises as `on_lattice` does.
    """
    lattices = [on_lattice(*columns) for columns in groups]
    if any(lattice.binary for lattice in lattices):
        return [
            lattice if lattice.binary else on_lattice(*columns, binary=True)
            for lattice, columns in zip(lattices, groups, strict=True)
        ]
    return lattices


def on_lattice(*columns: Column, exactly: bool = False, binary: bool = False) -> Lattice:
    """Put the columns, shape (N,) each, on one lattice.

    Integers keep unit 1; short decimals get the power of ten that holds all of them (`decimals`); any other
    doubles the power of two of their finest binary place, as all doubles do with `binary`; more than 10,000 of
    them that outgrow 60 bits are rounded, unless `exactly`. Raises InvalidTest for integers beyond 2**59.
    """
    if is_integral(*columns):
        _refuse_beyond(MAX_INTEGER, *columns)
        return Lattice(Fraction(1), tuple(column.astype(np.int64, copy=False) for column in columns))
    reals = tuple(column.astype(np.float64) for column in columns)
    _refuse_beyond(EXACT_DOUBLE, *(column for column in columns if column.dtype == np.int64))
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
    """Split the columns of a lattice, shape (N,) each, into sums of unit * integers: one term where 60 bits hold them,
    else one for each digit; exact.

    The sum of any N integers of one digit is below 2**59 in size. Raises InvalidTest where many numbers have many
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
    """Split doubles that are too many for Python integers: the remainder after a multiple of a power of two is the next
    digit.
    """
    digits: list[tuple[Fraction, tuple[Integers, ...]]] = []
    exact = False
    while not exact:
        if len(digits) == _MOST_DIGITS:
            detail = (
                "The numbers need too many digits together: give them with fewer digits (`decimals`), "
                "or scale them."
            )
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
    """Return (unit, effects in 64 bits, rounding) of effects = unit * integers, shape (M,) each; the rounding is None
    when nothing is rounded.

    `error` bounds the error that every effect already has, in units.
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
    """Bound the error of sums where every effect is off by `error`: a swap changes a sum by two of them."""
    return Rounding(error, 2 * error * effects + 2) if error else None


def _have_room(columns: tuple[Integers, ...]) -> bool:
    """Return whether the sum of all sizes fits in 60 bits."""
    return sum(float(np.abs(column).sum(dtype=np.float64)) for column in columns) < MAX_INTEGER


def _refuse_beyond(limit: int, *columns: Column) -> None:
    for column in columns:
        if len(column) and largest_size(cast("Integers", column)) > limit:
            detail = f"An integer is beyond {limit} in size, more than can be summed exactly here: scale the data down."
            raise InvalidTest.at("", "integer_too_large", detail)


def _exponent_of_sum(*columns: Reals) -> int:
    """Return e with 2**e above the sum of all sizes."""
    largest = max(math.frexp(float(np.abs(column).max(initial=0.0)))[1] for column in columns)
    # Scaled near one, so that no sum overflows or underflows.
    total = sum(float(_shifted(np.abs(column), -largest).sum()) for column in columns)
    return largest + math.frexp(total)[1]


def _binary_lattice(columns: tuple[Reals, ...], places: int) -> tuple[Fraction, tuple[Integers, ...], bool]:
    """Return (unit, integers, whether they are exact): the nearest multiples of 2**-places, `places` of any sign."""
    scaled = tuple(np.rint(_shifted(column, places)) for column in columns)
    exact = all(
        np.array_equal(_shifted(whole, -places), column)
        for whole, column in zip(scaled, columns, strict=True)
    )
    return Fraction(2) ** -places, tuple(whole.astype(np.int64) for whole in scaled), exact


def _shifted(column: Reals, places: int) -> Reals:
    """Return column * 2**places, in two steps so that no power overflows or underflows."""
    half = places // 2
    return np.asarray(np.ldexp(np.ldexp(column, half), places - half))


# Weights of items


# The statistics that allow weights.
WEIGHTED = ("mean_difference", "sum_difference")
# Limits of the least common multiple of the denominators, and of the largest weight in units of it.
MAX_BITS = 2_000
# Shares of a shift are integers up to this sum, which leaves room for those of intervals.
MAX_SHARES = 1 << 40
# Doubles with more digits than decimals have a larger power of two as the denominator.
_LONGEST = 1 << 20
_WRITTEN = re.compile(
    r"[0-9]{1,30}(\.[0-9]{1,30})?(e[+-]?[0-9]{1,3})?|[0-9]{1,30}/[0-9]{1,30}", re.IGNORECASE
)


def weights_of(weights: Sequence[Any] | Column) -> Weights:
    """Parse weights, shape (n,), from numbers and texts such as "0.25" and "1/3".

    Raises InvalidTest at `/<index>` where one is not positive and finite, and where they have no common unit.
    """
    column = _column_of(weights)
    if column is not None:
        positive = np.isfinite(column) & (column > 0)
        if not positive.all():
            _refuse(int(np.argmin(positive)))
        lattice = on_lattice(column, exactly=True)
        return reduced_weights(lattice.unit, lattice.columns[0])
    fractions = [_fraction(value, index) for index, value in enumerate(weights)]
    below = 1
    for index, fraction in enumerate(fractions):
        below = math.lcm(below, fraction.denominator)
        if below.bit_length() > MAX_BITS or fraction.numerator.bit_length() > MAX_BITS:
            detail = (
                "The common unit of the weights is too small: give them with fewer digits, or as "
                "simpler fractions."
            )
            raise InvalidTest.at(f"/{index}", "weights_too_fine", detail)
    whole = np.array([int(fraction * below) for fraction in fractions], dtype=object)
    return reduced_weights(Fraction(1, below), whole)


def _column_of(values: Sequence[Any] | Column) -> Column | None:
    """Return numbers as an array that holds all of them exactly; None for texts, and for integers that are too
    large.
    """
    if isinstance(values, np.ndarray):
        return values
    kinds = set(map(type, values))
    try:
        if kinds == {int}:
            return np.array(values, dtype=np.int64)
        column = np.array(values, dtype=np.float64) if kinds <= {int, float} else None
    except OverflowError:
        return None
    exact = column is not None and (int not in kinds or np.abs(column).max(initial=0.0) < EXACT_DOUBLE)
    return column if exact else None


def reduced_weights(unit: Fraction, values: Whole) -> Weights:
    """Return unit * values in lowest terms."""
    divisor = math.gcd(*values.tolist()) or 1
    wide = sum(values.tolist()) // divisor >= MAX_INTEGER
    return Weights(unit * divisor, np.asarray(values // divisor, dtype=object if wide else np.int64))


def _fraction(value: Any, index: int) -> Fraction:
    text = repr(value) if type(value) in {int, float} else value if isinstance(value, str) else ""
    if not _WRITTEN.fullmatch(text.strip()) or re.search(r"/0+$", text.strip()):
        _refuse(index)
    fraction = Fraction(text.strip())
    return fraction if fraction > 0 else _refuse(index)


def _refuse(index: int) -> NoReturn:
    detail = (
        'A weight must be a positive number, or a fraction such as "1/3"; leave out items that should not '
        "count."
    )
    raise InvalidTest.at(f"/{index}", "not_a_weight", detail)


def taken_weights(weights: Weights | None, items: Integers) -> Weights | None:
    """Select the weights of some items, in their order."""
    return None if weights is None else reduced_weights(weights.unit, weights.values[items])


def joined_weights(parts: Sequence[tuple[Weights | None, int]]) -> Weights | None:
    """Concatenate the weights of several columns, from (weights, number of items); items without a weight have weight
    1.
    """
    if all(weights is None for weights, _ in parts):
        return None
    units = [Fraction(1) if weights is None else weights.unit for weights, _ in parts]
    base, factors = common_unit(units)
    columns = [
        np.full(size, factor, dtype=object) if weights is None else factor * weights.values.astype(object)
        for factor, (weights, size) in zip(factors, parts, strict=True)
    ]
    return reduced_weights(base, np.concatenate(columns))


def common_unit(units: Sequence[Fraction]) -> tuple[Fraction, list[int]]:
    """Return the largest unit of which all positive `units` are multiples, and the multiples."""
    base = Fraction(math.gcd(*(u.numerator for u in units)), math.lcm(*(u.denominator for u in units)))
    return base, [int(unit / base) for unit in units]


def weights_warning(weights: Weights) -> DataWarning | None:
    """Warn about weights that look like fractions printed as doubles, whose sums do not tie as they should."""
    below = weights.unit.denominator
    if below <= _LONGEST or below & (below - 1):
        return None
    detail = (
        "Weights have 16 or more digits, as floating-point arithmetic leaves them: ties are those of the weights as they are "
        'written. Fractions are exact as text, such as "1/3".'
    )
    return DataWarning("/weights", "float_dust", detail, undecidable=False)


def require_unweighted(name: str) -> NoReturn:
    """Refuse weights for statistics that do not allow them; raises InvalidTest."""
    detail = (
        f"{name} uses signs or ranks, and does not allow weights: leave weights out, or set statistic to "
        "mean_difference."
    )
    raise InvalidTest.at("/weights", "no_weights", detail)


def times(factors: Whole | int, column: Whole) -> Whole:
    """Return factors * column, int64 where the sum of the products' sizes is small enough for a test."""
    largest = factors if isinstance(factors, int) else max(factors.tolist(), default=0)
    narrow = column.dtype != object and (isinstance(factors, int) or factors.dtype != object)
    if narrow and largest * max(exact_total(np.abs(column)), 1) < MAX_INTEGER:
        return np.asarray(factors * column)
    return np.asarray(
        (factors if isinstance(factors, int) else factors.astype(object)) * column.astype(object)
    )
