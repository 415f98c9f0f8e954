"""Step-down max T by its definition: all 2**n common exchanges, statistics squared as fractions."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from exactperm.answers.board import BoardRecord, PairRecord
from exactperm.engine.plan import Budget
from exactperm.inference.compare.compare import finish_compare, prepare_compare
from exactperm.inference.compare.comparison import Comparison
from exactperm.inference.options import Options
from exactperm.statistics.paired import Pairing, StatisticSpec
from exactperm.statistics.systems import Systems

Table = Sequence[Sequence[int]]


def squared(total: int, square: int) -> Fraction:
    """T**2 with T's sign; a sum without effects has T = 0."""
    return Fraction(total * abs(total), square) if square else Fraction(0)


def adjusted_by_enumeration(effects: Table, *, two_sided: bool = True) -> list[Fraction]:
    """The adjusted p-value of each row of effects, shape (m, n): one sign for each unit, common to all rows."""
    squares = [sum(d * d for d in row) for row in effects]

    def statistics(signs: Sequence[int]) -> list[Fraction]:
        sums = [sum(e * d for e, d in zip(signs, row, strict=True)) for row in effects]
        return [
            squared(abs(total) if two_sided else total, square)
            for total, square in zip(sums, squares, strict=True)
        ]

    units = len(effects[0])
    observed = statistics([1] * units)
    under_null = [statistics(signs) for signs in product((1, -1), repeat=units)]
    adjusted: dict[Fraction, Fraction] = {}
    largest = Fraction(0)
    for height in sorted(set(observed), reverse=True):
        behind = [k for k, own in enumerate(observed) if own <= height]
        reached = sum(any(sample[k] >= height for k in behind) for sample in under_null)
        largest = max(largest, Fraction(reached, len(under_null)))
        adjusted[height] = largest
    return [adjusted[own] for own in observed]


def systems(
    scores: Any,
    *,
    clusters: Sequence[int] | None = None,
    present: dict[str, list[int]] | None = None,
) -> Systems:
    """Systems s0, s1, ... from rows of scores; those in `present` have some items alone."""
    pairing = Pairing()
    if clusters is not None:
        pairing = Pairing(np.array(clusters, dtype=np.int64), len(set(clusters)))
    own = {name: np.array(items, dtype=np.int64) for name, items in (present or {}).items()}
    columns = {}
    for at, row in enumerate(scores):
        name, values = f"s{at}", np.array(row)
        columns[name] = values[own[name]] if name in own else values
    return Systems("scores", columns, pairing=pairing, present=own)


def compared(
    data: Systems | dict[str | None, Systems],
    statistic: str = "mean_difference",
    *,
    budget: Budget | None = None,
    design: dict[str, Any] | None = None,
    adjust: Any = "max_t",
    **options: Any,
) -> dict[str | None, BoardRecord]:
    """The boards of a comparison with max_t."""
    datasets: dict[str | None, Systems] = {None: data} if isinstance(data, Systems) else data
    given = Options(**{"higher_is_better": True, **options})
    comparison = Comparison(
        datasets, StatisticSpec(statistic), given, adjust=adjust, **{"aggregate": None, **(design or {})}
    )
    return dict(finish_compare(prepare_compare(comparison, budget or Budget())).boards)


def by_names(pairs: Sequence[PairRecord]) -> dict[tuple[str, str], PairRecord]:
    """Pairs by the names of u and v, in both orders."""
    return {names: pair for pair in pairs for names in ((pair.u, pair.v), (pair.v, pair.u))}


def inside(value: Fraction, pair: PairRecord) -> bool:
    """Whether an adjusted p-value is within its bounds, compared exactly."""
    low, high = pair.p_adjusted_bounds
    return Fraction(low) <= value <= Fraction(high)
