from __future__ import annotations

import pytest

from exactperm.api.negotiation import body_of, representation
from exactperm.errors import MalformedBody, NotAcceptable, UnsupportedMedia
from tests.refusals import refused

OFFERED = ("json", "text", "markdown", "csv")


@pytest.mark.parametrize(
    ("accept", "wanted"),
    [
        (None, "json"),
        ("", "json"),
        ("*/*", "json"),
        ("application/json", "json"),
        ("text/plain", "text"),
        ("text/*", "text"),
        ("text/markdown, */*;q=0.1", "markdown"),
        ("application/json;q=0.1, TEXT/CSV;q=0.9", "csv"),
        ("text/html,application/xhtml+xml,*/*;q=0.8", "json"),
        ("application/json;q=0, */*", "text"),
        ("text/plain;q=x, text/csv;q=0.1", "csv"),
        ("text/plain;version=1", "text"),
        (";;,,text/csv", "csv"),
    ],
)
def test_the_most_wanted_representation_is_chosen(accept: str | None, wanted: str) -> None:
    assert representation(accept, None, OFFERED) == wanted


@pytest.mark.parametrize("accept", ["image/png", "text/html", "application/json;q=0", "nonsense"])
def test_what_is_not_acceptable_is_said(accept: str) -> None:
    with pytest.raises(NotAcceptable):
        representation(accept, None, OFFERED)


def test_format_overrides_accept_and_is_checked() -> None:
    assert representation("image/png", "csv", OFFERED) == "csv"
    with refused(None, "/?format"):
        representation(None, "pdf", OFFERED)


@pytest.mark.parametrize(
    "header", ["application/json", "Application/JSON; charset=UTF-8", 'application/json;charset="utf-8"']
)
def test_json_is_read_with_or_without_its_charset(header: str) -> None:
    assert body_of(header, None, "scores").media_type == "application/json"


@pytest.mark.parametrize(
    ("header", "coding"),
    [
        (None, None),
        ("", None),
        ("text/html", None),
        ("application/json; charset=latin-1", None),
        ("application/json", "br"),
        ("multipart/form-data; boundary=x", None),
        ("application/json", "gzip, gzip"),
        ("application/jsonx", None),
    ],
)
def test_what_cannot_be_read_is_refused(header: str | None, coding: str | None) -> None:
    with pytest.raises(UnsupportedMedia):
        body_of(header, coding, "scores")


@pytest.mark.parametrize(
    ("coding", "wanted"),
    [(None, None), ("identity", None), ("GZIP", "gzip"), ("x-gzip", "gzip"), ("zstd, identity", "zstd")],
)
def test_one_content_coding_is_undone(coding: str | None, wanted: str | None) -> None:
    assert body_of("text/csv", coding, "scores").coding == wanted


@pytest.mark.parametrize(
    "header", ["multipart/form-data; boundary=a-b", 'multipart/form-data;boundary="a-b"']
)
def test_the_boundary_of_a_form_is_in_its_type(header: str) -> None:
    assert body_of(header, None, "files").boundary == "a-b"


@pytest.mark.parametrize("header", ["multipart/form-data", "multipart/form-data; boundary=" + "x" * 71])
def test_a_form_without_a_usable_boundary_cannot_be_parsed(header: str) -> None:
    with pytest.raises(MalformedBody):
        body_of(header, None, "files")
