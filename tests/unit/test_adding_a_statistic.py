"""A statistic is a reducer and an entry of the registry: tried with Scott's pi, in a copy of the code.

Scott 1955, and the S of Bennett, Alpert & Goldstein (1954) by a parameter of its own. The oracle swaps items by hand and counts agreement.
"""

from __future__ import annotations

import itertools
import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow  # processes that import everything

ROOT = Path(__file__).resolve().parents[2]
REDUCER = '''"""Scott's pi and Bennett's S: agreement with gold beyond chance."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from ..engine.lattice import Integers
from . import formula
from .labels import coded
from .paired import Predictions, StatisticSpec
from .problems import Additive, Joint
from .reduction import difference_of_scores


def reduce_pi(data: Predictions, spec: StatisticSpec) -> Additive | Joint:
    """(n * right - e) / (n^2 - e), where e / n^2 is the agreement that is expected by chance; raises InvalidTest."""
    codes = coded(data)
    n, classes = len(codes.gold), range(len(codes.labels))
    gold = np.bincount(codes.gold, minlength=len(codes.labels)).tolist()
    predicted = [formula.variable(1 + k) for k in classes]
    if spec.parameters.get("chance") == "bennett":
        expected = formula.number(Fraction(n * n, len(codes.labels)))
    else:
        both = [formula.add(predicted[k], formula.number(gold[k])) for k in classes]
        expected = formula.scale(formula.add(*(formula.multiply(b, b) for b in both)), Fraction(1, 4))
    above = formula.subtract(formula.scale(formula.variable(0), Fraction(n)), expected)
    node = formula.divide(above, formula.subtract(formula.number(n * n), expected))

    def counts(system: Integers) -> Integers:
        masks = [system == codes.gold, *(system == k for k in classes)]
        return np.stack([np.bincount(codes.unit[mask], minlength=codes.items) for mask in masks], axis=1)

    return difference_of_scores(spec.name, node, counts(codes.u), counts(codes.v), data.pairing)
'''
ENTRY = """    Statistic(
        "scott_pi", "Scott's pi", "Agreement with gold beyond chance.", "(agreement - chance) / (1 - chance)",
        (Parameter("chance", "which frequencies chance has", "text", ("scott", "bennett"), "scott"),),
        kind="predictions", reducer="scott:reduce_pi",
    ),
"""
BEFORE = '    _span(\n        "span_f1"'
SERVE = """
import json, sys
from starlette.testclient import TestClient
from exactperm.main import create_app
from exactperm.settings import Settings
requests = json.load(sys.stdin)
with TestClient(create_app(Settings(workers=1))) as client:
    answers = []
    for method, path, body in requests:
        response = client.request(method, path, json=body)
        media = response.headers["content-type"]
        answers.append([response.status_code, response.json() if "json" in media else response.text])
print(json.dumps(answers))
"""
GOLD = ["a", "b", "a", "c", "b", "a", "c", "b", "a"]
U = ["a", "b", "b", "c", "b", "a", "a", "b", "a"]
V = ["b", "b", "a", "c", "a", "a", "c", "c", "c"]
PATH = "/v1/tests/predictions"


