"""What our own sending puts on the wire is what uvicorn's cycle would, for any response, and no header ends a line."""

from __future__ import annotations

import asyncio
from typing import Any

import h11
import pytest
from hypothesis import given, strategies as st
from starlette.types import Message
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.h11_impl import RequestResponseCycle

from app.ops.edge.answer import Answer
from app.ops.edge.h11_connection import Framing

GET = b"GET /x HTTP/1.1\r\nHost: x\r\n\r\n"
HEAD = b"HEAD /x HTTP/1.1\r\nHost: x\r\n\r\n"
CLOSING = b"GET /x HTTP/1.1\r\nHost: x\r\nconnection: close\r\n\r\n"
OLD = b"GET /x HTTP/1.0\r\n\r\n"
DATE = (b"date", b"Sun, 06 Nov 1994 08:49:37 GMT")


class Wire:
    """A transport that keeps each write."""

    def __init__(self) -> None:
        self.writes: list[bytes] = []
        self.closed = False

    def write(self, data: bytes) -> None:
        self.writes.append(bytes(data))

    def close(self) -> None:
        self.closed = True


async def sent(request: bytes, messages: list[Message], *, ours: bool, pause: bool = False) -> Any:
    """(the writes, whether it closed, how often the response was complete, the state of the connection)."""
    conn = (
        Framing(2_048, lambda: None, lambda size: None, lambda: None) if ours else h11.Connection(h11.SERVER)
    )
    wire, completed = Wire(), []
    conn.receive_data(request)
    event = conn.next_event()
    assert isinstance(event, h11.Request)
    conn.next_event()
    scope: Any = {"headers": list(event.headers), "method": event.method.decode()}
    cycle = RequestResponseCycle(
        scope, conn, wire, FlowControl(wire), None, None, False, [DATE], asyncio.Event(),  # type: ignore[arg-type]
        lambda: completed.append(1),
    )  # fmt: skip
    send: Any = Answer(cycle, asyncio.get_running_loop()).send if ours else cycle.send
    for message in messages:
        await send(message)
        if pause:
            await asyncio.sleep(0)
    return wire.writes, wire.closed, len(completed), conn.our_state


def response(headers: list[tuple[bytes, bytes]], *pieces: bytes) -> list[Message]:
    last = len(pieces) - 1
    return [
        {"type": "http.response.start", "status": 200, "headers": headers},
        *(
            {"type": "http.response.body", "body": piece, "more_body": index < last}
            for index, piece in enumerate(pieces)
        ),
    ]


RESPONSES = [
    response([(b"content-length", b"4"), (b"x-a", b"1")], b"abcd"),
    response([(b"content-length", b"4"), (b"x-a", b"1")], b"ab", b"cd"),
    response([(b"x-b", b"no length")], b"ab", b"", b"cd"),
    response([(b"content-length", b"0"), (b"connection", b"close")], b""),
    response([(b"Content-Length", b"2"), (b"X-Mixed", b"y")], b"ab"),
]


@pytest.mark.parametrize("request_", [GET, HEAD, CLOSING, OLD])
@pytest.mark.parametrize("messages", RESPONSES)
@pytest.mark.parametrize("pause", [False, True])
def test_the_bytes_and_the_states_are_those_of_uvicorn(
    request_: bytes, messages: list[Message], pause: bool
) -> None:
    for _ in range(2):  # names are checked the first time only
        ours, theirs = (
            asyncio.run(sent(request_, messages, ours=mine, pause=pause)) for mine in (True, False)
        )
        assert b"".join(ours[0]) == b"".join(theirs[0])
        assert ours[1:] == theirs[1:]


def test_head_and_body_are_one_write_unless_the_body_takes_its_time() -> None:
    writes, *_ = asyncio.run(sent(GET, RESPONSES[0], ours=True))
    assert len(writes) == 1
    writes, *_ = asyncio.run(sent(GET, RESPONSES[0], ours=True, pause=True))
    assert [write.endswith(b"\r\n\r\n") for write in writes] == [True, False]


@given(st.binary(max_size=12))
def test_a_value_that_h11_refuses_is_refused_after_its_name_was_seen(value: bytes) -> None:
    asyncio.run(sent(GET, response([(b"x-seen", b"1"), (b"content-length", b"1")], b"x"), ours=True))
    messages = response([(b"x-seen", value), (b"content-length", b"1")], b"x")
    try:
        expected = b"".join(asyncio.run(sent(GET, messages, ours=False))[0])
    except h11.LocalProtocolError:
        if value.strip(b" \t") != value and not set(value) & {*range(9), *range(10, 32), 127}:
            return  # white space around a value is no harm: whoever reads it takes it off (RFC 9112, 5.1)
        with pytest.raises(h11.LocalProtocolError):
            asyncio.run(sent(GET, messages, ours=True))
    else:
        assert b"".join(asyncio.run(sent(GET, messages, ours=True))[0]) == expected


@pytest.mark.parametrize(
    "headers",
    [
        [(b"content-length", b"1"), (b"content-length", b"2")],
        [(b"content-length", b"-1")],
        [(b"content-length", b"one")],
        [(b"bad name", b"1")],
    ],
)
def test_headers_that_frame_or_name_wrongly_are_refused(headers: list[tuple[bytes, bytes]]) -> None:
    asyncio.run(sent(GET, RESPONSES[0], ours=True))
    with pytest.raises(h11.LocalProtocolError):
        asyncio.run(sent(GET, response(headers, b"x"), ours=True))


def test_messages_out_of_turn_are_an_error() -> None:
    body: Message = {"type": "http.response.body", "body": b""}
    for messages in ([body], [*RESPONSES[0], body], [RESPONSES[0][0], RESPONSES[0][0]]):
        with pytest.raises(RuntimeError):
            asyncio.run(sent(GET, messages, ours=True))
