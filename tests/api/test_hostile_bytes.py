"""Bytes that nobody would send in earnest: forms and arrays that are almost right never make the service fail."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from exactperm.inputs.formats import catalogue
from exactperm.inputs.formats.roles import ROLES
from exactperm.service.parse_files import FIELDS
from tests.api.test_files import GOLD, PATH, U_LINES, V_LINES, WIDE, form, lm_eval

SOUP = st.lists(
    st.sampled_from(
        [
            b"--b0", b"--b0--", b"\r\n", b"\r\n\r\n", b"Content-Disposition: form-data; name=", b'"u"', b'"v"', b'"file"',
            b'"format"', b'; filename="x"', b"auto", b"csv", b"1,0\n", b"\x1f\x8b\x08\0", b"\x28\xb5\x2f\xfd", b"PK\x03\x04",
            b"{", b'{"id":1,"score":1}', b"\0", b"\xff", b"# newdoc\n", b"1\ta\t_\tX\t_\t_\t0\tx\t_\t_\n", b"qid Q0 d 1 2 r\n",
        ]
    )
    | st.binary(max_size=6),
    max_size=24,
).map(b"".join)  # fmt: skip
CONTENT = SOUP | st.sampled_from([U_LINES, V_LINES, WIDE, GOLD, lm_eval("a")])
FORMS = st.lists(
    st.tuples(st.sampled_from([*tuple(ROLES)[:6], "x"]), st.just("f") | st.none(), CONTENT)
    | st.tuples(
        st.sampled_from(FIELDS),
        st.none(),
        st.sampled_from(
            [b"csv", b"mt", b"trec", b"conllu", b"upos", b"f1", b"document", b"true", b"3", b"", b"\xff"]
        ),
    ),
    max_size=5,
)
FORMATS = st.sampled_from([None, *catalogue.FORMATS])


@pytest.mark.slow
@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(FORMS, FORMATS, SOUP)
def test_no_form_makes_the_service_fail(service: Any, parts: Any, format_: str | None, soup: bytes) -> None:
    chosen = [] if format_ is None else [("format", None, format_.encode())]
    body, media = form([*parts, *chosen])
    for content in (body, soup, body[: len(body) // 2] + soup):
        response = service.body(PATH, content, media)
        assert response.status_code < 500, response.text


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
    stream = io.BytesIO()
    np.save(
        stream, np.frombuffer(content, dtype=kind, count=n * m).reshape(n, m) if n else np.zeros((0, m), kind)
    )
    for path in ("scores", "counts"):
        assert service.body(f"/v1/tests/{path}", stream.getvalue(), "application/x-npy").status_code < 500
