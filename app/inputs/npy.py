"""NumPy's .npy files: an N x 2 array of scores, or an N x 4 array of counts. Nothing is ever unpickled.

NumPy reads only the header, as a literal. Its shape is checked against the number of bytes before any array is made.
"""

from __future__ import annotations

import io
import math
import warnings
from dataclasses import dataclass
from tokenize import TokenError

import numpy as np
from numpy.lib import format as npy_format
from numpy.typing import NDArray

from ..engine.decimals import shortest_decimals
from ..errors import InvalidTest, MalformedBody
from ..statistics.paired import Column
from .delimited import CountTable, Table

READERS = {(1, 0): npy_format.read_array_header_1_0, (2, 0): npy_format.read_array_header_2_0}
MAX_HEADER_BYTES = 4_096
KINDS = "biuf"
INT64 = 2**63
MAX_KEY_BYTES = 4_000  # of one id


@dataclass(frozen=True, slots=True)
class Header:
    """The header of a .npy file."""

    shape: tuple[int, ...]
    fortran_order: bool
    dtype: np.dtype[np.generic]
    offset: int


def read(body: bytes | bytearray, *, may_be_missing: bool = False) -> Table | CountTable:
    """A table of two columns (scores of U and V) or of four (tp and incorrect of U, then of V).

    Raises MalformedBody: It is not a complete .npy file; InvalidTest: Its array is not N x 2 or N x 4 numbers, all finite
    but for scores that may be missing (NaN); pointers are `/<row>/<column>`, from zero.
    """
    rows = _rows(body, (2, 4), "N x 2 (u, v) or N x 4 (tp_u, incorrect_u, tp_v, incorrect_v)")
    columns = _columns(rows, may_be_missing=may_be_missing and rows.shape[1] == 2)
    if len(columns) == 2:
        return Table(columns[0], columns[1])
    return CountTable(
        {"tp": columns[0], "incorrect": columns[1]}, {"tp": columns[2], "incorrect": columns[3]}
    )


def read_columns(body: bytes | bytearray, width: int, *, may_be_missing: bool = False) -> list[Column]:
    """The columns of an N x `width` array, shape (N,) each, with NaN if values may be missing; raises as `read` does."""
    rows = _rows(body, (width,), f"N x {width:,}, a column for each system")
    return _columns(rows, may_be_missing=may_be_missing)


def _columns(rows: NDArray[np.generic], *, may_be_missing: bool) -> list[Column]:
    bad = np.zeros(rows.shape, dtype=bool)
    if rows.dtype.kind == "f":
        bad = np.isinf(rows) if may_be_missing else ~np.isfinite(rows)
    elif rows.dtype.kind == "u":
        bad = rows >= INT64  # type: ignore[operator]
    if bad.any():
        row, column = np.argwhere(bad)[0].tolist()
        if rows.dtype.kind == "u":
            raise InvalidTest.at(f"/{row}/{column}", "integer_too_large", "Too large for 64 bits.")
        raise InvalidTest.at(f"/{row}/{column}", "not_finite", "This number is not finite.")
    whole = np.ascontiguousarray(rows.T)
    if rows.dtype.kind != "f":
        return list(whole.astype(np.int64, copy=False))
    reals = whole.astype(np.float64, copy=False)
    if rows.dtype.itemsize < 8:
        reals = shortest_decimals(reals.ravel(), rows.dtype).reshape(reals.shape)
    return list(reals)


def read_vector(body: bytes | bytearray) -> Column:
    """One score per item, shape (N,), of an array of N or N x 1 numbers, NaN as it is; raises as `read` does, at `/<row>`."""
    header = _numeric(body)
    if len(header.shape) not in (1, 2) or header.shape[1:] not in ((), (1,)):
        detail = (
            "The array must be N numbers, one for each item; both systems in one array of N x 2 are one file."
        )
        raise InvalidTest.at("", "wrong_shape", detail)
    values = _flat(body, header)
    kind = values.dtype.kind
    if kind == "u" and int(values.max()) >= INT64:
        raise InvalidTest.at(f"/{int(values.argmax())}", "integer_too_large", "Too large for 64 bits.")
    if kind != "f":
        return np.ascontiguousarray(values, dtype=np.int64)
    reals = np.ascontiguousarray(values, dtype=np.float64)
    bad = np.flatnonzero(np.isinf(reals))
    if bad.size:
        raise InvalidTest.at(f"/{bad[0]}", "not_finite", "This number is not finite.")
    return reals if values.dtype.itemsize == 8 else shortest_decimals(reals, values.dtype)


