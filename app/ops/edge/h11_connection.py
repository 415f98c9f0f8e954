"""Where one request ends and the next begins: h11's reading, with no room left for two readings of the same bytes.

h11 takes what RFC 9112 allows. Here what two programs could read differently is refused besides (section 11.2, request
smuggling), and what is too large though it came in one piece; see `request_head`. h11's own reasons quote the request;
they are not passed on.

A chunk costs the same time whether it holds a byte or a megabyte, so that small ones are rationed: `allow` says how
many may be parsed before the others have their turn, and a body of very many small ones is refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import Enum, auto
from typing import Any, NoReturn

import h11

from .request_head import (
    LARGE_HEAD,
    LINE_ENDS,
    MAX_HEADERS,
    Refusal,
    examined,
    in_origin_form,
    unclear,
)

FREE_CHUNKS = 4_096  # so many may be of any size
FREE_CHUNKS_ANSWERED = 64  # once the request is answered
LEAST_MEAN_CHUNK = 32  # bytes, over more of them
FREE_FRAMING_BYTES = (
    2**16
)  # sizes, extensions and line ends of chunks; beyond it no more than there is content
NOT_HTTP = "The request is not what RFC 9112 calls HTTP/1.1."
SMALL_CHUNKS = Refusal(
    400,
    "small_chunks",
    f"The chunks of the body are too small: send at least {LEAST_MEAN_CHUNK} bytes in each on average, or a Content-Length.",
)
LAST_CHUNK = re.compile(rb"0+(?![0-9A-Fa-f])")
OF_HINT = {431: LARGE_HEAD, 501: Refusal(501, "framing", "Of transfer codings only chunked is known.")}


class Part(Enum):
    """What is read next of a message; OTHER is all that is not part of a body in chunks."""

    SIZE = auto()
    CONTENT = auto()
    TRAILERS = auto()
    OTHER = auto()


class Framing(h11.Connection):
    """A server's connection that tells what it reads: the head of a request, bytes of its body, the end of it.

    `interrupted` is True after an `h11.NEED_DATA` that means the allowance is used up: the rest is there already.
    `deferred` is True after one that means a request has come and may not begin now, as `may_begin` said of its head.
    """

    def __init__(
        self,
        max_header_bytes: int,
        on_head: Callable[[], None],
        on_body: Callable[[int], None],
        on_end: Callable[[], None],
        may_begin: Callable[[bytes], bool] = lambda _: True,
    ) -> None:
        super().__init__(h11.SERVER, max_incomplete_event_size=max_header_bytes)
        self.refusal: Refusal | None = None
        self.interrupted = False
        self.deferred = False
        self._max_header_bytes = max_header_bytes
        self._on_head = on_head
        self._on_body = on_body
        self._on_end = on_end
        self._may_begin = may_begin
        self._allowed = 0
        self._free_chunks = FREE_CHUNKS
        self._part = Part.OTHER
        self._clear = 0  # so much of an unfinished head is known to be clear
        self._chunks = self._content_bytes = self._wire_bytes = 0

    def allow(self, chunks: int) -> None:
        """So many chunks may be parsed from now on."""
        self._allowed = chunks

    def answered(self) -> None:
        """The body is read only to find its end: fewer small chunks are borne."""
        self._free_chunks = FREE_CHUNKS_ANSWERED
        self._chunks = self._content_bytes = self._wire_bytes = 0

    def receive_data(self, data: bytes) -> None:
        """Bytes from the client."""
        self._wire_bytes += len(data)
        super().receive_data(data)

    def next_event(self) -> Any:
        """The next event; raises h11.RemoteProtocolError, and `refusal` says why."""
        self.interrupted = self.deferred = False
        if self.their_state is h11.IDLE:
            return self._next_head()
        if self._part in (Part.SIZE, Part.TRAILERS):
            return self._next_chunk()
        return self._next()

    def _next(self) -> Any:
        """h11's next event."""
        try:
            event = super().next_event()
        except h11.RemoteProtocolError as error:
            self.refusal = OF_HINT.get(error.error_status_hint, Refusal(400, "framing", NOT_HTTP))
            raise
        if isinstance(event, h11.Data):
            self._content_bytes += len(event.data)
            if self._part is not Part.OTHER:
                self._part = Part.SIZE if event.chunk_end else Part.CONTENT
            self._on_body(len(event.data))
        elif isinstance(event, h11.EndOfMessage):
            self._part = Part.OTHER
            self._on_end()
        return event

    def _next_head(self) -> Any:
        there = self.trailing_data[0]
        end = there.find(b"\r\n\r\n")
        # Whole lines are looked at once; the line end before is looked at again, because a fold shows in what follows it.
        if unclear(there[self._clear : end + 4] if end >= 0 else there[self._clear :].removesuffix(b"\r")):
            self._refuse(LINE_ENDS)
        if end >= 0 and not self._may_begin(there[:16]):
            self.deferred = True
            return h11.NEED_DATA
        self._clear = max(0, there.rfind(b"\r\n")) if end < 0 else 0
        event = self._next()
        if not isinstance(event, h11.Request):
            return event
        chunked = examined(event, self._max_header_bytes)
        if isinstance(chunked, Refusal):
            self._refuse(chunked)
        request = in_origin_form(event)
        if isinstance(request, Refusal):
            self._refuse(request)
        self._part = Part.SIZE if chunked else Part.OTHER
        self._free_chunks = FREE_CHUNKS
        self._chunks = self._content_bytes = 0
        self._wire_bytes = len(there) - (end + 4)
        self._on_head()
        return request

    def _next_chunk(self) -> Any:
        if not self._allowed:
            self.interrupted = True
            return h11.NEED_DATA
        self._allowed -= 1
        there = self.trailing_data[0]
        size_line = _size_line(there) if self._part is Part.SIZE else None
        if size_line is not None and b"\r" in size_line:
            self._refuse(LINE_ENDS)
        event = self._next()
        if isinstance(event, h11.Data):
            self._chunks += 1
            if self._chunks > self._free_chunks and self._content_bytes < LEAST_MEAN_CHUNK * self._chunks:
                self._refuse(SMALL_CHUNKS)
        elif isinstance(event, h11.EndOfMessage):
            begin = _begin(there) if size_line is not None else 0
            self._look_at_trailers(there[begin : len(there) - len(self.trailing_data[0])], event)
        elif self._wire_bytes > 2 * self._content_bytes + FREE_FRAMING_BYTES + self._max_header_bytes:
            self._refuse(SMALL_CHUNKS)
        elif size_line is not None:
            self._part = Part.TRAILERS if LAST_CHUNK.match(size_line) else Part.CONTENT
        return event

    def _look_at_trailers(self, lines: bytes, end: h11.EndOfMessage) -> None:
        if unclear(lines):
            self._refuse(LINE_ENDS)
        size = sum(len(name) + len(value) for name, value in end.headers)
        if size > self._max_header_bytes or len(end.headers) > MAX_HEADERS:
            self._refuse(LARGE_HEAD)

    def _refuse(self, refusal: Refusal) -> NoReturn:
        self.refusal = refusal
        raise h11.RemoteProtocolError(refusal.detail, error_status_hint=refusal.status)


def _begin(there: bytes) -> int:
    """Where a line with a chunk's size begins: after the line end of the chunk before, of which h11 may have taken half."""
    return len(there[:2]) - len(there[:2].lstrip(b"\r\n"))


def _size_line(there: bytes) -> bytes | None:
    """The line with a chunk's size; None until it is whole."""
    begin = _begin(there)
    end = there.find(b"\r\n", begin)
    return there[begin:end] if end >= 0 else None
