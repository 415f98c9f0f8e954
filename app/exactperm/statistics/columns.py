"""Columns of items: some of them, in another order, of several data sets; missing outcomes, and rows that are not items."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from itertools import chain, islice
from operator import le
from typing import Any, TypeVar

import numpy as np

from ..engine.lattice import EXACT_DOUBLE, Integers
from ..errors import InvalidTest
from .numbers import taken_weights
from .paired import (
    Column,
    DataWarning,
    Gaps,
    NamedCounts,
    Paired,
    Pairing,
    Repeated,
    Scores,
    StatisticSpec,
    Weights,
    lengths_of,
    samples_in,
)

# A longer number is text.
_DIGITS = 18

AnyColumn = TypeVar("AnyColumn")


def taken(column: AnyColumn, items: Integers) -> AnyColumn:
    """The values of a column of any kind at some positions, in their order; None stays None."""
    values: Any = column
    if values is None:
        return column
    if isinstance(values, np.ndarray):
        return values[items]  # type: ignore[return-value]
    if isinstance(values, Repeated):
        starts = np.cumsum(values.lengths) - values.lengths
        kept = values.lengths[items]
        # Sample i of an item stands i places behind the first one.
        first = np.repeat(starts[items] - (np.cumsum(kept) - kept), kept)
        return Repeated(values.values[first + np.arange(len(first))], kept)  # type: ignore[return-value]
    if isinstance(values, NamedCounts):
        return NamedCounts(taken(values.columns, items), values.by_item)  # type: ignore[return-value]
    if isinstance(values, Mapping):
        return {key: counts[items] for key, counts in values.items()}  # type: ignore[return-value]
    return [values[item] for item in items.tolist()]  # type: ignore[return-value]


def joined(columns: Sequence[Any], refusal: InvalidTest) -> Any:
    """Columns of one kind end to end; integers beside decimals become those, or are refused where one would change.

    Of counts only those that all have are joined.
    """
    first = columns[0]
    if isinstance(first, Mapping):
        common = set.intersection(*map(set, columns))
        return {
            name: joined([column[name] for column in columns], refusal) for name in first if name in common
        }
    if any(isinstance(column, Repeated) for column in columns):
        # One score for an item is one sample.
        lengths = np.concatenate([lengths_of(column) for column in columns])
        return Repeated(joined([samples_in(column) for column in columns], refusal), lengths)
    if not isinstance(first, np.ndarray):
        return list(chain.from_iterable(columns))
    filled = [column for column in columns if len(column)] or [first]
    if len({column.dtype.kind for column in filled}) > 1:
        for column in filled:
            if column.dtype == np.int64 and max(-int(column.min()), int(column.max())) > EXACT_DOUBLE:
                raise refusal
    return np.concatenate(filled)


def first_seen(codes: Integers) -> Integers:
    """Codes 0.. in order of first appearance, shape (n,)."""
    _, first, where = np.unique(codes, return_index=True, return_inverse=True)
    order = np.empty(len(first), dtype=np.int64)
    order[np.argsort(first)] = np.arange(len(first))
    return np.asarray(order[where.reshape(-1)])


def taken_pairing(pairing: Pairing, items: Integers) -> Pairing:
    """The pairing of some of the items: clusters are numbered anew, in order of first appearance."""
    clusters, n_clusters = None, None
    if pairing.clusters is not None:
        clusters = first_seen(pairing.clusters[items])
        n_clusters = int(clusters.max(initial=-1)) + 1
    return replace(pairing, clusters=clusters, n_clusters=n_clusters, ids=taken(pairing.ids, items))


def order_of_ids(ids: Sequence[str | int] | None) -> Integers | None:
    """The positions that sort the items by id: as numbers where all are whole ones, else as text.

    None where they have no ids, or stand in this order already.
    """
    if ids is None:
        return None
    texts = ids if set(map(type, ids)) <= {str} else [str(key) for key in ids]
    whole = all(map(_is_whole, texts))
    keys: Sequence[Any] = [(int(key), key) for key in texts] if whole else texts
    if all(map(le, keys, islice(keys, 1, None))):
        return None
    return np.array(sorted(range(len(keys)), key=keys.__getitem__), dtype=np.int64)


def _is_whole(key: Any) -> bool:
    """Whether an id is a whole number as counting writes it."""
    return len(key) <= _DIGITS and key.isdecimal() and key.isascii()


def in_order_of_ids(data: Paired) -> Paired:
    """The same data with the items in the order of their ids, where they have any: nothing may depend on another one."""
    order = order_of_ids(data.pairing.ids)
    if order is None:
        return data
    changed: dict[str, Any] = {"pairing": taken_pairing(data.pairing, order)}
    for name in (column.name for column in fields(data) if column.name != "pairing"):
        value = getattr(data, name)
        if isinstance(value, Gaps):
            # The complete items come first.
            if value.clusters is not None:
                clusters = np.concatenate([value.clusters[order], value.clusters[len(order) :]])
                value = replace(value, clusters=first_seen(clusters))
            changed[name] = value
        else:
            moved: Any = taken_weights(value, order) if isinstance(value, Weights) else taken(value, order)
            changed[name] = first_seen(moved) if name == "groups" and moved is not None else moved
    return replace(data, **changed)


# Outcomes that are missing, each of them anything in a range: the fillings that are best and worst for U.
#
# With high for U's gaps and low for V's every effect of an item is as large as it can be, and the other way round as small.
# P(sum of signed effects >= observed) is P(the effects whose sign is turned add up to at most 0), which no effect raises: the
# one-sided p-values of the two fillings bound that of every other one. Under signs a two-sided p-value is the smaller of
# 1 and twice the smaller one-sided one, so that those of the two fillings bound it as well, from above where zero does not
# lie between their differences. Both ends are attained.


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
            values = samples_in(side)
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
    u = _joined(data.u, gaps.u, of_u, lengths_of(gaps.v), gaps.neither)
    v = _joined(data.v, gaps.v, of_v, lengths_of(gaps.u), gaps.neither)
    # U's own items come before the gaps, V's behind them.
    order = np.arange(len(data.u) + n_u + n_v + gaps.neither)
    first, start = len(data.v), len(data.v) + n_v
    behind = np.concatenate(
        [order[:first], order[start : start + n_u], order[first:start], order[start + n_u :]]
    )
    pairing = Pairing(gaps.clusters, gaps.n_clusters)
    return Scores(u, taken(v, behind), pairing)


def _joined(
    complete: Column | Repeated, own: Column | Repeated, fill: float, others: Integers, neither: int
) -> Column | Repeated:
    """One system's column: complete items, those it alone has, and its gaps, with as many samples as the other has."""
    lengths = np.concatenate(
        [lengths_of(complete), lengths_of(own), others, np.ones(neither, dtype=np.int64)]
    )
    known = [samples_in(side) for side in (complete, own)]
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


