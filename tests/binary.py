"""Bytes of arrays, Parquet files and workbooks."""

import io
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import openpyxl
import pyarrow as pa
from pyarrow import parquet


def written(write: Callable[[io.BytesIO], Any]) -> bytes:
    """The bytes that a writer of streams writes."""
    stream = io.BytesIO()
    write(stream)
    return stream.getvalue()


def npy(values: Any, **options: Any) -> bytes:
    """Values as a .npy file."""
    return written(lambda stream: np.save(stream, values, **options))


def parquet_of(table: Mapping[str, Any] | list[dict[str, Any]], **options: Any) -> bytes:
    """Columns, or records, as a Parquet file."""
    rows = pa.Table.from_pylist(table) if isinstance(table, list) else pa.table(table)
    return written(lambda stream: parquet.write_table(rows, stream, **options))


def workbook(**sheets: Sequence[Sequence[Any]]) -> bytes:
    """Rows of sheets as an .xlsx workbook."""
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(list(row))
    return written(book.save)
