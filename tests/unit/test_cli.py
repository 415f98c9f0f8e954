"""The command line: tests, options, stored answers, progress, the program of the paper's authors."""

import io
import json
import random
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, get_args
from xml.etree import ElementTree as ET

import click
import httpx
import pytest
from click.testing import CliRunner

from exactperm import __version__, client as clients
from exactperm.answers.test import Alternative, Resampling
from exactperm.cli import arguments as form, options, run as asking
from exactperm.cli.commands import cli
from exactperm.cli.output import Progress, duration
from exactperm.client import Client
from exactperm.client.requests import ROLES as CLIENT_ROLES
from exactperm.inputs.formats.catalogue import FORMATS
from exactperm.inputs.formats.roles import ROLES
from exactperm.inputs.options import CHOICES
from exactperm.local.transport import InProcess
from exactperm.reports.representations import BY_NAME, OF_A_GATE, OF_A_TEST
from exactperm.service.gate import FIELDS as GATE_FIELDS
from exactperm.service.kinds import KINDS as REQUEST_KINDS
from exactperm.service.parse_files import FIELDS
from exactperm.settings import Settings
from exactperm.statistics.catalogue import DATA as KINDS, DATA_OF_KIND, ENTRIES, QUESTIONS
from tests.enumeration import share, swaps
from tests.unit.cli_asking import ASR, CONLLU, DATA, LM_EVAL, TREC, answer, refuses, run, scores, turned

# `exactperm test`, `gate` and `plan` in this process: answers and exit statuses.


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


def test_a_test_is_one_line_and_status_0(scores: str) -> None:
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
        "test", scores, "--alternative", "greater", "--alpha", "0.2", "--statistic", "signed_rank", "-O",
        "zero_method=pratt", "-O", "exact_fraction=true", "-O", "pmf=none", "--confidence-level", "0.9", "--input-format", "csv",
    )  # fmt: skip
    assert (found["alternative"], found["alpha"], found["statistic"]["name"]) == (
        "greater",
        0.2,
        "signed_rank",
    )
    assert found["p_value_fraction"] == {"numerator": "1", "log2_denominator": 10}
    assert found["null"]["pmf"] is None
    assert found["reading"]["guessed"] is False


def test_the_plan_prints_the_method(scores: str) -> None:
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


@pytest.mark.parametrize("format_", REQUEST_KINDS["gate"].offered)
def test_every_format_of_an_answer_can_be_written(turned: str, tmp_path: Path, format_: str) -> None:
    suffix = BY_NAME[format_].suffixes[0]
    path = tmp_path / f"report{suffix}"
    commands_ = ("test", "gate") if format_ in REQUEST_KINDS["files"].offered else ("gate",)
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


def test_a_gate_of_an_unknown_name_does_not_pass(scores: str) -> None:
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
    refuses(['"39"'], "gate", str(fewer), str(old), *chosen)


def test_the_status_of_a_failed_gate_cannot_be_blurred(turned: str) -> None:
    assert run("gate", turned).exit_code == 1
    refuses(["exit status"], "gate", turned, "--option", "fail_status=200")


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


def test_the_outcome_of_a_gate_is_appended_and_a_failed_write_is_not_a_pass(
    scores: str, turned: str, tmp_path: Path
) -> None:
    path = tmp_path / "outcome"
    for file, status in ((scores, 0), (turned, 1)):
        roles = ("--system-u", "u", "--system-v", "v")
        assert run("gate", file, *roles, "--policy", "improve", "--outcome", str(path)).exit_code == status
    assert path.read_text() == f"verdict=pass\np_value={1 / 2**10!r}\nverdict=fail\np_value=1.0\n"
    assert run("gate", scores, *roles, "--outcome", str(tmp_path)).exit_code == 2


# What can be typed: options against the fields of the form, help, and what needs no libraries.


ROOT = Path(__file__).parents[2]
COMMANDS = ("test", "gate", "plan")
ELSEWHERE = {"name_u", "name_v"}  # --names
OF_A_SERVER = {"store"}  # --store, which needs a server
FLAGS = {"higher_is_better"}  # --higher-is-better/--lower-is-better


def fields(*sections: str) -> set[str]:
    return {field.name for section in sections for field in options.SECTIONS[section]}


