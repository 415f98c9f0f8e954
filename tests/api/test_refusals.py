"""What bad requests get: a problem with a pointer, never a 500."""

from __future__ import annotations

from typing import Any

import pytest

from tests.api.conftest import error_of, problem

OK = {"u": [1, 2, 3], "v": [0, 1, 2]}
PATH = "/v1/tests/scores"


def changed(**changes: Any) -> dict[str, Any]:
    return {**OK, **changes}


CASES: list[tuple[str, str, Any, str, str]] = [
    ("lengths", PATH, changed(v=[1, 2]), "/v", "length_mismatch"),
    ("string", PATH, changed(v=[0, 1, "2"]), "/v/2", "not_a_number"),
    ("boolean", PATH, changed(u=[True, 1, 2]), "/u/0", "not_a_number"),
    ("null", PATH, changed(u=[1, None, 2]), "/u/1", "not_a_number"),
    ("nested twice", PATH, changed(u=[[1], [1, [2]], [1]]), "/u/1/1", "not_a_number"),
    ("samples of nothing", PATH, changed(u=[[1], [], [1]]), "/u/1", "no_samples"),
    ("samples and numbers", PATH, changed(u=[[1], [1], 1]), "/u/2", "mixed_items"),
    ("sample by id", PATH, {"u": {"a": [1, "x"]}, "v": {"a": 1}}, "/u/a/1", "not_a_number"),
    ("empty", PATH, {"u": [], "v": []}, "/u", "no_items"),
    ("empty objects", PATH, {"u": {}, "v": {}}, "/u", "no_items"),
    ("missing", PATH, {"u": [1]}, "/v", "missing"),
    ("unknown field", PATH, changed(methd="fft"), "/methd", "unknown_field"),
    ("unknown field inside", PATH, changed(names={"w": "x"}), "/names/w", "unknown_field"),
    ("unknown method", PATH, changed(method="magic"), "/method", "literal_error"),
    ("unknown statistic", PATH, changed(statistic={"name": "magic"}), "/statistic/name", "literal_error"),
    (
        "other parameter",
        PATH,
        changed(statistic={"zero_method": "pratt"}),
        "/statistic/zero_method",
        "unknown_parameter",
    ),
    ("duplicate ids", PATH, changed(ids=["a", "b", "a"]), "/ids/2", "duplicate_id"),
    ("unmatched ids", PATH, {"u": {"a": 1, "b": 2}, "v": {"a": 1, "c": 2}}, "/u", "unmatched_ids"),
    ("mixed forms", PATH, {"u": {"a": 1}, "v": [1]}, "/v", "mixed_forms"),
    ("value by id", PATH, {"u": {"a/b": "x"}, "v": {"a/b": 1}}, "/u/a~1b", "not_a_number"),
    ("cluster count", PATH, changed(clusters=[1]), "/clusters", "length_mismatch"),
    ("cluster kind", PATH, changed(clusters=[1, 2, 0.5]), "/clusters/2", "not_a_key"),
    ("alpha", PATH, changed(alpha=1.5), "/alpha", "less_than"),
    ("alpha text", PATH, changed(alpha="0.05"), "/alpha", "float_type"),
    ("samples", PATH, changed(samples=0), "/samples", "greater_than_equal"),
    ("many samples", PATH, changed(samples=10**9), "/samples", "too_many_samples"),
    ("endless samples", PATH, changed(samples=10**400), "/samples", "too_many_samples"),
    ("fractional seed", PATH, changed(seed=1.5), "/seed", "int_type"),
    ("timeout", PATH, changed(timeout_s=-1), "/timeout_s", "greater_than"),
    ("least timeout", PATH, changed(timeout_s=0.001), "/timeout_s", "greater_than"),
    ("long name", PATH, changed(names={"u": "x" * 10_000}), "/names/u", "name_too_long"),
    ("jackknife", PATH, changed(test="jackknife"), "/test", "literal_error"),
    ("interval", PATH, changed(confidence_level=1), "/confidence_level", "less_than"),
    ("large integer", PATH, changed(u=[1, 2, 2**63]), "/u/2", "integer_too_large"),
    ("endless integer", PATH, changed(u=[1, 10**400, 2]), "/u/1", "integer_too_large"),
    ("not an object", PATH, [1, 2], "", "not_an_object"),
    ("a string", PATH, "u", "", "not_an_object"),
    ("effects tuples", "/v1/tests/effects", {"stay": [[1, 2], [1]]}, "/stay/1", "wrong_width"),
    (
        "effects widths",
        "/v1/tests/effects",
        {"stay": [[1, 2]], "swap": [[1, 2, 3]]},
        "/swap",
        "width_mismatch",
    ),
    (
        "effects expression",
        "/v1/tests/effects",
        {"stay": [1], "statistic": {"expression": "x1**2"}},
        "/statistic/expression",
        "syntax_error",
    ),
    (
        "effects variable",
        "/v1/tests/effects",
        {"stay": [[1, 2]], "statistic": {"expression": "x1/x3"}},
        "/statistic/expression",
        "unknown_name",
    ),
    ("effects lengths", "/v1/tests/effects", {"stay": [1, 2], "swap": [1]}, "/swap", "length_mismatch"),
    ("gold", "/v1/tests/predictions", {"u": ["a"], "v": ["a"]}, "/gold", "missing"),
    ("label", "/v1/tests/predictions", {"gold": ["a"], "u": [0.5], "v": ["a"]}, "/u/0", "not_a_label"),
    (
        "mixed items",
        "/v1/tests/predictions",
        {"gold": ["a", ["b"]], "u": ["a", "b"], "v": ["a", "b"]},
        "/gold/1",
        "mixed_items",
    ),
    ("plan kind", "/v1/plan", {"kind": "magic", "request": OK}, "/kind", "literal_error"),
    (
        "plan inside",
        "/v1/plan",
        {"kind": "scores", "request": changed(v=[1, 2])},
        "/request/v",
        "length_mismatch",
    ),
    (
        "plan value",
        "/v1/plan",
        {"kind": "scores", "request": changed(v=[1, 2, "x"])},
        "/request/v/2",
        "not_a_number",
    ),
    ("plan field", "/v1/plan", {"kind": "scores", "request": changed(x=1)}, "/request/x", "unknown_field"),
    ("plan request", "/v1/plan", {"kind": "scores", "request": [1]}, "/request", "dict_type"),
]


