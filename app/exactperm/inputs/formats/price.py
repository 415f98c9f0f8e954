"""Predict the seconds of reading a file from its footer, directory, header or lines.

Files that declare more than the limits are refused here, so that they never wait in a queue. The rates were measured, from bytes to paired
items. They are means: files with lines of a few bytes take twice as long, those with long lines half.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Collection

from ...errors import BodyTooLarge
from ...extras import is_installed
from ..reader import ZIP_MAGIC, ReaderOptions, Source
from . import numpy_files, sample_logs, workbook

PER_LINE, PER_BYTE = 2e-6, 1e-7
PER_PLAIN_BYTE = 3e-8  # tables that are read as whole columns
PER_QUOTED_LINE = 4e-6  # tables and lines of JSON that are read line by line
PER_DOCUMENT_BYTE = 4e-7  # one JSON document
PER_UNPACKED_BYTE = 3e-7
PER_NUMBER = 1.5e-6  # an array
PER_WHOLE_ROW = 1e-8  # an array with a column for each system
PER_SHORT_ROW = 2e-7  # floats of less than 64 bits
PER_DIRECTORY_BYTE = 2.5e-7
PLAIN = (b"id,", b"id\t")
END_OF_DIRECTORY, END_BYTES = b"PK\x05\x06", 2**16 + 22
# The largest directory of an archive whose sizes are added up; reading a larger one takes as long as reading the members.
DIRECTORY_BYTES = 2**20


def seconds(
    source: Source, options: ReaderOptions, *, board: bool = False, most_bytes: int | None = None
) -> float:
    """Predict the seconds of reading a file, of a `board` or of two systems; 0 if it is damaged, as its reader refuses it.

    Raises BodyTooLarge if the rows, as counted in the footer of a Parquet file, take more memory than `most_bytes`.
    """
    content = source.content
    try:
        if content.startswith(workbook.PARQUET):
            installed = is_installed(workbook.EXTRA)
            return workbook.seconds_of_parquet(source, options, most_bytes, board=board) if installed else 0.0
        if content.startswith(ZIP_MAGIC):
            return _of_archive(source, options)
        if content.startswith(numpy_files.MAGIC):
            return _of_array(content, len(content), options)
    except (BodyTooLarge, MemoryError):
        raise
    except Exception:  # noqa: BLE001  (libraries raise what they happen to meet)
        return 0.0
    return _of_text(content)


def of_body(body: bytes | bytearray) -> float:
    """Predict the seconds of reading a body that is not a form: JSON, and tables without quotes as whole columns."""
    # Finding a single byte is ten times faster than finding two, and most documents have one line.
    single = body.find(b"\n", 0, len(body) - 1) < 0
    lines = 0 if body[:1] == b"{" and (single or b"\n{" not in body) else body.count(b"\n")
    slow = lines if body.find(b'"') >= 0 else 0
    return PER_QUOTED_LINE * slow + PER_PLAIN_BYTE * len(body)


def _of_text(content: bytes) -> float:
    if content.startswith(PLAIN):
        return PER_PLAIN_BYTE * len(content)
    lines = content.count(b"\n")
    if content[:1] in {b"{", b"["} and lines < 2:
        return PER_DOCUMENT_BYTE * len(content)
    return PER_LINE * lines + PER_BYTE * len(content)


def _of_array(start: bytes, size: int, options: ReaderOptions) -> float:
    """Price an array: columns of both systems are used directly, other numbers one by one; `size` is the total in bytes."""
    shape, _, dtype, _ = numpy_files.header_of(start)
    rows = min(next(iter(shape), 0), size)
    if shape[1:] in ((), (1,)) or options.decimals is not None:
        return PER_NUMBER * rows
    return (PER_SHORT_ROW if dtype.kind == "f" and dtype.itemsize < 8 else PER_WHOLE_ROW) * rows


def _of_archive(source: Source, options: ReaderOptions) -> float:
    content = source.content
    size = _directory_bytes(content)
    priced = PER_DIRECTORY_BYTE * size
    if size > DIRECTORY_BYTES:
        return priced
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        infos = archive.infolist()
        is_read = _reader_of([info.filename for info in infos])
        infos = [info for info in infos if is_read(info.filename)]
        unpacked = sum(info.file_size for info in infos)
        if unpacked > options.max_inflated_bytes:
            raise source.too_large("unpacked, it is larger than allowed.")
        if is_read is _is_array and len(infos) <= numpy_files.MAX_MEMBERS:
            return priced + sum(_of_array(_start(archive, info), info.file_size, options) for info in infos)
    return priced + PER_UNPACKED_BYTE * unpacked


def _start(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    with archive.open(info) as member:
        return member.read(numpy_files.MAX_HEADER_BYTES)


def _is_array(name: str) -> bool:
    return name.endswith(numpy_files.SUFFIX)


def _directory_bytes(content: bytes) -> int:
    """The size of an archive's directory, by its end record (APPNOTE.TXT, 4.3.16)."""
    at = content.rfind(END_OF_DIRECTORY, -END_BYTES if len(content) > END_BYTES else 0)
    declared = int.from_bytes(content[at + 12 : at + 16], "little") if at >= 0 else 0
    return min(declared, len(content))


def _reader_of(names: Collection[str]) -> Callable[[str], bool]:
    """The members that the reader of an archive unpacks."""
    known = frozenset(names)
    if sample_logs.HEADER in known:
        return lambda name: sample_logs.is_read(name, known)
    if any(map(_is_array, known)):
        return _is_array
    return workbook.is_read
