"""Test the service against its OpenAPI document with valid and invalid requests by schemathesis, in process."""

import json
import re
from functools import cache
from typing import Any
from urllib.parse import urlsplit

import pytest
import requests
import schemathesis
from hypothesis import given
from schemathesis import GenerationMode

from exactperm.api.openapi_export import exported
from tests.fuzz.asgi import Header, InProcess, examples, path_of

TESTS = ("effects", "scores", "counts", "predictions", "files", "plan", "gate", "compare")
PLAIN = ("/v1/meta", "/livez", "/readyz", "/healthz", "/metrics")
# What the edge lets through to an application.
FIELD_NAME = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
FIELD_VALUE = re.compile(rb"[\x21-\x7e\x80-\xff]([\t\x20-\x7e\x80-\xff]*[\x21-\x7e\x80-\xff])?|")


@cache
def schema() -> Any:
    """The document, with binary parts as strings, as schemathesis cannot negate its type for them."""
    return schemathesis.openapi.from_dict(_without_binary(json.loads(exported())))


def _without_binary(part: Any) -> Any:
    if isinstance(part, dict):
        return {
            key: _without_binary(value) for key, value in part.items() if (key, value) != ("format", "binary")
        }
    return [_without_binary(each) for each in part] if isinstance(part, list) else part


def headers_of(given_: dict[str, Any]) -> list[Header]:
    """Those that a server would let through; the length is said by whoever sends."""
    pairs = [(str(name).encode(), str(value).encode()) for name, value in given_.items()]
    return [
        (name.lower(), value)
        for name, value in pairs
        if FIELD_NAME.fullmatch(name) and FIELD_VALUE.fullmatch(value)
        if name.lower() not in {b"content-length", b"transfer-encoding", b"host"}
    ]


def on_the_wire(case: Any) -> tuple[bytes, list[Header], bytes]:
    """Query, headers and body as requests would send them."""
    said = case.as_transport_kwargs(base_url="http://test")
    given_ = dict(said["headers"])
    parts = {name: said.get(name) for name in ("params", "json", "data", "files")}
    prepared = requests.Request(said["method"], said["url"], **parts).prepare()
    body: Any = prepared.body or b""
    headers = headers_of({**prepared.headers, **given_})
    return (
        urlsplit(prepared.url or "").query.encode(),
        headers,
        body.encode() if isinstance(body, str) else body,
    )


@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: mode.value)
@pytest.mark.parametrize("kind", TESTS)
def test_requests_that_the_document_allows_are_answered_or_refused(
    service: InProcess, kind: str, mode: GenerationMode
) -> None:
    @examples(6)
    @given(schema()[path_of(kind)]["POST"].as_strategy(generation_mode=mode))
    def check(case: Any) -> None:
        service.judge(kind, *on_the_wire(case))

    check()


@pytest.mark.parametrize("path", PLAIN)
def test_routes_that_take_nothing_are_well_whatever_comes_with_the_request(
    service: InProcess, path: str
) -> None:
    @examples(2)
    @given(schema()[path]["GET"].as_strategy(generation_mode=GenerationMode.POSITIVE))
    def check(case: Any) -> None:
        assert service.ask("GET", path, *on_the_wire(case)).status == 200

    check()
