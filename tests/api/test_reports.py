"""Test that reports and pictures state the metric, its direction, the certainty, and how files were read."""

import csv
import io
import json
import random
import re
import subprocess
import sys
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from tests.api.conftest import error_of

DATA = Path(__file__).parents[1] / "data"
TREEBANKS = {
    role: (f"{name}.conllu", (DATA / "conllu" / f"{name}.conllu").read_bytes())
    for role, name in (("gold", "gold"), ("u", "crf"), ("v", "perceptron"))
}
REPORTS = ("text", "markdown", "csv", "html", "junit")
TABLE = b"id,new,old,length\n" + b"".join(b"%d,%d,%d,7\n" % (n, n % 2, n % 3 > 0) for n in range(12))


class Words(HTMLParser):
    """The text of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.text = ""
        self.feed(page)

    def handle_data(self, data: str) -> None:
        self.text += data


def report(service: Any, path: str, format_: str, files: Any, **fields: str) -> str:
    response = service.request("POST", f"{path}?format={format_}", files=files, data=fields)
    assert response.status_code in {200, 409}, response.text
    return Words(response.text).text if format_ == "html" else response.text


def test_metrics_of_one_treebank_are_distinguished_by_name(service: Any) -> None:
    metrics = json.dumps([{"statistic": "upos"}, {"statistic": "las"}])
    for format_ in REPORTS:
        text = report(service, "/v1/gate", format_, TREEBANKS, metrics=metrics)
        assert "upos" in text, format_
        assert "las" in text, format_
    said = service.request("POST", "/v1/gate", files=TREEBANKS, data={"metrics": metrics}).json()
    assert [metric["name"] for metric in said["metrics"]] == ["upos", "las"]
    assert [metric["test"]["statistic"]["metric"] for metric in said["metrics"]] == ["upos", "las"]


def test_two_statistics_of_one_metric_have_two_names(service: Any) -> None:
    runs = {
        role: (name, (DATA / "trec" / name).read_bytes())
        for role, name in (("u", "eval.aplrob03a.txt"), ("v", "eval.uic0301.txt"))
    }
    metrics = json.dumps([{"measure": "map"}, {"measure": "map", "statistic": "sign"}, {"measure": "P_10"}])
    said = service.request("POST", "/v1/gate", files=runs, data={"format": "trec", "metrics": metrics}).json()
    assert [metric["name"] for metric in said["metrics"]] == ["map", "map (sign)", "P_10"]


@pytest.mark.parametrize("format_", ["text", "markdown", "csv", "html"])
def test_a_test_keeps_the_name_of_its_metric(service: Any, format_: str) -> None:
    table = b"id,errors,ref_words\n1,1,4\n2,0,5\n"
    files = {"u": ("u.csv", table), "v": ("v.csv", table.replace(b"2,0,5", b"2,2,5"))}
    said = report(service, "/v1/tests/files", format_, files, format="asr")
    assert "wer" in said
    assert "ratio" in said
    graded = {
        role: (role, b'{"id": "1", "acc": %d}\n{"id": "2", "acc": 1}\n' % n) for n, role in enumerate("uv")
    }
    assert "acc" in report(service, "/v1/tests/files", format_, graded)


@pytest.mark.parametrize("format_", REPORTS)
def test_every_report_of_a_gate_lists_readings_guesses_and_omissions(service: Any, format_: str) -> None:
    text = report(service, "/v1/gate", format_, {"file": ("t.csv", TABLE)}).replace("\\", "")
    assert "The format was guessed" in text
    assert "u is new and v is old, by their names." in text
    assert "length" in text


@pytest.mark.parametrize("format_", ["text", "markdown", "csv", "html"])
def test_every_report_of_a_test_says_so_too(service: Any, format_: str) -> None:
    text = report(service, "/v1/tests/files", format_, {"file": ("t.csv", TABLE)}).replace("\\", "")
    assert "The format was guessed" in text
    assert "u is new and v is old, by their names." in text


def test_requests_without_files_have_no_reading(service: Any) -> None:
    request = {"u": [1, 0, 1], "v": [0, 0, 1]}
    text = service.post("/v1/tests/scores?format=text", request).text
    assert "read=" not in text
    assert text.count("\n") == 1
    assert "What was read" not in service.post("/v1/tests/scores?format=html", request).text
    row = next(csv.DictReader(io.StringIO(service.post("/v1/tests/scores?format=csv", request).text)))
    assert (row["notes"], row["metric"], row["higher_is_better"]) == ("[]", "", "")


def test_a_note_is_one_line_and_no_markup(service: Any) -> None:
    """Names of columns are strangers' text, and stand in notes."""
    evil = "<script>x</script>|`**"
    table = f"id,{evil}_new,{evil}_old\n" + "".join(f"{n},{n % 2},{n % 3 > 0:d}\n" for n in range(12))
    options = {
        "format": "csv",
        "higher_is_better": "true",
    }  # the words that both names share could be a metric
    for format_ in REPORTS:
        response = service.request(
            "POST",
            f"/v1/gate?format={format_}",
            files={"file": (f"{evil}.csv", table.encode())},
            data=options,
        )
        assert response.status_code in {200, 409}, response.text
        if format_ in {"html", "junit"}:
            assert "<script>" not in response.text
        if format_ == "text":
            assert response.text.count("\n") == 1
        if format_ == "junit":
            ET.fromstring(response.text)


