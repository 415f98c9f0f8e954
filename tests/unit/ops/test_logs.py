"""Logs, traces, turns, durations, keys and limits."""

import asyncio
import hashlib
import hmac
import io
import json
import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given, strategies as st
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from prometheus_client import CollectorRegistry, Histogram, disable_created_metrics, generate_latest

from exactperm.main import create_app
from exactperm.ops import keys
from exactperm.ops.edge.limits import Limits
from exactperm.ops.edge.request_turns import BEGIN_TOGETHER, Kind, Turns, kind_of
from exactperm.ops.keys import Keys, exposed, new_key
from exactperm.ops.logs import MAX_FRAMES, Format, Stamp, compact, formatter, json_line, request_line
from exactperm.ops.metrics import Durations, snapshot
from exactperm.ops.middleware import Templates
from exactperm.ops.tracing import Spans, parent_of, spans_to
from exactperm.settings import Settings

# Log lines: one each, whatever is in them; a traceback, or what an exception says, only where that is wanted.


SECRET = "s3cr3t"
HOSTILE = [
    "two\r\nlines", "\x1b[2J\x1b[31mred", '", "level": "critical', "\u2028\u2029\x85\x0b\x0c",
    "<script>alert(1)</script>", "\ud800", "=cmd()", "\x00",
]  # fmt: skip
FORMATS: tuple[Format, ...] = get_args(Format)


@contextmanager
def logged(form: Format, *, tracebacks: bool = False) -> Iterator[tuple[logging.Logger, io.StringIO]]:
    """A logger of the standard library, and its output."""
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
def test_an_exception_is_its_type_and_place_and_not_its_message(form: Format) -> None:
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


def test_values_that_are_not_json_are_named_by_type(capsys: pytest.CaptureFixture[str]) -> None:
    class Payload:
        def __repr__(self) -> str:
            return SECRET

    request_line("json")("request", n=Payload())
    said = json.loads(capsys.readouterr().out)
    assert said["n"] == "Payload"


@pytest.mark.parametrize("form", FORMATS)
def test_the_line_of_a_request_has_time_level_and_its_fields(
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
def test_the_fast_line_names_values_that_are_not_json_by_type(value: object) -> None:
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


# OpenTelemetry: with the SDK's exporter into memory.


TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


@pytest.fixture
def exported() -> tuple[Spans, Any]:
    memory = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(memory))
    return Spans(provider), memory


def test_a_request_is_a_span_below_its_callers(exported: tuple[Spans, Any]) -> None:
    spans, memory = exported
    span = spans.begin(parent_of(f"00-{TRACE}-{SPAN}-01".encode()))
    spans.end(span, "POST", "/v1/gate", 409, "mine", {"n": 5, "method": "dp", "queue_ms": 0.1})
    (found,) = memory.get_finished_spans()
    assert found.name == "POST /v1/gate"
    assert f"{found.context.trace_id:032x}" == TRACE
    assert f"{found.parent.span_id:016x}" == SPAN
    assert dict(found.attributes) == {
        "http.request.method": "POST",
        "http.route": "/v1/gate",
        "http.response.status_code": 409,
        "exactperm.request_id": "mine",
        "exactperm.n": 5,
        "exactperm.method": "dp",
        "exactperm.queue_ms": 0.1,
    }


def test_a_server_error_is_logged_as_error_and_a_refusal_is_not(exported: tuple[Spans, Any]) -> None:
    spans, memory = exported
    for status in (422, 503):
        spans.end(spans.begin(None), "GET", "/", status, "x", {})
    assert [span.status.is_ok for span in memory.get_finished_spans()] == [True, False]
    assert [span.parent for span in memory.get_finished_spans()] == [None, None]


def test_no_import_and_no_span_without_an_endpoint() -> None:
    assert spans_to("", "1") is None


