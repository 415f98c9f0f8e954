"""Decimals, dust, tiny, long and enormous numbers through the front door, against fractions."""

import io
import itertools
import json
import operator
import zipfile
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from statistics import NormalDist
from typing import Any

import httpx
import numpy as np
import pytest
from click.testing import CliRunner

import exactperm
from exactperm.cli.commands import cli
from exactperm.client.errors import InvalidData, InvalidTest
from tests.api.conftest import Service, answer_to, error_of, errors_of, problem
from tests.binary import npy, workbook
from tests.enumeration import by_resamples, by_signs, share, signed_sums

DUSTY = {"u": [0.30000000000000004, 0.4, 0.1], "v": [0.2, 0.3, 0.2]}


def warned(answer: dict[str, Any]) -> list[str]:
    return [one["code"] for one in answer["warnings"]]


@pytest.mark.parametrize(
    ("body", "p"),
    [
        # 0.1 + 0.2 ties with 0.3 beside 9999 and 1e-12.
        (
            {"u": [0.3, 0.1, 0.6, 9999, 1e-12], "v": [0.4, 0.4, 0.3, 9999, 1e-12], "alternative": "greater"},
            3 / 4,
        ),
        ({"u": [5e-324] * 6, "v": [0] * 6}, 1 / 32),
        ({"u": [1e22, 0.1, 0.2, 0.3], "v": [1e22, 0, 0, 0.6], "alternative": "greater"}, 5 / 8),
        ({"u": [1e299, 1e-300, 0], "v": [0, 0, 1e-300], "alternative": "greater"}, 3 / 8),
    ],
)
def test_short_decimals_tie_as_written_at_any_magnitude(service: Any, body: dict[str, Any], p: float) -> None:
    answer = service.post("/v1/tests/scores", body).json()
    assert (answer["p_value"], answer["p_value_bounds"], answer["method"]["exact"]) == (p, [p, p], True)
    assert "scores_rounded" not in warned(answer)
    if body["u"][0] != 5e-324:
        differences = [u - v for u, v in zip(body["u"], body["v"], strict=True)]
        assert len(differences) == answer["items"]["n"]


def test_effects_tie_as_written_too(service: Any) -> None:
    body = {"stay": [-0.1, -0.3, 0.3, 1e-12, 1e12], "alternative": "greater"}
    answer = service.post("/v1/tests/effects", body).json()
    scores = {"u": body["stay"], "v": [0] * 5, "alternative": "greater"}
    assert answer["p_value"] == service.post("/v1/tests/scores", scores).json()["p_value"]
    assert answer["method"]["exact"]


@pytest.mark.parametrize("method", ["bounds", "monte_carlo"])
@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_rounded_scores_are_reported_and_bracketed(service: Any, method: str, alternative: str) -> None:
    body = {
        "u": [0.1 * k for k in range(14)] + [1e9 + 1 / 3, 1e-9 / 7],
        "v": [1.3 - 0.11 * k for k in range(14)] + [1e9, 1 / 7],
        "alternative": alternative,
    }
    exact = service.post("/v1/tests/scores", body).json()
    other = service.post("/v1/tests/scores", {**body, "method": method}).json()
    assert exact["method"]["exact"]
    assert not other["method"]["exact"]
    assert "scores_rounded" in warned(other)
    low, high = other["p_value_bounds"]
    assert low <= exact["p_value"] <= high


def test_many_real_scores_get_a_bracket_and_the_warning(service: Any) -> None:
    rng = np.random.default_rng(5)
    body = {"u": rng.normal(size=300).tolist(), "v": rng.normal(size=300).tolist(), "pmf": "none"}
    answer = service.post("/v1/tests/scores", body).json()
    assert answer["p_value_bounds_kind"] == "certified"
    assert {"scores_rounded", "float_dust"} <= set(warned(answer))
    assert error_of(service.post("/v1/tests/scores", {**body, "method": "fft"}))[0] == "/method"


