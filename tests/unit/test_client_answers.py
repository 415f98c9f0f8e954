"""Answers of the client, results, and baselines."""

import dataclasses
import doctest
import importlib
import json
import pkgutil
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections import defaultdict
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pandas as pd
import pytest

import exactperm.client
from exactperm import files, gate as decide, metric, predictions
from exactperm.answers import gate as gate_record
from exactperm.answers.test import PairingRecord, StatisticRecord
from exactperm.api.openapi import schemas
from exactperm.client import Client, InvalidData, UnreadableAnswer, effects, gate, results, scores
from exactperm.client.clients import BytesFormat, TextFormat, Theme
from exactperm.client.responses import decode
from exactperm.local.transport import InProcess
from exactperm.reports.picture import canvas
from exactperm.reports.representations import BY_NAME, OF_A_GATE
from exactperm.settings import Settings
from loadtest import bench, figure1, figure1_bench, machine, readme_figures, results as stored, steadiness
from loadtest.results import RESULTS, WHERE, Results, Section
from loadtest.table import Table
from tests.unit.cli_asking import answer, refuses, run

ROOT = Path(__file__).parents[2]
U, V = [0.85, 0.90, 0.78, 0.92, 0.88], [0.80, 0.85, 0.75, 0.88, 0.82]
WIRE: dict[type[Any], type[Any]] = {
    results.TestResult: schemas.TestAnswer,
    results.MetricResult: gate_record.MetricRecord,
    results.GateResult: schemas.GateAnswer,
    results.Plan: schemas.PlanAnswer,
    results.ComparePlan: schemas.ComparePlanAnswer,
    results.CompareResult: schemas.CompareAnswer,
    results.PowerResult: schemas.PowerAnswer,
}


@pytest.fixture(scope="module")
def client() -> Client:
    return Client("http://here", transport=InProcess(Settings()), retries=0)


def test_every_answer_of_the_client_is_on_the_list() -> None:
    defined = {
        one
        for module in (results,)
        for one in vars(module).values()
        if dataclasses.is_dataclass(one) and isinstance(one, type) and one.__module__ == module.__name__
    }
    assert defined == {*WIRE, results.Meta}


def members_on_the_wire(kind: Any) -> set[str]:
    return set(kind.model_fields) if hasattr(kind, "model_fields") else set(get_type_hints(kind))


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
    """An answer as its JSON; members that `like` lacks are defaults."""
    if dataclasses.is_dataclass(value):
        members = {
            part.name: getattr(value, part.name) for part in dataclasses.fields(value) if part.name != "raw"
        }
        return {name: as_json(one, like[name]) for name, one in members.items() if name in like}
    if hasattr(value, "_asdict"):
        return value._asdict()
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
def test_an_answer_is_kept_completely(client: Client, options: dict[str, Any]) -> None:
    result = client.scores(U, V, **options)
    assert as_json(result, result.raw) == result.raw


def test_a_gates_answer_is_kept_completely(client: Client) -> None:
    result = client.gate(scores(U, V), policy="improve")
    assert as_json(result, result.raw) == result.raw
    assert result.metrics[0].test.raw == result.raw["metrics"][0]["test"]
    assert (result.verdict, result.passed) == ("pass", True)


def test_an_answer_about_power_is_kept_completely(client: Client) -> None:
    result = client.power({"kind": "binary", "p10": 0.3, "p01": 0.1}, "n")
    assert as_json(result, result.raw) == result.raw
    pilot = client.power(scores([3, 1, 4, 1, 5, 9, 2], [2, 7, 1, 8, 2, 8, 1]), "power", effect=1.5, n=[7, 50])
    assert [point.n for point in pilot.curve] == [7, 50]
    assert "true difference" in str(pilot)
    assert list(pilot.to_frame().columns)[-3:] == ["n", "effect", "power"]


def test_a_plan_is_kept_completely(client: Client) -> None:
    plan = client.plan(scores(U, V))
    assert as_json(plan, plan.raw) == plan.raw


def test_costs_beyond_what_integers_are_written_for_are_read(client: Client) -> None:
    plan = client.plan(scores(U, V)).raw
    dear = [{**plan["alternatives"][0], "operations": 1e300, "bytes": 1e20}]
    read = decode(results.Plan, {**plan, "operations": 1e300, "alternatives": dear})
    assert (read.operations, read.alternatives[0].bytes) == (1e300, 1e20)