def test_every_field_of_the_form_has_an_option() -> None:
    assert fields("Test", "Statistic", "Reading the files") | ELSEWHERE | OF_A_SERVER == set(FIELDS)


def test_every_field_of_the_gate_has_an_option_but_the_status_which_is_ours() -> None:
    assert fields("Gate") | FLAGS == set(GATE_FIELDS) - form.RESERVED_FIELDS - OF_A_SERVER


def test_every_role_of_a_file_can_be_given() -> None:
    assert set(ROLES) == set(CLIENT_ROLES) == {role for entry in FORMATS.values() for role in entry.roles}


def test_choices_are_those_of_the_service() -> None:
    offered = {
        field.name: set(field.choices)
        for section in options.SECTIONS.values()
        for field in section
        if field.choices
    }
    assert offered["alternative"] == set(get_args(Alternative))
    assert offered["test"] == set(get_args(Resampling))
    assert offered["on_missing"] == set(CHOICES["on_missing"])


def test_every_representation_can_be_typed_and_is_in_the_help() -> None:
    (typed,) = (one for one in cli.commands["gate"].params if one.name == "format_")
    assert isinstance(typed.type, click.Choice)
    assert tuple(typed.type.choices) == OF_A_GATE
    assert set(OF_A_TEST) < set(OF_A_GATE)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_every_option_in_a_section_with_a_text(command: str) -> None:
    shown = CliRunner().invoke(cli, [command, "--help"])
    assert shown.exit_code == 0
    for parameter in cli.commands[command].params:
        if isinstance(parameter, click.Option):
            assert parameter.help
            assert parameter.opts[0] in shown.stdout
    for section in ("Files:", "Test:", "Statistic:", "Reading the files:", "Output:", "Server:", "Examples:"):
        assert section in shown.stdout
    assert "Exit status: 0 pass, 1 fail, 2 could not be compared" in shown.stdout


def test_the_examples_in_help_use_options_that_there_are() -> None:
    for command in COMMANDS:
        known = {
            name
            for parameter in cli.commands[command].params
            for name in (*parameter.opts, *parameter.secondary_opts)
        }
        epilog = cli.commands[command].epilog or ""
        examples = [line for line in epilog.splitlines() if line.startswith("  exactperm ")]
        assert examples
        for line in examples:
            assert set(re.findall(r"(?<=\s)--?[a-z][\w-]*", line)) <= known, line


@pytest.mark.parametrize("arguments", [["--version"], ["version"]])
def test_the_version(arguments: list[str]) -> None:
    assert CliRunner().invoke(cli, arguments).stdout == f"exactperm {__version__}\n"


@pytest.mark.parametrize("arguments", ["version", "--help", "gate --help", "test"])
def test_informative_commands_load_no_libraries(arguments: str) -> None:
    code = (
        "import sys\nfrom exactperm.cli import commands\n"
        f"commands._status({arguments.split()!r})\n"
        "print(sorted({'numpy', 'scipy', 'fastapi', 'pydantic', 'httpx'} & set(sys.modules)), file=sys.stderr)"
    )
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert run.stderr.endswith("[]\n")


def test_the_statistics_are_listed_by_data_and_question() -> None:
    lines = CliRunner().invoke(cli, ["statistics"]).output.splitlines()
    listed: set[tuple[str, str, str]] = set()
    data = question = ""
    for line in filter(None, lines):
        if not line.startswith(" "):
            data = line
        elif not line.startswith("    "):
            question = line.strip()
        else:
            listed.add((data, question, line.split()[0]))
            known = re.findall(r"[\w.]+", line.rpartition(" [")[2]) if line.endswith("]") else []
            assert all(name in known for name in _known_as(line.split()[0], data))
    with_data = {
        (KINDS[data], QUESTIONS[entry.question], entry.name)
        for entry in ENTRIES
        for data in entry.data or DATA_OF_KIND[entry.kind]
        if entry.question is not None
    }
    assert listed == with_data
    assert {entry.name for entry in ENTRIES} == {name for _, _, name in listed}