def test_the_bootstrap_of_rounded_scores_holds_for_the_scores_as_they_are(service: Any) -> None:
    body = {"u": [6e-300, 7e12, 5, 1e-200, 1e299], "v": [1e-300, 6e12, 4, 0, 0], "test": "bootstrap"}
    answer = service.post("/v1/tests/scores", body).json()
    effects = [Fraction(repr(u)) - Fraction(repr(v)) for u, v in zip(body["u"], body["v"], strict=True)]
    truth = by_resamples(effects, lambda drawn: sum(drawn, Fraction(0)))
    low, high = answer["p_value_bounds"]
    assert low <= truth <= high
    assert "scores_rounded" in warned(answer)
    assert answer["method"]["exact"] == (high <= low * (1 + 3e-6))


@pytest.mark.parametrize("where", ["json", "csv", "npy", "plan"])
def test_decimals_round_scores_wherever_options_stand(service: Any, where: str) -> None:
    if where == "plan":
        envelope = {"kind": "scores", "request": {**DUSTY, "decimals": 12}}
        assert service.post("/v1/plan", envelope).status_code == 200
        return
    if where == "json":
        answers = [service.post("/v1/tests/scores", {**DUSTY, **more}) for more in ({}, {"decimals": 12})]
    else:
        columns = np.array([DUSTY["u"], DUSTY["v"]]).T
        table = "u,v\n" + "\n".join(f"{u!r},{v!r}" for u, v in columns.tolist())
        content, media = (
            (table.encode(), "text/csv") if where == "csv" else (npy(columns), "application/x-npy")
        )
        answers = [service.body(f"/v1/tests/scores{query}", content, media) for query in ("", "?decimals=12")]
    plain, rounded = (answer.json() for answer in answers)
    assert (plain["p_value"], rounded["p_value"]) == (0.5, 1.0)
    assert "float_dust" in warned(plain)
    assert "float_dust" not in warned(rounded)


def test_decimals_leave_numbers_that_have_none(service: Any) -> None:
    """A power of ten times the largest doubles is no number."""
    assert error_of(service.post("/v1/tests/scores", {"u": [1e308], "v": [0.25], "decimals": 2})) == error_of(
        service.post("/v1/tests/scores", {"u": [1e308], "v": [0.25]})
    )


@pytest.mark.parametrize("decimals", [-1, 13, 1.5, "2", True])
def test_other_decimals_are_refused(service: Any, decimals: Any) -> None:
    assert error_of(service.post("/v1/tests/scores", {**DUSTY, "decimals": decimals}))[0] == "/decimals"


def test_decimals_are_of_scores_alone(service: Any) -> None:
    body = {"u": {"tp": [1], "incorrect": [1]}, "v": {"tp": [1], "incorrect": [1]}, "decimals": 1}
    assert error_of(service.post("/v1/tests/counts", body))[0] == "/decimals"
    assert service.body("/v1/tests/counts?decimals=1", b"1,1,1,1\n", "text/csv").status_code == 422


def test_an_array_of_single_precision_is_read_as_it_prints(service: Any) -> None:
    answers = []
    for kind in (np.float32, np.float64):
        array = npy(np.array([[0.3, 0.2], [0.4, 0.3], [0.1, 0.2]], dtype=kind))
        answers.append(service.body("/v1/tests/scores", array, "application/x-npy").json())
    assert answers[0]["id"] == answers[1]["id"]
    assert answers[0]["p_value"] == 1.0


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("effects", {"stay": [1000000000, 1, 2], "pmf": "full"}),
        ("scores", {"u": [0.123456789, 0.5, 0.25], "v": [0.1, 0.2, 0.3], "pmf": "full"}),
    ],
)
def test_a_full_null_of_few_items_has_eight_points(service: Any, path: str, body: dict[str, Any]) -> None:
    null = service.post(f"/v1/tests/{path}", body).json()["null"]
    assert [point["probability"] for point in null["pmf"]] == [0.125] * 8


