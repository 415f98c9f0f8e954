"""Scores in files of which some are missing, each of them anything in a range (`on_missing` bounds)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import InvalidTest
from ...statistics.paired import Column, Gaps, Pairing, Repeated, Scores
from ..pairing import coded
from ..tiny_numbers import is_tiny

if TYPE_CHECKING:
    from .outputs_by_id import SystemOutputs

BOUNDS = "bounds"
DEFAULT_RANGE = (0.0, 1.0)


def no_bounds() -> InvalidTest:
    """The refusal of data that is no scores."""
    detail = (
        "Missing outcomes have bounds in scores alone: set on_missing to drop, or give one score per item."
    )
    return InvalidTest.at("/options/on_missing", "no_missing_bounds", detail)


def range_of(text: str | None) -> tuple[float, float] | None:
    """Two numbers between a comma, the smaller one first; None for any other text."""
    try:
        parts = ("0,1" if text is None else text).split(",")
        low, high = map(float, parts)
    except ValueError:
        return None
    fine = math.isfinite(low) and math.isfinite(high) and low < high and not any(map(is_tiny, parts))
    return (low, high) if fine else None


def scores_with_gaps(
    u: SystemOutputs,
    v: SystemOutputs,
    clusters: dict[str, str] | None,
    column_of: Callable[[list[Any], str], Column | Repeated],
    missing_range: tuple[float, float],
    notes: list[str],
) -> Scores:
    """The complete items, in the order of U, and the gaps; `clusters` by id, `column_of` as `outputs_by_id` has it.

    Raises
    ------
    InvalidTest
        No item is complete, items have weights, or two files have no ids: blank lines say nothing then.
    """
    if u.by_order and u.source is not v.source:
        detail = "Which outcomes are missing in two files is known by ids alone: give both a column of ids."
        raise InvalidTest.at(v.source.pointer, "no_ids", detail)
    if any(weight is not None for side in (u, v) for weight in side.weights):
        detail = "Missing outcomes have bounds where all items count alike: leave weights out, or set on_missing to drop."
        raise InvalidTest.at("/options/on_missing", "no_missing_bounds", detail)
    there = [
        {key: value for key, value in zip(side.ids, side.values, strict=True) if value is not None}
        for side in (u, v)
    ]
    keys = list(dict.fromkeys((*u.ids, *v.ids)))
    both = [key for key in keys if key in there[0] and key in there[1]]
    if not both:
        detail = "No item has an outcome of both systems; there is nothing to pair."
        raise InvalidTest.at(u.source.pointer, "no_common_ids", detail)
    only = [[key for key in keys if key in own and key not in other] for own, other in (there, there[::-1])]
    neither = [key for key in keys if key not in there[0] and key not in there[1]]
    every = [*both, *only[0], *only[1], *neither]
    of_all = None if clusters is None else [clusters[key] for key in every]
    codes, n_clusters = coded(None if of_all is None else of_all[: len(both)])
    pairing = Pairing(
        codes, n_clusters, by_id=True, matched=len(both), only_u=len(only[0]), only_v=len(only[1]),
        largest=max(len(u), len(v)), ids=both,
    )  # fmt: skip

    def column(side: int, items: Sequence[str]) -> Column | Repeated:
        if not items:
            return np.zeros(0, dtype=np.int64)
        return column_of([there[side][key] for key in items], "uv"[side])

    complete = column(0, both), column(1, both)
    if len(every) == len(both):
        return Scores(*complete, pairing)
    low, high = missing_range
    lacking = sum(map(len, only)) + 2 * len(neither)
    notes.append(
        f"{lacking:,} outcomes are missing; each may be anything from {low:g} to {high:g} (on_missing=bounds)."
    )
    gaps = Gaps(column(0, only[0]), column(1, only[1]), len(neither), low, high, *coded(of_all))
    return Scores(*complete, pairing, None, gaps)
