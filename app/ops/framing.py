"""Where one request ends and the next begins: h11's reading, with no room left for two readings of the same bytes.

h11 takes what RFC 9112 allows. Here what two programs could read differently is refused besides (section 11.2, request
smuggling): a length beside a transfer coding, a transfer coding in HTTP/1.0; and what is too large though it came in one
piece. h11's own reasons quote the request; they are not passed on.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import h11

HOST = re.compile(rb"[A-Za-z0-9._~%!$&'()*+,;=:\[\]-]*\Z")
MAX_HEADERS = 100
NOT_HTTP = "The request is not what RFC 9112 calls HTTP/1.1."
TOO_LARGE = "The request line and the headers are larger than this server takes."


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a request is not read any further."""

    status: int
    reason: str
    detail: str


OF_HINT = {
    431: Refusal(431, "header_bytes", TOO_LARGE),
    501: Refusal(501, "framing", "Of transfer codings only chunked is known."),
}


class Framing(h11.Connection):
    """A server's connection that tells what it reads: the head of a request, bytes of its body, the end of it."""

    def __init__(
        self,
        max_header_bytes: int,
        on_head: Callable[[], None],
        on_body: Callable[[int], None],
        on_end: Callable[[], None],
    ) -> None:
        super().__init__(h11.SERVER, max_incomplete_event_size=max_header_bytes)
        self.refusal: Refusal | None = None
        self._max_header_bytes = max_header_bytes
        self._on_head = on_head
        self._on_body = on_body
        self._on_end = on_end

    def next_event(self) -> Any:
        """The next event; raises h11.RemoteProtocolError, and `refusal` says why."""
        try:
            event = super().next_event()
        except h11.RemoteProtocolError as error:
            self.refusal = OF_HINT.get(error.error_status_hint, Refusal(400, "framing", NOT_HTTP))
            raise
        if isinstance(event, h11.Request):
            self.refusal = wrong(event, self._max_header_bytes)
            if self.refusal is not None:
                raise h11.RemoteProtocolError(self.refusal.detail, error_status_hint=self.refusal.status)
            self._on_head()
        elif isinstance(event, h11.Data):
            self._on_body(len(event.data))
        elif isinstance(event, h11.EndOfMessage):
            self._on_end()
        return event


def wrong(request: h11.Request, max_header_bytes: int) -> Refusal | None:
    """What is wrong with the head of a request that h11 lets pass."""
    size = len(request.method) + len(request.target)
    length = coding = False
    for name, value in request.headers:
        size += len(name) + len(value)
        if name == b"content-length":
            length = True
        elif name == b"transfer-encoding":
            coding = True
        elif name == b"host" and not HOST.match(value):
            return Refusal(400, "framing", "The Host header is not the name of a host.")
    if request.http_version not in (b"1.0", b"1.1"):
        return Refusal(505, "framing", "HTTP/1.1 and HTTP/1.0 are spoken here.")
    if size > max_header_bytes or len(request.headers) > MAX_HEADERS:
        return Refusal(431, "header_bytes", TOO_LARGE)
    if coding and (length or request.http_version != b"1.1"):
        return Refusal(
            400, "framing", "A transfer coding beside a length, or in HTTP/1.0, can be read in two ways."
        )
    return None
