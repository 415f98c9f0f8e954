"""Test the fixture `exactperm` in a separate run of pytest."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from exactperm import gate
from tests.docs_pages import blocks
from tests.process.conftest import ROOT, Server

pytestmark = pytest.mark.slow

TESTS = """
from exactperm import files, metric, scores

GOOD, BAD = [1, 2, 3, 4, 5, 6], [0, 1, 2, 3, 4, 5]

def test_passes(exactperm):
    assert exactperm.gate(GOOD, BAD, policy="improve").verdict == "pass"

def test_fails(exactperm):
    exactperm.gate(BAD, GOOD, names=("new <b>", "*old*"))

def test_cannot_tell(exactperm):
    exactperm.gate([0, 1], [1, 1])

def test_cannot_tell_and_need_not(exactperm):
    assert exactperm.gate([0, 1], [1, 1], on_inconclusive="pass").verdict == "inconclusive"

def test_cannot_tell_and_must(exactperm):
    exactperm.gate(scores([0, 1], [1, 1]), on_inconclusive="fail")

def test_waits(exactperm):
    exactperm.gate(scores([1, 0, 1], [0, 0, 1], sequential={"mode": "anytime", "planned_n": 50}), policy="improve")

def test_cannot_be_compared(exactperm):
    exactperm.gate([1, 2], [1])

def test_several(exactperm):
    exactperm.gate(GOOD, BAD)
    exactperm.gate([metric("one", scores(GOOD, BAD)), metric("two", scores(BAD, GOOD))])
    exactperm.gate(GOOD, BAD)

def test_without_the_fixture():
    pass
"""


def run(folder: Path, *options: str) -> tuple[dict[str, ET.Element], str]:
    """The cases of the report by name, and what was printed."""
    (folder / "test_gates.py").write_text(TESTS)
    (page,) = blocks("docs/python.md", "python")
    (folder / "test_page.py").write_text(page)
    (folder / "pytest.ini").write_text("[pytest]\n")
    plugins = ["-p", "exactperm.pytest_plugin", "-p", "no:schemathesis", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *plugins, "--junitxml=report.xml", "-rs", *options],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT / "app")},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    cases = ET.parse(folder / "report.xml").getroot().iter("testcase")
    return {case.attrib["name"].removeprefix("test_"): case for case in cases}, done.stdout


def outcomes(cases: dict[str, ET.Element]) -> dict[str, str]:
    ends = ("failure", "error", "skipped")
    return {
        name: next((end for end in ends if case.find(end) is not None), "") for name, case in cases.items()
    }


EXPECTED = {
    "passes": "",
    "fails": "failure",
    "cannot_tell": "skipped",
    "cannot_tell_and_need_not": "",
    "cannot_tell_and_must": "failure",
    "waits": "skipped",
    "cannot_be_compared": "failure",
    "several": "failure",
    "without_the_fixture": "",
    "the_new_model_is_not_worse": "",
}


def figures(case: ET.Element) -> dict[str, str]:
    return {one.attrib["name"]: one.attrib["value"] for one in case.iter("property")}


def test_a_gate_in_a_test_and_its_figures_in_the_report(tmp_path: Path) -> None:
    cases, shown = run(tmp_path)
    assert outcomes(cases) == EXPECTED
    passed = figures(cases["passes"])
    assert passed["exactperm.mean_difference.verdict"] == "pass"
    p = gate([1, 2, 3, 4, 5, 6], [0, 1, 2, 3, 4, 5], policy="improve").p_value
    assert float(passed["exactperm.mean_difference.p_value"]) == p == 1 / 2**6
    failure = cases["fails"].find("failure")
    assert failure is not None
    message = failure.attrib["message"]
    assert message.startswith(
        "AssertionError: **FAIL** – Failed on mean_difference: p = 0.015625 <= alpha = 0.05: "
    )
    assert re.search(r"\n\* mean_difference \(higher is better\): -1 \(new \\<b>.*, \\\*old\\\*", message)
    assert "pytest_plugin.py" not in shown.partition("short test summary")[0].partition("test_cannot_be")[0]
    several = figures(cases["several"])
    assert [name for name in several if name.endswith(".verdict")] == [
        "exactperm.mean_difference.verdict",
        "exactperm.one.verdict",
        "exactperm.two.verdict",
    ]
    assert several["exactperm.two.verdict"] == "fail"
    assert figures(cases["without_the_fixture"]) == {}


def test_a_server_decides_the_same_and_inconclusive_fails_where_it_must(
    tmp_path: Path, start: Callable[..., Server]
) -> None:
    server = start(workers=1)
    strict, _ = run(tmp_path, "--exactperm-url", server.url, "--exactperm-inconclusive=fail")
    assert outcomes(strict) == EXPECTED | {"cannot_tell": "failure"}
    assert "/v1/gate" in server.log.read_text()