def test_junit_has_notes_and_warnings_in_the_output_of_the_case(service: Any) -> None:
    files = {"u": ("old.csv", b"id,score\n1,1\n2,0\n"), "v": ("new.csv", b"id,score\n1,1\n2,1\n")}
    root = ET.fromstring(report(service, "/v1/gate", "junit", files))
    said = root.findtext(".//system-out") or ""
    assert "roles_contradict_names: " in said
    assert "Read: The format was guessed" in said


TEXTS = {
    "/v1/tests/files": ("text", "markdown", "csv", "html"),
    "/v1/gate": ("text", "markdown", "csv", "html", "junit"),
    "/v1/compare": ("text", "markdown", "csv", "html"),
}


@dataclass(frozen=True)
class Case:
    """Files of two systems, the options, and expected words of reports."""

    files: dict[str, str]
    metric: str  # by its name in files and requests
    title: str  # as people call it
    higher: bool
    note: str
    options: dict[str, str] = field(default_factory=dict)


CASES = {
    "transcripts": Case(
        {"u": "asr/amazon.trn", "v": "asr/google.trn", "ref": "asr/ref.trn"}, "wer", "WER", False, "empty hypothesis",
    ),
    "utterances": Case(
        {"u": "asr/amazon.trn", "v": "asr/google.trn", "ref": "asr/ref.trn"},
        "utterance_accuracy", "utterance accuracy", True, "empty hypothesis", {"statistic": "utterance_accuracy"},
    ),
    "word errors": Case({"u": "asr/amazon.tsv", "v": "asr/google.tsv"}, "wer", "WER", False, "clusters: call would"),
    "tags": Case(
        {"gold": "conllu/gold.conllu", "u": "conllu/crf.conllu", "v": "conllu/perceptron.conllu"},
        "upos", "UPOS", True, "The clusters are the 3 documents", {"statistic": "upos", "clusters": "document"},
    ),
    "relations": Case(
        {"gold": "conllu/gold.conllu", "u": "conllu/crf.conllu", "v": "conllu/perceptron.conllu"},
        "las", "LAS", True, "skipped 4 multiword tokens and 1 empty nodes", {"statistic": "las"},
    ),
    "entities": Case(
        {"gold": "wnut17/gold.annotated", "u": "wnut17/uh_ritual", "v": "wnut17/spinningbytes.txt"},
        "span_f1", "entity F1", True, "15 sentences and 327 tokens", {"format": "conll"},
    ),
    "rankings": Case(
        {"u": "trec/run.aplrob03a.txt", "v": "trec/run.uic0301.txt", "qrels": "trec/qrels.txt"},
        "ndcg_cut_10", "nDCG@10", True, "98 judgements of 4 queries", {"measure": "ndcg_cut_10"},
    ),
    "measures": Case(
        {"u": "trec/eval.aplrob03a.txt", "v": "trec/eval.uic0301.txt"},
        "map", "MAP", True, "6 lines of averages over all queries were skipped", {"measure": "map"},
    ),
    "translations": Case(
        {"u": "mt/sys1.tsv", "v": "mt/sys2.tsv"}, "ter", "TER", False, "guessed", {"metric": "ter"}
    ),
    "language models": Case(
        {"u": "eus_trivia/gpt-4-0613.jsonl", "v": "eus_trivia/gpt-3.5-turbo-0125.jsonl"},
        "correct", "accuracy", True, 'the score of an item is its "correct"',
    ),
    "metrics": Case(
        {"gold": "mtme/small/en-de.mqm.seg.score", "u": "mtme/small/chrF-refA.seg.score",
         "v": "mtme/small/BLEU-refA.seg.score"},
        "kendall", "Kendall’s tau", True, "8 of 48 segments of 4 systems have no human score and were left out",
        {"method": "monte_carlo", "samples": "1000"},  # enumerated it takes ten seconds, and here are thirty of it
    ),
    "scorers": Case(
        {"u": "inspect/sonnet.json", "v": "inspect/qwen.json"}, "choice", "choice", True, "The scorer is choice",
        {"on_missing": "drop"},
    ),
}  # fmt: skip
EVERY = [(path, form, name) for path, forms in TEXTS.items() for form in forms for name in CASES]


