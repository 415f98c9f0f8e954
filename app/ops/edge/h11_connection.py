"""h11's parser, made strict: bytes that two programs could parse differently are refused.

h11 accepts what RFC 9112 allows. Messages that could be used for request smuggling (section 11.2) are refused here, and
heads that are too large though they arrived at once; see `request_head`. h11's own messages quote the request and are not
passed on.

A chunk costs the same time whether it holds a byte or a megabyte, so small ones are limited: `allow` sets how many may be
parsed before other connections have their turn, and a body of very many small ones is refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import Enum, auto
from typing import Any, NoReturn

import h11

from .h11_states import PlainConnection
from .plain_head import PlainHead, plain_head, request_of
from .request_head import (
    LARGE_HEAD,
    LINE_ENDS,
    MAX_HEADERS,
    Refusal,
    examined,
    in_origin_form,
    unclear,
)

FREE_CHUNKS = 4_096  # this many may be of any size
FREE_CHUNKS_ANSWERED = 64  # after the request is answered
LEAST_MEAN_CHUNK = 32  # bytes, if there are more of them
FREE_FRAMING_BYTES = (
    2**16
)  # of chunk sizes, extensions and line ends; beyond it no more than twice the content
NOT_HTTP = "The request is not valid HTTP/1.1 (RFC 9112)."
SMALL_CHUNKS = Refusal(
    400,
    "small_chunks",
    f"The chunks of the body are too small: send at least {LEAST_MEAN_CHUNK} bytes in each on average, or a Content-Length.",
)
LAST_CHUNK = re.compile(rb"0+(?![0-9A-Fa-f])")
OF_HINT = {431: LARGE_HEAD, 501: Refusal(501, "framing", "The only supported transfer coding is chunked.")}


class Part(Enum):
    """What is parsed next of a chunked message; OTHER outside a chunked body."""

    SIZE = auto()
    CONTENT = auto()
    TRAILERS = auto()
    OTHER = auto()


class Framing(PlainConnection):
    """A server's connection that reports what it parses: the head of a request, bytes of its body, its end.

    `interrupted` is True after an `h11.NEED_DATA` that means that the allowance is used up: more data is available.
    `deferred` is True after one that means that a request has arrived which `may_begin` does not allow to start yet.
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
        self._plain: PlainHead | None = None  # what `whole_request` has read and not taken
        self._clear = 0  # bytes of an unfinished head that are already checked
        self._chunks = self._content_bytes = self._wire_bytes = 0

    def allow(self, chunks: int) -> None:
        """Allow this many chunks to be parsed from now on."""
        self._allowed = chunks

    def answered(self) -> None:
        """From now on the body is read only to find its end: fewer small chunks are allowed."""
        self._free_chunks = FREE_CHUNKS_ANSWERED
        self._chunks = self._content_bytes = self._wire_bytes = 0

    @property
    def pending(self) -> bool:
        """Whether there is anything to parse."""
        return bool(self._receive_buffer) or self._receive_buffer_closed

    def receive_data(self, data: bytes) -> None:
        """Bytes from the client."""
        self._plain = None
        self._wire_bytes += len(data)
        super().receive_data(data)

    def next_event(self) -> Any:
        """The next event; on h11.RemoteProtocolError `refusal` is the reason."""
        self.interrupted = self.deferred = False
        if self.their_state is h11.IDLE:
            return self._next_head() if self.pending else h11.NEED_DATA
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
        plain, self._plain = self._plain, None
        if plain is None and end >= 0 and self._is_idle:
            plain = plain_head(there, self._max_header_bytes)
        if plain is not None:
            return self._begin_plainly(plain, there)
        # Complete lines are checked once; the line end before them again, because a fold shows in what follows it.
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
        self._begin(Part.SIZE if chunked else Part.OTHER, len(there) - (end + 4))
        return request

    def _begin(self, part: Part, wire_bytes: int) -> None:
        """A head is parsed, and that many bytes are there of what follows it, which begins with `part`."""
        self._part = part
        self._free_chunks = FREE_CHUNKS
        self._chunks = self._content_bytes = 0
        self._wire_bytes = wire_bytes
        self._on_head()

    def _begin_plainly(self, head: PlainHead, there: bytes) -> Any:
        """A request whose head has no surprises; its body is h11's."""
        if not self._may_begin(there[:16]):
            self.deferred = True
            return h11.NEED_DATA
        self._clear = 0
        self.take_head(head.method, head.end, head.length)
        self._begin(Part.OTHER, len(there) - head.end)
        return request_of(head)

    def whole_request(self) -> tuple[PlainHead, bytes] | None:
        """A request with a plain head and its body, if that is all there is and it may begin; else None.

        It stands for all the events of a request; None means no more than that they are to be had one by one.
        """
        if not self._is_idle or self._receive_buffer_closed:
            return None
        there = self.trailing_data[0]
        head = plain_head(there, self._max_header_bytes) if b"\r\n\r\n" in there else None
        if head is None:
            return None
        if len(there) != head.end + head.length or not self._may_begin(there[:16]):
            self._plain = head
            return None
        self.interrupted = self.deferred = False
        self._clear = 0
        self.take_whole(head.method)
        self._begin(Part.OTHER, head.length)
        self._content_bytes = head.length
        if head.length:
            self._on_body(head.length)
        self._on_end()
        return head, there[head.end :]

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
            self._check_trailers(there[begin : len(there) - len(self.trailing_data[0])], event)
        elif self._wire_bytes > 2 * self._content_bytes + FREE_FRAMING_BYTES + self._max_header_bytes:
            self._refuse(SMALL_CHUNKS)
        elif size_line is not None:
            self._part = Part.TRAILERS if LAST_CHUNK.match(size_line) else Part.CONTENT
        return event

    def _check_trailers(self, lines: bytes, end: h11.EndOfMessage) -> None:
        if unclear(lines):
            self._refuse(LINE_ENDS)
        size = sum(len(name) + len(value) for name, value in end.headers)
        if size > self._max_header_bytes or len(end.headers) > MAX_HEADERS:
            self._refuse(LARGE_HEAD)

    def _refuse(self, refusal: Refusal) -> NoReturn:
        self.refusal = refusal
        raise h11.RemoteProtocolError(refusal.detail, error_status_hint=refusal.status)


def _begin(there: bytes) -> int:
    """Where a chunk-size line begins: after the line end of the previous chunk, of which h11 may have consumed half."""
    return len(there[:2]) - len(there[:2].lstrip(b"\r\n"))


def _size_line(there: bytes) -> bytes | None:
    """The chunk-size line; None until it is complete."""
    begin = _begin(there)
    end = there.find(b"\r\n", begin)
    return there[begin:end] if end >= 0 else None
