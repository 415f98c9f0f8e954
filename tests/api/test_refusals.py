"""Test invalid requests: they get a problem with the right pointer (RFC 6901), never a 500."""

import copy
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from tests.api.conftest import error_of, errors_of, problem

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
def test_an_invalid_request_is_refused_with_place_and_reason(
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
def test_errors_of_json_writers_are_refused_at_their_place(
    service: Any, content: bytes, pointer: str, code: str
) -> None:
    assert error_of(service.body(PATH, content)) == (pointer, code)


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"\xff", b"\xef\xbb\xbf{}", b'{"u":["\\ud800"]}', b"[" * 100_000, b"1" * 5_000],
    ids=["empty", "open", "not utf-8", "bom", "surrogate", "deep", "digits"],
)
def test_unparsable_bodies_are_a_400(service: Any, content: bytes) -> None:
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


def test_an_invalid_table_is_refused_with_line_and_field(service: Any) -> None:
    assert error_of(service.body(PATH, b"1,0\n1,x\n", "text/csv"))[0] == "/line/2/2"


@pytest.mark.parametrize(
    "media", ["text/html", "application/x-www-form-urlencoded", "application/json; charset=utf-16"]
)
def test_a_wrong_media_type_is_a_415(service: Any, media: str) -> None:
    problem(service.body(PATH, b"{}", media), 415)


def test_a_table_for_predictions_is_a_415(service: Any) -> None:
    problem(service.body("/v1/tests/predictions", b"1,0\n", "text/csv"), 415)


def test_an_unacceptable_representation_is_a_406(service: Any) -> None:
    problem(service.post(PATH, OK, headers={"accept": "image/gif"}), 406)
    problem(service.post("/v1/plan", {}, headers={"accept": "text/csv"}), 406)


def test_an_unknown_path_is_a_404(service: Any) -> None:
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


SCORES: dict[str, Any] = {"u": [1, 0, 1, 1], "v": [0, 0, 1, 0]}
BY_ID: dict[str, Any] = {"u": {"a/b": 1, "c~d": 0, "0": 1}, "v": {"a/b": 0, "c~d": 1, "0": 0}}
COUNTS: dict[str, Any] = {
    "u": [{"tp": 1, "predicted": 2, "gold": 2}] * 2,
    "v": [{"tp": 0, "predicted": 1, "gold": 2}] * 2,
    "statistic": {"name": "f1"},
}
LABELS: dict[str, Any] = {"gold": ["a", "b"], "u": ["a", "a"], "v": ["b", "b"]}
OPTIONS: dict[str, Any] = {
    "alternative": "less", "alpha": 0.1, "method": "auto", "names": {"u": "x", "v": "y"}, "clusters": ["p", "p", "q", "q"],
    "statistic": {"name": "mean_difference"}, "on_missing": "error", "weights": [1, 2, 1, "1/2"], "timeout_s": 9,
}  # fmt: skip
BOARD: dict[str, Any] = {"kind": "scores", "systems": {"A/1": [1, 0, 1], "B~": [0, 0, 1], "C": [1, 1, 1]}}
SENT: dict[str, tuple[str, dict[str, Any]]] = {
    "scores": ("/v1/tests/scores", {**SCORES, **OPTIONS}),
    "scores by id": ("/v1/tests/scores", BY_ID),
    "counts": ("/v1/tests/counts", COUNTS),
    "predictions": ("/v1/tests/predictions", LABELS),
    "effects": ("/v1/tests/effects", {"stay": [1, 2, 3], "swap": [0, 1, 4]}),
    "plan": ("/v1/plan", {"kind": "scores", "request": {**SCORES, **OPTIONS}}),
    "gate": ("/v1/gate", {"kind": "scores", "request": SCORES, "policy": "improve", "margin": 0.1}),
    "gate of metrics": ("/v1/gate", {"metrics": [{"kind": "scores", "request": BY_ID, "name": "x/y"}], "alpha": 0.05}),
    "gate against several": ("/v1/gate", {"kind": "scores", "request": {"u": [1, 0]}, "against": {"m/n": [1, 1], "o": [0, 0]}}),
    "board": ("/v1/compare", {**BOARD, "compare": [["A/1", "B~"]], "adjust": "holm", "on_missing": "error"}),
    "board of a matrix": ("/v1/compare", {"kind": "scores", "systems": ["a", "b"], "scores": [[1, 0], [1, 1]]}),
    "data sets": ("/v1/compare", {"kind": "scores", "datasets": {"d/e": {"systems": {"a": [1, 0], "b": [1, 1]}}}}),
    "power": ("/v1/power", {"design": {"kind": "binary", "p10": 0.1, "p01": 0.05}, "solve": "n"}),
}  # fmt: skip
JUNK: st.SearchStrategy[Any] = st.sampled_from(
    [
        "",
        "x",
        "NaN",
        "1/0",
        None,
        True,
        -1,
        1e308,
        0.5,
        [],
        {},
        [[]],
        [{}],
        {"u": 1},
        ["a", "a"],
        [1],
        "intersect",
    ]
).map(copy.deepcopy)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path of every value inside, the whole first."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(found for key, one in inside for found in places(one, (*path, key)))]