def answered(service: Any, path: str, form: str, case: Case) -> Any:
    """The report; a comparison takes its systems by the names of their files."""
    contents = {role: (Path(file).name, (DATA / file).read_bytes()) for role, file in case.files.items()}
    options = dict(case.options)
    files: Any = contents
    if path == "/v1/compare":
        files = [("system" if role in {"u", "v"} else role, content) for role, content in contents.items()]
        if "on_missing" in options:
            options["on_missing"] = "complete"
    response = service.request("POST", f"{path}?format={form}", files=files, data=options)
    assert response.status_code in {200, 409}, response.text
    return response


def words(form: str, text: str) -> str:
    """The visible text without markup and escapes."""
    if form == "html":
        text = Words(text).text
    elif form == "junit":
        text = " ".join(ET.fromstring(text).itertext())
    return re.sub(r"\\(.)", r"\1", text).replace('""', '"')


@pytest.mark.parametrize(("path", "form", "name"), EVERY)
def test_a_report_has_metric_direction_and_reading(service: Any, path: str, form: str, name: str) -> None:
    case = CASES[name]
    text = words(form, answered(service, path, form, case).text)
    better = "higher" if case.higher else "lower"
    if form == "text":
        assert f" {better}_is_better " in text
        assert f"metric={case.metric} " in text or f" {case.metric}=" in text or f"={case.metric} " in text
    elif form == "csv":
        row = next(csv.DictReader(io.StringIO(answered(service, path, form, case).text)))
        assert case.metric in {row["metric"], row["statistic"]}
        assert row["higher_is_better"] == str(case.higher).lower()
        assert case.note in " ".join(json.loads(row["notes"]))
    else:
        assert case.title in text
        assert f"{better} is better" in text
        assert f"{'lower' if case.higher else 'higher'} is better" not in text
    assert case.note in text


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("path", TEXTS)
def test_the_answer_as_json_says_so_by_the_names_of_the_files(service: Any, path: str, name: str) -> None:
    case, said = CASES[name], answered(service, path, "json", CASES[name]).json()
    tests = [metric["test"] for metric in said["metrics"]] if path == "/v1/gate" else [said]
    for test in tests:
        statistic = test if path == "/v1/compare" else test["statistic"]
        assert case.metric in {
            statistic["metric"],
            statistic["statistic" if path == "/v1/compare" else "name"],
        }
        assert statistic["higher_is_better"] is case.higher
        assert case.note in " ".join(test["reading"]["notes"])


@pytest.mark.slow
@pytest.mark.parametrize("path", TEXTS)
@pytest.mark.parametrize("name", ["transcripts", "rankings"])
def test_a_picture_says_so_where_it_stands_alone(service: Any, path: str, name: str) -> None:
    case = CASES[name]
    better = f"{'higher' if case.higher else 'lower'} is better"
    drawn = ET.fromstring(answered(service, path, "svg", case).content)
    shown = " ".join(text.text or "" for text in drawn.iter("{http://www.w3.org/2000/svg}text"))
    assert case.title in shown
    assert better in shown
    described = drawn.findtext("{http://www.w3.org/2000/svg}desc") or ""
    assert case.note in described
    inside = answered(service, path, "png", case).content
    assert b"Description" in inside
    assert case.note.encode() in inside
    assert better.encode() in inside


@pytest.mark.parametrize("path", ["/v1/tests/files", "/v1/gate"])
def test_the_cells_of_markdown_are_the_metric_with_its_direction(service: Any, path: str) -> None:
    text = answered(service, path, "markdown", CASES["transcripts"]).text
    assert "| WER (lower is better) | `ratio` of `wer` | " in text
    assert " in WER (lower is better) over 12 items: " in text


