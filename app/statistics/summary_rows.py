"""Rows of averages or totals among the items: tools and spreadsheets write them at the end of a table, or on top."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from app.statistics.data_warning import DataWarning
from app.statistics.paired import Pairing

OF_ROWS = ("mean", "average", "avg", "median", "total", "sum", "std", "stdev", "std dev")
SUMMARY = re.compile(
    r"(?:(?:macro|micro|weighted|samples?|overall|grand|unweighted|global)[ -]*)?"
    rf"(?:{'|'.join(OF_ROWS)}|score)(?:[ -]*score)?|all|overall|macro|micro|aggregate|summary|accuracy"
)
SHOWN_CHARS = 40


def is_summary(name: object) -> bool:
    """Whether an id is one that tools give to a row of averages or totals; blank is one, too.

    >>> [is_summary(name) for name in ("Mean", "macro avg", "ALL", "q12", "meaning", 3)]
    [True, True, True, False, False, False]
    """
    if not isinstance(name, str) or len(name) > SHOWN_CHARS:
        return False
    text = " ".join(name.replace("_", " ").split()).strip(" :.*-").casefold()
    return not text or (SUMMARY.fullmatch(text) is not None and text != "score")


def summary_rows(ids: Sequence[object]) -> list[int]:
    """Where such rows stand: at the end or on top, several in a row."""
    last = len(ids)
    while last and is_summary(ids[last - 1]):
        last -= 1
    first = 0
    while first < last and is_summary(ids[first]):
        first += 1
    return [*range(first), *range(last, len(ids))]


def summary_warning(pairing: Pairing) -> DataWarning | None:
    """The warning about such a row among the items, if there is one."""
    ids = pairing.ids
    rows = [] if ids is None else summary_rows(ids)
    if ids is None or not rows:
        return None
    names = ", ".join(json.dumps(str(ids[row])) for row in rows[:3])
    where = "The first" if rows[0] == 0 and rows[-1] < len(ids) - 1 else "The last"
    detail = (
        f"{where} of {len(ids):,} items {'is' if len(rows) == 1 else 'are'} called {names}: a row of averages or totals is "
        "no item. Drop it, or give the item another id."
    )
    return DataWarning("/ids", "summary_row", detail)
