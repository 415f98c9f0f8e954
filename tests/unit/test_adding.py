"""CONTRIBUTING.md's steps, literally, in one copy of the code: each addition works everywhere by these edits alone.

A statistic (Scott's pi and Bennett's S), a file format, a representation, a problem type, a setting, and fields of an
answer. The oracle of the statistic swaps items by hand and counts agreement.
"""

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
from .effects import Additive, Joint
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
READER = '''"""A score a line: `item = score`."""

from __future__ import annotations

from collections.abc import Mapping

from ..format import FirstLook, Format, Sign
from ..number_text import NumberReader
from .outputs_by_id import SystemOutputs, scores_reading
from ..reader import ReaderOptions, Reading, Source
from .roles import needed


def read(files: Mapping[str, Source], options: ReaderOptions, format_: str) -> Reading:
    """Scores of two systems."""
    notes: list[str] = []
    number_reader = NumberReader.of(options)
    systems = []
    for role in ("u", "v"):
        source = needed(files, role, format_)
        system = SystemOutputs(source)
        for number, line in enumerate(source.text(notes).splitlines(), 1):
            key, _, value = line.partition(" = ")
            system.add(key, number_reader.of_text(value, source.line(number, "value")), f"line/{number}")
        systems.append(system)
    return scores_reading(systems[0], systems[1], options, notes, format_)


def _sign(look: FirstLook) -> Sign:
    return Sign.SHAPE if look.rows and all(" = " in row for row in look.rows) else Sign.NONE


FORMAT = Format(
    "assignments", read, ("u", "v"), frozenset(("on_missing",)), "a score a line: item = score",
    kinds=("scores",), aliases=("ini",), sign=_sign,
)
'''
RENDERER = '''"""A test as one line of the Test Anything Protocol."""

from __future__ import annotations

from ..answers.test import TestRecord


def tap(record: TestRecord, test_id: str) -> bytes:
    """ok where the difference is significant."""
    return f"1..1\\n{'ok' if record.significant else 'not ok'} 1 - {test_id}\\n".encode()
'''
NEW_FILES = {
    "statistics/scott.py": REDUCER,
    "inputs/formats/assignments.py": READER,
    "reports/tap.py": RENDERER,
}
# In each file: a text that is there once, and what is put in front of it.
INSERTED = {
    "statistics/catalogue.py": [('    _span(\n        "span_f1"', ENTRY)],
    "inputs/formats/catalogue.py": [
        ("beside_gold, conll", "assignments, "),
        ("beside_gold.OF_LABELS, mt", "assignments.FORMAT, "),
    ],
    "reports/representations.py": [
        ("from .text import", "from .tap import tap\n"),
        (
            ")  # fmt: skip\nBY_NAME",
            '    Representation("tap", "text/x-tap", "TAP", (".tap",), test=lambda record, context: tap(record, context.id)),\n',
        ),
    ],
    "errors.py": [
        (
            'class BodyTooLarge(InputError, code="body-too-large"):\n',
            'class Teapot(InputError, code="teapot"):\n    """The request is for coffee."""\n\n\n',
        )
    ],
    "service/problems.py": [
        (
            '    ProblemType("too-many-requests"',
            '    ProblemType("teapot", 418, "This is a teapot", "Ask for tea."),\n',
        )
    ],
    "service/parse.py": [  # where it is raised
        ("from ..errors import", "from ..errors import Teapot\n"),
        (
            "    refuse_samples(request.samples, limits)\n",
            '    if request.seed == 418:\n        raise Teapot("There is no coffee.")\n',
        ),
    ],
    "settings.py": [
        (
            "    max_items: int = Field(",
            '    tea_seconds: float = Field(default=180.0, gt=0, description="How long tea steeps.")\n',
        )
    ],
    "answers/test.py": [
        (
            "    min_attainable_p: Annotated[\n",
            '    half_alpha: Annotated[float, {"gt": 0, "lt": 0.5}, "Half of alpha, of each tail."]\n',
        )
    ],
    "inference/paired.py": [("        alpha=options.alpha,\n", "        half_alpha=options.alpha / 2,\n")],
}
REPLACED = {
    "answers/test.py": ("    losses: int\n", "    losses: int\n    zero: int | None = None\n"),
    "inference/paired.py": (
        "items=items_of_u(result.items, options),",
        "items=replace(items_of_u(result.items, options), zero=result.items.n - result.items.nonzero),",
    ),
}
GOLD = ["a", "b", "a", "c", "b", "a", "c", "b", "a"]
U = ["a", "b", "b", "c", "b", "a", "a", "b", "a"]
V = ["b", "b", "a", "c", "a", "a", "c", "c", "c"]
PATH = "/v1/tests/predictions"
WON = {"u": [1] * 7, "v": [0] * 7}
SCORES = {"u": [3, 1, 0, 5], "v": [1, 1, 2, 2]}
SERVE = """
import json, sys
import exactperm
from starlette.testclient import TestClient
from exactperm.api.openapi_export import exported
from exactperm.client import Client, scores
from exactperm.local.transport import InProcess
from exactperm.main import create_app
from exactperm.settings import Settings

requests = json.load(sys.stdin)
answers = {"file": exactperm.__file__, "exported": json.loads(exported())}
with TestClient(create_app(Settings(workers=1))) as client:
    for name, (method, path, body, *headers) in requests.items():
        response = client.request(method, path, json=body, headers=dict(headers))
        media = response.headers["content-type"]
        answers[name] = [response.status_code, response.json() if "json" in media else response.text, media]
client = Client("http://here", transport=InProcess(Settings()), retries=0)
answers["report"] = client.report(scores([1] * 7, [0] * 7), "tap")
answers["held"] = client.scores([3, 1, 0, 5], [1, 1, 2, 2], alpha=0.1).raw
answers["held gate"] = client.gate(scores([3, 1, 0, 5], [1, 1, 2, 2]), higher_is_better=True).raw
print(json.dumps(answers))
"""
SETTLE = """
import json
from pydantic import ValidationError
from exactperm.main import create_app
from exactperm.settings import Settings

try:
    settings = create_app(Settings()).state.settings
    print(json.dumps([settings.tea_seconds, Settings.model_fields["tea_seconds"].description]))
except ValidationError as error:
    print(json.dumps([error.errors()[0]["type"], list(error.errors()[0]["loc"])]))
"""


