"""Convert lists of decoded values to columns: arrays of numbers, or checked lists of labels.

Numbers are exact. Integers stay integers (int64), decimals are the doubles nearest to what was written, and a
column of both must keep all values exactly. Correct data is checked at C speed, without a Python loop over the items;
only incorrect data is searched for the item to report.
"""

from __future__ import annotations

import operator
from array import array
from collections.abc import Sequence
from functools import partial
from itertools import chain, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import Flaw, InvalidTest, mapped
from ..statistics.paired import Column, NamedCounts, Repeated
from .quoting import escaped, quoted

MAX_EXACT_INT = 2**53
# The limit for any table; a thousand named counts of two systems with ids and clusters use half of it.
MAX_COLUMNS = 4_096
MAX_NAMED = 5

NUMBERS = {int, float}
SKIPPED = " With on_missing drop (of boards complete) such items are left out."
LABELS = {str, int}
NAMES = {
    bool: "a boolean (write 1 and 0 for right and wrong)",
    str: "a string",
    type(None): "null",
    list: "a list",
    dict: "an object",
    float: "a decimal number",
    int: "an integer",
}


def numbers(values: list[Any], *, may_hold_booleans: bool = True) -> Column:
    """A column of shape (n,): int64 when every value is an integer, float64 otherwise.

    `may_hold_booleans=False` promises that there are none, which saves a pass over the values. Raises InvalidTest, relative to the column
    (`/17`): a value is not a finite number, or the column cannot hold it exactly.
    """
    try:
        column: Column = np.frombuffer(array("q", values), dtype=np.int64)
    except OverflowError:
        raise _not_numbers(values) from None
    except TypeError:
        column = _decimals(values)
    if may_hold_booleans and bool in set(map(type, values)):  # array() takes True for 1
        raise _not_numbers(values)
    return column


def _decimals(values: list[Any]) -> NDArray[np.float64]:
    try:
        column = np.frombuffer(array("d", values), dtype=np.float64)
    except (TypeError, OverflowError):
        raise _not_numbers(values) from None
    if not np.isfinite(column).all():
        raise _not_numbers(values)
    beyond = column.size and np.abs(column).max() >= MAX_EXACT_INT  # 2**53 + 1 has become 2**53
    for index, value in enumerate(values) if beyond else ():
        if type(value) is int and abs(value) > MAX_EXACT_INT:
            detail = (
                "An integer beyond 2**53 among decimals cannot be kept exactly; give all values as integers."
            )
            raise _at(index, "integer_too_large", detail)
    return column


def _not_numbers(values: list[Any]) -> InvalidTest:
    """Return an error that names the first few values that are not valid numbers."""
    per_value = (_flaw_of(value, f"/{index}") for index, value in enumerate(values))
    flaws = tuple(islice((flaw for flaw in per_value if flaw is not None), MAX_NAMED))
    return InvalidTest(flaws[0].detail if flaws else "This is not a column of numbers.", flaws=flaws)


def _flaw_of(value: Any, pointer: str) -> Flaw | None:
    kind = type(value)
    if kind not in NUMBERS:
        detail = f"This is {NAMES.get(kind, 'something else')}; a number is needed here.{SKIPPED if value is None else ''}"
        return Flaw(pointer, "not_a_number", detail)
    if kind is float and not np.isfinite(value):
        return Flaw(pointer, "not_finite", "This number is not finite, or too large for a double.")
    if kind is int and not -(2**63) <= value < 2**63:
        return Flaw(pointer, "integer_too_large", "This integer does not fit into 64 bits.")
    return None


def labels(values: list[Any]) -> list[Any]:
    """A column of items for predictions: every item one label (a string or an integer; `1` and `"1"` differ), or every item a list of labels.

    Raises InvalidTest, relative to the column (`/17` or `/17/2`): a value is neither.
    """
    kinds = set(map(type, values))
    if kinds <= LABELS:
        return values
    if kinds == {list}:
        for index, item in enumerate(values if set(map(type, chain.from_iterable(values))) - LABELS else ()):
            _refuse_labels(item, f"/{index}", LABELS)
        return values
    _refuse_labels(values, "", LABELS | {list})
    # The error for a column of both labels and lists.
    index = next(i for i, value in enumerate(values) if type(value) is not type(values[0]))
    detail = "Some items are single labels and some are lists of labels; they must all be of one form."
    raise _at(index, "mixed_items", detail)


