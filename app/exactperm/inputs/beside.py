"""Labels of some items by people, and covariates of all items, beside the scores of both systems."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from ..errors import InvalidTest
from ..statistics.columns import taken
from ..statistics.paired import Column, Correction, Repeated, Scores, lengths_of, samples_in
from .alignment import Positions

# The values of one system, the index of each item's value (-1 for none), and the pointer to a value.
Placed = tuple[Any, Positions, Callable[[int], str]]
LABELS = "labels"


def labels_of(sides: Sequence[Placed], n: int, share: Fraction | None = None) -> Correction:
    """Read people's labels of both systems; raises InvalidTest if an item has a label of only one."""
    has = [np.bincount(at[at >= 0], minlength=n) > 0 for _, at, _ in sides]
    if (has[0] != has[1]).any():
        item = int((has[0] != has[1]).argmax())
        lacking = sides[int(has[0][item])]
        n_unpaired = int((has[0] != has[1]).sum())
        detail = f"Of {n_unpaired:,} items, this one first, only one system's output has a label: label both outputs of an item, or none."
        raise InvalidTest.at(lacking[2](item), "labels_not_paired", detail)
    return Correction({LABELS: _of_both(sides, n)}, has[0], share)


def covariates_of(columns: Mapping[str, Sequence[Placed]], n: int) -> Correction:
    """Read covariates of both systems by name; raises InvalidTest if an item has none."""
    for name, sides in columns.items():
        for _, at, place in sides:
            lacks = np.bincount(at[at >= 0], minlength=n) == 0
            if lacks.any():
                detail = f"Of {int(lacks.sum()):,} items, this one first, there is no {name[:40]}: every item needs it."
                raise InvalidTest.at(place(int(lacks.argmax())), "missing_covariate", detail)
    return Correction({name: _of_both(sides, n) for name, sides in columns.items()})


def _of_both(sides: Sequence[Placed], n: int) -> Scores:
    u, v = (_filled(values, at, n) for values, at, _ in sides)
    return Scores(u, v)


def _filled(values: Column | Repeated, at: Positions, n: int) -> Column | Repeated:
    """The values in the order of the items, 0 for items without one."""
    where = np.full(n, len(values))
    where[at[at >= 0]] = np.flatnonzero(at >= 0)
    numbers = samples_in(values)
    numbers = np.concatenate([numbers, np.zeros(1, dtype=numbers.dtype)])
    if not isinstance(values, Repeated):
        return taken(numbers, where)
    return taken(Repeated(numbers, np.concatenate([lengths_of(values), [1]])), where)
