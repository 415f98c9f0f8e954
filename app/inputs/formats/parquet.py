"""A Parquet file of flat columns as CSV: line 1 has their names, line n + 1 is row n. With records in it as JSON: line n is row n.

pyarrow reads it in small batches. The rows times the columns and the sizes that the file declares are limited before, and
the text that is made of them while it is made; repeated texts are kept once.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Sequence
from typing import Any

from pydantic_core import to_json

from ...errors import BodyTooLarge, InputError
from ..delimited import MAX_COLUMNS
from .reader import ReaderOptions
from .source import Source
from .workbook import Kind, text_of, written

BATCH_ROWS = 4_096
INDEX = "__index_level_0__"  # what pandas calls an index without a name


def csv_of(source: Source, options: ReaderOptions) -> tuple[bytes, str]:
    """All columns; raises as `spreadsheet.as_text` does."""
    most = options.max_inflated_bytes
    try:
        opened = _opened(source, most)
        if _has_records(opened):
            return _json_lines(source, opened, most), "Parquet, whose rows are read as JSON objects."
        return written(source, _rows(source, opened), most), "Parquet."
    except (InputError, MemoryError):
        raise
    except Exception:  # noqa: BLE001  (pyarrow raises errors of its own, and others)
        raise source.malformed(
            1, "not_parquet", "the Parquet file is damaged or of a kind that is not read."
        ) from None


def _opened(source: Source, max_bytes: int) -> Any:
    """The file, if what it declares is not too large."""
    import pyarrow as pa
    from pyarrow import parquet

    opened = parquet.ParquetFile(pa.BufferReader(source.content))
    about = opened.metadata
    groups = [about.row_group(index) for index in range(about.num_row_groups)]
    declared = sum(
        group.column(column).total_uncompressed_size
        for group in groups
        for column in range(group.num_columns)
    )
    if declared > max_bytes or about.num_rows * about.num_columns > max_bytes:
        raise BodyTooLarge(f"{source.label}: unpacked, the table is larger than allowed.")
    if about.num_columns > MAX_COLUMNS:
        detail = f"there are more than {MAX_COLUMNS:,} columns, which is more than a table may have."
        raise source.refused(1, "too_many_columns", detail)
    return opened


def _has_records(opened: Any) -> bool:
    """Whether a column holds records, as lighteval's `metric` does: a table has none."""
    import pyarrow as pa

    return any(pa.types.is_struct(field.type) for field in opened.schema_arrow)


def _json_lines(source: Source, opened: Any, max_bytes: int) -> bytes:
    """Every row as an object on a line; what is not a number is null."""
    stream = io.BytesIO()
    for batch in opened.iter_batches(BATCH_ROWS, use_threads=False):
        for row in batch.to_pylist():
            stream.write(to_json(row, inf_nan_mode="null", fallback=text_of) + b"\n")
            if stream.tell() > max_bytes:
                raise BodyTooLarge(f"{source.label}: as text, the table is larger than allowed.")
    if not stream.tell():
        raise source.empty()
    return stream.getvalue()


def _rows(source: Source, opened: Any) -> Iterator[Sequence[Any]]:
    import pyarrow as pa
    from pyarrow import parquet

    schema = opened.schema_arrow
    names = [name for name in schema.names if name != INDEX]
    index = [INDEX] if INDEX in schema.names else []
    yield ["" for _ in index] + names
    texts = [
        field.name
        for field in schema
        if pa.types.is_string(field.type) or pa.types.is_large_string(field.type)
    ]
    opened = parquet.ParquetFile(pa.BufferReader(source.content), read_dictionary=texts)
    for batch in opened.iter_batches(BATCH_ROWS, use_threads=False):
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


KIND = Kind(csv_of)
