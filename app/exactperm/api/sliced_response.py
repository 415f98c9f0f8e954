"""Large responses are sent in slices, each when the client has read nearly all of the previous one.

A transport buffers what the network does not accept at once, so that whole answers would be copied once per client that
does not read. With slices it buffers one at a time, and the event loop turns between them.
"""

from __future__ import annotations

from collections.abc import Iterator

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from ..service.messages import RenderedResponse
from .request_body import SLICE_BYTES, Reservation
from .turns import Turns


class SlicedResponse(Response):
    """A rendered answer with exactly its headers; `reservation` is released when it is sent."""

    def __init__(self, rendered: RenderedResponse, reservation: Reservation, turns: Turns) -> None:
        # Not by Response.__init__, which would look through all headers for each.
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
