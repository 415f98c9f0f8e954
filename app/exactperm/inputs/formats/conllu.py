"""CoNLL-U, gold and two systems over the same tokens: UPOS, XPOS, LEMMA, UAS and LAS.

Items are sentences (or words); a document (`# newdoc`) can be a cluster. Only words are scored: lines of
multiword tokens (`3-4`) and empty nodes (`8.1`) are skipped, and counted in the notes. LAS compares the universal part
of DEPREL, before the colon, as conll18_ud_eval.py does; las_full compares all of it.

The `conllu` package is not used because it gives no line numbers, fills up short rows with `_`, and lets blanks
separate columns. It is the oracle of this reader's test.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ...answers.reading import Remark
from ...errors import InvalidTest
from ...statistics.paired import Counts, Pairing, Scores, StatisticSpec
from ..quoting import quoted
from .format import FirstLook, Format, Sign
from .reader import ReaderOptions, Reading, choose_metric
from .roles import needed
from .sentences import Sentences, clustered, document_clusters, require_same, sentences
from .source import Source, parsed_once

ROLES = ("gold", "u", "v")
USES = frozenset(("metric", "items", "clusters"))
COLUMNS = ("ID", "FORM", "LEMMA", "UPOS", "XPOS", "FEATS", "HEAD", "DEPREL", "DEPS", "MISC")
FORM = COLUMNS.index("FORM")
WORD = re.compile(r"[1-9][0-9]*")
RANGE = re.compile(r"[0-9]+-[0-9]+")
EMPTY_NODE = re.compile(r"[0-9]+\.[0-9]+")
# The columns that must all be right.
METRICS: Mapping[str, tuple[str, ...]] = {
    "upos": ("UPOS",),
    "xpos": ("XPOS",),
    "lemma": ("LEMMA",),
    "uas": ("HEAD",),
    "las": ("HEAD", "DEPREL"),
    "las_full": ("HEAD", "DEPREL"),
}
UNIVERSAL = "las"
SENTENCE = "_sentence"  # upos_sentence: 1 where the whole sentence is right
STATISTICS = (*METRICS, *(metric + SENTENCE for metric in METRICS))


def read(files: Mapping[str, Source], options: ReaderOptions, format_: str) -> Reading:
    """Counts `correct` and `total` per sentence or word; or 0/1 per sentence for a `_sentence` metric."""
    notes: list[Any] = []
    name = (options.metric or (options.statistic if options.statistic in STATISTICS else None) or "").lower()
    if name not in STATISTICS:
        raise choose_metric(options, list(STATISTICS))
    gold, u, v = (_treebank(needed(files, role, format_), notes) for role in ROLES)
    metric = name.removesuffix(SENTENCE)
    for system in (u, v):
        require_same(gold, system, (FORM, FORM), "token", "FORM", ids=True)
        _require_annotated(system, metric)
    _require_annotated(gold, metric)
    for system in (u, v):
        _require_same_labels(gold, system, metric)
    right = [_right(gold, system, metric) for system in (u, v)]
    total = np.array([len(words) for words in gold.rows], dtype=np.int64)
    notes.append(f"{len(total):,} sentences and {total.sum():,} words, scored by {name}.")
    by_word = options.items == "word"
    known: dict[str, Any] = {"statistic_read": options.metric is None, "metric": name}
    if name.endswith(SENTENCE):
        if by_word:
            detail = f"{name} scores whole sentences: `items=word` does not apply."
            raise InvalidTest.at("/options/items", "invalid_option", detail)
        scores = [np.array([all(sentence) for sentence in own], dtype=np.int64) for own in right]
        data = Scores(scores[0], scores[1], _pairing(gold, options, notes, total))
        return Reading("scores", data, StatisticSpec("mean_difference"), tuple(notes), format_, **known)
    pairing = _pairing(gold, options, notes, total)
    items = [[[word] for sentence in own for word in sentence] if by_word else own for own in right]
    total = np.ones(len(items[0]), dtype=np.int64) if by_word else total
    counts = [
        {"correct": np.array([sum(item) for item in own], dtype=np.int64), "total": total} for own in items
    ]
    data_counts = Counts(counts[0], counts[1], pairing)
    return Reading("counts", data_counts, StatisticSpec("accuracy"), tuple(notes), format_, **known)


@parsed_once
def _treebank(source: Source, notes: list[Any]) -> Sentences:
    """Read a file; raises MalformedBody or InvalidTest naming the line."""
    multiword = empty_nodes = 0

    def row_of(number: int, line: str, before: int) -> list[str] | None:
        nonlocal multiword, empty_nodes
        fields = line.split("\t")
        if len(fields) != len(COLUMNS):
            detail = f"there are {len(fields)} columns between tabs; CoNLL-U has {len(COLUMNS)}."
            raise source.refused(number, "wrong_field_count", detail)
        key = fields[0]
        if key == str(before + 1):
            return fields
        if RANGE.fullmatch(key):
            multiword += 1
        elif EMPTY_NODE.fullmatch(key):
            empty_nodes += 1
        else:
            detail = f"the ID is {quoted(key)}; word {before + 1} of the sentence was expected."
            raise source.refused(number, "wrong_word_id", detail, "ID")
        return None

    bank = sentences(source, source.lines(notes), row_of, lambda _, before: not before)
    said = f"{len(bank.rows):,} sentences read from {source.label}; skipped {multiword:,} multiword "
    notes.append(Remark(source.role, f"{said}tokens and {empty_nodes:,} empty nodes, which are not words."))
    return bank


def _part(metric: str, name: str, value: str) -> str:
    """What a metric compares of a value."""
    return value.partition(":")[0] if metric == UNIVERSAL and name == "DEPREL" else value


def _right(gold: Sentences, system: Sentences, metric: str) -> list[list[bool]]:
    """Which words of each sentence are right in all columns that a metric compares."""
    by_column = []
    for name in METRICS[metric]:
        at, pairs = COLUMNS.index(name), zip(gold.rows, system.rows, strict=True)
        if metric == UNIVERSAL and name == "DEPREL":
            equal = [
                [_part(metric, name, a[at]) == _part(metric, name, b[at]) for a, b in zip(*pair, strict=True)]
                for pair in pairs
            ]
        else:
            equal = [[a[at] == b[at] for a, b in zip(*pair, strict=True)] for pair in pairs]
        by_column.append(equal)
    return [list(map(all, zip(*columns, strict=True))) for columns in zip(*by_column, strict=True)]


def _require_annotated(bank: Sentences, metric: str) -> None:
    """Refuse a column that is `_` throughout: it was not filled in, and scoring it would count as errors."""
    for name in METRICS[metric]:
        if set(bank.values(COLUMNS.index(name))) == {"_"}:
            detail = f"{bank.source.label}: the column {name}, which {metric} compares, is _ in every line; it was not filled in."
            raise InvalidTest.at(bank.source.line(bank.lines[0][0], metric), "not_annotated", detail)


def _require_same_labels(gold: Sentences, system: Sentences, metric: str) -> None:
    """Refuse a column none of whose values occurs in gold: its labels differ from gold's, or it is another column."""
    for name in METRICS[metric]:
        mine, other = (
            {_part(metric, name, value) for value in set(bank.values(COLUMNS.index(name)))}
            for bank in (gold, system)
        )
        if name != "HEAD" and mine.isdisjoint(other):
            detail = f"no {name} of this file occurs in gold: here is {quoted(min(other))}, in gold {quoted(min(mine))}."
            raise system.source.refused(system.lines[0][0], "labels_never_match", detail, name)


def _pairing(
    gold: Sentences,
    options: ReaderOptions,
    notes: list[Any],
    total: np.ndarray[tuple[int], np.dtype[np.int64]],
) -> Pairing:
    """Clusters of the items: documents of sentences; documents or sentences of words. Sentences may have ids."""
    by_word = options.items == "word"
    if options.clusters == "sentence" and by_word:
        return clustered(np.repeat(np.arange(len(total)), total).tolist())
    keys: Any = document_clusters(gold.documents, options.clusters, gold.source, notes)
    if by_word and keys is not None:
        keys = np.repeat(np.array(keys, dtype=object), total)
    pairing = clustered(keys)
    return pairing if by_word or None in gold.ids else replace(pairing, ids=list(map(str, gold.ids)))


def _sign(look: FirstLook) -> Sign:
    fields = look.rows[0].split("\t") if look.rows else []
    return Sign.MARK if len(fields) == len(COLUMNS) and fields[0][:1].isdigit() else Sign.NONE


FORMAT = Format(
    "conllu", read, ROLES, USES, "CoNLL-U, gold and two systems: UPOS, XPOS, LEMMA, UAS, LAS",
    statistics=STATISTICS, sign=_sign,
)  # fmt: skip
