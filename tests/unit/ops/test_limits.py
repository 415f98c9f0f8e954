from __future__ import annotations

import json
import logging

import pytest

from exactperm.main import create_app
from exactperm.ops.edge.limits import Limits
from exactperm.ops.logs import formatter, request_line
from exactperm.ops.observability import Templates
from exactperm.settings import Settings

LIMITS = Limits(
    header_timeout_s=10, max_header_bytes=65_536, body_timeout_s=100, body_bytes_per_second=1_000,
    max_connections=10, keep_alive_s=5, max_connections_per_address=10,
)  # fmt: skip


@pytest.mark.parametrize(
    ("seconds", "received", "given_up"),
    [(0, 0, False), (10, 0, False), (10.5, 0, True), (10.5, 600, False), (50, 39_999, True), (50, 40_000, False),
     (99.9, 10**9, False), (100, 10**9, True)],
)  # fmt: skip
def test_a_body_is_given_up_at_its_deadline_or_below_the_rate(
    seconds: float, received: int, given_up: bool
) -> None:
    assert LIMITS.too_slow(seconds, received) is given_up


def test_a_path_has_one_of_few_templates() -> None:
    templates = Templates(create_app(Settings(workers=1)).routes)
    assert templates.of("/v1/tests/scores") == "/v1/tests/scores"
    assert templates.of("/page/anything/at/all") == "/page"
    assert templates.of("/docs/assets/x.css") == "/docs/assets"
    assert {templates.of(path) for path in ("", "/v1", "/v1/tests/scores/", "//livez", "/LIVEZ")} == {
        "unmatched"
    }
    assert len(set(templates)) < 40


def failing(text: str) -> str:
    """A log record of an exception that says `text`, as a line."""
    try:
        int(text)
    except ValueError as error:
        found = (ValueError, error, error.__traceback__)
        return formatter("json").format(
            logging.LogRecord("x", logging.ERROR, "f.py", 1, "failed", None, found)
        )
    raise AssertionError(text)


def test_an_exception_is_logged_by_type_and_place_and_not_by_what_it_says() -> None:
    line = failing("s3cr3t\ns3cr3t")
    assert "s3cr3t" not in line
    assert "\n" not in line
    said = json.loads(line)
    assert (said["error"], said["level"], said["event"]) == ("ValueError", "error", "failed")
    assert said["frames"] == [f"{__file__}:{failing.__code__.co_firstlineno + 3}:failing"]


@pytest.mark.parametrize("hostile", ['a\r\n{"event":"forged"}', "\u2028\u0085", "\x1b[2J", "\ud800"])
def test_no_label_begins_another_line(capsys: pytest.CaptureFixture[str], hostile: str) -> None:
    request_line("json")("request", route=hostile)
    (line,) = capsys.readouterr().out.splitlines()
    assert line.isascii()
    assert line.isprintable()
    assert json.loads(line)["route"] == hostile


def test_what_is_no_json_is_named_by_its_kind_alone(capsys: pytest.CaptureFixture[str]) -> None:
    request_line("json")("request", route=b"s3cr3t")
    assert json.loads(capsys.readouterr().out)["route"] == "bytes"
