"""The entry to comparisons: plans, tests, adjusts and records boards, as `paired_test` does for two systems."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import permutations

import numpy as np

from ...answers.board import BoardRecord, CompareRecord, FrontierRecord, SystemInterval
from ...answers.test import ReadingRecord, WarningRecord
from ...engine.lattice import Integers
from ...engine.plan import Budget
from ...errors import InvalidTest, mapped, pointer_token
from ...statistics.bradley_terry import strengths_of
from ...statistics.effects import WEIGHTED, require_unweighted
from ...statistics.paired import Repeated, Scores, StatisticSpec, Systems
from ..options import Options, canonical, options_by_name
from ..paired import ALGORITHM_VERSION
from ..target import MEANS, scaled
from ..warnings import planned_dust
from .adjustment import FEW, Adjusted, adjust_boards
from .board import board_record, noted
from .frontier import frontier_record
from .integer_systems import BinarySystems
from .max_t import PairSums, PlannedMaxT, plan_max_t
from .overall import overall_comparison, overall_systems, plan_overall
from .pair_tests import PairTests, exact_alpha, require_all
from .pairs import (
    ComputedIntervals,
    GeneralPairs,
    PairIntervals,
    PlannedPairs,
    plan_pairs,
    reduced,
    scores_of,
)
from .systems import Comparison, Score, ordered_pairs, pair_data, pointers, sorted_by_id, system_sizes

# A planned comparison: its cost, and the pointers of its errors


_OF_DATA = ("/systems", "/gold", "/clusters", "/ids", "/scores", "/weights")
# Fixed cost of a board: its tests' arrays, groups and record. It dominates a thousand small data sets.
_SECONDS_PER_BOARD = 8e-4
# The interval of one system: a few incomplete beta functions; of scores in a range a root over tails of each item.
_SECONDS_PER_TAIL, _SECONDS_PER_SCORE, _SECONDS_PER_END = 1.5e-3, 2e-7, 1e-5
# Adjustment, groups and records of one test, and more where its family is adjusted as fractions; and one attainable p-value,
# where these are listed.
_SECONDS_PER_TEST, _SECONDS_PER_FRACTION, _SECONDS_PER_VALUE = 6e-6, 8e-6, 2.5e-6


@dataclass(frozen=True, slots=True)
class PreparedBoard:
    """The systems of one data set, `name` (None for the only one), and the planned tests of their pairs.

    `pairs`, shape (m, 2), are positions in `systems.names`. `intervals` is set if there is a confidence level, `sums`
    for max_t. The `overall` board also has no name, and has the items of all data sets.
    """

    name: str | None
    systems: Systems
    scores: tuple[Score, ...]
    pairs: Integers
    planned: PlannedPairs
    intervals: PairIntervals | None
    warnings: tuple[WarningRecord, ...] = ()
    overall: bool = False
    sums: PairSums | None = None
    interval_seconds: float = 0.0  # of the systems' intervals; 0 without them

    @property
    def names(self) -> tuple[str, ...]:
        """The systems, by code point."""
        return self.systems.names

    @property
    def tests(self) -> int:
        """How many."""
        return len(self.pairs)

    @property
    def seconds(self) -> float:
        """Predicted time of the tests and the intervals."""
        return (
            self.planned.seconds
            + self.interval_seconds
            + (0.0 if self.intervals is None else self.intervals.seconds)
        )

    @property
    def longest_seconds(self) -> float:
        """Their time at most."""
        return self.planned.longest_seconds + self.seconds - self.planned.seconds

    def solve(self, start: int = 0, stop: int | None = None) -> PairTests:
        """The tests of the pairs from `start` to `stop`; their errors have pointers into the request."""
        places = of_overall if self.overall else partial(inside, prefix_of(self.name))
        return mapped(places, self.planned.solve, start, stop)


@dataclass(frozen=True, slots=True)
class PreparedCompare:
    """A validated and planned comparison; `max_t` are its families if adjusted so.

    `reading` tells how files were read, for the record.
    """

    comparison: Comparison
    boards: tuple[PreparedBoard, ...]
    warnings: tuple[WarningRecord, ...] = ()
    max_t: tuple[PlannedMaxT, ...] = ()
    reading: ReadingRecord | None = None
    frontier: tuple[PreparedBoard, PreparedBoard] | None = None  # quality and cost, of all ordered pairs

    @property
    def tests(self) -> int:
        """The number of tests on all boards."""
        return sum(board.tests for board in self.boards)

    @property
    def seconds(self) -> float:
        """Predicted engine time of the whole answer."""
        return sum(board.seconds for board in self.boards) + self._adjusting

    @property
    def longest_seconds(self) -> float:
        """Its time at most, infinite if unknown."""
        return sum(board.longest_seconds for board in self.boards) + self._adjusting

    @property
    def _adjusting(self) -> float:
        """Adjustment, groups and records."""
        listed = 0.0
        sizes = [board.tests for board in self.boards]
        families = [sum(sizes)] if self.comparison.family == "all" else sizes
        as_fractions = sum(tests for tests in families if tests <= FEW)
        if self.comparison.adjust == "holm_discrete":
            for board in self.boards:
                items = max(system_sizes(board.systems), default=0)
                # Pairs that differ on equally many items share it; about half of half the items.
                listed += min(board.tests, items) * items / 4.0
        return (
            _SECONDS_PER_BOARD * len(sizes)
            + _SECONDS_PER_TEST * sum(sizes)
            + _SECONDS_PER_FRACTION * as_fractions
            + _SECONDS_PER_VALUE * listed
            + sum(family.seconds for family in self.max_t)
            + sum(board.seconds for board in self.frontier or ())
        )


def prefix_of(name: str | None) -> str:
    """The pointer of a data set; "" for the only one."""
    return "" if name is None else f"/datasets/{pointer_token(name)}"


def of_overall(pointer: str) -> str:
    """The pointer of an overall board's data: it comes from all data sets, so errors point to /aggregate."""
    return "/aggregate" if pointer.startswith(_OF_DATA) else pointer


