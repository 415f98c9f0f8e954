"""The body of a request in chunks: content and trailers, with limits for what costs time and says little.

A chunk costs the same time whether it holds a byte or a megabyte, so a body of very many small ones is refused.
"""

from __future__ import annotations

from collections.abc import Iterator

import httptools

from .request_head import END, LARGE_HEAD, MAX_HEADERS, NOT_HTTP, Refusal, Refused

FREE_CHUNKS = 4_096  # this many may be of any size
FREE_CHUNKS_ANSWERED = 64  # after the request is answered
LEAST_MEAN_CHUNK = 32  # bytes, if there are more of them
FREE_FRAMING_BYTES = 65_536  # of sizes, extensions and line ends; beyond it no more than twice the content
LAST = b"0" + END  # the last chunk, where there are no trailers
MOST_ENDS = 8  # places in a piece that look like the end of the body: content may have any number of them
SMALL_CHUNKS = Refusal(
    400,
    "small_chunks",
    f"The chunks of the body are too small: send at least {LEAST_MEAN_CHUNK} bytes in each on average, or a Content-Length.",
)


class ChunkedBody:
    """Reads one body; `over` once it is complete.

    `rest` is what came behind it in the same piece. httptools does not say where a body ended, so a piece is cut where it
    looks like an end; `followed` says that something came behind another end, after trailers, and is lost.
    """

    def __init__(self, most_trailer_bytes: int) -> None:
        self.over = self.followed = False
        self.rest = b""
        self._tail = b""  # of the last piece
        self._most_trailer_bytes = most_trailer_bytes
        self._most_chunks = FREE_CHUNKS
        self._trailers = self._trailer_bytes = self._chunks = self._content = self._wire = self._silent = 0
        self._in_trailers = False
        self._parts: list[bytes] = []
        self._refusal = NOT_HTTP
        # A parser beside that of the head, which stops where another protocol was offered.
        self._parser = httptools.HttpRequestParser(self)
        self._parser.feed_data(b"POST / HTTP/1.1\r\ntransfer-encoding: chunked" + END)
        self._in_trailers = True

    def read(self, data: bytes) -> bytes:
        """The content in the next piece; raises Refused."""
        begin = 0
        try:
            for end in self._ends(data):
                self._parser.feed_data(data[begin:end])
                begin = end
                if self.over:
                    break
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            if not self.over:
                raise Refused(self._refusal) from None
            self.followed, begin = True, len(data)
        self.rest = data[begin:]
        self._wire += begin
        content = b"".join(self._parts)
        self._parts.clear()
        self._silent = 0 if content else self._silent + begin
        if not self.over and self._wire > FREE_FRAMING_BYTES + 3 * self._content:
            raise Refused(SMALL_CHUNKS)
        if not self.over and self._silent > self._most_trailer_bytes:  # a trailer that does not end
            raise Refused(LARGE_HEAD)
        return content

    def _ends(self, data: bytes) -> Iterator[int]:
        """Where the body may end in a piece, and the end of the piece."""
        before, joined = len(self._tail), self._tail + data
        self._tail = joined[1 - len(LAST) :]
        end = 0
        for _ in range(MOST_ENDS):
            start = joined.find(LAST, end)
            if start < 0:
                break
            end = start + len(LAST)
            yield end - before
        if end - before < len(data):
            yield len(data)

    def answered(self) -> None:
        """Bear less from now on: the answer is written."""
        self._most_chunks = FREE_CHUNKS_ANSWERED
        self._chunks = self._content = self._wire = 0

    # httptools calls these; what one raises comes out of `feed_data` as an HttpParserCallbackError.

    def on_header(self, name: bytes, value: bytes) -> None:
        """A trailer."""
        if not self._in_trailers:
            return
        self._trailers += 1
        self._trailer_bytes += len(name) + len(value)
        if self._trailer_bytes > self._most_trailer_bytes or self._trailers > MAX_HEADERS:
            self._refusal = LARGE_HEAD
            raise Refused(LARGE_HEAD)

    def on_chunk_header(self) -> None:
        """The size of a chunk, also of the last one, which has no content."""
        self._chunks += 1

    def on_body(self, body: bytes) -> None:
        """Some content."""
        self._content += len(body)
        self._parts.append(body)
        if self._chunks > self._most_chunks and self._content < LEAST_MEAN_CHUNK * (self._chunks - 1):
            self._refusal = SMALL_CHUNKS
            raise Refused(SMALL_CHUNKS)

    def on_message_begin(self) -> None:
        """The first byte, or the first of a next message."""
        self.followed = self.over

    def on_message_complete(self) -> None:
        """The end."""
        self.over = True
