"""Decompress content codings: gzip and zstd, one at a time, up to a limit on the inflated size.

A body is inflated piece by piece and refused as soon as it is over the limit, so that a small body that inflates to a
large one costs no more than the limit. It is also read piece by piece: a decoder copies the bytes after the end of a
member, so that a body given as a whole would be copied once for every member.
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Iterator
from typing import Protocol

from ..errors import BodyTooLarge, MalformedBody, UnsupportedMedia

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

GZIP_MAGIC = b"\x1f\x8b"
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
PIECE_BYTES = 2**18
GZIP_WINDOW_BITS = 16 + zlib.MAX_WBITS  # 16: with gzip's header and checksum, not zlib's
# RFC 9659: in HTTP a zstd window is at most 8 MB. It limits the memory that an untrusted body may claim.
ZSTD_WINDOW_LOG = 23
CODINGS = ("gzip", "zstd")
FED_BYTES = 2**16
# bgzip and pzstd start a new member for each block, so that large files have hundreds.
MAX_MEMBERS = 1000


class _Source:
    """Compressed bytes, a piece at a time; bytes that a decoder did not use can be given back."""

    def __init__(self, body: bytes | bytearray) -> None:
        self._view = memoryview(body)
        self._at = 0

    @property
    def empty(self) -> bool:
        """Whether all was taken."""
        return self._at >= len(self._view)

    def take(self) -> memoryview:
        """The next piece; empty at the end."""
        piece = self._view[self._at : self._at + FED_BYTES]
        self._at += len(piece)
        return piece

    def give_back(self, size: int) -> None:
        """Return the last `size` bytes, which belong to what follows."""
        self._at -= size

    def skip_zeros(self) -> None:
        """Skip zero bytes."""
        while not self.empty:
            piece = self.take()
            left = len(bytes(piece).lstrip(b"\0"))
            if left:
                self.give_back(left)
                return


class _Decoder(Protocol):
    """The interface of both decoders."""

    def pieces(self, source: _Source) -> Iterator[bytes]: ...


class _Gzip:
    """RFC 1952: one or more members end to end."""

    def pieces(self, source: _Source) -> Iterator[bytes]:
        for _ in range(MAX_MEMBERS):
            if source.empty:
                return
            try:
                yield from self._member(source)
            except zlib.error as error:
                raise MalformedBody(f"The data is not valid gzip: {error}.") from None
            # Some writers pad with zeros to a block's end, and gzip itself lets them.
            source.skip_zeros()
        if not source.empty:
            raise MalformedBody(f"The gzip data has more than {MAX_MEMBERS} members; compress it as one.")

    def _member(self, source: _Source) -> Iterator[bytes]:
        member = zlib.decompressobj(GZIP_WINDOW_BITS)
        rest: bytes | memoryview = b""
        piece = b""
        while not member.eof:
            if not rest and len(piece) < PIECE_BYTES:  # nothing is left inside
                rest = source.take()
                if not rest:
                    raise MalformedBody("The gzip data is truncated: it ends in the middle of a member.")
            piece = member.decompress(rest, PIECE_BYTES)
            rest = member.unconsumed_tail
            yield piece
        source.give_back(len(member.unused_data))


class _Zstd:
    """RFC 8878: one or more frames end to end."""

    def pieces(self, source: _Source) -> Iterator[bytes]:
        for _ in range(MAX_MEMBERS):
            if source.empty:
                return
            try:
                yield from self._frame(source)
            except zstd.ZstdError as error:
                raise MalformedBody(f"The data is not valid zstd: {error}.") from None
        if not source.empty:
            raise MalformedBody(f"The zstd data has more than {MAX_MEMBERS} frames; compress it as one.")

    def _frame(self, source: _Source) -> Iterator[bytes]:
        options = {int(zstd.DecompressionParameter.window_log_max): ZSTD_WINDOW_LOG}
        frame = zstd.ZstdDecompressor(options=options)
        while not frame.eof:
            given: bytes | memoryview = source.take() if frame.needs_input else b""
            if frame.needs_input and not given:
                raise MalformedBody("The zstd data is truncated: it ends in the middle of a frame.")
            yield frame.decompress(given, PIECE_BYTES)
        source.give_back(len(frame.unused_data))


def decode(body: bytes | bytearray, content_encoding: str | None, *, max_bytes: int) -> bytes:
    """The body without its `Content-Encoding`.

    Raises
    ------
    UnsupportedMedia
        The coding is not gzip, zstd or identity, or there are several.
    MalformedBody
        The compressed data is truncated, damaged, or followed by something else.
    BodyTooLarge
        Inflated, it has more than `max_bytes` bytes.
    """
    names = [name.strip().lower() for name in (content_encoding or "").split(",")]
    codings = [name for name in names if name not in {"", "identity"}]
    if len(codings) > 1:
        raise UnsupportedMedia("Several content codings are not supported; give one: gzip or zstd.")
    if not codings:
        return bytes(body)
    coding = codings[0].removeprefix("x-")  # RFC 9110, section 8.4.1.3: x-gzip is gzip
    if coding not in CODINGS:
        raise UnsupportedMedia(f"This content coding is not supported; give {' or '.join(CODINGS)}, or none.")
    return _inflated(body, _Gzip() if coding == "gzip" else _Zstd(), max_bytes)


def inflated(content: bytes, *, max_bytes: int) -> bytes:
    """The content of a file, inflated if its first bytes are those of gzip or zstd.

    Raises
    ------
    MalformedBody, BodyTooLarge
        As for `decode`.
    """
    if content.startswith(GZIP_MAGIC):
        return _inflated(content, _Gzip(), max_bytes)
    if content.startswith(ZSTD_MAGIC):
        return _inflated(content, _Zstd(), max_bytes)
    return content


def _inflated(body: bytes | bytearray, decoder: _Decoder, max_bytes: int) -> bytes:
    if not body:
        raise MalformedBody("There is no compressed data; the body is empty.")
    parts: list[bytes] = []
    size = 0
    for piece in decoder.pieces(_Source(body)):
        size += len(piece)
        if size > max_bytes:
            raise BodyTooLarge(f"Inflated, this is more than the {max_bytes:,} bytes allowed.")
        parts.append(piece)
    return b"".join(parts)