def inside(prefix: str, pointer: str) -> str:
    """Pointers to data are into their data set, others to the request."""
    return prefix + pointer if pointer.startswith(_OF_DATA) else pointer


# The identity of a comparison


def comparison_digest(comparison: Comparison, algorithm: str) -> str:
    """SHA-256, in hex, of the canonical request under one version of the algorithm.

    Systems and data sets are in the order of their names already, items in that of their ids (`sorted_by_id`).
    Columns enter by value, ids not at all: they only pair.
    """
    # The names of a pair are not part of a comparison.
    options = replace(comparison.options, name_u="", name_v="")
    settings = {
        "compare": [comparison.design, comparison.baseline, [list(pair) for pair in comparison.pairs]],
        "adjust": [comparison.adjust, comparison.family],
        "overall": [comparison.aggregate, comparison.combine],
        "listed": comparison.listed,
        "spec": [comparison.spec.name, dict(comparison.spec.parameters)],
        "options": options_by_name(options),
        "algorithm": algorithm,
        "datasets": [[name, systems.kind, list(systems.names)] for name, systems in _by_name(comparison)],
    }
    if comparison.range is not None:
        settings["range"] = list(comparison.range)  # ids are as old as boards without it
    if comparison.wins is not None:
        settings["preferences"] = True
    digest = hashlib.sha256(json.dumps(settings, sort_keys=True, default=str).encode())
    for _, systems in _by_name(comparison):
        _add(digest, systems)
    if comparison.cost is not None:
        digest.update(b"|cost:")
        _add(digest, comparison.cost)
    return digest.hexdigest()


def _by_name(comparison: Comparison) -> list[tuple[str | None, Systems]]:
    return sorted(comparison.datasets.items(), key=lambda each: each[0] or "")


def _add(digest: hashlib._Hash, systems: Systems) -> None:
    """Hash the data of one data set; values after a name are delimited by their length, or by JSON."""
    for name, column in systems.columns.items():
        digest.update(json.dumps(["system", name]).encode())
        for part in (column, systems.present.get(name)):
            digest.update(b"|")
            for chunk in canonical(part):
                digest.update(chunk)
    beside: list[tuple[str, object]] = [("gold", systems.gold), ("clusters", systems.pairing.clusters)]
    # Without these options, ids must stay as before.
    later = (("weights", systems.weights), ("groups", systems.groups), ("event", systems.event))
    beside += [(role, value) for role, value in later if value is not None]
    for role, value in beside:
        digest.update(f"|{role}:".encode())
        for chunk in canonical(value):
            digest.update(chunk)


# Floating-point dust in the scores of a board


