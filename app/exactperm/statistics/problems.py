"""What statistics come down to: one sum of integer effects, or a function of several sums."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from ..engine.lattice import Exact, Integers, Wide, sum_by_cluster
from ..errors import InvalidTest
from .paired import Column, Pairing

if TYPE_CHECKING:
    from .sum_function import FunctionOf


@dataclass(frozen=True, slots=True)
class Rounding:
    """What 60 bits do not hold of the effects.

    Each effect is off by at most `each` lattice units, and S less the observed sum by at most `most`. `exact` are
    the effects as they are, in `exact_unit`: stay, and swap where it is given; None where they are too many.
    """

    each: int
    most: int
    exact: tuple[Wide, ...] | None = None
    exact_unit: Fraction = Fraction(1)


@dataclass(frozen=True, slots=True)
class Additive:
    """A statistic t = h(unit * S), S = sum over swapping units of stay or swap; shape (M,) each.

    `swap` None means -stay; h is the identity, or the absolute value when `absolute`. `items` counts
    items before clusters were summed. `score_u` and `score_v` are the systems' own scores; `samples` says how
    many repeated samples u and v had in all, None when there was one score per item. `shiftable` says that t is a
    difference of means or sums, which a margin or an interval can shift; `sizes`, shape (M,), how many of what the
    statistic counts (items, tokens) each unit has, None for one each. `rounding` says that stay and
    swap are rounded to 60 bits, None that they are exact. Where every unit is a single item, right or wrong,
    `all_right` is t if U were right on all of them and V on none; else None. `pairwise` says that an effect sums what
    pairs of items say, so that it depends on the other items: resamples of the effects are not resamples of the items.
    """

    name: str
    stay: Integers
    swap: Integers | None
    unit: Fraction
    items: int
    clusters: int | None = None
    absolute: bool = False
    score_u: Fraction | None = None
    score_v: Fraction | None = None
    samples: tuple[int, int] | None = None
    sizes: Integers | None = None
    shiftable: bool = False
    rounding: Rounding | None = None
    all_right: Fraction | None = None
    pairwise: bool = False


def require_items(count: int, pointer: str) -> None:
    """Refuse a test of nothing."""
    if count == 0:
        raise InvalidTest.at(pointer, "empty", "There are no items: give at least one item for each system.")


def require_same_length(first: int, second: int, pointer: str, names: tuple[str, str]) -> None:
    """Refuse columns that cannot be paired."""
    if first != second:
        raise InvalidTest.at(
            pointer,
            "length_mismatch",
            f"{names[0]} has {first} items and {names[1]} has {second}: both systems need a value for "
            "the same items in the same order (or give {id: value} objects to pair by id).",
        )


def clustered(values: Exact, pairing: Pairing) -> Exact:
    """Effects summed inside each cluster, or as they are when every item swaps by itself."""
    if pairing.clusters is None or pairing.n_clusters is None:
        return values
    require_same_length(len(values), len(pairing.clusters), "/clusters", ("The data", "clusters"))
    return sum_by_cluster(values, pairing.clusters, pairing.n_clusters)


def single_items(pairing: Pairing) -> bool:
    """Whether every item swaps by itself: there are no clusters, or none of more than one item."""
    return pairing.clusters is None or len(pairing.clusters) == pairing.n_clusters


def is_integral(*columns: Column) -> bool:
    """Whether every column holds integers as they were given."""
    return all(column.dtype == np.int64 for column in columns)


@dataclass(frozen=True, slots=True)
class Joint:
    """A statistic t = h(S) of k sums (Zmigrod, Vieira & Cotterell 2022, eq. 12): unit n adds stay[n] or swap[n], shape (M, k).

    For a difference of scores f(U) - f(V) the vector is U's counts followed by V's; t then changes its sign
    when everything is swapped (`mirrored`).
    """

    name: str
    stay: Integers
    swap: Integers
    function: FunctionOf
    items: int
    clusters: int | None = None
    mirrored: bool = False
    score_u: Fraction | float | None = None
    score_v: Fraction | float | None = None