def test_a_gate_of_several_metrics_tells_the_direction_of_each(service: Any) -> None:
    transcripts = CASES["transcripts"]
    case = Case(
        transcripts.files, "", "", False, "",
        {"metrics": json.dumps([{"statistic": "wer"}, {"statistic": "utterance_accuracy"}])},
    )  # fmt: skip
    for form in ("markdown", "html", "junit"):
        text = words(form, answered(service, "/v1/gate", form, case).text)
        assert re.search(r"WER ?[(;] ?lower is better", text), form
        assert re.search(r"utterance accuracy ?[(;] ?higher is better", text), form
    line = answered(service, "/v1/gate", "text", case).text
    assert (line.count(" lower_is_better "), line.count(" higher_is_better ")) == (1, 1)
    rows = list(csv.DictReader(io.StringIO(answered(service, "/v1/gate", "csv", case).text)))
    assert [(row["metric"], row["higher_is_better"]) for row in rows] == [
        ("wer", "false"),
        ("utterance_accuracy", "true"),
    ]


def test_a_sign_test_of_errors_says_whose_many_wins_are_bad(service: Any) -> None:
    """U has more errors on every utterance that differs: those are V's wins, and no sentence calls them U's."""
    tables = {
        "u": b"id,wer\n" + b"".join(b"%d,0.5\n" % n for n in range(8)),
        "v": b"id,wer\n" + b"".join(b"%d,0.%d\n" % (n, n % 3) for n in range(8)),
    }
    files = {role: (f"{role}.csv", content) for role, content in tables.items()}
    for statistic in ("sign", "signed_rank"):
        options = {"statistic": statistic}
        said = service.request("POST", "/v1/tests/files", files=files, data=options).json()
        assert (said["items"]["wins"], said["items"]["losses"]) == (0, 8)
        text = service.request("POST", "/v1/tests/files?format=markdown", files=files, data=options).text
        assert "had the higher WER (lower is better)" in text
        assert "| 0 / 0 / 8 |" in text


def test_unknown_scores_have_no_direction(service: Any) -> None:
    for form in ("text", "markdown", "html", "svg"):
        text = service.post(f"/v1/tests/scores?format={form}", {"u": [1, 0, 1], "v": [0, 0, 1]}).text
        assert "is better" not in text.replace("_", " "), form


def labels(control: bool) -> dict[str, Any]:
    """Macro F1 of three classes, which has a linear part, or scores, whose samples need no control."""
    draw = random.Random(7)
    gold = [draw.randrange(3) for _ in range(60)]
    u, v = ([g if draw.random() < skill else draw.randrange(3) for g in gold] for skill in (0.8, 0.6))
    drawn = {"method": "monte_carlo", "samples": 1000, "seed": 3}
    if not control:
        return {"u": u, "v": v, **drawn}
    statistic = {"name": "f1", "average": "macro"}
    named = {"gold": list(map(str, gold)), "u": list(map(str, u)), "v": list(map(str, v))}
    return {**named, "statistic": statistic, **drawn}


def asked(service: Any, gate: bool, control: bool, form: str) -> str:
    kind, body = ("predictions" if control else "scores"), labels(control)
    if gate:
        asked_for = {"kind": kind, "request": body, "policy": "improve"}
        answer = service.post(f"/v1/gate?fail_status=200&format={form}", asked_for)
    else:
        answer = service.post(f"/v1/tests/{kind}?format={form}", body)
    assert answer.status_code == 200, answer.text
    text = str(answer.text)
    return " ".join((re.sub(r"<[^>]*>", " ", text) if form == "html" else text).split())


@pytest.mark.parametrize("gate", [False, True], ids=["test", "gate"])
@pytest.mark.parametrize("form", ["text", "markdown", "html"])
def test_sampled_reports_mention_the_control_variate(service: Any, form: str, gate: bool) -> None:
    controlled, plain = (asked(service, gate, control, form) for control in (True, False))
    assert "sampled, with a control variate" in controlled
    assert "control variate" not in plain
    assert re.search(r"sampled\b(?!,? with a control variate)", plain)
    # Nowhere is the certainty of the p-value "sampled" and nothing more.
    assert not re.findall(r"\(sampled[,)](?! with a control variate)|\bis sampled\.|\bsampled;", controlled)


