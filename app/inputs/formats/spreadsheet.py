"""Spreadsheets are recognised by their first bytes and refused in words: which sheet and which cells would be a guess."""

from __future__ import annotations

from collections.abc import Mapping

from ...errors import InvalidTest
from .source import Source

COMPOUND = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"  # .xls
LOCAL_FILE = b"PK\x03\x04"  # .xlsx and .ods are ZIP archives: APPNOTE.TXT, 4.3.7
NAME_LENGTH, NAME = 26, 30
OFFICE = (b"[Content_Types].xml", b"_rels/", b"docProps/", b"xl/")
OPEN_DOCUMENT = b"mimetypeapplication/vnd.oasis.opendocument"


def refuse_spreadsheets(files: Mapping[str, Source]) -> None:
    """Refuse .xls, .xlsx and .ods; raises InvalidTest."""
    for source in files.values():
        if _is_spreadsheet(source.content):
            detail = f"{source.label}: this is a spreadsheet. Save its sheet as CSV, and send that."
            raise InvalidTest.at(source.pointer, "spreadsheet", detail)


def _is_spreadsheet(content: bytes) -> bool:
    if content.startswith(COMPOUND):
        return True
    if not content.startswith(LOCAL_FILE):
        return False
    length = int.from_bytes(content[NAME_LENGTH : NAME_LENGTH + 2], "little")
    first = content[NAME : NAME + length]
    return first.startswith(OFFICE) or content[NAME:].startswith(OPEN_DOCUMENT)
