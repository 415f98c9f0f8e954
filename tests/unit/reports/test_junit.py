"""JUnit XML against what Jenkins' xUnit plugin validates (junit-10.xsd), and what it says of a gate."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import product
from xml.etree import ElementTree as ET

import pytest

from exactperm.answers.gate import GateRecord
from exactperm.reports.junit import junit
from tests.unit.reports.conftest import GATE_TEST, metric_of

Gate = Callable[..., GateRecord]
COUNTS = {"name", "tests", "failures", "errors", "time"}
# Element: attributes it needs, attributes it may have besides, elements it may hold. From the schema's declarations.
SCHEMA: dict[str, tuple[set[str], set[str], set[str]]] = {
    "testsuites": (set(), COUNTS, {"testsuite"}),
    "testsuite": (
        COUNTS - {"time"},
        {"time", "skipped", "timestamp", "hostname", "id", "package", "file", "log", "url", "group"},
        {"testsuite", "properties", "testcase", "system-out", "system-err"},
    ),
    "properties": (set(), set(), {"property"}),
    "property": ({"name", "value"}, set(), set()),
    "testcase": (
        {"name"},
        {"time", "classname", "group"},
        {"skipped", "error", "failure", "system-out", "system-err"},
    ),
    "failure": (set(), {"type", "message"}, set()),
    "skipped": (set(), {"type", "message"}, set()),
    "system-out": (set(), set(), set()),
}


def read(gate: GateRecord) -> ET.Element:
    return ET.fromstring(junit(gate, "g_1"))


def require_valid(element: ET.Element) -> None:
    needed, allowed, children = SCHEMA[element.tag]
    assert needed <= set(element.keys()) <= needed | allowed, element.tag
    assert {child.tag for child in element} <= children, element.tag
    if "time" in element.keys():  # noqa: SIM118  # an element is no mapping
        assert re.fullmatch(r"[0-9]{0,3}(\.[0-9]*)?", str(element.get("time")))
    for child in element:
        require_valid(child)


@pytest.mark.parametrize("on_inconclusive", ["pass", "fail"])
@pytest.mark.parametrize("verdicts", [*product(["pass", "fail", "inconclusive"], repeat=2), ("pass",)])
def test_there_is_a_failure_exactly_when_the_gate_does_not_pass(
    gate: Gate, verdicts: tuple[str, ...], on_inconclusive: str
) -> None:
    made = gate(*((f"m{n}", each) for n, each in enumerate(verdicts)), on_inconclusive=on_inconclusive)
    root = read(made)
    require_valid(root)
    assert (root.find(".//failure") is None) == made.passed
    cases = root.findall(".//testcase")
    assert [case.get("name") for case in cases] == [metric.name for metric in made.metrics]
    for case, verdict in zip(cases, verdicts, strict=True):
        failed = verdict == "fail" or (verdict == "inconclusive" and on_inconclusive == "fail")
        assert (case.find("failure") is not None) == failed
        assert (case.find("skipped") is not None) == (verdict == "inconclusive" and not failed)


def test_the_counts_are_those_of_the_cases(gate: Gate) -> None:
    root = read(gate(("a", "fail"), ("b", "inconclusive"), ("c", "pass"), ("d", "fail")))
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("4", "2", "0")
    for element in (root, *root):
        assert int(str(element.get("tests"))) == len(element.findall(".//testcase"))
        assert int(str(element.get("failures"))) == len(element.findall(".//failure"))
    for suite in root:
        assert int(str(suite.get("skipped"))) == len(suite.findall(".//skipped"))


def test_a_failure_says_why_and_how_large_the_difference_is(gate: Gate) -> None:
    failure = read(gate(("a", "fail"))).find(".//failure")
    assert failure is not None
    assert failure.get("message") == GATE_REASON
    assert failure.get("type") == "no_regression"
    assert "The candidate scored 0.866 and the baseline 0.81 in mean over 5 items" in str(failure.text)


GATE_REASON = "p = 0.03125 <= alpha = 0.05: the candidate is significantly better than the baseline."


def test_the_properties_are_what_was_asked_and_found(gate: Gate) -> None:
    root = read(
        gate(metric_of(GATE_TEST, policy="improve", margin=0.01, p=0.02, adjusted=0.04), ("b", "pass"))
    )
    found = {str(each.get("name")): each.get("value") for each in root[0].iter("property")}
    assert found["id"] == "g_1"
    assert (found["policy"], found["margin"], found["alpha"]) == ("improve", "0.01", "0.05")
    assert (found["p_value"], found["p_value_adjusted"], found["correction"]) == ("0.02", "0.04", "holm")


def test_the_same_gate_gives_the_same_bytes_in_utf_8(gate: Gate) -> None:
    made = gate(("accuracy é", "pass"))
    assert junit(made, "g_1") == junit(made, "g_1")
    assert junit(made, "g_1").startswith(b"<?xml version='1.0' encoding='UTF-8'?>")
    assert "accuracy é".encode() in junit(made, "g_1")
