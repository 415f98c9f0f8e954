from __future__ import annotations

import dataclasses
import doctest
import importlib
import json
import pkgutil
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, get_args

import pytest

import exactperm.client
from exactperm.answers import gate as gate_record, test
from exactperm.answers.members import members_of
from exactperm.api.openapi import schemas
from exactperm.cli.local_transport import InProcess
from exactperm.client import (
    Client,
    UnreadableAnswer,
    effects,
    gate,
    gate_results,
    power_results,
    results,
    scores,
)
from exactperm.client.decode import decode
from exactperm.client.sync_client import BytesFormat, TextFormat, Theme
from exactperm.reports.picture import canvas
from exactperm.reports.representations import BY_NAME, OF_A_GATE
from exactperm.service import answers as wire
from exactperm.settings import Settings

ROOT = Path(__file__).parents[2]
U, V = [0.85, 0.90, 0.78, 0.92, 0.88], [0.80, 0.85, 0.75, 0.88, 0.82]
WIRE: dict[type[Any], type[Any]] = {
    results.BinaryFraction: test.Fraction2,
    results.Mass: test.Mass,
    results.Null: test.NullRecord,
    results.Evidence: test.SequentialRecord,
    results.Reading: test.ReadingRecord,
    results.Runtime: wire.Runtime,
    results.Versions: wire.Versions,
    results.TestResult: schemas.TestAnswer,
    gate_results.MetricResult: gate_record.MetricRecord,
    gate_results.GateResult: schemas.GateAnswer,
    gate_results.Plan: schemas.PlanAnswer,
    power_results.PowerResult: schemas.PowerAnswer,
}


@pytest.fixture(scope="module")
def client() -> Client:
    return Client("http://here", transport=InProcess(Settings()), retries=0)


def test_every_answer_of_the_client_is_on_the_list() -> None:
    defined = {
        one
        for module in (results, gate_results, power_results)
        for one in vars(module).values()
        if dataclasses.is_dataclass(one) and isinstance(one, type) and one.__module__ == module.__name__
    }
    assert defined == {*WIRE, gate_results.Meta}


def members_on_the_wire(kind: Any) -> set[str]:
    return set(kind.model_fields) if hasattr(kind, "model_fields") else set(members_of(kind))


@pytest.mark.parametrize("ours", WIRE, ids=lambda one: one.__name__)
def test_the_fields_are_those_of_the_contract(ours: type[Any]) -> None:
    names = {part.name for part in dataclasses.fields(ours)} - {
        "raw",
        "permalink",
    }  # a header, and not a field
    assert names == members_on_the_wire(WIRE[ours])


def test_the_types_of_reports_are_those_of_the_service() -> None:
    """Other formats than these, of a newer server, are typed as text or bytes, and work."""
    assert {*get_args(TextFormat), *get_args(BytesFormat)} <= set(BY_NAME)
    for name in get_args(TextFormat):
        assert BY_NAME[name].content_type.startswith(("text/", "application/json"))
    for name in get_args(BytesFormat):
        assert not BY_NAME[name].content_type.startswith(("text/", "application/json"))
    assert get_args(Theme) == get_args(canvas.Theme)


@pytest.mark.parametrize("name", OF_A_GATE)
def test_every_representation_of_the_service_can_be_had(client: Client, name: Any) -> None:
    report = client.report(gate(scores(U, V)), name)
    assert type(report) is (bytes if name in get_args(BytesFormat) else str)


def as_json(value: Any, like: Any) -> Any:
    """An answer as the JSON it came from; what `like` does not have was a default."""
    if dataclasses.is_dataclass(value):
        members = {
            part.name: getattr(value, part.name) for part in dataclasses.fields(value) if part.name != "raw"
        }
        return {name: as_json(one, like[name]) for name, one in members.items() if name in like}
    if isinstance(value, tuple):
        return [as_json(one, other) for one, other in zip(value, like, strict=True)]
    return dict(value) if isinstance(value, dict) else value


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"confidence_level": 0.9, "exact_fraction": True},
        {"clusters": [1, 1, 2, 3, 3]},
        {"method": "monte_carlo", "samples": 100, "pmf": "full"},
        {"test": "bootstrap", "pmf": "none"},
    ],
    ids=["default", "interval", "clusters", "sampled", "bootstrap"],
)
def test_nothing_of_an_answer_is_lost(client: Client, options: dict[str, Any]) -> None:
    result = client.scores(U, V, **options)
    assert as_json(result, result.raw) == result.raw