def board_dust(systems: Systems, spec: StatisticSpec, options: Options) -> tuple[WarningRecord, ...]:
    """The warning about dust in scores, as for single tests; none for other data."""
    if systems.kind != "scores":
        return ()
    sides = [column.values if isinstance(column, Repeated) else column for column in systems.columns.values()]
    columns = [side for side in sides if isinstance(side, np.ndarray)]
    if len(columns) < len(sides) or all(column.dtype == np.int64 for column in columns):
        return ()
    values = np.concatenate([column.astype(np.float64) for column in columns])
    dust = planned_dust(Scores(values, values[:0]), spec, options, None)
    if dust is None:
        return ()
    likely = "" if dust.likely is None else f" {dust.likely} ties may be others."
    return (WarningRecord("float_dust", f"{dust.seen}.{likely}"),)


def prepare_compare(comparison: Comparison, budget: Budget) -> PreparedCompare:
    """Validate and plan; of boards whose pairs are tested one by one, only some pairs are planned.

    Raises InvalidTest and PlanTooLarge, with pointers such as `/systems/A` and `/datasets/mmlu/systems/A`.
    """
    datasets = {name: sorted_by_id(systems) for name, systems in comparison.datasets.items()}
    cost = None if comparison.cost is None else sorted_by_id(comparison.cost)
    comparison = replace(comparison, datasets=datasets, cost=cost)
    boards = []
    for name, systems in datasets.items():
        places = partial(inside, prefix_of(name))
        boards.append(mapped(places, _prepared, name, systems, comparison, budget))
    overall, warnings = mapped(of_overall, _prepared_overall, comparison, boards, budget)
    if overall is not None:
        boards.append(replace(overall, warnings=warnings))
        warnings = ()
    frontier = None
    if comparison.cost is not None:
        frontier = _prepared_frontier(comparison, comparison.cost, budget)
    planned = _planned_max_t(comparison, boards, budget)
    return PreparedCompare(comparison, tuple(boards), warnings, planned, frontier=frontier)


def _prepared_frontier(
    comparison: Comparison, cost: Systems, budget: Budget
) -> tuple[PreparedBoard, PreparedBoard]:
    """The one-sided tests of quality and of cost, which is lower if better."""
    ((name, systems),) = comparison.datasets.items()
    one_sided = replace(comparison.options, alternative="greater", confidence_level=None)
    one_way = replace(
        comparison,
        design="pairs",
        pairs=tuple(permutations(systems.names, 2)),
        adjust="none",
        listed="none",
        options=one_sided,
    )
    quality = _prepared(name, systems, one_way, budget)
    cheaper = replace(
        one_way, spec=StatisticSpec("mean_difference"), options=replace(one_sided, higher_is_better=False)
    )
    return quality, mapped(of_cost, _prepared, name, cost, cheaper, budget)


def of_cost(pointer: str) -> str:
    """The pointer of a cost, which is read like a score."""
    return f"/frontier/cost{pointer.removeprefix('/systems')}" if pointer.startswith("/systems") else pointer


def _planned_max_t(
    comparison: Comparison, boards: Sequence[PreparedBoard], budget: Budget
) -> tuple[PlannedMaxT, ...]:
    """The families in the order of the boards: one for each, or one of all data sets and the overall board's."""
    if comparison.adjust != "max_t":
        return ()
    families = [[board] for board in boards]
    if comparison.family == "all":
        of_overall = [[board] for board in boards if board.overall]
        families = [[board for board in boards if not board.overall], *of_overall]
    return tuple(
        plan_max_t([board.sums for board in family if board.sums is not None], comparison.options, budget)
        for family in families
    )


