"""A JSON request in a file, at the doors for files: it is that request, or refused; never one item."""

import json
import random
from typing import Any

import pytest

from tests.api.conftest import error_of, problem

FILES, GATE = "/v1/tests/files", "/v1/gate"
EIGHT: dict[str, Any] = {"u": [1] * 8, "v": [0] * 8}
COUNTS: dict[str, Any] = {
    "u": {"tp": [8, 3, 7, 9], "incorrect": [2, 3, 1, 0]},
    "v": {"tp": [6, 5, 7, 2], "incorrect": [1, 2, 1, 5]},
}
REQUESTS: dict[str, tuple[str, dict[str, Any]]] = {
    "scores": ("scores", EIGHT),
    "scores with options": ("scores", {**EIGHT, "alternative": "greater", "names": {"u": "A"}}),
    "scores by id": ("scores", {"u": {"a": 1, "b": 0.5}, "v": {"b": 0.25, "a": 0}}),
    "samples": ("scores", {"u": [[1, 0], [1], [1]], "v": [[0, 1], [0], [0]]}),
    "samples by id": (
        "scores",
        {"u": {"a": [1, 0], "b": [1]}, "v": {"a": [0, 0], "b": [0]}, "statistic": {"name": "sum_difference"}},
    ),
    "samples by id of a statistic by its name": (
        "scores",
        {"u": {"a": [1, 0], "b": [1]}, "v": {"a": [0, 0], "b": [0]}, "statistic": "sum_difference"},
    ),
    "counts": ("counts", COUNTS),
    "counts with a statistic": ("counts", {**COUNTS, "statistic": {"name": "jaccard"}}),
    "counts by item": (
        "counts",
        {"u": [{"tp": 1, "incorrect": 0}] * 3, "v": [{"tp": 0, "incorrect": 2}] * 3},
    ),
    "counts by id": (
        "counts",
        {
            "u": {"x": {"errors": 3, "words": 9}, "y": {"errors": 0, "words": 3}},
            "v": {"x": {"errors": 5, "words": 9}, "y": {"errors": 1, "words": 3}},
            "statistic": {"name": "ratio", "numerator": "errors", "denominator": "words"},
        },
    ),
    "predictions": ("predictions", {"gold": ["N", "V", "N"], "u": ["N", "V", "V"], "v": ["V", "V", "V"]}),
    "effects": ("effects", {"stay": [3, -1, 0, 2]}),
    "tuples": (
        "effects",
        {"stay": [[8, 2], [3, 3]], "swap": [[2, 8], [3, 3]], "statistic": {"expression": "x1 - x2"}},
    ),
}


def send(service: Any, path: str, value: Any, *, indent: Any = None, **fields: str) -> Any:
    text = value if isinstance(value, str) else json.dumps(value, indent=indent)
    return service.request("POST", path, files={"file": ("b.json", text.encode())}, data=fields)


def same(answer: dict[str, Any]) -> dict[str, Any]:
    return {name: one for name, one in answer.items() if name not in {"runtime", "reading"}}


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("name", REQUESTS)
def test_a_request_in_a_file_is_the_test_it_asks_for(name: str, indent: int | None, service: Any) -> None:
    kind, body = REQUESTS[name]
    wanted = service.post(f"/v1/tests/{kind}", body)
    assert wanted.status_code == 200, wanted.text
    for format_ in ("auto", "json", "jsonl"):
        response = send(service, FILES, body, indent=indent, format=format_)
        assert response.status_code == 200, response.text
        assert same(response.json()) == same(wanted.json())
        assert response.json()["reading"]["format"] == "json-request"
        assert f"/v1/tests/{kind}" in response.json()["reading"]["notes"][0]
    wrapped = send(service, FILES, {"kind": kind, "request": body}, indent=indent)
    assert same(wrapped.json()) == same(wanted.json())


@pytest.mark.parametrize("name", REQUESTS)
def test_a_gate_takes_the_same_files(name: str, service: Any) -> None:
    kind, body = REQUESTS[name]
    body = {key: value for key, value in body.items() if key != "alternative"}
    gate = {"kind": kind, "request": body}
    terms = {"policy": "improve", "higher_is_better": True}
    wanted = service.post(GATE, {**gate, **terms})
    assert wanted.status_code in {200, 409}, wanted.text
    fields = {"policy": "improve", "higher_is_better": "true"}
    for value, beside in ((body, fields), (gate, fields), ({**gate, **terms}, {})):
        response = send(service, GATE, value, **beside)
        assert response.status_code == wanted.status_code
        assert response.json()["id"] == wanted.json()["id"]
        assert response.json()["metrics"][0]["test"]["items"] == wanted.json()["metrics"][0]["test"]["items"]


