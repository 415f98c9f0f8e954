"""Labels as files of tables and JSON write them: one way of writing for gold and all systems, and gaps."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..frame import Frame
from ..missing_texts import MISSING
from .number_text import TRUTH, parsed

Label = int | str
# `none` is a class of many data sets; the others are what tables write where there is no value.
GAPS = MISSING - {"none"}


def labels_of(columns: Mapping[str, tuple[Frame, str]]) -> dict[str, list[Label | None]]:
    """The labels of gold and systems, each a column of a file; None is missing.

    Whole numbers where all of them are (1.0 is 1), 1 and 0 where all are true or false, else texts as written: so that a
    table's 1 and JSON's 1 are one label.

    Raises
    ------
    InvalidTest
        One is a list, an object or a number with decimals, which is a score.
    """
    texts = {role: _texts(data, name) for role, (data, name) in columns.items()}
    every = {text for column in texts.values() for text in column if text is not None}
    numbers = {text: parsed(text) for text in every}
    if every and None not in numbers.values():
        _refuse_scores(columns, texts, numbers)
        known: Mapping[str, Label] = {
            text: int(number) for text, number in numbers.items() if number is not None
        }
    elif every and every <= _truths(every):
        known = {text: TRUTH[text.lower()] if text.lower() in TRUTH else int(text) for text in every}
    else:
        known = {text: text for text in every}
    return {
        role: [None if text is None else known[text] for text in column] for role, column in texts.items()
    }


def _truths(texts: Iterable[str]) -> set[str]:
    return {text for text in texts if text.lower() in TRUTH or text in {"0", "1"}}


def _texts(data: Frame, name: str) -> list[str | None]:
    values = data.column(name)
    return [None if is_gap(value) else _text(data, name, row, value) for row, value in enumerate(values)]


def is_gap(value: Any) -> bool:
    """Whether there is no label."""
    if isinstance(value, str):
        return value.strip().lower() in GAPS
    return value is None or (isinstance(value, float) and math.isnan(value))


def _text(data: Frame, name: str, row: int, value: Any) -> str:
    if isinstance(value, list | dict):
        detail = "a label is a text or a number; sequences of tags are columns of tokens (`format=conll`), or a JSON request."
        raise data.refused(row, name, "not_a_label", detail)
    return (
        value.strip()
        if isinstance(value, str)
        else str(value).lower()
        if isinstance(value, bool)
        else str(value)
    )


def _refuse_scores(
    columns: Mapping[str, tuple[Frame, str]],
    texts: Mapping[str, Sequence[str | None]],
    numbers: Mapping[str, int | float | None],
) -> None:
    for role, (data, name) in columns.items():
        for row, text in enumerate(texts[role]):
            number = None if text is None else numbers[text]
            if number is not None and number != int(number):
                detail = "this is a score, and no label; scores have statistics of their own, such as auc (`statistic`)."
                raise data.refused(row, name, "not_a_label", detail)
