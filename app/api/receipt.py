"""Receiving a body: streamed, counted, and refused as soon as it is too large."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from starlette.requests import ClientDisconnect
from starlette.types import Receive

from app.api.body_digest import BodyDigest
from app.errors import BodyTooLarge, MalformedBody, Overloaded

SMALL_BYTES = 131_072  # a body of this size always finds room: large ones do not shut out small tests


class Room:
    """Room for the bodies of all requests that are being received or answered, in bytes.

    A body that is larger than small and finds no room is refused, unless it is the only one there; `refused` is told.
    """

    def __init__(self, max_bytes: int, refused: Callable[[], None] = lambda: None) -> None:
        self.held = 0
        self._max_bytes = max_bytes
        self._refused = refused

    @contextmanager
    def guest(self) -> Iterator[Guest]:
        """The place of one body, until its request is answered."""
        guest = Guest(self)
        try:
            yield guest
        finally:
            self.held -= guest.size

    def take(self, guest: Guest, size: int) -> None:
        """So many bytes more.

        Raises
        ------
            Overloaded: there is no room.
        """
        others = self.held - guest.size
        if others and guest.size + size > SMALL_BYTES and self.held + size > self._max_bytes:
            self._refused()
            raise Overloaded(
                "The bodies of other requests take all the memory there is for them. Try again a little later."
            )
        guest.size += size
        self.held += size


@dataclass(slots=True, eq=False)
class Guest:
    """One body, and how many bytes of it are there."""

    room: Room
    size: int = 0


async def receive_body(
    receive: Receive,
    content_length: str | None,
    max_bytes: int,
    guest: Guest,
    digest: BodyDigest | None = None,
) -> bytearray:
    """The whole body; `guest` counts it, `digest` takes part in it.

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
        guest.room.take(guest, len(piece))
        body += piece
        if digest is not None:
            await digest.take(piece)
        if not message.get("more_body", False):
            return body


async def disconnected(receive: Receive) -> None:
    """Return when the client has left."""
    while (await receive())["type"] != "http.disconnect":
        pass


def _too_large(max_bytes: int) -> BodyTooLarge:
    return BodyTooLarge(f"The body is larger than {max_bytes:,} bytes, which is the most this server takes.")