def test_a_gate_of_several_metrics_may_come_as_a_file(service: Any) -> None:
    worse = {"u": [0] * 9, "v": [1] * 9}
    gate = {
        "metrics": [
            {"name": "a", "kind": "scores", "request": EIGHT},
            {"name": "b", "kind": "scores", "request": worse},
        ]
    }
    wanted = service.post(GATE, {**gate, "alpha": 0.2})
    response = send(service, GATE, gate, indent=1, alpha="0.2")
    assert wanted.status_code == response.status_code == 409
    assert response.json()["id"] == wanted.json()["id"]
    named = send(service, GATE, gate, name_u="new", name_v="old")
    assert all(metric["test"]["statistic"] for metric in named.json()["metrics"])
    assert "new" in send(service, GATE, gate, name_u="new", name_v="old").text or named.status_code == 409


def test_fields_complete_the_request_in_the_file(service: Any) -> None:
    wanted = service.post(
        "/v1/tests/scores",
        {
            **EIGHT,
            "alpha": 0.01,
            "statistic": {"name": "signed_rank", "zero_method": "pratt"},
            "names": {"u": "x"},
        },
    )
    fields = {"alpha": "0.01", "statistic": "signed_rank", "zero_method": "pratt", "name_u": "x"}
    assert same(send(service, FILES, EIGHT, **fields).json()) == same(wanted.json())
    said = {**EIGHT, "alpha": 0.01}
    assert send(service, FILES, said, alpha="0.01").status_code == 200


@pytest.mark.parametrize(
    ("path", "value", "fields", "pointer", "code"),
    [
        (FILES, {**EIGHT, "alpha": 0.01}, {"alpha": "0.05"}, "/options/alpha", "given_twice"),
        (FILES, {**EIGHT, "statistic": {"name": "sign"}}, {"statistic": "mean_difference"}, "/options/statistic", "given_twice"),
        (FILES, EIGHT, {"id_column": "x"}, "/options/id_column", "unused_option"),
        (FILES, EIGHT, {"alpha": "7"}, "/options/alpha", "less_than"),
        (FILES, {**EIGHT, "alpha": 7}, {}, "/files/file/alpha", "less_than"),
        (FILES, {"u": [1, "x"], "v": [0, 1]}, {}, "/files/file/u/1", "not_a_number"),
        (FILES, {"u": [1, 1], "v": [0]}, {}, "/files/file/v", "length_mismatch"),
        (FILES, {"u": [1, 1], "v": 0}, {}, "/files/file/v", "not_a_column"),
        (FILES, {**EIGHT, "questions": 3}, {}, "/files/file/questions", "unknown_field"),
        (FILES, {"kind": "scores", "request": EIGHT, "policy": "improve"}, {}, "/files/file", "request_for_a_gate"),
        (FILES, {"metrics": [{"kind": "scores", "request": EIGHT}]}, {}, "/files/file", "request_for_a_gate"),
        (FILES, {"kind": "score", "request": EIGHT}, {}, "/files/file/kind", "literal_error"),
        (FILES, {"kind": "scores", "request": {"u": [1]}}, {}, "/files/file/request/v", "missing"),
        (FILES, {"u": {"a": [1], "b": [1, 2]}, "v": {"a": [0], "b": [0]}}, {}, "/files/file", "unclear_kind"),
        (GATE, {**EIGHT, "alpha": 0.01}, {"alpha": "0.05"}, "/options/alpha", "given_twice"),
        (GATE, {"kind": "scores", "request": EIGHT, "policy": "improve"}, {"policy": "no_regression"}, "/options/policy", "given_twice"),
        (GATE, {"kind": "scores", "request": {"u": [1], "v": ["x"]}}, {}, "/files/file/request/v/0", "not_a_number"),
        (GATE, {"u": [1], "v": ["x"]}, {}, "/files/file/v/0", "not_a_number"),
        (GATE, {"u": [1], "v": [0]}, {"margin": "-1"}, "/options/margin", "greater_than_equal"),
        (GATE, {"metrics": [{"kind": "scores", "request": {"u": [1], "v": ["x"]}}]}, {}, "/files/file/metrics/0/request/v/0", "not_a_number"),
        (GATE, {**EIGHT, "policy": "improve"}, {}, "/files/file/policy", "unknown_field"),
    ],
)  # fmt: skip
def test_contradicting_and_unsuitable_fields_are_named(
    path: str, value: Any, fields: dict[str, str], pointer: str, code: str, service: Any
) -> None:
    assert error_of(send(service, path, value, **fields)) == (pointer, code)


