"""Systems, their pairs and the data of each pair."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from ...answers.board import Adjust, Aggregate, Combine, Design, Family, ListedPairs
from ...engine.lattice import Integers
from ...errors import InvalidTest, mapped, pointer_token
from ...statistics.columns import first_seen, taken, taken_pairing
from ...statistics.corpus import counted
from ...statistics.effects import taken_weights
from ...statistics.item_ids import order_of_items
from ...statistics.paired import (
    Column,
    Counts,
    Item,
    Paired,
    Predictions,
    Repeated,
    Scores,
    Segments,
    StatisticSpec,
    SystemColumn,
    Systems,
)
from ...statistics.reducers import reduce
from ..options import Options

# The validated request


@dataclass(frozen=True, slots=True)
class Comparison:
    """A validated request.

    Attributes
    ----------
    datasets
        The systems of each data set, by name in code-point order; a single board has the one name None.
    options
        Those of each test. `higher_is_better` is already settled.
    design, baseline, pairs
        All pairs; each system against the baseline; or the given pairs (u, v) by name, in their order.
    aggregate, combine
        The overall board over data sets, None for none: by one exact test of all items; or, with `combine`, from the
        one-sided p-values of the data sets.
    range
        The least and the largest possible score, for the intervals of single systems whose scores are not right or wrong.
    cost
        What each system costs on the items of the only data set; None where there is no frontier.
    wins
        Of preferences, how often each system won against each, shape (K, K); None of other data.
    listed
        Which pairs the answer lists; `auto` where they are more than an answer lists by itself.
    """

    datasets: Mapping[str | None, Systems]
    spec: StatisticSpec
    options: Options
    design: Design = "all_pairs"
    baseline: str | None = None
    pairs: tuple[tuple[str, str], ...] = ()
    adjust: Adjust = "holm"
    family: Family = "dataset"
    aggregate: Aggregate | None = "macro"
    combine: Combine | None = None
    listed: ListedPairs = "all"
    range: tuple[float, float] | None = None
    cost: Systems | None = None
    wins: NDArray[np.float64] | None = None

    @property
    def board_count(self) -> int:
        """How many boards the answer has."""
        return len(self.datasets) + (None not in self.datasets and self.aggregate is not None)


# The data of one pair: what both systems have, as every test of two systems takes it


def pair_data(systems: Systems, u: str, v: str) -> Paired | None:
    """The test data of systems `u` and `v` on their common items; None if there are none."""
    items, pairing = common_items(systems, u, v), systems.pairing
    if items is not None:
        if len(items) == 0:
            return None
        pairing = taken_pairing(pairing, items)
    one, other = (_on(systems, name, items) for name in (u, v))
    if systems.kind == "scores":
        weights = systems.weights if items is None else taken_weights(systems.weights, items)
        return Scores(cast("Column | Repeated", one), cast("Column | Repeated", other), pairing, weights)
    if systems.kind == "counts":
        return Counts(cast("Mapping[str, Column]", one), cast("Mapping[str, Column]", other), pairing)
    gold = cast("Sequence[Any]", systems.gold if items is None else taken(systems.gold, items))
    if systems.kind == "predictions":
        groups, event = systems.groups, systems.event
        if items is not None:
            groups = None if groups is None else first_seen(groups[items])
            event = None if event is None else event[items]
        return Predictions(
            gold, cast("Sequence[Item]", one), cast("Sequence[Item]", other), pairing, groups, event
        )
    return Segments(cast("Sequence[str]", one), cast("Sequence[str]", other), gold, pairing)


def common_items(systems: Systems, u: str, v: str) -> Integers | None:
    """Positions, ascending, of the items that both have; None for all."""
    present = [systems.present[name] for name in dict.fromkeys((u, v)) if name in systems.present]
    if not present:
        return None
    return present[0] if len(present) == 1 else np.intersect1d(present[0], present[1], assume_unique=True)


def counted_systems(systems: Systems, spec: StatisticSpec) -> tuple[Systems, StatisticSpec]:
    """Convert text segments to the counts of their statistic, once per system; return other data unchanged.

    Systems that lack items stay texts, as the counts of an item may depend on the other items (`corpus.counted`).
    """
    if systems.kind != "segments" or systems.present:
        return systems, spec
    columns: dict[str, SystemColumn] = {}
    names, counted_spec = systems.names, spec
    # Two at a time, as everything of a pair is counted together; the last one of an odd number with itself.
    for u, v in zip(names[::2], (*names[1::2], names[-1])[: len(names[::2])], strict=True):
        data = pair_data(systems, u, v)
        assert isinstance(data, Segments)
        counts, counted_spec = counted(data, spec)
        columns |= {u: counts.u, v: counts.v}
    return replace(systems, kind="counts", columns=columns, gold=None), counted_spec


def _on(systems: Systems, name: str, items: Integers | None) -> SystemColumn:
    """A system's column on some of the items."""
    column = systems.columns[name]
    if items is None:
        return column
    present = systems.present.get(name)
    if present is not None:
        if len(present) == len(items):
            return column
        items = np.searchsorted(present, items)
    return taken(column, items)


def sorted_by_id(systems: Systems) -> Systems:
    """The same systems with the items in the order of their ids, where they have any: nothing may depend on another one."""
    order = order_of_items(systems.pairing)
    if order is None:
        return systems
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    columns: dict[str, SystemColumn] = {}
    present: dict[str, Integers] = {}
    for name, column in systems.columns.items():
        present_items = systems.present.get(name)
        inside = order if present_items is None else np.argsort(place[present_items])
        columns[name] = taken(column, inside)
        if present_items is not None:
            present[name] = place[present_items][inside]
    return replace(
        systems,
        columns=columns,
        gold=taken(systems.gold, order),
        pairing=taken_pairing(systems.pairing, order),
        present=present,
        weights=taken_weights(systems.weights, order),
        groups=None if systems.groups is None else first_seen(systems.groups[order]),
        event=taken(systems.event, order),
    )


# The score of each system, and the better of two, for sorting a board


Score = Fraction | float
# These have a value of a pair alone.
_OF_PAIRS = ("sign", "signed_rank")


def system_scores(systems: Systems, spec: StatisticSpec) -> tuple[Score, ...]:
    """The statistic's own value of each system on the items it has, exact where it is rational.

    The sign test and signed ranks give one system no value: it is the mean of its scores there. Raises InvalidTest.
    """
    if spec.name in _OF_PAIRS:
        kept = {name: value for name, value in spec.parameters.items() if name in {"unit", "repeats", "k"}}
        spec = StatisticSpec("mean_difference", kept)
    systems, spec = counted_systems(systems, spec)
    return tuple(_score(systems, name, spec) for name in systems.names)


def _score(systems: Systems, name: str, spec: StatisticSpec) -> Score:
    data, places = pair_data(systems, name, name), pointers(name, name)
    if data is None:
        raise InvalidTest.at(places("/u"), "empty", f"{name} has no items: give it at least one.")
    score = mapped(places, reduce, data, spec).score_u
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
    """The pointers of a pair's test in a comparison: `/u` is the first system."""

    def moved(pointer: str) -> str:
        for role, name in (("/u", u), ("/v", v)):
            if pointer == role or pointer.startswith(f"{role}/"):
                return f"/systems/{pointer_token(name)}{pointer.removeprefix(role)}"
        return pointer

    return moved
