"""Turn Python data into the content of a request: JSON values, or the bytes of a .npy file."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from os import PathLike
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from .errors import InvalidData

# Columns of data frames are paired by their index, as in pandas, and not by order. An index that is not 0, 1, 2, …
# names the items: columns in one order are sent as lists with `ids`, others as {id: value}, which the server pairs.


Key = TypeVar("Key")
Columns = Mapping[str, Any]
Labels = list[str]
# The columns of one frame with both systems, in any order.
WHOLE = {"scores": ("u", "v"), "counts": ("tp_u", "incorrect_u", "tp_v", "incorrect_v")}
# Further columns with one value per item, by order or by id.
BY_ITEM = ("clusters", "weights", "groups", "event", "slices")
BESIDE = ("ids", *BY_ITEM)
BY_ORDER = "use .reset_index(drop=True) or .to_numpy() to pair by order."


def by_index(kind: str, columns: Columns, options: Columns) -> tuple[dict[str, Any], dict[str, Any]]:
    """Columns and options unchanged, or with ids, or keyed by id, as their indexes require.

    Raises
    ------
        InvalidData: an index has a label twice; or only some columns have one; or indexes differ but nothing can be
        paired by id.
    """
    leaves = _leaves(kind, columns)
    beside = {f"/{name}": options[name] for name in BESIDE if options.get(name) is not None}
    if all(map(_is_counting, (*leaves.values(), *beside.values()))):
        return dict(columns), dict(options)
    labels = {at: _labels(at, value) for at, value in leaves.items() if has_index(value)}
    keyed = kind != "counts" and any(isinstance(value, Mapping) for value in leaves.values())
    if not labels:
        return dict(columns), dict(options)
    beside_labels = {at: _labels(at, value) for at, value in beside.items() if has_index(value)}
    if not keyed and all(map(_counts_rows, (*labels.values(), *beside_labels.values()))):
        return dict(columns), dict(options)
    for at, value in leaves.items():
        if at not in labels and not (keyed and isinstance(value, Mapping)):
            raise InvalidData(f"This has no index, and another column has one: {BY_ORDER}", pointer=at)
    first = next(iter(labels.values()))
    if not keyed and all(one == first for one in (*labels.values(), *beside_labels.values())):
        return dict(columns), {**options, "ids": first if options.get("ids") is None else options["ids"]}
    _require_ids(kind, options, {**labels, **beside_labels}, first)
    return _by_id(kind, columns, labels), _beside_by_id(options, beside_labels)


def has_index(value: Any) -> bool:
    """Whether it is a Series or a data frame, by its attributes; a list's `index` is a method."""
    index = getattr(value, "index", None)
    return hasattr(value, "__array__") and index is not None and not callable(index)


def _is_counting(value: Any) -> bool:
    """Whether a column has no index, or a RangeIndex of pandas; dicts have keys."""
    if isinstance(value, Mapping) or not has_index(value):
        return not isinstance(value, Mapping)
    index = value.index
    return type(index).__name__ == "RangeIndex" and bool(index.start == 0 and index.step == 1)


def _leaves(kind: str, columns: Columns) -> dict[str, Any]:
    """Every column under its pointer; counts by name are a column each."""
    leaves: dict[str, Any] = {}
    for name, value in columns.items():
        if kind == "counts" and isinstance(value, Mapping):
            leaves.update({f"/{name}/{inner}": one for inner, one in value.items()})
        elif value is not None:
            leaves[f"/{name}"] = value
    return leaves


def _labels(at: str, value: Any) -> Labels:
    """The labels of an index as text; raises InvalidData for duplicates."""
    labels = [str(label) for label in value.index]
    if len(set(labels)) != len(labels):
        raise InvalidData(f"Its index, which pairs the items, has a label twice: {BY_ORDER}", pointer=at)
    return labels


def _counts_rows(labels: Labels) -> bool:
    """Whether an index only counts the rows, so that it agrees with their order."""
    return all(label == str(row) for row, label in enumerate(labels))


def _require_ids(kind: str, options: Columns, labels: Mapping[str, Labels], first: Labels) -> None:
    """Refuse what cannot be paired by id."""
    if kind == "effects":
        other = next((at for at, one in labels.items() if one != first), "/swap")
        raise InvalidData(f"Effects are paired by order, and these indexes differ: {BY_ORDER}", pointer=other)
    if options.get("ids") is not None:
        raise InvalidData(
            f"The columns are paired by their indexes, which differ: leave ids out; or {BY_ORDER}",
            pointer="/ids",
        )
    for name in BY_ITEM:
        column = options.get(name)
        if column is not None and f"/{name}" not in labels and not isinstance(column, Mapping):
            detail = f"The columns are paired by their indexes, which differ; this has none: {BY_ORDER}"
            raise InvalidData(detail, pointer=f"/{name}")


