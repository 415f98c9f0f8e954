"""The data of a statistic of pairs (gold labels, scores or times; groups, events; scores): checks, prices and
warnings.
"""

from __future__ import annotations

from math import log2
from typing import Any

import numpy as np

from ...engine.lattice import Integers
from ...errors import InvalidTest
from ..paired import Column, DataWarning, Paired, Predictions, StatisticSpec
from .blocks import MOST
from .kernels import Gold

PAIRWISE = frozenset({"auc", "concordance", "kendall", "pairwise_accuracy", "spearman"})


def scores_of(data: Predictions) -> tuple[Column, Column]:
    """Return the systems' scores, shape (n,) each; raises InvalidTest at /u or /v where they are not numbers."""
    return numbers(data.u, "/u"), numbers(data.v, "/v")


def numbers(values: Any, pointer: str) -> Column:
    """Return a column of numbers, which the reader has made an array; raises InvalidTest for labels."""
    if isinstance(values, np.ndarray) and values.dtype in (np.int64, np.float64):
        return values
    detail = "A statistic of pairs compares scores: give one number per item."
    raise InvalidTest.at(pointer, "not_a_number", detail)


def gold_of(data: Predictions, spec: StatisticSpec) -> Gold:
    """Return the true order; raises InvalidTest at /gold, /groups, /event and /statistic/positive."""
    n = len(data.gold)
    group, n_groups = np.zeros(n, dtype=np.int64), 1
    if data.groups is not None:
        group, n_groups = data.groups, int(data.groups.max(initial=-1)) + 1
    if spec.name == "auc":
        return Gold(group, n_groups, np.zeros(n, dtype=np.int64), _positive(data.gold, spec))
    _, where = np.unique(numbers(data.gold, "/gold"), return_inverse=True)
    order = where.reshape(-1).astype(np.int64)
    if spec.name != "concordance":
        return Gold(group, n_groups, _dense(group, order))
    event = np.ones(n, dtype=bool) if data.event is None else data.event
    # An event at a time comes before the items that are censored then.
    return Gold(group, n_groups, _dense(group, 2 * order + ~event), event)


def _dense(group: Integers, order: Integers) -> Integers:
    """Return dense ranks from 0 within each group, shape (n,)."""
    width = int(order.max(initial=0)) + 1
    values, where = np.unique(group * width + order, return_inverse=True)
    first = np.searchsorted(values, group * width, side="left")
    return np.asarray(where.reshape(-1) - first, dtype=np.int64)


def _positive(gold: Any, spec: StatisticSpec) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Return which items are positive: gold has two labels, and 1, or `positive`, is the positive one."""
    items = gold.tolist() if isinstance(gold, np.ndarray) else list(gold)
    if any(isinstance(item, list | tuple) for item in items):
        raise InvalidTest.at("/gold", "not_a_label", "auc needs one label per item in gold, and no lists.")
    labels = set(items)
    positive = spec.parameters.get("positive")
    expected = 1 if positive is None else positive
    if len(labels) > 2:
        detail = f"auc needs two labels in gold, the positive one and another; there are {len(labels):,}."
        raise InvalidTest.at("/gold", "not_binary", detail)
    known = labels <= {0, 1} if positive is None else any(_same(label, positive) for label in labels)
    if not known and labels:
        shown = ", ".join(sorted(repr(label)[:40] for label in labels))
        pointer = "/statistic/positive"
        detail = f"The positive label {str(expected)[:40]!r} does not occur in gold, which has {shown}: set positive to one of them."
        raise InvalidTest.at(pointer, "unknown_positive", detail)
    return np.fromiter((item == expected for item in items), dtype=bool, count=len(items))


def _same(label: object, positive: object) -> bool:
    """Compare labels without conversion: 1 and "1" differ. Numbers of an array may be 1.0."""
    return label == positive and isinstance(label, str) == isinstance(positive, str)


# Predicted time to compute effects of pairs, which happens before there is a plan


# Seconds for an item and a doubling of their number: the wavelet matrix of four statistics, sorting of the others.
_PER_LEVEL = {
    "auc": 2e-7,
    "concordance": 5e-7,
    "kendall": 3.5e-7,
    "pairwise_accuracy": 3.2e-7,
    "spearman": 2.5e-7,
}
# Seconds in blocks of small groups, where values only have to be sorted; and for each item of a group.
_SORTED, _COMPARED = 2e-8, 1.6e-8
# Python integers, and with an epsilon the roots of each of them.
_STANDARDIZED, _ROOTS = 5e-6, 1e-5
_PER_TEST = 1e-3


def reduction_seconds(data: Paired, spec: StatisticSpec) -> float:
    """Predict the seconds for the effects of a statistic of pairs, twice with clusters; 0 for any other statistic."""
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
    """Predict the seconds for a number of items without groups."""
    if spec.name not in PAIRWISE:
        return 0.0
    return _PER_TEST + _PER_LEVEL[spec.name] * log2(items + 2) * items + _scaled(items, spec)


def _scaled(items: int, spec: StatisticSpec) -> float:
    """Predict the seconds to put values on a slow scale."""
    if spec.parameters.get("scale") != "standardized":
        return 0.0
    return (_STANDARDIZED + (_ROOTS if spec.parameters.get("epsilon") else 0.0)) * items


# Scales that differ, and scores that all tie


_FEWEST = 20  # items: the quartiles of fewer are too uncertain


def pair_warnings(data: Predictions, spec: StatisticSpec) -> list[DataWarning]:
    """Warn about exchanging raw scores of two scales, and about a system whose scores all tie."""
    return [*_scales(data, spec), *_constant(data, spec)]


def _scales(data: Predictions, spec: StatisticSpec) -> list[DataWarning]:
    """Warn about raw scores whose middle halves do not overlap: BLEU from 0 to 100, and COMET from 0 to 1."""
    usual = "raw" if spec.name == "pairwise_accuracy" else "ranks"
    if (spec.parameters.get("scale") or usual) != "raw" or len(data.gold) < _FEWEST:
        return []
    (low_u, high_u), (low_v, high_v) = (
        np.quantile(np.asarray(column), (0.25, 0.75), method="inverted_cdf") for column in (data.u, data.v)
    )
    if low_u <= high_v and low_v <= high_u:
        return []
    detail = (
        "The middle half of U's scores and that of V's do not overlap, so their scales differ, and "
        "exchanging raw scores does not test a meaningful hypothesis: set scale to ranks or standardized."
    )
    return [DataWarning("/statistic/scale", "scales_differ", detail)]


def _constant(data: Predictions, spec: StatisticSpec) -> list[DataWarning]:
    """Warn that all scores of a system tie: Spearman's rho and Kendall's tau-b and tau-c are 0 / 0, which counts as
    0.
    """
    if measure_of(spec) is None or len(data.gold) < 2:
        return []
    for name, column in (("u", data.u), ("v", data.v)):
        scores = np.asarray(column)
        if (scores == scores[0]).all():
            detail = f"All scores of {name} tie, so that their correlation is undefined; it counts as 0 here."
            return [DataWarning(f"/{name}", "constant_scores", detail)]
    return []


def measure_of(spec: StatisticSpec) -> str | None:
    """Return which correlation depends on a denominator that swaps may change: rho, tau_b, tau_c; None for the other
    statistics.
    """
    if spec.name == "spearman":
        return "rho"
    variant = spec.parameters.get("variant") or "b"
    return f"tau_{variant}" if spec.name == "kendall" and variant != "a" else None