@pytest.mark.parametrize(
    ("path", "body", "pointer", "code"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_a_bad_request_is_told_where_and_why(
    service: Any, path: str, body: Any, pointer: str, code: str
) -> None:
    assert error_of(service.post(path, body)) == (pointer, code)


@pytest.mark.parametrize(
    ("content", "pointer", "code"),
    [
        (b'{"u":[1,NaN],"v":[1,2]}', "/u/1", "not_finite"),
        (b'{"u":[1,2],"v":[-Infinity,2]}', "/v/0", "not_finite"),
        (b'{"u":[1,1e999],"v":[1,2]}', "/u/1", "not_finite"),
        (b'{"u":[1],"v":[2],"alpha":NaN}', "/alpha", "finite_number"),
        (b'{"u":[1],"v":[2],"u":[3]}', "", "duplicate_key"),
        (b'{"u":{"a":1,"a":2},"v":{"a":1}}', "", "duplicate_key"),
    ],
)
def test_what_json_writers_get_wrong_is_refused_by_its_place(
    service: Any, content: bytes, pointer: str, code: str
) -> None:
    assert error_of(service.body(PATH, content)) == (pointer, code)


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"\xff", b"\xef\xbb\xbf{}", b'{"u":["\\ud800"]}', b"[" * 100_000, b"1" * 5_000],
    ids=["empty", "open", "not utf-8", "bom", "surrogate", "deep", "digits"],
)
def test_what_cannot_be_parsed_is_a_400(service: Any, content: bytes) -> None:
    problem(service.body(PATH, content), 400)


def test_the_first_unmatched_ids_are_named(service: Any) -> None:
    u, v = {f"q{i}": 1 for i in range(100)}, {"q0": 1, "z": 2}
    said = problem(service.post(PATH, {"u": u, "v": v}), 422)
    assert "99 of 100 ids in u" in said["detail"]
    assert '"q1", "q2"' in said["errors"][0]["detail"]


@pytest.mark.parametrize(
    "body",
    [
        {"u": ["secret"] * 20_000, "v": [1]},
        {"secret" * 50_000: 1, "u": [1], "v": [1]},
        {f"secret{i}": 1 for i in range(40_000)},
        {"u": [1], "v": [1], "names": {f"secret{i}": "x" for i in range(40_000)}},
        {"u": {f"secret{i}": 1 for i in range(20_000)}, "v": {"secret" * 20_000: 1}},
        {"u": [1, 1], "v": [1, 1], "ids": ["secret" * 30_000] * 2},
        {"u": [1], "v": [1], "method": "secret" * 50_000},
        {"u": [1], "v": [1], "statistic": {"name": "secret" * 50_000}},
    ],
    ids=["strings", "long key", "many keys", "many names", "ids", "long id", "method", "statistic"],
)
def test_the_input_is_never_echoed(service: Any, body: Any) -> None:
    response = service.post(PATH, body)
    problem(response, 422)
    assert b"secret" * 8 not in response.content  # 40 characters of an id may be named


