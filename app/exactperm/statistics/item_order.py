"""Some of the items, all in another order, or those of several data sets: of columns, of pairings, and of the data of a test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain, islice
from operator import le
from typing import Any, TypeVar

import numpy as np

from ..engine.lattice import EXACT_DOUBLE, Integers
from ..errors import InvalidTest
from .paired import Counts, Effects, NamedCounts, Paired, Pairing, Predictions, Repeated, Scores, Segments
from .weights import taken_weights

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
        ones = [
            column if isinstance(column, Repeated) else Repeated(column, np.ones(len(column), dtype=np.int64))
            for column in columns
        ]
        lengths = np.concatenate([column.lengths for column in ones])
        return Repeated(joined([column.values for column in ones], refusal), lengths)
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
    pairing = taken_pairing(data.pairing, order)
    if isinstance(data, Effects):
        return replace(data, stay=taken(data.stay, order), swap=taken(data.swap, order), pairing=pairing)
    # Of the kind that they had.
    u: Any = taken(data.u, order)
    v: Any = taken(data.v, order)
    if isinstance(data, Scores):
        gaps = data.gaps
        if gaps is not None and gaps.clusters is not None:
            # The complete items come first.
            clusters = np.concatenate([gaps.clusters[order], gaps.clusters[len(order) :]])
            gaps = replace(gaps, clusters=first_seen(clusters))
        return replace(data, u=u, v=v, pairing=pairing, weights=taken_weights(data.weights, order), gaps=gaps)
    if isinstance(data, Counts):
        return replace(data, u=u, v=v, pairing=pairing)
    if isinstance(data, Segments):
        return replace(data, u=u, v=v, references=taken(data.references, order), pairing=pairing)
    assert isinstance(data, Predictions)
    groups = None if data.groups is None else first_seen(data.groups[order])
    return replace(
        data,
        gold=taken(data.gold, order),
        u=u,
        v=v,
        pairing=pairing,
        groups=groups,
        event=taken(data.event, order),
    )
