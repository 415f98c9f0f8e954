"""Comparisons of several data sets for tests, and overall p-values from all 2**n exchanges, in fractions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from exactperm.answers.board import BoardRecord, CompareRecord, PairRecord
from exactperm.engine.plan import Budget
from exactperm.inference.compare.compare import finish_compare, prepare_compare
from exactperm.inference.compare.comparison import Comparison
from exactperm.inference.options import Options
from exactperm.statistics.paired import Pairing, StatisticSpec, Weights
from exactperm.statistics.systems import Systems

Numbers = Sequence[float]
# By data set: the columns of each system.
DataSets = Mapping[str, Mapping[str, Numbers]]


def column(values: Numbers) -> Any:
    return np.array(values, dtype=np.int64 if all(isinstance(x, int) for x in values) else np.float64)


def systems_of(
    columns: Mapping[str, Numbers],
    clusters: Sequence[int] | None = None,
    weights: Sequence[int] | None = None,
) -> Systems:
    pairing = Pairing()
    if clusters is not None:
        pairing = Pairing(clusters=np.array(clusters, dtype=np.int64), n_clusters=len(set(clusters)))
    own = None if weights is None else Weights(Fraction(1), np.array(weights, dtype=np.int64))
    return Systems(
        "scores", {name: column(columns[name]) for name in sorted(columns)}, pairing=pairing, weights=own
    )


def compared(
    datasets: Mapping[str, Systems], statistic: str = "mean_difference", **given: Any
) -> CompareRecord:
    own = {name: given.pop(name) for name in tuple(given) if name in Comparison.__slots__}
    options = Options(**{"higher_is_better": True, **given})
    sets: dict[str | None, Systems] = {name: datasets[name] for name in sorted(datasets)}
    comparison = Comparison(sets, StatisticSpec(statistic), options, **own)
    return finish_compare(prepare_compare(comparison, Budget()))


def overall_of(datasets: DataSets, **given: Any) -> BoardRecord:
    board = compared({name: systems_of(columns) for name, columns in datasets.items()}, **given).overall
    assert board is not None
    return board


def pair_of(board: BoardRecord, u: str, v: str) -> PairRecord:
    """The test of two systems, in whatever order it is."""
    return next(pair for pair in board.pairs if {pair.u, pair.v} == {u, v})


def exact(value: float) -> Fraction:
    """A decimal as it is written."""
    return Fraction(repr(value))


def effects(
    datasets: DataSets,
    u: str,
    v: str,
    *,
    macro: bool,
    clusters: Mapping[str, Sequence[int]] | None = None,
) -> list[Fraction]:
    """What each unit adds to the statistic: an item's difference over D n of its data set, or over N."""
    items = sum(len(columns[u]) for columns in datasets.values())
    units: list[Fraction] = []
    for name, columns in datasets.items():
        share = Fraction(1, len(datasets) * len(columns[u])) if macro else Fraction(1, items)
        codes = range(len(columns[u])) if clusters is None else clusters[name]
        own: dict[int, Fraction] = {}
        for code, one, other in zip(codes, columns[u], columns[v], strict=True):
            own[code] = own.get(code, Fraction(0)) + share * (exact(one) - exact(other))
        units += own.values()
    return units


def brute_force(units: Sequence[Fraction], alternative: str = "two-sided") -> Fraction:
    """The exact p-value of the sum, over all exchanges."""
    observed, extreme = sum(units, Fraction(0)), 0
    for signs in product((1, -1), repeat=len(units)):
        total = sum((sign * unit for sign, unit in zip(signs, units, strict=True)), Fraction(0))
        if alternative == "two-sided":
            extreme += abs(total) >= abs(observed)
        else:
            extreme += total >= observed if alternative == "greater" else total <= observed
    return Fraction(extreme, 2 ** len(units))
