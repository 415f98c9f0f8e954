"""A number that is not zero, and that a double would make zero, is refused by whichever way it comes in."""

from __future__ import annotations

import io
import json
import zipfile
from decimal import Decimal
from fractions import Fraction
from typing import Any

import httpx
import numpy as np
import openpyxl
import pytest
from click.testing import CliRunner

import exactperm
from exactperm.cli.commands import cli
from exactperm.client.errors import InvalidData, InvalidTest
from tests.api.conftest import error_of, errors_of, problem

TINY = [
    "1e-400",
    "-1E-400",
    "1e-500",
    "2.4e-324",
    "0.001e-0322",
    "0." + "0" * 330 + "1",
    "1" + "0" * 20 + "e-0400",
    "0." + "0" * 23 + "1e-300",
    "0." + "0" * 24 + "1e-299",
    "0." + "0" * 225 + "1e-99",
    "0.1e-1000",
]
ZEROS = ["0e-400", "-0.0", "0.000", "0E-999", "0." + "0" * 330]
SMALLEST = ["5e-324", "-5e-324", "3e-324", "1e-320", "1e-307"]
CODE = "number_too_small"


def codes(response: Any) -> set[str]:
    return {flaw["code"] for flaw in problem(response, 422)["errors"]}


def scores(number: str) -> bytes:
    return f'{{"u": [{number}, 1], "v": [0, 0], "pmf": "none"}}'.encode()


@pytest.mark.parametrize("number", TINY)
def test_scores_in_json_are_refused_with_their_place(service: Any, number: str) -> None:
    assert errors_of(service.body("/v1/tests/scores", scores(number))) == [("/u/0", CODE)]


@pytest.mark.parametrize("number", ZEROS)
def test_a_zero_stays_a_zero_however_it_is_written(service: Any, number: str) -> None:
    answer = service.body("/v1/tests/scores", scores(number)).json()
    assert (answer["p_value"], answer["items"]["nonzero"]) == (1.0, 1)


@pytest.mark.parametrize("number", SMALLEST)
def test_the_smallest_doubles_are_kept(service: Any, number: str) -> None:
    answer = service.body("/v1/tests/scores", scores(number)).json()
    assert answer["items"]["nonzero"] == 2
    assert answer["p_value"] == (0.5 if number[0] != "-" else 1.0)


@pytest.mark.parametrize(
    ("path", "body", "pointer"),
    [
        (
            "/v1/tests/effects",
            '{"stay": [[1, @], [2, 3]], "statistic": {"expression": "x1*x2"}}',
            "/stay/0/1",
        ),
        ("/v1/tests/effects", '{"stay": [1, 2], "swap": [@, 0]}', "/swap/0"),
        ("/v1/tests/scores", '{"u": {"a": @}, "v": {"a": 1}}', "/u/a"),
        ("/v1/tests/scores", '{"u": [[1, @]], "v": [[1, 2]]}', "/u/0/1"),
        ("/v1/tests/scores", '{"u": [1], "v": [2], "alpha": @}', "/alpha"),
        ("/v1/tests/scores", '{"u": [1], "v": [2], "weights": [@]}', "/weights/0"),
        (
            "/v1/tests/scores",
            '{"u": [1], "v": [2], "statistic": {"name": "mean_difference", "unit": @}}',
            None,
        ),
        ("/v1/tests/counts", '{"u": {"tp": [@], "fp": [0]}, "v": {"tp": [1], "fp": [0]}}', "/u/tp/0"),
        (
            "/v1/tests/predictions",
            '{"gold": [1, 2], "u": [@, 1.5], "v": [1.5, 2], "statistic": {"name": "spearman"}}',
            None,
        ),
        ("/v1/compare", '{"kind": "scores", "systems": {"a": [@, 1], "b": [0, 2]}}', "/systems/a/0"),
        ("/v1/plan", '{"kind": "scores", "request": {"u": [@], "v": [1]}}', None),
        (
            "/v1/power",
            '{"design": {"kind": "binary", "p10": @, "p01": 0.1}, "solve": "power", "n": 100}',
            "/design/p10",
        ),
        (
            "/v1/gate",
            '{"kind": "scores", "policy": "noninferior", "margin": @, "higher_is_better": true, "request": {"u": [1], "v": [0]}}',
            "/margin",
        ),
    ],
)
def test_every_number_of_a_json_body_is_looked_at(
    service: Any, path: str, body: str, pointer: str | None
) -> None:
    said = problem(service.body(path, body.replace("@", "1e-400").encode()), 422)
    assert [flaw["code"] for flaw in said["errors"]] == [CODE]
    assert pointer in {None, said["errors"][0]["pointer"]}


def test_texts_that_look_like_such_numbers_are_texts(service: Any) -> None:
    body = {"u": {"1e-400": 1, "a [1e-400, 0]": 1}, "v": {"1e-400": 0, "a [1e-400, 0]": 0}}
    assert service.post("/v1/tests/scores", body).status_code == 200
    labels = {"gold": ["1e-400", "b"], "u": ["1e-400", "x"], "v": ["0", "b"]}
    answer = service.post("/v1/tests/predictions", labels).json()
    assert (answer["statistic"]["u"], answer["statistic"]["v"]) == (0.5, 0.5)


def test_weights_as_text_are_kept_as_they_are(service: Any) -> None:
    body = {"u": [1, 0], "v": [0, 1], "weights": ["1e-400", "3e-400"], "pmf": "none"}
    assert service.post("/v1/tests/scores", body).json()["statistic"]["observed"] == -0.5


