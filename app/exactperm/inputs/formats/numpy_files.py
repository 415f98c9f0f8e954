"""NumPy's files: arrays `.npy` of one, two or four columns, and archives `.npz` of arrays by name. Nothing is ever unpickled.

Two files have an array of N scores each; one file has N x 2 scores (u, v) or N x 4 counts (tp_u, incorrect_u, tp_v, incorrect_v).
An archive `.npz` has arrays by name: `u` and `v`, or in a file of one system `scores` (or its only other array), beside `ids` and
`clusters`. NumPy reads only the header of an array, as a literal; its shape is checked against the number of bytes before any
array is made.
"""

from __future__ import annotations

import io
import math
import warnings
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from tokenize import TokenError
from typing import Any

import numpy as np
from numpy.lib import format as npy_format
from numpy.typing import NDArray

from ...engine.decimals import shortest_decimals
from ...errors import BodyTooLarge, Flaw, InputError, InvalidTest, MalformedBody
from ...statistics.paired import Column, Counts, Pairing, Scores, StatisticSpec
from ..columns import to_decimals
from ..delimited import HEADERLESS_COUNTS, counts_of
from ..quoting import escaped, quoted
from .format import FirstLook, Format, Sign
from .number_text import NumberReader
from .outputs_by_id import MEAN, SystemOutputs, scores_reading
from .reader import DAMAGED, READABLE, ZIP_MAGIC, ReaderOptions, Reading, Source
from .roles import both

READERS = {(1, 0): npy_format.read_array_header_1_0, (2, 0): npy_format.read_array_header_2_0}
MAX_HEADER_BYTES = 4_096
NUMBERS, MAX_NUMBER_BYTES = "biuf", 8
KEYS, MAX_KEY_BYTES = "UiuS", 4_000  # of one id
INT64 = 2**63
ROLES = ("u", "v", "file")
USES = frozenset(("on_missing", "missing_range", "decimals", "clusters"))
MAGIC = b"\x93NUMPY"
SUFFIX = ".npy"
IDS, CLUSTERS = ("ids", "id"), ("clusters", "cluster")
SCORES = ("scores", "score", "values")
MAX_MEMBERS = 100
F1 = StatisticSpec("f1")


# Arrays


def table_of(body: bytes | bytearray, *, may_be_missing: bool = False) -> dict[str, Any]:
    """A table of two columns (scores of U and V) or of four (tp and incorrect of U, then of V).

    Raises MalformedBody: it is not a complete .npy file; InvalidTest: its array is not N x 2 or N x 4 numbers, all finite but
    for scores that may be missing (NaN); pointers are `/<row>/<column>`, from zero.
    """
    needed = "N x 2 (u, v) or N x 4 (tp_u, incorrect_u, tp_v, incorrect_v)"
    rows = _array(body, needed, lambda shape: len(shape) == 2 and shape[1] in (2, 4))
    columns = list(_numbers(rows, may_be_missing=may_be_missing and rows.shape[1] == 2))
    return dict(zip("uv", columns, strict=True)) if len(columns) == 2 else counts_of(columns)


def columns_of(body: bytes | bytearray, width: int, *, may_be_missing: bool = False) -> list[Column]:
    """The columns of an N x `width` array, shape (N,) each; NaN is refused unless values may be missing. Raises as `table_of`."""
    needed = f"N x {width:,}, a column for each system"
    rows = _array(body, needed, lambda shape: len(shape) == 2 and shape[1] == width)
    return list(_numbers(rows, may_be_missing=may_be_missing))


def vector_of(body: bytes | bytearray) -> Column:
    """One score per item, shape (N,), of an array of N or N x 1 numbers; NaN stays NaN. Raises as `table_of`, pointers are `/<row>`."""
    needed = "N numbers, one for each item; both systems in one array of N x 2 are one file"
    array = _array(body, needed, lambda shape: shape[1:] in ((), (1,)) and bool(shape))
    column: Column = _numbers(array.reshape(-1), may_be_missing=True)
    return column