def test_a_full_null_of_too_many_points_is_refused_with_advice(service: Any) -> None:
    body = {"stay": [3**k + 10**9 for k in range(30)], "pmf": "full"}
    refused = problem(service.post("/v1/tests/effects", body), 422)
    assert refused["errors"][0]["pointer"] == "/pmf"
    assert '"pmf": "summary"' in refused["detail"]


def test_a_score_of_eleven_digits_beside_hundred_thousandths_counts_as_written(service: Any) -> None:
    """86999999999.93 in units of 0.00001 has 16 digits, and its double is nearest to several such integers."""
    u, v = [86999999999.93, 1e-5, 2e-5, 0.03], [87e9, 0, 0, 0.1]
    differences = [Fraction(repr(float(a))) - Fraction(repr(float(b))) for a, b in zip(u, v, strict=True)]
    assert differences[0] == differences[3]
    answer = service.post("/v1/tests/scores", {"u": u, "v": v, "alternative": "greater"}).json()
    assert answer["p_value"] == by_signs(u, v, "greater")
    swapped = {"u": [87e9, 0.07, 0], "v": [86999999999.93, 0, 2e-5], "alternative": "greater"}
    assert service.post("/v1/tests/scores", swapped).json()["method"]["lattice"]["weights"] == 2


@pytest.mark.parametrize("expression", ["x1", "abs(x1)", "100000000000000000000*x1"])
@pytest.mark.parametrize("effects", [[1e25, -1e25], [3e30, -1e30, -2e30]])
def test_large_effects_that_cancel_and_that_no_swap_changes_are_a_null_of_zero(
    effects: list[float], expression: str, service: Any
) -> None:
    body = {"stay": effects, "swap": effects, "statistic": {"expression": expression}}
    answer = answer_to(service.post("/v1/tests/effects", body))
    assert (answer["p_value"], answer["null"]["pmf"]) == (1.0, [{"value": 0.0, "probability": 1.0}])


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
def test_cells_of_workbooks_are_refused(service: Service, cell: str, number: str) -> None:
    """openpyxl gives 0 for them."""
    empty = io.BytesIO(workbook(x=[("id", "u", "v"), ("a", 7, 1), ("b", 0, 1), ("c", 1, 0)]))

    def status(value: str) -> httpx.Response:
        stream = io.BytesIO()
        with zipfile.ZipFile(empty) as old, zipfile.ZipFile(stream, "w") as new:
            for info in old.infolist():
                content = old.read(info).replace(b"<v>7</v>", cell.replace("@", value).encode())
                new.writestr(info.filename, content)
        return service.post("/v1/tests/files", files={"file": ("x.xlsx", stream.getvalue())})

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
    array = npy(np.array([[1.0, 0.0]], dtype=np.longdouble))
    assert service.body("/v1/tests/scores", array, "application/x-npy").status_code == 422


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
def test_the_package_refuses_numbers_that_no_double_holds(column: Any) -> None:
    with pytest.raises((InvalidData, InvalidTest)):
        exactperm.test(column, [0, 0])


def test_a_long_body_is_searched_to_its_end(service: Any) -> None:
    numbers = ["0.5"] * 20_000
    body = f'{{"u": [{",".join([*numbers, "1e-400"])}], "v": [{",".join([*numbers, "0"])}]}}'
    assert error_of(service.body("/v1/tests/scores", body.encode()))[0] == "/u/20000"
    assert json.loads(body)["u"][-1] == 0.0


U, V = [1.123456789123, 0.3, 3], [0.25, 1, 4]


