"""Content codings undone: gzip and zstd, one at a time, and never beyond a cap on the inflated size.

A body is inflated piece by piece and given up as soon as it is over the cap: a small body that would become a large
one costs no more than the cap.
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Iterator
from typing import Protocol

from app.errors import BodyTooLarge, MalformedBody, UnsupportedMedia

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

GZIP_MAGIC = b"\x1f\x8b"
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
PIECE_BYTES = 2**18
GZIP_WINDOW_BITS = 16 + zlib.MAX_WBITS  # 16: with gzip's header and checksum, not zlib's
# RFC 9659: in HTTP a zstd window is at most 8 MB. It is the memory that a stranger's body may claim.
ZSTD_WINDOW_LOG = 23
CODINGS = ("gzip", "zstd")
# What follows a member is copied, so a body of nothing but members would cost the square of its size.
MAX_MEMBERS = 1000


class _Decoder(Protocol):
    """What both codings look like from here."""

    def pieces(self, body: bytes) -> Iterator[bytes]: ...


class _Gzip:
    """RFC 1952: one or more members end to end."""

    def pieces(self, body: bytes) -> Iterator[bytes]:
        rest = body
        for _ in range(MAX_MEMBERS):
            if not rest:
                return
            member = zlib.decompressobj(GZIP_WINDOW_BITS)
            try:
                while not member.eof:
                    piece = member.decompress(rest, PIECE_BYTES)
                    rest = member.unconsumed_tail
                    if not piece and not rest and not member.eof:
                        raise MalformedBody("The gzip data is truncated: it ends in the middle of a member.")
                    yield piece
            except zlib.error as error:
                raise MalformedBody(f"The data is not valid gzip: {error}.") from None
            # Some writers pad with zeros to a block's end, and gzip itself lets them.
            rest = member.unused_data.lstrip(b"\0")
        if rest:
            raise MalformedBody(f"The gzip data has more than {MAX_MEMBERS} members; compress it in one go.")


class _Zstd:
    """RFC 8878: one or more frames end to end."""

    def pieces(self, body: bytes) -> Iterator[bytes]:
        rest = body
        options = {int(zstd.DecompressionParameter.window_log_max): ZSTD_WINDOW_LOG}
        for _ in range(MAX_MEMBERS):
            if not rest:
                return
            frame = zstd.ZstdDecompressor(options=options)
            try:
                while not frame.eof:
                    piece = frame.decompress(rest, PIECE_BYTES)
                    rest = b""
                    yield piece
                    if frame.needs_input:  # all of the body was given already
                        raise MalformedBody("The zstd data is truncated: it ends in the middle of a frame.")
            except zstd.ZstdError as error:
                raise MalformedBody(f"The data is not valid zstd: {error}.") from None
            rest = frame.unused_data
        if rest:
            raise MalformedBody(f"The zstd data has more than {MAX_MEMBERS} frames; compress it in one go.")


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
        raise UnsupportedMedia("Content codings on top of each other are not taken; give one: gzip or zstd.")
    if not codings:
        return bytes(body)
    coding = codings[0].removeprefix("x-")  # RFC 9110, section 8.4.1.3: x-gzip is gzip
    if coding not in CODINGS:
        raise UnsupportedMedia(f"This content coding is not taken; give {' or '.join(CODINGS)}, or none.")
    return _inflated(bytes(body), _Gzip() if coding == "gzip" else _Zstd(), max_bytes)


def inflated(content: bytes, *, max_bytes: int) -> bytes:
    """The content of a file, inflated if its first bytes say that it is gzip or zstd.

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


def _inflated(body: bytes, decoder: _Decoder, max_bytes: int) -> bytes:
    if not body:
        raise MalformedBody("There is no compressed data; the body is empty.")
    parts: list[bytes] = []
    size = 0
    for piece in decoder.pieces(body):
        size += len(piece)
        if size > max_bytes:
            raise BodyTooLarge(f"Inflated, this is more than the {max_bytes:,} bytes that are taken.")
        parts.append(piece)
    return b"".join(parts)
