"""A gate as JUnit XML, for GitLab, GitHub's reporters and Jenkins.

Every metric is a suite with one case, because the schema of Jenkins (junit-10.xsd of its xUnit plugin) has
properties of suites only. Times are 0, so that the same gate gives the same bytes.
"""

from __future__ import annotations

from xml.etree import ElementTree as ET

from ..answers.gate import GateRecord, MetricRecord
from ..presentation.columns import MISSING, cells
from ..presentation.escaping import for_sentence, for_xml
from ..presentation.numbers import exactly
from .sentences import metric_sentences

_CLASS = "exactperm.gate"
_NOT_MEASURED = "0"


def junit(gate: GateRecord, gate_id: str) -> bytes:
    """UTF-8 with a declaration. There is a failure exactly when the gate does not pass."""
    outcomes = [_outcome(gate, metric) for metric in gate.metrics]
    root = ET.Element(
        "testsuites",
        name=f"exactperm {gate_id}",
        tests=str(len(outcomes)),
        failures=str(outcomes.count("failure")),
        errors="0",
        time=_NOT_MEASURED,
    )
    for metric, outcome in zip(gate.metrics, outcomes, strict=True):
        root.append(_suite(gate, gate_id, metric, outcome))
    ET.indent(root)
    return bytes(ET.tostring(root, encoding="UTF-8", xml_declaration=True)) + b"\n"


def _outcome(gate: GateRecord, metric: MetricRecord) -> str | None:
    """The element of a metric that did not pass; None if it passed."""
    if metric.verdict == "pass":
        return None
    lenient = metric.verdict == "continue" or (
        metric.verdict == "inconclusive" and gate.on_inconclusive == "pass"
    )
    return "skipped" if lenient else "failure"


def _suite(gate: GateRecord, gate_id: str, metric: MetricRecord, outcome: str | None) -> ET.Element:
    suite = ET.Element(
        "testsuite",
        name=for_xml(metric.name) or "(unnamed)",
        tests="1",
        failures=str(int(outcome == "failure")),
        errors="0",
        skipped=str(int(outcome == "skipped")),
        time=_NOT_MEASURED,
    )
    properties = ET.SubElement(suite, "properties")
    for name, value in _properties(gate, gate_id, metric).items():
        ET.SubElement(properties, "property", name=for_xml(name), value=for_xml(value))
    case = ET.SubElement(
        suite, "testcase", name=for_xml(metric.name) or "(unnamed)", classname=_CLASS, time=_NOT_MEASURED
    )
    sentences = [
        f"Policy {metric.terms.policy}: {metric.hypothesis}",
        metric.reason,
        *metric_sentences(metric, for_sentence),
    ]
    sentences += [f"{warning.code}: {warning.detail}" for warning in metric.test.warnings]
    sentences += [f"Read: {note}" for note in metric.test.notes]
    body = "\n".join(for_xml(sentence) for sentence in sentences)
    if outcome is not None:
        element = ET.SubElement(case, outcome, type=metric.terms.policy, message=for_xml(metric.reason))
        element.text = body
    ET.SubElement(case, "system-out").text = body
    return suite


def _slices(metric: MetricRecord) -> dict[str, str]:
    if metric.slices is None:
        return {}
    p_values = {f"p_adjusted of slice {item.slice}": repr(item.p_adjusted) for item in metric.slices.items}
    return {"slices_p_value": repr(metric.slices.p_value), "worst_slice": metric.slices.worst} | p_values


def _properties(gate: GateRecord, gate_id: str, metric: MetricRecord) -> dict[str, str]:
    terms, decision, record = metric.terms, metric.decision, metric.test
    properties = {
        "id": gate_id,
        "verdict": metric.verdict,
        **({} if metric.against is None else {"against": metric.against}),
        "policy": terms.policy,
        "margin": exactly(terms.margin),
        **({} if terms.threshold is None else {"threshold": exactly(terms.threshold)}),
        "alpha": exactly(terms.alpha),
        "higher_is_better": str(terms.higher_is_better).lower(),
        "on_inconclusive": gate.on_inconclusive,
        "procedure": decision.procedure,
        "p_value": repr(decision.p_value),
        "p_value_adjusted": repr(decision.p_value_adjusted),
        "log10_p_value_adjusted": repr(decision.log10_p_value_adjusted),
        "correction": gate.correction or "none",
        "statistic": record.statistic.name,
        **({} if record.statistic.metric is None else {"metric": record.statistic.metric}),
        "observed": repr(record.statistic.observed),
        "items": str(record.items.n),
        **{name: value for name, value in cells(MISSING, record).items() if value},
        **_slices(metric),
        "warnings": " ".join(warning.code for warning in record.warnings),
    }
    interval = record.confidence_interval
    if interval is not None:
        properties["confidence_level"] = repr(interval.level)
        properties["confidence_low"] = "-inf" if interval.low is None else repr(interval.low)
        properties["confidence_high"] = "inf" if interval.high is None else repr(interval.high)
    return properties
