"""A Parquet file of flat columns as CSV: line 1 has their names, line n + 1 is row n. With records in it as JSON: line n is row n.

pyarrow reads it in small batches. What the footer declares is limited before: rows, values (of lists each of theirs), and
bytes; the text that is made of them while it is made. Repeated texts are kept once.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from pydantic_core import to_json

from ...errors import BodyTooLarge, InputError
from ..delimited import MAX_COLUMNS
from ..frame import refuse_more_rows
from .reader import ReaderOptions
from .source import Source
from .workbook import text_of, written

BATCH_ROWS = 4_096
LIST_ROWS = 64  # where rows may have any number of values
FOOTER_BYTES = 2**24
SECONDS_PER_VALUE = 4e-6  # measured: from the file to numbers that are paired
SECONDS_PER_INTEGER = 1e-7  # of two columns, u and v
MOST_ELEMENTS = 2 * MAX_COLUMNS  # of the schema; a column of lists has three
HEAD_BYTES = 16
FOOTER_HEAD = re.compile(rb"\x15[\x80-\xff]{0,4}[\0-\x7f]\x19\xfc([\x80-\xff]{0,4}[\0-\x7f])", re.DOTALL)
# The least that a row takes while it is read: two integers as arrays, two scores, ids beside them, two under other names, short texts.
INTEGERS_ROW_BYTES, COLUMNS_ROW_BYTES, IDS_ROW_BYTES, SCORES_ROW_BYTES, ROW_BYTES = 30, 90, 120, 140, 80
BOARD_ROW_BYTES = 90  # of whole numbers of two systems
BYTES = "BYTE_ARRAY"  # Parquet's texts and bytes
INDEX = "__index_level_0__"  # what pandas calls an index without a name


def csv_of(source: Source, options: ReaderOptions) -> tuple[bytes, str]:
    """All columns; raises as `workbook.as_text` does."""
    most = options.max_inflated_bytes
    try:
        opened = _opened(source, options)
        opened, rows = _measured(source, opened, most)
        if _has_records(opened):
            return _json_lines(source, opened, most, rows), "Parquet, whose rows are read as JSON objects."
        if _are_integers(opened):
            return _of_integers(source, opened, most), "Parquet."
        return written(source, _rows(opened, rows), most), "Parquet."
    except (InputError, MemoryError):
        raise
    except Exception:  # noqa: BLE001  (pyarrow raises errors of its own, and others)
        raise source.malformed(
            1, "not_parquet", "the Parquet file is damaged or of a kind that is not read."
        ) from None


def seconds(source: Source, options: ReaderOptions, *, board: bool) -> float:
    """Predicted seconds of reading a file and its table; raises as `csv_of` does, by the footer alone."""
    opened = _opened(source, options)
    quick = not board and _are_u_and_v(opened) and _are_integers(opened)
    per_value = SECONDS_PER_INTEGER if quick else SECONDS_PER_VALUE
    return per_value * float(opened.metadata.num_rows * opened.metadata.num_columns)


def refuse_beyond(source: Source, options: ReaderOptions, most_bytes: int, *, board: bool) -> None:
    """Refuse a file whose rows, which its footer counts, take more memory than `most_bytes`; raises BodyTooLarge.

    Only what is certain to is refused: the bytes of a row are the least that were measured.
    """
    opened = _opened(source, options)
    if opened.metadata.num_rows * _row_bytes(opened, source.role, board=board) > most_bytes:
        detail = f"to read its {opened.metadata.num_rows:,} rows takes more memory than a worker may use. "
        detail += "Give whole numbers in two columns u and v, .npy of shape (n, 2), or fewer rows."
        raise source.too_large(detail)


def _row_bytes(opened: Any, role: str, *, board: bool) -> int:
    names = opened.schema_arrow.names
    if board:
        return BOARD_ROW_BYTES
    if _are_u_and_v(opened):
        return INTEGERS_ROW_BYTES if _are_integers(opened) else COLUMNS_ROW_BYTES
    if "id" in names:
        return IDS_ROW_BYTES
    return SCORES_ROW_BYTES if len(names) == 2 and role == "file" else ROW_BYTES


def _are_u_and_v(opened: Any) -> bool:
    """Whether the columns are those that are read without options, as whole columns."""
    names: list[str] = opened.schema_arrow.names
    return names == ["u", "v"]


def _opened(source: Source, options: ReaderOptions) -> Any:
    """The file, if what its footer declares is not too large.

    The parts of columns are not asked: where a footer is damaged, pyarrow ends the process instead of raising an error.
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
    if (
        max(_declared(about), about.num_rows * max(about.num_columns, _width(opened)))
        > options.max_inflated_bytes
    ):
        raise source.too_large("unpacked, the table is larger than allowed.")
    return opened


def _too_wide(source: Source) -> InputError:
    detail = f"there are more than {MAX_COLUMNS:,} columns, which is more than a table may have."
    return source.refused(1, "too_many_columns", detail)


def _elements(head: bytes) -> int:
    """How many columns and parts of columns a footer declares, by its first bytes; 0 where these are no footer's.

    FileMetaData (parquet.thrift) begins with the version, an integer, and the list of the schema's elements, in Thrift's
    compact protocol: a byte of each field's number and type, the length of a list above its type, or 15 and a varint.
    """
    found = FOOTER_HEAD.match(head)
    if found is None:
        return 0
    return sum((byte & 127) << 7 * place for place, byte in enumerate(found[1]))


