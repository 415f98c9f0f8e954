"""How long it takes to make effects of pairs, which is done before there is a plan."""

from __future__ import annotations

from math import log2

from ..paired import Paired, Predictions, StatisticSpec
from .gold import PAIRWISE

# Seconds for an item and a doubling of their number: the wavelet matrix of four statistics, sorting of the others.
_PER_LEVEL = {
    "auc": 2.5e-7,
    "concordance": 8e-7,
    "kendall": 6e-7,
    "pairwise_accuracy": 5e-7,
    "spearman": 2.5e-7,
}
# Python integers, and with an epsilon the roots of each of them.
_STANDARDIZED, _ROOTS = 5e-6, 1e-5
_PER_TEST = 1e-3


def reduction_seconds(data: Paired, spec: StatisticSpec) -> float:
    """Predicted seconds for the effects of a statistic of pairs, twice with clusters; 0 for any other statistic."""
    if not isinstance(data, Predictions) or spec.name not in PAIRWISE:
        return 0.0
    times = 1 if data.pairing.clusters is None else 2
    return times * seconds_of(len(data.gold), spec)


def seconds_of(items: int, spec: StatisticSpec) -> float:
    """The same for a number of items."""
    if spec.name not in PAIRWISE:
        return 0.0
    each = _PER_LEVEL[spec.name] * log2(items + 2)
    if spec.parameters.get("scale") == "standardized":
        each += _STANDARDIZED + (_ROOTS if spec.parameters.get("epsilon") else 0.0)
    return _PER_TEST + each * items
