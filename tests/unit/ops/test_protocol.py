"""Test the protocol: requests from bytes in any pieces, with one reading, and answers that h11 can read."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import h11
import pytest
from hypothesis import given, strategies as st
from starlette.types import Message, Receive, Scope, Send
from uvicorn import Config
from uvicorn.server import ServerState

from exactperm.ops.edge import protocol as protocols
from exactperm.ops.edge.limits import Edge, Limits
from exactperm.ops.edge.parsing import (
    FREE_CHUNKS,
    FREE_CHUNKS_ANSWERED,
    FREE_FRAMING_BYTES,
    LEAST_MEAN_CHUNK,
    MOST_ENDS,
    unclear,
)
from exactperm.ops.edge.protocol import MOST_EMPTY_LINES, HTTPProtocol
from exactperm.settings import Settings
from tests.settings_with import settings_with

LIMIT = 8_192
HOST = b"Host: localhost\r\n"
CHUNKED = b"POST /x HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
GET = b"GET /x HTTP/1.1\r\nHost: x\r\n\r\n"
OK = (b"content-length", b"2")
DATE = (b"date", b"Sun, 06 Nov 1994 08:49:37 GMT")

Application = Callable[[Scope, Receive, Send], Awaitable[None]]


@dataclass
class Wire:
    """A transport that keeps each write."""

    writes: list[bytes] = field(default_factory=list)
    closed: bool = False
    paused: bool = False

    def write(self, data: bytes) -> None:
        assert not self.closed
        self.writes.append(bytes(data))

    def close(self) -> None:
        self.closed = True

    abort = close

    def is_closing(self) -> bool:
        return self.closed

    def pause_reading(self) -> None:
        assert not self.paused
        self.paused = True

    def resume_reading(self) -> None:
        assert self.paused
        self.paused = False

    def get_write_buffer_size(self) -> int:
        return 0

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return {"peername": ("192.0.2.1", 4_321), "sockname": ("192.0.2.2", 80)}.get(name, default)

    @property
    def written(self) -> bytes:
        return b"".join(self.writes)


def connected(application: Application, wire: Wire) -> HTTPProtocol:
    """A connection of a server that serves an application, in the running loop."""
    settings = settings_with(workers=1, max_header_bytes=LIMIT)
    config = Config(application, log_config=None, access_log=False, interface="asgi3", root_path="/below")
    config.load()
    edge = Edge(Limits.of(settings), lambda *_: ((), b"refused"), lambda reason: None)
    state = ServerState()
    state.default_headers = [DATE]
    connection = HTTPProtocol(edge, config=config, server_state=state, app_state={"a": 1})
    connection.connection_made(wire)
    return connection


async def settle() -> None:
    for _ in range(12):
        await asyncio.sleep(0)


@dataclass
class Seen:
    """The messages that an application received."""

    scopes: list[Scope] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)

    async def application(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.scopes.append(scope)
        self.bodies.append(b"")
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            self.bodies[-1] += message["body"]
            if not message["more_body"]:
                break
        await send({"type": "http.response.start", "status": 200, "headers": [OK]})
        await send({"type": "http.response.body", "body": b"ok"})


def served(pieces: Sequence[bytes]) -> tuple[Seen, Wire]:
    """The messages of a connection for an application, and the written bytes."""

    async def scenario() -> tuple[Seen, Wire]:
        seen, wire = Seen(), Wire()
        connection = connected(seen.application, wire)
        for piece in pieces:
            if wire.closed:
                break
            connection.data_received(piece)
            for _ in range(100):
                if not wire.paused:
                    break
                await asyncio.sleep(0)
        await settle()
        connection.connection_lost(None)
        await settle()
        return seen, wire

    return asyncio.run(scenario())


def read(pieces: Sequence[bytes]) -> tuple[str, bytes, int]:
    """The target, the body, and the status of the first answer; 0 if there is none."""
    seen, wire = served(pieces)
    target = body = b""
    if seen.scopes:
        scope = seen.scopes[0]
        query = b"?" + scope["query_string"] if scope["query_string"] else b""
        target, body = scope["raw_path"].removeprefix(b"/below") + query, seen.bodies[0]
    return target.decode(), body, int(wire.written.split(b" ")[1]) if wire.writes else 0


def singly(message: bytes) -> list[bytes]:
    return [message[n : n + 1] for n in range(len(message))]


def cut(message: bytes, places: Sequence[int]) -> list[bytes]:
    edges = [0, *sorted(place % len(message) for place in places), len(message)]
    return [message[a:b] for a, b in pairwise(edges) if a < b]


def chunk(content: bytes, extension: bytes = b"") -> bytes:
    return b"%x%s\r\n%s\r\n" % (len(content), extension, content)


# -- reading --------------------------------------------------------------------------------------------


@given(
    st.lists(st.text("a\r\n0;", min_size=1, max_size=20), max_size=8),
    st.sampled_from([b"", b";x", b";x=y"]),
    st.sampled_from([b"", b"X: y\r\n", b"X: y\r\nZ: \r\n"]),
    st.sampled_from([b"", b"Connection: upgrade\r\nUpgrade: websocket\r\n"]),
    st.lists(st.integers(0, 10_000), max_size=12),
)
def test_chunks_are_read_in_the_same_way_from_any_pieces(
    contents: list[str], extension: bytes, trailers: bytes, offers: bytes, places: list[int]
) -> None:
    parts = [content.encode() for content in contents]
    head = CHUNKED[:-2] + offers + b"\r\n"  # an offer of another protocol is declined, and loses no body
    message = head + b"".join(chunk(part, extension) for part in parts) + b"0\r\n" + trailers + b"\r\n"
    assert read(cut(message, places)) == ("/x", b"".join(parts), 200)


HEADS = {
    "plain": (b"POST /v1/tests/effects HTTP/1.1\r\n" + HOST + b"Content-Length: 4\r\n\r\nabcd", 200),
    "a query": (b"GET /x?y=%20 HTTP/1.1\r\n" + HOST + b"\r\n", 200),
    "blanks": (b"GET / HTTP/1.1\r\nACCEPT:*/*\r\nhost:a\r\nX-Empty:\r\nX-Blank: \t \r\n\r\n", 200),
    "high bytes": (b"POST / HTTP/1.1\r\n" + HOST + b"content-length: 000\r\nX: \xe9 \t\xff\t\r\n\r\n", 200),
    "an empty line before": (b"\r\nGET / HTTP/1.1\r\n" + HOST + b"\r\n", 200),
    "empty lines before": (b"\r\n" * MOST_EMPTY_LINES + b"GET / HTTP/1.1\r\n" + HOST + b"\r\n", 200),
    "a flood of empty lines": (b"\r\n" * (MOST_EMPTY_LINES + 1) + b"GET / HTTP/1.1\r\n" + HOST + b"\r\n", 400),
    "old": (b"GET / HTTP/1.0\r\n\r\n", 200),
    "an unknown method": (b"BREW / HTTP/1.1\r\n" + HOST + b"\r\n", 200),
    "connect": (b"CONNECT a:1 HTTP/1.1\r\n" + HOST + b"\r\n", 200),
    "an offered protocol": (b"GET / HTTP/1.1\r\n" + HOST + b"Connection: upgrade\r\nUpgrade: websocket\r\n\r\n", 200),
    "two equal lengths": (b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: 4\r\nContent-Length: 4\r\n\r\nabcd", 400),
    "two lengths": (b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: 4\r\nContent-Length: 5\r\n\r\nabcd", 400),
    "a list of lengths": (b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: 4, 4\r\n\r\nabcd", 400),
    "a negative length": (b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: -4\r\n\r\nabcd", 400),
    "a length of many digits": (b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: 0000000000000004\r\n\r\nabcd", 400),
    "a length and a coding": (CHUNKED[:-2] + b"Content-Length: 4\r\n\r\n0\r\n\r\n", 400),
    "a coding and a length": (b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
    "a coding of old": (b"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
    "another coding": (b"POST / HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: gzip\r\n\r\n", 501),
    "two codings": (b"POST / HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 501),
    "two types": (b"POST / HTTP/1.1\r\n" + HOST + b"Content-Type: a/b\r\nContent-Type: a/b\r\n\r\n", 400),
    "a blank before the colon": (b"GET / HTTP/1.1\r\n" + HOST + b"X : a\r\n\r\n", 400),
    "a zero byte": (b"GET / HTTP/1.1\r\n" + HOST + b"X: a\x00b\r\n\r\n", 400),
    "two hosts": (b"GET / HTTP/1.1\r\n" + HOST + HOST + b"\r\n", 400),
    "no host": (b"GET / HTTP/1.1\r\nX: a\r\n\r\n", 400),
    "no host name": (b"GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", 400),
    "many headers": (b"GET / HTTP/1.1\r\n" + HOST + b"X: y\r\n" * 101 + b"\r\n", 431),
    "a long header": (b"GET / HTTP/1.1\r\n" + HOST + b"X: " + b"y" * LIMIT + b"\r\n\r\n", 431),
    "a long target": (b"GET /" + b"y" * LIMIT + b" HTTP/1.1\r\n" + HOST + b"\r\n", 431),
    "a later version": (b"GET / HTTP/2.0\r\n" + HOST + b"\r\n", 505),
    "no version": (b"GET /\r\n" + HOST + b"\r\n", 400),
    "a blank in the target": (b"GET /a b HTTP/1.1\r\n" + HOST + b"\r\n", 400),
    "a fold": (b"POST /x HTTP/1.1\r\nHost: h\r\nTransfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n", 400),
    "a fold by a tab": (b"GET /x HTTP/1.1\r\nHost: h\r\nAuthorization:\r\n\tBearer x\r\n\r\n", 400),
    "bare line feeds": (b"GET /x HTTP/1.1\nHost: h\n\n", 400),
    "a bare line feed": (b"GET /x HTTP/1.1\r\nHost: h\nX: y\r\n\r\n", 400),
    "a bare line feed at the end": (b"GET /x HTTP/1.1\r\nHost: h\r\n\n", 400),
    "a bare carriage return": (b"GET /x HTTP/1.1\r\nHost: h\r\nX: y\rZ: 1\r\n\r\n", 400),
    "a bare line feed after a size": (CHUNKED + b"1\na\r\n0\r\n\r\n", 400),
    "a bare line feed in an extension": (CHUNKED + b"1;a\nb\r\na\r\n0\r\n\r\n", 400),
    "a bare carriage return in an extension": (CHUNKED + b"1;a\rb\r\na\r\n0\r\n\r\n", 400),
    "a bare line feed after the last chunk": (CHUNKED + b"1\r\na\r\n0\r\n\n", 400),
    "a fold in the trailers": (CHUNKED + b"1\r\na\r\n0\r\nX: y\r\n z\r\n\r\n", 400),
    "a bare line feed in the trailers": (CHUNKED + b"1\r\na\r\n0\r\nX: y\nZ: 1\r\n\r\n", 400),
    "no size": (CHUNKED + b"x\r\na\r\n0\r\n\r\n", 400),
    "a chunk that is longer": (CHUNKED + b"1\r\nab\r\n0\r\n\r\n", 400),
}  # fmt: skip


@pytest.mark.parametrize(("message", "status"), HEADS.values(), ids=HEADS.keys())
def test_a_message_has_one_reading_in_one_piece_and_byte_by_byte(message: bytes, status: int) -> None:
    whole, bytewise = read([message]), read(singly(message))
    assert whole[2] == bytewise[2] == status
    assert whole == bytewise or status != 200


@given(st.binary(max_size=60), st.lists(st.integers(0, 100), max_size=4))
def test_input_is_read_in_the_same_way_in_one_piece_or_several(noise: bytes, places: list[int]) -> None:
    message = GET[:-2] + b"X: " + noise + b"\r\n\r\n"
    assert read([message])[2] == read(cut(message, places))[2] in {0, 200, 400, 431, 501}


def test_a_head_that_trickles_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at = 0

    def counted(there: bytearray, seen: int, stop: int) -> bool:
        nonlocal looked_at
        looked_at += stop - seen
        return unclear(there, seen, stop)

    monkeypatch.setattr(protocols, "unclear", counted)
    message = b"GET /x HTTP/1.1\r\nHost: h\r\n" + b"a: b\r\n" * 90 + b"\r\n"
    assert read(singly(message))[2] == 200
    assert looked_at < 2 * len(message)


@pytest.mark.parametrize(
    ("target", "read_as"),
    [
        ("http://host/x?y=1", "/x?y=1"), ("HTTP://host:80/x", "/x"), ("https://[::1]:8/", "/"), ("http://host", "/"),
        ("http://host?a", "/?a"), ("http://host//x", "//x"), ("/http://host/x", "/http://host/x"),
        ("ftp://host/x", "ftp://host/x"), ("*", "*"), ("httpx", "httpx"),
    ],
)  # fmt: skip
def test_a_whole_uri_is_a_target_too(target: str, read_as: str) -> None:
    assert read([f"GET {target} HTTP/1.1\r\nHost: other\r\n\r\n".encode()])[::2] == (read_as, 200)


@pytest.mark.parametrize(
    "target",
    [
        "http:///x",
        "http://a b/x",
        "http://user@host/x",
        "http://ho\\st/",
        "/x#y",
        "http://host/x#y",
        "/x?y#z",
    ],
)
def test_a_uri_without_a_host_or_with_a_fragment_is_refused(target: str) -> None:
    assert read([f"GET {target} HTTP/1.1\r\nHost: other\r\n\r\n".encode()])[2] == 400


def test_the_host_of_a_whole_uri_replaces_that_of_the_header() -> None:
    seen, _ = served([b"GET http://host:1/x HTTP/1.1\r\nHost: other\r\n\r\n"])
    assert dict(seen.scopes[0]["headers"])[b"host"] == b"host:1"


def test_an_application_sees_the_request_as_asgi_describes_it() -> None:
    seen, _ = served(
        [b"POST /a%20b?c=%20 HTTP/1.1\r\nHost: h\r\nX-Y:  z \r\nContent-Length: 70000\r\n\r\n", b"a" * 70_000]
    )
    (scope,) = seen.scopes
    expected = {
        "type": "http", "http_version": "1.1", "method": "POST", "scheme": "http", "root_path": "/below",
        "path": "/below/a b", "raw_path": b"/below/a%20b", "query_string": b"c=%20", "client": ("192.0.2.1", 4_321),
        "server": ("192.0.2.2", 80), "state": {"a": 1},
        "headers": [(b"host", b"h"), (b"x-y", b"z"), (b"content-length", b"70000")],
    }  # fmt: skip
    assert {name: scope[name] for name in expected} == expected
    assert seen.bodies == [b"a" * 70_000]


def test_requests_in_a_row_are_answered_in_their_order() -> None:
    seen, wire = served([b"".join(b"GET /%d HTTP/1.1\r\nHost: h\r\n\r\n" % n for n in range(5))])
    assert [scope["path"] for scope in seen.scopes] == [f"/below/{n}" for n in range(5)]
    assert wire.written.count(b"HTTP/1.1 200 OK\r\n") == 5


@given(
    st.lists(st.sampled_from([b"ab", b"0\r\n\r\n", b"\r\n", b"0"]), max_size=5),
    st.lists(st.integers(0, 1_000), max_size=6),
)
def test_bytes_after_a_chunked_body_are_the_next_request(contents: list[bytes], places: list[int]) -> None:
    first = CHUNKED + b"".join(map(chunk, contents)) + b"0\r\n\r\n"
    seen, wire = served(cut(first + CHUNKED + chunk(b"b") + b"0\r\n\r\n" + GET, places))
    assert seen.bodies == [b"".join(contents), b"b", b""]
    assert wire.written.count(b"HTTP/1.1 200 OK\r\n") == 3
    assert not wire.closed


def test_many_requests_in_one_piece_count_each_for_itself() -> None:
    seen, wire = served([(CHUNKED + b"0\r\n\r\n") * 1_000])
    assert len(seen.bodies) > 10
    assert set(re.findall(rb"HTTP/1.1 (\d+)", wire.written)) == {b"200"}


@pytest.mark.parametrize(
    "end", [b"0\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n", b"0\r\nConnection: close\r\n\r\n"]
)
def test_trailers_say_nothing_about_the_connection(end: bytes) -> None:
    seen, wire = served([CHUNKED + chunk(b"a") + end, GET])
    assert seen.bodies == [b"a", b""]
    assert not wire.closed


@pytest.mark.parametrize("after", [b"\x00", b"garbage\r\n\r\n"])
def test_invalid_bytes_after_a_chunked_body_are_refused(after: bytes) -> None:
    seen, wire = served([CHUNKED + chunk(b"a") + b"0\r\n\r\n" + after])
    assert seen.bodies == [b"a"]
    assert re.findall(rb"HTTP/1.1 (\d+)", wire.written) == [b"200", b"400"]
    assert wire.closed


@pytest.mark.parametrize("after", [GET, b"\x00", b"garbage\r\n\r\n"])
@pytest.mark.parametrize(
    "end", [b"0\r\nX: y\r\n\r\n", b"0;x\r\n\r\n", chunk(b"0\r\n\r\n") * MOST_ENDS + b"0\r\n\r\n"]
)
def test_requests_after_an_unnoticed_end_have_to_be_sent_again(end: bytes, after: bytes) -> None:
    seen, wire = served([CHUNKED + chunk(b"a") + end + after])
    assert len(seen.bodies) == 1
    assert b"connection: close\r\n" in wire.written
    assert wire.closed


async def early(scope: Scope, receive: Receive, send: Send) -> None:
    """An application that answers without a look at the body."""
    await send({"type": "http.response.start", "status": 413, "headers": [OK]})
    await send({"type": "http.response.body", "body": b"ok"})


async def answered_early(*pieces: bytes) -> tuple[HTTPProtocol, Wire]:
    """A connection on which a request was answered before its body was complete, and then came so much."""
    wire = Wire()
    connection = connected(early, wire)
    connection.data_received(CHUNKED + chunk(b"a"))
    await settle()
    assert wire.written.startswith(b"HTTP/1.1 413 ")
    assert not wire.closed
    for piece in pieces:
        if not wire.closed:
            connection.data_received(piece)
            await settle()
    return connection, wire


def test_requests_after_an_unread_body_are_never_split() -> None:
    """Part of a request would be lost, and its body read as the next request."""
    post = b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n" % len(GET)
    _, wire = asyncio.run(answered_early(b"0\r\nX: y\r\n\r\n" + post, GET))
    assert wire.closed
    assert wire.written.count(b"HTTP/1.1 ") == 1
    for pieces in ((b"0\r\n\r\n" + post, GET), (b"0\r\n\r", b"\n" + post + GET), (b"0\r\n\r\n", post, GET)):
        _, wire = asyncio.run(answered_early(*pieces))
        assert not wire.closed
        assert wire.written.count(b"HTTP/1.1 ") == 2


def test_a_request_has_one_answer_even_if_its_body_turns_out_to_be_none() -> None:
    _, wire = asyncio.run(answered_early(b"no size\r\n"))
    assert wire.closed
    assert wire.written.count(b"HTTP/1.1 ") == 1


def test_trailers_have_the_limit_of_headers_however_they_come() -> None:
    message = CHUNKED + b"1\r\na\r\n0\r\nX: " + b"a" * LIMIT + b"\r\n\r\n"
    assert read([message])[2] == 431
    assert read([message[n : n + 100] for n in range(0, len(message), 100)])[2] == 431
    assert read([CHUNKED + chunk(b"a" * 10**6) + b"0\r\nX: ", *[b"a" * 100] * 100])[2] == 431
    many = b"".join(b"X%d: y\r\n" % n for n in range(200))
    assert read([CHUNKED + b"0\r\n" + many + b"\r\n"])[2] == 431


def test_a_body_of_few_small_chunks_is_read_and_one_of_very_many_is_not() -> None:
    few = CHUNKED + chunk(b"a") * FREE_CHUNKS + b"0\r\n\r\n"
    assert read([few]) == ("/x", b"a" * FREE_CHUNKS, 200)
    assert read([CHUNKED + chunk(b"a") * 10 * FREE_CHUNKS])[2] == 400
    enough = chunk(b"a" * LEAST_MEAN_CHUNK) * 2 * FREE_CHUNKS
    assert read([CHUNKED + enough + b"0\r\n\r\n"])[2] == 200


def test_extensions_of_chunks_are_limited() -> None:
    message = chunk(b"a", b";" + b"x" * 1_000)
    _, body, status = read([CHUNKED, *[message * 10] * 100])
    assert status == 400
    assert len(body) * 1_000 <= 2 * (FREE_FRAMING_BYTES + LIMIT)


def test_less_is_borne_once_the_request_is_answered() -> None:
    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 413, "headers": [OK]})
        await send({"type": "http.response.body", "body": b"ok"})

    async def scenario(chunks: int) -> bool:
        wire = Wire()
        connection = connected(answer, wire)
        connection.data_received(CHUNKED + chunk(b"a") * 1_000)
        await settle()
        assert wire.written.startswith(b"HTTP/1.1 413 ")
        connection.data_received(chunk(b"a") * chunks)
        return wire.closed

    assert not asyncio.run(scenario(FREE_CHUNKS_ANSWERED))
    assert asyncio.run(scenario(FREE_CHUNKS_ANSWERED + 1))


# -- answers --------------------------------------------------------------------------------------------


def response(headers: list[tuple[bytes, bytes]], *pieces: bytes, status: int = 200) -> list[Message]:
    last = len(pieces) - 1
    return [
        {"type": "http.response.start", "status": status, "headers": headers},
        *(
            {"type": "http.response.body", "body": piece, "more_body": index < last}
            for index, piece in enumerate(pieces)
        ),
    ]


def answered(
    request: bytes, messages: list[Message], *, pause: bool = False
) -> tuple[Wire, Exception | None]:
    """The bytes written for an answer, and the messages to its application."""

    async def scenario() -> tuple[Wire, Exception | None]:
        wire, errors = Wire(), []

        async def application(scope: Scope, receive: Receive, send: Send) -> None:
            try:
                for message in messages:
                    await send(message)
                    if pause:
                        await settle()
            except RuntimeError as error:
                errors.append(error)
                raise

        connection = connected(application, wire)
        connection.data_received(request)
        for _ in range(4):
            await settle()
        return wire, errors[0] if errors else None

    return asyncio.run(scenario())


RESPONSES = [
    response([(b"content-length", b"4"), (b"x-a", b"1")], b"abcd"),
    response([(b"content-length", b"4"), (b"x-a", b"1")], b"ab", b"cd"),
    response([(b"x-b", b"no length")], b"ab", b"", b"cd"),
    response([(b"content-length", b"0"), (b"connection", b"close")], b""),
    response([(b"Content-Length", b"2"), (b"X-Mixed", b"y")], b"ab"),
    response([], b"", status=204),
    response([(b"etag", b'"x"')], b"", status=304),
    response([(b"content-length", b"4")], b"abcd", status=409),
]
REQUESTS = {
    "get": GET,
    "head": b"HEAD /x HTTP/1.1\r\nHost: x\r\n\r\n",
    "closing": b"GET /x HTTP/1.1\r\nHost: x\r\nconnection: close\r\n\r\n",
    "old": b"GET /x HTTP/1.0\r\n\r\n",
}


@pytest.mark.parametrize("request_", REQUESTS.values(), ids=REQUESTS.keys())
@pytest.mark.parametrize("messages", RESPONSES)
@pytest.mark.parametrize("pause", [False, True])
def test_a_client_reads_the_answers_of_the_application(
    request_: bytes, messages: list[Message], pause: bool
) -> None:
    wire, error = answered(request_, messages, pause=pause)
    assert error is None
    method = request_.split(b" ")[0]
    client = h11.Connection(h11.CLIENT)
    client.send(h11.Request(method=method, target="/x", headers=[(b"host", b"x")]))
    client.send(h11.EndOfMessage())
    client.receive_data(wire.written)
    if wire.closed:
        client.receive_data(b"")
    head = client.next_event()
    assert isinstance(head, h11.Response)
    start = messages[0]
    assert head.status_code == start["status"]
    names = {name.lower() for name, _ in start["headers"]}
    assert {**dict(head.headers), **{name.lower(): value for name, value in start["headers"]}} == dict(
        head.headers
    )
    assert DATE in list(head.headers)
    assert {name for name, _ in head.headers} <= names | {b"transfer-encoding", b"connection", b"date"}
    body = b""
    while isinstance(event := client.next_event(), h11.Data):
        body += bytes(event.data)
    assert isinstance(event, h11.EndOfMessage)
    bodiless = method == b"HEAD" or start["status"] in {204, 304}
    assert body == (b"" if bodiless else b"".join(message.get("body", b"") for message in messages))
    closes = b"connection: close" in wire.written
    assert wire.closed is closes
    assert closes is (
        request_ in (REQUESTS["closing"], REQUESTS["old"]) or (b"connection", b"close") in start["headers"]
    )


def test_head_and_body_are_one_write_unless_the_body_takes_its_time() -> None:
    assert len(answered(GET, RESPONSES[0])[0].writes) == 1
    writes = answered(GET, RESPONSES[0], pause=True)[0].writes
    assert [write.endswith(b"\r\n\r\n") for write in writes] == [True, False]


@given(st.binary(max_size=12))
def test_a_value_that_ends_a_line_is_refused_after_its_name_was_seen(value: bytes) -> None:
    assert answered(GET, response([(b"x-seen", b"1"), OK], b"ok"))[1] is None
    wire, error = answered(GET, response([(b"x-seen", value), OK], b"ok"))
    is_clear = not set(value) & {*range(9), *range(10, 32), 127}
    assert (error is None) is is_clear
    assert wire.written.startswith(b"HTTP/1.1 200 OK\r\n" if is_clear else b"HTTP/1.1 500 ")


@pytest.mark.parametrize(
    "headers",
    [
        [(b"content-length", b"1"), (b"content-length", b"2")],
        [(b"content-length", b"-1")],
        [(b"content-length", b"one")],
        [(b"bad name", b"1")],
        [(b"", b"1")],
    ],
)
def test_headers_that_frame_or_name_wrongly_are_refused(headers: list[tuple[bytes, bytes]]) -> None:
    wire, error = answered(GET, response(headers, b"x"))
    assert error is not None
    assert wire.written.startswith(b"HTTP/1.1 500 ")


@pytest.mark.parametrize("pieces", [[b"abc"], [b"abcde"], [b"ab", b"c"], [b"abcd", b"e"]])
def test_a_body_of_another_length_than_its_head_says_ends_the_connection(pieces: list[bytes]) -> None:
    wire, error = answered(GET, response([(b"content-length", b"4")], *pieces))
    assert error is not None
    assert wire.closed


@pytest.mark.parametrize("minor", [0, 1])
def test_an_interim_answer_is_only_for_clients_that_know_it(minor: int) -> None:
    async def scenario() -> bytes:
        wire = Wire()
        connection = connected(Seen().application, wire)
        head = b"POST / HTTP/1.%d\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n"
        connection.data_received(head % minor)
        await settle()
        return wire.written

    assert asyncio.run(scenario()) == (b"HTTP/1.1 100 Continue\r\n\r\n" if minor else b"")


@pytest.mark.parametrize("body", [b"", b"a", b"abcd"])
def test_a_client_without_a_100_continue_may_send_its_body_or_not(body: bytes) -> None:
    """The next bytes may be the body or another request: if there are none yet, the connection ends."""

    async def scenario() -> Wire:
        wire = Wire()
        connection = connected(early, wire)
        head = b"POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n"
        connection.data_received(head + body)
        await settle()
        connection.data_received(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
        await settle()
        return wire

    wire = asyncio.run(scenario())
    is_there = len(body) == 4
    assert (b"connection: close\r\n" in wire.written) == wire.closed == (not is_there)
    assert wire.written.count(b"HTTP/1.1 ") == 1 + is_there


def test_a_failure_after_the_answer_does_not_affect_other_requests() -> None:
    async def scenario() -> Wire:
        wire, may_fail = Wire(), asyncio.Event()

        async def application(scope: Scope, receive: Receive, send: Send) -> None:
            for message in RESPONSES[0]:
                await send(message)
            await may_fail.wait()
            raise ValueError

        connection = connected(application, wire)
        connection.data_received(GET)
        await settle()
        may_fail.set()
        await settle()
        connection.data_received(GET)
        await settle()
        return wire

    wire = asyncio.run(scenario())
    assert wire.written.count(b"HTTP/1.1 200 ") == 2
    assert not wire.closed


def test_messages_out_of_turn_are_an_error() -> None:
    body: Message = {"type": "http.response.body", "body": b""}
    for messages in ([body], [*RESPONSES[0], body], [RESPONSES[0][0], RESPONSES[0][0]]):
        assert answered(GET, messages)[1] is not None


# -- what is idle, and what leaves ------------------------------------------------------------------------


def test_a_connection_waits_for_no_next_request_once_its_server_leaves() -> None:
    async def scenario() -> bool:
        connection, wire = await answered_early()
        connection._leaving = True  # something of the body is not read yet
        connection.data_received(b"0\r\n\r\n")
        return wire.closed

    assert asyncio.run(scenario())


def test_a_next_request_that_began_behind_a_body_has_the_deadline_of_a_head() -> None:
    async def scenario() -> None:
        wire = Wire()
        connection = connected(early, wire)
        connection.data_received(b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\n")
        await settle()
        connection.data_received(b"a" + GET[:20])
        connection.look(connection.loop.time() + Settings().header_timeout_s)
        assert wire.written.count(b"HTTP/1.1 408 ") == 1

    asyncio.run(scenario())


def test_an_empty_line_after_a_request_begins_no_other() -> None:
    async def scenario() -> None:
        seen, wire = Seen(), Wire()
        connection = connected(seen.application, wire)
        connection.data_received(GET)
        await settle()
        connection.data_received(b"\r\n")
        connection.look(connection.loop.time() + Settings().keep_alive_s + connection._edge.look_every_s)
        assert wire.closed
        assert wire.written.count(b"HTTP/1.1 ") == 1

    asyncio.run(scenario())


class Clock(asyncio.SelectorEventLoop):
    """A loop whose time passes on demand."""

    now = 0.0

    def time(self) -> float:
        return self.now


def test_an_idle_connection_is_closed_after_its_time_and_not_before() -> None:
    async def scenario(loop: Clock) -> None:
        seen, wire = Seen(), Wire()
        connection = connected(seen.application, wire)
        for second in range(8):
            loop.now = float(second)
            connection.data_received(GET)
            await settle()
        keep_alive_s, ahead = Settings().keep_alive_s, connection._edge.look_every_s
        connection.look(7 + keep_alive_s + ahead - 0.01)
        assert not wire.closed
        connection.look(7 + keep_alive_s + ahead)
        assert wire.closed
        assert len(seen.scopes) == 8
        connection.connection_lost(None)

    with asyncio.Runner(loop_factory=Clock) as runner:
        loop = runner.get_loop()
        assert isinstance(loop, Clock)
        runner.run(scenario(loop))


def test_a_closing_connection_serves_nothing_after_it_has_lingered() -> None:
    async def early(scope: Scope, receive: Receive, send: Send) -> None:
        headers = [OK, (b"connection", b"close")]
        await send({"type": "http.response.start", "status": 413, "headers": headers})
        await send({"type": "http.response.body", "body": b"ok"})

    async def scenario() -> bool:
        wire = Wire()
        connection = connected(early, wire)
        connection.data_received(b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nab")
        await settle()
        assert wire.written.startswith(b"HTTP/1.1 413 ")
        assert not wire.closed
        connection.data_received(b"cd" + GET)
        return wire.closed

    assert asyncio.run(scenario())


def test_the_attributes_of_uvicorn_that_are_used_are_there() -> None:
    assert {"default_headers", "connections", "tasks", "total_requests"} <= vars(ServerState()).keys()
    config = Config(lambda: None)
    config.load()
    assert {"loaded_app", "root_path"} <= vars(config).keys()
