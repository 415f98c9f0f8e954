"""Convert spreadsheets and Parquet files to CSV for the readers of tables: line n of the CSV is row n of the sheet.

Files are recognised by their first bytes. Others are refused with the format to save them as: old and other spreadsheets, Arrow files,
and all of these if the extra `tables` is not installed. openpyxl reads row by row. Its input is bounded: members are unpacked to their
declared sizes and no further, and their sum and the size of the text, to which every cell adds, are limited.
"""

from __future__ import annotations

import csv
import io
import json
import re
import warnings
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime, time
from typing import Any

from pydantic_core import to_json

from ...errors import BodyTooLarge, InputError, InvalidTest
from ...extras import is_installed, missing
from ..columns import MAX_COLUMNS
from ..frame import refuse_more_rows
from ..number_text import is_tiny, may_hold, refusal
from ..reader import DAMAGED, READABLE, ReaderOptions, Source, choose

# Parquet files

BATCH_ROWS = 4_096
LIST_ROWS = 64  # if rows may have any number of values
FOOTER_BYTES = 2**24
SECONDS_PER_VALUE = 4e-6  # measured: from the file to numbers that are paired
SECONDS_PER_INTEGER = 1e-7  # rate of two columns, u and v
MOST_ELEMENTS = 2 * MAX_COLUMNS  # elements of the schema; a column of lists has three
HEAD_BYTES = 16
FOOTER_HEAD = re.compile(rb"\x15[\x80-\xff]{0,4}[\0-\x7f]\x19\xfc([\x80-\xff]{0,4}[\0-\x7f])", re.DOTALL)
# The least memory of a row while it is read: two integers as arrays, two scores, ids beside them, two under other names, short texts.
INTEGERS_ROW_BYTES, COLUMNS_ROW_BYTES, IDS_ROW_BYTES, SCORES_ROW_BYTES, ROW_BYTES = 30, 90, 120, 115, 80
BOARD_ROW_BYTES = 90  # names of columns of whole numbers of two systems
U_AND_V = ["u", "v"]  # the columns that are read without options, as whole columns
BYTES = "BYTE_ARRAY"  # Parquet's texts and bytes
INDEX = "__index_level_0__"  # pandas' name of an unnamed index


def csv_of_parquet(source: Source, options: ReaderOptions) -> tuple[bytes, str]:
    """Read all columns; raises as `workbook.as_text` does."""
    most = options.max_inflated_bytes
    opened, rows = _measured(source, _opened(source, options), most)
    if _kind(opened) == "records":
        return _json_lines(source, opened, most, rows), "Parquet, whose rows are read as JSON objects."
    if _kind(opened) == "integers":
        return _of_integers(source, opened, most), "Parquet."
    return written(source, _rows_of_parquet(opened, rows), most), "Parquet."


def seconds_of_parquet(
    source: Source, options: ReaderOptions, most_bytes: int | None, *, board: bool
) -> float:
    """Predict the seconds of reading a file by its footer; refuse rows that are certain to take more memory than `most_bytes`."""
    opened = _opened(source, options)
    names, n = opened.schema_arrow.names, opened.metadata.num_rows
    if most_bytes is not None and n * _row_bytes(opened, source.role, board=board) > most_bytes:
        detail = f"reading its {n:,} rows takes more memory than a worker may use. "
        detail += "Give whole numbers in two columns u and v, .npy of shape (n, 2), or fewer rows."
        raise source.too_large(detail)
    quick = not board and names == U_AND_V and _kind(opened) == "integers"
    per_value = SECONDS_PER_INTEGER if quick else SECONDS_PER_VALUE
    return per_value * float(n * opened.metadata.num_columns)


