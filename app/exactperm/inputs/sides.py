"""Whether the two sides of a test belong together: the same unit, and the same items under the same keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..statistics.direction import of_name, words_of
from ..statistics.paired import Column, Repeated
from .names import CONTEXT, DATASET, SURELY_GOLD, folded
from .quoting import quoted

UNSURE = frozenset(("label", "labels"))  # gold, or what a system says
_DATA_SETS = frozenset(map(folded, DATASET)) - {"category"}
_CONTEXT = frozenset(map(folded, (*CONTEXT, *SURELY_GOLD))) - {"human"} | _DATA_SETS
Context = Mapping[str, Sequence[Any]]
NAMED = 3
PERCENT = 20  # so many times larger are the percent of comparable shares, at least
LEAST_PERCENT = 10  # smaller numbers are as likely to be points, or rewards
# Better when higher, and no shares.
NO_SHARES = frozenset(
    ("cider", "dcg", "passed", "passes", "pesq", "psnr", "resolved", "solved", "stoi", "throughput", "wins")
)


def is_context(name: str) -> bool:
    """Whether a column of this name describes an item: both sides have the same under the same key.

    >>> is_context("Question"), is_context("doc_hash"), is_context("answer"), is_context("latency")
    (True, True, False, False)
    """
    return folded(name) in _CONTEXT or folded(name).endswith("hash")


def differing(u: Context, v: Context, pairs: Sequence[tuple[int, int]]) -> list[tuple[int, str]]:
    """Which pairs of rows differ in a column that both sides have, and in which; blank values are not compared."""
    found: dict[int, str] = {}
    for name in sorted(u, key=lambda name: name in UNSURE):
        if name not in v or (
            folded(name) not in _DATA_SETS and _is_constant(u[name]) and _is_constant(v[name])
        ):
            continue  # a constant source or prompt names the system
        mine, other = u[name], v[name]
        for position, (first, second) in enumerate(pairs):
            here, there = mine[first], other[second]
            if here == there or here in (None, "") or there in (None, ""):
                continue
            if str(here).strip() != str(there).strip():
                found.setdefault(position, name)
    return sorted(found.items())


def _is_constant(values: Sequence[Any]) -> bool:
    return all(value == values[0] for value in values)


def described(examples: Sequence[tuple[str, str, Any, Any]], who: tuple[str, str]) -> str:
    """The first keys that differ, with both values: of key, column, and the values of both."""
    return "; ".join(
        f"{quoted(key)} has the {name} {quoted(str(here))} in {who[0]} and {quoted(str(there))} in {who[1]}"
        for key, name, here, there in examples[:NAMED]
    )


def unit_mismatch(columns: Mapping[str, Column | Repeated], metric: str | None) -> tuple[str, str] | None:
    """Which side has shares from 0 to 1 where which other has percent; None where nothing says so.

    Only shares are looked at: scores without a metric's name, and metrics that are better when higher. The medians, of what is
    not 0, are so far apart that no two systems are. Zeros have no unit.
    """
    if metric is not None and (of_name(metric) is not True or NO_SHARES.intersection(words_of(metric))):
        return None
    shares: list[tuple[str, NDArray[Any]]] = []
    percents: list[tuple[str, NDArray[Any]]] = []
    for name, column in columns.items():
        values = column.values if isinstance(column, Repeated) else column
        if values.dtype.kind not in "if" or not len(values) or values.min() < 0 or values.max() > 100:
            continue
        (shares if values.max() <= 1 else percents).append((name, values))
    if not shares or not percents:
        return None
    low, high = (
        [(name, float(np.median(values[values != 0]))) for name, values in of if values.any()]
        for of in (shares, percents)
    )
    if not low or not high:
        return None
    share, percent = max(low, key=lambda pair: pair[1]), max(high, key=lambda pair: pair[1])
    return (share[0], percent[0]) if percent[1] >= max(PERCENT * share[1], LEAST_PERCENT) else None