def test_pairing_by_id_is_reported(client: Client) -> None:
    u, v = {"a": 1, "b": 0, "c": 2}, {"c": 0, "a": 0}
    pairing = client.scores(u, v, on_missing="drop").pairing
    assert pairing == PairingRecord(matched=2, only_u=1, only_v=0)


def test_the_fraction_is_exact(client: Client) -> None:
    fraction: Any = client.scores(U, V, exact_fraction=True).p_value_fraction
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
    assert result.statistic == StatisticRecord(name="n", observed=1.0, u=1.0, v=0.0)


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
        client.scores(U, V).p_value = 0.01  # type: ignore[misc]  # as the test says


def test_reports_are_text_or_bytes(client: Client) -> None:
    test = scores(U, V, names=("new", "old"))
    assert client.report(test, "text").startswith("p=0.0625 ")
    assert "| statistic |" in client.report(effects([3, -1]), "markdown")
    assert client.report(test, "svg", theme="dark").lstrip().startswith(b"<")
    assert client.report(test, "png").startswith(b"\x89PNG")
    assert client.report(gate(test), "junit").startswith(b"<?xml")
    assert client.report(gate(test), "html").lower().startswith("<!doctype html>")
    assert client.report(gate(test), "json").startswith('{"id":"g_')


def test_meta_of_a_server(client: Client) -> None:
    said = {
        "versions": {"service": "9", "algorithm": "7"},
        "limits": {"workers": 2},
        "tests": ["a"],
        "methods": ["b"],
    }
    meta = decode(results.Meta, said)
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
    code = "import sys, exactperm.client; print([m for m in sys.modules if m.startswith('exactperm.') and not m.startswith(('exactperm.answers', 'exactperm.client', 'exactperm.presentation', 'exactperm.version'))])"
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


# loadtest/RESULTS.md is whole, and the figures of README.md and docs/benchmarks.md come from it. Nothing is measured here.


TEXT = RESULTS.read_text(encoding="utf-8")
PAGES = {
    path.name: path.read_text(encoding="utf-8") for path in (readme_figures.README, readme_figures.BENCHMARKS)
}
SVG_TEXT = "{http://www.w3.org/2000/svg}text"
DURATION = re.compile(r"[\d.]+ (?:µs|ms|s)")


@pytest.fixture(scope="module")
def written() -> Results:
    return stored.parse(TEXT)


def test_every_section_of_the_benchmark_is_in_the_results(written: Results) -> None:
    assert [section.name for section in written.sections] == [WHERE, *bench.SECTIONS]
    for section in written.sections:
        assert section.tables, section.name
        assert all(table.rows for table in section.tables), section.name


@pytest.mark.parametrize(
    ("title", "names"),
    [
        ("Machine", ["processor", "cores", "memory", "system"]),
        ("Versions", ["exactperm", "Python", "numpy", "scipy", "python-flint", "fastapi", "uvicorn"]),
    ],
)
def test_the_results_name_the_machine_and_the_versions(
    written: Results, title: str, names: list[str]
) -> None:
    facts = {row[0]: row[1] for row in written.table(WHERE, title).rows}
    assert set(names) <= set(facts)
    assert all(facts.values()), facts


def test_the_description_of_the_machine_finds_every_fact_here() -> None:
    told = dict(machine.machine() + machine.versions())
    assert all(told.values()), told


def test_the_results_say_when_and_by_which_command(written: Results) -> None:
    sentence = written.sections[0].sentence
    assert re.match(
        r"`\.venv/bin/python -m loadtest\.bench[^`]*`, \d{4}-\d\d-\d\d \d\d:\d\d UTC, \d+ s in all\.$",
        sentence,
    )
    for section in written.sections[1:]:
        assert f"-m loadtest.bench --section {section.name}" in section.sentence


def test_the_results_say_how_steady_the_machine_was_in_every_section(written: Results) -> None:
    table = written.table(WHERE, steadiness.TITLE)
    assert [row[0] for row in table.rows] == list(bench.SECTIONS)
    assert re.search(r"slowest over fastest probe: [\d.]+x", table.notes[0])


def test_every_time_in_a_column_of_medians_is_a_time(written: Results) -> None:
    seen = 0
    for section in written.sections:
        for table in section.tables:
            for name in {"median", "min", "p50"} & set(table.header):
                column = [row[list(table.header).index(name)] for row in table.rows]
                assert all(DURATION.fullmatch(cell) for cell in column), (table.title, column)
                seen += len(column)
    assert seen > 80