def resolved(pointer: str, document: Any) -> tuple[bool, bool]:
    """Whether a pointer resolves, and whether its parent does; raises ValueError for an invalid RFC 6901 pointer."""
    if pointer and not pointer.startswith("/"):
        raise ValueError(pointer)
    parts = pointer.split("/")[1:]
    value = document
    for at, part in enumerate(parts):
        if "~" in part.replace("~0", "").replace("~1", ""):
            raise ValueError(pointer)
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict) and key in value:
            value = value[key]
        elif isinstance(value, list) and key.isdecimal() and int(key) < len(value):
            value = value[int(key)]
        else:
            return False, at == len(parts) - 1
    return True, True


@pytest.mark.parametrize(("path", "body"), SENT.values(), ids=SENT)
def test_complete_requests_are_answered(service: Any, path: str, body: dict[str, Any]) -> None:
    assert service.post(path, body).status_code in {200, 409}, service.post(path, body).text


@pytest.mark.parametrize(("path", "body"), SENT.values(), ids=SENT)
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_every_pointer_of_a_refusal_resolves_in_the_body_that_was_sent(
    service: Any, path: str, body: dict[str, Any], data: st.DataObject
) -> None:
    sent: Any = copy.deepcopy(body)
    for _ in range(data.draw(st.integers(1, 2))):
        where = data.draw(st.sampled_from(places(sent)[1:]))
        inside = sent
        for key in where[:-1]:
            inside = inside[key]
        how = data.draw(st.sampled_from(["set", "drop", "add"]))
        if how == "drop":
            del inside[where[-1]]
        elif how == "add" and isinstance(inside, dict):
            inside[data.draw(st.sampled_from(["zz/z", "~", "alternativ", "y_true"]))] = data.draw(JUNK)
        else:
            inside[where[-1]] = data.draw(JUNK)
        if len(places(sent)) == 1:
            break
    response = service.post(path, sent)
    assert response.status_code in {200, 409, 422, 400}, response.text
    for flaw in response.json().get("errors", []) if response.status_code == 422 else []:
        assert any(resolved(flaw["pointer"], json.loads(json.dumps(sent)))), (flaw, sent)


KEYED: dict[str, Any] = {"u": {"a": 5, "b": 3, "c": 9, "d": 1}, "v": {"d": 0, "c": 2, "b": 3, "a": 4}}
LISTS: dict[str, Any] = {"u": [5, 3, 9, 1], "v": [4, 3, 2, 0], "clusters": ["x", "x", "y", "z"]}
TAGGED: dict[str, Any] = {"gold": ["a", "b", "c", "a"], "u": ["a", "b", "a", "a"], "v": ["b", "b", "c", "c"]}
COUNTED: dict[str, Any] = {
    "u": {"tp": [8, 3], "fp": [1, 2], "fn": [1, 1]},
    "v": {"tp": [6, 5], "fp": [0, 1], "fn": [1, 1]},
}
WAYS = [
    ("scores", KEYED, "quantile_difference", {"q": 0.75}),
    ("scores", LISTS, "signed_rank", {"zero_method": "pratt"}),
    ("predictions", TAGGED, "f1", {"average": "macro"}),
    ("predictions", TAGGED, "accuracy", {}),
    ("counts", COUNTED, "fbeta", {"beta": 2}),
]