@pytest.mark.parametrize("precision", [5e-324, 1e-310, 2.3e-308, 1e-300, 1e-281, 1e-100])
@pytest.mark.parametrize("items", [1, 30])
def test_however_fine_a_precision_the_request_is_answered_or_refused(
    service: Service, precision: float, items: int
) -> None:
    test = {"u": U * items, "v": V * items, "method": "bounds", "precision": precision}
    answers = [
        service.post("/v1/tests/scores", test),
        service.post("/v1/plan", {"kind": "scores", "request": test}),
    ]
    assert {answer.status_code for answer in answers} <= {200, 422}, answers[0].text
    if answers[0].status_code == 200:
        low, high = answers[0].json()["p_value_bounds"]
        assert low <= answers[0].json()["p_value"] <= high


SPIKY = [1e9, 0.3, 1.0, 2e-9] * 11


@pytest.mark.parametrize("precision", [5e-324, 1e-300, 1e-17, 0.5])
@pytest.mark.parametrize("level", [None, 1e-300, 1e-17, 0.95, 1 - 2.0**-53])
@pytest.mark.parametrize("method", ["auto", "bounds"])
def test_precisions_and_levels_at_their_ends_are_answered_or_refused(
    service: Service, precision: float, level: float | None, method: str
) -> None:
    """Distinct effects too many to be listed: brackets of the p-value, and of the ends of the interval."""
    u = [score + index * 1e-7 for index, score in enumerate(SPIKY)]
    test = {"u": u, "v": [0.5] * len(u), "method": method, "precision": precision}
    if level is not None:
        test["confidence_level"] = level
    answer = service.post("/v1/tests/scores", test)
    assert answer.status_code in {200, 422}, answer.text
    if answer.status_code == 200:
        body = answer.json()
        low, high = body["p_value_bounds"]
        assert 0.0 <= low <= body["p_value"] <= high <= 1.0
        assert (
            (body["confidence_interval"] is not None)
            or level is None
            or "interval_not_available" in answer.text
        )


ROWS = [[3, 1], [-1, 2], [2, -1], [4, 1], [1, 3]]


def resampled(rows: list[list[int]], value: Callable[[int, int], int], side: str) -> Fraction:
    """By all resamples."""
    return by_resamples(rows, lambda drawn: value(*(sum(row[at] for row in drawn) for at in (0, 1))), side)


@pytest.mark.parametrize("side", ["two-sided", "greater", "less"])
@pytest.mark.parametrize("unit", ["1e-12", "1e-9", "1", "1e9"])
def test_a_bootstrap_is_the_same_in_any_unit(service: Any, unit: str, side: str) -> None:
    rows = ",".join(f"[{one}{unit[1:]}, {other}{unit[1:]}]" for one, other in ROWS)
    body = (
        f'{{"stay": [{rows}], "statistic": {{"expression": "x1*x2"}}, "test": "bootstrap", "alternative": "{side}", '
        '"samples": 20000, "pmf": "none"}'
    )
    answer = service.body("/v1/tests/effects", body.encode()).json()
    low, high = answer["p_value_bounds"]
    assert low <= resampled(ROWS, operator.mul, side) <= high


@pytest.mark.parametrize("side", ["two-sided", "greater", "less"])
def test_small_numbers_decide_beside_large_ones(service: Any, side: str) -> None:
    """Without the second number half of the resamples would tie, which its sum decides."""
    rows = [[10**15, 1], [1, 3], [-2, 1], [1, 2], [0, 2]]
    body = {
        "stay": rows,
        "statistic": {"expression": "abs(x1)+x2"},
        "test": "bootstrap",
        "alternative": side,
        "samples": 20_000,
        "pmf": "none",
    }
    answer = service.post("/v1/tests/effects", body).json()
    low, high = answer["p_value_bounds"]
    assert low <= resampled(rows, lambda first, second: abs(first) + second, side) <= high


