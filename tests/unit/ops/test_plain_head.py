"""A head that is read with one expression, and an answer written without h11, leave what h11 would have left."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import h11
import pytest
from hypothesis import given, strategies as st
from uvicorn.config import Config
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.h11_impl import RequestResponseCycle
from uvicorn.server import ServerState

from app.ops.edge import h11_connection
from app.ops.edge.answer import Answer
from app.ops.edge.h11_connection import Framing
from app.ops.edge.limits import Edge, Limits
from app.ops.edge.plain_head import plain_head
from app.ops.edge.scope import CONNECTION
from app.ops.edge.uvicorn_protocol import EdgeProtocol
from app.settings import Settings

LIMIT = 2_048
HOST = b"Host: localhost\r\n"
PLAIN = [
    b"POST /v1/tests/effects HTTP/1.1\r\n" + HOST + b"Content-Length: 4\r\n\r\nabcd",
    b"GET /x?y=%20 HTTP/1.1\r\n" + HOST + b"\r\n",
    b"GET / HTTP/1.1\r\nACCEPT:*/*\r\nhost:a\r\nConnection: Keep-Alive\r\nX-Empty:\r\nX-Blank: \t \r\n\r\n",
    b"POST / HTTP/1.1\r\n" + HOST + b"content-length: 000\r\nX-High: \xe9 \t\xff\t\r\n\r\n",
]
OTHERS = [
    b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: 4\r\nContent-Length: 4\r\n\r\nabcd",
    b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: 4, 4\r\n\r\nabcd",
    b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: -4\r\n\r\nabcd",
    b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: 4\r\nContent-Length: 5\r\n\r\nabcd",
    b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: 4\r\nExpect: 100-continue\r\n\r\nabcd",
    b"POST / HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n",
    b"POST / HTTP/1.1\r\n" + HOST + b"Content-Type: a/b\r\nContent-Type: a/b\r\n\r\n",
    b"GET / HTTP/1.1\r\n" + HOST + b"Connection: close\r\n\r\n",
    b"GET / HTTP/1.1\r\n" + HOST + b"Connection: upgrade\r\nUpgrade: websocket\r\n\r\n",
    b"GET / HTTP/1.1\r\n" + HOST + b"X: a\r\n b\r\n\r\n",
    b"GET / HTTP/1.1\r\n" + HOST + b"X : a\r\n\r\n",
    b"GET / HTTP/1.1\r\n" + HOST + b"X: a\x00b\r\n\r\n",
    b"GET / HTTP/1.1\r\n" + HOST + b"X: a\x01b\r\n\r\n",
    b"GET / HTTP/1.1\r\n" + HOST + b"X: a\x7fb\r\n\r\n",
    b"GET / HTTP/1.1\r\n" + HOST + b"X: a\rb\r\n\r\n",
    b"GET / HTTP/1.1\nHost: a\n\n",
    b"GET / HTTP/1.1\r\n" + HOST + HOST + b"\r\n",
    b"GET / HTTP/1.1\r\nX: a\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: a/b\r\n\r\n",
    b"GET / HTTP/1.1\r\n" + HOST + b"X: y\r\n" * 101 + b"\r\n",
    b"GET / HTTP/1.1\r\n" + HOST + b"X: " + b"y" * LIMIT + b"\r\n\r\n",
    b"GET / HTTP/1.0\r\n\r\n",
    b"GET / HTTP/2.0\r\n" + HOST + b"\r\n",
    b"GET http://other/x HTTP/1.1\r\n" + HOST + b"\r\n",
    b"GET /a b HTTP/1.1\r\n" + HOST + b"\r\n",
    b"HEAD / HTTP/1.1\r\n" + HOST + b"\r\n",
    b"CONNECT a:1 HTTP/1.1\r\n" + HOST + b"\r\n",
    b"\r\nGET / HTTP/1.1\r\n" + HOST + b"\r\n",
]
NAMES = st.sampled_from(
    [b"Content-Length", b"Content-Type", b"Connection", b"Expect", b"X-A", b"x b", b"Host", b""]
)
VALUES = st.one_of(
    st.binary(max_size=6), st.sampled_from([b"2", b" 2\t", b"close", b"keep-alive", b"100-continue"])
)


@contextmanager
def reading(*, plainly: bool) -> Iterator[None]:
    """Read plain heads without h11, or no head."""
    if plainly:
        yield
        return
    with mock.patch.object(h11_connection, "plain_head", return_value=None):
        yield


def known(connection: Framing) -> dict[str, Any]:
    """Everything that a connection knows."""
    state = {name: value for name, value in vars(connection).items() if not name.startswith("_on_")}
    del state["_may_begin"]
    for name in ("_reader", "_writer"):  # those of bodies are objects that count
        io = state[name]
        state[name] = io if io is None or inspect.isfunction(io) else (type(io), vars(io))
    state["_cstate"] = vars(state["_cstate"])
    state["_receive_buffer"] = bytes(state["_receive_buffer"])
    return state


def facts(event: Any) -> Any:
    """What an event says."""
    if isinstance(event, h11.Request):
        return event.method, event.target, list(event.headers), event.http_version
    return (bytes(event.data), event.chunk_end) if isinstance(event, h11.Data) else type(event)


def read(pieces: list[bytes], *, plainly: bool) -> list[Any]:
    """The events, what was reported, and what the connection knows after each pause."""
    seen: list[Any] = []
    told: list[Any] = []
    connection = Framing(LIMIT, lambda: told.append("head"), told.append, lambda: told.append("end"), bool)
    with reading(plainly=plainly):
        for piece in pieces:
            connection.receive_data(piece)
            connection.allow(1_000)
            if plainly and (whole := connection.whole_request()) is not None:
                head, body = whole
                seen += [(head.method, head.target, head.headers, b"1.1"), *([(body, False)] if body else [])]
                seen += [h11.EndOfMessage, h11.NEED_DATA, known(connection)]
                continue
            while True:
                try:
                    event = connection.next_event()
                except h11.RemoteProtocolError:
                    return [*seen, *told, connection.refusal]
                seen.append(facts(event))
                if event in (h11.NEED_DATA, h11.PAUSED):
                    break
            seen.append(known(connection))
    return [*seen, *told]


@pytest.mark.parametrize("message", PLAIN)
def test_plain_heads_are_plain(message: bytes) -> None:
    assert plain_head(message, LIMIT) is not None


@pytest.mark.parametrize("message", OTHERS)
def test_all_others_are_left_to_h11(message: bytes) -> None:
    assert plain_head(message, LIMIT) is None


@pytest.mark.parametrize("message", [*PLAIN, *OTHERS])
@pytest.mark.parametrize("after", [b"", b"GET /next HTTP/1.1\r\nHost: b\r\n\r\n"])
def test_both_ways_read_the_same_in_one_piece_and_in_two(message: bytes, after: bytes) -> None:
    whole = message + after
    for pieces in ([whole], *([whole[:n], whole[n:]] for n in range(1, len(whole), 1 + len(whole) // 100))):
        assert read(pieces, plainly=True) == read(pieces, plainly=False)


@given(st.lists(st.tuples(NAMES, VALUES), max_size=4), st.sampled_from([b"", b"ab", b"abc"]))
def test_both_ways_read_the_same_whatever_the_headers(
    headers: list[tuple[bytes, bytes]], body: bytes
) -> None:
    lines = b"".join(b"%b:%b\r\n" % header for header in headers)
    message = b"POST /x HTTP/1.1\r\n" + HOST + lines + b"\r\n" + body
    assert read([message], plainly=True) == read([message], plainly=False)


class Wire:
    """A transport that keeps what is written."""

    def __init__(self) -> None:
        self.written = b""

    def write(self, data: bytes) -> None:
        self.written += data

    def close(self) -> None:
        self.written += b"(closed)"


async def _cycles(
    ours: bool, messages: list[bytes], pieces: list[bytes], length: int, status: int
) -> list[Any]:
    found: list[Any] = []
    connection, wire = Framing(LIMIT, lambda: None, lambda size: None, lambda: None), Wire()
    for message in messages:
        connection.receive_data(message)
        whole = connection.whole_request()
        assert whole is not None
        scope: Any = {"headers": whole[0].headers, "method": whole[0].method.decode()}
        cycle = RequestResponseCycle(
            scope, connection, wire, FlowControl(wire), None, None, False, [], asyncio.Event(), lambda: None,  # type: ignore[arg-type]
        )  # fmt: skip
        send: Any = Answer(cycle, asyncio.get_running_loop()).send if ours else cycle.send
        headers = [(b"content-length", b"%d" % length), (b"x-a", b"1")]
        try:
            await send({"type": "http.response.start", "status": status, "headers": headers})
            for index, piece in enumerate(pieces):
                more = index < len(pieces) - 1
                await send({"type": "http.response.body", "body": piece, "more_body": more})
        except h11.LocalProtocolError:
            return [*found, "refused", connection.our_state]
        found.append((wire.written, known(connection)))
        connection.start_next_cycle()
        found.append(known(connection))
    return found


@pytest.mark.parametrize("message", PLAIN)
@pytest.mark.parametrize("pieces", [[b"abcd"], [b"ab", b"cd"], [b"abcd", b""], [b"abc"], [b"abcde"]])
@pytest.mark.parametrize("status", [200, 204, 409, 503])
def test_an_answer_leaves_what_h11_would_have_left(message: bytes, pieces: list[bytes], status: int) -> None:
    for _ in range(2):  # names are checked the first time only
        ours, theirs = (asyncio.run(_cycles(way, [message] * 2, pieces, 4, status)) for way in (True, False))
        assert ours == theirs


@pytest.mark.parametrize("message", PLAIN)
def test_a_request_that_comes_whole_is_taken_whole_unless_it_has_to_wait(message: bytes) -> None:
    connection = Framing(LIMIT, lambda: None, lambda size: None, lambda: None, bool)
    for piece in (message[:-1], message[-1:]):
        assert connection.whole_request() is None
        connection.receive_data(piece)
    assert connection.whole_request() is not None
    waiting = Framing(LIMIT, lambda: None, lambda size: None, lambda: None, lambda head: False)
    waiting.receive_data(message)
    assert waiting.whole_request() is None
    assert (waiting.next_event(), waiting.deferred) == (h11.NEED_DATA, True)


class Served(Wire):
    """The transport of a connection."""

    def is_closing(self) -> bool:
        return False

    def pause_reading(self) -> None:
        pass

    def resume_reading(self) -> None:
        pass

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return {"peername": ("192.0.2.1", 4_321), "sockname": ("192.0.2.2", 80)}.get(name, default)


async def _served(message: bytes, *, plainly: bool) -> tuple[Any, Any, bytes]:
    """The scope and the first message that an application gets, and what is written for its answer."""
    given: list[Any] = []

    async def application(scope: Any, receive: Any, send: Any) -> None:
        given.append({name: value for name, value in scope.items() if name != CONNECTION})
        given.append(await receive())
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
        await send({"type": "http.response.body", "body": b"ok"})

    limits = Limits.of(Settings(workers=1))
    config = Config(application, log_config=None, access_log=False, interface="asgi3", root_path="/below")
    state, wire = ServerState(), Served()
    edge = Edge(limits, lambda status, detail, request_id: ((), b""), lambda reason: None)
    protocol = EdgeProtocol(edge, config=config, server_state=state, app_state={"a": 1})
    protocol.connection_made(wire)
    with reading(plainly=plainly):
        protocol.data_received(message)
    (task,) = state.tasks
    await task
    assert (state.total_requests, protocol.conn.our_state) == (1, h11.IDLE)
    protocol.connection_lost(None)
    return given[0], given[1], wire.written


@pytest.mark.parametrize(
    "message", [*PLAIN[:3], PLAIN[0].replace(b"4", b"70000").replace(b"abcd", b"a" * 70_000)]
)
def test_an_application_sees_what_uvicorn_would_show_it(message: bytes) -> None:
    ours, theirs = (asyncio.run(_served(message, plainly=way)) for way in (True, False))
    assert ours == theirs