def _known_as(name: str, title: str) -> tuple[str, ...]:
    """Other names of the statistic of such data."""
    return next(
        entry.known_as
        for entry in ENTRIES
        if entry.name == name and title in {KINDS[data] for data in entry.data or DATA_OF_KIND[entry.kind]}
    )


# `--store`: the command line has a server keep an answer, and says where; without a server it says what to do.


NAME = "r_0123456789abcdef0123456789abcdef"
PLACE = f"https://there/v1/results/{NAME}"
BATCH = b'{"kind": "effects", "request": {"stay": [3, -1, 0, 2]}}\n'
COMMANDS_OF_CLI_STORE = [
    ["test"],
    ["gate"],
    ["compare", "--systems", "u,v"],
    ["power", "--solve", "n", "--effect", "0.05", "--sd", "0.3"],
    ["batch"],
]


class Keeping(InProcess):
    """A fake server that stores answers, as the service does (tests/api/test_store.py)."""

    def __init__(self, *, tells: bool) -> None:
        super().__init__(Settings())
        self.tells = tells
        self.asked: list[str] = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        query = httpx.QueryParams(request.url.query)
        self.asked += query.get_list("store")
        request.url = request.url.copy_with(params=query.remove("store"))
        response = super().handle_request(request)
        if self.tells and self.asked:
            response.headers["content-location"] = f"/v1/results/{NAME}"
        return response


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Keeping:
    keeping = Keeping(tells=True)

    def client(url: str, **_: Any) -> Client:
        return Client(url, transport=keeping, retries=0)

    monkeypatch.setattr(asking, "Client", client)
    monkeypatch.setattr(clients, "Client", client)
    return keeping


@pytest.mark.parametrize("command", COMMANDS_OF_CLI_STORE, ids=lambda command: command[0])
def test_an_answer_is_kept_where_the_last_line_of_standard_error_says(
    server: Keeping, scores: str, command: list[str]
) -> None:
    files = [] if command[0] == "power" else ["-"] if command[0] == "batch" else [scores]
    kept = run(*command, *files, "--url", "https://there", "--store", stdin=BATCH)
    assert kept.exit_code == 0, kept.stderr
    assert kept.stderr.splitlines()[-1] == f"exactperm: kept at {PLACE}"
    assert server.asked == ["1"]
    plain = run(*command, *files, "--url", "https://there", stdin=BATCH)
    assert server.asked == ["1"]
    assert len(plain.stdout.splitlines()) == len(kept.stdout.splitlines())


def test_a_failed_gate_and_a_report_in_a_file_are_kept(server: Keeping, turned: str, tmp_path: Path) -> None:
    report = str(tmp_path / "gate.html")
    failed = run("gate", turned, "-o", report, "--store", "--url", "https://there")
    assert (failed.exit_code, failed.stdout) == (1, "")
    verdict, kept = failed.stderr.splitlines()
    assert verdict.endswith(f"; see {report}")
    assert kept == f"exactperm: kept at {PLACE}"
    assert server.asked == ["1"]


def test_a_server_without_a_permalink_is_reported(server: Keeping, scores: str) -> None:
    server.tells = False
    said = run("test", scores, "--store", "--url", "https://there")
    assert said.exit_code == 0
    assert "gave no address" in said.stderr
    assert "does not say" not in run("test", scores, "--url", "https://there").stderr


@pytest.mark.parametrize("command", COMMANDS_OF_CLI_STORE, ids=lambda command: command[0])
def test_storing_needs_a_server(scores: str, command: list[str]) -> None:
    files = [] if command[0] == "power" else [scores]
    refuses(["--store needs a server: name it with --url or EXACTPERM_URL"], *command, *files, "--store")


def test_a_plan_is_not_kept(scores: str) -> None:
    refuses(["--store"], "plan", scores, "--store")


# What is said while it takes long, and that nothing is when it does not.


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_short_run_prints_only_its_answer() -> None:
    stream = io.StringIO()
    with Progress(quiet=False, stream=stream) as progress:
        progress.doing("computing", 0.001)
    assert stream.getvalue() == ""