def test_nothing_of_a_gates_answer_is_lost(client: Client) -> None:
    result = client.gate(scores(U, V), policy="improve")
    assert as_json(result, result.raw) == result.raw
    assert result.metrics[0].test.raw == result.raw["metrics"][0]["test"]
    assert (result.verdict, result.passed) == ("pass", True)


def test_nothing_of_an_answer_about_power_is_lost(client: Client) -> None:
    result = client.power({"kind": "binary", "p10": 0.3, "p01": 0.1}, "n")
    assert as_json(result, result.raw) == result.raw
    pilot = client.power(scores([3, 1, 4, 1, 5, 9, 2], [2, 7, 1, 8, 2, 8, 1]), "power", effect=1.5, n=[7, 50])
    assert [point.n for point in pilot.curve] == [7, 50]
    assert "true difference" in str(pilot)
    assert list(pilot.to_frame().columns)[-3:] == ["n", "effect", "power"]


def test_nothing_of_a_plan_is_lost(client: Client) -> None:
    plan = client.plan(scores(U, V))
    assert as_json(plan, plan.raw) == plan.raw


def test_pairing_by_id_is_told(client: Client) -> None:
    u, v = {"a": 1, "b": 0, "c": 2}, {"c": 0, "a": 0}
    pairing = client.scores(u, v, on_missing="drop").pairing
    assert pairing == results.Pairing(matched=2, only_u=1, only_v=0)


def test_the_fraction_is_exact(client: Client) -> None:
    fraction = client.scores(U, V, exact_fraction=True).p_value_fraction
    assert fraction is not None
    assert fraction.value == pytest.approx(0.0625, rel=0)


def test_fields_of_a_newer_server_are_kept_in_raw(client: Client) -> None:
    said = {
        **client.scores(U, V).raw,
        "new": [1],
        "statistic": {"name": "n", "observed": 1, "u": 1, "v": 0, "more": 2},
    }
    result = decode(results.TestResult, said)
    assert result.raw["new"] == [1]
    assert result.raw["statistic"]["more"] == 2
    assert result.statistic == results.Statistic(name="n", observed=1.0, u=1.0, v=0.0)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"p_value": "0.05"}, "str at /p_value"),
        ({"p_value": True}, "bool at /p_value"),
        ({"significant": 1}, "int at /significant"),
        ({"items": None}, "no object at /items"),
        ({"p_value_bounds": [0.1]}, "1 values at /p_value_bounds"),
        ({"warnings": [{"code": "x"}]}, "lacks /warnings/0/detail"),
        (
            {"null": {"mean": 0, "sd": 1, "min": 0, "max": 1, "quantiles": {"0.5": "x"}}},
            "str at /null/quantiles/0.5",
        ),
    ],
    ids=str,
)
def test_a_field_of_another_type_is_not_taken(client: Client, change: dict[str, Any], said: str) -> None:
    with pytest.raises(UnreadableAnswer, match=said):
        decode(results.TestResult, {**client.scores(U, V).raw, **change})


def test_a_field_that_is_missing_is_named(client: Client) -> None:
    said = {name: value for name, value in client.scores(U, V).raw.items() if name != "method"}
    with pytest.raises(UnreadableAnswer, match="lacks /method"):
        decode(results.TestResult, said)


def test_results_are_frozen(client: Client) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        client.scores(U, V).p_value = 0.01  # type: ignore[misc]


def test_reports_are_text_or_bytes(client: Client) -> None:
    test = scores(U, V, names=("new", "old"))
    assert client.report(test, "text").startswith("p=0.0625 ")
    assert "| statistic |" in client.report(effects([3, -1]), "markdown")
    assert client.report(test, "svg", theme="dark").lstrip().startswith(b"<")
    assert client.report(test, "png").startswith(b"\x89PNG")
    assert client.report(gate(test), "junit").startswith(b"<?xml")
    assert client.report(gate(test), "html").lower().startswith("<!doctype html>")
    assert client.report(gate(test), "json").startswith('{"id":"g_')


