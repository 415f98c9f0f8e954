"""The gate, from bytes to rendered answer; verdict, status and headers are read off one field of the record."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

from ...engine.plan import Budget
from ...errors import relocated
from ...inference.gate.gate import Metric, PreparedMetric, finish_gate, prepare_metric
from ...inference.gate.record import GateRecord, MetricRecord
from ...inference.paired_test import ALGORITHM_VERSION
from ...inference.record import TestRecord, reported
from ..messages import Job
from ..render_json import said_of, versions
from .parse import ParsedGate, ParsedMetric

PASSED = 200
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
    budget = Budget(job.limits.budget_operations, job.limits.budget_bytes)
    return PreparedGate(gate, tuple(_prepared(metric, budget) for metric in gate.metrics))


def _prepared(metric: ParsedMetric, budget: Budget) -> PreparedMetric:
    test = metric.test

    def pointer_map(pointer: str) -> str:
        of_terms = pointer.partition("/")[2].partition("/")[0] in {"policy", "margin", "higher_is_better"}
        return metric.pointer_map(pointer) if of_terms else test.pointer_map(pointer)

    with relocated(pointer_map):
        return prepare_metric(Metric(metric.name, test.data, test.spec, test.options, metric.terms), budget)


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
        kept = tuple(caution for caution in record.warnings if caution.code != NO_INTERVAL)
        record = replace(record, warnings=kept)
    return reported(record, parsed.test.notes, parsed.cautions)


def gate_id(gate: GateRecord) -> str:
    """Equal for equal requests under the same algorithm version."""
    return "g_" + gate.digest[:16]


def status_of(gate: GateRecord, fail_status: int) -> int:
    """200 for a gate that passed, for whatever reason; else `fail_status`."""
    return PASSED if gate.passed else fail_status


def headers_of(gate: GateRecord) -> tuple[tuple[str, str], ...]:
    """Headers for scripts that do not read the body."""
    p_value = gate.deciding.decision.p_value_adjusted
    return (("x-verdict", gate.verdict), ("x-p-value", repr(p_value)), ("etag", f'W/"{gate_id(gate)}"'))


def gate_answer(gate: GateRecord, parsed: ParsedGate, runtime: dict[str, float]) -> dict[str, Any]:
    """Every field of the gate's answer, in its order. What all metrics share is said on top as well."""
    deciding = gate.deciding
    return {
        "id": gate_id(gate),
        "verdict": gate.verdict,
        "passed": gate.passed,
        "reason": gate.reason,
        **asdict(deciding.terms),
        "on_inconclusive": gate.on_inconclusive,
        "correction": gate.correction,
        "p_value": deciding.decision.p_value_adjusted,
        "log10_p_value": deciding.decision.log10_p_value_adjusted,
        "metrics": [_metric(metric, own) for metric, own in zip(gate.metrics, parsed.metrics, strict=True)],
        "runtime": runtime,
        "versions": versions(),
        "signature": f"exactperm|alg:{ALGORITHM_VERSION}|gate|{gate.verdict}|metrics:{len(gate.metrics)}"
        f"|sha:{gate.digest[:8]}",
    }


def _metric(metric: MetricRecord, parsed: ParsedMetric) -> dict[str, Any]:
    decision = asdict(metric.decision)
    decision["p_value_bounds"] = list(metric.decision.p_value_bounds)
    return {
        "name": metric.name,
        "verdict": metric.verdict,
        "reason": metric.reason,
        "hypothesis": metric.hypothesis,
        **asdict(metric.terms),
        "decision": decision,
        "test": said_of(metric.test, parsed.test.data.pairing, parsed.test.reading),
    }