def test_written_results_can_be_read(written: Results) -> None:
    assert written.markdown() == TEXT


def test_a_table_reads_back_as_it_was() -> None:
    table = Table(
        "N = 10: a title", ["", "median"], [["one", "1 ms"], ["two", ""]], ["goal met: 3x", "| in a note"]
    )
    (section,) = stored.parse(Results([Section("engine", "A sentence.", [table])]).markdown()).sections
    assert section == Section("engine", "A sentence.", [table])


def test_the_pages_figures_are_those_of_the_results(written: Results) -> None:
    texts = {"README.md": readme_figures.figures(written), "benchmarks.md": readme_figures.block(written)}
    for name, text in texts.items():
        assert readme_figures.replaced(PAGES[name], text) == PAGES[name], (
            "run `.venv/bin/python -m loadtest.readme_figures`"
        )


@pytest.mark.parametrize(("name", "least"), [("README.md", 6), ("benchmarks.md", 60)])
def test_every_figure_of_a_page_is_a_cell_of_the_results(written: Results, name: str, least: int) -> None:
    block = PAGES[name].partition(readme_figures.OPENS)[2].partition(readme_figures.CLOSES)[0]
    rows = [line.strip("| ").split(" | ") for line in block.splitlines() if line.startswith("| ")]
    texts = [cell.strip() for row in rows for cell in row[1:] if re.match(r"(?:max )?\d", cell)]
    figures = {text.partition(", ")[0] if name == "README.md" else text for text in texts}
    cells = {cell for s in written.sections for table in s.tables for row in table.rows for cell in row}
    assert all(any(cell.strip() for cell in row[1:]) for row in rows), "a row without a figure"
    assert len(figures) >= least
    assert figures <= cells


def test_only_text_between_marks_is_rewritten_and_marks_are_required() -> None:
    opens, closes = readme_figures.OPENS, readme_figures.CLOSES
    assert readme_figures.replaced(f"a\n{opens}\nold\n{closes}\nb", "new") == f"a\n{opens}\nnew\n{closes}\nb"
    for broken in ("", opens, f"{opens}{closes}{closes}"):
        with pytest.raises(ValueError, match="needs one"):
            readme_figures.replaced(broken, "new")


def test_the_csv_has_every_line_of_the_figure_at_every_size() -> None:
    assert figure1.CSV.read_text(encoding="utf-8").splitlines()[0] == ",".join(figure1.COLUMNS)
    points = figure1.read()
    sizes = defaultdict(list)
    for point in points:
        sizes[point.source, point.line].append(point.items)
        assert 0 < point.min_s <= point.median_s
        assert point.calls > 0
    assert sizes == {
        (line.source, line.name): [n for n in figure1_bench.SIZES if n <= line.ends]
        for line in figure1_bench.LINES
    }


def test_the_table_of_the_figure_agrees_with_its_csv(written: Results) -> None:
    for point in figure1.read():
        cell = written.cell("figure1", "Seconds", f"{point.source}: {point.line}", f"N = {point.items:,}")
        value, unit = cell.split()
        assert float(value) * {"µs": 1e-6, "ms": 1e-3, "s": 1.0}[unit] == pytest.approx(
            point.median_s, rel=6e-3
        )


def test_the_svg_is_a_picture_with_a_name_on_every_line_and_no_date() -> None:
    source = figure1.SVG.read_bytes()
    root = ET.fromstring(source)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    said = ["".join(text.itertext()) for text in root.iter(SVG_TEXT)]
    for line in figure1_bench.LINES:
        assert said.count(figure1.label(line.source, line.name)) == 1
    assert b"<dc:date>" not in source
    assert b"matplotlib.org" not in source


def test_the_same_csv_gives_the_same_bytes() -> None:
    points = figure1.read()
    first = figure1.drawn(points)
    assert first == figure1.drawn(points)
    slower = [replace(point, median_s=2 * point.median_s) for point in points]
    assert first != figure1.drawn(slower)


@pytest.mark.parametrize(
    "heights", [[0.0, 1.0, 2.0], [0.0, 0.0, 0.0, 0.0], [0.0, 0.1, 0.15, 1.0, 1.05, 1.1], [0.5], []]
)
def test_labels_keep_their_order_and_their_distance(heights: list[float]) -> None:
    placed = figure1.spread(heights, 0.2)
    assert len(placed) == len(heights)
    assert all(above - below >= 0.2 - 1e-12 for below, above in pairwise(placed))
    if all(above - below >= 0.2 for below, above in pairwise(heights)):
        assert placed == heights


