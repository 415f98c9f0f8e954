"""Rows of averages or totals among the items: tools and spreadsheets write them at the end of a table, or on top."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from .paired import DataWarning, Pairing

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
# Next to such a row these are summaries, too (mean, std, min, max); alone they may be the names of items.
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
    """Whether an id is one that tools give to a row of averages or totals; blank is one, too.

    >>> [is_summary(name) for name in ("Mean", "macro avg", "(all)", "average (10 items)", "q12", "meaning", 3)]
    [True, True, True, True, False, False, False]
    """
    text = _plain(name)
    return text is not None and (not text or (SUMMARY.fullmatch(text) is not None and text != "score"))


def _plain(name: object) -> str | None:
    """A name without capitals, marks, brackets around it and a remark in brackets after it; None for what is no name."""
    if not isinstance(name, str) or len(name) > SHOWN_CHARS:
        return None
    text = " ".join(name.replace("_", " ").split()).strip(MARKS).casefold()
    whole = BRACKETED.fullmatch(text)
    return (REMAINDER.sub("", text) if whole is None else whole[1]).strip(MARKS)


def _is_weak(name: object) -> bool:
    text = _plain(name)
    return text is not None and WEAK.fullmatch(text) is not None


def summary_rows(ids: Sequence[object]) -> list[int]:
    """Where such rows stand: at the end or on top, several in a row, with the like of `std` and `max` among them."""
    last = _run(ids, range(len(ids) - 1, -1, -1))
    first = _run(ids, range(len(ids) - last))
    return [*range(first), *range(len(ids) - last, len(ids))]


def _run(ids: Sequence[object], positions: range) -> int:
    """How many of these rows, from the first one on, are of averages; none where there are only names of the weaker kind."""
    count, known = 0, False
    for position in positions:
        strong = is_summary(ids[position])
        if not strong and not _is_weak(ids[position]):
            break
        count, known = count + 1, known or strong
    return count if known else 0


def summary_warning(pairing: Pairing) -> DataWarning | None:
    """The warning about such a row among the items, if there is one."""
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
