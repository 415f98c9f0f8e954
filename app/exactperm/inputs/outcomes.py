"""Handle tables whose rows are not items: refuse averages, and unroll tables of outcomes.

A table of outcomes counts how often both systems, one of them or neither was right; it is unrolled into items that are 1 or 0. A 2x2
table has an outcome for each row and column, and counts in its cells, with or without sums in the margins; a table of frequencies has a
row for each pair of outcomes, and a column of counts. `{"b": 30, "c": 22}` and all four of a, b, c, d, as in McNemar's test, are also
counts.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import BodyTooLarge, InvalidTest
from ..statistics.names import of_name, says_nothing
from .names import CONTEXT, FREQUENCY, INDEX, find, is_one_of
from .quoting import quoted

# Recognise averages by the names of metrics in a row, in an object or beside the numbers

CODE = "averages_only"
# Names of columns with names of metrics.
METRIC = ("metric", "metrics", "metric_name", "measure")
DIGITS = re.compile(r"\d+")
# Members beside metrics in all_results.json of the Trainer of transformers.
OF_TRAINING = re.compile(r"(?:[a-z]+_)?(?:runtime|samples|total_flos|(?:samples|steps)_per_second)|epoch")
MOST_METRICS = 100  # more rows than any tool has metrics
NAMED = 3
ADVICE = (
    "Averages over all items cannot be tested. Give the scores of the items: the sample log (lm-evaluation-harness: --log_samples), "
    "the outputs beside their references, or a score for each item or sentence."
)


def are_metrics(names: Collection[object]) -> bool:
    """Whether these are names of metrics rather than items: at least half are known metrics, or all consist of words of metrics.

    >>> are_metrics(["accuracy", "loss"]), are_metrics(["loss", "total"]), are_metrics(["BLEU", "q1", "q2"]), are_metrics(["1", "2"])
    (True, True, False, False)
    """
    if not 0 < len(names) <= MOST_METRICS:
        return False
    if len(names) > 1 and len({DIGITS.sub("", str(name)) for name in names}) == 1:
        return False  # f1, f2, f3 are numbered items
    texts = [name for name in names if isinstance(name, str)]
    known = [of_name(text) is not None for text in texts]
    if any(known):
        known = [
            one or OF_TRAINING.fullmatch(text) is not None for one, text in zip(known, texts, strict=True)
        ]
    if 2 * sum(known) >= len(names):
        return True
    decided = all(metric or says_nothing(text) for text, metric in zip(texts, known, strict=True))
    return any(known) and len(texts) == len(names) and decided


def refuse_metrics_for_ids(ids: Collection[str], pointer: str, where: str = "") -> None:
    """Refuse scores by id if the ids are names of metrics; raises InvalidTest at the pointer."""
    if are_metrics(ids):
        named = ", ".join(map(quoted, list(ids)[:NAMED]))
        verb = "names" if len(ids) == 1 else "name"
        raise InvalidTest.at(pointer, CODE, f"{where}{named} {verb} metrics, not items. {ADVICE}")


def refuse_summaries(
    columns: Mapping[str, Sequence[object]], key: Sequence[str], scores: str, pointer: str, where: str
) -> None:
    """Refuse a table or records of averages: each row is a metric, or the only row has no id and its numbers have names of metrics."""
    scored = columns.get(scores, ())
    rows = len(scored)
    if rows > MOST_METRICS or any(isinstance(score, list) for score in scored):
        return
    for name, values in columns.items():
        repeats = len(set(map(str, values))) < rows
        if name == scores or (key and name not in key) or (repeats and name not in key):
            continue
        different = {str(value): value for value in values}
        called = is_one_of(name, METRIC) and not all(map(DIGITS.fullmatch, different))
        if called or are_metrics(list(different.values())):
            named = ", ".join(quoted(str(value)) for value in values[:NAMED])
            detail = f"{where}the rows of {quoted(name)} are metrics, such as {named}. {ADVICE}"
            raise InvalidTest.at(pointer, CODE, detail)
    described = any(is_one_of(name, (*CONTEXT, "text", "sentence")) for name in columns)
    if rows == 1 and not key and not described and of_name(scores) is not None:
        detail = f"{where}there is one row without an id, and it holds {quoted(scores)}. {ADVICE}"
        raise InvalidTest.at(pointer, CODE, detail)


# Tables of outcomes

RIGHT = frozenset(("right", "correct", "pass", "passed", "yes", "true", "1", "success", "solved", "hit"))
WRONG = frozenset((
    "wrong", "incorrect", "fail", "failed", "no", "false", "0", "failure", "unsolved", "miss", "error",
))  # fmt: skip
# Whether U and V were right.
CELLS = {"a": (1, 1), "b": (1, 0), "c": (0, 1), "d": (0, 0)}
# Names of margins of tables in R and pandas.
MARGINS = ("sum", "all", "total", "totals")
MOST_ROWS = 4
NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?")
MOST_ITEMS = 10_000_000
ROWS, COLUMNS = "rows", "columns"  # the systems of a 2x2 table


@dataclass(frozen=True, slots=True)
class Unrolled:
    """A row for each item; `origin` has the row of the table from which each was made."""

    header: list[str]
    rows: list[list[str]]
    origin: list[int]
    note: str


def outcome_of(text: str) -> bool | None:
    """Whether a name or value means right (True) or wrong (False); None if neither, or both.

    >>> outcome_of("new right"), outcome_of("False"), outcome_of("arc"), outcome_of("not correct")
    (True, False, None, False)
    """
    words = set(text.lower().replace("_", " ").replace("-", " ").split())
    right, wrong = bool(words & RIGHT), bool(words & WRONG) or bool(words & {"not"})
    if right and words & {"not"}:
        return False
    return None if right == wrong else right


def unrolled(
    header: Sequence[str], rows: Sequence[Sequence[str]], *, has_header: bool = True
) -> Unrolled | None:
    """Unroll a table of outcomes (without `has_header` a 2x2 table of 0 and 1); None for any other table. Raises InvalidTest, BodyTooLarge."""
    if not rows or not 2 <= len(header) <= MOST_ROWS:
        return None
    if not has_header:
        named = outcome_of(header[0]) is None and not _number_of(header[0])
        return _two_by_two(header, rows) if named else None
    return _cells(header, rows) or _two_by_two(header, rows) or _frequencies(header, rows)


def _cells(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Unrolled | None:
    """Unroll one row of b and c, or of all of a, b, c and d."""
    if len(rows) > 1 or not {"b", "c"} <= set(header) <= CELLS.keys():
        return None
    counts = [_count(field) for field in rows[0]]
    if None in counts:
        return None
    columns = columns_of(dict(zip(header, counts, strict=True)))
    items = [[str(u), str(v)] for u, v in zip(*columns.values(), strict=True)]
    note = "b and c count the items that only u, and only v, gets right."
    return Unrolled(["u", "v"], items, [0] * len(items), note) if items else None


def _two_by_two(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Unrolled | None:
    right = len(header) > 3 and header[3].lower() in MARGINS
    below = len(rows) > 2 and rows[2][0].strip().lower() in MARGINS
    if len(header) - right != 3 or len(rows) - below != 2:
        return None
    across, down = [outcome_of(name) for name in header[1:3]], [outcome_of(row[0]) for row in rows[:2]]
    counts = [[_count(field) for field in row[1:]] for row in rows]
    if set(across) != {True, False} or set(down) != {True, False} or any(None in row for row in counts):
        return None
    table = np.array(counts, dtype=np.int64)
    wrong = right and (table[:, 2] != table[:, :2].sum(axis=1)).any()
    if wrong or (below and (table[2] != table[:2].sum(axis=0)).any()):
        detail = "The margins of this 2x2 table of outcomes are not the sums of its cells."
        raise InvalidTest.at("", "inconsistent_counts", detail)
    called = [_system_of([row[0] for row in rows[:2]]), _system_of(header[1:3])]
    named = f" (rows: {quoted(called[0])}, columns: {quoted(called[1])})" if all(called) else ""
    cells = [
        ([str(int(bool(mine))), str(int(bool(other)))], int(table[at, to]), at)
        for at, mine in enumerate(down)
        for to, other in enumerate(across)
    ]
    note = f"This is a 2x2 table of outcomes{named}: its rows are one system and its columns the other."
    return _items([ROWS, COLUMNS], cells, note)


def _system_of(names: Sequence[str]) -> str:
    """The words that names of outcomes share: `old`, of `old right` and `old wrong`."""
    parts = [name.split() for name in names]
    return " ".join(word for word in parts[0] if word in parts[1])


def _frequencies(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Unrolled | None:
    column = find(header, FREQUENCY)
    index = 0 if is_one_of(header[0], INDEX) else None
    kept = [at for at, name in enumerate(header) if name != column and at != index]
    if column is None or len(kept) != 2:
        return None
    counts = [_count(row[list(header).index(column)]) for row in rows]
    pairs = [[_number_of(row[at]) for at in kept] for row in rows]
    values = [{pair[at] for pair in pairs} for at in (0, 1)]
    # Two data sets with numbers of items also have two values each.
    outcomes = values[0] | values[1] <= {"0", "1"}
    several = [len(distinct) for distinct in values] == [2, 2] and len(rows) > 2
    differ = len({tuple(pair) for pair in pairs}) == len(rows)
    if None in counts or "" in values[0] | values[1] or not differ or not (outcomes or several):
        return None
    cells = [(pair, n or 0, at) for at, (pair, n) in enumerate(zip(pairs, counts, strict=True))]
    note = f"The column {quoted(column)} counts the items of each row."
    return _items([header[at] for at in kept], cells, note)


def _number_of(field: str) -> str:
    """A number as written, 1 and 0 for outcomes; empty for any other text."""
    outcome = outcome_of(field)
    if outcome is not None:
        return str(int(outcome))
    return field.strip() if NUMBER.fullmatch(field.strip()) else ""


def _count(field: str) -> int | None:
    text = field.strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


def _items(header: list[str], cells: list[tuple[list[str], int, int]], note: str) -> Unrolled | None:
    if not _total(count for _, count, _ in cells):
        return None
    rows = [row for row, count, _ in cells for _ in range(count)]
    return Unrolled(header, rows, [at for _, count, at in cells for _ in range(count)], note)


def _total(counts: Iterable[int]) -> int:
    """The number of items; raises BodyTooLarge."""
    n = sum(counts)
    if n > MOST_ITEMS:
        raise BodyTooLarge(f"The table counts {n:,} items; at most {MOST_ITEMS:,} are allowed.")
    return n


def columns_of(cells: Mapping[str, Any]) -> dict[str, list[int]]:
    """Unroll counts b (only U is right) and c (only V), a (both) and d (neither) into scores; raises InvalidTest."""
    for name in CELLS:
        if type(cells.get(name, 0)) is not int or cells.get(name, 0) < 0:
            detail = f"{name} must be a number of items (b is that of items which only U gets right): a whole number from 0."
            raise InvalidTest.at(f"/{name}", "not_a_count", detail)
    if ("a" in cells) != ("d" in cells):  # the count of the other is unknown
        lacking, other = ("d", "a") if "a" in cells else ("a", "d")
        detail = f"There is {other} but no {lacking}: give all of a, b, c and d (the items that both get wrong), or only b and c."
        raise InvalidTest.at(f"/{lacking}", "missing_field", detail)
    _total(cells.get(name, 0) for name in CELLS)
    return {
        role: [outcome[side] for name, outcome in CELLS.items() for _ in range(cells.get(name, 0))]
        for side, role in enumerate("uv")
    }
