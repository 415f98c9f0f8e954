"""Averages over all items, which hold no items to test: by the names of metrics in a row, in an object or beside the numbers."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from ..errors import InvalidTest
from ..statistics.direction import of_name, says_nothing
from .names import CONTEXT, is_one_of
from .quoting import quoted

CODE = "averages_only"
# What a column of names of metrics is called.
METRIC = ("metric", "metrics", "metric_name", "measure")
NUMBER = re.compile(r"\d+")
# What the Trainer of transformers writes beside its metrics, in all_results.json.
OF_TRAINING = re.compile(r"(?:[a-z]+_)?(?:runtime|samples|total_flos|(?:samples|steps)_per_second)|epoch")
MOST_ROWS = 100  # more rows than any tool has metrics
NAMED = 3
ADVICE = (
    "Averages over all items cannot be tested. Give the scores of the items: the sample log (lm-evaluation-harness: --log_samples), "
    "the outputs beside their references, or a score for each item or sentence."
)


def are_metrics(names: Collection[object]) -> bool:
    """Whether these name metrics and no items: at least half by known metrics, or all of them by their words.

    >>> are_metrics(["accuracy", "loss"]), are_metrics(["loss", "total"]), are_metrics(["BLEU", "q1", "q2"]), are_metrics(["1", "2"])
    (True, True, False, False)
    """
    if not 0 < len(names) <= MOST_ROWS:
        return False
    if len(names) > 1 and len({NUMBER.sub("", str(name)) for name in names}) == 1:
        return False  # f1, f2, f3 are numbered items
    texts = [name for name in names if isinstance(name, str)]
    known = [of_name(text) is not None for text in texts]
    if any(known):
        known = [
            one or OF_TRAINING.fullmatch(text) is not None for one, text in zip(known, texts, strict=True)
        ]
    if 2 * sum(known) >= len(names):
        return True
    return (
        any(known)
        and len(texts) == len(names)
        and all(found or says_nothing(text) for text, found in zip(texts, known, strict=True))
    )


def refuse_metrics_for_ids(ids: Collection[str], pointer: str, where: str = "") -> None:
    """Refuse scores by id where the ids are names of metrics; raises InvalidTest at the pointer."""
    if are_metrics(ids):
        named = ", ".join(map(quoted, list(ids)[:NAMED]))
        raise InvalidTest.at(
            pointer,
            CODE,
            f"{where}{named} {'names' if len(ids) == 1 else 'name'} metrics and no items. {ADVICE}",
        )


def refuse_summaries(
    columns: Mapping[str, Sequence[object]], key: Sequence[str], scores: str, pointer: str, where: str
) -> None:
    """Refuse a table or records of averages; `columns` by name, `key` holds ids and `scores` what is tested.

    Raises
    ------
    InvalidTest
        Each row is a metric, by the names in a column; or the only row has no id, and its numbers are named after metrics.
    """
    scored = columns.get(scores, ())
    rows = len(scored)
    if rows > MOST_ROWS or any(isinstance(score, list) for score in scored):
        return
    for name, values in columns.items():
        repeats = len(set(map(str, values))) < rows
        if name == scores or (key and name not in key) or (repeats and name not in key):
            continue
        different = {str(value): value for value in values}
        called = is_one_of(name, METRIC) and not all(map(NUMBER.fullmatch, different))
        if called or are_metrics(list(different.values())):
            named = ", ".join(quoted(str(value)) for value in values[:NAMED])
            raise InvalidTest.at(
                pointer, CODE, f"{where}the rows of {quoted(name)} are metrics, such as {named}. {ADVICE}"
            )
    described = any(is_one_of(name, (*CONTEXT, "text", "sentence")) for name in columns)
    if rows == 1 and not key and not described and of_name(scores) is not None:
        raise InvalidTest.at(
            pointer, CODE, f"{where}there is one row without an id, and it holds {quoted(scores)}. {ADVICE}"
        )