# A gate against several baselines from the client, the package and the command line is the one over HTTP.


NEW, MAIN, OLD = [1, 1, 1, 1, 1, 1, 0, 1], [0, 0, 0, 0, 0, 0, 0, 1], [1, 1, 1, 0, 1, 0, 0, 1]


def adjusted(result: Any) -> list[tuple[str | None, float]]:
    return [(one.against, one.decision.p_value_adjusted) for one in result.metrics]


# 6 of 6, and 2 of 2: 2/64 and 1/4 after Holm.
EXPECTED = [("main", 2 / 64), ("v1.2", 1 / 4)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, values in (("new", NEW), ("main", MAIN), ("v1.2", OLD)):
        lines = [f"q{n},{value}" for n, value in enumerate(values)]
        (tmp_path / f"{name}.csv").write_text("\n".join(["id,score", *lines]) + "\n")
    return tmp_path


def test_data_requests_metrics_and_files_give_the_same(folder: Path) -> None:
    against = {"main": MAIN, "v1.2": OLD}
    assert adjusted(decide(NEW, against=against, policy="improve")) == EXPECTED
    assert adjusted(decide(scores(NEW), against=against, policy="improve")) == EXPECTED
    assert adjusted(decide([metric("a", scores(NEW), against=against)], policy="improve")) == EXPECTED
    paths = {name: folder / f"{name}.csv" for name in against}
    assert adjusted(decide(files(u=folder / "new.csv"), against=paths, policy="improve")) == EXPECTED
    renamed = {"a,b": paths["main"], "c": paths["v1.2"]}
    found = decide(files(u=folder / "new.csv"), against=renamed, policy="improve")
    assert [one.against for one in found.metrics] == ["a,b", "c"]
    labels = decide(predictions(NEW, NEW), against=against, policy="improve")
    assert [one.against for one in labels.metrics] == ["main", "v1.2"]


def test_frames_are_paired_by_their_index_and_never_by_chance() -> None:
    index = [f"q{n}" for n in range(8)]
    new, main, old = (pd.Series(values, index=index) for values in (NEW, MAIN, OLD))
    assert adjusted(decide(new, against={"main": main, "v1.2": old}, policy="improve")) == EXPECTED
    with pytest.raises(InvalidData):
        decide(new, against={"main": main, "v1.2": old[::-1]})
    with pytest.raises(InvalidData, match="index"):
        decide(new, against={"main": main, "v1.2": OLD})
    with pytest.raises(InvalidData, match="baseline already"):
        decide(pd.DataFrame({"u": NEW, "v": MAIN}), against={"main": MAIN})


def test_a_baseline_given_twice_is_refused() -> None:
    with pytest.raises(InvalidData, match="has a baseline already"):
        decide(NEW, MAIN, against={"v1.2": OLD})
    with pytest.raises(InvalidData, match="metric"):
        decide([metric("a", scores(NEW, MAIN))], against={"v1.2": OLD})


def test_the_command_line(folder: Path) -> None:
    new, main, old = (str(folder / f"{name}.csv") for name in ("new", "main", "v1.2"))
    said = answer("gate", new, "--against", main, "--against", old, "--policy", "improve")
    assert [(one["against"], one["decision"]["p_value_adjusted"]) for one in said["metrics"]] == EXPECTED
    assert run("gate", new, "--against", main, "--policy", "improve").exit_code == 0
    assert run("gate", new, "--against", main, "--against", old, "--policy", "improve").exit_code == 1
    assert run("gate", main, "--against", old, "--against", new, "-O", "names=a,b").exit_code == 1


def test_refusals_of_the_command_line(folder: Path) -> None:
    new, main, old = (str(folder / f"{name}.csv") for name in ("new", "main", "v1.2"))
    for wrong in (
        [new, main, "--against", old],
        ["--against", old],
        [new, "--against", old, "--names", "a", "b"],
    ):
        assert run("gate", *wrong).exit_code == 2
    refuses(["main"], "gate", new, "--against", main, "--against", main)
    Path(old).write_text("id,score\nq0,1\n")
    refuses([old], "gate", new, "--against", main, "--against", old)
