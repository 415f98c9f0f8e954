"""The head of a request and a chunked body: httptools reads them, and anything that two programs could read differently
is refused.

RFC 9112 lets a recipient accept bare line feeds, folded headers, or a length beside a transfer coding; one of two
programs in a row may then see a request that the other does not (request smuggling, section 11.2).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import httptools

# Read here, since httptools only knows a list of methods. A target has no fragment (RFC 9112, 3.2): some programs would
# cut it off, others not.
REQUEST_LINE = re.compile(rb"([!#-'*+.^_`|~0-9A-Za-z-]+) ([\x21\x22\x24-\x7e]+) HTTP/(\d)\.(\d)\r\n")
ABSOLUTE = re.compile(rb"https?://([^/?]*)(.*)\Z", re.IGNORECASE)
HOST = re.compile(rb"[A-Za-z0-9._~%!$&'()*+,;=:\[\]-]*\Z")
UNCLEAR = re.compile(rb"(?<!\r)\n|\r(?=[^\n])|\n[ \t]|\0")
OTHER_CODING = re.compile(rb"\r\ntransfer-encoding:(?![ \t]*chunked[ \t]*\r)", re.IGNORECASE)
END = b"\r\n\r\n"
MAX_HEADERS = 100
MOST_DIGITS = 15


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a request is refused."""

    status: int
    reason: str
    detail: str


