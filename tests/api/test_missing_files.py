"""Missing outcomes as bounds in tables, lines and files, from the command line, and what every report says of them."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from exactperm.cli.commands import cli
from tests.api.conftest import error_of

U, V = [1, 1, None, 1, 1, 0, None], [0, 0, 0, None, 0, 0, None]
ASKED = "on_missing=bounds&alternative=greater"


def csv(header: bool, ids: bool = False, lacking: str = "") -> bytes:
    rows = [
        ",".join([*([f"q{i}"] if ids else []), *(lacking if x is None else str(x) for x in pair)])
        for i, pair in enumerate(zip(U, V, strict=True))
    ]
    names = ["id,u,v" if ids else "u,v"] if header else []
    return ("\n".join([*names, *rows]) + "\n").encode()


def over_fillings(low: Fraction, high: Fraction) -> list[float]:
    """The least and the greatest one-sided p over fillings with the ends of the range and its middle."""
    found = []
    gaps = [index for index, x in enumerate((*U, *V)) if x is None]
    for filling in product((low, (low + high) / 2, high), repeat=len(gaps)):
        values = [Fraction(0 if x is None else x) for x in (*U, *V)]
        for index, value in zip(gaps, filling, strict=True):
            values[index] = value
        effects = [u - v for u, v in zip(values[: len(U)], values[len(U) :], strict=True)]
        observed = sum(effects)
        sums = (
            sum(s * e for s, e in zip(signs, effects, strict=True)) for signs in product((1, -1), repeat=7)
        )
        found.append(Fraction(sum(each >= observed for each in sums), 2**7))
    return [float(min(found)), float(max(found))]


def test_a_table_with_empty_fields_is_a_list_with_nulls(service: Any) -> None:
    body = {"u": U, "v": V, "on_missing": "bounds", "alternative": "greater"}
    listed = service.post("/v1/tests/scores", body).json()
    assert listed["missing"]["p_value"] == over_fillings(Fraction(0), Fraction(1))
    assert listed["missing"]["n"] == 4
    for content, media in (
        (csv(header=True), "text/csv"),
        (csv(header=False), "text/csv"),
        (csv(header=True).replace(b",", b"\t"), "text/tab-separated-values"),
        (
            b"".join(json.dumps({"u": u, "v": v}).encode() + b"\n" for u, v in zip(U, V, strict=True)),
            "application/x-ndjson",
        ),
    ):
        said = service.body(f"/v1/tests/scores?{ASKED}", content, media).json()
        assert said["id"] == listed["id"], (media, said)
        assert said["missing"] == listed["missing"]
    ranged = service.body(f"/v1/tests/scores?{ASKED}&missing_range=-1,2", csv(header=True), "text/csv").json()
    assert ranged["missing"]["p_value"] == over_fillings(Fraction(-1), Fraction(2))


def read(service: Any, files: dict[str, bytes], **fields: str) -> Any:
    return service.request(
        "POST",
        "/v1/tests/files",
        files={role: (f"{role}.csv", own) for role, own in files.items()},
        data=fields,
    )


@pytest.mark.parametrize("lacking", ["", "NA"])
@pytest.mark.parametrize("ids", [True, False])
def test_a_file_with_empty_fields(service: Any, ids: bool, lacking: str) -> None:
    asked = {"on_missing": "bounds", "alternative": "greater"}
    said = read(service, {"file": csv(header=True, ids=ids, lacking=lacking)}, **asked).json()
    assert said["missing"]["n"] == 4, said
    assert said["missing"]["p_value"] == over_fillings(Fraction(0), Fraction(1))
    assert (said["items"]["n"], said["p_value"]) == (4, 1 / 8)
    assert any("4 outcomes are missing" in note for note in said["reading"]["notes"])


def test_ids_that_one_file_lacks(service: Any) -> None:
    """What is in one file alone, and what no value is in, is missing; clusters of all items swap together."""
    u = b"id,score,cluster\na,1,x\nb,1,y\nc,,y\nd,1,z\n"
    v = b"id,score,cluster\nd,0,z\nb,0,y\na,0,x\ne,0,x\n"
    asked = {"on_missing": "bounds", "missing_range": "0,1"}
    said = read(service, {"u": u, "v": v}, **asked).json()
    keyed = {
        "u": {"a": 1, "b": 1, "c": None, "d": 1}, "v": {"d": 0, "b": 0, "a": 0, "e": 0},
        "clusters": {"a": "x", "b": "y", "c": "y", "d": "z", "e": "x"}, "on_missing": "bounds",
    }  # fmt: skip
    as_json = service.post("/v1/tests/scores", keyed).json()
    assert said["missing"] == as_json["missing"]
    assert said["missing"]["n"] == 3
    assert (said["p_value"], said["items"]) == (as_json["p_value"], as_json["items"])
    nothing = read(service, {"u": u.replace(b"c,,y\n", b""), "v": v.replace(b"e,0,x\n", b"")}, **asked).json()
    assert nothing["missing"] is None


@pytest.mark.parametrize(
    ("files", "fields", "pointer", "code"),
    [
        ({"file": b"id,u,v\na,1,0\nb,,1\n"}, {"missing_range": "0,1"}, "/options/missing_range", "redundant"),
        ({"file": b"id,u,v\na,1,0\nb,,1\n"}, {"on_missing": "bounds", "missing_range": "1,0"}, "/options/missing_range", "not_a_range"),
        ({"file": b"id,u,v\na,1,0\nb,,1\n"}, {"on_missing": "bounds", "missing_range": "1"}, "/options/missing_range", "not_a_range"),
        ({"file": b"id,u,v\na,7,0\nb,,1\n"}, {"on_missing": "bounds"}, "/options/missing_range", "scores_outside_range"),
        ({"file": b"id,u,v\na,1,0\nb,,1\n"}, {"on_missing": "bounds", "statistic": "signed_rank"}, "/options/on_missing", "no_missing_bounds"),
        ({"file": b"id,u,v\na,1,0\nb,,1\n"}, {"on_missing": "bounds", "test": "bootstrap"}, "/options/on_missing", "no_missing_bounds"),
        ({"file": b"id,u,v,weight\na,1,0,1\nb,,1,2\n"}, {"on_missing": "bounds"}, "/options/on_missing", "no_missing_bounds"),
        ({"file": b"id,u,v\na,,0\nb,,1\n"}, {"on_missing": "bounds"}, "/files/file", "no_common_ids"),
        ({"file": b"tp_u,incorrect_u,tp_v,incorrect_v\n1,0,1,0\n0,1,1,1\n"}, {"on_missing": "bounds"}, "/options/on_missing", "no_missing_bounds"),
        ({"u": b"score\n1\n\n0\n1\n", "v": b"score\n1\n0\n\n0\n"}, {"on_missing": "bounds"}, "/files/v", "no_ids"),
    ],
)  # fmt: skip
def test_what_has_no_bounds_is_refused(
    service: Any, files: dict[str, bytes], fields: dict[str, str], pointer: str, code: str
) -> None:
    assert error_of(read(service, files, format="csv", **fields)) == (pointer, code)


@pytest.mark.parametrize(
    ("query", "pointer"),
    [
        ("on_missing=bounds&missing_range=a,1", "/?missing_range"),
        ("on_missing=bounds&missing_range=1", "/?missing_range"),
        ("missing_range=0,1", "/?missing_range"),
    ],
)
def test_a_range_in_the_query(service: Any, query: str, pointer: str) -> None:
    refused = service.body(f"/v1/tests/scores?{query}", b"u,v\n1,0\n0,1\n", "text/csv")
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["pointer"].startswith(pointer)


def test_without_bounds_an_empty_field_is_refused_or_left_out(service: Any) -> None:
    refused = service.body("/v1/tests/scores", csv(header=True), "text/csv")
    assert refused.json()["errors"][0]["code"] == "missing_value"
    dropped = service.body("/v1/tests/scores?on_missing=drop", csv(header=True), "text/csv").json()
    as_file = service.request(
        "POST", "/v1/tests/files", files={"file": ("f.csv", csv(header=True))}, data={"on_missing": "drop"}
    )
    assert dropped["items"] == as_file.json()["items"]


@pytest.mark.parametrize("complete", [5, 9])
def test_a_gate_of_files_is_undecided_where_the_bounds_do_not_decide(service: Any, complete: int) -> None:
    rows = b"".join(b"q%d,1,0\n" % i for i in range(complete)) + b"x,,0\ny,,0\n"
    terms = {"on_missing": "bounds", "policy": "improve", "alpha": "0.02"}
    answered = service.request(
        "POST",
        "/v1/gate",
        files={"file": ("file.csv", b"id,u,v\n" + rows)},
        data={**terms, "on_inconclusive": "fail"},
    )
    said = answered.json()
    low, high = said["metrics"][0]["decision"]["p_value_bounds"]
    # With both gaps filled by 1 all items are wins; by 0, ties.
    assert (low, high) == (2.0 ** -(complete + 2), 2.0**-complete)
    assert said["verdict"] == ("pass" if high <= 0.02 else "inconclusive")
    assert answered.status_code == (200 if high <= 0.02 else 409)
    if high > 0.02:
        assert "depends on what the missing outcomes are" in said["reason"]


@pytest.mark.parametrize("form", ["text", "markdown", "html"])
def test_reports_say_what_is_open(service: Any, form: str) -> None:
    wins = [1] * 6
    open_ = {"u": [*wins, None, None], "v": [0] * 8, "on_missing": "bounds", "alpha": 0.01}
    sure = {**open_, "alpha": 0.2}

    def said(body: dict[str, Any], gate: bool = False) -> str:
        request = {"kind": "scores", "policy": "improve", "request": body} if gate else body
        path = "/v1/gate?fail_status=200&" if gate else "/v1/tests/scores?"
        answer = service.post(f"{path}format={form}", request)
        assert answer.status_code == 200, answer.text
        text = str(answer.text)
        return " ".join((re.sub(r"<[^>]*>", " ", text) if form == "html" else text).split())

    # p = 2 / 2**6 of the complete items; over the fillings 2 / 2**8 to 2 / 2**6.
    undecided, decided = said(open_), said(sure)
    for text in (undecided, decided):
        assert "0.0078125" in text
        assert "missing" in text
    assert {"text": "undecided at 0.01", "markdown": "Not settled at 0.01", "html": "Not settled at 0.01"}[
        form
    ] in undecided
    assert not re.search(r"(?<!whether it is )\bsignificant at 0\.01", undecided)
    assert re.search(r"\b[Ss]ignificant at 0\.2", decided)
    if form != "text":
        assert "whether it is significant depends on them" in undecided
        assert "whatever they are, it is significant at 0.2" in decided
    assert "missing" in said({**open_, "alpha": 0.01}, gate=True)


def test_the_command_line(tmp_path: Path) -> None:
    file = tmp_path / "scores.csv"
    file.write_bytes(csv(header=True, ids=True))
    asked = ["test", str(file), "--on-missing", "bounds", "--alternative", "greater"]
    ran = CliRunner().invoke(cli, [*asked, "--format", "json"])
    assert ran.exit_code == 0, ran.output
    assert json.loads(ran.stdout)["missing"]["p_value"] == over_fillings(Fraction(0), Fraction(1))
    wide = CliRunner().invoke(cli, [*asked, "--missing-range", "-1,2", "--format", "json"])
    assert json.loads(wide.stdout)["missing"]["p_value"] == over_fillings(Fraction(-1), Fraction(2))
    wrong = CliRunner().invoke(cli, [*asked, "--missing-range", "2"])
    assert wrong.exit_code == 2
    assert "--missing-range" in wrong.output