def _refuse_labels(values: list[Any], prefix: str, allowed: set[type]) -> None:
    wrong = islice((pair for pair in enumerate(values) if type(pair[1]) not in allowed), MAX_NAMED)
    flaws = []
    for index, value in wrong:
        detail = f"This is {NAMES.get(type(value), 'something else')}; a label is a string or an integer."
        flaws.append(Flaw(f"{prefix}/{index}", "not_a_label", detail + (SKIPPED if value is None else "")))
    if flaws:
        raise InvalidTest(flaws[0].detail, flaws=tuple(flaws))


def keys(values: list[Any]) -> list[Any]:
    """A column of keys, one string or integer per item: ids, clusters; raises InvalidTest, pointers are relative to the column."""
    if not set(map(type, values)) <= LABELS:
        index, value = next(pair for pair in enumerate(values) if type(pair[1]) not in LABELS)
        detail = f"This is {NAMES.get(type(value), 'something else')}; a key is a string or an integer."
        raise InvalidTest.at(f"/{index}", "not_a_key", detail)
    return values


# Columns with several numbers per item: repeated samples, tuples of effects, named counts. Pointers: `/17/2` is the third number of the
# eighteenth item, `/tp/17` its count of that name.

MAX_COUNT_NAMES = 1_000
MAX_TUPLE = 100
MAX_COUNT = 2**53
MAX_DECIMALS = 12


def samples(values: list[Any], *, may_hold_booleans: bool = True) -> Column | Repeated:
    """One number per item, or a list of at least one number per item; raises InvalidTest."""
    lengths = _lengths(values)
    if lengths is None:
        return _numbers(values, may_hold_booleans=may_hold_booleans)
    if not lengths.all():
        detail = "There is no number here; every item needs at least one."
        raise _at(int(lengths.argmin()), "no_samples", detail)
    return Repeated(_flat(values, lengths, may_hold_booleans=may_hold_booleans), lengths)


def tuples(values: list[Any], *, may_hold_booleans: bool = True) -> Column:
    """One number per item, shape (n,), or m numbers for every item, shape (n, m); raises InvalidTest."""
    lengths = _lengths(values)
    if lengths is None:
        return _numbers(values, may_hold_booleans=may_hold_booleans)
    m = len(values[0])
    if not 1 <= m <= MAX_TUPLE:
        raise _at(0, "wrong_width", f"An item has from 1 to {MAX_TUPLE} effects; this one has {m:,}.")
    if (lengths != m).any():
        index = int((lengths != m).argmax())
        detail = f"Item 0 has {m} effects and item {index} has {lengths[index]:,}; all need the same number."
        raise _at(index, "wrong_width", detail)
    flat = _flat(values, lengths, may_hold_booleans=may_hold_booleans)
    return flat if m == 1 else flat.reshape(-1, m)


def named_counts(value: dict[str, Any], *, may_hold_booleans: bool = True) -> NamedCounts:
    """Read `{name: [counts]}`; arrays of integers may replace lists. Raises InvalidTest."""
    _refuse_names(list(value))
    result: dict[str, Column] = {}
    for name, column in value.items():
        if type(column) is not np.ndarray and type(column) is not list:
            raise InvalidTest.at(f"/{escaped(name)}", "not_a_column", "Give a list with one count per item.")
        at = partial(operator.add, f"/{escaped(name)}")
        result[name] = mapped(at, counts, column, may_hold_booleans=may_hold_booleans)
    first = next(iter(result))
    for name, column in result.items():
        if len(column) != len(result[first]):
            detail = (
                f"{quoted(first)} has {len(result[first]):,} counts and {quoted(name)} has {len(column):,}."
            )
            raise InvalidTest.at(f"/{escaped(name)}", "length_mismatch", detail)
    return NamedCounts(result)


