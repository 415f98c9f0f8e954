"""Log lines: one each, whatever is in them; a traceback, or what an exception says, only where that is wanted."""

from __future__ import annotations

import io
import json
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given, strategies as st

from exactperm.ops.logs import MAX_FRAMES, Format, Stamp, compact, formatter, json_line, request_line

SECRET = "s3cr3t"
HOSTILE = [
    "two\r\nlines",
    "\x1b[2J\x1b[31mred",
    '", "level": "critical',
    "\u2028\u2029\x85\x0b\x0c",
    "<script>alert(1)</script>",
    "\ud800",
    "=cmd()",
    "\x00",
]
FORMATS: tuple[Format, ...] = get_args(Format)


@contextmanager
def logged(form: Format, *, tracebacks: bool = False) -> Iterator[tuple[logging.Logger, io.StringIO]]:
    """A logger of the standard library, and what it wrote."""
    out = io.StringIO()
    handler = logging.StreamHandler(out)
    handler.setFormatter(formatter(form, tracebacks=tracebacks))
    logger = logging.getLogger(f"{__name__}.{form}")
    logger.handlers = [handler]
    logger.setLevel(logging.INFO)
    logger.propagate = False
    yield logger, out
    logger.handlers = []


def harmless(text: str) -> bool:
    """One line of printable ASCII."""
    return text.endswith("\n") and text[:-1].isascii() and text[:-1].isprintable()


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("text", HOSTILE)
def test_no_text_begins_another_line_or_moves_a_cursor(form: Format, text: str) -> None:
    with logged(form) as (logger, out):
        logger.warning("a label: %s", text, extra={"request_id": text})
    assert harmless(out.getvalue())


@given(text=st.text(max_size=60))
def test_a_json_line_holds_any_text_and_nothing_but_it(text: str) -> None:
    with logged("json") as (logger, out):
        logger.warning("%s", text, extra={"request_id": text})
    assert harmless(out.getvalue())
    said = json.loads(out.getvalue())
    assert (said["event"], said["request_id"]) == (text, text)
    assert said.keys() == {"event", "request_id", "level", "logger", "time"}
    assert (said["level"], said["logger"]) == ("warning", f"{__name__}.json")


@pytest.mark.parametrize("form", FORMATS)
def test_an_exception_is_its_type_and_place_and_not_what_it_says(form: Format) -> None:
    with logged(form) as (logger, out):
        try:
            int(SECRET)
        except ValueError:
            logger.exception("it failed", stack_info=True)
    text = out.getvalue()
    assert harmless(text)
    assert "ValueError" in text
    assert "test_logs.py:" in text
    assert SECRET not in text
    assert "Traceback" not in text


@pytest.mark.parametrize("form", FORMATS)
def test_a_traceback_is_logged_where_it_is_wanted_and_moves_no_cursor(form: Format) -> None:
    with logged(form, tracebacks=True) as (logger, out):
        try:
            int("\x1b[2J" + SECRET)
        except ValueError:
            logger.exception("it failed")
    text = out.getvalue()
    assert "Traceback" in text
    assert SECRET in text
    assert "\x1b" not in text
    if form == "json":
        assert SECRET in json.loads(text)["traceback"]
    else:
        assert len(text.splitlines()) > 3


def test_a_stack_of_any_depth_keeps_its_innermost_frames() -> None:
    def fall(depth: int) -> None:
        if depth == 0:
            raise ValueError(SECRET)
        fall(depth - 1)

    with logged("json") as (logger, out):
        try:
            fall(200)
        except ValueError:
            logger.exception("it failed")
    stack = json.loads(out.getvalue())["frames"]
    assert len(stack) == MAX_FRAMES
    assert stack[-1].startswith(f"{__file__}:{fall.__code__.co_firstlineno + 2}:")
    assert SECRET not in out.getvalue()


def test_only_our_own_extras_are_written() -> None:
    with logged("json") as (logger, out):
        logger.info("%s", "sent", extra={"body": SECRET, "reason": "framing"})
    assert SECRET not in out.getvalue()
    assert json.loads(out.getvalue())["reason"] == "framing"


def test_what_is_no_json_is_named_by_its_kind(capsys: pytest.CaptureFixture[str]) -> None:
    class Payload:
        def __repr__(self) -> str:
            return SECRET

    request_line("json")("request", n=Payload())
    said = json.loads(capsys.readouterr().out)
    assert said["n"] == "Payload"


@pytest.mark.parametrize("form", FORMATS)
def test_the_line_of_a_request_has_time_level_and_what_it_is_given(
    form: Format, capsys: pytest.CaptureFixture[str]
) -> None:
    given: dict[str, Any] = {"route": "/v1/gate", "status": 409, "total_ms": 1.5, "trace_id": None}
    request_line(form)("request", **given)
    text = capsys.readouterr().out
    assert harmless(text)
    if form == "json":
        said = json.loads(text)
        assert said | given == said
        assert said["level"] == "info"
        assert said["time"].endswith("Z")
    else:
        assert "route=/v1/gate" in text
        assert "status=409" in text


def test_a_line_is_written_in_one_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the line of another thread could come before its end."""
    pieces: list[str] = []

    class Output(io.StringIO):
        def write(self, text: str) -> int:
            pieces.append(text)
            return len(text)

    monkeypatch.setattr(sys, "stdout", Output())
    line = request_line("json")
    for route in ("/livez", "/v1/gate"):
        line("request", route=route)
    assert [json.loads(piece)["route"] for piece in pieces] == ["/livez", "/v1/gate"]
    assert all(piece.endswith("}\n") for piece in pieces)


VALUES = st.one_of(st.text(max_size=20), st.integers(), st.floats(allow_nan=False), st.booleans(), st.none())


@given(members=st.dictionaries(st.text(max_size=8), VALUES, max_size=6))
def test_the_fast_line_says_what_json_would(members: dict[str, Any]) -> None:
    line = json_line(members)
    assert harmless(line + "\n")
    assert json.loads(line) == json.loads(compact(members))


@pytest.mark.parametrize("value", [SECRET.encode(), [SECRET], Path(SECRET), ValueError(SECRET)])
def test_the_fast_line_names_what_is_no_json_by_its_kind(value: object) -> None:
    assert json_line({"n": value}) == compact({"n": value})


@pytest.mark.parametrize("text", HOSTILE)
def test_the_fast_line_is_one_line(text: str) -> None:
    line = json_line({"route": text, text: 1})
    assert harmless(line + "\n")
    assert json.loads(line) == {"route": text, text: 1}


@given(moment=st.integers(0, 4_102_444_799_999_999_999))
def test_stamps_are_those_of_the_standard_library(moment: int) -> None:
    stamp = Stamp()
    for nanoseconds in (moment, moment + 1_000, moment + 1_500_000_000):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("time.time_ns", lambda now=nanoseconds: now)
            said = stamp()
        at = datetime.fromtimestamp(nanoseconds // 10**9, UTC).replace(
            microsecond=nanoseconds % 10**9 // 1_000
        )
        assert said == at.isoformat(timespec="microseconds").replace("+00:00", "Z")