def identity(answer: Any) -> Any:
    """The id of an answer, or of that in a batch; a plan has none, and is compared whole."""
    if "results" in answer:
        return answer["results"][0]["answer"]["id"]
    return answer.get("id") or {name: value for name, value in answer.items() if name != "runtime"}


@pytest.mark.parametrize(("kind", "data", "name", "parameters"), WAYS, ids=lambda value: str(value)[:20])
def test_parameters_beside_the_name_are_those_inside(
    service: Any, kind: str, data: dict[str, Any], name: str, parameters: dict[str, Any]
) -> None:
    inside = {**data, "statistic": {"name": name, **parameters}}
    flat = {**data, "statistic": name, **parameters}
    half = {**data, "statistic": {"name": name}, **parameters}
    for wrapped, path in (
        (lambda one: one, f"/v1/tests/{kind}"),
        (lambda one: {"kind": kind, "request": one}, "/v1/gate"),
        (lambda one: {"kind": kind, "request": one}, "/v1/plan"),
        (lambda one: {"tests": [{"kind": kind, "request": one}]}, "/v1/batch"),
    ):
        said = [service.post(path, wrapped(one)) for one in (inside, flat, half)]
        assert {one.status_code for one in said} in ({200}, {409}), said[1].text
        first, *others = (identity(one.json()) for one in said)
        assert others == [first, first]


def test_a_board_takes_them_too(service: Any) -> None:
    board = {"kind": "predictions", "gold": TAGGED["gold"], "systems": {"A": TAGGED["u"], "B": TAGGED["v"]}}
    inside = service.post("/v1/compare", {**board, "statistic": {"name": "f1", "average": "macro"}}).json()
    flat = service.post("/v1/compare", {**board, "statistic": "f1", "average": "macro"}).json()
    assert flat["id"] == inside["id"]
    assert flat["statistic"] == "f1"


REFUSED = [
    ({"statistic": "quantile_difference", "q": 2}, "/q", "out_of_range"),
    ({"statistic": "quantile_difference", "q": "half"}, "/q", "float_type"),
    ({"statistic": {"name": "quantile_difference"}, "q": 2}, "/q", "out_of_range"),
    ({"statistic": {"name": "quantile_difference", "q": 2}}, "/statistic/q", "out_of_range"),
    ({"statistic": {"name": "quantile_difference", "q": 0.5}, "q": 0.75}, "/q", "given_twice"),
    ({"statistic": "sign", "zero_method": "pratt"}, "/zero_method", "unknown_parameter"),
    ({"statistic": "sing"}, "/statistic", "literal_error"),
    ({"statistic": 5, "q": 0.5}, "/statistic", "model_type"),
    ({"statistic": "sign", "average": "macro"}, "/average", "literal_error"),
    ({"statistic": "sign", "averages": "macro"}, "/averages", "unknown_field"),
]


@pytest.mark.parametrize(("options", "pointer", "code"), REFUSED, ids=lambda value: str(value)[:40])
def test_a_wrong_parameter_is_where_it_was_written(
    service: Any, options: dict[str, Any], pointer: str, code: str
) -> None:
    for path, inside, body in (
        ("/v1/tests/scores", "", {**KEYED, **options}),
        ("/v1/gate", "/request", {"kind": "scores", "request": {**KEYED, **options}}),
        ("/v1/plan", "/request", {"kind": "scores", "request": {**KEYED, **options}}),
    ):
        assert errors_of(service.post(path, body)) == [(inside + pointer, code)]


def test_a_request_file_holds_them(service: Any) -> None:
    content = json.dumps({**KEYED, "statistic": "quantile_difference", "q": 0.75}).encode()
    files = {"file": ("request.json", content)}
    said = service.request("POST", "/v1/tests/files", files=files).json()
    wanted = service.post(
        "/v1/tests/scores", {**KEYED, "statistic": {"name": "quantile_difference", "q": 0.75}}
    )
    assert (said["p_value"], said["statistic"]) == (wanted.json()["p_value"], wanted.json()["statistic"])
    named = service.request("POST", "/v1/tests/files", files=files, data={"q": "0.5"})
    assert named.json()["errors"][0]["code"] == "given_twice"