def test_without_the_packages_the_service_says_so_and_goes_on(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    assert spans_to("http://localhost:4318", "1") is None
    assert "not installed" in caplog.text


@pytest.mark.parametrize(("flags", "sampled"), [("00", False), ("01", True), ("ff", True), ("02", False)])
def test_the_callers_span_is_taken_from_a_valid_header(flags: str, sampled: bool) -> None:
    assert parent_of(f"00-{TRACE}-{SPAN}-{flags}".encode()) == (TRACE, SPAN, sampled)


def test_a_later_version_is_read_as_far_as_it_is_known() -> None:
    assert parent_of(f"01-{TRACE}-{SPAN}-01-what-comes".encode()) == (TRACE, SPAN, True)
    assert parent_of(f"cc-{TRACE}-{SPAN}-01".encode()) == (TRACE, SPAN, True)


@pytest.mark.parametrize(
    "header",
    [
        "",
        f"ff-{TRACE}-{SPAN}-01",
        f"00-{'0' * 32}-{SPAN}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"00-{TRACE.upper()}-{SPAN}-01",
        f"00-{TRACE}-{SPAN}-01-more",
        f"00-{TRACE}-{SPAN}-1",
        f"00-{TRACE}-{SPAN}-01\r\nX: y",
        f"00-{TRACE}-{SPAN}-01\n",
        f"00-{TRACE[1:]}-{SPAN}-01",
        f"01-{TRACE}-{SPAN}-01.more",
        f" 00-{TRACE}-{SPAN}-01",
    ],
)
def test_invalid_trace_headers_are_ignored(header: str) -> None:
    assert parent_of(header.encode()) is None


@given(st.binary(max_size=100))
def test_the_trace_parser_never_fails_and_returns_hexadecimal(header: bytes) -> None:
    found = parent_of(header)
    assert found is None or (int(found.trace_id, 16) and int(found.span_id, 16))


# Which requests begin, in which turn of the event loop. No sockets.


class Connection:
    """Has one request, and notes the turn of the loop in which it begins."""

    def __init__(self, turns: Turns, kind: Kind, now: Callable[[], int]) -> None:
        self.began: int | None = None
        self._turns, self._kind, self._now = turns, kind, now

    def begin(self) -> None:
        if self._turns.begins(self, self._kind, asyncio.get_running_loop()):
            assert self.began is None
            self.began = self._now()


def begin(*kinds: Kind) -> list[list[int]]:
    """All come at once, the kinds one after the other: when those of each kind begin."""

    async def scenario() -> list[list[int]]:
        turns, rounds = Turns(), 0
        floods = [[Connection(turns, kind, lambda: rounds) for _ in range(40)] for kind in kinds]
        for flood in floods:
            for connection in flood:
                connection.begin()
        while len(turns):
            rounds += 1
            await asyncio.sleep(0)
        return [
            [connection.began for connection in flood if connection.began is not None] for flood in floods
        ]

    return asyncio.run(scenario())


@pytest.mark.parametrize("kind", Kind)
def test_a_flood_begins_in_its_order_so_many_in_a_turn(kind: Kind) -> None:
    (began,) = begin(kind)
    assert len(began) == 40
    assert began == sorted(began)
    assert max(began.count(turn) for turn in began) == BEGIN_TOGETHER[kind]


def test_a_flood_of_one_kind_does_not_delay_another() -> None:
    alone = {kind: begin(kind)[0] for kind in Kind}
    assert begin(Kind.OTHER, Kind.TEST, Kind.HEALTH, Kind.PROBE) == [
        alone[kind] for kind in (Kind.OTHER, Kind.TEST, Kind.HEALTH, Kind.PROBE)
    ]


def test_cancelled_callers_are_not_awaited() -> None:
    async def scenario() -> None:
        turns = Turns()
        first, second, third = (Connection(turns, Kind.OTHER, lambda: 0) for _ in range(3))
        for connection in (first, second, third):
            connection.begin()
        assert len(turns) == 2
        turns.leave(second)
        for _ in range(3):
            await asyncio.sleep(0)
        assert [one.began for one in (first, second, third)] == [0, None, 0]
        assert len(turns) == 0

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("head", "first", "kind"),
    [
        (b"GET /livez HTTP/1", True, Kind.PROBE),
        (b"HEAD /readyz HTT", True, Kind.PROBE),
        (b"GET /livez HTTP/1", False, Kind.HEALTH),
        (b"POST /v1/tests/s", True, Kind.TEST),
        (b"GET / HTTP/1.1", True, Kind.OTHER),
        (b"POST\t/livez", True, Kind.OTHER),
    ],
)
def test_kinds_follow_the_first_bytes(head: bytes, first: bool, kind: Kind) -> None:
    assert kind_of(head, first=first) is kind


