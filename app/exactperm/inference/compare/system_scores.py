"""The score of each system by itself, and who is the better of two: what a board is sorted by."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

import numpy as np

from ...engine.lattice import Integers
from ...errors import InvalidTest, pointer_token, relocated
from ...statistics.paired import StatisticSpec, SystemColumn, Systems
from ...statistics.reducers import reduce
from .pair_data import counted_systems, pair_data

Score = Fraction | float
# These have a value of a pair alone.
_OF_PAIRS = ("sign", "signed_rank")


def system_scores(systems: Systems, spec: StatisticSpec) -> tuple[Score, ...]:
    """The statistic's own value of each system on the items it has, exact where it is rational.

    The sign test and signed ranks give one system no value: it is the mean of its scores there. Raises InvalidTest.
    """
    if spec.name in _OF_PAIRS:
        kept = {name: value for name, value in spec.parameters.items() if name in {"unit", "repeats"}}
        spec = StatisticSpec("mean_difference", kept)
    systems, spec = counted_systems(systems, spec)
    return tuple(_score(systems, name, spec) for name in systems.names)


def _score(systems: Systems, name: str, spec: StatisticSpec) -> Score:
    with relocated(pointers(name, name)):
        data = pair_data(systems, name, name)
        if data is None:
            raise InvalidTest.at("/u", "empty", f"{name} has no items: give it at least one.")
        score = reduce(data, spec).score_u
    assert score is not None
    return score


def system_sizes(systems: Systems) -> tuple[int, ...]:
    """How many items each system has."""
    return tuple(map(_items, systems.columns.values()))


def _items(column: SystemColumn) -> int:
    return len(next(iter(column.values()), ()) if isinstance(column, Mapping) else column)


def ordered_pairs(scores: Sequence[Score], *, higher_is_better: bool) -> Integers:
    """All pairs of positions, shape (m, 2): the better score first, of equal scores the first position."""
    # Doubles first, as rounding keeps the order; only equal ones are compared as fractions.
    signed = [score if higher_is_better else -score for score in scores]
    best_first = sorted(range(len(scores)), key=lambda at: (-float(signed[at]), -signed[at], at))
    one, other = np.triu_indices(len(scores), 1)
    return np.asarray(np.array(best_first, dtype=np.int64)[np.stack([one, other], axis=1)])


def pointers(u: str, v: str) -> Callable[[str], str]:
    """Where the parts of a pair's test are in a comparison: `/u` is the first system."""

    def moved(pointer: str) -> str:
        for role, name in (("/u", u), ("/v", v)):
            if pointer == role or pointer.startswith(f"{role}/"):
                return f"/systems/{pointer_token(name)}{pointer.removeprefix(role)}"
        return pointer

    return moved
