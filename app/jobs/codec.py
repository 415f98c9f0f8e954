"""The tests of a chunk as bytes that are data only: a database row is never code.

Pickles run code when they are read, so none is written. JSON names the few classes that there are; arrays follow it as raw
bytes. What is not on the list is refused, when writing and when reading.
"""

from __future__ import annotations

import json
import math
import struct
import zlib
from dataclasses import fields
from fractions import Fraction
from types import MethodType
from typing import Any

import numpy as np

from ..inference.compare.binomial_values import BinomialValues
from ..inference.compare.exact_values import Joined, Listed
from ..inference.compare.pair_tests import PairTests
from ..inference.compare.sum_values import SumValues
from ..inference.record import Fraction2

CLASSES: dict[str, type[Any]] = {
    kind.__name__: kind for kind in (PairTests, Listed, Joined, SumValues, BinomialValues, Fraction2)
}
METHODS = frozenset({"fraction", "attained", "support", "null_key"})
FORGOTTEN = frozenset({"known"})  # found again when it is asked for
DTYPES = frozenset({"<i8", "<f8", "|b1"})
LENGTH = struct.Struct("<I")
# Beyond doubles; and Python refuses to read longer integers than some thousand digits.
LARGEST_PLAIN = 2**53


def dumped(value: Any) -> bytes:
    """A value as compressed bytes; raises TypeError for what is not on the list."""
    arrays: list[bytes] = []
    seen: dict[int, int] = {}
    kept: list[Any] = []
    text = json.dumps(_written(value, arrays, seen, kept), allow_nan=False).encode()
    return zlib.compress(LENGTH.pack(len(text)) + text + b"".join(arrays), 1)


def loaded(content: bytes) -> Any:
    """What `dumped` wrote; raises ValueError for anything else."""
    try:
        plain = zlib.decompress(content)
        (length,) = LENGTH.unpack_from(plain)
        start = LENGTH.size + length
        return _Reader(memoryview(plain)[start:]).read(json.loads(plain[LENGTH.size : start]))
    except (
        zlib.error,
        struct.error,
        ValueError,
        LookupError,
        TypeError,
        AttributeError,
        RecursionError,
    ) as error:
        raise ValueError(f"this is no chunk of a job: {type(error).__name__}") from None


def _written(value: Any, arrays: list[bytes], seen: dict[int, int], kept: list[Any]) -> Any:
    def inner(part: Any) -> Any:
        return _written(part, arrays, seen, kept)

    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, np.generic):
        return inner(value.item())
    if isinstance(value, int):
        return value if abs(value) <= LARGEST_PLAIN else {"int": hex(value)}
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": repr(value)}
    if isinstance(value, Fraction):
        return {"fraction": [hex(value.numerator), hex(value.denominator)]}
    if isinstance(value, tuple | list):
        return {"tuple" if isinstance(value, tuple) else "list": [inner(part) for part in value]}
    if isinstance(value, np.ndarray):
        if value.dtype.str not in DTYPES:
            raise TypeError(f"arrays of {value.dtype} are not written")
        raw = np.ascontiguousarray(value).tobytes()
        arrays.append(raw)
        return {"array": [value.dtype.str, list(value.shape), len(raw)]}
    if isinstance(value, MethodType) and value.__name__ in METHODS:
        return {"method": [inner(value.__self__), value.__name__]}
    return _written_record(value, inner, seen, kept)


def _written_record(value: Any, inner: Any, seen: dict[int, int], kept: list[Any]) -> Any:
    """An object of a class on the list; the same object twice is written once."""
    name = type(value).__name__
    if CLASSES.get(name) is not type(value):
        raise TypeError(f"{name} is not written")
    if id(value) in seen:
        return {"again": seen[id(value)]}
    members = {
        field.name: inner(getattr(value, field.name))
        for field in fields(value)
        if field.name not in FORGOTTEN
    }
    seen[id(value)] = len(kept)
    kept.append(value)
    return {"record": [name, members]}


class _Reader:
    """Reads what `_written` wrote, with its arrays one after the other."""

    def __init__(self, arrays: memoryview) -> None:
        self._arrays = arrays
        self._at = 0
        self._kept: list[Any] = []

    def read(self, value: Any) -> Any:
        """One value."""
        if not isinstance(value, dict):
            if isinstance(value, list):
                raise TypeError("a list without its kind")
            return value
        ((kind, content),) = value.items()
        reader = getattr(self, f"_{kind}_", None)
        if reader is None:
            raise TypeError(kind)
        return reader(content)

    def _int_(self, content: str) -> int:
        return int(content, 16)

    def _float_(self, content: str) -> float:
        return float(content)

    def _fraction_(self, content: list[str]) -> Fraction:
        return Fraction(int(content[0], 16), int(content[1], 16))

    def _tuple_(self, content: list[Any]) -> tuple[Any, ...]:
        return tuple(map(self.read, content))

    def _list_(self, content: list[Any]) -> list[Any]:
        return list(map(self.read, content))

    def _array_(self, content: list[Any]) -> Any:
        dtype, shape, size = content
        if dtype not in DTYPES or not 0 <= size <= len(self._arrays) - self._at:
            raise TypeError(dtype)
        raw = self._arrays[self._at : self._at + size]
        self._at += size
        return np.frombuffer(raw, dtype=dtype).reshape(shape).copy()

    def _method_(self, content: list[Any]) -> Any:
        if content[1] not in METHODS:
            raise TypeError(content[1])
        owner = self.read(content[0])
        if type(owner) not in CLASSES.values():
            raise TypeError(type(owner).__name__)
        return getattr(owner, content[1])

    def _record_(self, content: list[Any]) -> Any:
        kind = CLASSES[content[0]]
        known = {field.name for field in fields(kind)}
        if not set(content[1]) <= known:
            raise TypeError(content[0])
        record = kind(**{name: self.read(member) for name, member in content[1].items()})
        self._kept.append(record)
        return record

    def _again_(self, content: int) -> Any:
        return self._kept[content]
