"""Spreadsheets become CSV, which the readers of tables read: line n of it is row n of the sheet. So do Parquet files (`parquet`).

They are recognised by their first bytes. What cannot be read is refused with what to save it as: old and other spreadsheets,
Arrow files, and everything where the extra `tables` is not installed. openpyxl reads it row by row. What it reads is bounded before: members are unpacked to their declared sizes and no
further, their sum is limited, and so is the text that is made of them, in which every cell counts.
"""

from __future__ import annotations

import csv
import io
import re
import warnings
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime, time
from typing import Any

from ...errors import BodyTooLarge, InputError, InvalidTest
from ...extras import is_installed, missing
from .. import tiny_numbers
from ..delimited import MAX_COLUMNS
from .reader import ReaderOptions, choose
from .source import DAMAGED, READABLE, Source

COMPOUND = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"  # .xls
LOCAL_FILE = b"PK\x03\x04"  # .xlsx and .ods are ZIP archives: APPNOTE.TXT, 4.3.7
NAME_LENGTH, NAME = 26, 30
OFFICE = (b"[Content_Types].xml", b"_rels/", b"docProps/", b"xl/")
OPEN_DOCUMENT = b"mimetypeapplication/vnd.oasis.opendocument"
PARQUET = b"PAR1"
ARROW = (b"ARROW1", b"FEA1")
EXTRA = "tables"
MAX_MEMBERS = 1_000
# Styles, names and relations, which are read as a whole, unlike sheets and strings.
MAX_PART_BYTES = 4 * 2**20
STREAMED = ("xl/worksheets/", "xl/sharedStrings")
NEVER_READ = ("xl/media/", "xl/embeddings/", "docProps/")
# Nothing of a workbook needs a document type, with which a small part could define a large text.
DOCTYPE = b"<!DOCTYPE"
# A cell's row and value, with its formula between them.
VALUE = re.compile(
    rb'\br="[A-Z]{1,3}([0-9]{1,7})"[^>]{0,200}>'
    rb"(?:<(?:\w{1,9}:)?f\b[^>]{0,200}>(?:[^<]{0,9000}</(?:\w{1,9}:)?f>)?)?<(?:\w{1,9}:)?v>([^<]{0,2000})<"
)
# What Excel itself allows.
MAX_ROWS = 1_048_576
MAX_CELL_CHARS = 32_767
MAX_GAP = 10_000


def as_text(files: Mapping[str, Source], options: ReaderOptions) -> tuple[dict[str, Source], tuple[str, ...]]:
    """The files, those of them that are tables in another form as CSV, and notes of which sheet was read.

    Raises MalformedBody, BodyTooLarge: A file is damaged, or larger than allowed as CSV; InvalidTest: it is of a kind that is
    not read here, a sheet must be chosen, or there is nothing to choose it from.
    """
    read: dict[str, Source] = {}
    notes: list[str] = []
    for role, source in files.items():
        csv_of = _reader_of(source.content)
        if csv_of is None:
            read[role] = source
            continue
        if not is_installed(EXTRA):
            detail = f"{source.label}: {missing(EXTRA)}. Or save the table as CSV, and give that."
            raise InvalidTest.at(source.pointer, "missing_extra", detail)
        content, note = csv_of(source, options)
        notes.append(f"{source.label}: {note}")
        read[role] = replace(source, content=content)
    if options.sheet is not None and not any(
        _first_member(source.content).startswith(OFFICE) for source in files.values()
    ):
        detail = "sheet chooses among those of a spreadsheet, and there is none."
        raise InvalidTest.at("/options/sheet", "unused_option", detail)
    return read, tuple(notes)


def _reader_of(content: bytes) -> Callable[[Source, ReaderOptions], tuple[bytes, str]] | None:
    """What makes CSV of a file and a note of what was read; None for text and what is no table."""
    if content.startswith(PARQUET):
        from . import parquet

        return parquet.csv_of
    return csv_of if _first_member(content).startswith(OFFICE) else None


def refuse_others(files: Mapping[str, Source]) -> None:
    """Refuse tables of kinds that are not read: .xls, .ods, and Arrow's own; raises InvalidTest."""
    for source in files.values():
        first = _first_member(source.content)
        other = (first + source.content[NAME + len(first) :][: len(OPEN_DOCUMENT)]).startswith(OPEN_DOCUMENT)
        if source.content.startswith(COMPOUND) or other:
            detail = f"{source.label}: this is a spreadsheet of a kind that is not read. Save its sheet as CSV (or .xlsx), and give that."
            raise InvalidTest.at(source.pointer, "spreadsheet", detail)
        if source.content.startswith(ARROW):
            detail = (
                f"{source.label}: this is an Arrow file. Save the table as CSV or Parquet, and give that."
            )
            raise InvalidTest.at(source.pointer, "arrow_file", detail)


def _first_member(content: bytes) -> bytes:
    """The name of the first file in a ZIP archive; empty where it is none."""
    if not content.startswith(LOCAL_FILE):
        return b""
    length = int.from_bytes(content[NAME_LENGTH : NAME_LENGTH + 2], "little")
    return content[NAME : NAME + length]