def counts_by_item(values: Sequence[Any], *, may_hold_booleans: bool = True) -> NamedCounts:
    """Read `{name: count}` of every item, all with the same names; raises InvalidTest, pointers `/17/tp`."""
    for index, value in enumerate(values):
        if type(value) is not dict:
            detail = (
                f"This is {NAMES.get(type(value), 'something else')}; an item has an object of named counts."
            )
            raise _at(index, "not_an_object", detail)
    names = list(values[0]) if values else []
    if values:
        _refuse_names(names)
    for index, value in enumerate(values):
        if value.keys() != values[0].keys():
            odd = min(value.keys() ^ values[0].keys())  # independent of hash order
            detail = (
                f"All items need the same counts: {quoted(odd)} is not in this item and in the first one."
            )
            raise _at(index, "different_counts", detail)
    result: dict[str, Column] = {}
    for name in names:
        column = [value[name] for value in values]
        at = partial("{1}/{0}".format, escaped(name))
        result[name] = mapped(at, counts, column, may_hold_booleans=may_hold_booleans)
    return NamedCounts(result, by_item=True)


def counts(values: list[Any] | Column, *, may_hold_booleans: bool = True) -> Column:
    """A column of counts, from numbers or an array; raises InvalidTest, relative to the column, at the first that is not a count."""
    column = numbers(values, may_hold_booleans=may_hold_booleans) if isinstance(values, list) else values
    wrong = (column < 0) | (column > MAX_COUNT)
    if column.dtype != np.int64:
        wrong |= column != np.rint(column)
    if wrong.any():
        detail = "This is not a count: a whole number from 0 to 2**53 is needed."
        raise _at(int(wrong.argmax()), "not_a_count", detail)
    return column if column.dtype == np.int64 else column.astype(np.int64)


def to_decimals(values: Column | Repeated, decimals: int) -> Column | Repeated:
    """Round scores as numpy.round does: half to even of the double times a power of ten."""
    if isinstance(values, Repeated):
        rounded = to_decimals(values.values, decimals)
        assert not isinstance(rounded, Repeated)
        return Repeated(rounded, values.lengths)
    if values.dtype == np.int64:
        return values
    with np.errstate(over="ignore"):
        scaled = values * 10.0**decimals
    few = np.abs(scaled) < MAX_COUNT  # larger numbers have no decimals
    return np.where(few, np.rint(np.where(few, scaled, 0.0)) / 10.0**decimals, values)


def _lengths(values: list[Any]) -> NDArray[np.int64] | None:
    """The length of each list; None if the first item is not a list, or there are no items."""
    if not values or type(values[0]) is not list:
        return None
    _require_uniform(values)
    return np.fromiter(map(len, values), dtype=np.int64, count=len(values))


def _numbers(values: list[Any], *, may_hold_booleans: bool) -> Column:
    """One number per item. Look for lists only if this fails, as most items are numbers."""
    try:
        return numbers(values, may_hold_booleans=may_hold_booleans)
    except InvalidTest:
        _require_uniform(values)
        raise


def _require_uniform(values: list[Any]) -> None:
    """Raise InvalidTest when only some items are lists."""
    kinds = set(map(type, values))
    if list in kinds and kinds != {list}:
        first = type(values[0]) is list
        index = next(i for i, value in enumerate(values) if (type(value) is list) != first)
        detail = "Some items are single numbers and some are lists; they must all be of one form."
        raise _at(index, "mixed_items", detail)


def _flat(values: list[Any], lengths: NDArray[np.int64], *, may_hold_booleans: bool) -> Column:
    """Join the numbers of all items; flaws point at the item and the number in it."""

    def place(pointer: str) -> str:
        position, ends = int(pointer[1:]), np.cumsum(lengths)
        item = int(np.searchsorted(ends, position, side="right"))
        return f"/{item}/{position - int(ends[item] - lengths[item])}"

    flat = list(chain.from_iterable(values))
    return mapped(place, numbers, flat, may_hold_booleans=may_hold_booleans)


def _refuse_names(names: list[str]) -> None:
    if not names:
        raise InvalidTest.at("", "no_counts", "There are no counts; give at least one, by name.")
    if len(names) > MAX_COUNT_NAMES:
        detail = f"There are {len(names):,} names of counts; at most {MAX_COUNT_NAMES:,} are allowed."
        raise InvalidTest.at("", "too_many_counts", detail)


def _at(index: int, code: str, detail: str) -> InvalidTest:
    return InvalidTest.at(f"/{index}", code, detail)