def _prepared(name: str | None, systems: Systems, comparison: Comparison, budget: Budget) -> PreparedBoard:
    spec, options = comparison.spec, comparison.options
    if options.exchange != "items" and comparison.adjust in {"max_t", "holm_discrete"}:
        detail = f"{comparison.adjust} adjusts tests that exchange items: use holm, or leave exchange out."
        raise InvalidTest.at("/adjust", "not_available", detail)
    if systems.weights is not None and spec.name not in WEIGHTED:
        require_unweighted(spec.name)
    once = reduced(systems, spec)
    scores = scores_of(systems, spec, once)
    pairs = _pairs(systems, scores, comparison)
    planned = plan_pairs(
        systems, spec, options, pairs, budget, once, with_nulls=comparison.adjust == "holm_discrete"
    )
    intervals = None
    if options.confidence_level is not None and comparison.listed != "none":
        intervals = PairIntervals(GeneralPairs(systems, spec, options, pairs, budget))
    # Two values cannot hide dust.
    dust = () if isinstance(once, BinarySystems) else board_dust(systems, spec, options)
    sums = None
    if comparison.adjust == "max_t":
        sums = PairSums(systems, spec, pairs, once, _is_turned(comparison))
    interval_seconds = 0.0
    if options.confidence_level is not None and _has_means(systems, spec):
        tails, each = (2, _SECONDS_PER_SCORE) if comparison.range is None else (16, _SECONDS_PER_END)
        interval_seconds = sum(tails * _SECONDS_PER_TAIL + each * n for n in system_sizes(systems))
    return PreparedBoard(
        name, systems, scores, pairs, planned, intervals, dust, sums=sums, interval_seconds=interval_seconds
    )


def _prepared_overall(
    comparison: Comparison, boards: Sequence[PreparedBoard], budget: Budget
) -> tuple[PreparedBoard | None, tuple[WarningRecord, ...]]:
    """The overall board or None, and notes about it."""
    overall, warnings = overall_systems(comparison, [board.scores for board in boards])
    if overall is None:
        return None, warnings
    over_sets = overall_comparison(comparison, overall.systems.names)
    pairs = _pairs(overall.systems, overall.scores, over_sets)
    planned, intervals = plan_overall(overall, over_sets, pairs, budget)
    sums = None
    if comparison.adjust == "max_t":
        if comparison.aggregate == "macro":
            detail = (
                "max_t is not available with equal weights for data sets: set aggregate to micro or null, "
                "or use another adjustment."
            )
            raise InvalidTest.at("/adjust", "not_available", detail)
        sums = PairSums(overall.systems, over_sets.spec, pairs, None, _is_turned(over_sets))
    board = PreparedBoard(
        None, overall.systems, overall.scores, pairs, planned, intervals, overall=True, sums=sums
    )
    return board, warnings


def _has_means(systems: Systems, spec: StatisticSpec) -> bool:
    """Whether a system's score is the mean of independent items that count alike."""
    of_items = systems.kind in {"scores", "predictions"} and spec.name in MEANS
    return of_items and systems.weights is None and systems.pairing.clusters is None


def _is_turned(comparison: Comparison) -> bool:
    """Whether effects favour v instead of u."""
    options = comparison.options
    return (options.alternative == "less") != (options.higher_is_better is False)


def _pairs(systems: Systems, scores: Sequence[Score], comparison: Comparison) -> Integers:
    """The pairs to test, positions by code point: all, each against the baseline, or those given."""
    places = {name: place for place, name in enumerate(systems.names)}
    if comparison.design == "all_pairs":
        higher = comparison.options.higher_is_better is not False
        return ordered_pairs(scores, higher_is_better=higher)
    if comparison.design == "baseline":
        if comparison.baseline not in places:
            detail = f"There is no system {comparison.baseline!r} to compare the others with."
            raise InvalidTest.at("/baseline", "unknown_system", detail)
        v = places[comparison.baseline]
        return np.array([(u, v) for u in places.values() if u != v], dtype=np.int64).reshape(-1, 2)
    for at, pair in enumerate(comparison.pairs):
        for side, system in enumerate(pair):
            if system not in places:
                raise InvalidTest.at(
                    f"/compare/{at}/{side}", "unknown_system", f"There is no system {system!r}."
                )
    places_of_pairs = [(places[u], places[v]) for u, v in comparison.pairs]
    return np.array(places_of_pairs, dtype=np.int64).reshape(-1, 2)


