"""Python data to what a request carries: JSON values, or the bytes of a .npy file."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import InvalidData

NUMERIC = "biuf"
CELLS = frozenset("abcd")  # of a table of outcomes
COUNT_COLUMNS = ("tp", "incorrect")  # of each system, in the order of an N x 4 array
MISSING = frozenset({"NAType", "NaTType"})  # of pandas
SETS = (set, frozenset)
NOT_FINITE = "This number is not finite; leave the item out (on_missing='drop', of boards 'complete'), or give it a value."
MAX_DENOMINATOR = 10**9  # of what all scores are multiples of


def plain(value: Any, at: str = "") -> Any:
    """Lists, dicts, numbers and strings, of arrays and whatever else stands for them; `at` is its pointer.

    A fraction, which weights may be, is text; a decimal is the number that it is written as.

    Raises
    ------
        InvalidData: there is something of another kind, without an order, or a key stands twice.

    >>> import numpy as np
    >>> plain({1: np.float64(0.5), "b": np.array([True, False])})
    {'1': 0.5, 'b': [1, 0]}
    """
    if value is None or (isinstance(value, str | bool | int | float) and not isinstance(value, np.generic)):
        return value
    if isinstance(value, Fraction):
        return str(value)
    if isinstance(value, Decimal):
        return (
            int(value)
            if value == value.to_integral_value() and "E" not in str(value)
            else double_of(value, at)
        )
    if isinstance(value, SETS):
        raise InvalidData(
            "A set has no order, by which items could be paired: give a list, or {id: value}.", pointer=at
        )
    if isinstance(value, Mapping):
        members = {str(key): plain(one, f"{at}/{escaped(key)}") for key, one in value.items()}
        if len(members) != len(value):
            raise InvalidData("Two keys are the same when written as text.", pointer=at)
        return members
    array = array_of(value)
    if array is not None:
        if array.dtype.kind in "OSUbiu" or (array.dtype.kind == "f" and array.dtype.itemsize <= 8):
            return plain(array.tolist(), at) if array.dtype.kind == "O" else _listed(array)
        raise InvalidData(f"An array of {array.dtype} is no column of numbers or texts.", pointer=at)
    if isinstance(value, Iterable) and not isinstance(value, bytes | bytearray):
        return [plain(one, f"{at}/{index}") for index, one in enumerate(value)]
    if is_missing(value):
        return None
    if callable(value):
        detail = "A function is no statistic here. Name a statistic, or write a formula of sums: effects(stay, swap, statistic='x1 / x2')."
        raise InvalidData(detail, pointer=at)
    raise InvalidData(f"A {type(value).__name__} is no number, text, list or data frame.", pointer=at)


def double_of(value: Decimal | Fraction, at: str = "") -> float:
    """The nearest double; raises InvalidData for 0 of what is not 0, and for a decimal with more digits than a double keeps."""
    double = float(value)
    if double == 0 != value:
        raise InvalidData(
            f"{str(value)[:40]} is not 0 and smaller than any double: use a larger unit for all scores.",
            pointer=at,
        )
    if isinstance(value, Decimal) and Decimal(repr(double)) != value:
        detail = f"{str(value)[:40]} has more digits than a number here keeps: round it, or give a Fraction."
        raise InvalidData(detail, pointer=at)
    return double


def _listed(array: NDArray[Any]) -> Any:
    """The values of an array; of single precision the decimals that they print as, true and false as 1 and 0."""
    if array.dtype.kind == "f" and array.dtype.itemsize < 8:
        return array.astype(str).astype(np.float64).tolist()
    return (array.astype(np.int64) if array.dtype.kind == "b" else array).tolist()


def is_missing(value: Any) -> bool:
    """Whether a value is not there: None, NaN, or what pandas writes for it."""
    return (
        value is None
        or type(value).__name__ in MISSING
        or (isinstance(value, float | Decimal) and math.isnan(value))
    )


def with_nulls(column: Any) -> Any:
    """A column with None where a value is missing."""
    if isinstance(column, Mapping):
        return {key: None if is_missing(one) else one for key, one in column.items()}
    if getattr(column, "ndim", 1) != 1 or isinstance(column, str):
        return column
    return [None if is_missing(one) else one for one in plain(column)]


def refuse_paths(value: Any, at: str) -> None:
    """Refuse the name of a file in the place of what it holds; raises InvalidData."""
    if isinstance(value, str | bytes | PathLike):
        detail = "Give the data, or read files: files(u='new.csv', v='old.csv'), in the place of both."
        raise InvalidData(detail, pointer=at)


def kinds_of(column: Any) -> set[type]:
    """The types of the values of a list, a dict or an array of objects; none of what else a column may be."""
    if str(getattr(column, "dtype", "object")).lower() != "object":
        return set()
    values = column.values() if isinstance(column, Mapping) else column
    return set(map(type, values)) if isinstance(values, Collection) else set()


def as_multiples(columns: Mapping[str, Any], unit: Any) -> tuple[dict[str, Any], Any]:
    """Scores as numbers, true and false as 1 and 0; and the unit that keeps fractions exact: what all are multiples of.

    Raises
    ------
        InvalidData: the common denominator of fractions is too large.
    """
    kinds = {name: kinds_of(column) for name, column in columns.items()}
    made = {
        name: _mapped(_number, one) if kinds[name] & {bool, Fraction} and not is_cells(one) else one
        for name, one in columns.items()
    }
    if unit is None and any(Fraction in own for own in kinds.values()):
        given = [
            one.values() if isinstance(one, Mapping) else one for one in columns.values() if one is not None
        ]
        unit = unit_of_values(value for column in given for value in column)
    return made, unit


def _mapped(change: Callable[[Any], Any], column: Any) -> Any:
    """A list, a dict or a column of objects with changed values; a column keeps its index."""
    if isinstance(column, Mapping):
        return dict(zip(column, map(change, column.values()), strict=True))
    return column.map(change) if hasattr(column, "map") else list(map(change, column))


def _number(value: Any) -> Any:
    if isinstance(value, bool):
        return int(value)
    return double_of(value) if isinstance(value, Fraction) else value


def unit_of_values(values: Iterable[Any]) -> str | None:
    """One part of the common denominator of numbers, such as 1/30; None where there are none.

    Raises
    ------
        InvalidData: it is too large to be exact.
    """
    finite = [
        one for one in values if isinstance(one, int | float | Fraction | Decimal) and math.isfinite(one)
    ]
    if not finite:
        return None
    common = math.lcm(
        *{
            (Fraction(repr(float(one))) if isinstance(one, float) else Fraction(one)).denominator
            for one in finite
        }
    )
    if common > MAX_DENOMINATOR:
        detail = f"These fractions have a common denominator of {common:,}, which is too large to be exact: give decimals."
        raise InvalidData(detail)
    return f"1/{common}"


def array_of(value: Any) -> NDArray[Any] | None:
    """Arrays, and what can be one without copying it item by item (a column of a data frame, a tensor)."""
    if isinstance(value, np.ndarray | np.generic):
        return np.asarray(value)
    return np.asarray(value) if hasattr(value, "__array__") else None


def encoded(request: Mapping[str, Any]) -> bytes:
    """JSON without NaN; raises InvalidData with the pointer of the first."""
    try:
        return json.dumps(request, allow_nan=False, separators=(",", ":")).encode()
    except ValueError:
        raise InvalidData(NOT_FINITE, pointer=_not_finite(request, "") or "/") from None


def _not_finite(value: Any, at: str) -> str | None:
    """The pointer to the first number that is not finite."""
    if isinstance(value, float):
        return None if math.isfinite(value) else at
    members: Iterable[tuple[Any, Any]] = ()
    if isinstance(value, Mapping):
        members = value.items()
    elif isinstance(value, Sequence) and not isinstance(value, str):
        members = enumerate(value)
    for key, one in members:
        pointer = _not_finite(one, f"{at}/{escaped(key)}")
        if pointer is not None:
            return pointer
    return None


def escaped(key: Any) -> str:
    """A member's name in a pointer (RFC 6901)."""
    return str(key).replace("~", "~0").replace("/", "~1")