def keys_of(body: bytes | bytearray) -> list[str]:
    """Ids or clusters, of an array of N texts or integers; raises as `table_of`."""
    keys = _array(body, "N ids, one for each item", lambda shape: len(shape) == 1, KEYS, MAX_KEY_BYTES)
    try:
        return [key.decode() if isinstance(key, bytes) else str(key) for key in keys.tolist()]
    except (UnicodeDecodeError, ValueError):
        raise InvalidTest.at("", "not_utf8", "A text of the array is not valid Unicode.") from None


def length_of(body: bytes | bytearray) -> int:
    """The length of the first axis by the header alone, 0 without one; raises MalformedBody as `table_of` does."""
    return next(iter(header_of(body)[0]), 0)


def _array(
    body: bytes | bytearray, needed: str, fits: Callable[[tuple[int, ...]], bool], kinds: str = NUMBERS, most: int = MAX_NUMBER_BYTES
) -> NDArray[Any]:  # fmt: skip
    """An array of a shape that fits, not copied."""
    shape, fortran_order, dtype, offset = header_of(body)
    if dtype.kind not in kinds or not 1 <= dtype.itemsize <= most:
        what = (
            "The array must hold integers, booleans or floats of at most 64 bits"
            if kinds == NUMBERS
            else "Ids and clusters must be texts or integers"
        )
        raise InvalidTest.at("", "unsupported_dtype", f"{what}; objects are never unpickled.")
    if not fits(shape):
        raise InvalidTest.at("", "wrong_shape", f"The array must be {needed}.")
    data_bytes = len(body) - offset
    if math.prod(shape) * dtype.itemsize != data_bytes:
        size = " x ".join(f"{length:,}" for length in shape)
        detail = (
            f"The header claims {size} elements of {dtype.itemsize} bytes; {data_bytes:,} bytes follow it."
        )
        raise MalformedBody(detail)
    if shape[0] == 0:
        raise InvalidTest.at("", "no_items", "The array has no rows; there is nothing to test.")
    return np.frombuffer(body, dtype=dtype, offset=offset).reshape(shape, order="F" if fortran_order else "C")


def _numbers(array: NDArray[Any], *, may_be_missing: bool) -> Any:
    """Numbers of 64 bits, columns first."""
    columns = np.ascontiguousarray(array.T)
    fine, code, detail = None, "not_finite", "This number is not finite."
    if array.dtype.kind == "f":
        fine = ~np.isinf(columns) if may_be_missing else np.isfinite(columns)
    elif array.dtype.kind == "u":
        fine, code, detail = columns < INT64, "integer_too_large", "Too large for 64 bits."
    if fine is not None and not fine.all():
        place = "/".join(map(str, np.argwhere(~fine.T)[0].tolist()))
        raise InvalidTest.at(f"/{place}", code, detail)
    if array.dtype.kind != "f":
        return columns.astype(np.int64, copy=False)
    reals = columns.astype(np.float64, copy=False)
    if array.dtype.itemsize < 8:
        return shortest_decimals(reals.ravel(), array.dtype).reshape(reals.shape)
    return reals


def header_of(body: bytes | bytearray) -> tuple[tuple[int, ...], bool, np.dtype[Any], int]:
    """Of the first bytes: shape, whether it is in Fortran's order, type, and where the elements begin; raises MalformedBody."""
    stream = io.BytesIO(bytes(body[:MAX_HEADER_BYTES]))
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
    return shape, fortran_order, dtype, stream.tell()


# Files


@dataclass(frozen=True, slots=True)
class Arrays:
    """The arrays of a file by name; that of a .npy has none."""

    source: Source
    members: dict[str, bytes]

    def find(self, names: tuple[str, ...]) -> str | None:
        """The first of these names that there is."""
        return next((name for name in names if name in self.members), None)


