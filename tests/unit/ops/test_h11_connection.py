"""Bytes into requests: whatever pieces they come in, one reading, and no flood of chunks is read in one go."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import h11
import pytest
from hypothesis import given, strategies as st

from app.ops.edge import request_head
from app.ops.edge.h11_connection import (
    FREE_CHUNKS,
    FREE_CHUNKS_ANSWERED,
    FREE_FRAMING_BYTES,
    LEAST_MEAN_CHUNK,
    Framing,
)

PLENTY = 10**9
LIMIT = 8_192
CHUNKED = b"POST /x HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"


def framing() -> Framing:
    return Framing(LIMIT, lambda: None, lambda size: None, lambda: None)


def chunk(content: bytes, extension: bytes = b"") -> bytes:
    return b"%x%s\r\n%s\r\n" % (len(content), extension, content)


def read(pieces: Sequence[bytes], allowed: int = PLENTY) -> tuple[str, bytes, int]:
    """The target, the body, and 200 at the end of the request or the status of a refusal; 0 if it is not over."""
    connection, target, body = framing(), "", b""
    for piece in pieces:
        connection.receive_data(piece)
        while True:
            connection.allow(allowed)
            try:
                event = connection.next_event()
            except h11.RemoteProtocolError:
                assert connection.refusal is not None
                return target, body, connection.refusal.status
            if isinstance(event, h11.Request):
                target = event.target.decode()
            elif isinstance(event, h11.Data):
                body += bytes(event.data)
            elif isinstance(event, h11.EndOfMessage):
                return target, body, 200
            elif not connection.interrupted:
                break
    return target, body, 0


def cut(message: bytes, places: Sequence[int]) -> list[bytes]:
    edges = [0, *sorted(place % len(message) for place in places), len(message)]
    return [message[a:b] for a, b in pairwise(edges) if a < b]


PLACES = st.lists(st.integers(0, 10_000), max_size=12)


@given(
    st.lists(st.text("a\r\n0;", min_size=1, max_size=20), max_size=8),
    st.sampled_from([b"", b";x", b";x=y"]),
    st.sampled_from([b"", b"X: y\r\n", b"X: y\r\nZ: \r\n"]),
    PLACES,
    st.integers(1, 3),
)
def test_chunks_are_read_alike_in_whatever_pieces_they_come(
    contents: list[str], extension: bytes, trailers: bytes, places: list[int], allowed: int
) -> None:
    parts = [content.encode() for content in contents]
    message = CHUNKED + b"".join(chunk(part, extension) for part in parts) + b"0\r\n" + trailers + b"\r\n"
    assert read(cut(message, places), allowed) == ("/x", b"".join(parts), 200)


UNCLEAR = {
    "a fold": b"POST /x HTTP/1.1\r\nHost: h\r\nTransfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n",
    "a fold by a tab": b"GET /x HTTP/1.1\r\nHost: h\r\nAuthorization:\r\n\tBearer x\r\n\r\n",
    "bare line feeds": b"GET /x HTTP/1.1\nHost: h\n\n",
    "a bare line feed": b"GET /x HTTP/1.1\r\nHost: h\nX: y\r\n\r\n",
    "a bare line feed at the end": b"GET /x HTTP/1.1\r\nHost: h\r\n\n",
    "a bare carriage return": b"GET /x HTTP/1.1\r\nHost: h\r\nX: y\rZ: 1\r\n\r\n",
    "a bare line feed after a size": CHUNKED + b"1\na\r\n0\r\n\r\n",
    "a bare line feed in an extension": CHUNKED + b"1;a\nb\r\na\r\n0\r\n\r\n",
    "a bare carriage return in an extension": CHUNKED + b"1;a\rb\r\na\r\n0\r\n\r\n",
    "a bare line feed after the last chunk": CHUNKED + b"1\r\na\r\n0\r\n\n",
    "a fold in the trailers": CHUNKED + b"1\r\na\r\n0\r\nX: y\r\n z\r\n\r\n",
    "a bare line feed in the trailers": CHUNKED + b"1\r\na\r\n0\r\nX: y\nZ: 1\r\n\r\n",
}


@pytest.mark.parametrize("message", UNCLEAR.values(), ids=UNCLEAR.keys())
def test_what_ends_a_line_here_and_not_elsewhere_is_refused(message: bytes) -> None:
    assert read([message])[2] == 400
    assert read([message[n : n + 1] for n in range(len(message))])[2] == 400


def test_a_head_that_trickles_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at = 0

    def counted(lines: bytes) -> bool:
        nonlocal looked_at
        looked_at += len(lines)
        return request_head.unclear(lines)

    monkeypatch.setattr("app.ops.edge.h11_connection.unclear", counted)
    message = b"GET /x HTTP/1.1\r\nHost: h\r\n" + b"a: b\r\n" * 90 + b"\r\n"
    assert read([message[n : n + 1] for n in range(len(message))])[2] == 200
    assert looked_at < 20 * len(message)  # of lines of some bytes


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


@pytest.mark.parametrize("target", ["http:///x", "http://a b/x", "http://user@host/x", "http://ho\\st/"])
def test_a_uri_without_a_host_is_refused(target: str) -> None:
    assert read([f"GET {target} HTTP/1.1\r\nHost: other\r\n\r\n".encode()])[2] == 400


def test_the_host_of_a_whole_uri_replaces_that_of_the_header() -> None:
    connection = framing()
    connection.receive_data(b"GET http://host:1/x HTTP/1.1\r\nHost: other\r\n\r\n")
    assert dict(connection.next_event().headers)[b"host"] == b"host:1"


def test_two_content_types_are_refused() -> None:
    types = b"Content-Type: text/csv\r\nContent-Type: application/json\r\n"
    assert read([b"POST /x HTTP/1.1\r\nHost: h\r\n" + types + b"\r\n"])[2] == 400


def test_trailers_have_the_limit_of_headers_however_they_come() -> None:
    message = CHUNKED + b"1\r\na\r\n0\r\nX: " + b"a" * LIMIT + b"\r\n\r\n"
    assert read([message])[2] == 431
    assert read([message[n : n + 100] for n in range(0, len(message), 100)])[2] == 431
    many = b"".join(b"X%d: y\r\n" % n for n in range(200))
    assert read([CHUNKED + b"0\r\n" + many + b"\r\n"])[2] == 431


# -- small chunks -----------------------------------------------------------------------------------------


def test_no_more_chunks_are_read_at_once_than_are_allowed() -> None:
    connection = framing()
    connection.receive_data(CHUNKED + chunk(b"a") * 1_000)
    turns, seen = 0, 0
    while seen < 1_000:
        connection.allow(10)
        before = seen
        while (event := connection.next_event()) is not h11.NEED_DATA:
            seen += isinstance(event, h11.Data)
        assert connection.interrupted
        assert seen - before <= 10
        turns += 1
    assert turns == 100


def test_a_body_of_few_small_chunks_is_read_and_one_of_very_many_is_not() -> None:
    few = CHUNKED + chunk(b"a") * FREE_CHUNKS + b"0\r\n\r\n"
    assert read([few]) == ("/x", b"a" * FREE_CHUNKS, 200)
    target, body, status = read([CHUNKED + chunk(b"a") * 10 * FREE_CHUNKS])
    assert (target, status) == ("/x", 400)
    assert len(body) == FREE_CHUNKS
    enough = chunk(b"a" * LEAST_MEAN_CHUNK) * 2 * FREE_CHUNKS
    assert read([CHUNKED + enough + b"0\r\n\r\n"])[2] == 200


def test_extensions_are_no_way_to_send_much_and_say_little() -> None:
    one = chunk(b"a", b";" + b"x" * 1_000)
    _, body, status = read([CHUNKED, *[one * 10] * 100])
    assert status == 400
    assert len(body) * 1_000 <= 2 * (FREE_FRAMING_BYTES + LIMIT)


def test_less_is_borne_once_the_request_is_answered() -> None:
    connection = framing()
    connection.receive_data(CHUNKED + chunk(b"a") * 1_000)
    connection.allow(PLENTY)
    assert isinstance(connection.next_event(), h11.Request)
    connection.answered()
    for _ in range(FREE_CHUNKS_ANSWERED):
        assert isinstance(connection.next_event(), h11.Data)
    with pytest.raises(h11.RemoteProtocolError):
        connection.next_event()