def test_a_long_run_prints_its_method_and_expected_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("exactperm.cli.output.AFTER_S", 0.0)
    monkeypatch.setattr("exactperm.cli.output.EVERY_S", 0.01)
    stream = io.StringIO()
    with Progress(quiet=False, stream=stream) as progress:
        progress.doing("computing", 12.0)
        progress._ended.wait(0.2)
        assert "exactperm: computing… " in progress._line()
        assert progress._line().endswith(" s, planned about 12 s")
    assert stream.getvalue().startswith("exactperm: ")


def test_the_line_on_a_terminal_is_wiped_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("exactperm.cli.output.EVERY_S", 0.01)
    stream = Terminal()
    with Progress(quiet=False, stream=stream) as progress:
        progress._ended.wait(0.1)
    assert stream.getvalue().endswith("\r\x1b[K")
    with Progress(quiet=True, stream=stream) as progress:
        assert not progress._thread.is_alive()


def test_durations_for_people() -> None:
    assert [duration(seconds) for seconds in (0, 0.5, 1, 119, 120, 3599, 3600)] == [
        "0 s", "0.5 s", "1 s", "119 s", "2 min", "60 min", "1 h",
    ]  # fmt: skip


# The command line of the paper's authors: their files and options, against brute force over all swaps.


ACC = [(8, 6), (3, 5), (7, 7)]
F1 = [(8, 2, 6, 1), (3, 3, 5, 2), (7, 1, 7, 1)]
Rows = Sequence[tuple[int, ...]]


def write(tmp_path: Path, rows: Rows, delim: str = ",", name: str = "data.csv") -> str:
    path = tmp_path / name
    path.write_text("".join(delim.join(map(str, row)) + "\n" for row in rows))
    return str(path)


def answer_of_cli_authors(*arguments: str) -> dict[str, Any]:
    result = CliRunner().invoke(cli, ["test", *arguments, "-f", "json"])
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def f1(tp: int, incorrect: int) -> Fraction:
    return Fraction(2 * tp, 2 * tp + incorrect) if tp + incorrect else Fraction(0)


def acc_statistic(rows: Rows) -> Fraction:
    return abs(Fraction(sum(u - v for u, v in rows), len(rows)))


def f1_statistic(rows: Rows) -> Fraction:
    tp_u, in_u, tp_v, in_v = (sum(column) for column in zip(*rows, strict=True))
    return abs(f1(tp_u, in_u) - f1(tp_v, in_v))


def brute_force(rows: Rows, statistic: Callable[[Rows], Fraction]) -> float:
    """The share of all 2^N swaps whose statistic is at least the observed one; in fractions."""
    half = len(rows[0]) // 2
    u, v = [row[:half] for row in rows], [row[half:] for row in rows]
    return float(share([statistic([a + b for a, b in zip(*sides, strict=True)]) for sides in swaps(u, v)]))


def test_the_examples_of_their_readme(tmp_path: Path) -> None:
    assert answer_of_cli_authors(write(tmp_path, ACC), "--metric", "acc")["p_value"] == 1.0
    assert answer_of_cli_authors(write(tmp_path, F1), "--metric", "F1")["p_value"] == 0.5


