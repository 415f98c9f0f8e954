"""How files of labels are recognised: by the names of their columns, and by values that are labels and no scores."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ...errors import MAX_CHOICES, InvalidTest, choices_of, marked
from ...statistics.paired import StatisticSpec
from ..names import (
    CLASS,
    CLUSTER,
    GOLD_LABEL,
    ID,
    INDEX,
    PREDICTED,
    SCORE,
    STEMS,
    SURELY_GOLD,
    find,
    is_one_of,
)
from ..quoting import quoted
from .format import MAX_LINES, FirstLook, Sign
from .label_values import is_gap
from .number_text import TRUTH, parsed
from .reader import choose

Table = dict[str, list[Any]]
KEYS = (*ID, *INDEX, *CLUSTER)
MOST_CLASSES = 20


def sign(look: FirstLook) -> Sign:
    """Of files with a column of labels beside gold, or with gold in a file of its own."""
    columns = _columns(look)
    if look.roles == {"u", "v", "gold"}:
        found = _named(columns, (*PREDICTED, *CLASS)) or _only(columns)
        gold = _columns(look.other("gold"))
        truth = _named(gold, GOLD_LABEL) or _only(gold)
        mine = found is not None and truth is not None and _are_labels(columns[found], gold[truth])
    elif look.roles == {"u", "v"}:
        found, truth = _named(columns, PREDICTED), _named(columns, SURELY_GOLD)
        scored = find(columns, SCORE) is not None
        mine = (
            found is not None
            and truth is not None
            and not scored
            and _are_labels(columns[found], columns[truth])
        )
    elif look.roles == {"file"}:
        mine = _is_table_of_labels(columns)
    else:
        mine = False
    return Sign.HEADER if mine else Sign.NONE


def refuse_ambiguous(look: FirstLook, name: str) -> None:
    """Refuse a table of gold, u and v that may hold labels, or scores: whole numbers that gold has, too."""
    columns = _columns(look) if look.roles == {"file"} else {}
    truth, pair = _named(columns, SURELY_GOLD), _pair(columns)
    if truth is None or pair is None:
        return
    gold = _known(columns[truth])
    if len(gold) <= MOST_CLASSES and all(
        _whole(columns[name]) and _known(columns[name]) <= gold for name in pair
    ):
        detail = (
            f'The numbers of {pair[0]} and {pair[1]} may be labels, to be compared with "{truth}", or scores, such as 1 where a system is '
            f"right: say which by `format=labels` or {marked('format', name)}."
        )
        choices = choices_of(
            "format", {"labels": "Labels, compared with gold", name: "Scores of the systems"}
        )
        raise InvalidTest.at("/options/format", "choose_format", detail, choices)


def refuse_untold(spec: StatisticSpec, gold: Collection[Any], columns: Mapping[str, Collection[Any]]) -> None:
    """Refuse the statistic `spec` of scores that nobody has named, where the scores may be labels: whole numbers that gold has, too."""
    labels = set(gold)
    if spec.name == "concordance" or len(labels) > MOST_CLASSES:
        return
    if all(labels.issuperset(values) for values in columns.values()):
        named = ", ".join(map(quoted, list(columns)[:MAX_CHOICES]))
        why = f"All numbers of {named} are also gold's, so they may be labels, or scores. "
        raise choose("/options/statistic", "statistic", "statistic", ["accuracy", spec.name], why)


def _is_table_of_labels(columns: Table) -> bool:
    truth = _named(columns, SURELY_GOLD)
    if truth is None:
        return False
    pair = _pair(columns)
    if pair is not None:
        return all(_are_texts(columns[name]) for name in pair)
    gold = _known(columns[truth])
    others = [values for name, values in columns.items() if name != truth and not is_one_of(name, KEYS)]
    return sum(_are_texts(values) and not gold.isdisjoint(_known(values)) for values in others) >= 2


def _pair(columns: Table) -> tuple[str, str] | None:
    pairs = ((f"{stem}u", f"{stem}v") for stem in STEMS)
    return next((pair for pair in pairs if pair[0] in columns and pair[1] in columns), None)


def _named(columns: Table, names: Sequence[str]) -> str | None:
    return find(columns, names)


def _only(columns: Table) -> str | None:
    others = [name for name in columns if not is_one_of(name, KEYS)]
    return others[0] if len(others) == 1 else None


def _are_labels(values: list[Any], gold: list[Any]) -> bool:
    """Whether these are texts; or whole numbers, few of them, and those of gold."""
    if _are_texts(values):
        return True
    return _whole(values) and len(_known(gold)) <= MOST_CLASSES and _known(values) <= _known(gold)


def _are_texts(values: list[Any]) -> bool:
    known = _known(values)
    return bool(known) and all(parsed(text) is None for text in known)


def _whole(values: list[Any]) -> bool:
    known = _known(values)
    numbers = [TRUTH.get(text.lower(), parsed(text)) for text in known]
    return bool(known) and all(number is not None and number == int(number) for number in numbers)


def _known(values: list[Any]) -> set[str]:
    """The values as text, numbers without trailing zeros."""
    texts = {
        str(value).strip() for value in values if not is_gap(value) and not isinstance(value, list | dict)
    }
    return {text.removesuffix(".0") for text in texts}


def _columns(look: FirstLook) -> Table:
    """The first values of each column or field, by its name in lower case; empty where it is none of either."""
    if look.is_json:
        records = _records(look)
        names = dict.fromkeys(name for record in records for name in record)
        return {name.lower(): [record.get(name) for record in records] for name in names}
    names_of_table, *rows = look.table or [[]]
    whole = [row for row in rows if len(row) == len(names_of_table)]
    if not whole:
        return {}
    return {name.lower(): [row[at] for row in whole] for at, name in enumerate(names_of_table)}


def _records(look: FirstLook) -> list[dict[str, Any]]:
    try:
        if look.text.lstrip().startswith("["):
            values = json.loads(look.source.content)[:MAX_LINES]
        else:
            lines = look.text.split("\n", MAX_LINES)[:MAX_LINES]
            cut = (
                len(lines) - 1 if len(look.text) < len(look.source.content) and len(lines) > 1 else len(lines)
            )
            values = [json.loads(line) for line in lines[:cut] if line.strip()]
    except (ValueError, RecursionError):
        return []
    return [value for value in values if isinstance(value, dict)]