def read(files: Mapping[str, Source], options: ReaderOptions, format_: str) -> Reading:
    """Scores of two systems, or counts in one array of four columns."""
    notes: list[str] = []
    first, second = both(files, format_)
    arrays = [_arrays(source, options.max_inflated_bytes) for source in (first, second)]
    if first is second:
        if "" in arrays[0].members:
            return _table(arrays[0], options, notes, format_)
        names = ["u", "v"]
        for name in names:
            if name not in arrays[0].members:
                detail = f"{first.label}: there is no array {name}; a file of both systems has u and v, and may have ids and clusters."
                raise InvalidTest.at(first.at(name), "missing_field", detail)
    else:
        names = [_scores(own) for own in arrays]
    reader = NumberReader.of(options)
    u, v = (_outputs(own, name, reader, options) for own, name in zip(arrays, names, strict=True))
    clustered = any(cluster is not None for side in (u, v) for cluster in side.clusters)
    return scores_reading(u, v, options, notes, format_, clustered=clustered)


def _arrays(source: Source, max_bytes: int) -> Arrays:
    if not source.content.startswith(ZIP_MAGIC):
        return Arrays(source, {"": source.content})
    try:
        archive = zipfile.ZipFile(io.BytesIO(source.content))
    except DAMAGED:
        raise source.malformed(1, "not_a_zip", "the .npz archive is damaged or truncated.") from None
    members: dict[str, bytes] = {}
    with archive:
        infos = [info for info in archive.infolist() if info.filename.endswith(SUFFIX)]
        if len(infos) > MAX_MEMBERS:
            raise BodyTooLarge(f"{source.label}: the archive has more than {MAX_MEMBERS:,} arrays.")
        left = max_bytes
        for info in infos:
            name = info.filename.removesuffix(SUFFIX)
            if name in members:
                raise InvalidTest.at(
                    source.at(name), "duplicate_key", f"{source.label}: two arrays are called {quoted(name)}."
                )
            members[name] = _member(source, archive, info, left)
            left -= len(members[name])
    if not members:
        raise InvalidTest.at(source.pointer, "no_items", f"{source.label}: the archive has no arrays (.npy).")
    return Arrays(source, members)


def _member(source: Source, archive: zipfile.ZipFile, info: zipfile.ZipInfo, left: int) -> bytes:
    name = info.filename
    if info.compress_type not in READABLE:
        detail = f"{source.label}: {name[:80]} is compressed by method {info.compress_type}: numpy.savez writes archives that are read."
        raise InvalidTest.at(source.at(name), "unsupported_compression", detail)
    if info.file_size > left:
        detail = f"{source.label}: unpacked, the arrays are larger than allowed."
        raise BodyTooLarge(detail, flaws=(Flaw(source.at(name), "file_too_large", detail),))
    try:
        with archive.open(info) as member:
            return member.read(info.file_size + 1)  # without a size it would inflate all before it counts
    except DAMAGED:
        detail = f"{source.label}: the array {name[:80]} is damaged."
        raise MalformedBody(detail, flaws=(Flaw(source.at(name), "not_a_zip", detail),)) from None


def _scores(arrays: Arrays) -> str:
    """The array of scores of one system's file."""
    named = arrays.find(("", *SCORES))
    others = [name for name in arrays.members if name not in (*IDS, *CLUSTERS)]
    if named is None and len(others) != 1:
        detail = f"{arrays.source.label}: call the array of scores scores; there are: {', '.join(map(quoted, list(arrays.members)[:5]))}."
        raise InvalidTest.at(arrays.source.pointer, "missing_field", detail)
    return others[0] if named is None else named


def _outputs(arrays: Arrays, name: str, reader: NumberReader, options: ReaderOptions) -> SystemOutputs:
    source = arrays.source
    values = _vector(arrays, name, reader, options)
    ids_in, clusters_in = arrays.find(IDS), options.clusters or arrays.find(CLUSTERS)
    if clusters_in is not None and clusters_in not in arrays.members:
        raise InvalidTest.at(
            "/options/clusters", "unknown_column", f"{source.label}: there is no array {quoted(clusters_in)}."
        )
    n = len(values)
    ids = list(map(str, range(n))) if ids_in is None else _keys(arrays, ids_in, n)
    clusters = [None] * n if clusters_in is None else _keys(arrays, clusters_in, n)
    paths = [f"{escaped(name)}/{row}" if name else str(row) for row in range(n)]
    outputs = SystemOutputs(source, ids_in is None, ids, values, paths, [*clusters], [None] * n)
    outputs.require_unique()
    return outputs