LONG = "((((1e-3/x1)+(x1+x1))+((x1*x1)/(x1/1e6)))/min((min(x1,x1)+x1),(x1-(x1-x1)))) - 1e6 - 2"
EFFECTS: list[tuple[str, Callable[[Fraction], Fraction], list[int], list[int]]] = [
    (LONG, lambda a: (Fraction(1, 1000) / a + 2 * a + a * 10**6) / a - 10**6 - 2, [9, 5], [8, 6]),
    ("(3/x1)*x1 - 3", lambda _: Fraction(0), [14, 9, 3], [9, 14, 1]),
    ("(3/x1)*x1 - 3 + x1/1e20", lambda a: a / 10**20, [14, 9, 3], [9, 14, 1]),
]


@pytest.mark.parametrize(("expression", "value", "stay", "swap"), EFFECTS)
def test_cancelling_sums_are_exact(
    service: Any, expression: str, value: Callable[[Fraction], Fraction], stay: list[int], swap: list[int]
) -> None:
    body = {"stay": stay, "swap": swap, "statistic": {"expression": expression}, "pmf": "none"}
    answer = service.post("/v1/tests/effects", body).json()
    values = [value(Fraction(sum(one))) for one in itertools.product(*zip(stay, swap, strict=True))]
    assert answer["statistic"]["observed"] == float(values[0])
    assert answer["null"]["min"] == float(min(values))
    assert answer["null"]["max"] == float(max(values))


def test_equal_counts_differ_by_nothing(service: Any) -> None:
    body = {
        "u": {"b": [3, 3], "c": [2, 1]},
        "v": {"b": [5, 2], "c": [1, 2]},
        "statistic": {"name": "expression", "expression": "(c + (((b/1e6)/abs(b))*10))"},
    }
    answer = service.post("/v1/tests/counts", body).json()
    assert answer["statistic"]["observed"] == 0.0
    assert answer["statistic"]["u"] == answer["statistic"]["v"] == 3.00001


def test_cancelling_roots_are_distinguished_from_rounding(service: Any) -> None:
    expression = "sqrt(x1*x1)*sqrt(2) - abs(x1)*sqrt(2) + 1e-30*x2"
    body = {"stay": [[7, 3], [2, 5]], "statistic": {"expression": expression}}
    answer = service.post("/v1/tests/effects", body).json()
    assert answer["statistic"]["observed"] == 8e-30
    assert (answer["null"]["min"], answer["null"]["max"]) == (-8e-30, 8e-30)


def test_a_unit_ties_where_its_values_are_the_same_number(service: Any) -> None:
    """sqrt(2) sqrt(3) is sqrt(6), though not of doubles; of the second unit the values do differ."""
    body = {
        "stay": [[2, 3], [1, 1]],
        "swap": [[6, 1], [2, 2]],
        "statistic": {"expression": "sqrt(x1)*sqrt(x2)"},
    }
    items = service.post("/v1/tests/effects", body).json()["items"]
    assert (items["wins"], items["ties"], items["losses"]) == (0, 1, 1)


SMALL = [61e-7, -68e-5, 87e-7, 25e-6, 73e-7, 72e-7]
BESIDE = [-0.0037, 0.0073, 0.00014, 0.0009, 0.0028, 0.00061, 0.0054]
FORMULAS: dict[str, Callable[[Fraction, Fraction], Fraction]] = {
    "x1": lambda a, _: a,
    "abs(x1)": lambda a, _: abs(a),
    "x1/7 + 3*x2": lambda a, b: a / 7 + 3 * b,
    "1e-9*x1 - x2": lambda a, b: a / 10**9 - b,
    "x1/(x2*x2 + 1)": lambda a, b: a / (b * b + 1),
    "max(x1, x2)": max,
    "x1*x2": lambda a, b: a * b,
}


def truth(rows: list[list[float]], formula: Callable[[Fraction, Fraction], Fraction], side: str) -> Fraction:
    """By listing all assignments; the numbers are the decimals that they print as."""
    columns = [signed_sums(Fraction(repr(float(row[at]))) for row in rows) for at in (0, 1)]
    return share([formula(first, second) for first, second in zip(*columns, strict=True)], side)


