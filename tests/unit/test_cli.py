"""`exactperm test`, `gate` and `plan` in this process: answers and exit statuses."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from exactperm.reports.representations import BY_NAME
from exactperm.service.media_types import OFFERED
from tests.unit.cli_asking import ASR, CONLLU, DATA, LM_EVAL, TREC, answer, run, scores, turned

__all__ = ["scores", "turned"]  # fixtures
STARTS = {
    "json": re.compile(rb"\{"),
    "text": re.compile(rb"p=|FAIL: "),
    "markdown": re.compile(rb"\*\*|\xe2\x9d\x8c"),
    "csv": re.compile(rb"\w+,"),
    "svg": re.compile(rb"<(\?xml|svg)"),
    "png": re.compile(rb"\x89PNG\r\n"),
    "html": re.compile(rb"(?i)<!doctype html>"),
    "junit": re.compile(rb"<(\?xml|testsuite)"),
}


def test_a_test_is_one_line_and_status_nought(scores: str) -> None:
    result = run("test", scores)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith("p=0.00195312 (exact, ")
    assert result.stdout.count("\n") == 1


def test_one_file_two_files_and_standard_input_give_the_same_answer(scores: str, tmp_path: Path) -> None:
    rows = [line.split(",") for line in Path(scores).read_text().split()[1:]]
    for place_, name in ((1, "u"), (2, "v")):
        text = "id,score\n" + "".join(f"{row[0]},{row[place_]}\n" for row in rows)
        (tmp_path / f"{name}.csv").write_text(text)
    u, v = str(tmp_path / "u.csv"), str(tmp_path / "v.csv")
    names = ("--names", "a", "b")
    ids = {
        answer("test", scores, *names)["id"],
        answer("test", "-", *names, stdin=Path(scores).read_bytes())["id"],
        answer("test", u, v, *names)["id"],
        answer("test", "-", v, *names, stdin=Path(u).read_bytes())["id"],
    }
    assert len(ids) == 1


@pytest.mark.parametrize(
    ("arguments", "read_as", "statistic"),
    [
        ([*CONLLU, "--statistic", "las", "--clusters", "document"], "conllu", "accuracy"),
        ([*CONLLU, "--option", "statistic=upos", "-O", "items=word"], "conllu", "accuracy"),
        (TREC, "trec", "mean_difference"),
        (ASR, "asr", "ratio"),
        ([*LM_EVAL, "--filter", "strict-match"], "lm-eval", "mean_difference"),
        (["promptfoo/results.json"], "promptfoo", "mean_difference"),
    ],
    ids=["conllu", "by option", "trec", "asr", "lm-eval", "promptfoo"],
)
def test_evaluation_files_are_tested_as_they_are(arguments: list[str], read_as: str, statistic: str) -> None:
    found = answer("test", *arguments)
    assert (found["reading"]["format"], found["statistic"]["name"]) == (read_as, statistic)


def test_options_arrive(scores: str) -> None:
    found = answer(
        "test", scores, "--alternative", "greater", "--alpha", "0.2", "--statistic", "signed_rank", "--zero-method",
        "pratt", "--exact-fraction", "--pmf", "none", "--confidence-level", "0.9", "--input-format", "csv",
    )  # fmt: skip
    assert (found["alternative"], found["alpha"], found["statistic"]["name"]) == (
        "greater",
        0.2,
        "signed_rank",
    )
    assert found["p_value_fraction"] == {"numerator": "1", "log2_denominator": 10}
    assert found["null"]["pmf"] is None
    assert found["reading"]["guessed"] is False


def test_the_plan_says_what_it_would_do(scores: str) -> None:
    planned = answer("plan", scores)
    assert planned["kind"] == "scores"
    lines = run("plan", scores).stdout.splitlines()
    assert lines[0].startswith(f"{planned['method']} (exact), about ")
    assert len(lines) == 1 + len(planned["alternatives"])
    assert run("plan", scores, "-f", "svg").exit_code == 2


def test_a_json_request_is_tested_and_planned_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "request.json"
    path.write_text('{"u": [1, 2, 3], "v": [0, 1, 2], "alternative": "greater"}')
    assert answer("test", "--kind", "scores", str(path))["p_value"] == 0.125
    assert answer("plan", "--kind", "scores", str(path))["kind"] == "scores"
    assert run("test", "--kind", "scores", str(path), "--alpha", "0.1").exit_code == 2


def test_an_answer_goes_into_a_file_in_the_format_that_its_name_says(scores: str, tmp_path: Path) -> None:
    path = tmp_path / "answer.json"
    result = run("test", scores, "-o", str(path))
    assert (result.exit_code, result.stdout) == (0, "")
    assert json.loads(path.read_text())["p_value"] == 0.001953125


def test_the_openapi_document_is_that_of_the_repository(tmp_path: Path) -> None:
    kept = (Path(__file__).parents[2] / "openapi" / "openapi.json").read_text(encoding="utf-8")
    assert json.loads(run("openapi").stdout).keys() == json.loads(kept).keys()
    path = tmp_path / "openapi.json"
    assert run("openapi", "-o", str(path)).output == ""
    assert path.read_bytes() == run("openapi").stdout_bytes


@pytest.mark.parametrize("format_", OFFERED["gate"])
def test_every_format_of_an_answer_can_be_written(turned: str, tmp_path: Path, format_: str) -> None:
    suffix = BY_NAME[format_].suffixes[0]
    path = tmp_path / f"report{suffix}"
    commands_ = ("test", "gate") if format_ in OFFERED["files"] else ("gate",)
    for command in commands_:
        result = run(command, turned, "-o", str(path))
        assert result.exit_code == (1 if command == "gate" else 0), result.stderr
        content = path.read_bytes()
        assert STARTS[format_].match(content), content[:100]
        if format_ in {"svg", "junit"}:
            ET.fromstring(content)


@pytest.mark.parametrize(
    ("options", "status", "verdict"),
    [
        ([], 0, "pass"),
        (["--policy", "improve"], 0, "pass"),
        (["--lower-is-better"], 1, "fail"),
        (["--lower-is-better", "--margin", "2"], 0, "pass"),
        (["--higher-is-better", "--policy", "non_inferior"], 0, "pass"),
        (["--policy", "improve", "--alpha", "0.0001"], 1, "fail"),
    ],
    ids=["default", "improve", "lower", "margin", "non inferior", "alpha"],
)
def test_the_exit_status_is_the_verdict(scores: str, options: list[str], status: int, verdict: str) -> None:
    result = run("gate", scores, *options, "-f", "json")
    assert (result.exit_code, json.loads(result.stdout)["verdict"]) == (status, verdict)


def test_doubt_passes_or_fails_as_asked(tmp_path: Path) -> None:
    path = tmp_path / "two.csv"
    path.write_text("id,u,v\na,0,1\nb,0,1\n")
    for asked, status in (("pass", 0), ("fail", 1)):
        result = run("gate", str(path), "--on-inconclusive", asked, "-f", "json")
        assert (result.exit_code, json.loads(result.stdout)["verdict"]) == (status, "inconclusive")


@pytest.mark.parametrize(
    "metrics", ["upos,las", '[{"name":"upos","statistic":"upos"},{"name":"las","statistic":"las"}]', "@FILE"]
)
def test_several_metrics_of_the_same_files(metrics: str, tmp_path: Path) -> None:
    path = tmp_path / "metrics.json"
    path.write_text('[{"name": "upos", "statistic": "upos"}, {"name": "las", "statistic": "las"}]')
    found = answer("gate", *CONLLU, "--metrics", metrics.replace("FILE", str(path)))
    assert ([one["name"] for one in found["metrics"]], found["correction"]) == (["upos", "las"], "holm")


def test_names_of_metrics_are_tried_as_metrics_of_the_files(tmp_path: Path) -> None:
    """Logs of lm-evaluation-harness hold acc and acc_norm; f1 is a statistic elsewhere, and a metric there."""
    paths = [tmp_path / name for name in ("new.jsonl", "old.jsonl")]
    for shift, path in enumerate(paths):
        scored = [
            {
                "doc_id": n, "doc": {"q": n}, "target": "A", "filter": "none", "metrics": ["acc", "f1"],
                "acc": (n + shift) % 2, "f1": (n * 5 + shift) % 3 % 2,
            }
            for n in range(12)
        ]  # fmt: skip
        path.write_text("".join(map("{}\n".format, map(json.dumps, scored))))
    as_names, as_json = (
        answer("gate", *map(str, paths), "--metrics", metrics)["metrics"]
        for metrics in ("acc, f1", '[{"name": "acc", "metric": "acc"}, {"name": "f1", "metric": "f1"}]')
    )
    assert [one["name"] for one in as_names] == ["acc", "f1"]
    assert [one["decision"] for one in as_names] == [one["decision"] for one in as_json]
    said = run("gate", *map(str, paths), "--metrics", "acc,f2").stderr
    assert 'There is no metric "f2". Choose the metric (--metric); there are: "acc", "f1".' in said
    assert "Give a baseline (the second FILE)" in run("gate", str(paths[0])).stderr


def test_a_name_that_nothing_holds_passes_no_gate(scores: str) -> None:
    assert run("gate", scores, "--metrics", "sing").exit_code == 2


def test_a_file_passes_against_itself_and_fails_when_worsened(tmp_path: Path) -> None:
    old = DATA / "eus_trivia" / "gpt-4-0613.jsonl"
    lines = [json.loads(line) for line in old.read_text(encoding="utf-8").splitlines()]
    worse = [{**line, "correct": line["correct"] and line["id"] > 12} for line in lines]
    new, fewer = tmp_path / "new.jsonl", tmp_path / "fewer.jsonl"
    new.write_text("".join(json.dumps(line) + "\n" for line in worse))
    fewer.write_text("".join(json.dumps(line) + "\n" for line in worse[:-1]))
    chosen = ("--score-column", "correct")
    assert run("gate", str(old), str(old), *chosen).exit_code == 0
    failed = run("gate", str(new), str(old), *chosen)
    assert failed.exit_code == 1
    assert failed.stdout.startswith("FAIL: no_regression higher_is_better p=")
    unequal = run("gate", str(fewer), str(old), *chosen)
    assert (unequal.exit_code, unequal.stdout) == (2, "")
    assert '"39"' in unequal.stderr


def test_the_status_of_a_failed_gate_cannot_be_blurred(turned: str) -> None:
    assert run("gate", turned).exit_code == 1
    result = run("gate", turned, "--option", "fail_status=200")
    assert result.exit_code == 2
    assert "exit status" in result.stderr


def test_a_report_in_a_file_leaves_a_line_with_the_verdict(turned: str, tmp_path: Path) -> None:
    path = tmp_path / "gate.json"
    result = run("gate", turned, "-o", str(path))
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == f"exactperm: fail (p = 0.000976562); see {path}\n"
    assert json.loads(path.read_text())["verdict"] == "fail"
    result = run("test", turned, "-o", str(path), "--alternative", "less")
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == f"exactperm: p = 0.000976562; see {path}\n"
    assert json.loads(path.read_text())["p_value"] == 2**-10


def test_the_line_beside_a_report_has_p_on_its_own_side_of_alpha(turned: str, tmp_path: Path) -> None:
    """p is 0.0009765625 exactly: cut to six digits it would be below an alpha that it is not below."""
    path, less = tmp_path / "test.html", ("--alternative", "less", "--alpha", "0.0009765624")
    assert "p = 0.0009765625;" in run("test", turned, *less, "-o", str(path)).stderr
    many = tmp_path / "many.csv"
    many.write_text("".join(f"i{n},0,{1 << n % 3}\n" for n in range(1200)).join(["id,u,v\n", ""]))
    assert run("test", str(many), "-o", str(path)).stderr == f"exactperm: p < 1e-300; see {path}\n"


def test_the_outcome_of_a_gate_is_appended_and_one_that_cannot_be_written_is_no_pass(
    scores: str, turned: str, tmp_path: Path
) -> None:
    path = tmp_path / "outcome"
    for file, status in ((scores, 0), (turned, 1)):
        roles = ("--system-u", "u", "--system-v", "v")
        assert run("gate", file, *roles, "--policy", "improve", "--outcome", str(path)).exit_code == status
    assert path.read_text() == f"verdict=pass\np_value={1 / 2**10!r}\nverdict=fail\np_value=1.0\n"
    assert run("gate", scores, *roles, "--outcome", str(tmp_path)).exit_code == 2
