"""Labels as files of tables and JSON write them: one way of writing for gold and all systems, and gaps."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Any

from ..frame import Frame
from ..missing_texts import MISSING
from .number_text import TRUTH, parsed, plain_numbers

Label = int | float | str
# `none` is a class of many data sets; the others are what tables write where there is no value.
GAPS = MISSING - {"none"}


def labels_of(
    columns: Mapping[str, tuple[Frame, str]], *, whole: bool = True
) -> dict[str, list[Label | None]]:
    """The labels of gold and systems, each a column of a file; None is missing.

    Numbers where all of them are, which are `whole` unless they may be scores of gold (1.0 is 1); 1 and 0 where all are true or
    false, else texts as written: so that a table's 1 and JSON's 1 are one label.

    Raises
    ------
    InvalidTest
        One is a list, an object or, where they are whole, a number with decimals, which is a score.
    """
    if not whole:
        plain = {role: _plain(data.column(name)) for role, (data, name) in columns.items()}
        if None not in plain.values():
            return {role: list(values or ()) for role, values in plain.items()}
    texts = {role: _texts(data, name, GAPS if whole else MISSING) for role, (data, name) in columns.items()}
    every = {text for column in texts.values() for text in column if text is not None}
    known: dict[str, Any] = {text: parsed(text) for text in every}
    if None not in known.values() and whole:
        for role, (data, name) in columns.items():
            _refuse_scores(data, name, texts[role], known)
        known = {text: int(number) for text, number in known.items()}
    elif None in known.values():
        truths = {text: TRUTH.get(text.lower(), {"0": 0, "1": 1}.get(text)) for text in every}
        known = {text: text for text in every} if None in truths.values() else truths
    return {
        role: [None if text is None else known[text] for text in column] for role, column in texts.items()
    }


def _plain(values: list[Any]) -> list[Any] | None:
    """Numbers of a table that are written as JSON writes them, at C speed; None of others."""
    return plain_numbers(values) if set(map(type, values)) == {str} else None


def _texts(data: Frame, name: str, gaps: Collection[str]) -> list[str | None]:
    values = data.column(name)
    if set(map(type, values)) == {str}:  # each different text is looked at once
        read = {value: None if value.strip().lower() in gaps else value.strip() for value in set(values)}
        return list(map(read.__getitem__, values))
    return [
        None if is_gap(value, gaps) else _text(data, name, row, value) for row, value in enumerate(values)
    ]


def is_gap(value: Any, gaps: Collection[str] = GAPS) -> bool:
    """Whether there is no label."""
    if isinstance(value, str):
        return value.strip().lower() in gaps
    return value is None or (isinstance(value, float) and math.isnan(value))


def _text(data: Frame, name: str, row: int, value: Any) -> str:
    if isinstance(value, list | dict):
        detail = "a label is a text or a number; sequences of tags are columns of tokens (`format=conll`), or a JSON request."
        raise data.refused(row, name, "not_a_label", detail)
    return str(value).lower() if isinstance(value, bool) else str(value).strip()


def _refuse_scores(data: Frame, name: str, texts: list[str | None], numbers: Mapping[str, Any]) -> None:
    for row, text in enumerate(texts):
        if text is not None and numbers[text] != int(numbers[text]):
            detail = "this is a score, and no label; scores have statistics of their own, such as auc (`statistic`)."
            raise data.refused(row, name, "not_a_label", detail)
