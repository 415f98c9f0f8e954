"""How long it takes to make effects of pairs, which is done before there is a plan."""

from __future__ import annotations

from math import log2

import numpy as np

from ..paired import Paired, Predictions, StatisticSpec
from .blocks import MOST
from .gold import PAIRWISE

# Seconds for an item and a doubling of their number: the wavelet matrix of four statistics, sorting of the others.
_PER_LEVEL = {
    "auc": 2e-7,
    "concordance": 5e-7,
    "kendall": 3.5e-7,
    "pairwise_accuracy": 3.2e-7,
    "spearman": 2.5e-7,
}
# The same in blocks of small groups, where all have to be sorted only; and for each item of its group.
_SORTED, _COMPARED = 2e-8, 1.6e-8
# Python integers, and with an epsilon the roots of each of them.
_STANDARDIZED, _ROOTS = 5e-6, 1e-5
_PER_TEST = 1e-3


def reduction_seconds(data: Paired, spec: StatisticSpec) -> float:
    """Predicted seconds for the effects of a statistic of pairs, twice with clusters; 0 for any other statistic."""
    if not isinstance(data, Predictions) or spec.name not in PAIRWISE:
        return 0.0
    times, items = 1 if data.pairing.clusters is None else 2, len(data.gold)
    if data.groups is None:
        return times * seconds_of(items, spec)
    sizes = np.bincount(data.groups)
    small = sizes[sizes <= MOST]
    each = _SORTED * log2(items + 2) * int(small.sum()) + _COMPARED * int((small * small).sum())
    return times * (seconds_of(items - int(small.sum()), spec) + each + _scaled(int(small.sum()), spec))


def seconds_of(items: int, spec: StatisticSpec) -> float:
    """The same for a number of items without groups."""
    if spec.name not in PAIRWISE:
        return 0.0
    return _PER_TEST + _PER_LEVEL[spec.name] * log2(items + 2) * items + _scaled(items, spec)


def _scaled(items: int, spec: StatisticSpec) -> float:
    """To put values on a scale that takes long."""
    if spec.parameters.get("scale") != "standardized":
        return 0.0
    return (_STANDARDIZED + (_ROOTS if spec.parameters.get("epsilon") else 0.0)) * items
