"""Receiving a body: streamed, counted, and refused as soon as it is too large."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

from starlette.requests import ClientDisconnect
from starlette.types import Receive

from ..errors import BodyTooLarge, MalformedBody, Overloaded
from ..service.messages import RenderedResponse

SMALL_BYTES = (
    131_072  # a body or an answer of this size always finds room: large ones do not shut out small tests
)
SLICE_BYTES = 2**16  # in which a large answer is sent
SENDING_BYTES = 3 * SLICE_BYTES  # of which so much is copied: one slice that waits, and a transport's buffer
# What the past counts after one more stay: some ten are remembered.
MEMORY = 0.9
LONGEST_WAIT_S = 60.0
GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0  # its multiples, modulo 1, are spread as evenly as can be


class ByteBudget:
    """A limit on the bytes that all requests hold: their bodies while they are received or answered, then their answers.

    A body or an answer that is larger than small and finds no room is refused, unless it is the only one there; `refused`
    is told. An answer that several clients are sent at a time is there once, and a few slices of it for each of them.
    """

    def __init__(
        self,
        max_bytes: int,
        refused: Callable[[], None] = lambda: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.held = 0
        self._max_bytes = max_bytes
        self._refused = refused
        self._clock = clock
        self._large: set[Reservation] = set()
        self._senders: Counter[int] = Counter()
        self._usual_s = 0.0
        self._spread = 0.0

    def reserve(self) -> Reservation:
        """The place of one request, until it leaves; a context manager, too."""
        return Reservation(self)

    def take(self, reservation: Reservation, size: int) -> None:
        """So many bytes more of a body.

        Raises
        ------
            Overloaded: there is no room.
        """
        self._make_room(reservation, reservation.size + size, size)
        self._resize(reservation, reservation.size + size, large=reservation.size + size > SMALL_BYTES)

    def answer(self, reservation: Reservation, rendered: RenderedResponse) -> None:
        """The answer in place of the body.

        Raises
        ------
            Overloaded: there is no room; the body has left.
        """
        self._resize(reservation, 0, large=False)
        content = rendered.before
        there = self._senders[id(content)] > 0
        size = min(rendered.size, SENDING_BYTES)
        self._make_room(reservation, rendered.size, size if there else size + len(content))
        self._resize(reservation, size, large=rendered.size > SMALL_BYTES)
        if rendered.size > SENDING_BYTES:
            reservation.content = content
            self._senders[id(content)] += 1
            if not there:
                self.held += len(content)

    def leave(self, reservation: Reservation) -> None:
        """The request is answered, or given up."""
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
            self.held -= len(content)

    def _make_room(self, reservation: Reservation, size: int, more: int) -> None:
        if self.held > reservation.size and size > SMALL_BYTES and self.held + more > self._max_bytes:
            self._refused()
            raise Overloaded(
                "The bodies and answers of other requests take all the memory there is for them. "
                "Try again a little later.",
                retry_after_s=self._retry_after_s(),
            )

    def _resize(self, reservation: Reservation, size: int, *, large: bool) -> None:
        self.held += size - reservation.size
        reservation.size = size
        if large and reservation not in self._large:
            reservation.since = self._clock()
            self._large.add(reservation)

    def _retry_after_s(self) -> int:
        """When there may be room: large ones stay as usual, or as long again as they are there already.

        It is spread from half to one and a half of that, so that not all who were refused come back at once.
        """
        now = self._clock()
        ages = [now - reservation.since for reservation in self._large]
        wait = max(self._usual_s, sum(ages) / max(len(ages), 1))
        self._spread = (self._spread + GOLDEN) % 1.0
        return math.ceil(min((0.5 + self._spread) * wait, LONGEST_WAIT_S)) or 1


@dataclass(slots=True, eq=False)
class Reservation:
    """One request: how many bytes it holds, and the content that it is sent with others."""

    budget: ByteBudget
    size: int = 0
    since: float = 0.0
    content: bytes | None = None

    def leave(self) -> None:
        """It holds nothing any more; more than once does no harm."""
        self.budget.leave(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.leave()


async def receive_body(
    receive: Receive,
    content_length: str | None,
    max_bytes: int,
    reservation: Reservation,
) -> bytearray:
    """The whole body; `reservation` counts it.

    Raises
    ------
        BodyTooLarge: more than `max_bytes` are declared, or come.
        Overloaded: with the bodies of others it would take too much memory.
        ClientDisconnect: the client left before the end.
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
    """Return when the client has left."""
    while (await receive())["type"] != "http.disconnect":
        pass


def _too_large(max_bytes: int) -> BodyTooLarge:
    return BodyTooLarge(f"The body is larger than {max_bytes:,} bytes, which is the most this server takes.")