@pytest.mark.parametrize("seed", range(5))
def test_accuracy_is_that_of_all_swaps(tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    rows = [(draw.randint(0, 9), draw.randint(0, 9)) for _ in range(10)]
    found = answer_of_cli_authors(write(tmp_path, rows), "--metric", "acc")
    assert found["p_value"] == pytest.approx(brute_force(rows, acc_statistic), rel=1e-12)
    assert found["statistic"]["observed"] == sum(u - v for u, v in rows)


@pytest.mark.parametrize("seed", range(5))
def test_f1_is_that_of_all_swaps(tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    rows = [tuple(draw.randint(0, 3) for _ in range(4)) for _ in range(9)]
    found = answer_of_cli_authors(write(tmp_path, rows), "--metric", "F1")
    assert found["p_value"] == pytest.approx(brute_force(rows, f1_statistic), rel=1e-12)
    assert abs(found["statistic"]["observed"]) == pytest.approx(float(f1_statistic(rows)), rel=1e-12)


def test_a_tab_may_be_named_or_guessed_and_a_metric_in_lower_case(tmp_path: Path) -> None:
    path = write(tmp_path, F1, "\t", "data.tsv")
    said = answer_of_cli_authors(path, "--metric", "f1", "--delimiter", "tab")
    assert said["p_value"] == 0.5
    assert (
        answer_of_cli_authors(write(tmp_path, ACC), "--metric", "acc", "--delimiter", "comma")["p_value"]
        == 1.0
    )


def test_monte_carlo_samples_and_is_never_0(tmp_path: Path) -> None:
    rows = [(1, 0)] * 30
    found = answer_of_cli_authors(
        write(tmp_path, rows), "--metric", "acc", "--method", "monte_carlo", "--samples", "1000"
    )
    sampled = found["method"]["monte_carlo"]
    assert (found["method"]["name"], sampled["samples"], sampled["exceedances"]) == ("monte_carlo", 1000, 0)
    assert found["p_value"] == pytest.approx(1 / 1001)
    low, high = found["p_value_bounds"]
    assert low <= 2 / 2**30 <= high
    assert (
        answer_of_cli_authors(
            write(tmp_path, rows), "--metric", "acc", "--method", "monte_carlo", "--samples", "1000"
        )["id"]
        == found["id"]
    )


def test_no_mass_is_deleted_where_the_authors_program_answers_0(tmp_path: Path) -> None:
    """Their perm_test_polymul says 0.0 for 40 items that one system wins: it deletes probabilities below 1e-8."""
    found = answer_of_cli_authors(write(tmp_path, [(1, 0)] * 40), "--metric", "acc")
    assert found["p_value"] == pytest.approx(2 / 2**40, rel=1e-12)


@pytest.mark.parametrize(
    "header", [b"", b"tp_u,incorrect_u,tp_v,incorrect_v\n", b"id,tp_u,incorrect_u,tp_v,incorrect_v\n"]
)
def test_a_table_of_counts_has_no_column_of_gold_with_any_statistic(tmp_path: Path, header: bytes) -> None:
    """`f1` is a statistic of counts and of labels beside gold."""
    path = tmp_path / "data.csv"
    ids = ["a,", "b,"] if b"id" in header else ["", ""]
    path.write_bytes(header + f"{ids[0]}8,2,6,1\n{ids[1]}3,3,5,2\n".encode())
    answer = answer_of_cli_authors(str(path), "--statistic", "f1")
    assert (answer["statistic"]["name"], answer["reading"]["format"]) == ("f1", "csv")


def test_no_difference_is_one_where_theirs_fails(tmp_path: Path) -> None:
    assert answer_of_cli_authors(write(tmp_path, [(3, 3)] * 5), "--metric", "acc")["p_value"] == 1.0


def test_p_of_f1_is_1_for_equal_systems_and_without_predictions(tmp_path: Path) -> None:
    assert answer_of_cli_authors(write(tmp_path, [(0, 2, 0, 2)] * 4), "--metric", "F1")["p_value"] == 1.0


@pytest.mark.parametrize(
    ("rows", "options", "said"),
    [
        (ACC, ["--metric", "F1"], "needs 4 columns, tp_u,incorrect_u,tp_v,incorrect_v"),
        (F1, ["--metric", "acc"], "needs 2 columns, correct_u,correct_v"),
        (ACC, ["--metric", "acc", "--statistic", "sign"], "set the same option"),
        (ACC, ["--metric", "acc", "--MC", "10"], "Write --method monte_carlo --samples K."),
        (ACC, ["--metric", "acc", "--delim", "tab"], "Write --delimiter comma, or tab."),
        (ACC, ["--metric", "acc", "--input", "data.csv"], "Write the FILE without an option."),
        (ACC, ["--metric", "bleu"], "no header"),
    ],
    ids=["two for F1", "four for acc", "statistic", "samples", "delimiter", "file", "another"],
)
def test_invalid_files_are_refused(tmp_path: Path, rows: Rows, options: list[str], said: str) -> None:
    result = CliRunner().invoke(cli, ["test", write(tmp_path, rows), *options])
    assert (result.exit_code, result.stdout) == (2, "")
    assert said in result.stderr


def test_the_metric_acc_of_a_harness_is_not_mistaken_for_theirs(tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    path.write_text("id,u,v\n1,1,0\n2,1,1\n")
    result = CliRunner().invoke(cli, ["test", str(path), "--metric", "acc"])
    assert "sum_difference" not in result.output
