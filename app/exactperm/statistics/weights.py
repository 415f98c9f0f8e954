"""Items that count for more or less than others: weighted means and sums of differences, as exact as the others.

t = sum w_n d_n / sum w_n, or sum w_n d_n, with the weights as they are written: decimals, and fractions as text.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NoReturn

import numpy as np

from ..engine.lattice import EXACT_DOUBLE, Integers, Whole
from ..errors import InvalidTest
from .additive_problem import Additive, clustered, require_same_length
from .numbers import MAX_INTEGER, Lattice, effects_on, on_lattice, total_of
from .paired import Column, DataWarning, Scores, StatisticSpec, Weights
from .repeats import samples_of

# The statistics in which items may have weights.
WEIGHTED = ("mean_difference", "sum_difference")
# Of the least common multiple of the denominators, and of the largest weight in units of it.
MAX_BITS = 2_000
# Shares of a shift are integers up to this sum, so that intervals have room for their own.
MAX_SHARES = 1 << 40
# Doubles with more digits than decimals have are over a power of two, larger than decimals leave.
_LONGEST = 1 << 20
_WRITTEN = re.compile(
    r"[0-9]{1,30}(\.[0-9]{1,30})?(e[+-]?[0-9]{1,3})?|[0-9]{1,30}/[0-9]{1,30}", re.IGNORECASE
)


def weights_of(given: Sequence[Any] | Column) -> Weights:
    """Weights from numbers, and texts such as "0.25" and "1/3"; shape (n,).

    Raises InvalidTest at `/<index>` where one is not positive and finite, and where they have no common unit.
    """
    column = _column_of(given)
    if column is not None:
        positive = np.isfinite(column) & (column > 0)
        if not positive.all():
            _refuse(int(np.argmin(positive)))
        lattice = on_lattice(column, exactly=True)
        return reduced_weights(lattice.unit, lattice.columns[0])
    fractions = [_fraction(value, index) for index, value in enumerate(given)]
    below = 1
    for index, fraction in enumerate(fractions):
        below = math.lcm(below, fraction.denominator)
        if below.bit_length() > MAX_BITS or fraction.numerator.bit_length() > MAX_BITS:
            detail = "The weights have no common unit that is not too small: give them with fewer digits, or as simpler fractions."
            raise InvalidTest.at(f"/{index}", "weights_too_fine", detail)
    whole = np.array([int(fraction * below) for fraction in fractions], dtype=object)
    return reduced_weights(Fraction(1, below), whole)


def _column_of(given: Sequence[Any] | Column) -> Column | None:
    """Numbers as an array that holds all of them exactly; None for texts, and for integers that are too large."""
    if isinstance(given, np.ndarray):
        return given
    kinds = set(map(type, given))
    try:
        if kinds == {int}:
            return np.array(given, dtype=np.int64)
        column = np.array(given, dtype=np.float64) if kinds <= {int, float} else None
    except OverflowError:
        return None
    exact = column is not None and (int not in kinds or np.abs(column).max(initial=0.0) < EXACT_DOUBLE)
    return column if exact else None


def reduced_weights(unit: Fraction, values: Whole) -> Weights:
    """unit * values in lowest terms."""
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
        'A weight is a positive number, or a fraction such as "1/3"; leave out items that should not count.'
    )
    raise InvalidTest.at(f"/{index}", "not_a_weight", detail)


def taken_weights(weights: Weights | None, items: Integers) -> Weights | None:
    """The weights of some items, in their order."""
    return None if weights is None else reduced_weights(weights.unit, weights.values[items])


def joined_weights(parts: Sequence[tuple[Weights | None, int]]) -> Weights | None:
    """The weights of several columns end to end, of (weights, number of items); items without one have weight 1."""
    if all(weights is None for weights, _ in parts):
        return None
    units = [Fraction(1) if weights is None else weights.unit for weights, _ in parts]
    base, factors = on_one_unit(units)
    columns = [
        np.full(size, factor, dtype=object) if weights is None else factor * weights.values.astype(object)
        for factor, (weights, size) in zip(factors, parts, strict=True)
    ]
    return reduced_weights(base, np.concatenate(columns))


def on_one_unit(units: Sequence[Fraction]) -> tuple[Fraction, list[int]]:
    """The largest unit of which all `units`, positive, are multiples, and the multiples."""
    base = Fraction(math.gcd(*(u.numerator for u in units)), math.lcm(*(u.denominator for u in units)))
    return base, [int(unit / base) for unit in units]


def weights_warning(weights: Weights) -> DataWarning | None:
    """The warning about weights that look like fractions printed as doubles: then sums that tie in truth do not."""
    below = weights.unit.denominator
    if below <= _LONGEST or below & (below - 1):
        return None
    detail = (
        "Weights have 16 or more digits, as floating-point arithmetic leaves them: ties are those of the weights as they are "
        'written. Fractions are exact as text, such as "1/3".'
    )
    return DataWarning("/weights", "float_dust", detail, undecidable=False)


def require_unweighted(name: str) -> NoReturn:
    """Refuse weights where they have no meaning; raises InvalidTest."""
    detail = (
        f"{name} is of signs and ranks, in which an item has no weight of its own: leave weights out, or set statistic to "
        "mean_difference."
    )
    raise InvalidTest.at("/weights", "no_weights", detail)


def weighted(lattice: Lattice, data: Scores, weights: Weights, spec: StatisticSpec) -> Additive:
    """The difference of weighted means or sums, of scores with one number per item on a lattice."""
    u, v = lattice.columns
    require_same_length(len(weights), len(u), "/weights", ("weights", "u"))
    mean = spec.name == "mean_difference"
    base = lattice.unit / total_of(weights.values) if mean else lattice.unit * weights.unit
    shares = clustered(weights.values, data.pairing)
    sizes = np.asarray(shares, dtype=np.int64) if total_of(shares) < MAX_SHARES else None
    heaviest = max(shares.tolist(), default=1)
    effects = clustered(times(weights.values, u - v), data.pairing)
    unit, (stay,), rounding = effects_on(base, effects, error=lattice.error * heaviest)
    return Additive(
        name=spec.name,
        stay=stay,
        swap=None,
        unit=unit,
        items=len(u),
        clusters=data.pairing.n_clusters,
        score_u=total_of(times(weights.values, u)) * base,
        score_v=total_of(times(weights.values, v)) * base,
        samples=samples_of(data),
        sizes=sizes,
        shiftable=sizes is not None,
        rounding=rounding,
    )


def times(factors: Whole | int, column: Whole) -> Whole:
    """factors * column, in 64 bits where the sizes of all products add up to few enough for a test."""
    largest = factors if isinstance(factors, int) else max(factors.tolist(), default=0)
    narrow = column.dtype != object and (isinstance(factors, int) or factors.dtype != object)
    if narrow and largest * total_of(np.abs(column)) < MAX_INTEGER:
        return np.asarray(factors * column)
    return np.asarray(
        (factors if isinstance(factors, int) else factors.astype(object)) * column.astype(object)
    )
