"""The pairs of a board as records, in their order: columns until the last moment, there may be 250,000."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from itertools import repeat
from typing import Any

import numpy as np

from ...engine.lattice import Integers
from ...engine.probability import SMALLEST
from ..record import BoundsKind, ConfidenceInterval
from .adjusted import Adjusted, Flags
from .attainable import smallest_p
from .certainty import certainty_codes
from .pair_tests import PairTests
from .record import CERTAINTIES, Design, ListedPairs, PairRecord
from .relations import BETTER, RELATIONS, TURNED, WORSE

_KINDS: dict[bool, BoundsKind] = {False: "certified", True: "confidence"}
# The confidence interval of the i-th test's difference, as the test has u and v.
Intervals = Callable[[int], ConfidenceInterval | None]


@dataclass(frozen=True, slots=True)
class Turned:
    """The tests of a board as they are listed.

    Attributes
    ----------
    index
        Positions in the board's tests, in the order of the list; shape (m,).
    turned
        Whether u and v are exchanged there, shape (m,) as the tests; u is the better ranked of all pairs.
    """

    index: Integers
    turned: Flags


def listed_order(tests: PairTests, place: Integers, design: Design) -> Turned:
    """All pairs: the better placed is u, by the places of both. With a baseline: by the place of u. Else as given.

    `place` of each system, 0 the best, shape (K,).
    """
    u, v = place[tests.u], place[tests.v]
    if design == "all_pairs":
        turned = u > v
        return Turned(np.argsort(np.minimum(u, v) * len(place) + np.maximum(u, v)), turned)
    index = np.argsort(u, kind="stable") if design == "baseline" else np.arange(len(tests))
    return Turned(index, np.zeros(len(tests), bool))


def pair_records(
    names: Sequence[str],
    tests: PairTests,
    adjusted: Adjusted,
    relation: Integers,
    order: Turned,
    listed: ListedPairs,
    intervals: Intervals | None = None,
) -> tuple[PairRecord, ...]:
    """The records of the listed pairs, all of them for `auto`; `relation` is of each test's own u to its v."""
    if listed == "none":
        return ()
    at = order.index
    if listed == "significant":
        at = at[(relation[at] == BETTER) | (relation[at] == WORSE)]
    turned = order.turned[at]

    def ours(values: Any) -> Any:
        return values[at].tolist()

    def sided(values: Any, other: Any) -> Any:
        return np.where(turned, other[at], values[at]).tolist()

    smallest, _ = smallest_p(tests)
    bounds = zip(ours(tests.p_low), ours(tests.p_high), strict=True)
    adjusted_bounds = zip(ours(adjusted.low), ours(adjusted.high), strict=True)
    return _filled(
        len(at),
        u=[names[i] for i in sided(tests.u, tests.v)],
        v=[names[i] for i in sided(tests.v, tests.u)],
        n=ours(tests.n),
        difference=sided(tests.difference, 0.0 - tests.difference),
        p_value=ours(tests.p),
        log10_p_value=ours(np.minimum(tests.log10_p, 0.0)),
        p_value_bounds=bounds,
        p_value_bounds_kind=[_KINDS[sampled] for sampled in ours(tests.sampled)],
        p_adjusted=ours(adjusted.p),
        log10_p_adjusted=ours(adjusted.log10_p),
        p_adjusted_bounds=adjusted_bounds,
        p_adjusted_bounds_kind=[_KINDS[sampled] for sampled in ours(_sampled(tests, adjusted))],
        p_adjusted_certainty=[CERTAINTIES[code] for code in ours(certainty_codes(tests, adjusted))],
        relation=[RELATIONS[code] for code in sided(relation, TURNED[relation])],
        min_attainable_p=[None if math.isnan(p) else p for p in ours(np.maximum(smallest, SMALLEST))],
        wins=sided(tests.wins, tests.losses),
        ties=ours(tests.ties),
        losses=sided(tests.losses, tests.wins),
        method=[tests.method[i] for i in at.tolist()],
        exact=ours(tests.exact),
        confidence_interval=repeat(None)
        if intervals is None
        else (
            _turned(intervals(i)) if other else intervals(i)
            for i, other in zip(at.tolist(), turned.tolist(), strict=True)
        ),
    )


def _filled(count: int, **columns: Iterable[Any]) -> tuple[PairRecord, ...]:
    """Records from their columns. A frozen dataclass is made five times as fast when its slots are set column by column."""
    records = list(map(object.__new__, repeat(PairRecord, count)))
    for field in fields(PairRecord):
        fill = getattr(PairRecord, field.name).__set__
        deque(map(fill, records, columns[field.name]), maxlen=0)
    return tuple(records)


def _sampled(tests: PairTests, adjusted: Adjusted) -> Flags:
    return tests.sampled if adjusted.sampled is None else adjusted.sampled


def _turned(interval: ConfidenceInterval | None) -> ConfidenceInterval | None:
    """The interval of v's score minus u's."""
    if interval is None:
        return None
    low, high = (None if end is None else 0.0 - end for end in (interval.high, interval.low))
    return replace(interval, low=low, high=high)