def run(folder: Path, *arguments: str, given: str = "") -> str:
    """What a process of its own prints, with the copy as its code."""
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(folder / "app")},
        input=given,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The code with one module and one entry more."""
    folder = tmp_path_factory.mktemp("copy")
    shutil.copytree(ROOT / "app", folder / "app", ignore=shutil.ignore_patterns("__pycache__"))
    statistics = folder / "app" / "exactperm" / "statistics"
    (statistics / "scott.py").write_text(REDUCER, encoding="utf-8")
    catalogue = statistics / "catalogue.py"
    text = catalogue.read_text(encoding="utf-8")
    assert text.count(BEFORE) == 1
    catalogue.write_text(text.replace(BEFORE, ENTRY + BEFORE), encoding="utf-8")
    return folder


def body(**statistic: Any) -> dict[str, Any]:
    return {"gold": GOLD, "u": U, "v": V, "statistic": {"name": "scott_pi", **statistic}}


@pytest.fixture(scope="module")
def answers(copy: Path) -> dict[str, Any]:
    """Status and body of each request, all sent to one server with the copy as its code."""
    requests = {
        "scott": ("POST", PATH, body()),
        "bennett": ("POST", PATH, body(chance="bennett")),
        "markdown": ("POST", f"{PATH}?format=markdown", body()),
        "unknown parameter": ("POST", PATH, body(smoothing=1)),
        "of others": ("POST", PATH, body(average="macro")),
        "unknown choice": ("POST", PATH, body(chance="fleiss")),
        "not of it": (
            "POST",
            PATH,
            {**body(chance="bennett"), "statistic": {"name": "mcc", "chance": "bennett"}},
        ),
        "meta": ("GET", "/v1/meta", None),
        "openapi": ("GET", "/openapi.json", None),
    }
    printed = run(copy, "-c", SERVE, given=json.dumps(list(requests.values())))
    return dict(zip(requests, json.loads(printed), strict=True))


def scott_pi(said: list[str], gold: list[str]) -> float:
    n, both = len(gold), Counter(said) + Counter(gold)
    chance = sum((count / (2 * n)) ** 2 for count in both.values())
    agreement = sum(a == b for a, b in zip(said, gold, strict=True)) / n
    return (agreement - chance) / (1 - chance)


def bennett_s(said: list[str], gold: list[str]) -> float:
    agreement = sum(a == b for a, b in zip(said, gold, strict=True)) / len(gold)
    return (agreement - 1 / 3) / (1 - 1 / 3)


ORACLES = {"scott": scott_pi, "bennett": bennett_s}


@pytest.mark.parametrize("chance", ORACLES)
def test_its_p_value_is_that_of_all_swaps(answers: dict[str, Any], chance: str) -> None:
    score, sizes = ORACLES[chance], []
    for swaps in itertools.product((False, True), repeat=len(GOLD)):
        first = [b if swap else a for a, b, swap in zip(U, V, swaps, strict=True)]
        second = [a if swap else b for a, b, swap in zip(U, V, swaps, strict=True)]
        sizes.append(abs(score(first, GOLD) - score(second, GOLD)))
    status, answer = answers[chance]
    assert status == 200, answer
    assert answer["method"]["exact"]
    assert answer["statistic"]["u"] == pytest.approx(score(U, GOLD), rel=1e-12)
    assert answer["p_value"] == pytest.approx(
        sum(size >= sizes[0] - 1e-9 for size in sizes) / len(sizes), rel=1e-12
    )
    assert 0.05 < answer["p_value"] < 0.9


def test_a_sentence_calls_it_by_its_title(answers: dict[str, Any]) -> None:
    status, text = answers["markdown"]
    assert status == 200
    assert "in Scott's pi" in text


def test_meta_and_with_it_the_page_has_it(answers: dict[str, Any]) -> None:
    (entry,) = [one for one in answers["meta"][1]["statistics"]["predictions"] if one["name"] == "scott_pi"]
    assert (entry["title"], entry["hint"]) == ("Scott's pi", "Agreement with gold beyond chance.")
    (parameter,) = entry["parameters"]
    assert (parameter["name"], parameter["choices"], parameter["default"]) == (
        "chance",
        ["scott", "bennett"],
        "scott",
    )


def test_the_openapi_document_has_its_name_and_its_parameter(answers: dict[str, Any]) -> None:
    document = answers["openapi"][1]
    properties = document["components"]["schemas"]["PredictionsStatistic"]["properties"]
    assert "scott_pi" in properties["name"]["enum"]
    assert properties["chance"]["anyOf"][0]["enum"] == ["scott", "bennett"]
    query = {one["name"]: one for one in document["paths"][PATH]["post"]["parameters"]}
    assert "scott_pi" in query["statistic"]["schema"]["enum"]
    assert "chance" in query


@pytest.mark.parametrize(
    ("request_", "pointer"),
    [
        ("unknown parameter", "/statistic/smoothing"),
        ("of others", "/statistic/average"),
        ("unknown choice", "/statistic/chance"),
        ("not of it", "/statistic/chance"),
    ],
)
def test_parameters_that_it_does_not_take_are_refused(
    answers: dict[str, Any], request_: str, pointer: str
) -> None:
    status, problem = answers[request_]
    assert status == 422, problem
    assert [error["pointer"] for error in problem["errors"]] == [pointer]


def test_the_command_line_takes_it_with_its_parameter(copy: Path, answers: dict[str, Any]) -> None:
    for name, labels in (("gold", GOLD), ("new", U), ("old", V)):
        lines = "\n\n".join(f"word B-{label}" for label in labels)
        (copy / f"{name}.conll").write_text(lines + "\n", encoding="utf-8")
    files = ("new.conll", "old.conll", "--gold", "gold.conll", "--input-format", "conll")
    options = ("--statistic", "scott_pi", "--chance", "bennett", "--format", "json")
    answer = json.loads(run(copy, "-m", "exactperm.cli", "test", *files, *options))
    assert answer["p_value"] == answers["bennett"][1]["p_value"]
    shown = run(copy, "-m", "exactperm.cli", "test", "--help")
    assert "--chance NAME" in shown
    assert "Of scott_pi: which frequencies" in shown
