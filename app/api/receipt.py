"""Receiving a body: streamed, counted, and refused as soon as it is too large."""

from __future__ import annotations

from starlette.requests import ClientDisconnect
from starlette.types import Receive

from app.errors import BodyTooLarge, MalformedBody


async def receive_body(receive: Receive, content_length: str | None, max_bytes: int) -> bytearray:
    """The whole body.

    Raises
    ------
        BodyTooLarge: more than `max_bytes` are declared, or come.
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
        body += message.get("body", b"")
        if len(body) > max_bytes:
            raise _too_large(max_bytes)
        if not message.get("more_body", False):
            return body


async def disconnected(receive: Receive) -> None:
    """Return when the client has left."""
    while (await receive())["type"] != "http.disconnect":
        pass


def _too_large(max_bytes: int) -> BodyTooLarge:
    return BodyTooLarge(f"The body is larger than {max_bytes:,} bytes, which is the most this server takes.")
