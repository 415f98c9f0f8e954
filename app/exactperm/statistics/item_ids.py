"""Ids of items: the order that they give, and rows of averages or totals that look like items."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from itertools import islice
from operator import le, lt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..engine.lattice import Integers
from .paired import DataWarning, Pairing

# A longer number is text.
_DIGITS = 18
# From _MANY_IDS ids on, NumPy sorts them if none is longer than _LONGEST_ID.
_MANY_IDS, _LONGEST_ID = 2_000, 64
# Masks of the first 0 .. 8 bytes of a word.
_FIRST_BYTES = np.array([(1 << 64) - (1 << 8 * left) for left in range(8, -1, -1)], dtype=np.uint64)


def order_of_items(pairing: Pairing) -> Integers | None:
    """Return the positions that sort the items by id: as numbers where all are integers, else as text.

    None where there are no ids, or the items are in this order already.
    """
    order = _order_of_ids(pairing.ids) if pairing.order is None else pairing.order
    return None if order is None or bool((order[1:] > order[:-1]).all()) else order


def _order_of_ids(ids: Sequence[str | int] | None) -> Integers | None:
    """Return the positions that sort ids; None where there are none, or where a first check shows them sorted."""
    if not ids:
        return None
    texts: Sequence[Any] = ids if set(map(type, ids)) <= {str} else list(map(str, ids))
    many, whole = len(texts) >= _MANY_IDS, _are_whole(texts)
    if many and whole and (order := _order_of_numbers(texts)) is not None:
        return order
    keys: Sequence[Any] = [(int(key), key) for key in texts] if whole else texts
    if all(map(le, keys, islice(keys, 1, None))):
        return None
    if many and not whole and (ordered := _order_of_texts(texts)) is not None:
        return ordered[0]
    return np.array(sorted(range(len(keys)), key=keys.__getitem__), dtype=np.int64)


def distinct_and_order(ids: Sequence[Any]) -> tuple[bool, Integers | None]:
    """Return whether all ids are distinct, and the positions that sort the items by id if that check computes them."""
    if len(ids) >= _MANY_IDS and isinstance(ids[0], str) and set(map(type, ids)) == {str}:
        if _are_whole(ids):
            order = _order_of_numbers(ids)
            if order is not None:
                return True, order
        elif all(map(lt, ids, islice(ids, 1, None))):
            return True, np.arange(len(ids))
        elif (ordered := _order_of_texts(ids)) is not None:
            return ordered[1], ordered[0]
    return len(set(ids)) == len(ids), None


def _are_whole(texts: Sequence[Any]) -> bool:
    """Return whether all ids are integers of moderate length."""
    if not texts[0].isdecimal():
        return False
    digits = "".join(texts)
    return digits.isdecimal() and digits.isascii() and all(texts) and max(map(len, texts)) <= _DIGITS


def _order_of_numbers(texts: Sequence[Any]) -> Integers | None:
    """Return the positions that sort integers; None where two are equal, such as 7 and 07."""
    numbers = np.fromiter(map(int, texts), dtype=np.int64, count=len(texts))
    order = np.argsort(numbers)
    ascending = numbers[order]
    return order if bool((ascending[1:] > ascending[:-1]).all()) else None


def _order_of_texts(texts: Sequence[str]) -> tuple[Integers, bool] | None:
    """Return the positions that sort texts, and whether all differ; None if some are long, or have line ends or zeros.

    Words of eight bytes are compared: UTF-8 sorts as characters do, and padding zeros sort before any character.
    """
    written = "\n".join(texts).encode("utf-8", "surrogatepass")
    padded = np.frombuffer(written + b"\n" + bytes(8), dtype=np.uint8)
    every = np.ndarray(len(written) + 1, dtype=">u8", buffer=padded, strides=(1,))
    ends = np.flatnonzero(padded == ord("\n"))
    starts = np.concatenate([[0], ends[:-1] + 1])
    longest = max(int((ends - starts).max()), 1)
    if len(ends) != len(texts) or longest > _LONGEST_ID or b"\0" in written:
        return None

    def word(at: int, rows: slice | Integers) -> NDArray[np.uint64]:
        """Return bytes `at` to `at + 7` of some texts as integers, the first byte highest."""
        first, end = starts[rows] + at, ends[rows]
        eight: NDArray[np.uint64] = every[np.minimum(first, end)].astype(np.uint64)
        eight &= _FIRST_BYTES[np.clip(end - first, 0, 8)]
        return eight

    for at in range(0, longest, 8):
        key = word(at, slice(None))
        if (key != key[0]).any():
            break
    order = np.argsort(key)
    equal = key[order[1:]] == key[order[:-1]]
    # Texts that agree so far are adjacent, and are sorted by the rest.
    agree = np.append(equal, False) | np.append(False, equal)
    rows = np.sort(order[agree])
    words = [word(after, rows) for after in range(at, longest, 8)]
    inside = np.lexsort(words[::-1])
    order[agree] = rows[inside]
    same = [each[inside[1:]] == each[inside[:-1]] for each in words]
    return order, not bool(np.logical_and.reduce(same).any())


# Rows of averages or totals, which tools and spreadsheets write at the end or the top of a table


OF_ROWS = (
    "mean",
    "average",
    "avg",
    "median",
    "total",
    "subtotal",
    "sub total",
    "sum",
    "std",
    "stdev",
    "std dev",
)
SUMMARY = re.compile(
    r"(?:(?:macro|micro|weighted|samples?|overall|grand|unweighted|global)[ -]*)?"
    rf"(?:{'|'.join(OF_ROWS)}|score)(?:[ -]*score)?|all|overall|combined|macro|micro|aggregate|summary|accuracy"
)
# Next to such a row these are summaries as well (mean, std, min, max); alone they may be names of items.
WEAK = re.compile(
    r"sd|sem|se|s\.?d|std\.? ?(?:dev(?:iation)?|err(?:or)?)|standard (?:deviation|error)|var|variance|min|max|minimum|maximum"
    r"|range|count|n|num|nan|mode|iqr|ci|p(?:25|50|75|90|95|99|99\.9|999)|\d{1,2}(?:\.\d+)? ?%"
    r"|(?:\d{1,2}(?:\.\d+)?(?:st|nd|rd|th)? ?)(?:percentile|quantile|pctl?)|(?:lower|upper|first|third) quartile"
)
BRACKETED = re.compile(r"[(\[{<]+([^()\[\]{}<>]*)[)\]}>]+")
REMAINDER = re.compile(r"(?<=\w) ?[(\[{<][^()\[\]{}<>]*[)\]}>]$")
MARKS = " :.*-=_#"
SHOWN_CHARS = 40
SHOWN_NAMES = 5


def is_summary(name: object) -> bool:
    """Return whether tools give this id to a row of averages or totals; a blank id counts.

    >>> [is_summary(name) for name in ("Mean", "macro avg", "(all)", "average (10 items)", "q12", "meaning", 3)]
    [True, True, True, True, False, False, False]
    """
    text = _plain(name)
    return text is not None and (not text or (SUMMARY.fullmatch(text) is not None and text != "score"))


def _plain(name: object) -> str | None:
    """Normalise a name: drop capitals, punctuation, enclosing brackets and a remark in brackets; None where it is not a
    name.
    """
    if not isinstance(name, str) or len(name) > SHOWN_CHARS:
        return None
    text = " ".join(name.replace("_", " ").split()).strip(MARKS).casefold()
    whole = BRACKETED.fullmatch(text)
    return (REMAINDER.sub("", text) if whole is None else whole[1]).strip(MARKS)


def _is_weak(name: object) -> bool:
    text = _plain(name)
    return text is not None and WEAK.fullmatch(text) is not None


def summary_rows(ids: Sequence[object]) -> list[int]:
    """Find consecutive summary rows at the end or the top, including names such as `std` and `max`."""
    last = _run(ids, range(len(ids) - 1, -1, -1))
    first = _run(ids, range(len(ids) - last))
    return [*range(first), *range(len(ids) - last, len(ids))]


def _run(ids: Sequence[object], positions: range) -> int:
    """Count the leading rows of averages; 0 where only ambiguous names occur."""
    count, known = 0, False
    for position in positions:
        strong = is_summary(ids[position])
        if not strong and not _is_weak(ids[position]):
            break
        count, known = count + 1, known or strong
    return count if known else 0


def summary_warning(pairing: Pairing) -> DataWarning | None:
    """Warn about summary rows among the items, if there are any."""
    ids = pairing.ids
    rows = [] if ids is None else summary_rows(ids)
    if ids is None or not rows:
        return None
    names = ", ".join(json.dumps(str(ids[row])) for row in rows[:SHOWN_NAMES])
    where = "The first" if rows[0] == 0 and rows[-1] < len(ids) - 1 else "The last"
    detail = (
        f"{where} of {len(ids):,} items {'is' if len(rows) == 1 else 'are'} called {names}: a row of averages or totals is "
        "not an item. Remove it, or give the item another id."
    )
    return DataWarning("/ids", "summary_row", detail)
