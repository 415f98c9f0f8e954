"""A fixed corpus of bodies meant to break a JSON service, and arrays that are almost right: never a 5xx."""

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from exactperm.service.kinds import KINDS
from tests.api.conftest import problem
from tests.binary import npy

PATHS: dict[str, str] = {kind: row.path for kind, row in KINDS.items()}
JSON_KINDS = [kind for kind, row in KINDS.items() if "application/json" in row.consumed]
SECRET = "s3cr3t-s3cr3t"

# One item that is right for each kind of test, with a place where a number goes.
BODIES = {
    "effects": '{"stay": [1, -1, %s]}',
    "scores": '{"u": [1, 0, %s], "v": [0, 1, 1]}',
    "counts": '{"u": {"tp": [1, 2, %s], "incorrect": [1, 1, 1]}, "v": {"tp": [1, 1, 1], "incorrect": [1, 1, 1]}, '
    '"statistic": {"name": "f1"}}',
    "predictions": '{"gold": ["N", "V", "N"], "u": ["N", "V", %s], "v": ["V", "N", "N"]}',
}
BODIES["plan"] = f'{{"kind": "scores", "request": {BODIES["scores"]}}}'
BODIES["gate"] = BODIES["plan"]
BODIES["batch"] = f'{{"tests": [{BODIES["plan"]}]}}'
BODIES["power"] = (
    f'{{"design": {{"kind": "pilot", "request_kind": "scores", "request": {BODIES["scores"]}}}, "solve": "effect"}}'
)
BODIES["compare"] = '{"kind": "scores", "systems": {"A": [1, 0, %s], "B": [0, 1, 1], "C": [1, 1, 1]}}'
BODIES["systems"] = (
    '{"systems": {"A": [1, 0, %s], "B": [0, 1, 1], "C": [1, 1, 1]}, "statistic": {"name": "friedman"}}'
)
BODIES["preferences"] = (
    '{"battles": [{"id": %s, "model_a": "A", "model_b": "B", "winner": "tie"}], "alpha": 0.1}'
)

NUMBERS = {
    "NaN": "NaN",
    "Infinity": "Infinity",
    "-Infinity": "-Infinity",
    "minus zero": "-0",
    "minus zero point zero": "-0.0",
    "1e999": "1e999",
    "1e-999": "1e-999",
    "400 digits": "9" * 400,
    "400 digits after the point": "0." + "9" * 400,
    "5000 digits": "9" * 5000,
    "an exponent of 20 digits": "1e" + "9" * 20,
    "true": "true",
    "null": "null",
    "an empty list": "[]",
    "an object": "{}",
    "a number in quotes": '"1"',
    "a lone surrogate": r'"\ud800"',
    "a null character": r'"\u0000"',
    "2^53 + 1": "9007199254740993",
    "-2^63": "-9223372036854775808",
    "2^64": "18446744073709551616",
    "a denormal": "5e-324",
    "the largest double": "1.7976931348623157e308",
}
DEEP = 100_000
TEXTS: dict[str, bytes] = {
    "nothing": b"",
    "spaces": b" " * 1000,
    "bad UTF-8": b'{"u": ["\xff\xfe"]}',
    "overlong UTF-8": b'{"\xc0\xaf": 1}',
    "a surrogate in UTF-8": b'{"\xed\xa0\x80": 1}',
    "UTF-16": '{"u": [1]}'.encode("utf-16"),
    "nesting of lists": b"[" * DEEP,
    "nesting of lists, closed": b"[" * DEEP + b"]" * DEEP,
    "nesting of objects": b'{"u":' * DEEP,
    "nesting inside a field": b'{"u": ' + b"[" * DEEP + b"]" * DEEP + b', "v": [1]}',
    "a million keys": b"{" + b",".join(b'"k%d":1' % n for n in range(100_000)) + b"}",
    "unknown keys": json.dumps({SECRET * 40: [SECRET] * 1000}).encode(),
    "duplicate keys": b'{"u": [1], "u": [2], "v": [1]}',
    "duplicate keys below": b'{"u": [1], "v": [1], "statistic": {"name": "sign", "name": "sign"}}',
    "two documents": b'{"u": [1], "v": [1]} {"u": [1], "v": [1]}',
    "a number": b"1",
    "a string": b'"' + SECRET.encode() + b'"',
    "a list": b"[]",
    "null": b"null",
    "JavaScript": b"{u: [1], 'v': [1],}",
    "an unended string": b'{"u": ["' + b"a" * 10_000,
    "prototype": b'{"__proto__": {"u": 1}, "constructor": 1}',
    "a long string": b'{"u": "' + b"a" * 500_000 + b'"}',
    "a list of strings": json.dumps({"u": [SECRET] * 20_000, "v": [SECRET] * 20_000}).encode(),
    "hostile names": json.dumps(
        {"u": [1, 0], "v": [0, 1], "names": {"u": "<script>", "v": "=cmd()\r\nX-Evil: 1"}}
    ).encode(),
}  # fmt: skip


