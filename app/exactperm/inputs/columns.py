"""Lists of decoded values as columns: arrays of numbers, or checked lists of labels.

Numbers are exact. Integers stay integers (int64), decimals are the doubles nearest to what was written, and a
column of both must keep all values exactly. Correct data is checked at C speed, without a Python loop over the items;
only incorrect data is searched for the item to report.
"""

from __future__ import annotations

from array import array
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import Flaw, InvalidTest
from ..statistics.paired import Column

MAX_EXACT_INT = 2**53
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

    `may_hold_booleans=False` promises that there are none, which saves a pass over the values.

    Raises InvalidTest: something is not a finite number, or not one the column can hold exactly. Pointers are relative to
    the column (`/17`).
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
    if column.size and np.abs(column).max() >= MAX_EXACT_INT:  # 2**53 + 1 has become 2**53
        _refuse_inexact(values)
    return column


def _not_numbers(values: list[Any]) -> InvalidTest:
    """An error that names the first few values that are not valid numbers."""
    found = (_flaw_of(value, f"/{index}") for index, value in enumerate(values))
    flaws = tuple(islice((flaw for flaw in found if flaw is not None), MAX_NAMED))
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


def _refuse_inexact(values: list[Any]) -> None:
    for index, value in enumerate(values):
        if type(value) is int and abs(value) > MAX_EXACT_INT:
            detail = (
                "An integer beyond 2**53 among decimals cannot be kept exactly; give all values as integers."
            )
            raise InvalidTest.at(f"/{index}", "integer_too_large", detail)


def labels(values: list[Any]) -> list[Any]:
    """A column of items for predictions: every item one label, or every item a list of labels.

    A label is a string or an integer; `1` and `"1"` are different labels.

    Raises InvalidTest: something else is there. Pointers are relative to the column (`/17` or `/17/2`).
    """
    kinds = set(map(type, values))
    if kinds <= LABELS:
        return values
    if kinds == {list}:
        inner: set[type] = set()
        for item in values:
            inner.update(map(type, item))
        if inner <= LABELS:
            return values
        for index, item in enumerate(values):
            if not set(map(type, item)) <= LABELS:
                _refuse_labels(item, f"/{index}", nested=True)
    _refuse_labels(values, "", nested=False)
    # Labels here, lists there.
    index = next(i for i, value in enumerate(values) if type(value) is not type(values[0]))
    detail = "Some items are single labels and some are lists of labels; they must all be of one form."
    raise InvalidTest.at(f"/{index}", "mixed_items", detail)


def _refuse_labels(values: list[Any], prefix: str, *, nested: bool) -> None:
    allowed = LABELS if nested else LABELS | {list}
    wrong = islice((pair for pair in enumerate(values) if type(pair[1]) not in allowed), MAX_NAMED)
    flaws = []
    for index, value in wrong:
        detail = f"This is {NAMES.get(type(value), 'something else')}; a label is a string or an integer."
        flaws.append(Flaw(f"{prefix}/{index}", "not_a_label", detail + (SKIPPED if value is None else "")))
    if flaws:
        raise InvalidTest(flaws[0].detail, flaws=tuple(flaws))


def keys(values: list[Any]) -> list[Any]:
    """A column of keys, one string or integer per item: ids, clusters.

    Raises InvalidTest: something else is there. Pointers are relative to the column.
    """
    if not set(map(type, values)) <= LABELS:
        index, value = next(pair for pair in enumerate(values) if type(pair[1]) not in LABELS)
        detail = f"This is {NAMES.get(type(value), 'something else')}; a key is a string or an integer."
        raise InvalidTest.at(f"/{index}", "not_a_key", detail)
    return values
