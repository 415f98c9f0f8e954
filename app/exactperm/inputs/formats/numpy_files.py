"""Read NumPy's files: arrays `.npy` of one, two or four columns, and archives `.npz` of named arrays.

Nothing is unpickled. Two files have an array of N scores each; one file has N x 2 scores (u, v) or N x 4 counts (tp_u, incorrect_u,
tp_v, incorrect_v). An archive has arrays `u` and `v`, or in a file of one system `scores` (or its only other array), and optionally
`ids` and `clusters`. NumPy parses only the header of an array, as a literal; the shape is checked against the number of bytes before an
array is made.
"""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from tokenize import TokenError
from typing import Any

import numpy as np
from numpy.lib import format as npy_format
from numpy.typing import NDArray

from ...engine.lattice import shortest_decimals
from ...errors import BodyTooLarge, Flaw, InputError, InvalidTest, MalformedBody
from ...statistics.paired import Column, Counts, Pairing, Scores, StatisticSpec
from ..columns import to_decimals
from ..delimited import HEADERLESS_COUNTS, counts_of
from ..encodings import Archive
from ..format import FirstLook, Format, Sign
from ..number_text import NumberReader
from ..quoting import escaped, quoted
from ..reader import ZIP_MAGIC, ReaderOptions, Reading, Source
from .outputs_by_id import MEAN, SystemOutputs, scores_reading
from .roles import both

READERS = {(1, 0): npy_format.read_array_header_1_0, (2, 0): npy_format.read_array_header_2_0}
MAX_HEADER_BYTES = 4_096
NUMBERS, MAX_NUMBER_BYTES = "biuf", 8
KEYS, MAX_KEY_BYTES = "UiuS", 4_000  # limit for one id
INT64 = 2**63
MAGIC = b"\x93NUMPY"
SUFFIX = ".npy"
IDS, CLUSTERS = ("ids", "id"), ("clusters", "cluster")
SCORES = ("scores", "score", "values")
MAX_MEMBERS = 100
F1 = StatisticSpec("f1")


# Arrays


def table_of(body: bytes | bytearray, *, may_be_missing: bool = False) -> dict[str, Any]:
    """Read a table of two columns (scores of U and V) or four (tp and incorrect of U, then of V).

    Raises MalformedBody if this is not a complete .npy file, and InvalidTest if the array is not N x 2 or N x 4 finite numbers (scores
    may be NaN where they may be missing); pointers are `/<row>/<column>`, from zero.
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
    """Read one score per item, shape (N,), from an array of N or N x 1 numbers; NaN stays NaN. Raises as `table_of`, pointers are `/<row>`."""
    needed = "N numbers, one for each item; both systems in one array of N x 2 are one file"
    array = _array(body, needed, lambda shape: shape[1:] in ((), (1,)) and bool(shape))
    values: Column = _numbers(array.reshape(-1), may_be_missing=True)
    return values


def keys_of(body: bytes | bytearray) -> list[str]:
    """Read ids or clusters from an array of N texts or integers; raises as `table_of`."""
    keys = _array(body, "N ids, one for each item", lambda shape: len(shape) == 1, KEYS, MAX_KEY_BYTES)
    try:
        return [key.decode() if isinstance(key, bytes) else str(key) for key in keys.tolist()]
    except (UnicodeDecodeError, ValueError):
        raise InvalidTest.at("", "not_utf8", "A text of the array is not valid Unicode.") from None


def _array(
    body: bytes | bytearray, needed: str, fits: Callable[[tuple[int, ...]], bool], kinds: str = NUMBERS, most: int = MAX_NUMBER_BYTES
) -> NDArray[Any]:  # fmt: skip
    """A view of the array, if its shape fits."""
    shape, fortran_order, dtype, offset = header_of(body)
    if dtype.kind not in kinds or not 1 <= dtype.itemsize <= most:
        numbers = "The array must hold integers, booleans or floats of at most 64 bits"
        what = numbers if kinds == NUMBERS else "Ids and clusters must be texts or integers"
        raise InvalidTest.at("", "unsupported_dtype", f"{what}; objects are never unpickled.")
    if not fits(shape):
        raise InvalidTest.at("", "wrong_shape", f"The array must be {needed}.")
    follow = len(body) - offset
    if math.prod(shape) * dtype.itemsize != follow:
        size = " x ".join(f"{length:,}" for length in shape)
        claims = f"The header claims {size} elements of {dtype.itemsize} bytes"
        raise MalformedBody(f"{claims}; {follow:,} bytes follow it.")
    if shape[0] == 0:
        raise InvalidTest.at("", "no_items", "The array has no rows; there is nothing to test.")
    return np.frombuffer(body, dtype=dtype, offset=offset).reshape(shape, order="F" if fortran_order else "C")


def _numbers(array: NDArray[Any], *, may_be_missing: bool) -> Any:
    """Convert to 64-bit numbers, columns first."""
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
    """Parse the header: shape, whether the order is Fortran's, type, and the offset of the elements; raises MalformedBody."""
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

Arrays = dict[str, bytes]  # the arrays of a file by name; "" for that of a .npy


def read(files: Mapping[str, Source], options: ReaderOptions, format_: str) -> Reading:
    """Read scores of two systems, or counts in one array of four columns."""
    notes: list[str] = []
    sources = both(files, format_)
    one_file = sources[0] is sources[1]
    first = _arrays(sources[0], options.max_inflated_bytes)
    if one_file and "" in first:
        return _table(sources[0], first[""], options, notes, format_)
    arrays = first, first if one_file else _arrays(sources[1], options.max_inflated_bytes)
    names = [role if one_file else None for role in "uv"]
    u, v = (_outputs(*each, options) for each in zip(sources, arrays, names, strict=True))
    clustered = any(cluster is not None for side in (u, v) for cluster in side.clusters)
    return scores_reading(u, v, options, notes, format_, clustered=clustered)