def run(folder: Path, *arguments: str, given: str = "", **environment: str) -> str:
    """The output of a separate process with the copy as its code."""
    done = subprocess.run(
        [sys.executable, "-B", *arguments],
        cwd=folder,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(folder / "app"), **environment},
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
    folder = tmp_path_factory.mktemp("copy")
    shutil.copytree(ROOT / "app", folder / "app", ignore=shutil.ignore_patterns("__pycache__"))
    code = folder / "app" / "exactperm"
    for name, text in NEW_FILES.items():
        (code / name).write_text(text, encoding="utf-8")
    edits = [(name, old, new + old) for name, pairs in INSERTED.items() for old, new in pairs]
    edits += [(name, *pair) for name, pair in REPLACED.items()]
    for name, old, new in edits:
        text = (code / name).read_text(encoding="utf-8")
        assert text.count(old) == 1, (name, old)
        (code / name).write_text(text.replace(old, new), encoding="utf-8")
    return folder


def body(**statistic: Any) -> dict[str, Any]:
    return {"gold": GOLD, "u": U, "v": V, "statistic": {"name": "scott_pi", **statistic}}


@pytest.fixture(scope="module")
def answers(copy: Path) -> dict[str, Any]:
    """Status, body and media type of each request, all sent to one server with the copy as its code."""
    requests: dict[str, tuple[Any, ...]] = {
        "scott": ("POST", PATH, body()),
        "bennett": ("POST", PATH, body(chance="bennett")),
        "markdown": ("POST", f"{PATH}?format=markdown", body()),
        "/statistic/smoothing": ("POST", PATH, body(smoothing=1)),
        "/statistic/average": ("POST", PATH, body(average="macro")),
        "/statistic/chance": ("POST", PATH, body(chance="fleiss")),
        "/statistic/chance of mcc": ("POST", PATH, body(name="mcc", chance="bennett")),
        "meta": ("GET", "/v1/meta", None),
        "openapi": ("GET", "/openapi.json", None),
        "tap": ("POST", "/v1/tests/scores?format=tap", WON),
        "tap by accept": ("POST", "/v1/tests/scores", WON, ("accept", "text/x-tap")),
        "tap of a gate": ("POST", "/v1/gate?format=tap", {"kind": "scores", "request": WON}),
        "coffee": ("POST", "/v1/tests/scores", {**SCORES, "seed": 418}),
        "problems": ("GET", "/docs/problems", None),
    }
    found: dict[str, Any] = json.loads(run(copy, "-c", SERVE, given=json.dumps(requests)))
    assert Path(found["file"]).is_relative_to(copy)
    return found


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
def test_the_p_value_of_a_new_statistic_is_that_of_all_swaps(answers: dict[str, Any], chance: str) -> None:
    score, sizes = ORACLES[chance], []
    for swaps in itertools.product((False, True), repeat=len(GOLD)):
        first = [b if swap else a for a, b, swap in zip(U, V, swaps, strict=True)]
        second = [a if swap else b for a, b, swap in zip(U, V, swaps, strict=True)]
        sizes.append(abs(score(first, GOLD) - score(second, GOLD)))
    status, answer, _ = answers[chance]
    assert status == 200, answer
    assert answer["method"]["exact"]
    assert answer["statistic"]["u"] == pytest.approx(score(U, GOLD), rel=1e-12)
    expected = sum(size >= sizes[0] - 1e-9 for size in sizes) / len(sizes)
    assert answer["p_value"] == pytest.approx(expected, rel=1e-12)
    assert 0.05 < answer["p_value"] < 0.9


