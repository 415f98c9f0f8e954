"""Local effects, the paper's own form: h of m sums (Zmigrod, Vieira & Cotterell 2022, eq. 3 and 12)."""

from __future__ import annotations

from fractions import Fraction
from typing import cast

import numpy as np

from app.engine.lattice import Integers
from app.errors import InvalidTest
from app.statistics import formula
from app.statistics.expression import POINTER, parse
from app.statistics.joint import Joint
from app.statistics.numbers import on_lattice
from app.statistics.paired import Column, Effects, StatisticSpec
from app.statistics.problem import Additive, require_items, require_same_length
from app.statistics.reduction import function_of_sums

DEFAULT_EXPRESSION = "x1"


def reduce_effects(data: Effects, spec: StatisticSpec) -> Additive | Joint:
    """The test of h(sums of effects), h an expression over x1..xm; m numbers per item, shape (n,) or (n, m)."""
    text = str(spec.parameters.get("expression", DEFAULT_EXPRESSION))
    require_items(len(data.stay), "/stay")
    width = _width(data.stay)
    if data.swap is not None:
        require_same_length(len(data.stay), len(data.swap), "/swap", ("stay", "swap"))
        if _width(data.swap) != width:
            detail = f"stay has {width} numbers per item and swap {_width(data.swap)}: they need the same functions."
            raise InvalidTest.at("/swap", "width_mismatch", detail)
    node = parse(text, [f"x{index + 1}" for index in range(width)])
    units, stay, swap = _integers(data, width)
    if any(unit != 1 for unit in units):
        node = formula.substitute(node, lambda index: formula.scale_variable(index, units[index]))
    return function_of_sums("".join(text.split()), node, stay, swap, data.pairing, POINTER)


def _width(column: Column) -> int:
    return 1 if column.ndim == 1 else column.shape[1]


def _integers(data: Effects, width: int) -> tuple[list[Fraction], Integers, Integers | None]:
    """A unit for each of the m functions, and the effects in these units, shape (n, m)."""
    sides = [data.stay] if data.swap is None else [data.stay, data.swap]
    units: list[Fraction] = []
    columns: list[tuple[Integers, ...]] = []
    for index in range(width):
        unit, found = on_lattice(*(_column(side, index) for side in sides))
        units.append(unit)
        columns.append(found)
    whole = [np.stack([found[side] for found in columns], axis=1) for side in range(len(sides))]
    return units, whole[0], whole[1] if data.swap is not None else None


def _column(side: Column, index: int) -> Column:
    return side if side.ndim == 1 else cast(Column, np.ascontiguousarray(side[:, index]))
