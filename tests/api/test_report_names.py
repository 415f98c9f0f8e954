"""No report loses what was measured, or how files were read."""

from __future__ import annotations

import csv
import io
import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

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


def test_metrics_of_one_treebank_are_told_apart_as_the_readme_writes_them(service: Any) -> None:
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
def test_every_report_of_a_gate_says_what_was_read_guessed_and_left_out(service: Any, format_: str) -> None:
    text = report(service, "/v1/gate", format_, {"file": ("t.csv", TABLE)}).replace("\\", "")
    assert "The format was guessed" in text
    assert "u is new and v is old, by their names." in text
    assert "length" in text


@pytest.mark.parametrize("format_", ["text", "markdown", "csv", "html"])
def test_every_report_of_a_test_says_so_too(service: Any, format_: str) -> None:
    text = report(service, "/v1/tests/files", format_, {"file": ("t.csv", TABLE)}).replace("\\", "")
    assert "The format was guessed" in text
    assert "u is new and v is old, by their names." in text


def test_numbers_in_a_request_have_nothing_to_say_of_reading(service: Any) -> None:
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