def test_a_picture_says_so_in_its_subtitle_and_description(service: Any) -> None:
    drawn = service.post("/v1/tests/predictions?format=svg", labels(control=True)).text
    described = re.search(r"<desc[^>]*>([^<]*)</desc>", drawn)
    assert described is not None
    assert "sampled, with a control variate." in described[1]
    words = " ".join(re.sub(r"<(desc|title)[^>]*>[^<]*</\1>|<[^>]*>", " ", drawn).split())
    assert "sampled, with a control variate (monte_carlo)" in words
    assert "control variate" not in service.post("/v1/tests/scores?format=svg", labels(control=False)).text


ROOT = Path(__file__).resolve().parents[2]
BODY = {"u": [0.85, 0.90, 0.78, 0.92, 0.88], "v": [0.80, 0.85, 0.75, 0.88, 0.82]}
SVG = "{http://www.w3.org/2000/svg}svg"


@pytest.mark.parametrize("ask", [{"path": "?format=svg"}, {"headers": {"accept": "image/svg+xml"}}])
def test_a_picture_is_an_svg(service: Any, ask: dict[str, Any]) -> None:
    response = service.post("/v1/tests/scores" + ask.pop("path", ""), BODY, **ask)
    assert response.headers["content-type"] == "image/svg+xml"
    assert ET.fromstring(response.text).tag == SVG
    assert "0.0625" in response.text


def test_a_picture_is_drawn_without_the_numbers_in_the_answer(service: Any) -> None:
    without = service.post("/v1/tests/scores?format=svg", {**BODY, "pmf": "none"})
    assert without.text == service.post("/v1/tests/scores?format=svg", BODY).text


@pytest.mark.parametrize("form", ["svg", "html"])
def test_a_picture_of_every_value_is_that_of_the_summary(service: Any, form: str) -> None:
    rows = [[7**k % 9973, 5**k % 4999] for k in range(1, 17)]
    body = {
        "stay": rows,
        "swap": [[b, a + b] for a, b in rows],
        "statistic": {"expression": "x1 / (x1 + x2)"},
    }
    full = service.post(f"/v1/tests/effects?format={form}", {**body, "pmf": "full"})
    assert full.status_code == 200, full.text
    assert full.text == service.post(f"/v1/tests/effects?format={form}", body).text
    assert len(full.content) < 100_000


def test_a_theme_is_for_pictures(service: Any) -> None:
    light = service.post("/v1/tests/scores?format=png", BODY)
    dark = service.post("/v1/tests/scores?format=png&theme=dark", BODY)
    assert light.content != dark.content
    for query in ("?theme=dark", "?format=svg&theme=blue", "?format=svg&theme=dark&theme=dark"):
        assert error_of(service.post(f"/v1/tests/scores{query}", BODY))[0] == "/?theme"


def test_tables_and_files_can_be_drawn_too(service: Any) -> None:
    drawn = service.body(
        "/v1/tests/scores?format=svg&theme=dark&statistic=sign", b"1,0\n1,1\n1,0\n", "text/csv"
    )
    assert drawn.headers["content-type"] == "image/svg+xml", drawn.text
    files = {"file": ("scores.csv", b"id,u,v\na,1,0\nb,1,0\n")}
    drawn = service.request("POST", "/v1/tests/files?format=html", files=files)
    assert drawn.headers["content-type"] == "text/html; charset=utf-8", drawn.text


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


def test_a_report_is_one_file_that_fetches_and_runs_nothing(service: Any) -> None:
    body = {**BODY, "confidence_level": 0.9, "names": {"u": "<script>alert(1)</script>", "v": "&lt;b&gt;"}}
    response = service.post("/v1/tests/scores?format=html", body)
    found = Tags()
    found.feed(response.text)
    names = [tag for tag, _ in found.tags]
    assert names[0] == "html"
    assert "svg" in names
    assert "script" not in names
    for tag, attributes in found.tags:
        assert not any(name.startswith("on") for name in attributes), tag
        for name in ("src", "href", "xlink:href", "data", "action"):
            assert (attributes.get(name) or "#").startswith(("#", "data:")), (tag, attributes)
    assert "&lt;script&gt;" in response.text
    assert "script" not in response.headers["content-security-policy"]


@pytest.mark.slow
def test_the_web_process_does_not_import_drawing_libraries() -> None:
    code = (
        "import sys; from exactperm.main import create_app; from exactperm.settings import Settings; import exactperm.service.pipeline\n"
        "create_app(Settings(workers=1))\n"
        "print(sorted({'resvg_py', 'jinja2'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
