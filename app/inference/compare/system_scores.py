"""The score of each system by itself, and who is the better of two: what a board is sorted by."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

from ...errors import InvalidTest, pointer_token, relocated
from ...statistics.paired import StatisticSpec
from ...statistics.reducers import reduce
from ...statistics.systems import SystemColumn, Systems
from .pair_data import counted_systems, pair_data

Score = Fraction | float
# These have a value of a pair alone.
_OF_PAIRS = ("sign", "signed_rank")


def system_scores(systems: Systems, spec: StatisticSpec) -> tuple[Score, ...]:
    """The statistic's own value of each system on the items it has, exact where it is rational.

    The sign test and signed ranks give one system no value: it is the mean of its scores there. Raises InvalidTest.
    """
    if spec.name in _OF_PAIRS:
        kept = {name: value for name, value in spec.parameters.items() if name == "unit"}
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


def ordered_pairs(scores: Sequence[Score], *, higher_is_better: bool) -> list[tuple[int, int]]:
    """All pairs of positions, the better score first, of equal scores the first position."""
    best_first = sorted(
        range(len(scores)), key=lambda at: (-scores[at] if higher_is_better else scores[at], at)
    )
    return [(one, other) for place, one in enumerate(best_first) for other in best_first[place + 1 :]]


def pointers(u: str, v: str) -> Callable[[str], str]:
    """Where the parts of a pair's test are in a comparison: `/u` is the first system."""

    def moved(pointer: str) -> str:
        for role, name in (("/u", u), ("/v", v)):
            if pointer == role or pointer.startswith(f"{role}/"):
                return f"/systems/{pointer_token(name)}{pointer.removeprefix(role)}"
        return pointer

    return moved