@pytest.mark.parametrize("side", ["two-sided", "greater", "less"])
@pytest.mark.parametrize("expression", FORMULAS)
@pytest.mark.parametrize("large", [1e15, -1e18, 1e25])
def test_effects_of_several_numbers_have_the_p_value_of_counting(
    service: Any, large: float, expression: str, side: str
) -> None:
    rows = [[number, 1.0 + index % 2] for index, number in enumerate([large, *SMALL])]
    body = {"stay": rows, "statistic": {"expression": expression}, "alternative": side, "pmf": "none"}
    answer = service.post("/v1/tests/effects", body).json()
    wanted = float(truth(rows, FORMULAS[expression], side))
    assert (answer["p_value"], answer["p_value_bounds"], answer["method"]["exact"]) == (
        wanted,
        [wanted] * 2,
        True,
    )


@pytest.mark.parametrize("method", ["enumeration", "bounds", "monte_carlo"])
def test_methods_by_name_hold_for_the_effects_as_they_are(service: Any, method: str) -> None:
    rows = [[number, 1.0] for number in [1e15, *BESIDE]]
    for expression in ("x1", "x1/(x2*x2 + 1)"):
        body = {
            "stay": rows,
            "statistic": {"expression": expression},
            "method": method,
            "alternative": "greater",
        }
        response = service.post("/v1/tests/effects", body)
        if response.status_code == 422:
            assert method == "bounds"
            continue
        low, high = response.json()["p_value_bounds"]
        assert low <= truth(rows, FORMULAS[expression], "greater") <= high


def test_a_gate_does_not_pass_by_rounded_numbers(service: Any) -> None:
    """The true p is 7/128, above alpha; of the numbers rounded to 60 bits it was 1/32."""
    rows = [[number, 1] for number in [1e15, *BESIDE]]
    assert truth([[float(a), float(b)] for a, b in rows], FORMULAS["x1"], "greater") == Fraction(7, 128)
    body = {
        "kind": "effects",
        "policy": "improve",
        "higher_is_better": True,
        "request": {"stay": rows, "statistic": {"expression": "x1"}},
    }
    response = service.post("/v1/gate", body)
    assert response.status_code == 409
    assert response.json()["p_value"] == 7 / 128


def test_clusters_and_swaps_are_summed_exactly(service: Any) -> None:
    stay = [[1e15, 1], [0.0047, 1], [1e-9, 2], [-1e15, 1], [-0.0033, 1]]
    swap = [[-1e15, 1], [0.0046, 1], [3e-9, 2], [1e15, -1], [0.5, 1]]
    clusters = ["a", "b", "b", "a", "c"]
    merged = []
    for side in (stay, swap):
        sums = {key: [Fraction(0), Fraction(0)] for key in "abc"}
        for key, row in zip(clusters, side, strict=True):
            sums[key] = [
                total + Fraction(repr(float(number))) for total, number in zip(sums[key], row, strict=True)
            ]
        merged.append(list(sums.values()))
    values = []
    for chosen in itertools.product((0, 1), repeat=3):
        rows = [merged[side][at] for at, side in enumerate(chosen)]
        first, second = (sum((row[k] for row in rows), Fraction(0)) for k in (0, 1))
        values.append(first / (second * second + 1))
    wanted = sum(value >= values[0] for value in values) / 8
    body = {
        "stay": stay,
        "swap": swap,
        "clusters": clusters,
        "alternative": "greater",
        "statistic": {"expression": "x1/(x2*x2 + 1)"},
    }
    answer = service.post("/v1/tests/effects", body).json()
    assert (answer["p_value"], answer["method"]["exact"]) == (wanted, True)