def is_cells(value: Any) -> bool:
    """Whether it counts items by outcome: b that only U gets right, c that only V does, perhaps a of both and d of none."""
    return (
        isinstance(value, Mapping)
        and {"b", "c"} <= set(value) <= CELLS
        and not any(isinstance(one, Collection) for one in value.values())
    )


def table(kind: str, u: Any, v: Any) -> NDArray[Any] | None:
    """The N x 2 (scores) or N x 4 (counts) array that these columns are; None where they are none.

    Columns of different kinds (integers and floats) stay apart: together they would all become floats.
    """
    width = 2 if kind == "scores" else 4
    if v is None and kind == "scores" and is_cells(u):
        return None
    if v is None:
        whole = array_of(u)
        if whole is None or whole.ndim != 2 or whole.shape[1] != width or not _sendable(whole):
            raise InvalidData(
                f"Give u and v, one array of N x {width} numbers, or one table with both systems.",
                pointer="/u",
            )
        return whole
    columns = [u, v] if kind == "scores" else [one for system in (u, v) for one in _counts(system)]
    arrays = [array_of(column) for column in columns]
    sendable = [array for array in arrays if array is not None and array.ndim == 1 and _sendable(array)]
    if len(sendable) != width or len({(len(array), array.dtype.kind) for array in sendable}) != 1:
        return None
    return np.column_stack(sendable)


def _counts(system: Any) -> list[Any]:
    """The columns of a system whose counts are tp and incorrect; none of any other."""
    if isinstance(system, Mapping) and set(system) == set(COUNT_COLUMNS):
        return [system[name] for name in COUNT_COLUMNS]
    return []


def _sendable(array: NDArray[Any]) -> bool:
    return array.dtype.kind in NUMERIC and array.dtype.itemsize <= 8


def npy(array: NDArray[Any], *, may_be_missing: bool = False) -> bytes:
    """The bytes of a .npy file; raises InvalidData where a number is not finite, and is not missing."""
    if array.dtype.kind == "f":
        bad = np.argwhere(np.isinf(array) if may_be_missing else ~np.isfinite(array))
        if len(bad):
            row, column = map(int, bad[0])
            which = "u" if column < array.shape[1] // 2 else "v"
            raise InvalidData(NOT_FINITE, pointer=f"/{which}/{row}")
    return _saved(array)


def board_npy(systems: Mapping[str, Any], *, may_be_missing: bool) -> bytes | None:
    """Scores of systems as the bytes of a .npy file of N x K; None where they are not arrays of one kind and length.

    Raises
    ------
        InvalidData: a number is not finite; NaN is a missing score where scores `may_be_missing`.
    """
    arrays = {name: array_of(column) for name, column in systems.items()}
    columns = [
        array for array in arrays.values() if array is not None and array.ndim == 1 and _sendable(array)
    ]
    if len(columns) != len(systems) or len({(len(array), array.dtype) for array in columns}) != 1:
        return None
    for name, array in zip(arrays, columns, strict=True):
        if array.dtype.kind == "f":
            bad = np.flatnonzero(np.isinf(array) if may_be_missing else ~np.isfinite(array))
            if len(bad):
                raise InvalidData("This number is not finite.", pointer=f"/systems/{escaped(name)}/{bad[0]}")
    return _saved(np.column_stack(columns))


def _saved(array: NDArray[Any]) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=False)
    return stream.getvalue()
