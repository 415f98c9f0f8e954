"""A gate as JUnit XML, which continuous integration shows among its test results: a test case for each metric."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET  # it only writes here

from app.inference.gate_record import GateRecord, MetricRecord
from app.reports.labels import short, single_line
from app.reports.numerals import exactly as given, probability
from app.reports.sentence import sentences

# What XML 1.0 cannot hold (section 2.2), after control characters are gone.
ILLEGAL = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit(gate: GateRecord, gate_id: str) -> bytes:
    """The gate as a test suite. What is inconclusive is skipped where it counts as a pass, and a failure where not."""
    cases = [_case(gate, metric) for metric in gate.metrics]
    failures = sum(case.find("failure") is not None for case in cases)
    skipped = sum(case.find("skipped") is not None for case in cases)
    counts = {
        "tests": str(len(cases)),
        "failures": str(failures),
        "errors": "0",
        "skipped": str(skipped),
        "time": "0",
    }
    suites = ET.Element("testsuites", {"name": "exactperm", **counts})
    suite = ET.SubElement(suites, "testsuite", {"name": "exactperm gate", **counts})
    properties = ET.SubElement(suite, "properties")
    for name, value in (
        ("id", gate_id),
        ("verdict", gate.verdict),
        ("correction", gate.correction or "none"),
    ):
        ET.SubElement(properties, "property", {"name": name, "value": value})
    suite.extend(cases)
    ET.indent(suites)
    return bytes(ET.tostring(suites, encoding="utf-8", xml_declaration=True)) + b"\n"


def _case(gate: GateRecord, metric: MetricRecord) -> ET.Element:
    terms, decision = metric.terms, metric.decision
    case = ET.Element(
        "testcase",
        {"name": _legal(short(metric.name)), "classname": f"exactperm.{terms.policy}", "time": "0"},
    )
    properties = ET.SubElement(case, "properties")
    said = {
        "verdict": metric.verdict,
        "p_value": probability(decision.p_value, decision.log10_p_value, terms.alpha),
        "p_value_adjusted": probability(
            decision.p_value_adjusted, decision.log10_p_value_adjusted, terms.alpha
        ),
        "alpha": given(terms.alpha),
        "margin": given(terms.margin),
        "procedure": decision.procedure,
        "difference": repr(metric.test.statistic.observed),
        "items": str(metric.test.items.n),
    }
    for name, value in said.items():
        ET.SubElement(properties, "property", {"name": name, "value": value})
    text = _legal("\n".join((metric.hypothesis, metric.reason, *sentences(metric.test))))
    message = _legal(single_line(metric.reason))
    failed = metric.verdict == "fail" or (metric.verdict == "inconclusive" and gate.on_inconclusive == "fail")
    if failed:
        ET.SubElement(case, "failure", {"type": metric.verdict, "message": message}).text = text
    elif metric.verdict == "inconclusive":
        ET.SubElement(case, "skipped", {"message": message})
    ET.SubElement(case, "system-out").text = text
    return case


def _legal(text: str) -> str:
    return ILLEGAL.sub("\ufffd", text)
