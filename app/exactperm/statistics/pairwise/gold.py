"""Gold labels, scores or times, groups and events of a statistic of pairs, and the systems' scores: checked."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...engine.lattice import Integers
from ...errors import InvalidTest
from ..paired import Column, Predictions, StatisticSpec
from .kernels import Gold

PAIRWISE = frozenset({"auc", "concordance", "kendall", "pairwise_accuracy", "spearman"})


def scores_of(data: Predictions) -> tuple[Column, Column]:
    """The systems' scores, shape (n,) each; raises InvalidTest at /u or /v where they are none."""
    return numbers(data.u, "/u"), numbers(data.v, "/v")


def numbers(values: Any, pointer: str) -> Column:
    """A column of numbers, which the reader has made an array; raises InvalidTest where they are labels."""
    if isinstance(values, np.ndarray) and values.dtype in (np.int64, np.float64):
        return values
    detail = "A statistic of pairs compares scores: give one number per item."
    raise InvalidTest.at(pointer, "not_a_number", detail)


def gold_of(data: Predictions, spec: StatisticSpec) -> Gold:
    """What the order should be; raises InvalidTest at /gold, /groups, /event and /statistic/positive."""
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
    """Dense ranks from 0 within each group, shape (n,)."""
    width = int(order.max(initial=0)) + 1
    values, where = np.unique(group * width + order, return_inverse=True)
    first = np.searchsorted(values, group * width, side="left")
    return np.asarray(where.reshape(-1) - first, dtype=np.int64)


def _positive(gold: Any, spec: StatisticSpec) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Which items are positive: gold has two labels, of which 1, or `positive`, is the one."""
    items = gold.tolist() if isinstance(gold, np.ndarray) else list(gold)
    if any(isinstance(item, list | tuple) for item in items):
        raise InvalidTest.at("/gold", "not_a_label", "auc needs one label per item in gold, and no lists.")
    labels = set(items)
    positive = spec.parameters.get("positive")
    wanted = 1 if positive is None else positive
    if len(labels) > 2:
        detail = f"auc needs two labels in gold, the positive one and another; there are {len(labels):,}."
        raise InvalidTest.at("/gold", "not_binary", detail)
    known = labels <= {0, 1} if positive is None else any(_same(label, positive) for label in labels)
    if not known and labels:
        shown = ", ".join(sorted(repr(label)[:40] for label in labels))
        pointer = "/statistic/positive"
        detail = f"The positive label {str(wanted)[:40]!r} does not occur in gold, which has {shown}: set positive to one of them."
        raise InvalidTest.at(pointer, "unknown_positive", detail)
    return np.fromiter((item == wanted for item in items), dtype=bool, count=len(items))


def _same(label: object, positive: object) -> bool:
    """Nothing is converted: 1 and "1" are different labels. Numbers of an array may be 1.0."""
    return label == positive and isinstance(label, str) == isinstance(positive, str)
