"""Prepare and run a comparison; errors point into what the client sent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...engine.plan import Budget
from ...errors import relocated
from ...inference.compare.compare import PreparedCompare, finish_compare, prepare_compare
from ...inference.compare.pair_tests import PairTests
from ...inference.compare.record import CompareRecord
from ..messages import Job
from .parse import ParsedCompare


def prepare_comparison(job: Job, parsed: ParsedCompare) -> PreparedCompare:
    """Validate and plan the tests of all pairs; raises InputError."""
    budget = Budget(job.limits.engine_budget_operations, job.limits.engine_budget_bytes)
    with relocated(parsed.pointer_map):
        return prepare_compare(parsed.comparison, budget)


def run_comparison(
    parsed: ParsedCompare, prepared: PreparedCompare, tests: Sequence[PairTests] | None = None
) -> CompareRecord:
    """Run the tests, unless others have: their `tests` board by board. Adjust, rank, and group."""
    with relocated(parsed.pointer_map):
        record = finish_compare(prepared, tests)
    return replace(record, reading=parsed.reading, warnings=(*parsed.warnings, *record.warnings))