def _by_id(kind: str, columns: Columns, labels: Mapping[str, Labels]) -> dict[str, Any]:
    """Every column as `{id: value}`, or `{id: {name: count}}`."""
    keyed: dict[str, Any] = {}
    for name, value in columns.items():
        if kind != "counts":
            keyed[name] = (
                value if isinstance(value, Mapping) else _keyed(value, labels[f"/{name}"], f"/{name}")
            )
            continue
        counts = {
            inner: _keyed(one, labels[f"/{name}/{inner}"], f"/{name}/{inner}") for inner, one in value.items()
        }
        first = next(iter(counts.values()))
        for inner, one in counts.items():
            if one.keys() != first.keys():
                raise InvalidData(
                    "Its index has other labels than that of the first count.", pointer=f"/{name}/{inner}"
                )
        keyed[name] = {key: {inner: one[key] for inner, one in counts.items()} for key in first}
    return keyed


def _keyed(value: Any, labels: Labels, at: str) -> dict[str, Any]:
    return dict(zip(labels, plain(value, at), strict=True))


def _beside_by_id(options: Columns, labels: Mapping[str, Labels]) -> dict[str, Any]:
    """Clusters, weights, groups and events by id, if they have an index."""
    keyed = {at[1:]: _keyed(options[at[1:]], index, at) for at, index in labels.items() if at != "/ids"}
    return {**options, **keyed}


# Values as JSON


NUMERIC = "biuf"
CELLS = frozenset("abcd")  # of a table of outcomes
COUNT_COLUMNS = ("tp", "incorrect")  # of each system, in the order of an N x 4 array
MISSING = frozenset({"NAType", "NaTType"})  # of pandas
SETS = (set, frozenset)
NOT_FINITE = "This number is not finite; leave the item out (on_missing='drop', of boards 'complete'), or give it a value."
MAX_DENOMINATOR = 10**9  # of the common unit of all scores


def plain(value: Any, at: str = "") -> Any:
    """Lists, dicts, numbers and strings from arrays and similar types; `at` is the pointer.

    A fraction, allowed in weights, becomes text; a decimal becomes the number as written.

    Raises
    ------
        InvalidData: a type has no JSON form or no order, or a key occurs twice.

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
        raise InvalidData(f"An array of {array.dtype} is not a column of numbers or texts.", pointer=at)
    if isinstance(value, Iterable) and not isinstance(value, bytes | bytearray):
        return [plain(one, f"{at}/{index}") for index, one in enumerate(value)]
    if is_missing(value):
        return None
    if callable(value):
        detail = (
            "A function cannot be a statistic. Name a statistic, or write a formula of sums: "
            "effects(stay, swap, statistic='x1 / x2')."
        )
        raise InvalidData(detail, pointer=at)
    raise InvalidData(f"A {type(value).__name__} is not a number, text, list or data frame.", pointer=at)


def double_of(value: Decimal | Fraction, at: str = "") -> float:
    """The nearest double; raises InvalidData for underflow to 0, and for a decimal with more digits than a double
    keeps.
    """
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
    """The values of an array; single precision as the decimals that it prints, true and false as 1 and 0."""
    if array.dtype.kind == "f" and array.dtype.itemsize < 8:
        return array.astype(str).astype(np.float64).tolist()
    return (array.astype(np.int64) if array.dtype.kind == "b" else array).tolist()


def is_missing(value: Any) -> bool:
    """Whether a value is missing: None, NaN, or the pandas values for it."""
    return (
        value is None
        or type(value).__name__ in MISSING
        or (isinstance(value, float | Decimal) and math.isnan(value))
    )


def with_nulls(column: Any) -> Any:
    """A column with None for missing values."""
    if isinstance(column, Mapping):
        return {key: None if is_missing(one) else one for key, one in column.items()}
    if getattr(column, "ndim", 1) != 1 or isinstance(column, str):
        return column
    return [None if is_missing(one) else one for one in plain(column)]


def beside(column: Any) -> Any:
    """Labels or a covariate of one system: None for missing ones, {id: value} if they have an index, true and false as 1 and 0."""
    if has_index(column) and not _is_counting(column):
        column = dict(zip(map(str, column.index), plain(column), strict=True))
    values = with_nulls(column)
    if isinstance(values, Mapping):
        return {key: int(one) if isinstance(one, bool) else one for key, one in values.items()}
    return (
        [int(one) if isinstance(one, bool) else one for one in values] if isinstance(values, list) else values
    )


def refuse_paths(value: Any, at: str) -> None:
    """Refuse the name of a file in place of its content; raises InvalidData."""
    if isinstance(value, str | bytes | PathLike):
        detail = "Give the data; or replace both by files(u='new.csv', v='old.csv')."
        raise InvalidData(detail, pointer=at)


def kinds_of(column: Any) -> set[type]:
    """The types of the values of a list, a dict or an array of objects; empty for other columns."""
    if str(getattr(column, "dtype", "object")).lower() != "object":
        return set()
    values = column.values() if isinstance(column, Mapping) else column
    return set(map(type, values)) if isinstance(values, Collection) else set()


def as_multiples(columns: Mapping[Key, Any], unit: Any) -> tuple[dict[Key, Any], Any]:
    """Scores as numbers, true and false as 1 and 0; and the unit of fractions, of which all scores are multiples.

    Raises
    ------
        InvalidData: the common denominator of fractions is too large.
    """
    kinds = {name: kinds_of(column) for name, column in columns.items()}
    made = {
        name: _mapped(_number, one) if kinds[name] & {bool, Fraction} and not is_cells(one) else one
        for name, one in columns.items()
    }
    if unit is None and any(Fraction in of_column for of_column in kinds.values()):
        listed = [
            one.values() if isinstance(one, Mapping) else one for one in columns.values() if one is not None
        ]
        unit = unit_of_values(value for column in listed for value in column)
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
    """The unit 1 / common denominator of fractions, such as 1/30; None if there are none.

    Raises
    ------
        InvalidData: the denominator is too large to be exact.
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
    """Arrays, and objects that convert without copying item by item (a column of a data frame, a tensor)."""
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
    """Whether it counts items by outcome: b only U right, c only V right, perhaps a both and d none."""
    return (
        isinstance(value, Mapping)
        and {"b", "c"} <= set(value) <= CELLS
        and not any(isinstance(one, Collection) for one in value.values())
    )