def _declared(about: Any) -> int:
    """The bytes of all values as they are coded, not compressed."""
    return sum(about.row_group(index).total_byte_size for index in range(about.num_row_groups))


def _width(opened: Any) -> int:
    """The bytes of a row's texts that all have one length."""
    return sum(max(opened.schema.column(index).length, 0) for index in range(len(opened.schema)))


def _has_records(opened: Any) -> bool:
    """Whether a column holds records, as lighteval's `metric` does: a table has none."""
    import pyarrow as pa

    return any(pa.types.is_struct(field.type) for field in opened.schema_arrow)


def _json_lines(source: Source, opened: Any, max_bytes: int, rows: int) -> bytes:
    """Every row as an object on a line; what is not a number is null."""
    stream = io.BytesIO()
    for batch in opened.iter_batches(rows, use_threads=False):
        for row in batch.to_pylist():
            stream.write(to_json(row, inf_nan_mode="null", fallback=text_of) + b"\n")
            if stream.tell() > max_bytes:
                raise BodyTooLarge(f"{source.label}: as text, the table is larger than allowed.")
    if not stream.tell():
        raise source.empty()
    return stream.getvalue()


def _texts(opened: Any) -> list[str]:
    """The columns of texts."""
    import pyarrow as pa

    is_text = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    return [field.name for field in opened.schema_arrow if any(check(field.type) for check in is_text)]


def _leaves(opened: Any) -> list[str]:
    """The paths of all texts and bytes, in lists and records, too."""
    return [
        leaf.path
        for leaf in map(opened.schema.column, range(len(opened.schema)))
        if leaf.physical_type == BYTES
    ]


def _by_dictionary(opened: Any, content: bytes, columns: list[str]) -> Any:
    """The same file, read with each different text of these columns once."""
    import pyarrow as pa
    from pyarrow import parquet

    if not columns:
        return opened
    return parquet.ParquetFile(
        pa.BufferReader(content), read_dictionary=columns, page_checksum_verification=True
    )


def _measured(source: Source, opened: Any, most: int) -> tuple[Any, int]:
    """The file as its rows are read, and how many at a time; raises BodyTooLarge where texts and lists are too long.

    Of texts of which each but the first is coded as what it adds to another no dictionary can be made (DELTA_BYTE_ARRAY).
    None is longer than all that is coded, so that few rows at a time fit.
    """
    rows = LIST_ROWS if any(field.type.num_fields for field in opened.schema_arrow) else BATCH_ROWS
    try:
        _refuse_long(source, _by_dictionary(opened, source.content, _leaves(opened)), most, rows)
        return _by_dictionary(opened, source.content, _texts(opened)), rows
    except OSError:
        rows = min(rows, most // max(_declared(opened.metadata), 1))
        _refuse_long(source, opened, most, rows)
        return opened, rows


def _refuse_long(source: Source, opened: Any, most: int, rows: int) -> None:
    """Refuse texts that are too long together, and lists with too many values, of which the footer does not tell."""
    left = most
    if not _leaves(opened) and not any(field.type.num_fields for field in opened.schema_arrow):
        return
    for batch in opened.iter_batches(rows, use_threads=False):
        left -= sum(map(_size, batch.columns))
        if left < 0:
            raise source.too_large("as text, the table is larger than allowed.")


def _size(column: Any) -> int:
    """How many bytes a column has as text, at least: those of its texts, and two of each other value in lists and records."""
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


def _are_integers(opened: Any) -> bool:
    """Whether all columns hold integers, have names, and are no index."""
    import pyarrow as pa

    names = opened.schema_arrow.names
    return (
        INDEX not in names
        and all(name.strip() for name in names)
        and all(pa.types.is_integer(field.type) for field in opened.schema_arrow)
    )


def _of_integers(source: Source, opened: Any, most: int) -> bytes:
    """`written` of all rows, without a Python object for each value; of rows with empty fields by `written` itself."""
    from pyarrow import csv

    stream = io.BytesIO()
    stream.write(written(source, [opened.schema_arrow.names], most))
    bare = csv.WriteOptions(include_header=False)
    for batch in opened.iter_batches(BATCH_ROWS, use_threads=False):
        if any(column.null_count for column in batch.columns):
            return written(source, _rows(opened, BATCH_ROWS), most)
        csv.write_csv(batch, stream, bare)
        if stream.tell() > most:
            raise source.too_large("as text, the table is larger than allowed.")
    return stream.getvalue()


def _rows(opened: Any, rows: int) -> Iterator[Sequence[Any]]:
    schema = opened.schema_arrow
    names = [name for name in schema.names if name != INDEX]
    index = [INDEX] if INDEX in schema.names else []
    yield ["" for _ in index] + names
    for batch in opened.iter_batches(rows, use_threads=False):
        columns = [_values(batch.column(batch.schema.get_field_index(name))) for name in (*index, *names)]
        yield from zip(*columns, strict=True)


def _values(column: Any) -> list[Any]:
    """The values of a column; float32 as the decimals that it prints as, lists and records as JSON."""
    import pyarrow as pa

    if pa.types.is_float32(column.type) or pa.types.is_float16(column.type):
        return ["" if value is None else str(value) for value in column.to_numpy(zero_copy_only=False)]
    if pa.types.is_dictionary(column.type):
        texts = column.dictionary.to_pylist()  # each of them once, however often it is used
        return [None if at is None else texts[at] for at in column.indices.to_pylist()]
    return [
        json.dumps(value, default=text_of) if isinstance(value, list | dict | bytes) else value
        for value in column.to_pylist()
    ]