def test_what_a_server_can_do(client: Client) -> None:
    said = {
        "versions": {"service": "9", "algorithm": "7"},
        "limits": {"workers": 2},
        "tests": ["a"],
        "methods": ["b"],
    }
    meta = decode(gate_results.Meta, said)
    assert (meta.versions.algorithm, meta.limits, meta.methods) == ("7", {"workers": 2}, ("b",))


@pytest.mark.parametrize(
    "module",
    [module.name for module in pkgutil.walk_packages(exactperm.client.__path__, "exactperm.client.")],
)
def test_examples_in_docstrings_are_true(module: str) -> None:
    names = {"DOCTEST_TRANSPORT": InProcess(Settings())}
    found = doctest.testmod(importlib.import_module(module), extraglobs=names)
    assert found.failed == 0


def test_the_example_of_the_package_is_true() -> None:
    found = doctest.testmod(exactperm.client, extraglobs={"DOCTEST_TRANSPORT": InProcess(Settings())})
    assert (found.failed, found.attempted > 0) == (0, True)


def test_a_result_prints_as_one_line(client: Client) -> None:
    test = scores(U, V, names=("new\nmodel", "old"), confidence_level=0.9)
    assert str(client.test(test)) == (
        "mean_difference: 0.046 (new model 0.866, old 0.82), p = 0.0625 (exact, enumeration, two-sided), not significant "
        "at 0.05."
    )
    assert str(client.plan(test)).startswith("enumeration (exact), about ")
    decided = client.gate(test, policy="improve")
    assert str(decided).startswith("PASS: ")
    assert "\n" not in str(decided) + str(client.plan(test))


def test_a_line_is_never_on_the_wrong_side_of_alpha(client: Client) -> None:
    result = client.scores(U, V)
    above = dataclasses.replace(
        result, p_value=0.05000000000000001, p_value_bounds=(0.05000000000000001,) * 2
    )
    assert "p = 0.05000000000000001 (" in str(above)
    assert str(above).endswith("not significant at 0.05.")
    undecided = dataclasses.replace(result, p_value=0.05, p_value_bounds=(0.049, 0.051), significant=True)
    assert str(undecided).endswith("undecided at 0.05.")


def test_the_client_needs_nothing_else_of_the_program() -> None:
    code = "import sys, exactperm.client; print([m for m in sys.modules if m.startswith('exactperm.') and not m.startswith(('exactperm.answers', 'exactperm.client', 'exactperm.presentation'))])"
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert run.stdout == "[]\n"


def test_a_copy_of_three_folders_under_another_name_is_the_whole_client(tmp_path: Path) -> None:
    for name in ("answers", "client", "presentation"):
        folder = Path(exactperm.client.__path__[0]).parent / name
        shutil.copytree(folder, tmp_path / "pairwise" / name, ignore=shutil.ignore_patterns("__pycache__"))
    answer = Client("http://here", transport=InProcess(Settings()), retries=0).scores(U, V).raw
    code = """
import json, sys, httpx, numpy
from pairwise import client as pairwise

def answer(request):
    assert request.headers["content-type"] == "application/x-npy"
    return httpx.Response(200, json=json.loads(sys.argv[1]))

with pairwise.Client("http://there", transport=httpx.MockTransport(answer)) as client:
    print(client.scores(numpy.array([1.0, 2.0]), numpy.array([0.0, 0.5])))
print([name for name in sys.modules if name.partition(".")[0] in ("exactperm", "scipy", "pydantic")])
"""
    command = [sys.executable, "-c", code, json.dumps(answer)]
    run = subprocess.run(command, cwd=tmp_path, env={"PATH": ""}, capture_output=True, text=True, check=False)
    assert run.stderr == ""
    line, others = run.stdout.splitlines()
    assert "p = 0.0625 (exact, " in line
    assert others == "[]"