# Rows of averages or totals among the items: tools and spreadsheets write them at the end of a table, or on top


OF_ROWS = (
    "mean",
    "average",
    "avg",
    "median",
    "total",
    "subtotal",
    "sub total",
    "sum",
    "std",
    "stdev",
    "std dev",
)
SUMMARY = re.compile(
    r"(?:(?:macro|micro|weighted|samples?|overall|grand|unweighted|global)[ -]*)?"
    rf"(?:{'|'.join(OF_ROWS)}|score)(?:[ -]*score)?|all|overall|combined|macro|micro|aggregate|summary|accuracy"
)
# Next to such a row these are summaries, too (mean, std, min, max); alone they may be the names of items.
WEAK = re.compile(
    r"sd|sem|se|s\.?d|std\.? ?(?:dev(?:iation)?|err(?:or)?)|standard (?:deviation|error)|var|variance|min|max|minimum|maximum"
    r"|range|count|n|num|nan|mode|iqr|ci|p(?:25|50|75|90|95|99|99\.9|999)|\d{1,2}(?:\.\d+)? ?%"
    r"|(?:\d{1,2}(?:\.\d+)?(?:st|nd|rd|th)? ?)(?:percentile|quantile|pctl?)|(?:lower|upper|first|third) quartile"
)
BRACKETED = re.compile(r"[(\[{<]+([^()\[\]{}<>]*)[)\]}>]+")
REMAINDER = re.compile(r"(?<=\w) ?[(\[{<][^()\[\]{}<>]*[)\]}>]$")
MARKS = " :.*-=_#"
SHOWN_CHARS = 40
SHOWN_NAMES = 5


def is_summary(name: object) -> bool:
    """Whether an id is one that tools give to a row of averages or totals; blank is one as well.

    >>> [is_summary(name) for name in ("Mean", "macro avg", "(all)", "average (10 items)", "q12", "meaning", 3)]
    [True, True, True, True, False, False, False]
    """
    text = _plain(name)
    return text is not None and (not text or (SUMMARY.fullmatch(text) is not None and text != "score"))


def _plain(name: object) -> str | None:
    """A name without capitals, marks, brackets around it and a remark in brackets after it; None for what is no name."""
    if not isinstance(name, str) or len(name) > SHOWN_CHARS:
        return None
    text = " ".join(name.replace("_", " ").split()).strip(MARKS).casefold()
    whole = BRACKETED.fullmatch(text)
    return (REMAINDER.sub("", text) if whole is None else whole[1]).strip(MARKS)


def _is_weak(name: object) -> bool:
    text = _plain(name)
    return text is not None and WEAK.fullmatch(text) is not None


def summary_rows(ids: Sequence[object]) -> list[int]:
    """Where such rows stand: at the end or on top, several in a row, with the like of `std` and `max` among them."""
    last = _run(ids, range(len(ids) - 1, -1, -1))
    first = _run(ids, range(len(ids) - last))
    return [*range(first), *range(len(ids) - last, len(ids))]


def _run(ids: Sequence[object], positions: range) -> int:
    """How many of these rows, from the first one on, are of averages; none where there are only names of the weaker kind."""
    count, known = 0, False
    for position in positions:
        strong = is_summary(ids[position])
        if not strong and not _is_weak(ids[position]):
            break
        count, known = count + 1, known or strong
    return count if known else 0


def summary_warning(pairing: Pairing) -> DataWarning | None:
    """The warning about such a row among the items, if there is one."""
    ids = pairing.ids
    rows = [] if ids is None else summary_rows(ids)
    if ids is None or not rows:
        return None
    names = ", ".join(json.dumps(str(ids[row])) for row in rows[:SHOWN_NAMES])
    where = "The first" if rows[0] == 0 and rows[-1] < len(ids) - 1 else "The last"
    detail = (
        f"{where} of {len(ids):,} items {'is' if len(rows) == 1 else 'are'} called {names}: a row of averages or totals is "
        "not an item. Remove it, or give the item another id."
    )
    return DataWarning("/ids", "summary_row", detail)
