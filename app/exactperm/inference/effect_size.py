"""How large a difference is, without its units: Cohen's d_z, Cliff's delta, the odds of a discordant item."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from ..answers.test import Discordant, EffectSize
from ..engine.lattice import MAX_TOTAL, Whole
from ..engine.paired_proportions import clopper_pearson
from ..statistics.paired import Column, Effects, Paired, Repeated, Scores, StatisticSpec
from ..statistics.problems import Additive, clustered
from ..statistics.reducers import Problem
from ..statistics.scores import PairedBinary, paired_binary
from .float_dust import ULPS
from .items import additive_differences


def effect_size(
    data: Paired,
    spec: StatisticSpec,
    problem: Problem,
    scores: tuple[Whole, Whole] | None,
    level: Fraction,
    *,
    lower_is_better: bool = False,
) -> EffectSize:
    """The effect sizes that are defined for this data; `level` is that of the odds' interval.

    An item that one system alone got right is one where that system's 0 or 1 is the better of the two.
    """
    if scores is not None:
        units = clustered(scores[0] - scores[1], data.pairing)
        d_z, delta = cohens_d_z(units, _dust(data, scores)), cliffs_delta(*scores)
    else:
        delta = None
        d_z = None
        # Effects of pairs depend on each other.
        if isinstance(problem, Additive) and not problem.pairwise:
            units = additive_differences(problem)
            d_z = cohens_d_z(units, _dust(data, [units]))
    seen = paired_binary(data, spec)
    if seen is not None and lower_is_better:
        seen = replace(seen, only_u=seen.only_v, only_v=seen.only_u)
    return EffectSize(d_z, delta, None if seen is None else discordant(seen, level))


def cohens_d_z(units: Whole, dust: int = 0) -> float | None:
    """Mean over standard deviation (ddof 1) of the units' differences, shape (M,); Lakens 2013, eq. 7.

    The ratio has no unit. None for a single unit, or where all differences are within `dust` of each other.
    """
    n = len(units)
    if n < 2 or int(units.max()) - int(units.min()) <= dust:
        return None
    # M times each difference less the mean: whole numbers, so that nothing is left of a spread that is none.
    total: int = sum(units.tolist())
    if n * int(np.abs(units).max()) > MAX_TOTAL // 2:
        units = units.astype(object)
    centred = n * units - total
    largest = int(np.abs(centred).max())
    shares = (centred / largest).astype(np.float64)
    variance = math.fsum((shares * shares).tolist()) / (n - 1)
    return total / largest / math.sqrt(variance)


def _dust(data: Paired, sizes: Sequence[Whole]) -> int:
    """How far apart rounding alone may leave sums of fractions as large as `sizes`, which are in lattice units."""
    columns = _columns(data)
    if all(_is_whole(column) for column in columns):
        return 0
    largest = max(int(np.abs(each).max(initial=0)) for each in sizes)
    clusters = data.pairing.clusters
    together = 1 if clusters is None else int(np.bincount(clusters).max())
    return largest * together * ULPS >> sys.float_info.mant_dig - 1


def _columns(data: Paired) -> list[Column]:
    """The numbers that may have dust."""
    if isinstance(data, Scores):
        return [side.values if isinstance(side, Repeated) else side for side in (data.u, data.v)]
    if isinstance(data, Effects):
        return [data.stay] if data.swap is None else [data.stay, data.swap]
    return []


def _is_whole(column: Column) -> bool:
    """Whether these are whole numbers, which have no dust."""
    return column.dtype == np.int64 or bool((column == np.rint(column)).all())


def cliffs_delta(u: Whole, v: Whole) -> float:
    """P(u > v) - P(u < v) over all N**2 pairs of items, exactly counted; Cliff 1993, *Psychological Bulletin* 114."""
    ordered, queries = np.sort(v), np.sort(u)  # bisection is quicker in order
    below = int(np.searchsorted(ordered, queries, side="left").sum())
    not_above = int(np.searchsorted(ordered, queries, side="right").sum())
    pairs = len(u) * len(v)
    return (below - (pairs - not_above)) / pairs


def discordant(seen: PairedBinary, level: Fraction) -> Discordant | None:
    """The odds that an item which one system alone got right was U's; None when there is no such item.

    b / c for b and c such items, an interval through Clopper & Pearson's of b / (b + c).
    """
    b, c = seen.only_u, seen.only_v
    if b + c == 0:
        return None
    low, high = clopper_pearson(b, b + c, float(level))
    odds_high = None if high >= 1.0 else high / (1.0 - high)
    return Discordant(b, c, b / c if c else None, low / (1.0 - low), odds_high)