# Our histogram says what the library's says.


BUCKETS = (0.001, 0.5, 1, 30)
SECONDS = st.one_of(st.sampled_from([0.0, 0.001, 0.5, 1.0, 30.0]), st.floats(0.0, 100.0))


def said(kind: type[Histogram], observed: list[tuple[str, float]]) -> tuple[bytes, bytes]:
    """The text of both with and without labels, and the snapshot for other processes."""
    disable_created_metrics()
    registry = CollectorRegistry(auto_describe=True)
    labelled = kind(
        "labelled_seconds", "With labels.", ("method", "route"), registry=registry, buckets=BUCKETS
    )
    plain = kind("plain_seconds", "Without labels.", registry=registry, buckets=BUCKETS)
    for label, seconds in observed:
        labelled.labels(label, "/x").observe(seconds)
        plain.observe(seconds)
    return generate_latest(registry), snapshot(registry.collect())


@given(st.lists(st.tuples(st.sampled_from(["a", "b"]), SECONDS), max_size=12))
def test_it_writes_the_text_of_the_librarys_histogram(observed: list[tuple[str, float]]) -> None:
    assert said(Durations, observed) == said(Histogram, observed)


def test_only_a_known_key_is_admitted() -> None:
    (one, first), (other, second), (stranger, _) = new_key(), new_key(), new_key()
    known = Keys.of(f" {first},\n{second.upper()} ")
    assert known.admit(f"Bearer {one}".encode())
    assert known.admit(f"bearer   {other} ".encode())
    wrong = [stranger, one[:-1], one + "x", first, "", f"{one},{other}"]
    assert not any(known.admit(f"Bearer {key}".encode()) for key in wrong)
    assert not any(
        known.admit(header) for header in (None, b"", b"Bearer", one.encode(), b"Basic " + one.encode())
    )


def test_every_digest_is_compared_in_constant_time_whichever_matches(monkeypatch: pytest.MonkeyPatch) -> None:
    made = [new_key() for _ in range(5)]
    compared: list[bytes] = []

    def comparing(given: bytes, digest: bytes) -> bool:
        compared.append(digest)
        return hmac.compare_digest(given, digest)

    class Counting:
        compare_digest = staticmethod(comparing)

    monkeypatch.setattr(keys, "hmac", Counting)
    known = Keys.of(",".join(digest for _, digest in made))
    for key in (made[0][0], made[-1][0], "stranger"):
        compared.clear()
        known.admit(f"Bearer {key}".encode())
        assert compared == list(known.digests)


def test_a_key_is_random_and_its_digest_is_what_sha256sum_prints() -> None:
    made = {new_key() for _ in range(50)}
    assert len(made) == 50
    for key, digest in made:
        assert len(key) >= 43
        assert digest == hashlib.sha256(key.encode()).hexdigest()


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "localhost"])
def test_loopback_needs_no_keys(host: str) -> None:
    assert exposed(Settings(host=host, workers=1)) is None


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.1", "example.org", "", "127.0.0.1.example.org"])
def test_any_other_address_is_exposed_without_keys(host: str) -> None:
    assert "EXACTPERM_API_KEY_DIGESTS" in str(exposed(Settings(host=host, workers=1)))
    assert exposed(Settings(host=host, workers=1, api_key_digests=new_key()[1])) is None
    assert exposed(Settings(host=host, workers=1, api_key_digests=" ")) is not None


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


def test_an_exception_is_logged_by_type_and_place_without_its_message() -> None:
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


def test_values_that_are_not_json_are_only_named_by_type(capsys: pytest.CaptureFixture[str]) -> None:
    request_line("json")("request", route=b"s3cr3t")
    assert json.loads(capsys.readouterr().out)["route"] == "bytes"