def test_many_doubles_are_not_rounded_either(service: Any) -> None:
    """Eleven thousand numbers of 17 digits: the first decides by half, the others, which 60 bits lose beside it, by the rest."""
    rng = np.random.default_rng(3)
    small = rng.normal(size=(11_000, 2)) * 1e-9
    small[:, 1] = 0.0
    small[0] = 1e15, 1.0
    rows = small.tolist()
    total = sum(Fraction(row[0]) for row in rows)
    body = {
        "stay": rows,
        "statistic": {"expression": "x1/(x2*x2 + 1)"},
        "alternative": "greater",
        "pmf": "none",
    }
    answer = service.post("/v1/tests/effects", {**body, "samples": 2_000}).json()
    assert answer["statistic"]["observed"] == float(total / 2)
    assert answer["p_value_bounds_kind"] == "confidence"
    low, high = answer["p_value_bounds"]
    others = small[1:, 0]
    normal = NormalDist().cdf(-float(others.sum()) / float(np.sqrt((others**2).sum())))
    assert low - 0.01 <= normal / 2 <= high + 0.01
    assert "scores_rounded" not in {warning["code"] for warning in answer["warnings"]}


def test_numbers_of_too_many_digits_are_refused_where_they_are_many(service: Any) -> None:
    rows = [[1 / 3, 1.0], [1e-200 / 3, 1.0], [1e-60 / 3, 1.0], [1e-120 / 3, 1.0]] * 2_600
    body = {"stay": rows, "statistic": {"expression": "x1*x2"}}
    assert error_of(service.post("/v1/tests/effects", body))[1] == "number_too_long"


@pytest.mark.parametrize("expression", ["x1 - x2", "abs(x1 - x2) + 0*x1*x2", "min(x1, x2) - max(x1, x2)"])
@pytest.mark.parametrize("long", [0.12345678901234567, 1000000000000001.0])
def test_equal_numbers_are_equal_beside_a_long_decimal(service: Any, long: float, expression: str) -> None:
    """One column cannot be read as decimals: 0.3 in the other is still equal, and the first item does not matter."""
    body = {"stay": [[0.3, 0.3], [long, 0.5]], "statistic": {"expression": expression}}
    assert service.post("/v1/tests/effects", body).json()["p_value"] == 1.0


@pytest.mark.parametrize("expression", ["x1", "abs(x1)"])
@pytest.mark.parametrize("swap", [[-1.0, 0.25, 7.5], None])
def test_the_range_of_a_long_sum_is_that_of_its_numbers(
    service: Any, swap: list[float] | None, expression: str
) -> None:
    """The largest or the smallest sums cancel: in 60 bits only rounding is left of them."""
    stay = [1e25, -0.7, 3.0]
    body = {"stay": stay, "statistic": {"expression": expression}}
    if swap is not None:
        swap = [1e-7, *swap[1:]]
        body["swap"] = swap
    other = [-number for number in stay] if swap is None else swap
    pairs = [[Fraction(repr(number)) for number in pair] for pair in zip(stay, other, strict=True)]
    sums = [sum(chosen, Fraction(0)) for chosen in itertools.product(*pairs)]
    values = [abs(one) for one in sums] if expression == "abs(x1)" else sums
    null = service.post("/v1/tests/effects", body).json()["null"]
    assert null["range_exact"]
    assert (null["min"], null["max"]) == (float(min(values)), float(max(values)))


def test_the_range_of_many_long_numbers_is_not_called_exact(service: Any) -> None:
    """Beyond the number of kept doubles only rounded ones are left, and the range is theirs."""
    stay = [1e25, *(np.random.default_rng(1).random(10_500)).tolist()]
    body = {"stay": stay, "swap": [0.0] * len(stay), "statistic": {"expression": "x1"}, "samples": 1000}
    answer = service.post("/v1/tests/effects", body).json()
    assert not answer["null"]["range_exact"]
    assert answer["null"]["min"] <= answer["statistic"]["observed"] <= answer["null"]["max"]
