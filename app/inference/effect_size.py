"""How large a difference is, without its units: Cohen's d_z, Cliff's delta, the odds of a discordant item."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np

from ..engine.lattice import Reals, Whole
from ..engine.paired_proportions import clopper_pearson
from ..statistics.additive_problem import Additive, clustered
from ..statistics.paired import Paired, StatisticSpec
from ..statistics.paired_binary import PairedBinary, paired_binary
from ..statistics.problem import Problem
from .items import differences_of
from .record import Discordant, EffectSize


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
        d_z, delta = cohens_d_z(units), cliffs_delta(*scores)
    else:
        delta = None
        # Effects of pairs depend on each other.
        alone = isinstance(problem, Additive) and not problem.pairwise
        d_z = cohens_d_z(differences_of(problem)) if alone else None
    seen = paired_binary(data, spec)
    if seen is not None and lower_is_better:
        seen = replace(seen, only_u=seen.only_v, only_v=seen.only_u)
    return EffectSize(d_z, delta, None if seen is None else discordant(seen, level))


def cohens_d_z(units: Whole | Reals) -> float | None:
    """Mean over standard deviation (ddof 1) of the units' differences, shape (M,); Lakens 2013, eq. 7.

    None for a single unit, or where all differences are the same.
    """
    n = len(units)
    if n < 2 or (units == units[0]).all():
        return None
    if units.dtype == object:  # the ratio has no unit, and large integers no double
        largest = max(abs(x) for x in units.tolist())
        units = np.array([x / largest for x in units.tolist()])
    mean = float(Fraction(sum(units.tolist())) / n)
    centred = units.astype(np.float64) - mean
    return mean / math.sqrt(math.fsum((centred * centred).tolist()) / (n - 1))


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
