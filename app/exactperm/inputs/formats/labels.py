"""Read labels with gold from files, recognise labels and scores, and refuse ambiguous tables with a choice."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Any

from ...errors import MAX_CHOICES, InvalidTest, choices_of, marked
from ...statistics.paired import StatisticSpec
from .. import names
from ..format import FirstLook, Sign
from ..frame import Frame
from ..names import find, folded, is_key, is_one_of, is_predicted
from ..number_text import MISSING, TRUTH, parsed, plain_numbers
from ..quoting import quoted
from ..reader import choose

Label = int | float | str
Table = dict[str, list[Any]]
KEYS = (*names.ID, *names.INDEX, *names.CLUSTER)
MOST_CLASSES = 20
AUC_CLASSES = 2
# Marks of missing values, without `none`, which is a class of many data sets.
GAPS = MISSING - {"none"}


def labels_of(
    columns: Mapping[str, tuple[Frame, str]], *, whole: bool = True
) -> dict[str, list[Label | None]]:
    """The labels of gold and systems, each a column of a file; None is missing.

    Numbers if all are numbers, which must be `whole` (1.0 is 1) unless gold may be scores; 1 and 0 if all are true or false; else texts
    as written. So 1 in a table and 1 in JSON are the same label. Raises InvalidTest at a list, an object or a score.
    """
    if not whole:
        written = {role: data.column(name) for role, (data, name) in columns.items()}
        if all(set(map(type, values)) == {str} for values in written.values()):
            plain = {role: plain_numbers(values) for role, values in written.items()}  # at C speed
            if None not in plain.values():
                return {role: list(values or ()) for role, values in plain.items()}
    texts = {role: _texts(data, name, GAPS if whole else MISSING) for role, (data, name) in columns.items()}
    every = {text for column in texts.values() for text in column if text is not None}
    known: dict[Any, Any] = {text: parsed(text) for text in every}
    if None not in known.values() and whole:
        for role, (data, name) in columns.items():
            for row, text in enumerate(texts[role]):
                if text is not None and known[text] != int(known[text]):
                    detail = "this is a score, not a label; scores need another statistic, such as auc (`statistic`)."
                    raise data.refused(row, name, "not_a_label", detail)
        known = {text: int(number) for text, number in known.items()}
    elif None in known.values():
        truths = {text: TRUTH.get(text.lower(), {"0": 0, "1": 1}.get(text)) for text in every}
        known = {text: text for text in every} if None in truths.values() else truths
    known[None] = None
    return {role: [known[text] for text in column] for role, column in texts.items()}


def _texts(data: Frame, name: str, gaps: Collection[str]) -> list[str | None]:
    values = data.column(name)
    if set(map(type, values)) == {str}:  # parse each distinct text once
        read = {value: None if value.strip().lower() in gaps else value.strip() for value in set(values)}
        return list(map(read.__getitem__, values))
    texts: list[str | None] = []
    for row, value in enumerate(values):
        if isinstance(value, list | dict):
            detail = "a label is a text or a number; sequences of tags are columns of tokens (`format=conll`), or a JSON request."
            raise data.refused(row, name, "not_a_label", detail)
        text = str(value).lower() if isinstance(value, bool) else str(value).strip()
        texts.append(None if is_gap(value, gaps) else text)
    return texts


def is_gap(value: Any, gaps: Collection[str] = GAPS) -> bool:
    """Whether there is no label."""
    if isinstance(value, str):
        return value.strip().lower() in gaps
    return value is None or (isinstance(value, float) and math.isnan(value))


def sign_of_labels(look: FirstLook) -> Sign:
    """The sign of files with a column of labels beside gold, or with a separate file of gold."""
    columns, gold, mine = look.first_values, None, False
    predicted = truth = None
    if look.roles == {"u", "v", "gold"}:
        gold = look.other("gold").first_values
        predicted = find(columns, (*names.PREDICTED, *names.CLASS)) or _only(columns)
        truth = find(gold, names.GOLD_LABEL) or _only(gold)
    elif look.roles == {"u", "v"} and find(columns, names.SCORE) is None:
        gold, predicted, truth = columns, find(columns, names.PREDICTED), find(columns, names.SURELY_GOLD)
    elif look.roles == {"file"}:
        mine = _is_table_of_labels(columns)
    if gold is not None and predicted is not None and truth is not None:
        mine = _are_labels(columns[predicted], gold[truth])
    return Sign.HEADER if mine else Sign.NONE


def sign_of_scores(look: FirstLook) -> Sign:
    """The sign of files with columns named as scores, beside gold or times."""
    columns = look.columns if look.record is None else look.record.keys()
    if {"u", "v", "gold"} <= look.roles:
        mine = find(columns, names.ID) is not None and find(columns, names.RANKED) is not None
    else:
        called = {folded(name) for name in columns}
        both = any({folded(f"{stem}_u"), folded(f"{stem}_v")} <= called for stem in names.RANKED)
        timed = find(columns, names.TIME) is not None and find(columns, names.EVENT) is not None
        mine = "file" in look.roles and ((both and find(columns, names.SURELY_GOLD) is not None) or timed)
    return Sign.HEADER if mine else Sign.NONE


def refuse_ambiguous(look: FirstLook, name: str, chosen: Collection[str | None]) -> None:
    """Refuse a table of gold and columns that may be labels or scores (whole numbers that also occur in gold), or of gold and one system.

    `chosen` are the columns that options name as systems.
    """
    if look.roles == {"u", "v"}:
        _refuse_scores_beside_labels(look)
        return
    columns = look.first_values if look.roles == {"file"} else {}
    truth = find(columns, (*names.NO_SYSTEM, *names.GOLD_LABEL))
    if truth is None:
        return
    gold = _known(columns[truth])
    others = [one for one in columns if one != truth and not is_one_of(one, KEYS) and not is_key(one)]
    if chosen:
        others = [one for one in others if one in {str(option).strip().lower() for option in chosen}]
    alike = [one for one in others if _known(columns[one]) <= gold and len(gold) <= MOST_CLASSES]
    if len(others) == 1 and not chosen:
        beside = is_one_of(truth, names.SURELY_GOLD) and (alike or is_one_of(others[0], names.RANKED))
        if beside or is_predicted(others[0]):
            _refuse_single_system(look, name, truth, others[0])
    pair = [one for one in alike if _whole(columns[one])]
    if len(pair) > 1:
        listed = " and ".join(map(quoted, pair[:MAX_CHOICES]))
        detail = f"The numbers of {listed} may be labels, to be compared with {quoted(truth)} (accuracy), or scores, such as 1 where a system is right: "
        if look.source.is_body:
            detail += (
                f"send labels to /v1/tests/predictions or as a file, and scores without {quoted(truth)}."
            )
            raise InvalidTest.at(look.source.line(1), "choose_format", detail)
        detail += f"say which by `format=labels` or {marked('format', name)}."
        titles = {"labels": "Labels, compared with gold", name: "Scores of the systems"}
        raise InvalidTest.at("/options/format", "choose_format", detail, choices_of("format", titles))


def _refuse_single_system(look: FirstLook, name: str, truth: str, system: str) -> None:
    detail = f"{quoted(truth)} is gold, and {quoted(system)} is of one system: a test compares two. "
    if look.source.is_body:
        detail += "Send both systems; or, if these are scores of two systems, call them u and v."
        raise InvalidTest.at(look.source.line(1), "one_system", detail)
    detail += f"Send both systems, as columns of this file or in separate files; or, if they are scores of two systems, {marked('format', name)}."
    choices = choices_of("format", {name: f"{truth} and {system} are two systems"})
    raise InvalidTest.at("/files/file", "one_system", detail, choices)


def _refuse_scores_beside_labels(look: FirstLook) -> None:
    """Refuse a file of each system with labels and scores: the caller must choose between means of scores and AUC."""
    columns, other = look.first_values, look.other("v").first_values
    truth, score = find(columns, names.SURELY_GOLD), find(columns, ("score", *names.PROBABILITY))
    if truth is None or score is None or truth not in other or len(_known(columns[truth])) != AUC_CLASSES:
        return
    if _whole(columns[score]) or _are_texts(columns[score]):
        return
    why = f"{quoted(truth)} beside {quoted(score)} may be gold for the scores, or unrelated to them. "
    raise choose("/options/statistic", "statistic", "statistic", ["auc", "mean_difference"], why)


def has_gold(look: FirstLook) -> bool:
    """Whether a column has a name that only gold has."""
    return find(look.first_values, names.SURELY_GOLD) is not None


def has_counts(look: FirstLook) -> bool:
    """Whether a table has no header, or counts of both systems (tp_u and tp_v), and so no column of gold."""
    columns = look.first_values
    counted = {name[:-1] for name in columns if name.endswith("_u")} & {
        name[:-1] for name in columns if name.endswith("_v")
    }
    nested = any(isinstance(value, dict) for values in columns.values() for value in values)
    return nested or not counted.issubset(names.STEMS) or all(name.isdecimal() for name in columns)


def refuse_untold(spec: StatisticSpec, gold: Collection[Any], columns: Mapping[str, Collection[Any]]) -> None:
    """Refuse the default statistic `spec` of scores if they may be labels: whole numbers that gold also has."""
    labels = set(gold)
    if spec.name == "concordance" or len(labels) > MOST_CLASSES:
        return
    if all(labels.issuperset(values) for values in columns.values()):
        named = ", ".join(map(quoted, list(columns)[:MAX_CHOICES]))
        why = f"All numbers of {named} are also gold's, so they may be labels, or scores. "
        raise choose("/options/statistic", "statistic", "statistic", ["accuracy", spec.name], why)


def _is_table_of_labels(columns: Table) -> bool:
    truth = find(columns, names.SURELY_GOLD)
    if truth is None:
        return False
    gold = columns[truth]
    pairs = ((f"{stem}u", f"{stem}v") for stem in names.STEMS)
    pair = next((pair for pair in pairs if columns.keys() >= set(pair)), ())
    if pair and not all(map(is_predicted, pair)):
        return all(_are_texts(columns[name]) for name in pair)
    predicted = [columns[name] for name in columns if name != truth and is_predicted(name)]
    if len(predicted) > 1 and all(_are_labels(values, gold) for values in predicted):
        return True
    others = [values for name, values in columns.items() if name != truth and not is_one_of(name, KEYS)]
    return sum(_are_texts(values) and not _known(gold).isdisjoint(_known(values)) for values in others) >= 2


def _only(columns: Table) -> str | None:
    others = [name for name in columns if not is_one_of(name, KEYS)]
    return others[0] if len(others) == 1 else None


def _are_labels(values: list[Any], gold: list[Any]) -> bool:
    """Whether the values are texts, or whole numbers that are all among a few values of gold."""
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
    """The values that are not missing as text, without a trailing `.0`."""
    kept = (value for value in values if not is_gap(value) and not isinstance(value, list | dict))
    return {str(value).strip().removesuffix(".0") for value in kept}
