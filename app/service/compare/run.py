"""Prepare and run a comparison; errors point into what the client sent."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ...engine.plan import Budget
from ...errors import relocated
from ...inference.compare.compare import finish_compare, prepare_compare
from ...inference.compare.pair_data import pair_data
from ...inference.compare.pair_tests import PairTests
from ...inference.compare.plan_record import BoardPlanRecord, ComparePlanRecord
from ...inference.compare.prepared import PreparedCompare
from ...inference.compare.record import CompareRecord
from ...inference.record import ReadingRecord, WarningRecord
from ...statistics import corpus
from ...statistics.paired import Segments
from ..messages import Job
from .parse import ParsedCompare


@dataclass(frozen=True, slots=True)
class Told:
    """What the answer says about how the data was read."""

    reading: ReadingRecord | None
    warnings: tuple[WarningRecord, ...]


def told(parsed: ParsedCompare) -> Told:
    """The same of a comparison that was parsed."""
    return Told(parsed.reading, parsed.warnings)


def counting_seconds(parsed: ParsedCompare) -> float:
    """Predicted seconds for counting the texts of all systems, which comes before a plan; else 0."""
    comparison, seconds = parsed.comparison, 0.0
    for systems in comparison.datasets.values():
        if systems.kind == "segments":
            # Each system is counted once; where systems lack items, for each of its pairs.
            k = len(systems.names)
            times = k * (k - 1) / 2 if systems.present else k / 2
            some = pair_data(systems, *systems.names[:2])
            if isinstance(some, Segments):
                seconds += times * corpus.counting_seconds(some, comparison.spec)
    return seconds


def prepare_comparison(job: Job, parsed: ParsedCompare) -> PreparedCompare:
    """Validate and plan the tests of all pairs; raises InputError."""
    budget = Budget(job.limits.engine_budget_operations, job.limits.engine_budget_bytes)
    with relocated(parsed.pointer_map):
        return prepare_compare(parsed.comparison, budget)


def plan_of_comparison(prepared: PreparedCompare) -> ComparePlanRecord:
    """What the comparison would do and cost, without doing it."""
    longest = prepared.longest_seconds
    return ComparePlanRecord(
        tests=prepared.tests,
        seconds=prepared.seconds,
        longest_seconds=longest if math.isfinite(longest) else None,
        boards=tuple(
            BoardPlanRecord(board.name, len(board.names), board.tests, board.planned.methods, board.seconds)
            for board in prepared.boards
        ),
    )


def run_comparison(
    prepared: PreparedCompare, told: Told, tests: Sequence[PairTests] | None = None
) -> CompareRecord:
    """Run the tests, unless others have: their `tests` board by board. Adjust, rank, and group."""
    record = finish_compare(prepared, tests)
    return replace(record, reading=told.reading, warnings=(*told.warnings, *record.warnings))
