"""Bodies and answers: a memory budget for all requests, sending in slices, and turns of the event loop."""

from __future__ import annotations

import asyncio
import math
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Self

from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from ..errors import BodyTooLarge, MalformedBody, Overloaded
from ..ops.shared_counters import Together
from ..service.messages import RenderedResponse

# A health probe needs a few iterations of the loop: its connection, its bytes, its task, its answer.
ROUNDS = 4
# Turns that together take less than this count as one, so that small tests do not wait for each other.
SHORT_TURNS_S = 0.004
# The least duration of a turn: checking a head, or sending a slice of an answer.
LEAST_S = 0.0002


class Turns:
    """First in, first out. Before a turn the loop iterates `ROUNDS` times, unless it did so within the last
    `SHORT_TURNS_S` of turns.
    """

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._number = self._waiting = 0
        self._spent_s = SHORT_TURNS_S

    def spend(self, seconds: float) -> None:
        """Note how long the current turn computed."""
        self._spent_s += seconds

    async def mine(self, number: int = 0) -> int:
        """Wait for the caller's turn, which lasts until it next awaits something; return the number of the turn.

        Returns at once if `number` is that of the caller's last turn and nobody else had one since.
        """
        if number and number == self._number:
            return number
        if self._waiting or self._spent_s >= SHORT_TURNS_S:
            self._waiting += 1
            try:
                async with self._lock:
                    if self._spent_s >= SHORT_TURNS_S:
                        await _rounds(ROUNDS)
                        self._spent_s = 0.0
                    return self._taken()
            finally:
                self._waiting -= 1
        return self._taken()

    def _taken(self) -> int:
        self._spent_s += LEAST_S
        self._number += 1
        return self._number


