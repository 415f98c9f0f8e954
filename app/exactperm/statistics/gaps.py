"""Outcomes that are missing, each of them anything in a range: the fillings that are best and worst for U.

With high for U's gaps and low for V's every effect of an item is as large as it can be, and the other way round as small.
P(sum of signed effects >= observed) is P(the effects whose sign is turned add up to at most 0), which no effect raises: the
one-sided p-values of the two fillings bound that of every other one. Under signs a two-sided p-value is the smaller of
1 and twice the smaller one-sided one, so that those of the two fillings bound it as well, from above where zero does not
lie between their differences. Both ends are attained.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..engine.lattice import EXACT_DOUBLE, Integers
from ..errors import InvalidTest
from .item_order import taken
from .paired import Column, Pairing, Repeated, Scores, StatisticSpec

# Statistics that no outcome of U lowers, item by item.
MONOTONE = ("mean_difference", "sum_difference", "sign")


def require_bounded(data: Scores, spec: StatisticSpec) -> None:
    """Refuse statistics and scores for which missing outcomes have no bounds; raises InvalidTest."""
    assert data.gaps is not None
    if spec.name not in MONOTONE:
        detail = (
            "The ranks of all items change with a missing outcome, so that no two fillings bound the p-value: use "
            f"{', '.join(MONOTONE)}, or `on_missing=drop`."
        )
        raise InvalidTest.at("/on_missing", "no_missing_bounds", detail)
    low, high = data.gaps.low, data.gaps.high
    for name, sides in (("u", (data.u, data.gaps.u)), ("v", (data.v, data.gaps.v))):
        for side in sides:
            values = side.values if isinstance(side, Repeated) else side
            if len(values) and not (low <= float(values.min()) and float(values.max()) <= high):
                detail = (
                    f"{name} has scores outside of [{low:g}, {high:g}], which a missing outcome is taken to lie in: set "
                    "`missing_range` to the least and the largest score that there can be."
                )
                raise InvalidTest.at("/missing_range", "scores_outside_range", detail)


def filled(data: Scores, *, best: bool) -> Scores:
    """All items, the gaps filled as well for U as can be (`best`), or as badly; complete items come first."""
    gaps = data.gaps
    assert gaps is not None
    of_u, of_v = (gaps.high, gaps.low) if best else (gaps.low, gaps.high)
    n_u, n_v = len(gaps.u), len(gaps.v)
    u = _joined(data.u, gaps.u, of_u, _lengths(gaps.v), gaps.neither)
    v = _joined(data.v, gaps.v, of_v, _lengths(gaps.u), gaps.neither)
    # U's own items come before the gaps, V's behind them.
    order = np.arange(len(data.u) + n_u + n_v + gaps.neither)
    first, start = len(data.v), len(data.v) + n_v
    behind = np.concatenate(
        [order[:first], order[start : start + n_u], order[first:start], order[start + n_u :]]
    )
    pairing = Pairing(gaps.clusters, gaps.n_clusters)
    return Scores(u, taken(v, behind), pairing)


def _lengths(side: Column | Repeated) -> Integers:
    return side.lengths if isinstance(side, Repeated) else np.ones(len(side), dtype=np.int64)


def _joined(
    complete: Column | Repeated, own: Column | Repeated, fill: float, others: Integers, neither: int
) -> Column | Repeated:
    """One system's column: complete items, those it alone has, and its gaps, with as many samples as the other has."""
    lengths = np.concatenate([_lengths(complete), _lengths(own), others, np.ones(neither, dtype=np.int64)])
    known = [side.values if isinstance(side, Repeated) else side for side in (complete, own)]
    number = int(others.sum()) + neither
    whole = float(fill).is_integer() and abs(fill) < EXACT_DOUBLE
    if not whole and any(
        len(side) and side.dtype == np.int64 and np.abs(side).max() >= EXACT_DOUBLE for side in known
    ):
        detail = "Such large whole numbers have no fractions beside them: give `missing_range` whole numbers."
        raise InvalidTest.at("/missing_range", "scores_too_large", detail)
    filling = np.full(number, int(fill), dtype=np.int64) if whole else np.full(number, fill)
    values = np.concatenate([*(side for side in known if len(side)), filling])
    return values if (lengths == 1).all() else Repeated(values, lengths)


def missing_outcomes(data: Scores) -> int:
    """How many outcomes are missing; two for an item that neither system has."""
    gaps = data.gaps
    return 0 if gaps is None else len(gaps.u) + len(gaps.v) + 2 * gaps.neither


def complete(data: Scores) -> Scores:
    """The items that both systems have."""
    return data if data.gaps is None else replace(data, gaps=None)