def test_sentences_meta_and_the_document_know_a_new_statistic(answers: dict[str, Any]) -> None:
    status, text, _ = answers["markdown"]
    assert status == 200
    assert "in Scott's pi" in text
    (entry,) = [one for one in answers["meta"][1]["statistics"]["predictions"] if one["name"] == "scott_pi"]
    assert (entry["title"], entry["hint"]) == ("Scott's pi", "Agreement with gold beyond chance.")
    (parameter,) = entry["parameters"]
    assert [parameter[key] for key in ("name", "choices", "default")] == [
        "chance", ["scott", "bennett"], "scott",
    ]  # fmt: skip
    document = answers["openapi"][1]
    properties = document["components"]["schemas"]["PredictionsStatistic"]["properties"]
    assert "scott_pi" in properties["name"]["enum"]
    assert properties["chance"]["anyOf"][0]["enum"] == ["scott", "bennett"]
    query = {one["name"]: one for one in document["paths"][PATH]["post"]["parameters"]}
    assert "scott_pi" in query["statistic"]["schema"]["enum"]
    assert "chance" in query


@pytest.mark.parametrize(
    "name", ["/statistic/smoothing", "/statistic/average", "/statistic/chance", "/statistic/chance of mcc"]
)
def test_parameters_that_a_statistic_does_not_take_are_refused(answers: dict[str, Any], name: str) -> None:
    status, problem, _ = answers[name]
    assert status == 422, problem
    assert [error["pointer"] for error in problem["errors"]] == [name.partition(" ")[0]]


def test_the_command_line_takes_a_new_statistic(copy: Path, answers: dict[str, Any]) -> None:
    for name, labels in (("gold", GOLD), ("new", U), ("old", V)):
        lines = "\n\n".join(f"word B-{label}" for label in labels)
        (copy / f"{name}.conll").write_text(lines + "\n", encoding="utf-8")
    files = ("new.conll", "old.conll", "--gold", "gold.conll", "--input-format", "conll")
    options = ("--statistic", "scott_pi", "--chance", "bennett", "--format", "json")
    answer = json.loads(run(copy, "-m", "exactperm.cli", "test", *files, *options))
    assert answer["p_value"] == answers["bennett"][1]["p_value"]
    shown = run(copy, "-m", "exactperm.cli", "test", "--help")
    assert "--chance NAME" in shown
    assert "For scott_pi: which frequencies" in " ".join(shown.split())
    assert "|tap" in shown.replace("\n", "").replace(" ", "")


@pytest.mark.parametrize("option", [[], ["--input-format", "assignments"], ["--input-format", "ini"]])
def test_files_of_a_new_format_are_read_and_recognised(copy: Path, option: list[str]) -> None:
    (copy / "new.txt").write_text("a = 3\nb = 2\nc = 4\n", encoding="utf-8")
    (copy / "old.txt").write_text("b = 1\na = 1\nc = 1\n", encoding="utf-8")
    printed = run(copy, "-m", "exactperm.cli", "test", "new.txt", "old.txt", *option, "--format", "json")
    answer = json.loads(printed)
    assert answer["p_value"] == 2 / 2**3  # three items, all better
    assert answer["reading"]["format"] == "assignments"
    assert answer["reading"]["guessed"] is (option == [])


def test_meta_and_the_document_know_a_new_format(answers: dict[str, Any]) -> None:
    entry = next(one for one in answers["meta"][1]["formats"]["known"] if one["name"] == "assignments")
    assert (entry["kinds"], entry["aliases"]) == (["scores"], ["ini"])
    assert '"assignments"' in json.dumps(answers["openapi"][1])