def finish_compare(prepared: PreparedCompare, tests: Sequence[PairTests] | None = None) -> CompareRecord:
    """Run the tests, unless others have: their `tests` by board, in the order of `prepared.boards`. Adjust and group.

    Raises InvalidTest if the adjustment does not apply to the tests, and the errors of `GeneralPairs.solve`.
    """
    comparison, options = prepared.comparison, prepared.comparison.options
    tests = [board.solve() for board in prepared.boards] if tests is None else tests
    for each in tests:
        require_all(each)
    adjusted = _adjusted(prepared, tests)
    boards: dict[str | None, BoardRecord] = {}
    for board, tests_of_board, family in zip(prepared.boards, tests, adjusted, strict=True):
        boards[board.name] = _recorded(board, tests_of_board, comparison, family)
    alone = boards.pop(None, None)
    named = {name: record for name, record in boards.items() if name is not None} or None
    record = CompareRecord(
        id=f"c_{comparison_digest(comparison, ALGORITHM_VERSION)}",
        statistic=comparison.spec.name,
        metric=options.metric,
        higher_is_better=options.higher_is_better is not False,
        compare=comparison.design,
        baseline=comparison.baseline,
        datasets=named,
        overall=None if named is None else alone,
        frontier=_frontier(prepared),
        warnings=prepared.warnings,
        reading=prepared.reading,
    )
    if comparison.wins is not None:
        strengths, why = strengths_of(prepared.boards[0].names, comparison.wins)
        detail = f"The Bradley-Terry model has no maximum likelihood here: {why}."
        more = (WarningRecord("no_bradley_terry", detail),) if strengths is None else ()
        record = replace(record, bradley_terry=strengths, warnings=(*record.warnings, *more))
    if named is not None or alone is None:
        return record
    return replace(record.with_board(alone), warnings=(*record.warnings, *alone.warnings))


def _frontier(prepared: PreparedCompare) -> FrontierRecord | None:
    """Run both kinds of tests, if there are costs."""
    if prepared.frontier is None:
        return None
    quality, cost = prepared.frontier
    tests = quality.solve(), cost.solve()
    for each in tests:
        require_all(each)
    return frontier_record(
        quality.names, list(map(float, cost.scores)), *tests, prepared.comparison.options.alpha
    )


def _recorded(
    board: PreparedBoard, tests: PairTests, comparison: Comparison, adjusted: Adjusted | None
) -> BoardRecord:
    """The record of one board; of the members of a larger family, with their `adjusted` p-values."""
    intervals = None if board.intervals is None else ComputedIntervals(board.intervals)
    sizes = system_sizes(board.systems)
    record = board_record(board.names, board.scores, sizes, tests, comparison, adjusted, intervals)
    if board.interval_seconds:
        intervals_by_name = {name: _interval(board, name, comparison) for name in board.names}
        record = replace(
            record,
            systems=tuple(
                replace(system, interval=intervals_by_name[system.name]) for system in record.systems
            ),
        )
    interval_warnings = () if intervals is None else intervals.warnings(board.names, tests)
    notes = noted(board.names, tests)
    return replace(record, warnings=(*board.warnings, *record.warnings, *notes, *interval_warnings))


def _interval(board: PreparedBoard, name: str, comparison: Comparison) -> SystemInterval | None:
    """Of one system's mean."""
    level, data = comparison.options.confidence_level, pair_data(board.systems, name, name)
    assert level is not None
    assert data is not None
    places = partial(inside, prefix_of(board.name))
    values = mapped(pointers(name, name), mapped, places, scaled, data, comparison.spec, comparison.range)
    if values is None:
        return None
    low, high, method = values.interval(level)
    ends = float(low), float(high)
    return SystemInterval(
        math.nextafter(ends[0], -math.inf) if ends[0] > low else ends[0],
        math.nextafter(ends[1], math.inf) if ends[1] < high else ends[1],
        method,
    )


def _adjusted(prepared: PreparedCompare, tests: Sequence[PairTests]) -> Sequence[Adjusted | None]:
    """The adjusted p-values by board; None if they follow from the board alone.

    The overall board is a separate family, and comes last.
    """
    comparison = prepared.comparison
    alpha = exact_alpha(comparison.options.alpha)
    sets = [of_board for of_board, board in zip(tests, prepared.boards, strict=True) if not board.overall]
    together = [sets, *([of_board] for of_board in tests[len(sets) :])]
    if prepared.max_t:
        families = together if comparison.family == "all" else [[of_board] for of_board in tests]
        planned_families = zip(prepared.max_t, families, strict=True)
        return [each for planned, family in planned_families for each in planned.adjusted(family, alpha)]
    if comparison.family == "all" and len(sets) > 1:
        alone: list[Adjusted | None] = [None] * (len(tests) - len(sets))
        return [*adjust_boards(sets, comparison.adjust, alpha), *alone]
    return [None] * len(tests)