def _arrays(source: Source, max_bytes: int) -> Arrays:
    if not source.content.startswith(ZIP_MAGIC):
        return {"": source.content}
    members: Arrays = {}
    archive = Archive(source, max_bytes, "numpy.savez writes such archives.")
    with archive.opened() as opened:
        infos = [info for info in opened.infolist() if info.filename.endswith(SUFFIX)]
        if len(infos) > MAX_MEMBERS:
            raise BodyTooLarge(f"{source.label}: the archive has more than {MAX_MEMBERS:,} arrays.")
        for info in infos:
            name = info.filename.removesuffix(SUFFIX)
            if name in members:
                raise source.refused("", "duplicate_key", f"two arrays are called {quoted(name)}.", name)
            members[name] = archive.unpacked(opened, info)
    if not members:
        raise source.refused("", "no_items", "the archive has no arrays (.npy).")
    return members


def _find(arrays: Arrays, names: tuple[str, ...]) -> str | None:
    return next((name for name in names if name in arrays), None)


def _outputs(source: Source, arrays: Arrays, name: str | None, options: ReaderOptions) -> SystemOutputs:
    """The scores in the array of this name, or, without a name, of a file of one system."""
    if name is None:
        others = [one for one in arrays if one not in (*IDS, *CLUSTERS)]
        name = _find(arrays, ("", *SCORES)) if len(others) != 1 or "" in arrays else others[0]
        if name is None:
            detail = (
                f"call the array of scores scores; there are: {', '.join(map(quoted, list(arrays)[:5]))}."
            )
            raise source.refused("", "missing_field", detail)
    elif name not in arrays:
        detail = (
            f"there is no array {name}; a file of both systems has u and v, and may have ids and clusters."
        )
        raise source.refused("", "missing_field", detail, name)
    reader = NumberReader.of(options)
    values = _read(source, name, arrays[name], vector_of, options.max_items)
    if not reader.changes_nothing or (values.dtype == np.float64 and np.isnan(values).any()):
        values = [reader.of_json(value, source.pointer) for value in values.tolist()]
    n, known = len(values), []
    for called in (_find(arrays, IDS), options.clusters or _find(arrays, CLUSTERS)):
        if called is not None and called not in arrays:
            detail = f"{source.label}: there is no array {quoted(called)}."
            raise InvalidTest.at("/options/clusters", "unknown_column", detail)
        keys = None if called is None else _read(source, called, arrays[called], keys_of)
        if keys is not None and len(keys) != n:
            detail = f"{quoted(called)} has {len(keys):,} elements for {n:,} scores."
            raise source.refused("", "length_mismatch", detail, called)
        known.append(keys)
    ids, clusters = known
    paths = [f"{escaped(name)}/{row}" if name else str(row) for row in range(n)]
    without: list[Any] = [None] * n
    every = list(map(str, range(n))) if ids is None else ids
    outputs = SystemOutputs(source, ids is None, every, values, paths, clusters or [*without], without)
    outputs.require_unique()
    return outputs


def _read(
    source: Source, name: str, content: bytes, of: Callable[[bytes], Any], most: int | None = None
) -> Any:
    """Read an array by `of`; errors get the label of the file and pointers into it. Arrays of more than `most` items are refused."""
    prefix = source.at(name) if name else source.pointer
    try:
        if most is not None:
            source.refuse_more(next(iter(header_of(content)[0]), 0), most)
        return of(content)
    except BodyTooLarge:
        raise
    except InputError as error:
        flaws = tuple(replace(flaw, pointer=prefix + flaw.pointer) for flaw in error.flaws)
        detail = f"{source.label}: {error.detail}"
        raise type(error)(detail, flaws=flaws or (Flaw(prefix, "not_npy", detail),)) from None


def _table(source: Source, array: bytes, options: ReaderOptions, notes: list[str], format_: str) -> Reading:
    """Read one array with a column for each system, or four columns of counts."""
    unused = options.given() - {"statistic", "decimals"}
    if unused:
        detail = f"{source.label}: an array of both systems has neither ids, clusters nor missing scores; give .npz, or leave the option out."
        raise InvalidTest.at(f"/options/{min(unused)}", "unused_option", detail)
    table = _read(source, "", array, table_of, options.max_items)
    u, v = table["u"], table["v"]
    if isinstance(u, dict):
        named = ", ".join(HEADERLESS_COUNTS)
        notes.append(f"{len(u['tp']):,} items read from {source.label}: columns {named}.")
        return Reading("counts", Counts(u, v, Pairing()), F1, tuple(notes), format_)
    if options.decimals is not None:
        u, v = (to_decimals(side, options.decimals) for side in (u, v))
    notes.append(f"{len(u):,} items read from {source.label}: columns u and v.")
    notes += NumberReader.of(options).note()
    return Reading("scores", Scores(u, v, Pairing()), MEAN, tuple(notes), format_)


def _sign(look: FirstLook) -> Sign:
    content = look.source.content
    if content.startswith(MAGIC):
        return Sign.MARK
    length = int.from_bytes(content[26:28], "little")
    first = content[30 : 30 + length]
    return Sign.MARK if look.is_archive and first.endswith(SUFFIX.encode()) else Sign.NONE


FORMAT = Format(
    "npy", read, ("u", "v", "file"), frozenset(("on_missing", "missing_range", "decimals", "clusters")),
    "NumPy's .npy and .npz: one score per item", kinds=("scores", "counts"), aliases=("npz", "numpy"),
    sign=_sign,
)  # fmt: skip