def test_a_renderer_and_a_row_are_all_that_a_representation_needs(
    copy: Path, answers: dict[str, Any]
) -> None:
    status, text, media = answers["tap"]
    assert (status, media) == (200, "text/x-tap; charset=utf-8")
    plan, line = text.splitlines()
    assert plan == "1..1"
    assert line.startswith("ok 1 - t_")
    assert answers["tap by accept"][1] == answers["report"] == text
    assert answers["tap of a gate"][0] == 422  # this one is of tests only
    (entry,) = [one for one in answers["meta"][1]["representations"] if one["name"] == "tap"]
    of = {"of_test": True, "of_gate": False, "of_compare": False, "of_power": False}
    assert entry == {"name": "tap", "title": "TAP", "suffix": ".tap", **of}
    assert answers["meta"][1]["media_types"]["produces"]["tap"] == "text/x-tap"
    operation = answers["openapi"][1]["paths"]["/v1/tests/scores"]["post"]
    parameter = next(one for one in operation["parameters"] if one["name"] == "format")
    assert "tap" in parameter["schema"]["enum"]
    assert operation["responses"]["200"]["content"]["text/x-tap"] == {"schema": {"type": "string"}}
    (copy / "scores.csv").write_text("id,u,v\n" + "".join(f"{n},1,0\n" for n in range(7)), encoding="utf-8")
    typed = run(copy, "-m", "exactperm.cli", "test", "scores.csv", "--format", "tap")
    assert typed.startswith("1..1\nok 1 - t_")
    run(copy, "-m", "exactperm.cli", "test", "scores.csv", "-o", "answer.tap")
    assert (copy / "answer.tap").read_text(encoding="utf-8") == typed


def test_a_new_problem_is_sent_and_on_the_page_and_in_the_document(answers: dict[str, Any]) -> None:
    status, problem, media = answers["coffee"]
    assert (status, media) == (418, "application/problem+json")
    assert problem.pop("instance")
    assert problem == {
        "type": "/docs/problems#teapot", "title": "This is a teapot", "status": 418, "detail": "There is no coffee.",
    }  # fmt: skip
    page = answers["problems"][1]
    assert '<div id="teapot"><dt><span class="status">418</span> <span class="title">This is a teapot' in page
    assert "<dd>Ask for tea.</dd>" in page
    responses = answers["exported"]["paths"]["/v1/tests/scores"]["post"]["responses"]
    assert responses["418"]["description"] == "This is a teapot"
    assert list(responses["418"]["content"]) == ["application/problem+json"]


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, [180.0, "How long tea steeps."]),
        ({"EXACTPERM_TEA_SECONDS": "90"}, [90.0, "How long tea steeps."]),
        ({"EXACTPERM_TEA_SECONDS": "0"}, ["greater_than", ["tea_seconds"]]),
    ],
    ids=["default", "set", "refused"],
)
def test_a_new_setting_is_read_from_the_environment_and_checked(
    copy: Path, environment: dict[str, str], expected: list[Any]
) -> None:
    assert json.loads(run(copy, "-c", SETTLE, **environment)) == expected


def test_new_fields_are_in_the_answers_and_in_the_document(answers: dict[str, Any]) -> None:
    test, gate = answers["held"], answers["held gate"]
    names = list(test)
    first = names.index("significant")
    assert names[first : first + 4] == ["significant", "alpha", "half_alpha", "min_attainable_p"]
    assert test["half_alpha"] == 0.05
    assert (test["items"]["n"], test["items"]["nonzero"], test["items"]["zero"]) == (4, 3, 1)
    assert gate["metrics"][0]["test"]["half_alpha"] == 0.025
    assert gate["metrics"][0]["test"]["items"]["zero"] == 1
    schemas = answers["exported"]["components"]["schemas"]
    for component in ("TestAnswer", "TestResult"):
        assert "half_alpha" in schemas[component]["required"]
        assert schemas[component]["properties"]["half_alpha"] == {
            "description": "Half of alpha, of each tail.",
            "exclusiveMaximum": 0.5,
            "exclusiveMinimum": 0,
            "title": "Half Alpha",
            "type": "number",
        }
    zero = schemas["ItemsAnswer"]["properties"]["zero"]
    assert zero["anyOf"] == [{"type": "integer"}, {"type": "null"}]
