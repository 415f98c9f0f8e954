"""Right or wrong on every item: what McNemar's, Tango's and Newcombe's methods count."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from .additive_problem import Additive
from .label_match import items_right
from .paired import Column, Paired, Predictions, Repeated, Scores, StatisticSpec
from .repeats import per_item


@dataclass(frozen=True, slots=True)
class PairedBinary:
    """How many of `items` only U was right on, and only V; both and neither are the rest.

    `all_right` is the statistic if U were right on all of them and V on none: 1, or `items` for a sum.
    """

    items: int
    only_u: int
    only_v: int
    all_right: Fraction = Fraction(1)


def paired_binary(data: Paired, spec: StatisticSpec) -> PairedBinary | None:
    """The counts when every item is right or wrong, each by itself; None for anything else, or with clusters."""
    if data.pairing.clusters is not None:
        return None
    if isinstance(data, Scores):
        data = per_item(data, spec)
        u, v = data.u, data.v
        if isinstance(u, Repeated) or isinstance(v, Repeated) or not (_zero_or_one(u) and _zero_or_one(v)):
            return None
        right_u, right_v = u == 1, v == 1
    elif isinstance(data, Predictions) and spec.name in {"accuracy", "exact_match"}:
        if spec.name == "accuracy" and any(isinstance(item, list | tuple) for item in data.gold):
            return None
        right_u, right_v = items_right(data.gold, data.u) == 1, items_right(data.gold, data.v) == 1
    else:
        return None
    return PairedBinary(len(right_u), int((right_u & ~right_v).sum()), int((right_v & ~right_u).sum()))


def binary_of(problem: Additive) -> PairedBinary | None:
    """The counts of an additive problem whose every unit is a single item, right or wrong; None for any other."""
    if problem.all_right is None:
        return None
    stay = problem.stay
    return PairedBinary(len(stay), int((stay > 0).sum()), int((stay < 0).sum()), problem.all_right)


def _zero_or_one(column: Column) -> bool:
    return bool(((column == 0) | (column == 1)).all()) and np.asarray(column).ndim == 1
