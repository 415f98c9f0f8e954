"""Every representation of real outputs says what was measured, which direction is better, and what was read of the files."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from tests.api.test_report_names import Words

DATA = Path(__file__).parents[1] / "data"
TEXTS = {
    "/v1/tests/files": ("text", "markdown", "csv", "html"),
    "/v1/gate": ("text", "markdown", "csv", "html", "junit"),
    "/v1/compare": ("text", "markdown", "csv", "html"),
}


@dataclass(frozen=True)
class Case:
    """Files of two systems, the options, and what a reader is to be told."""

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
    """What a person reads: without markup and escapes."""
    if form == "html":
        text = Words(text).text
    elif form == "junit":
        text = " ".join(ET.fromstring(text).itertext())
    return re.sub(r"\\(.)", r"\1", text).replace('""', '"')


@pytest.mark.parametrize(("path", "form", "name"), EVERY)
def test_a_report_says_what_was_measured_what_is_better_and_what_was_read(
    service: Any, path: str, form: str, name: str
) -> None:
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


def test_scores_of_which_nothing_is_known_are_given_no_direction(service: Any) -> None:
    for form in ("text", "markdown", "html", "svg"):
        text = service.post(f"/v1/tests/scores?format={form}", {"u": [1, 0, 1], "v": [0, 0, 1]}).text
        assert "is better" not in text.replace("_", " "), form