@pytest.mark.parametrize(
    ("query", "pointer"),
    [
        ("statistik=sign", "/?statistik"),
        ("alpha=0.1&alpha=0.2", "/?alpha"),
        ("alpha=x", "/?alpha"),
        ("statistic=magic", "/?statistic"),
        ("statistic=sign&zero_method=pratt", "/?zero_method"),
        ("beta=2", "/?beta"),
        ("timeout_s=0", "/?timeout_s"),
        ("timeout_s=5e-324", "/?timeout_s"),
        ("timeout_s=0.001", "/?timeout_s"),
        ("timeout_s=NaN", "/?timeout_s"),
        ("format=pdf", "/?format"),
        ("format=json&format=json", "/?format"),
    ],
)
def test_query_parameters_are_checked(service: Any, query: str, pointer: str) -> None:
    assert error_of(service.body(f"{PATH}?{query}", b"1,0\n", "text/csv"))[0] == pointer


def test_json_bodies_take_no_options_from_the_query(service: Any) -> None:
    assert error_of(service.post(f"{PATH}?alpha=0.1", OK))[0] == "/?alpha"


def test_a_bad_table_is_told_line_and_field(service: Any) -> None:
    assert error_of(service.body(PATH, b"1,0\n1,x\n", "text/csv"))[0] == "/line/2/2"


@pytest.mark.parametrize(
    "media", ["text/html", "application/x-www-form-urlencoded", "application/json; charset=utf-16"]
)
def test_a_wrong_media_type_is_a_415(service: Any, media: str) -> None:
    problem(service.body(PATH, b"{}", media), 415)


def test_a_table_for_predictions_is_a_415(service: Any) -> None:
    problem(service.body("/v1/tests/predictions", b"1,0\n", "text/csv"), 415)


def test_what_is_not_acceptable_is_a_406(service: Any) -> None:
    problem(service.post(PATH, OK, headers={"accept": "image/gif"}), 406)
    problem(service.post("/v1/plan", {}, headers={"accept": "text/csv"}), 406)


def test_what_is_not_there_is_a_404(service: Any) -> None:
    for path in (
        "/nope",
        "/v1/tests/nope",
        "/docs/assets/nope.js",
        "/docs/assets/../../main.py",
        "/v1/tests/scores/",
    ):
        problem(service.get(path), 404)


@pytest.mark.parametrize(
    ("method", "path"), [("GET", PATH), ("PUT", "/v1/plan"), ("POST", "/v1/meta"), ("DELETE", "/livez")]
)
def test_a_wrong_method_is_a_405_that_names_the_right_one(service: Any, method: str, path: str) -> None:
    response = service.request(method, path)
    problem(response, 405)
    assert response.headers["allow"] in {"POST", "GET", "GET, HEAD", "HEAD, GET"}


def test_allow_names_all_methods_of_a_path(service: Any) -> None:
    """RFC 9110, 10.2.1; for each path of the API document, by asking with every method."""
    described = service.get("/openapi.json").json()["paths"]
    paths = {path: {method.upper() for method in operations} for path, operations in described.items()}
    paths |= {path: {"GET"} for path in ("/", "/docs", "/openapi.json", "/page/app.js")}
    assert paths["/v1/jobs"] == {"GET", "POST"}
    assert paths["/v1/jobs/{job}"] == {"GET", "DELETE"}
    for path, described_methods in paths.items():
        known = described_methods | ({"HEAD"} if "GET" in described_methods else set())
        asked = path.replace("{job}", "j_x").replace("{name}", "r_x")
        assert "{" not in asked
        assert (service.request("HEAD", asked).status_code == 405) == ("HEAD" not in known)
        for method in {"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"} - known:
            response = service.request(method, asked)
            allow = response.headers["allow"]
            assert set(allow.split(", ")) == known, (method, path)
            assert problem(response, 405)["detail"].startswith(f"Use {allow} for {asked}")


def test_a_body_over_the_limit_is_a_413_declared_or_not(service: Any) -> None:
    size = service.app.state.settings.max_body_bytes + 1
    problem(service.body(PATH, b" " * size), 413)

    async def chunks() -> Any:
        for _ in range(size // 1000 + 1):
            yield b" " * 1000

    problem(
        service.request("POST", PATH, content=chunks(), headers={"content-type": "application/json"}), 413
    )


def test_too_many_items_are_a_413(service: Any) -> None:
    n = service.app.state.settings.max_items + 1
    problem(service.post(PATH, {"u": [1] * n, "v": [0] * n}), 413)


def test_values_whose_squares_overflow_are_answered(service: Any) -> None:
    body = {"stay": [[700], [1]], "swap": [[0], [0]], "statistic": {"expression": "exp(x1)"}}
    response = service.post("/v1/tests/effects", body)
    assert response.status_code == 200, response.text
    null = response.json()["null"]
    assert 0.1 < null["sd"] / null["max"] <= 1  # four outcomes, two of them near exp(700)
    for kind in ("text/html", "image/svg+xml", "text/csv"):
        assert service.post("/v1/tests/effects", body, headers={"accept": kind}).status_code == 200