def checked(response: Any) -> None:
    """Check for an answer, or a small, regular refusal that does not echo the input."""
    assert response.status_code < 500, response.text[:300]
    assert "x-evil" not in response.headers
    if response.status_code in {200, 409}:
        assert "NaN" not in response.text
        assert "Infinity" not in response.text
        return
    said = problem(response, response.status_code)
    assert SECRET * 4 not in response.text
    for flaw in said.get("errors", []):
        assert flaw["pointer"] == "" or flaw["pointer"].startswith("/")


@pytest.mark.parametrize("kind", JSON_KINDS)
@pytest.mark.parametrize("number", NUMBERS.values(), ids=NUMBERS.keys())
def test_no_number_makes_an_endpoint_fail(service: Any, kind: str, number: str) -> None:
    response = service.body(PATHS[kind], (BODIES[kind] % number).encode())
    checked(response)
    if number in {"NaN", "Infinity", "-Infinity"}:
        own = response.json()["results"][0]["status"] if kind == "batch" else response.status_code
        assert own in {400, 422}


@pytest.mark.parametrize("kind", JSON_KINDS)
@pytest.mark.parametrize("body", TEXTS.values(), ids=TEXTS.keys())
def test_no_text_makes_an_endpoint_fail(service: Any, kind: str, body: bytes) -> None:
    wrapped = b'{"kind": "scores", "request": ' + body + b"}" if kind in {"plan", "gate"} else body
    for content in {body, wrapped}:
        checked(service.body(PATHS[kind], content))


@pytest.mark.parametrize("kind", JSON_KINDS)
def test_a_key_that_stands_twice_is_refused_wherever_it_stands(service: Any, kind: str) -> None:
    body = BODIES[kind] % ('"N"' if kind == "predictions" else "1")
    assert service.body(PATHS[kind], body.encode()).status_code in {200, 409}
    twice = body.replace("{", '{"alpha": 0.05, "alpha": 0.01, ', 1)
    below = body[:-1] + ', "names": {"u": "a", "u": "b", "v": "c"}}'
    for text in (twice, below):
        assert service.body(PATHS[kind], text.encode()).status_code in {400, 422}


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_bytes_under_every_media_type_make_no_endpoint_fail(service: Any, kind: str) -> None:
    bodies = [
        b"",
        b"\0" * 1000,
        b"\xff" * 1000,
        b"1,2\n3\n",
        b"\x93NUMPY\x01\x00",
        b"--b\r\n",
        b"{}\n[]\n",
        b'"' * 999,
    ]
    for media in ("application/json", "text/csv", "text/tab-separated-values", "application/x-ndjson",
                  "application/x-npy", "multipart/form-data; boundary=b", "text/html", ""):  # fmt: skip
        for coding in (
            {},
            {"content-encoding": "gzip"},
            {"content-encoding": "zstd"},
            {"content-encoding": "gzip, gzip"},
        ):
            for body in bodies:
                checked(service.body(PATHS[kind], body, media, headers=coding))


HEADERS = st.fixed_dictionaries(
    {
        "descr": st.sampled_from(
            ["<i8", "<f8", "|O", "<U3", ">i2", "|b1", "<u8", "<f16", "<c16", [("a", "<i8")], "x", 3]
        ),
        "fortran_order": st.booleans() | st.just(1),
        "shape": st.lists(st.integers(-2, 5) | st.just(10**18), max_size=3).map(tuple),
    }
)


@pytest.mark.slow
@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    HEADERS.map(repr) | st.text(max_size=30),
    st.binary(max_size=200),
    st.sampled_from([b"\1\0", b"\2\0", b"\3\0"]),
)
def test_no_array_makes_the_service_fail(service: Any, header: str, content: bytes, version: bytes) -> None:
    text = header.encode("utf-8", "surrogatepass") + b"\n"
    size = len(text).to_bytes(2 if version == b"\1\0" else 4, "little")
    for body in (b"\x93NUMPY" + version + size + text + content, b"\x93NUMPY" + version + content, content):
        for kind in ("scores", "counts"):
            assert service.body(f"/v1/tests/{kind}", body, "application/x-npy").status_code < 500


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.integers(0, 3),
    st.integers(1, 5),
    st.sampled_from(["i1", "u8", "f2", "f4", "f8", "b1"]),
    st.binary(min_size=120),
)
def test_no_numbers_in_an_array_make_the_service_fail(
    service: Any, n: int, m: int, kind: str, content: bytes
) -> None:
    array = np.frombuffer(content, dtype=kind, count=n * m).reshape(n, m) if n else np.zeros((0, m), kind)
    for path in ("scores", "counts"):
        assert service.body(f"/v1/tests/{path}", npy(array), "application/x-npy").status_code < 500