def csv_of(source: Source, options: ReaderOptions) -> tuple[bytes, str]:
    """The only sheet with something in it, or that called `sheet`; raises as `as_text` does."""
    _check(source, options.max_inflated_bytes)
    import openpyxl

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what it does not support: validation, extensions
            book = openpyxl.load_workbook(
                io.BytesIO(source.content), read_only=True, data_only=True, keep_links=False
            )
            names = [sheet.title for sheet in book.worksheets if sheet.sheet_state == "visible"]
            name = _chosen(source, book, names, options)
            content = written(source, _rows(source, book[name]), options.max_inflated_bytes)
    except (InputError, MemoryError):
        raise
    except Exception:  # noqa: BLE001  (openpyxl raises what it happens to meet)
        raise _damaged(source) from None
    return content, f'the sheet "{name[:40]}" was read; line n is its row n.'


def _damaged(source: Source) -> InputError:
    return source.malformed(
        1, "not_a_workbook", "the workbook is damaged. Save its sheet as CSV, and give that."
    )


def _check(source: Source, max_bytes: int) -> None:
    """Refuse what would be too large unpacked, or has a document type."""
    try:
        with zipfile.ZipFile(io.BytesIO(source.content)) as archive:
            members = [info for info in archive.infolist() if is_read(info.filename)]
            if len(members) > MAX_MEMBERS or sum(info.file_size for info in members) > max_bytes:
                raise BodyTooLarge(f"{source.label}: unpacked, the workbook is larger than allowed.")
            for info in members:
                _check_part(source, archive, info)
    except DAMAGED:
        raise _damaged(source) from None


def is_read(name: str) -> bool:
    """Whether a member of a workbook is unpacked."""
    return not name.startswith(NEVER_READ)


def _check_part(source: Source, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> None:
    if info.file_size > MAX_PART_BYTES and not info.filename.startswith(STREAMED):
        raise BodyTooLarge(f"{source.label}: {info.filename[:80]} is larger than any that a table needs.")
    if info.compress_type not in READABLE:
        raise _damaged(source)
    with archive.open(info) as part:
        content = part.read(info.file_size + 1)
    # Other encodings than UTF-8 would hide it.
    if info.filename.endswith((".xml", ".rels")) and (DOCTYPE in content or b"\0" in content):
        raise _damaged(source)
    if info.filename.startswith(STREAMED[0]) and tiny_numbers.may_hold(content):
        _refuse_tiny(source, content)


def _refuse_tiny(source: Source, sheet: bytes) -> None:
    """Refuse cells that openpyxl would read as 0, though they are not."""
    for cell in VALUE.finditer(sheet):
        if tiny_numbers.is_tiny(cell[2].decode(errors="replace")):
            raise tiny_numbers.refusal(source.line(int(cell[1])))


def _chosen(source: Source, book: Any, names: list[str], options: ReaderOptions) -> str:
    if options.sheet is not None:
        if options.sheet not in book.sheetnames:
            raise choose(source.pointer, "sheet", "sheet", names, "There is no such sheet. ")
        return options.sheet
    filled = names if len(names) == 1 else [name for name in names if _has_cells(source, book[name])]
    if not filled:
        raise source.empty()
    if len(filled) > 1:
        raise choose(source.pointer, "sheet", "sheet", filled)
    return filled[0]


def _has_cells(source: Source, sheet: Any) -> bool:
    return any(any(value is not None for value in row) for row in _rows(source, sheet))


def _rows(source: Source, sheet: Any) -> Iterable[Sequence[Any]]:
    sheet.reset_dimensions()  # what a sheet says of its size need not be so
    empty = 0
    for number, row in enumerate(sheet.iter_rows(values_only=True), 1):
        empty = 0 if row else empty + 1
        if number > MAX_ROWS or empty > MAX_GAP:
            raise BodyTooLarge(
                f"{source.label}: the sheet has more than {MAX_ROWS:,} rows, or {MAX_GAP:,} empty ones together."
            )
        if len(row) > MAX_COLUMNS:
            detail = f"there are more than {MAX_COLUMNS:,} cells, which is more than a table may have."
            raise source.refused(number, "too_many_columns", detail)
        if any(isinstance(value, str) and len(value) > MAX_CELL_CHARS for value in row):
            raise BodyTooLarge(
                f"{source.label}: row {number:,} has a cell of more than {MAX_CELL_CHARS:,} characters."
            )
        yield row


def written(source: Source, rows: Iterable[Sequence[Any]], max_bytes: int) -> bytes:
    """Rows as CSV, a line each: rows shorter than the longest are filled up, empty ones are empty lines.

    Raises BodyTooLarge: they are longer than `max_bytes`.
    """
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    width = 0
    for row in rows:
        texts = [text_of(value) for value in row]
        while texts and not texts[-1] and len(texts) > width:
            texts.pop()
        width = width or len(texts)
        writer.writerow(texts + [""] * (width - len(texts)) if any(texts) else [])
        if stream.tell() > max_bytes:
            raise BodyTooLarge(f"{source.label}: as text, the table is larger than allowed.")
    content = stream.getvalue().encode("utf-8", "replace")
    if not content.strip():
        raise source.empty()
    if len(content) > max_bytes:
        raise BodyTooLarge(f"{source.label}: as text, the table is larger than allowed.")
    return content


def text_of(value: Any) -> str:
    """A cell as a table has it: numbers as short as they are the same, dates as ISO 8601 has them, texts on one line."""
    if value is None:
        return ""
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    return (
        " ".join(value.split("\n")).replace("\r", " ").replace("\0", " ")
        if isinstance(value, str)
        else str(value)
    )
