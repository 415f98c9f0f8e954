"""A statistic is a reducer and an entry of the registry: tried with Cohen's kappa, in a copy of the code.

Cohen 1960, and Scott's pi (1955) by a parameter of its own. The oracle swaps items by hand and counts agreement.
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
from sklearn.metrics import cohen_kappa_score

pytestmark = pytest.mark.slow  # processes that import everything

ROOT = Path(__file__).resolve().parents[2]
REDUCER = '''"""Cohen's kappa and Scott's pi: agreement with gold beyond chance."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from ..engine.lattice import Integers
from . import formula
from .additive_problem import Additive
from .joint_problem import Joint
from .paired import Predictions, StatisticSpec
from .reduction import difference_of_scores
from .tokens import coded


def reduce_kappa(data: Predictions, spec: StatisticSpec) -> Additive | Joint:
    """(n * right - e) / (n^2 - e), where e / n^2 is the agreement that is expected by chance; raises InvalidTest."""
    codes = coded(data)
    n, classes = len(codes.gold), range(len(codes.labels))
    gold = np.bincount(codes.gold, minlength=len(codes.labels)).tolist()
    predicted = [formula.variable(1 + k) for k in classes]
    if spec.parameters.get("chance") == "scott":
        both = [formula.add(predicted[k], formula.number(gold[k])) for k in classes]
        expected = formula.scale(formula.add(*(formula.multiply(b, b) for b in both)), Fraction(1, 4))
    else:
        expected = formula.add(*(formula.scale(predicted[k], Fraction(gold[k])) for k in classes))
    above = formula.subtract(formula.scale(formula.variable(0), Fraction(n)), expected)
    node = formula.divide(above, formula.subtract(formula.number(n * n), expected))

    def counts(system: Integers) -> Integers:
        masks = [system == codes.gold, *(system == k for k in classes)]
        return np.stack([np.bincount(codes.unit[mask], minlength=codes.items) for mask in masks], axis=1)

    return difference_of_scores(spec.name, node, counts(codes.u), counts(codes.v), data.pairing)
'''
ENTRY = """    Statistic(
        "cohen_kappa", "Cohen's kappa", "Agreement with gold beyond chance.", "(agreement - chance) / (1 - chance)",
        (Parameter("chance", "whose frequencies chance has", "text", ("cohen", "scott"), "cohen"),),
        kind="predictions", reducer="kappa:reduce_kappa",
    ),
"""
BEFORE = '    _span("span_f1"'
SERVE = """
import json, sys
from starlette.testclient import TestClient
from app.main import create_app
from app.settings import Settings
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
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(folder)},
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
    statistics = folder / "app" / "statistics"
    (statistics / "kappa.py").write_text(REDUCER, encoding="utf-8")
    catalogue = statistics / "catalogue.py"
    text = catalogue.read_text(encoding="utf-8")
    assert text.count(BEFORE) == 1
    catalogue.write_text(text.replace(BEFORE, ENTRY + BEFORE), encoding="utf-8")
    return folder


def body(**statistic: Any) -> dict[str, Any]:
    return {"gold": GOLD, "u": U, "v": V, "statistic": {"name": "cohen_kappa", **statistic}}


@pytest.fixture(scope="module")
def answers(copy: Path) -> dict[str, Any]:
    """Status and body of each request, all sent to one server with the copy as its code."""
    requests = {
        "cohen": ("POST", PATH, body()),
        "scott": ("POST", PATH, body(chance="scott")),
        "markdown": ("POST", f"{PATH}?format=markdown", body()),
        "unknown parameter": ("POST", PATH, body(smoothing=1)),
        "of others": ("POST", PATH, body(average="macro")),
        "unknown choice": ("POST", PATH, body(chance="fleiss")),
        "not of it": (
            "POST",
            PATH,
            {**body(chance="scott"), "statistic": {"name": "mcc", "chance": "scott"}},
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


ORACLES = {"cohen": lambda said, gold: float(cohen_kappa_score(gold, said)), "scott": scott_pi}


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
    assert "in Cohen's kappa" in text


def test_meta_and_with_it_the_page_has_it(answers: dict[str, Any]) -> None:
    (entry,) = [
        one for one in answers["meta"][1]["statistics"]["predictions"] if one["name"] == "cohen_kappa"
    ]
    assert (entry["title"], entry["hint"]) == ("Cohen's kappa", "Agreement with gold beyond chance.")
    (parameter,) = entry["parameters"]
    assert (parameter["name"], parameter["choices"], parameter["default"]) == (
        "chance",
        ["cohen", "scott"],
        "cohen",
    )


def test_the_openapi_document_has_its_name_and_its_parameter(answers: dict[str, Any]) -> None:
    document = answers["openapi"][1]
    properties = document["components"]["schemas"]["PredictionsStatistic"]["properties"]
    assert "cohen_kappa" in properties["name"]["enum"]
    assert properties["chance"]["anyOf"][0]["enum"] == ["cohen", "scott"]
    query = {one["name"]: one for one in document["paths"][PATH]["post"]["parameters"]}
    assert "cohen_kappa" in query["statistic"]["schema"]["enum"]
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
    options = ("--statistic", "cohen_kappa", "--chance", "scott", "--format", "json")
    answer = json.loads(run(copy, "-m", "app.cli", "test", *files, *options))
    assert answer["p_value"] == answers["scott"][1]["p_value"]
    shown = run(copy, "-m", "app.cli", "test", "--help")
    assert "--chance NAME" in shown
    assert "Of cohen_kappa: whose frequencies" in shown