def _row_bytes(opened: Any, role: str, *, board: bool) -> int:
    names = opened.schema_arrow.names
    if board:
        return BOARD_ROW_BYTES
    if names == U_AND_V:
        return INTEGERS_ROW_BYTES if _kind(opened) == "integers" else COLUMNS_ROW_BYTES
    if "id" in names:
        return IDS_ROW_BYTES
    return SCORES_ROW_BYTES if len(names) == 2 and role == "file" else ROW_BYTES


def _opened(source: Source, options: ReaderOptions) -> Any:
    """Open the file, if the sizes in its footer are within the limits.

    Column chunks are not queried: on a damaged footer, pyarrow ends the process instead of raising an error.
    """
    footer = int.from_bytes(source.content[-8:-4], "little")
    if footer > FOOTER_BYTES:
        raise source.too_large("its footer is larger than that of any table.")
    if _elements(source.content[-8 - footer :][:HEAD_BYTES]) > MOST_ELEMENTS:
        raise _too_wide(source)
    import pyarrow as pa
    from pyarrow import parquet

    opened = parquet.ParquetFile(pa.BufferReader(source.content), page_checksum_verification=True)
    about = opened.metadata
    if about.num_columns > MAX_COLUMNS:
        raise _too_wide(source)
    refuse_more_rows(source, opened.schema_arrow.names, about.num_rows, options)
    # The bytes of a row's texts of fixed length.
    width = sum(max(opened.schema.column(index).length, 0) for index in range(len(opened.schema)))
    size = max(_declared(about), about.num_rows * max(about.num_columns, width))
    if size > options.max_inflated_bytes:
        raise source.too_large("unpacked, the table is larger than allowed.")
    return opened


def _too_wide(source: Source) -> InputError:
    detail = f"there are more than {MAX_COLUMNS:,} columns, which is more than a table may have."
    return source.refused(1, "too_many_columns", detail)


def _elements(head: bytes) -> int:
    """The number of schema elements that a footer declares, by its first bytes; 0 if these are not a footer's.

    FileMetaData (parquet.thrift) begins with the version, an integer, and the list of the schema's elements, in Thrift's compact
    protocol: a byte of each field's number and type, the length of a list above its type, or 15 and a varint.
    """
    match = FOOTER_HEAD.match(head)
    if match is None:
        return 0
    return sum((byte & 127) << 7 * place for place, byte in enumerate(match[1]))


def _declared(about: Any) -> int:
    """The bytes of all values, encoded but not compressed."""
    return sum(about.row_group(index).total_byte_size for index in range(about.num_row_groups))


def _json_lines(source: Source, opened: Any, max_bytes: int, rows: int) -> bytes:
    """Write every row as an object on a line; NaN and infinities become null."""
    stream = io.BytesIO()
    for batch in opened.iter_batches(rows, use_threads=False):
        for row in batch.to_pylist():
            stream.write(to_json(row, inf_nan_mode="null", fallback=text_of) + b"\n")
            if stream.tell() > max_bytes:
                raise BodyTooLarge(f"{source.label}: as text, the table is larger than allowed.")
    if not stream.tell():
        raise source.empty()
    return stream.getvalue()


def _leaves(opened: Any) -> list[str]:
    """The paths of all texts and bytes, including those in lists and records."""
    return [
        leaf.path
        for leaf in map(opened.schema.column, range(len(opened.schema)))
        if leaf.physical_type == BYTES
    ]


def _by_dictionary(opened: Any, content: bytes, columns: list[str]) -> Any:
    """Reopen the file so that each distinct text of these columns is read once."""
    import pyarrow as pa
    from pyarrow import parquet

    if not columns:
        return opened
    return parquet.ParquetFile(
        pa.BufferReader(content), read_dictionary=columns, page_checksum_verification=True
    )


