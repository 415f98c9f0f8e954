"""Prepare and run a gate; errors point into what the client sent."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...engine.plan import Budget
from ...errors import relocated
from ...inference.gate.gate import Metric, PreparedMetric, finish_gate, prepare_metric
from ...inference.gate.record import GateRecord
from ...inference.paired_test import ALGORITHM_VERSION
from ...inference.record import TestRecord, reported
from ..messages import Job
from .parse import ParsedGate, ParsedMetric

NO_INTERVAL = "interval_not_available"


@dataclass(frozen=True, slots=True)
class PreparedGate:
    """A gate that is validated and planned, and has not run."""

    parsed: ParsedGate
    metrics: tuple[PreparedMetric, ...]

    @property
    def seconds(self) -> float:
        """Predicted engine seconds of all its tests."""
        return sum(metric.seconds for metric in self.metrics)

    @property
    def longest_seconds(self) -> float:
        """Their upper bound."""
        return sum(metric.longest_seconds for metric in self.metrics)


def prepare_gate(job: Job, gate: ParsedGate) -> PreparedGate:
    """Validate and plan every metric; raises InputError with pointers into what the client sent."""
    budget = Budget(job.limits.engine_budget_operations, job.limits.engine_budget_bytes)
    return PreparedGate(gate, tuple(_prepared(metric, budget) for metric in gate.metrics))


def _prepared(metric: ParsedMetric, budget: Budget) -> PreparedMetric:
    test = metric.test

    def pointer_map(pointer: str) -> str:
        of_terms = pointer.partition("/")[2].partition("/")[0] in {"policy", "margin", "higher_is_better"}
        return metric.pointer_map(pointer) if of_terms else test.pointer_map(pointer)

    with relocated(pointer_map):
        asked = Metric(metric.name, test.data, test.spec, test.options, metric.terms, metric.against)
        return prepare_metric(asked, budget)


def run_gate(prepared: PreparedGate) -> GateRecord:
    """Run every metric and decide."""
    gate = finish_gate(prepared.metrics, prepared.parsed.on_inconclusive, ALGORITHM_VERSION)
    metrics = tuple(
        replace(metric, test=_test(parsed, metric.test))
        for parsed, metric in zip(prepared.parsed.metrics, gate.metrics, strict=True)
    )
    return replace(gate, metrics=metrics)


def _test(parsed: ParsedMetric, record: TestRecord) -> TestRecord:
    """The test with what is known from parsing, and without a warning about an interval that was not requested."""
    if not parsed.interval_requested:
        kept = tuple(warning for warning in record.warnings if warning.code != NO_INTERVAL)
        record = replace(record, warnings=kept)
    return reported(record, parsed.test.reading_record, parsed.warnings)
