"""Local effects, the paper's own form: h of m sums (Zmigrod, Vieira & Cotterell 2022, eq. 3 and 12)."""

from __future__ import annotations

from fractions import Fraction
from typing import cast

import numpy as np

from ..engine.lattice import Integers, Whole, Wide, largest_size
from ..errors import InvalidTest
from . import formula
from .catalogue import DEFAULT_EXPRESSION
from .effects import (
    Additive,
    Joint,
    clustered,
    common_unit,
    effects_on,
    in_digits,
    on_lattices,
    require_items,
    require_same_length,
)
from .expression import POINTER, parse
from .formula import Call, Linear, Node
from .paired import Column, Effects, Pairing, StatisticSpec
from .reduction import function_of_sums

_ITSELF, _ONE = formula.variable(0), Fraction(1)
_SMALL_SUM = 1 << 56


def reduce_effects(data: Effects, spec: StatisticSpec) -> Additive | Joint:
    """Return the test of h(sums of effects), h an expression over x1..xm; m numbers per item, shape (n,) or (n, m)."""
    text = str(spec.parameters.get("expression", DEFAULT_EXPRESSION))
    require_items(len(data.stay), "/stay")
    width = _width(data.stay)
    if data.swap is not None:
        require_same_length(len(data.stay), len(data.swap), "/swap", ("stay", "swap"))
        if _width(data.swap) != width:
            detail = (
                f"stay has {width} numbers per item and swap has {_width(data.swap)}: both need the "
                "same functions."
            )
            raise InvalidTest.at("/swap", "width_mismatch", detail)
    node = parse(text, [f"x{index + 1}" for index in range(width)])
    name = "".join(text.split())
    alone = _single_sum(name, node, data)
    if alone is not None:
        return alone
    parts, stay, swap = _integers(data, width)
    if any(len(column) != 1 or column[0][0] != 1 for column in parts):
        node = formula.substitute(node, lambda index: formula.linear(parts[index], Fraction(0)))
    return function_of_sums(name, node, stay, swap, data.pairing, POINTER)


def _single_sum(name: str, node: Node, data: Effects) -> Additive | None:
    """Return the test of a linear form of the sums, or of its absolute value, that outgrows 64 bits, or of a sum of
    small integers; else None.
    """
    inner = node.arguments[0] if isinstance(node, Call) and node.function == "abs" else node
    if not isinstance(inner, Linear) or inner.constant or not inner.terms:
        return None
    sides = [data.stay] if data.swap is None else [data.stay, data.swap]
    if inner == _ITSELF and data.pairing.clusters is None and _width(data.stay) == 1:
        columns = [_column(side, 0) for side in sides]
        if all(map(_have_small_sum, columns)):
            # These need no checks and no scaling: the general path gives the same result.
            stay, *other = cast("list[Integers]", columns)
            swap = other[0] if other else None
            plain = inner is node
            return Additive(
                name, stay, swap, _ONE, len(stay), absolute=not plain, shiftable=swap is None and plain
            )
    lattices = on_lattices(*(tuple(_column(side, index) for side in sides) for index, _ in inner.terms))
    if not any(lattice.error or any(map(_is_wide, lattice.columns)) for lattice in lattices):
        return None
    factors = [Fraction(coefficient, inner.divisor) for _, coefficient in inner.terms]
    base, sizes = common_unit(
        [abs(factor) * lattice.unit for factor, lattice in zip(factors, lattices, strict=True)]
    )
    signed = [size if factor > 0 else -size for size, factor in zip(sizes, factors, strict=True)]
    effects = [
        clustered(_combined(signed, [lattice.columns[side] for lattice in lattices]), data.pairing)
        for side in range(len(sides))
    ]
    error = sum(size * lattice.error for size, lattice in zip(sizes, lattices, strict=True))
    unit, whole, rounding = effects_on(base, *effects, error=error * _largest_cluster(data.pairing))
    return Additive(
        name=name,
        stay=whole[0],
        swap=whole[1] if data.swap is not None else None,
        unit=unit,
        items=len(data.stay),
        clusters=data.pairing.n_clusters,
        absolute=inner is not node,
        shiftable=data.swap is None and inner is node,
        rounding=rounding,
    )


def _combined(factors: list[int], columns: list[Whole]) -> Wide:
    """Sum factor * column in Python integers."""
    first, *others = (factor * column.astype(object) for factor, column in zip(factors, columns, strict=True))
    return sum(others, first)


def _is_wide(column: Whole) -> bool:
    return column.dtype == object


def _have_small_sum(column: Column) -> bool:
    """Return whether these are integers whose sizes add up to much less than the limit."""
    return column.dtype == np.int64 and largest_size(cast("Integers", column)) * len(column) < _SMALL_SUM


def _largest_cluster(pairing: Pairing) -> int:
    return 1 if pairing.clusters is None else int(np.bincount(pairing.clusters).max(initial=1))


def _width(column: Column) -> int:
    return 1 if column.ndim == 1 else column.shape[1]


def _integers(
    data: Effects, width: int
) -> tuple[list[list[tuple[int, Fraction]]], Integers, Integers | None]:
    """Return integers, shape (n, k), and for each of the m functions the columns that add up to it, with their
    units.
    """
    sides = [data.stay] if data.swap is None else [data.stay, data.swap]
    parts: list[list[tuple[int, Fraction]]] = []
    columns: list[tuple[Integers, ...]] = []
    numbers = [tuple(_column(side, index) for side in sides) for index in range(width)]
    for index, lattice in enumerate(on_lattices(*numbers)):
        digits = in_digits(lattice, *numbers[index])
        parts.append([(len(columns) + at, unit) for at, (unit, _) in enumerate(digits)])
        columns += [whole for _, whole in digits]
    stacked = [np.stack([column[side] for column in columns], axis=1) for side in range(len(sides))]
    return parts, stacked[0], stacked[1] if data.swap is not None else None


def _column(side: Column, index: int) -> Column:
    return side if side.ndim == 1 else cast("Column", np.ascontiguousarray(side[:, index]))
