"""An answer on its way: written slice by slice, none before the client has taken nearly all of the one before it.

A transport copies what the network does not take at once, so that answers written whole would be as many copies as there
are clients that do not read. In slices it holds one of each, and the loop turns between two of them.
"""

from __future__ import annotations

from collections.abc import Iterator

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from ..service.messages import RenderedResponse
from .request_body import SLICE_BYTES, Reservation
from .turns import Turns


class SlicedResponse(Response):
    """A rendered answer; its headers are the rendered ones and no others. `reservation` leaves when it is written."""

    def __init__(self, rendered: RenderedResponse, reservation: Reservation, turns: Turns) -> None:
        super().__init__(status_code=rendered.status)
        self.headers["content-length"] = str(rendered.size)
        for name, value in rendered.headers:
            self.headers[name] = value
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
    """The content in pieces of at most `SLICE_BYTES`; nothing but the piece is copied."""
    for part in (rendered.before, rendered.own, rendered.after):
        view = memoryview(part)
        for start in range(0, len(part), SLICE_BYTES):
            yield bytes(view[start : start + SLICE_BYTES])
