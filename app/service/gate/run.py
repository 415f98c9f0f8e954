"""The gate, from bytes to rendered answer; verdict, status and headers are read off one field of the record."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

from ...engine.plan import Budget
from ...errors import InvalidTest, PlanTooLarge
from ...inference.gate.gate import Metric, PreparedMetric, finish_gate, prepare_metric
from ...inference.gate.record import GateRecord, MetricRecord
from ...inference.paired_test import ALGORITHM_VERSION
from ...inference.record import TestRecord, reported
from ..messages import Job
from ..pointers import moved
from ..render_json import said_of, versions
from .parse import GateAsked, MetricAsked

PASSED = 200
OURS = "interval_not_available"  # nobody asked for the interval


@dataclass(frozen=True, slots=True)
class PreparedGate:
    """A gate that was validated and planned, and has not run."""

    asked: GateAsked
    metrics: tuple[PreparedMetric, ...]

    @property
    def seconds(self) -> float:
        """Predicted engine time of all its tests."""
        return sum(metric.seconds for metric in self.metrics)

    @property
    def longest_seconds(self) -> float:
        """What they take at the most."""
        return sum(metric.longest_seconds for metric in self.metrics)


def prepare_gate(job: Job, asked: GateAsked) -> PreparedGate:
    """Validate and plan every metric; raises InputError with pointers into what the client sent."""
    budget = Budget(job.limits.budget_operations, job.limits.budget_bytes)
    return PreparedGate(asked, tuple(_prepared(metric, budget) for metric in asked.metrics))


def _prepared(metric: MetricAsked, budget: Budget) -> PreparedMetric:
    asked = metric.asked

    def place(pointer: str) -> str:
        own = pointer.partition("/")[2].partition("/")[0] in {"policy", "margin", "higher_is_better"}
        return metric.term(pointer) if own else asked.place(pointer)

    try:
        return prepare_metric(
            Metric(metric.name, asked.data, asked.spec, asked.options, metric.terms), budget
        )
    except (InvalidTest, PlanTooLarge) as error:
        raise moved(error, place) from error


def run_gate(prepared: PreparedGate) -> GateRecord:
    """Run every metric and decide."""
    gate = finish_gate(prepared.metrics, prepared.asked.on_inconclusive, ALGORITHM_VERSION)
    metrics = tuple(
        replace(metric, test=_test(asked, metric.test))
        for asked, metric in zip(prepared.asked.metrics, gate.metrics, strict=True)
    )
    return replace(gate, metrics=metrics)


def _test(asked: MetricAsked, record: TestRecord) -> TestRecord:
    """The test with what its parsing found, and without a warning about an interval that nobody asked for."""
    if not asked.interval_asked:
        kept = tuple(caution for caution in record.warnings if caution.code != OURS)
        record = replace(record, warnings=kept)
    return reported(record, asked.asked.notes, asked.cautions)


def gate_id(gate: GateRecord) -> str:
    """Equal for equal requests under the same algorithm version."""
    return "g_" + gate.digest[:16]


def status_of(gate: GateRecord, fail_status: int) -> int:
    """200 for what may go on, whatever the reason; `fail_status` for what may not."""
    return PASSED if gate.passed else fail_status


def headers_of(gate: GateRecord) -> tuple[tuple[str, str], ...]:
    """What a script reads without reading the body."""
    p_value = gate.deciding.decision.p_value_adjusted
    return (("x-verdict", gate.verdict), ("x-p-value", repr(p_value)), ("etag", f'W/"{gate_id(gate)}"'))


def gate_answer(gate: GateRecord, asked: GateAsked, runtime: dict[str, float]) -> dict[str, Any]:
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
        "metrics": [_metric(metric, told) for metric, told in zip(gate.metrics, asked.metrics, strict=True)],
        "runtime": runtime,
        "versions": versions(),
        "signature": f"exactperm|alg:{ALGORITHM_VERSION}|gate|{gate.verdict}|metrics:{len(gate.metrics)}"
        f"|sha:{gate.digest[:8]}",
    }


def _metric(metric: MetricRecord, told: MetricAsked) -> dict[str, Any]:
    decision = asdict(metric.decision)
    decision["p_value_bounds"] = list(metric.decision.p_value_bounds)
    return {
        "name": metric.name,
        "verdict": metric.verdict,
        "reason": metric.reason,
        "hypothesis": metric.hypothesis,
        **asdict(metric.terms),
        "decision": decision,
        "test": said_of(metric.test, told.asked.data.pairing, told.asked.reading),
    }
