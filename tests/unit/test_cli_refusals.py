"""Test refusals of the command line, and their suggestions."""

import ast
import json
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from exactperm.cli import commands, run as asking
from exactperm.cli.commands import cli
from exactperm.cli.options import RARE
from exactperm.cli.output import FIELDS, FILES, complain, in_words, where_in
from exactperm.client import Client
from exactperm.client.errors import keyword, member, spelt
from exactperm.local.transport import InProcess
from exactperm.settings import Settings
from tests.unit.cli_asking import answer, refuses, run, scores

# What the command line says, and with which exit status, when something is wrong.


__all__ = ["scores"]  # a fixture


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["test"], "Give one file with both systems, or two files"),
        (["test", "a", "b", "c"], "3 were given"),
        (["test", "no-such-file.csv"], "no-such-file.csv cannot be read: No such file or directory."),
        (["test", "-", "-"], "Standard input can be only one of the files"),
        (["test", "SCORES", "--statistic", "bleu"], "no statistic"),
        (["test", "SCORES", "--alpha", "2"], "  at --alpha\n"),
        (["test", "SCORES", "--alpha", "often"], "  at --alpha\n"),
        (["test", "SCORES", "-O", 'sequential={"scale": -1}'], "  at -O sequential, scale\n"),
        (["test", "SCORES", "-O", 'sequential={"looks": 3}'], "  at -O sequential, looks\n"),
        (["gate", "SCORES", "-O", 'sequential={"planned_n": 1}'], "  at -O sequential, planned_n\n"),
        (["gate", "SCORES", "-O", "sequential=anytime"], "  at -O sequential\n"),
        (["test", "SCORES", "--option", "alpha"], "not NAME=VALUE"),
        (["test", "SCORES", "--alpha", "0.1", "-O", "alpha=0.2"], "alpha is given twice"),
        (["test", "SCORES", "-O", "gold=x"], "gold is a file"),
        (["test", "SCORES", "-O", "colour=red"], "  at --colour\n"),
        (["test", "SCORES", "--gold", "SCORES"], "file gold"),
        (["test", "SCORES", "--input-format", "excel"], "  at --input-format\n"),
        (["test", "SCORES", "-f", "junit"], "  at --format\n"),
        (["test", "SCORES", "--metric-u", "acc"], "Write -O metric_u=VALUE."),
        (["gate", "SCORES", "--exact-fraction"], "Write -O exact_fraction=VALUE."),
        (["compare", "SCORES", "--scale", "ranks"], "Write -O scale=VALUE."),
        (["compare", "SCORES", "--pmf", "full"], "No such option '--pmf'"),
        (["test", "SCORES", "--family", "all"], "No such option '--family'"),
        (["power", "SCORES", "--sheet", "1"], "Write -O sheet=VALUE."),
        (["test", "SCORES", "--theme", "dark"], "  at --theme\n"),
        (["test", "SCORES", "-o", "no/such/folder/x.csv"], "cannot be written"),
        (["test", "SCORES", "--method", "magic"], "  at --method\n"),
        (["test", "SCORES", "--names", "x" * 300, "b"], "  at --names\n"),
        (["plan", "SCORES", "--url", "http://there"], "leave --url out"),
        (["gate", "SCORES", "--metrics", "[{"], "This is not JSON"),
        (["gate", "SCORES", "--metrics", "[]"], "--metrics is a list of names"),
        (["gate", "SCORES", "--margin", "-1"], "  at --margin\n"),
        (["gate", "SCORES", "--policy", "hope"], "Invalid value for '--policy'"),
        (["gate", "SCORES", "--metrics", "sign,sing"], "at --metrics, metric 2, statistic"),
        (["gate", "no-such-file.csv", "SCORES"], "cannot be read"),
    ],
    ids=lambda value: " ".join(value)[:60] if isinstance(value, list) else "",
)
def test_errors_are_sentences_with_status_2(scores: str, arguments: list[str], said: str) -> None:
    result = run(*(scores if one == "SCORES" else one for one in arguments))
    assert (result.exit_code, result.stdout) == (2, "")
    assert said in result.stderr
    assert '"detail"' not in result.stderr


