from __future__ import annotations

import pytest

from app.api.job import Representation
from app.api.negotiation import media_type, representation
from app.api.problems import NotAcceptable
from app.errors import InvalidTest, UnsupportedMedia

OFFERED: tuple[Representation, ...] = ("json", "text", "markdown", "csv")


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
    with pytest.raises(InvalidTest) as caught:
        representation(None, "pdf", OFFERED)
    assert caught.value.flaws[0].pointer == "/?format"


@pytest.mark.parametrize(
    "header", ["application/json", "Application/JSON; charset=UTF-8", 'application/json;charset="utf-8"']
)
def test_json_is_read_with_or_without_its_charset(header: str) -> None:
    assert media_type(header, None, "scores") == "application/json"


@pytest.mark.parametrize(
    ("header", "coding"),
    [
        (None, None),
        ("", None),
        ("text/html", None),
        ("application/json; charset=latin-1", None),
        ("application/json", "gzip"),
        ("application/json", "gzip, gzip"),
        ("application/jsonx", None),
    ],
)
def test_what_cannot_be_read_is_refused(header: str | None, coding: str | None) -> None:
    with pytest.raises(UnsupportedMedia):
        media_type(header, coding, "scores")