def table(kind: str, u: Any, v: Any) -> NDArray[Any] | None:
    """These columns as an N x 2 (scores) or N x 4 (counts) array; None if they are not arrays.

    Columns of different types (integers and floats) stay apart: together they would all become floats.
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
    """The columns of a system whose counts are tp and incorrect; empty for any other."""
    if isinstance(system, Mapping) and set(system) == set(COUNT_COLUMNS):
        return [system[name] for name in COUNT_COLUMNS]
    return []


def _sendable(array: NDArray[Any]) -> bool:
    return array.dtype.kind in NUMERIC and array.dtype.itemsize <= 8


def npy(
    array: NDArray[Any], pointer: Callable[[int, int], str] | None = None, *, may_be_missing: bool = False
) -> bytes:
    """The bytes of a .npy file; raises InvalidData if a number is not finite and not missing.

    `pointer` makes the pointer of a row and column; by default the columns are u and v, or the counts of both.
    """
    if array.dtype.kind == "f":
        bad = np.isinf(array) if may_be_missing else ~np.isfinite(array)
        if bad.any() and pointer is not None:
            column, row = map(int, np.argwhere(bad.T)[0])  # system by system
            raise InvalidData("This number is not finite.", pointer=pointer(row, column))
        if bad.any():
            row, column = map(int, np.argwhere(bad)[0])
            which = "u" if column < array.shape[1] // 2 else "v"
            raise InvalidData(NOT_FINITE, pointer=f"/{which}/{row}")
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=False)
    return stream.getvalue()


def board_npy(systems: Mapping[str, Any], *, may_be_missing: bool) -> bytes | None:
    """Scores of systems as the bytes of an N x K .npy file; None if they are not arrays of one type and length.

    Raises
    ------
        InvalidData: a number is not finite; NaN is a missing score if scores `may_be_missing`.
    """
    names = list(systems)
    arrays = [array_of(column) for column in systems.values()]
    columns = [array for array in arrays if array is not None and array.ndim == 1 and _sendable(array)]
    if len(columns) != len(systems) or len({(len(array), array.dtype) for array in columns}) != 1:
        return None

    def pointer(row: int, column: int) -> str:
        return f"/systems/{escaped(names[column])}/{row}"

    return npy(np.column_stack(columns), pointer, may_be_missing=may_be_missing)