@pytest.mark.parametrize("number", TINY)
@pytest.mark.parametrize(
    ("path", "media", "body"),
    [
        ("/v1/tests/scores", "text/csv", "u,v\n1,0\n@,0\n"),
        ("/v1/tests/scores", "text/csv", "id,u,v\n1,1,0\nb,@,0\n"),
        ("/v1/tests/scores", "text/csv", '"u","v"\n"1","0"\n"@","0"\n'),
        ("/v1/tests/scores", "text/tab-separated-values", "1\t0\n@\t0\n"),
        ("/v1/tests/scores", "application/x-ndjson", '{"u": 1, "v": 0}\n{"u": @, "v": 0}\n'),
        ("/v1/compare", "text/csv", "id,a,b\n1,1,0\n2,@,0\n"),
        ("/v1/compare", "text/csv", "id,system,score\n1,a,1\n1,b,@\n"),
        (
            "/v1/compare",
            "application/x-ndjson",
            '{"id": 1, "system": "a", "score": 1}\n{"id": 1, "system": "b", "score": @}\n',
        ),
    ],
)
def test_tables_and_lines_are_refused(service: Any, path: str, media: str, body: str, number: str) -> None:
    response = service.body(path, body.replace("@", number).encode(), media)
    assert codes(response) == {CODE}
    assert service.body(path, body.replace("@", "1e-300").encode(), media).status_code == 200


@pytest.mark.parametrize("number", TINY)
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("wide.csv", "id,u,v\na,1,0\nb,@,0\n"),
        ("wide.csv", "id;u;v\na;1,5;0\nb;@;0\n"),
        ("both.jsonl", '{"id":"a","u":1,"v":0}\n{"id":"b","u":@,"v":0}\n'),
    ],
)
def test_evaluation_files_are_refused(service: Any, name: str, text: str, number: str) -> None:
    written = number.replace(".", ",") if ";" in text else number
    response = service.request(
        "POST", "/v1/tests/files", files={"file": (name, text.replace("@", written).encode())}
    )
    assert response.status_code == 422, response.text[:500]
    assert {flaw["code"] for flaw in response.json()["errors"]} <= {CODE, "not_a_number"}


@pytest.mark.parametrize("number", TINY)
@pytest.mark.parametrize("cell", ["<v>@</v>", "<f>1/A9</f><v>@</v>", '<f t="shared" si="0"/><v>@</v>'])
def test_cells_of_workbooks_are_refused(service: Any, cell: str, number: str) -> None:
    """openpyxl gives 0 for them."""
    empty, book = io.BytesIO(), openpyxl.Workbook()
    assert book.active is not None
    for row in [("id", "u", "v"), ("a", 7, 1), ("b", 0, 1), ("c", 1, 0)]:
        book.active.append(row)
    book.save(empty)

    def status(value: str) -> httpx.Response:
        stream = io.BytesIO()
        with zipfile.ZipFile(empty) as old, zipfile.ZipFile(stream, "w") as new:
            for info in old.infolist():
                content = old.read(info).replace(b"<v>7</v>", cell.replace("@", value).encode())
                new.writestr(info.filename, content)
        answered: httpx.Response = service.post(
            "/v1/tests/files", files={"file": ("x.xlsx", stream.getvalue())}
        )
        return answered

    refused = status(number)
    assert codes(refused) == {CODE}
    assert refused.json()["errors"][0]["pointer"] == "/files/file/line/2"
    assert status("1e-300").status_code == 200


@pytest.mark.parametrize("option", ["alpha", "confidence_level", "precision"])
def test_options_in_the_query_are_refused(service: Any, option: str) -> None:
    response = service.body(f"/v1/tests/scores?{option}=1e-400", b"u,v\n1,0\n", "text/csv")
    assert error_of(response)[0] == f"/?{option}"


def test_the_range_of_missing_outcomes_is_refused(service: Any) -> None:
    for ends in ("1e-400,1", "-1,-1e-400"):
        body = b"u,v\n1,0\n,0\n"
        response = service.body(f"/v1/tests/scores?on_missing=bounds&missing_range={ends}", body, "text/csv")
        assert response.status_code == 422


def test_the_command_line_refuses_such_a_number() -> None:
    result = CliRunner().invoke(cli, ["power", "--p10", "1e-400", "--p01", "0.1", "-n", "100"])
    assert result.exit_code == 2
    assert "smaller than any double" in result.output


def test_arrays_of_long_doubles_are_refused(service: Any) -> None:
    buffer = io.BytesIO()
    np.save(buffer, np.array([[1.0, 0.0]], dtype=np.longdouble))
    assert service.body("/v1/tests/scores", buffer.getvalue(), "application/x-npy").status_code == 422


@pytest.mark.parametrize(
    "column",
    [
        [np.longdouble("1e-400"), 1],
        np.array([1, 1], dtype=np.longdouble) * np.longdouble("1e-400"),
        [Decimal("1e-400"), 1],
        [Fraction(1, 10**400), 1],
    ],
    ids=["long doubles", "an array", "decimals", "fractions"],
)
def test_the_package_refuses_what_no_double_holds(column: Any) -> None:
    with pytest.raises((InvalidData, InvalidTest)):
        exactperm.test(column, [0, 0])


def test_a_long_body_is_searched_to_its_end(service: Any) -> None:
    numbers = ["0.5"] * 20_000
    body = f'{{"u": [{",".join([*numbers, "1e-400"])}], "v": [{",".join([*numbers, "0"])}]}}'
    assert error_of(service.body("/v1/tests/scores", body.encode()))[0] == "/u/20000"
    assert json.loads(body)["u"][-1] == 0.0