def _rounds(number: int) -> asyncio.Future[None]:
    """Wait for this many iterations of the loop, at least two.

    The waiter is resumed once; sleeping would resume it in each.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[None] = loop.create_future()

    def step(left: int) -> None:
        if left:
            loop.call_soon(step, left - 1)
        elif not done.done():
            done.set_result(None)

    loop.call_soon(step, number - 2)  # the last one resumes the waiter
    return done


SMALL_BYTES = 131_072  # bodies and answers up to this size are never refused, so that large ones do not shut out small tests
SLICE_BYTES = 2**16  # size of the pieces in which a large answer is sent
SENDING_BYTES = 3 * SLICE_BYTES  # copied while sending: one slice, and the transport's buffer
# Exponential weight of the past per reservation: about ten matter.
MEMORY = 0.9
LONGEST_WAIT_S = 60.0
GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0  # its multiples modulo 1 are evenly spread


class ByteBudget:
    """A limit on the bytes that all requests hold: their bodies while they are received or answered, then their answers.

    Bodies and answers above SMALL_BYTES are refused when the budget is used up, unless no other is in flight; then
    `refused` is called. An answer that is sent to several clients counts once, plus a few slices for each of them.
    """

    def __init__(
        self,
        max_bytes: int,
        refused: Callable[[], None] = lambda: None,
        clock: Callable[[], float] = time.monotonic,
        together: Together | None = None,
    ) -> None:
        self.held = 0
        self._together = together or Together()
        self._max_bytes = max_bytes
        self._refused = refused
        self._clock = clock
        self._large: set[Reservation] = set()
        self._senders: Counter[int] = Counter()
        self._usual_s = 0.0
        self._spread = 0.0

    def reserve(self) -> Reservation:
        """The reservation of one request, until it leaves; also a context manager."""
        return Reservation(self)

    def take(self, reservation: Reservation, size: int) -> None:
        """Reserve `size` more bytes of a body.

        Raises
        ------
            Overloaded: there is no room.
        """
        held = reservation.size + size
        if held > SMALL_BYTES:
            self._make_room(reservation, size)
        self._resize(reservation, held, large=held > SMALL_BYTES)

    def answer(self, reservation: Reservation, rendered: RenderedResponse) -> None:
        """Reserve the answer instead of the body.

        Raises
        ------
            Overloaded: there is no room; the body is released even so.
        """
        whole = rendered.size
        if whole <= SMALL_BYTES:
            self._resize(reservation, whole, large=False)
            return
        self._resize(reservation, 0, large=False)
        content = rendered.before
        shared = self._senders.get(id(content), 0) > 0
        size = min(whole, SENDING_BYTES)
        self._make_room(reservation, size if shared else size + len(content))
        self._resize(reservation, size, large=True)
        if whole > SENDING_BYTES:
            reservation.content = content
            self._senders[id(content)] += 1
            if not shared:
                self._hold(len(content))

    def leave(self, reservation: Reservation) -> None:
        """Release everything that a request holds."""
        self._resize(reservation, 0, large=False)
        if reservation in self._large:
            self._large.discard(reservation)
            self._usual_s = MEMORY * self._usual_s + (1 - MEMORY) * (self._clock() - reservation.since)
        content, reservation.content = reservation.content, None
        if content is None:
            return
        self._senders[id(content)] -= 1
        if not self._senders[id(content)]:
            del self._senders[id(content)]
            self._hold(-len(content))

    def _make_room(self, reservation: Reservation, more: int) -> None:
        """Refuse `more` bytes of a large body or answer where there is no room."""
        held = self.held + self._together.others
        if held > reservation.size and held + more > self._max_bytes:
            self._refused()
            raise Overloaded(
                "The bodies and answers of other requests use all the memory reserved for them. "
                "Try again a little later.",
                retry_after_s=self._retry_after_s(),
            )

    def _resize(self, reservation: Reservation, size: int, *, large: bool) -> None:
        self._hold(size - reservation.size)
        reservation.size = size
        if large and reservation not in self._large:
            reservation.since = self._clock()
            self._large.add(reservation)

    def _hold(self, more: int) -> None:
        if more:
            self.held += more
            self._together.put(self.held)

    def _retry_after_s(self) -> int:
        """Seconds until there may be room: the usual time of large bodies, or their mean age if longer.

        Spread from half to one and a half times that, so that refused clients do not all return at once.
        """
        now = self._clock()
        ages = [now - reservation.since for reservation in self._large]
        wait = max(self._usual_s, sum(ages) / max(len(ages), 1))
        self._spread = (self._spread + GOLDEN) % 1.0
        return math.ceil(min((0.5 + self._spread) * wait, LONGEST_WAIT_S)) or 1


@dataclass(slots=True, eq=False)
class Reservation:
    """The bytes of one request, and the content that it shares with others."""

    budget: ByteBudget
    size: int = 0
    since: float = 0.0
    content: bytes | None = None

    def leave(self) -> None:
        """Release it; may be called more than once."""
        self.budget.leave(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.leave()


async def receive_body(
    receive: Receive, content_length: str | None, max_bytes: int, reservation: Reservation
) -> bytearray:
    """The whole body; `reservation` counts it.

    Raises
    ------
        BodyTooLarge: more than `max_bytes` are declared or received.
        Overloaded: the memory budget is used up.
        ClientDisconnect: the client disconnected before the end.
    """
    if content_length is not None and not content_length.isascii():
        raise MalformedBody("Content-Length is not a number.")
    if content_length is not None and content_length.isdigit() and int(content_length[:20]) > max_bytes:
        raise _too_large(max_bytes)
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        piece = message.get("body", b"")
        if len(body) + len(piece) > max_bytes:
            raise _too_large(max_bytes)
        reservation.budget.take(reservation, len(piece))
        body += piece
        if not message.get("more_body", False):
            return body


async def disconnected(receive: Receive) -> None:
    """Return when the client has disconnected."""
    while (await receive())["type"] != "http.disconnect":
        pass


def _too_large(max_bytes: int) -> BodyTooLarge:
    return BodyTooLarge(f"The body is larger than {max_bytes:,} bytes, the limit of this server.")


class SlicedResponse(Response):
    """A rendered answer with exactly its headers; `reservation` is released when it is sent.

    Large ones are sent in slices, each when the client has read nearly all of the previous one. A transport buffers what the
    network does not accept at once, so that whole answers would be copied once per client that does not read. With slices
    it buffers one at a time, and the event loop turns between them.
    """

    def __init__(self, rendered: RenderedResponse, reservation: Reservation, turns: Turns) -> None:
        # Not by Response.__init__, which searches all headers for each one.
        self.status_code, self.background, self.body = rendered.status, None, b""
        headers = {"content-length": str(rendered.size), **dict(rendered.headers)}
        self.raw_headers = [
            (name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()
        ]
        self._rendered = rendered
        self._reservation = reservation
        self._turns = turns

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        try:
            await send(
                {"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers}
            )
            if self._rendered.size > SLICE_BYTES:
                for piece in slices(self._rendered):
                    await self._turns.mine()
                    await send({"type": "http.response.body", "body": piece, "more_body": True})
                await send({"type": "http.response.body", "body": b""})
            else:
                await send({"type": "http.response.body", "body": self._rendered.body})
        finally:
            self._reservation.leave()


def slices(rendered: RenderedResponse) -> Iterator[bytes]:
    """The content in pieces of at most `SLICE_BYTES`; only the piece is copied."""
    for part in (rendered.before, rendered.own, rendered.after):
        view = memoryview(part)
        for start in range(0, len(part), SLICE_BYTES):
            yield bytes(view[start : start + SLICE_BYTES])