def _measured(source: Source, opened: Any, most: int) -> tuple[Any, int]:
    """The file to read rows from, and the rows per batch; raises BodyTooLarge if texts and lists are too long.

    Delta-coded texts (DELTA_BYTE_ARRAY) have no dictionary. No text is longer than all encoded bytes, which bounds the rows per batch.
    """
    import pyarrow as pa

    checks = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    rows = LIST_ROWS if any(field.type.num_fields for field in opened.schema_arrow) else BATCH_ROWS
    try:
        _refuse_long(source, _by_dictionary(opened, source.content, _leaves(opened)), most, rows)
        texts = [field.name for field in opened.schema_arrow if any(check(field.type) for check in checks)]
        return _by_dictionary(opened, source.content, texts), rows
    except OSError:
        rows = min(rows, most // max(_declared(opened.metadata), 1))
        _refuse_long(source, opened, most, rows)
        return opened, rows


def _refuse_long(source: Source, opened: Any, most: int, rows: int) -> None:
    """Refuse texts that are too long in total, and lists with too many values, as the footer does not declare these."""
    left = most
    if not _leaves(opened) and not any(field.type.num_fields for field in opened.schema_arrow):
        return
    for batch in opened.iter_batches(rows, use_threads=False):
        left -= sum(map(_size, batch.columns))
        if left < 0:
            raise source.too_large("as text, the table is larger than allowed.")


def _size(column: Any) -> int:
    """A lower bound of a column's bytes as text: those of its texts, and two for each other value in lists and records."""
    import pyarrow as pa
    from pyarrow import compute

    if pa.types.is_dictionary(column.type):
        lengths = compute.binary_length(column.dictionary).take(column.indices)
        return compute.sum(lengths).as_py() or 0
    if pa.types.is_map(column.type):
        first, last = column.offsets[0].as_py(), column.offsets[-1].as_py()
        inside = [column.keys.slice(first, last - first), column.items.slice(first, last - first)]
    elif column.type.num_fields:
        flat = column.flatten()
        inside = flat if isinstance(flat, list) else [flat]
    else:
        return 2 * len(column)
    return 2 * len(column) + sum(map(_size, inside))


def _kind(opened: Any) -> str:
    """The kind of columns: `records` if one holds objects, as lighteval's `metric` does; `integers` if all hold integers, have names, and are not an index; else `values`."""
    import pyarrow as pa

    fields = list(opened.schema_arrow)
    if any(pa.types.is_struct(field.type) for field in fields):
        return "records"
    named = INDEX not in opened.schema_arrow.names and all(field.name.strip() for field in fields)
    return "integers" if named and all(pa.types.is_integer(field.type) for field in fields) else "values"


def _of_integers(source: Source, opened: Any, most: int) -> bytes:
    """`written` of all rows without a Python object for each value; falls back to `written` if fields are empty."""
    from pyarrow import csv

    stream = io.BytesIO()
    stream.write(written(source, [opened.schema_arrow.names], most))
    bare = csv.WriteOptions(include_header=False)
    for batch in opened.iter_batches(BATCH_ROWS, use_threads=False):
        if any(column.null_count for column in batch.columns):
            return written(source, _rows_of_parquet(opened, BATCH_ROWS), most)
        csv.write_csv(batch, stream, bare)
        if stream.tell() > most:
            raise source.too_large("as text, the table is larger than allowed.")
    return stream.getvalue()


def _rows_of_parquet(opened: Any, rows: int) -> Iterator[Sequence[Any]]:
    schema = opened.schema_arrow
    names = [name for name in schema.names if name != INDEX]
    index = [INDEX] if INDEX in schema.names else []
    yield ["" for _ in index] + names
    for batch in opened.iter_batches(rows, use_threads=False):
        columns = [_values(batch.column(batch.schema.get_field_index(name))) for name in (*index, *names)]
        yield from zip(*columns, strict=True)


def _values(column: Any) -> list[Any]:
    """The values of a column; float32 as its shortest decimals, lists and records as JSON."""
    import pyarrow as pa

    if pa.types.is_float32(column.type) or pa.types.is_float16(column.type):
        return ["" if value is None else str(value) for value in column.to_numpy(zero_copy_only=False)]
    if pa.types.is_dictionary(column.type):
        texts = column.dictionary.to_pylist()  # each text once, however often it occurs
        return [None if at is None else texts[at] for at in column.indices.to_pylist()]
    return [
        json.dumps(value, default=text_of) if isinstance(value, list | dict | bytes) else value
        for value in column.to_pylist()
    ]


# Spreadsheets

COMPOUND = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"  # .xls
LOCAL_FILE = b"PK\x03\x04"  # .xlsx and .ods are ZIP archives: APPNOTE.TXT, 4.3.7
NAME_LENGTH, NAME = 26, 30
OFFICE = (b"[Content_Types].xml", b"_rels/", b"docProps/", b"xl/")
OPEN_DOCUMENT = b"mimetypeapplication/vnd.oasis.opendocument"
PARQUET = b"PAR1"
ARROW = (b"ARROW1", b"FEA1")
EXTRA = "tables"
MAX_MEMBERS = 1_000
# The limit for styles, names and relations, which are read as a whole, unlike sheets and strings.
MAX_PART_BYTES = 4 * 2**20
STREAMED = ("xl/worksheets/", "xl/sharedStrings")
NEVER_READ = ("xl/media/", "xl/embeddings/", "docProps/")
# A workbook needs no document type, which could define a large text by a small part.
DOCTYPE = b"<!DOCTYPE"
# The row and value of a cell, with a formula between them.
VALUE = re.compile(
    rb'\br="[A-Z]{1,3}([0-9]{1,7})"[^>]{0,200}>'
    rb"(?:<(?:\w{1,9}:)?f\b[^>]{0,200}>(?:[^<]{0,9000}</(?:\w{1,9}:)?f>)?)?<(?:\w{1,9}:)?v>([^<]{0,2000})<"
)
# Excel's limits.
MAX_ROWS = 1_048_576
MAX_CELL_CHARS = 32_767
MAX_GAP = 10_000


def as_text(files: Mapping[str, Source], options: ReaderOptions) -> tuple[dict[str, Source], tuple[str, ...]]:
    """Convert other tables among the files to CSV, and note which sheet was read; raises MalformedBody, BodyTooLarge, InvalidTest."""
    _refuse_others(files)
    read: dict[str, Source] = {}
    notes: list[str] = []
    for role, source in files.items():
        is_parquet = source.content.startswith(PARQUET)
        if not is_parquet and not _first_member(source.content).startswith(OFFICE):
            read[role] = source
            continue
        if not is_installed(EXTRA):
            detail = f"{source.label}: {missing(EXTRA)}. Or save the table as CSV, and give that."
            raise InvalidTest.at(source.pointer, "missing_extra", detail)
        try:
            content, note = (csv_of_parquet if is_parquet else csv_of)(source, options)
        except (InputError, MemoryError):
            raise
        except Exception:  # noqa: BLE001  (pyarrow and openpyxl raise errors of their own, and others)
            raise _damaged(source) from None
        notes.append(f"{source.label}: {note}")
        read[role] = replace(source, content=content)
    if options.sheet is not None and not any(
        _first_member(source.content).startswith(OFFICE) for source in files.values()
    ):
        detail = "sheet chooses a sheet of a spreadsheet, but there is no spreadsheet."
        raise InvalidTest.at("/options/sheet", "unused_option", detail)
    return read, tuple(notes)


def _refuse_others(files: Mapping[str, Source]) -> None:
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
    """The name of the first file in a ZIP archive; empty for other files."""
    if not content.startswith(LOCAL_FILE):
        return b""
    length = int.from_bytes(content[NAME_LENGTH : NAME_LENGTH + 2], "little")
    return content[NAME : NAME + length]


def csv_of(source: Source, options: ReaderOptions) -> tuple[bytes, str]:
    """The only sheet that is not empty, or the one named `sheet`; raises as `as_text` does."""
    _check(source, options.max_inflated_bytes)
    import openpyxl

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about unsupported features: validation, extensions
        book = openpyxl.load_workbook(
            io.BytesIO(source.content), read_only=True, data_only=True, keep_links=False
        )
        names = [sheet.title for sheet in book.worksheets if sheet.sheet_state == "visible"]
        name = _chosen(source, book, names, options)
        content = written(source, _rows(source, book[name]), options.max_inflated_bytes)
    return content, f'the sheet "{name[:40]}" was read; line n is its row n.'


def _damaged(source: Source) -> InputError:
    if source.content.startswith(PARQUET):
        return source.malformed(
            1, "not_parquet", "the Parquet file is damaged or of a kind that is not read."
        )
    why = "the workbook is damaged. Save its sheet as CSV, and give that."
    return source.malformed(1, "not_a_workbook", why)


def _check(source: Source, max_bytes: int) -> None:
    """Refuse workbooks that would be too large unpacked, or have a document type."""
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
        raise BodyTooLarge(f"{source.label}: {info.filename[:80]} is larger than any table needs.")
    if info.compress_type not in READABLE:
        raise _damaged(source)
    with archive.open(info) as part:
        content = part.read(info.file_size + 1)
    # Encodings other than UTF-8 would hide a document type.
    if info.filename.endswith((".xml", ".rels")) and (DOCTYPE in content or b"\0" in content):
        raise _damaged(source)
    # Cells that openpyxl would wrongly read as 0.
    sheet = content if info.filename.startswith(STREAMED[0]) and may_hold(content) else b""
    for cell in VALUE.finditer(sheet):
        if is_tiny(cell[2].decode(errors="replace")):
            raise refusal(source.line(int(cell[1])))


def _chosen(source: Source, book: Any, names: list[str], options: ReaderOptions) -> str:
    if options.sheet is not None:
        if options.sheet not in book.sheetnames:
            raise choose(source.pointer, "sheet", "sheet", names, "There is no such sheet. ")
        return options.sheet
    filled = [
        name for name in names
        if len(names) == 1 or any(value is not None for row in _rows(source, book[name]) for value in row)
    ]  # fmt: skip
    if not filled:
        raise source.empty()
    if len(filled) > 1:
        raise choose(source.pointer, "sheet", "sheet", filled)
    return filled[0]


def _rows(source: Source, sheet: Any) -> Iterable[Sequence[Any]]:
    sheet.reset_dimensions()  # the declared size of a sheet may be wrong
    empty = 0
    for number, row in enumerate(sheet.iter_rows(values_only=True), 1):
        empty = 0 if row else empty + 1
        if number > MAX_ROWS or empty > MAX_GAP:
            why = f"the sheet has more than {MAX_ROWS:,} rows, or {MAX_GAP:,} empty ones together."
            raise BodyTooLarge(f"{source.label}: {why}")
        if len(row) > MAX_COLUMNS:
            detail = f"there are more than {MAX_COLUMNS:,} cells, which is more than a table may have."
            raise source.refused(number, "too_many_columns", detail)
        if any(isinstance(value, str) and len(value) > MAX_CELL_CHARS for value in row):
            why = f"row {number:,} has a cell of more than {MAX_CELL_CHARS:,} characters."
            raise BodyTooLarge(f"{source.label}: {why}")
        yield row


def written(source: Source, rows: Iterable[Sequence[Any]], max_bytes: int) -> bytes:
    """Write rows as CSV lines: shorter rows are filled up, empty ones are empty lines; raises BodyTooLarge."""
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
    """The text of a cell: the shortest decimals of numbers, dates in ISO 8601, texts on one line."""
    if value is None:
        return ""
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    text = (
        " ".join(value.split("\n")).replace("\r", " ").replace("\0", " ") if isinstance(value, str) else value
    )
    return str(text)