def test_lines_are_still_lines(service: Any) -> None:
    line = '{"id": "q", "u": [1, 0], "v": [0, 0]}'
    assert send(service, FILES, line, id_column="id").json()["reading"]["format"] == "jsonl"
    for lines in (
        '{"id": 1, "u": [1, 0], "v": [0, 0]}\n{"id": 2, "u": [1], "v": [0]}\n',
        '{"u": [1, 0], "v": [0, 0]}\n{"u": 1, "v": 0}\n',
    ):
        said = send(service, FILES, lines).json()
        assert (said["items"]["n"], said["reading"]["format"]) == (2, "jsonl")
    assert send(service, FILES, '{"u": 0.5, "v": 0.25}').json()["items"]["n"] == 1


def test_one_object_with_lists_and_no_id_is_never_one_item(service: Any) -> None:
    """The other ways into the reader of JSON lines: an array, two files, another name of the columns."""
    for value, fields in (
        ([EIGHT], {}),
        ({"new": [1, 1], "old": [0, 1]}, {"system_u": "new", "system_v": "old"}),
    ):
        said = problem(send(service, FILES, value, **fields), 422)
        assert said["errors"][0]["code"] == "one_item_of_lists"
    files = {role: (f"{role}.json", json.dumps({"score": [1, 0, 1]}).encode()) for role in "uv"}
    said = service.request(
        "POST", FILES, files=files
    ).json()  # a list of values in each column: a table of three rows
    assert (said["items"]["n"], said["reading"]["format"]) == (3, "jsonl")


@pytest.mark.parametrize("path", [FILES, "/v1/gate"])
def test_several_requests_are_never_the_items_of_one_test(path: str, service: Any) -> None:
    one = {"u": [12, 3], "v": [12, 4]}
    for value in ([one, one, one], "\n".join([json.dumps(one)] * 2)):
        error = problem(send(service, path, value), 422)["errors"][0]
        assert error["code"] == "requests_for_items"
        assert "Several requests are not one test" in error["detail"]
    files = {role: (f"{role}.jsonl", b'{"score": [1, 0]}\n{"score": [0, 1]}\n') for role in "uv"}
    assert error_of(service.request("POST", path, files=files))[1] == "requests_for_items"


@pytest.mark.parametrize("path", [FILES, "/v1/gate"])
def test_one_request_with_an_id_is_never_one_item(path: str, service: Any) -> None:
    for value in ({"id": "nightly", **EIGHT}, [{"id": "nightly", **EIGHT}]):
        assert error_of(send(service, path, value))[1] == "one_item_of_lists"


@pytest.mark.parametrize(
    ("kind", "body"),
    [("scores", EIGHT), ("predictions", {"gold": ["a", "b"], "u": ["a", "b"], "v": ["b", "b"]}), ("effects", {"stay": [3, -1]})],
)  # fmt: skip
def test_a_request_sent_as_lines_is_never_one_item(kind: str, body: Any, service: Any) -> None:
    path, line = f"/v1/tests/{kind}", json.dumps(body)
    assert error_of(service.body(path, line.encode(), "application/x-ndjson")) == (
        "/line/1",
        "one_item_of_lists",
    )
    with_id = json.dumps({"id": "q", **body}).encode()
    query = "?expression=x1" if kind == "effects" else ""
    assert service.body(path + query, with_id, "application/x-ndjson").json()["items"]["n"] == 1


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_random_requests_agree_with_the_json_route(seed: int, service: Any) -> None:
    random_ = random.Random(seed)
    for _ in range(40):
        n = random_.randint(1, 9)
        body: dict[str, Any] = {name: [random_.choice([0, 1, 0.5, 2.25]) for _ in range(n)] for name in "uv"}
        if random_.random() < 0.3:
            ids = [f"q{index}" for index in range(n)]
            body = {
                name: dict(zip(random_.sample(ids, n), column, strict=True)) for name, column in body.items()
            }
        if random_.random() < 0.3:
            body["alternative"] = random_.choice(["less", "greater"])
        text = json.dumps(body, indent=random_.choice([None, 1, 4]))
        text = random_.choice(["", "\n", " \r\n", "\ufeff"]) + text + random_.choice(["", "\n", "\r\n\n"])
        wanted = service.post("/v1/tests/scores", body).json()
        found = send(service, FILES, text).json()
        assert (found["p_value"], found["items"], found["id"]) == (
            wanted["p_value"],
            wanted["items"],
            wanted["id"],
        )


@pytest.mark.parametrize(
    ("statistic", "below"), [("nonsense", "/statistic"), ({"name": "nonsense"}, "/statistic/name")]
)
def test_a_comparison_in_a_file_is_refused_where_it_is_wrong(
    service: Any, statistic: Any, below: str
) -> None:
    body = {"kind": "scores", "systems": {"A": [1, 0, 1], "B": [0, 0, 1]}, "statistic": statistic}
    code = error_of(service.post("/v1/compare", body))[1]
    assert error_of(service.post("/v1/compare", body)) == (below, code)
    assert error_of(send(service, "/v1/compare", body)) == (f"/files/file{below}", code)