class Refused(Exception):
    """A request is refused; `refusal` says why."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.detail)
        self.refusal = refusal


NOT_HTTP = Refusal(400, "framing", "The request is not valid HTTP/1.1 (RFC 9112).")
NO_HOST = Refusal(400, "framing", "The Host header is not a valid host name.")
LARGE_HEAD = Refusal(431, "header_bytes", "The request line and headers are larger than this server allows.")
LINE_ENDS = Refusal(
    400, "framing", "Lines must end with CR and LF, and a header must be on one line (RFC 9112, 2.2 and 5.2)."
)
VERSION = Refusal(505, "framing", "This server supports HTTP/1.1 and HTTP/1.0.")
CODING = Refusal(501, "framing", "The only supported transfer coding is chunked.")
AMBIGUOUS = Refusal(400, "framing", "A transfer coding together with a length, or in HTTP/1.0, is ambiguous.")
TYPES = Refusal(400, "framing", "There are two Content-Type headers; send one.")


class RequestHead(NamedTuple):
    """A request without its body, which has `length` bytes, or is chunked if None."""

    method: bytes
    target: bytes
    version: str
    headers: list[tuple[bytes, bytes]]
    length: int | None
    closes: bool
    expects_continue: bool


class _Fields:
    """The fields of one head, from httptools."""

    def __init__(self) -> None:
        self.headers: list[tuple[bytes, bytes]] = []

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers.append((name.lower(), value.strip(b" \t")))


def unclear(there: bytearray, seen: int, stop: int) -> bool:
    """Whether two programs could split these lines differently; `seen` bytes have been looked at before."""
    if seen == 0 and there.endswith(
        b"\n", 0, stop
    ):  # nearly all heads: counting costs less than an expression
        ends = there.count(b"\r\n", 0, stop)
        odd = ends != there.count(b"\n", 0, stop) or ends != there.count(b"\r", 0, stop)
        return odd or any(there.find(fault, 0, stop) >= 0 for fault in (b"\n ", b"\n\t", b"\0"))
    return UNCLEAR.search(there, max(0, seen - 1), stop) is not None


def read_head(head: bytes) -> RequestHead:
    """Read a whole head with its empty line; raises Refused."""
    line = REQUEST_LINE.match(head)
    if line is None:
        raise Refused(NOT_HTTP)
    method, target, major, minor = line.groups()
    if major != b"1" or minor not in b"01":
        raise Refused(VERSION)
    fields = _Fields()
    parser = httptools.HttpRequestParser(fields)
    try:
        parser.feed_data(b"POST / HTTP/1.%b\r\n" % minor)
        parser.feed_data(head[line.end() :])
    except httptools.HttpParserUpgrade:
        pass  # declined: the answer is in HTTP/1.1 (RFC 9110, section 7.8)
    except httptools.HttpParserError:
        raise Refused(CODING if OTHER_CODING.search(head) else NOT_HTTP) from None
    values: dict[bytes, list[bytes]] = {}
    for name, value in fields.headers:
        values.setdefault(name, []).append(value)
    headers = fields.headers
    if whole := ABSOLUTE.match(target):  # its host replaces Host (RFC 9112, 3.2.2)
        host, path = whole.groups()
        target = path if path.startswith(b"/") else b"/" + path
        headers = [(name, host if name == b"host" else value) for name, value in headers]
        if not host or not HOST.match(host):
            raise Refused(NO_HOST)
    hosts = values.get(b"host", [])
    if len(hosts) > 1 or (not hosts and minor == b"1") or not HOST.match(b"".join(hosts)):
        raise Refused(NO_HOST)
    if len(headers) > MAX_HEADERS:
        raise Refused(LARGE_HEAD)
    if len(values.get(b"content-type", ())) > 1:
        raise Refused(TYPES)
    options = [
        option.strip() for value in values.get(b"connection", ()) for option in value.lower().split(b",")
    ]
    expects = [value.lower() for value in values.get(b"expect", ())]
    return RequestHead(
        method, target, f"1.{minor.decode()}", headers, _length(values, minor),
        minor == b"0" or b"close" in options, minor == b"1" and b"100-continue" in expects,
    )  # fmt: skip


def _length(values: dict[bytes, list[bytes]], minor: bytes) -> int | None:
    """The length of the body in bytes; None if it is chunked."""
    lengths = values.get(b"content-length", [])
    codings = values.get(b"transfer-encoding")
    if codings is not None:
        if minor == b"0" or lengths:
            raise Refused(AMBIGUOUS)
        if len(codings) > 1 or codings[0].lower() != b"chunked":
            raise Refused(CODING)
        return None
    if not lengths:
        return 0
    if len(lengths) > 1 or not lengths[0].isdigit() or len(lengths[0]) > MOST_DIGITS:
        raise Refused(NOT_HTTP)
    return int(lengths[0])


FREE_CHUNKS = 4_096  # this many chunks may have any size
FREE_CHUNKS_ANSWERED = 64  # once the request is answered
LEAST_MEAN_CHUNK = 32  # least mean bytes, if there are more of them
FREE_FRAMING_BYTES = 65_536  # of sizes, extensions and line ends; beyond it, at most twice the content
LAST = b"0" + END  # the last chunk, where there are no trailers
MOST_ENDS = 8  # places in a piece that look like the end of the body: content may have any number of them
SMALL_CHUNKS = Refusal(
    400,
    "small_chunks",
    f"The chunks of the body are too small: send at least {LEAST_MEAN_CHUNK} bytes in each on average, or a Content-Length.",
)


class ChunkedBody:
    """Reads one body; `over` once it is complete.

    A chunk costs the same time whether it holds a byte or a megabyte, so a body of very many small ones is refused.

    `rest` are the bytes after it in the same piece. httptools does not report where a body ended, so a piece is cut
    where it looks like an end; `followed` means that bytes after another end, after trailers, were lost.
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
        # A second parser, since that of the head stops if another protocol was offered.
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
        if not self.over and self._silent > self._most_trailer_bytes:  # a trailer that does not end
            raise Refused(LARGE_HEAD)
        if not self.over and self._wire - self._silent > FREE_FRAMING_BYTES + 3 * self._content:
            raise Refused(SMALL_CHUNKS)
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
        """Tighten the limits: the answer is written."""
        self._most_chunks = FREE_CHUNKS_ANSWERED
        self._chunks = self._content = self._wire = 0

    # httptools calls these; `feed_data` wraps their exceptions in HttpParserCallbackError.

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