def test_a_mistake_in_a_file_is_named_by_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "bad.csv"
    path.write_text("id,u,v\na,1,2\nb,1,two\n")
    refuses([f"{path}, line 3"], "test", str(path))


def test_a_necessary_choice_names_the_option_and_its_values() -> None:
    both = "lm_eval/two_filters/samples_gsm8k_2026-05-17T13-25-31.291152.jsonl"
    result = run("test", both, both)
    assert 'Choose the filter (--filter); there are: "strict-match", "flexible-extract".' in result.stderr


def test_a_format_that_cannot_be_guessed_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "x.bin"
    path.write_bytes(b"\x00\x01 what\n")
    assert "with --input-format" in run("test", str(path)).stderr


def test_unequal_files_are_never_a_pass(tmp_path: Path) -> None:
    for name, n in (("u.csv", 293), ("v.csv", 294)):
        (tmp_path / name).write_text("".join(f"{k % 2}\n" for k in range(n)))
    refuses(["293", "294"], "gate", str(tmp_path / "u.csv"), str(tmp_path / "v.csv"))


def test_format_json_gives_the_problem_as_json_and_in_words(scores: str, tmp_path: Path) -> None:
    result = run("test", scores, "--alpha", "2", "-f", "json")
    said = json.loads(result.stdout)
    assert (result.exit_code, said["status"], said["errors"][0]["pointer"]) == (2, 422, "/options/alpha")
    assert "--alpha" in result.stderr
    path = tmp_path / "answer.json"
    assert run("test", scores, "--alpha", "2", "-o", str(path)).exit_code == 2
    assert json.loads(path.read_text())["status"] == 422


@pytest.mark.parametrize(
    ("pointer", "said"),
    [
        ("/files/u/line/3", "new.csv, line 3"),
        ("/files/u/line/3/2", "new.csv, line 3, field 2"),
        ("/files/gold", "file gold"),
        ("/files/u/samples/7/score~1s", 'new.csv, samples[7]["score/s"]'),
        ("/options/clusters", "--clusters"),
        ("/options/format", "--input-format"),
        ("/options/name_v", "--names"),
        ("/options/metrics/1/margin", "--metrics, metric 2, margin"),
        ("/?theme", "--theme"),
        ("/u/17", "u[17]"),
        ("/method", "--method"),
        ("", ""),
    ],
)
def test_pointers_become_places(pointer: str, said: str) -> None:
    assert in_words(where_in(pointer, {"u": "new.csv"})) == said


def test_escape_sequences_in_a_problem_do_not_reach_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    flaw = {"pointer": "/files/u/\x1b[2J", "code": "x", "detail": "\x1b]0;owned\x07 \u009b31m\r\nfake: ok"}
    complain({"detail": "No.\x1b[1A\nexactperm: pass", "errors": [flaw]}, {"u": "new.csv"})
    said = capsys.readouterr().err
    assert said.count("\n") == 2
    assert not any(character < " " or character in "\x7f\x9b" for character in said.replace("\n", ""))


