"""Local effects, the paper's own form: h of m sums (Zmigrod, Vieira & Cotterell 2022, eq. 3 and 12)."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import cast

import numpy as np

from ..engine.lattice import Integers, largest_size
from ..errors import InvalidTest
from . import formula
from .additive_problem import Additive, Rounding, clustered, require_items, require_same_length
from .entry_words import DEFAULT_EXPRESSION
from .expression import POINTER, parse
from .formula import Call, Linear, Node
from .joint_problem import Joint
from .numbers import effects_on, on_lattice
from .paired import Column, Effects, Pairing, StatisticSpec
from .reduction import function_of_sums

_ITSELF, _ONE = formula.variable(0), Fraction(1)
_SMALL_SUM = 1 << 56


def reduce_effects(data: Effects, spec: StatisticSpec) -> Additive | Joint:
    """The test of h(sums of effects), h an expression over x1..xm; m numbers per item, shape (n,) or (n, m)."""
    text = str(spec.parameters.get("expression", DEFAULT_EXPRESSION))
    require_items(len(data.stay), "/stay")
    width = _width(data.stay)
    if data.swap is not None:
        require_same_length(len(data.stay), len(data.swap), "/swap", ("stay", "swap"))
        if _width(data.swap) != width:
            detail = f"stay has {width} numbers per item and swap {_width(data.swap)}: both need the same functions."
            raise InvalidTest.at("/swap", "width_mismatch", detail)
    node = parse(text, [f"x{index + 1}" for index in range(width)])
    name = "".join(text.split())
    alone = _one_sum(name, node, data) if width == 1 else None
    if alone is not None:
        return alone
    units, stay, swap, roundings = _integers(data, width)
    if any(unit != 1 for unit in units):
        node = formula.substitute(node, lambda index: formula.scale_variable(index, units[index]))
    problem = function_of_sums(name, node, stay, swap, data.pairing, POINTER)
    if all(rounding is None for rounding in roundings):
        return problem
    if isinstance(problem, Joint):
        return replace(problem, rounded=True)
    return replace(problem, rounding=_rounding(node, roundings, data.pairing))


def _rounding(node: Node, roundings: list[Rounding | None], pairing: Pairing) -> Rounding | None:
    """What the sum that `node` is of rounded effects is off by, in its own lattice units."""
    inner = node.arguments[0] if isinstance(node, Call) else node
    assert isinstance(inner, Linear)
    used = [(size, kept) for index, size in inner.terms if (kept := roundings[index]) is not None]
    if not used:
        return None
    each = sum(abs(size) * kept.each for size, kept in used) * _largest_cluster(pairing)
    return Rounding(each, sum(abs(size) * kept.most for size, kept in used))


def _one_sum(name: str, node: Node, data: Effects) -> Additive | None:
    """The test of a multiple of a single sum, or of its size, that no 64 bits hold; of one of small integers; else None."""
    inner = node.arguments[0] if isinstance(node, Call) and node.function == "abs" else node
    if not isinstance(inner, Linear) or inner.constant or len(inner.terms) != 1:
        return None
    sides = [data.stay] if data.swap is None else [data.stay, data.swap]
    columns = [_column(side, 0) for side in sides]
    if inner == _ITSELF and data.pairing.clusters is None and all(map(_have_small_sum, columns)):
        # Nothing of these can be refused or has to be scaled: the general way leads to the same.
        stay, *other = cast("list[Integers]", columns)
        swap = other[0] if other else None
        plain = inner is node
        return Additive(
            name,
            stay,
            swap,
            _ONE,
            len(stay),
            absolute=not plain,
            shiftable=swap is None and plain,
        )
    lattice = on_lattice(*columns)
    if lattice.error == 0 and all(column.dtype != object for column in lattice.columns):
        return None
    factor = Fraction(inner.terms[0][1], inner.divisor)
    sign = 1 if factor > 0 else -1
    effects = [clustered(sign * column, data.pairing) for column in lattice.columns]
    error = lattice.error * _largest_cluster(data.pairing)
    unit, whole, rounding = effects_on(abs(factor) * lattice.unit, *effects, error=error)
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


def _have_small_sum(column: Column) -> bool:
    """Whether these are integers, the sum of whose sizes is certain to be far from what is refused."""
    return column.dtype == np.int64 and largest_size(cast(Integers, column)) * len(column) < _SMALL_SUM


def _largest_cluster(pairing: Pairing) -> int:
    return 1 if pairing.clusters is None else int(np.bincount(pairing.clusters).max(initial=1))


def _width(column: Column) -> int:
    return 1 if column.ndim == 1 else column.shape[1]


def _integers(
    data: Effects, width: int
) -> tuple[list[Fraction], Integers, Integers | None, list[Rounding | None]]:
    """Of each of the m functions a unit and what was rounded; and the effects in these units, shape (n, m)."""
    sides = [data.stay] if data.swap is None else [data.stay, data.swap]
    units: list[Fraction] = []
    columns: list[tuple[Integers, ...]] = []
    roundings: list[Rounding | None] = []
    for index in range(width):
        lattice = on_lattice(*(_column(side, index) for side in sides))
        unit, whole, rounding = effects_on(lattice.unit, *lattice.columns, error=lattice.error)
        units.append(unit)
        columns.append(whole)
        roundings.append(rounding)
    stacked = [np.stack([column[side] for column in columns], axis=1) for side in range(len(sides))]
    return units, stacked[0], stacked[1] if data.swap is not None else None, roundings


def _column(side: Column, index: int) -> Column:
    return side if side.ndim == 1 else cast(Column, np.ascontiguousarray(side[:, index]))
