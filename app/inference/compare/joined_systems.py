"""The items of several data sets as those of one: what micro averages are of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ...engine.lattice import EXACT_DOUBLE, Integers
from ...errors import InvalidTest
from ...statistics.item_order import joined
from ...statistics.paired import Pairing
from ...statistics.systems import SystemColumn, Systems
from ...statistics.weights import joined_weights


def only(systems: Systems, names: Sequence[str]) -> Systems:
    """Some of the systems, in the order of `names`."""
    return replace(
        systems,
        columns={name: systems.columns[name] for name in names},
        present={name: systems.present[name] for name in names if name in systems.present},
    )


def joined_systems(parts: Sequence[Systems]) -> Systems:
    """All items of data sets with the same systems, of one kind, end to end.

    Ids and clusters belong to their data set: the same key in two sets is two items, or two clusters. Raises
    InvalidTest at /aggregate for integers that no double holds next to scores that are doubles.
    """
    detail = f"An integer is beyond {EXACT_DOUBLE} in size, and other data sets have decimals: scale the data down."
    refusal = InvalidTest.at("/aggregate", "integer_too_large", detail)
    sizes = [_size(part) for part in parts]
    starts = np.cumsum([0, *sizes])[:-1].tolist()
    names = parts[0].names
    golds = [part.gold for part in parts]
    return Systems(
        parts[0].kind,
        {name: joined([part.columns[name] for part in parts], refusal) for name in names},
        None if golds[0] is None else joined(golds, refusal),
        _pairing(parts, sizes),
        _present(parts, sizes, starts, names),
        joined_weights([(part.weights, size) for part, size in zip(parts, sizes, strict=True)]),
    )


def _size(systems: Systems) -> int:
    """N, at least up to the last item that any system has."""
    if systems.weights is not None:
        return len(systems.weights)
    if systems.gold is not None:
        return len(systems.gold)
    if systems.pairing.clusters is not None:
        return len(systems.pairing.clusters)
    complete = [_length(column) for name, column in systems.columns.items() if name not in systems.present]
    return max(*complete, *(int(own[-1]) + 1 for own in systems.present.values() if len(own)), 0, 0)


def _length(column: SystemColumn) -> int:
    return len(next(iter(column.values()), ()) if isinstance(column, Mapping) else column)


def _pairing(parts: Sequence[Systems], sizes: Sequence[int]) -> Pairing:
    if all(part.pairing.clusters is None for part in parts):
        return Pairing()
    codes, first = [], 0
    for part, size in zip(parts, sizes, strict=True):
        own, count = part.pairing.clusters, part.pairing.n_clusters
        if own is None or count is None:
            own, count = np.arange(size, dtype=np.int64), size
        codes.append(own + first)
        first += count
    return Pairing(clusters=np.concatenate(codes), n_clusters=first)


def _present(
    parts: Sequence[Systems], sizes: Sequence[int], starts: Sequence[int], names: Sequence[str]
) -> dict[str, Integers]:
    """Where the systems that lack items have some."""
    present = {}
    for name in names:
        if any(name in part.present for part in parts):
            own = [
                part.present.get(name, np.arange(size, dtype=np.int64)) + start
                for part, size, start in zip(parts, sizes, starts, strict=True)
            ]
            present[name] = np.concatenate(own)
    return present
