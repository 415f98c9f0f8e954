"""Decompress gzip and zstd content codings, up to a limit on the inflated size, and the members of zip archives.

Output is produced piece by piece and refused as soon as it exceeds the limit, so that a decompression bomb costs no more than the
limit. Input is also passed in pieces: a decoder copies the bytes after the end of a member, so that passing the whole body would copy
it once for every member.
"""

from __future__ import annotations

import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from io import SEEK_CUR, BytesIO

from ..errors import BodyTooLarge, Flaw, MalformedBody
from .reader import DAMAGED, READABLE, Source

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
PIECE_BYTES = 2**18
GZIP_WINDOW_BITS = 16 + zlib.MAX_WBITS  # 16: with gzip's header and checksum, not zlib's
# RFC 9659: in HTTP a zstd window is at most 8 MB. It limits the memory that an untrusted body may claim.
ZSTD_WINDOW_LOG = 23
FED_BYTES = 2**16
# bgzip and pzstd start a new member for each block, so that large files have hundreds.
MAX_MEMBERS = 1000


def _gzip_member(source: BytesIO) -> Iterator[bytes]:
    """Inflate one member (RFC 1952)."""
    member = zlib.decompressobj(GZIP_WINDOW_BITS)
    rest = b""
    piece = b""
    while not member.eof:
        if not rest and len(piece) < PIECE_BYTES:  # the decoder holds no more output
            rest = source.read(FED_BYTES)
            if not rest:
                raise MalformedBody("The gzip data is truncated: it ends in the middle of a member.")
        piece = member.decompress(rest, PIECE_BYTES)
        rest = member.unconsumed_tail
        yield piece
    source.seek(-len(member.unused_data), SEEK_CUR)
    # Some writers pad with zeros to a block's end, and gzip itself lets them.
    while piece := source.read(FED_BYTES):
        if left := len(piece.lstrip(b"\0")):
            source.seek(-left, SEEK_CUR)
            return


def _zstd_frame(source: BytesIO) -> Iterator[bytes]:
    """Inflate one frame (RFC 8878)."""
    options = {int(zstd.DecompressionParameter.window_log_max): ZSTD_WINDOW_LOG}
    frame = zstd.ZstdDecompressor(options=options)
    while not frame.eof:
        piece = source.read(FED_BYTES) if frame.needs_input else b""
        if frame.needs_input and not piece:
            raise MalformedBody("The zstd data is truncated: it ends in the middle of a frame.")
        yield frame.decompress(piece, PIECE_BYTES)
    source.seek(-len(frame.unused_data), SEEK_CUR)


# The reader of one member of each coding, and the error of its library.
MEMBERS: Mapping[str, tuple[Callable[[BytesIO], Iterator[bytes]], type[Exception]]] = {
    "gzip": (_gzip_member, zlib.error),
    "zstd": (_zstd_frame, zstd.ZstdError),
}
CODINGS = tuple(MEMBERS)


def decode(body: bytes | bytearray, coding: str, *, max_bytes: int) -> bytes:
    """Remove a content coding, one of CODINGS; raises MalformedBody, and BodyTooLarge if the result exceeds `max_bytes`."""
    if not body:
        raise MalformedBody("There is no compressed data; the body is empty.")
    member, library_error = MEMBERS[coding]
    source, parts, size = BytesIO(body), [], 0
    for _ in range(MAX_MEMBERS):
        try:
            for piece in member(source):
                size += len(piece)
                if size > max_bytes:
                    raise BodyTooLarge(f"Inflated, this is more than the {max_bytes:,} bytes allowed.")
                parts.append(piece)
        except library_error as error:
            raise MalformedBody(f"The data is not valid {coding}: {error}.") from None
        if source.tell() == len(body):
            return b"".join(parts)
    raise MalformedBody(f"The {coding} data has more than {MAX_MEMBERS} members; compress it as one.")


def inflated(content: bytes, *, max_bytes: int) -> bytes:
    """The content of a file, inflated if its first bytes are those of gzip or zstd; raises as `decode` does."""
    for magic, coding in MAGIC.items():
        if content.startswith(magic):
            return decode(content, coding, max_bytes=max_bytes)
    return content


@dataclass(slots=True)
class Archive:
    """A file that is a zip archive. Members may unpack to `left` bytes in total; `hint` names tools that write readable archives."""

    source: Source
    left: int
    hint: str

    def opened(self) -> zipfile.ZipFile:
        """Open the archive; raises MalformedBody."""
        try:
            return zipfile.ZipFile(BytesIO(self.source.content))
        except DAMAGED:
            why = "the zip archive is damaged or truncated."
            raise self.source.malformed(1, "not_a_zip", why) from None

    def unpacked(self, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
        """Unpack a member; raises MalformedBody, BodyTooLarge, and InvalidTest if its compression method is not supported."""
        source, name = self.source, info.filename
        if info.file_size > self.left:
            raise source.too_large("unpacked, it is larger than allowed.")
        if info.compress_type not in READABLE:
            detail = f"{name[:80]} is compressed by method {info.compress_type}, and only stored and deflated members are read here. "
            raise source.refused("", "unsupported_compression", detail + self.hint, name)
        try:
            with archive.open(info) as member:
                # Without a size, read() would inflate the whole member before checking.
                content = member.read(info.file_size + 1)
        except DAMAGED:
            detail = f"{source.label}: the member {name[:80]} is damaged."
            raise MalformedBody(detail, flaws=(Flaw(source.at(name), "not_a_zip", detail),)) from None
        self.left -= len(content)
        return content
