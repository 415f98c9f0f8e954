"""Spreadsheets and Parquet files become CSV, which the readers of tables read: a line is a row of the sheet.

They are recognised by their first bytes. What cannot be read is refused with what to save it as: old and other
spreadsheets, Arrow files, and everything where the extra `tables` is not installed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ...errors import InvalidTest
from ...extras import is_installed, missing
from . import parquet, workbook
from .reader import ReaderOptions
from .source import Source

COMPOUND = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"  # .xls
LOCAL_FILE = b"PK\x03\x04"  # .xlsx and .ods are ZIP archives: APPNOTE.TXT, 4.3.7
NAME_LENGTH, NAME = 26, 30
OFFICE = (b"[Content_Types].xml", b"_rels/", b"docProps/", b"xl/")
OPEN_DOCUMENT = b"mimetypeapplication/vnd.oasis.opendocument"
PARQUET = b"PAR1"
ARROW = (b"ARROW1", b"FEA1")
EXTRA = "tables"


def as_text(files: Mapping[str, Source], options: ReaderOptions) -> tuple[dict[str, Source], tuple[str, ...]]:
    """The files, those of them that are tables in another form as CSV, and notes of which sheet was read.

    Raises
    ------
    MalformedBody, BodyTooLarge
        A file is damaged, or larger than allowed as CSV.
    InvalidTest
        It is of a kind that is not read here, a sheet must be chosen, or there is nothing to choose it from.
    """
    read: dict[str, Source] = {}
    notes: list[str] = []
    for role, source in files.items():
        kind = _kind(source.content)
        if kind is None:
            read[role] = source
            continue
        if not is_installed(EXTRA):
            detail = f"{source.label}: {missing(EXTRA)}. Or save the table as CSV, and give that."
            raise InvalidTest.at(source.pointer, "missing_extra", detail)
        content, note = kind.csv_of(source, options)
        notes.append(f"{source.label}: {note}")
        read[role] = replace(source, content=content)
    if options.sheet is not None and not any(
        _kind(source.content) is workbook.KIND for source in files.values()
    ):
        detail = "sheet chooses among those of a spreadsheet, and there is none."
        raise InvalidTest.at("/options/sheet", "unused_option", detail)
    return read, tuple(notes)


def _kind(content: bytes) -> workbook.Kind | None:
    """How a file is read; None for text and what is no table. Raises nothing: `refuse_others` does."""
    if content.startswith(PARQUET):
        return parquet.KIND
    return workbook.KIND if _first_member(content).startswith(OFFICE) else None


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