def _refuse_longer(arrays: Arrays, name: str, most: int) -> None:
    """Refuse an array with more items than a test may have, by its header."""
    with _in_file(arrays.source, name):
        length = length_of(arrays.members[name])
    arrays.source.refuse_more(length, most)


def _vector(arrays: Arrays, name: str, reader: NumberReader, options: ReaderOptions) -> Column | list[Any]:
    """The scores; in a list where some are missing, which NaN says, or rounded."""
    _refuse_longer(arrays, name, options.max_items)
    with _in_file(arrays.source, name):
        column = vector_of(arrays.members[name])
    if reader.changes_nothing and not (column.dtype == np.float64 and np.isnan(column).any()):
        return column
    return [reader.of_json(value, arrays.source.pointer) for value in column.tolist()]


def _keys(arrays: Arrays, name: str, n: int) -> list[str]:
    with _in_file(arrays.source, name):
        keys = keys_of(arrays.members[name])
    if len(keys) != n:
        detail = f"{arrays.source.label}: {quoted(name)} has {len(keys):,} elements for {n:,} scores."
        raise InvalidTest.at(arrays.source.at(name), "length_mismatch", detail)
    return keys


@contextmanager
def _in_file(source: Source, name: str) -> Iterator[None]:
    """Errors of an array with the label of its file, and pointers into it."""
    prefix = source.at(name) if name else source.pointer
    try:
        yield
    except InputError as error:
        flaws = tuple(replace(flaw, pointer=prefix + flaw.pointer) for flaw in error.flaws)
        detail = f"{source.label}: {error.detail}"
        raise type(error)(detail, flaws=flaws or (Flaw(prefix, "not_npy", detail),)) from None


def _table(arrays: Arrays, options: ReaderOptions, notes: list[str], format_: str) -> Reading:
    """One array with a column for each system, or four of counts."""
    source = arrays.source
    if options.given() - {"statistic", "decimals"}:
        detail = f"{source.label}: an array of both systems has neither ids, clusters nor missing scores; give .npz, or leave the option out."
        raise InvalidTest.at(
            f"/options/{min(options.given() - {'statistic', 'decimals'})}", "unused_option", detail
        )
    _refuse_longer(arrays, "", options.max_items)
    with _in_file(source, ""):
        table = table_of(arrays.members[""])
    u, v = table["u"], table["v"]
    if isinstance(u, dict):
        notes.append(
            f"{len(u['tp']):,} items read from {source.label}: columns {', '.join(HEADERLESS_COUNTS)}."
        )
        return Reading("counts", Counts(u, v, Pairing()), F1, tuple(notes), format_)
    if options.decimals is not None:
        u, v = (to_decimals(side, options.decimals) for side in (u, v))
    notes += [
        f"{len(u):,} items read from {source.label}: columns u and v.",
        *NumberReader.of(options).note(),
    ]
    return Reading("scores", Scores(u, v, Pairing()), MEAN, tuple(notes), format_)


def _sign(look: FirstLook) -> Sign:
    content = look.source.content
    if content.startswith(MAGIC):
        return Sign.MARK
    length = int.from_bytes(content[26:28], "little")
    first = content[30 : 30 + length]
    return Sign.MARK if look.is_archive and first.endswith(SUFFIX.encode()) else Sign.NONE


FORMAT = Format(
    "npy", read, ROLES, USES, "NumPy's .npy and .npz: one score per item", kinds=("scores", "counts"), aliases=("npz", "numpy"),
    sign=_sign,
)  # fmt: skip