def test_a_setting_that_is_wrong_is_named(scores: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EXACTPERM_MAX_ITEMS", "many")
    result = run("test", scores)
    assert result.exit_code == 2
    assert result.stderr.startswith("exactperm: EXACTPERM_MAX_ITEMS: ")
    monkeypatch.delenv("EXACTPERM_MAX_ITEMS")
    result = run("serve", "--port", "99999")
    assert result.exit_code == 2
    assert result.stderr.startswith("exactperm: --port: ")


def test_limits_are_those_of_a_server(scores: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EXACTPERM_MAX_ITEMS", "5")
    refuses(["12 items; at most 5 are allowed"], "test", scores)


@pytest.mark.parametrize(
    ("command", "format_"),
    [
        ("gate", "text"), ("gate", "json"), ("gate", "html"), ("gate", "svg"), ("test", "text"),
        ("test", "json"),
    ],
)  # fmt: skip
def test_a_page_that_says_yes_to_everything_never_passes_a_gate(
    scores: str, command: str, format_: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = httpx.Response(200, html="<html>pass</html>")

    def client(url: str, **_: Any) -> Client:
        return Client(url, transport=httpx.MockTransport(lambda _: page))

    monkeypatch.setattr(asking, "Client", client)
    result = run(command, scores, "-f", format_, "--url", "http://there")
    assert result.exit_code == 2
    assert "Is the URL right?" in result.stderr


@pytest.mark.parametrize(
    "more",
    [
        ["--names", "a", "b"],
        ["-O", "alpha=0.1"],
        ["--gold", "x"],
        ["-O", "exact_fraction=true"],
    ],
    ids=str,
)
def test_no_option_beside_a_json_request_is_ignored(scores: str, more: list[str]) -> None:
    refuses(["they belong into the file"], "test", "--kind", "scores", scores, *more)


def test_an_unreachable_url_is_reported_with_status_2(scores: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "Client", lambda url, **options: _client(url))
    refuses(["No connection to http://127.0.0.1:9"], "gate", scores, "--url", "http://127.0.0.1:9")


def _client(url: str) -> Any:
    return Client(url, retries=0)


def test_the_server_gets_what_would_be_computed_here_and_the_key(
    scores: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Server(InProcess):
        def handle_request(self, request: httpx.Request) -> httpx.Response:
            assert request.headers["authorization"] == "Bearer k"
            assert request.url.host == "there"
            return super().handle_request(request)

    def client(url: str, *, api_key: str | None = None, **_: Any) -> Client:
        return Client(url, api_key=api_key, transport=Server(Settings()))

    here = answer("test", scores)
    monkeypatch.setattr(asking, "Client", client)
    monkeypatch.setenv("EXACTPERM_API_KEY", "k")
    there = answer("test", scores, "--url", "https://there")
    assert {**here, "runtime": 0} == {**there, "runtime": 0}


@pytest.mark.parametrize(
    ("error", "status"),
    [(KeyboardInterrupt(), 130), (BrokenPipeError(), 0), (ValueError("x"), 2), (SystemExit(3), 3)],
    ids=lambda value: type(value).__name__,
)
def test_no_error_ends_in_a_traceback(
    error: BaseException, status: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(commands, "_run", fail)
    assert commands._status(["test", "x"]) == status
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize("number", ["1e400", "NaN", "-Infinity"])
def test_an_effect_that_is_not_finite_is_refused_with_and_without_files(number: str, scores: str) -> None:
    for more in ([scores], ["--sd=0.3"]):
        refuses(["is not a finite number"], "power", *more, "--solve=n", f"--effect={number}")


@pytest.mark.parametrize("name", ["a\n::error::y", "a\u2028::error::y", "##[error]x", "\x1b[31mred"])
def test_a_missing_file_name_is_printed_safely(name: str, scores: str) -> None:
    for typed in (["test", name, scores], ["test", scores, "-o", f"{name}/x.txt"]):
        (line,) = run(*typed).stderr.splitlines()
        assert line.startswith("exactperm: ")
        assert "##[" not in line
        assert "\x1b" not in line


@pytest.mark.parametrize("job", ["\x0b::error::vt", "##[x]", "a/b?c", "\N{ARABIC-INDIC DIGIT THREE}"])
def test_odd_ids_of_jobs_and_keys_give_no_tracebacks(job: str, scores: str) -> None:
    for command in ("status", "result", "cancel", "delete", "wait"):
        assert run("jobs", command, job, "--url", "http://127.0.0.1:9").exit_code == 2
    assert (
        run("jobs", "submit", scores, "--key", f"\ufeff{job}", "--url", "http://127.0.0.1:9").exit_code == 2
    )


@pytest.mark.parametrize("place", ["file", "--gold"])
def test_a_name_too_long_for_a_file_system_is_refused(place: str, scores: str) -> None:
    long = "7" * 400
    refuses(
        ["cannot be read: File name too long."],
        "test",
        *([scores, "--gold", long] if place == "--gold" else [long, scores]),
    )


@pytest.mark.parametrize("name", ["r.pdf", "r.HTLM", "answer.tsv"])
def test_a_report_of_an_unknown_ending_is_refused(name: str, scores: str, tmp_path: Path) -> None:
    path = tmp_path / name
    result = run("test", scores, "-o", str(path))
    assert (result.exit_code, path.exists()) == (2, False)
    assert f"no report with the ending {path.suffix.lower()}; there are .json, .txt, .md" in result.stderr
    assert run("test", scores, "-o", str(path), "-f", "text").exit_code == 0
    assert path.read_text().startswith("p=")
    assert run("test", scores, "-o", str(tmp_path / "r")).exit_code == 0


def test_a_missing_key_is_reported_with_a_remedy(scores: str, monkeypatch: pytest.MonkeyPatch) -> None:
    said = {"type": "/docs/problems#unauthorized", "title": "No key", "status": 401, "detail": "Give a key."}
    refusal = httpx.Response(401, json=said, headers={"content-type": "application/problem+json"})

    def client(url: str, **_: Any) -> Client:
        return Client(url, transport=httpx.MockTransport(lambda _: refusal))

    monkeypatch.setattr(asking, "Client", client)
    refuses(["--api-key", "EXACTPERM_API_KEY"], "test", scores, "--url", "http://there")


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("EXACTPERM_WORKER", "EXACTPERM_WORKERS"),
        ("EXACTPERM_API_KEY_DIGEST", "EXACTPERM_API_KEY_DIGESTS"),
        ("exactperm_max_item", "EXACTPERM_MAX_ITEMS"),
    ],
)
def test_a_variable_that_is_nearly_a_setting_is_refused(
    name: str, meant: str, scores: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, "2")
    for arguments in (("test", scores), ("serve", "--port", "99999")):
        refuses([f"did you mean {meant}?"], *arguments)


def test_other_variables_are_warned_of_or_set_by_kubernetes(
    scores: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (
        ("EXACTPERM_SERVICE_HOST", "10.0.0.1"),
        ("EXACTPERM_SERVICE_PORT_HTTP", "8000"),
        ("EXACTPERM_PORT_8000_TCP_ADDR", "10.0.0.1"),
        ("EXACTPERM_WEB_PORT", "tcp://10.0.0.1:8000"),
        ("EXACTPERM_TRACEBACK", ""),
        ("EXACTPERM_LOG_FORMAT", "json"),
    ):
        monkeypatch.setenv(name, value)
    assert run("test", scores).stderr == ""
    monkeypatch.setenv("EXACTPERM_COLOUR", "red")
    result = run("test", scores)
    assert result.exit_code == 0
    assert result.stderr == "exactperm: EXACTPERM_COLOUR is not a setting of exactperm and has no effect.\n"


def test_a_json_request_is_a_file_like_any_other(tmp_path: Path) -> None:
    """One item of samples it was, with p = 1, and a gate passed it."""
    path = tmp_path / "b.json"
    path.write_text('{"u": [0, 0, 0, 0, 0, 0, 0, 0],\n "v": [1, 1, 1, 1, 1, 1, 1, 1]}\n')
    assert answer("test", str(path))["p_value"] == 0.0078125
    assert answer("test", str(path), "--alternative", "less")["p_value"] == 0.00390625
    result = run("gate", str(path))
    assert (result.exit_code, result.stdout.startswith("FAIL: ")) == (1, True)
    assert run("gate", str(path), "--policy", "improve").exit_code == 1
    planned = run("plan", str(path))
    assert (planned.exit_code, "exact" in planned.stdout) == (0, True)
    path.write_text('{"kind": "scores", "request": {"u": [0, "x"], "v": [1, 1]}}')
    refuses([f'{path}, request["u"][1]'], "gate", str(path))
    path.write_text('{"kind": "scores", "request": {"u": [0, 1], "v": [1, 1]}, "policy": "improve"}')
    assert "exactperm gate" in run("test", str(path)).stderr


# Sentences mark options (`id_column=q`); each entrance spells them as they are written there, and nothing else.


APP = Path(__file__).parents[2] / "app" / "exactperm"
MARK = re.compile(r"`([a-z]\w*)(?:=([^`]*))?`")
HINT = re.compile(r"(?<![\w?&`.])([a-z]\w*)=(?!=)")
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]*")
# What has the form of a hint and is none: a header, a definition, and a canonical text.
NO_HINTS = {"dur", "index", "realm", "zero_division", "x"}
OPTIONS = {
    name
    for command in ("test", "gate", "compare")
    for one in cli.commands[command].params
    for name in (*one.opts, *one.secondary_opts)
}


def sentences() -> Iterator[tuple[str, str]]:
    """Every text of the packages that refuse data, with its place; placeholders are x, or a mark as by `marked`."""
    for room in ("inputs", "service", "statistics", "inference"):
        for path in sorted((APP / room).rglob("*.py")):
            nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
            skipped = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
            skipped |= {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
            for node in nodes:
                if isinstance(node, ast.JoinedStr):
                    text = "".join(
                        str(part.value) if isinstance(part, ast.Constant) else _filled(part)
                        for part in node.values
                    )
                    yield f"{path.name}:{node.lineno}", text
                elif (
                    isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in skipped
                ):
                    yield f"{path.name}:{node.lineno}", node.value


def _filled(part: ast.expr) -> str:
    value = part.value if isinstance(part, ast.FormattedValue) else None
    if not (isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "marked"):
        return "x"
    name = str(value.args[0].value) if isinstance(value.args[0], ast.Constant) else "id_column"
    return f"`{name}`" if len(value.args) == 1 else f"`{name}=x`"


SENTENCES = [(place, text) for place, text in sentences() if " " in text.strip()]
MARKED = [  # in answers and schemas their fields are marked
    (place, text)
    for place, text in SENTENCES
    if MARK.search(text)
    and {name for name, _ in MARK.findall(text)} <= FIELDS | FILES | {"higher_is_better", "metrics"}
    and "`null." not in text
]


def test_there_are_marks_to_walk() -> None:
    assert len(MARKED) > 60


def test_no_sentence_spells_an_option_as_one_entrance_does() -> None:
    unmarked = [
        (place, text) for place, text in SENTENCES if set(HINT.findall(MARK.sub("", text))) - NO_HINTS
    ]
    assert unmarked == []


@pytest.mark.parametrize(("place", "text"), MARKED, ids=[place for place, _ in MARKED])
def test_every_mark_becomes_an_option_that_there_is(place: str, text: str) -> None:
    said = in_words(text)
    assert "`" not in said.replace("`DOMAIN DOCUMENT`", "")
    options, rare = set(OPTION.findall(said)), set(re.findall(r"(?<=-O )[a-z_]+", said))
    assert options or rare, said
    assert options <= OPTIONS
    assert rare <= RARE


@pytest.mark.parametrize(
    ("text", "typed", "in_python", "in_json"),
    [
        (
            "Choose the scorer (`scorer`); there are: x.",
            "Choose the scorer (-O scorer); there are: x.",
            "Choose the scorer (scorer); there are: x.",
            'Choose the scorer ("scorer"); there are: x.',
        ),
        ("give `id_column=my id`", "give --id-column 'my id'", 'give id_column="my id"', 'give "id_column": "my id"'),
        ('give `"on_missing": "drop"`', "give --on-missing drop", 'give on_missing="drop"', 'give "on_missing": "drop"'),
        (
            "give `allow_incomplete=true` to test",
            "give -O allow_incomplete=true to test",
            "give allow_incomplete=True to test",
            'give "allow_incomplete": true to test',
        ),
        (
            "`higher_is_better=false` if lower",
            "--lower-is-better if lower",
            "higher_is_better=False if lower",
            '"higher_is_better": false if lower',
        ),
        (
            "name it with `format`, one of csv",
            "name it with --input-format, one of csv",
            "name it with format, one of csv",
            'name it with "format", one of csv',
        ),
    ],
)  # fmt: skip
def test_each_entrance_spells_marks(text: str, typed: str, in_python: str, in_json: str) -> None:
    assert (in_words(text), spelt(text, keyword), spelt(text, member)) == (typed, in_python, in_json)


@pytest.mark.parametrize(
    "text", ['There is no column "`id_column=x` \\" metric=".', "a = b, colour=red", "5 `ok"]
)
def test_quoted_and_unmarked_words_stay(text: str) -> None:
    assert in_words(text) == spelt(text, keyword) == spelt(text, member) == text


def test_a_table_with_an_unknown_name_of_ids_is_refused_with_options(tmp_path: Path) -> None:
    new, old = tmp_path / "new.csv", tmp_path / "old.csv"
    new.write_text("question;new\nwhy;1\nhow;0\nwho;1\n")
    old.write_text("question;old\nwho;0\nwhy;1\nhow;0\n")
    for more in ([], ["--input-format", "csv"]):
        said = run("test", str(new), str(old), *more).stderr
        assert 'No column is known to hold ids, but "question" has the same values in u and in v' in said
        assert "Give --id-column question, or remove the column." in said
    result = run("test", str(new), str(old), "--input-format", "csv", "--id-column", "question", "-f", "json")
    assert result.exit_code == 0, result.stderr
    assert '"wins":1,"ties":2,"losses":0' in result.stdout


def test_tags_without_gold_are_refused_with_options(tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("u.conll", "v.conll")]
    for path in files:
        path.write_text("Rome B-LOC\nfell O\n\n")
    refuses(
        [
            "Give the gold standard in a separate file (--gold)",
            "-O tag_column_gold and -O tag_column_u choose the column",
        ],
        "test",
        *map(str, files),
    )


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--alpha", "2%", "Write 0.02."),
        ("--alpha", "0,05", "Write 0.05, with a point."),
        ("--confidence-level", "97,5 %", "Write 0.975."),
        ("--samples", "1,000", "Write 1000."),
        ("--samples", "1e4", "Write 10000."),
        ("--alpha", "1,000", "Write decimals with a point, and nothing between thousands."),
    ],
)
def test_unusual_numbers_are_refused_with_the_right_spelling(
    option: str, value: str, said: str, scores: str
) -> None:
    refuses([said, f"  at {option}\n"], "test", scores, option, value)


def test_a_margin_in_percent_and_a_word_for_a_number(scores: str) -> None:
    assert "Write 0.02." in run("gate", scores, "--margin", "2%").stderr
    assert "Write" not in run("test", scores, "--alpha", "often").stderr
    assert "Write" not in run("test", scores, "--samples", "1.5").stderr


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("Excel", "the workbook is damaged. Save its sheet as CSV"),
        ("XlsxWriter", "the workbook is damaged. Save its sheet as CSV"),
        ("LibreOffice", "this is a spreadsheet of a kind that is not read. Save its sheet as CSV (or .xlsx)"),
        ("xls", "this is a spreadsheet of a kind that is not read. Save its sheet as CSV (or .xlsx)"),
    ],
)
def test_a_spreadsheet_that_is_not_read_is_named_as_one(kind: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "scores.xlsx"
    first = {
        "Excel": "[Content_Types].xml",
        "XlsxWriter": "xl/worksheets/sheet1.xml",
        "LibreOffice": "mimetype",
    }
    if kind == "xls":
        path.write_bytes(bytes.fromhex("d0cf11e0a1b11ae1") + bytes(504))
    else:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr(first[kind], "application/vnd.oasis.opendocument.spreadsheet")
    for more in ([], ["--input-format", "csv"]):
        refuses([said], "test", str(path), *more)


def test_percent_signs_in_a_file_are_removed_with_a_note(tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    path.write_text("id,u,v\na,50%,25%\nb,75%,50%\n")
    result = run("test", str(path))
    assert result.exit_code == 0
    assert "mean_difference=25 U=62.5 V=37.5 n=2" in result.stdout
    assert "percent signs were left out" in result.stdout
    path.write_text("id,u,v\na,50%,25%\nb,75%,50\n")
    result = run("test", str(path))
    assert (result.exit_code, result.stdout) == (2, "")