def header_of(body: bytes | bytearray) -> Header:
    """The header, which is in the first bytes; raises MalformedBody as `read` does."""
    return _header(bytes(body[:MAX_HEADER_BYTES]))


def length(body: bytes | bytearray) -> int:
    """The length of the first axis by the header alone, 0 without one; raises MalformedBody as `read` does."""
    return next(iter(header_of(body).shape), 0)


def read_keys(body: bytes | bytearray) -> list[str]:
    """Ids or clusters, of an array of N texts or integers; raises as `read` does."""
    header = header_of(body)
    if header.dtype.kind not in "UiuS" or header.dtype.itemsize > MAX_KEY_BYTES or header.dtype.itemsize < 1:
        detail = "Ids and clusters must be texts or integers; objects are never unpickled."
        raise InvalidTest.at("", "unsupported_dtype", detail)
    if len(header.shape) != 1:
        raise InvalidTest.at("", "wrong_shape", "The array must be N ids, one for each item.")
    keys = _flat(body, header)
    try:
        return [key.decode() if isinstance(key, bytes) else str(key) for key in keys.tolist()]
    except (UnicodeDecodeError, ValueError):
        raise InvalidTest.at("", "not_utf8", "A text of the array is not valid Unicode.") from None


def _flat(body: bytes | bytearray, header: Header) -> NDArray[np.generic]:
    """The elements of an array end to end, not copied; raises MalformedBody, and InvalidTest where there are none."""
    data_bytes, shape = len(body) - header.offset, header.shape
    if math.prod(shape) * header.dtype.itemsize != data_bytes:
        claim = " x ".join(f"{length:,}" for length in shape)
        detail = f"The header claims {claim} elements of {header.dtype.itemsize} bytes; {data_bytes:,} bytes follow it."
        raise MalformedBody(detail)
    if shape[0] == 0:
        raise InvalidTest.at("", "no_items", "The array has no rows; there is nothing to test.")
    return np.frombuffer(body, dtype=header.dtype, offset=header.offset)


def _numeric(body: bytes | bytearray) -> Header:
    """The header of an array of numbers; raises InvalidTest for another."""
    header = header_of(body)
    if header.dtype.kind not in KINDS or header.dtype.itemsize > 8:
        detail = "The array must hold integers, booleans or floats of at most 64 bits; objects are never unpickled."
        raise InvalidTest.at("", "unsupported_dtype", detail)
    return header


def _rows(body: bytes | bytearray, widths: tuple[int, ...], needed: str) -> NDArray[np.generic]:
    """The array, not copied; its second axis has one of these lengths."""
    header = _numeric(body)
    if len(header.shape) != 2 or header.shape[1] not in widths:
        raise InvalidTest.at("", "wrong_shape", f"The array must be {needed}.")
    return _flat(body, header).reshape(header.shape, order="F" if header.fortran_order else "C")


def _header(start: bytes) -> Header:
    stream = io.BytesIO(start)
    try:
        version = npy_format.read_magic(stream)
        if version not in READERS:
            raise MalformedBody(f"This is version {version[0]}.{version[1]} of .npy; 1.0 and 2.0 are read.")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # NumPy's warnings about old headers do not help the caller
            shape, fortran_order, dtype = READERS[version](stream, max_header_size=MAX_HEADER_BYTES)
    except (ValueError, TypeError, SyntaxError, TokenError, MemoryError, RecursionError):
        raise MalformedBody("This is not a .npy file with a readable header.") from None
    if any(type(length) is not int or length < 0 for length in shape):
        raise MalformedBody("The header's shape is not one of an array.")
    return Header(shape, fortran_order, dtype, stream.tell())
