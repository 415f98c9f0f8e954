"""CoNLL-U, gold and two systems over the same tokens: UPOS, XPOS, LEMMA, UAS and LAS.

Items are sentences (or words); a document (`# newdoc`) can be a cluster. Only words are scored: lines of
multiword tokens (`3-4`) and empty nodes (`8.1`) are skipped, and counted in the notes. LAS compares the universal part
of DEPREL, before the colon, as conll18_ud_eval.py does; las_full compares all of it.

The `conllu` package is not used because it gives no line numbers, fills up short rows with `_`, and lets blanks
separate columns. It is the oracle of this reader's test.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ...errors import InvalidTest
from ...inference.reading import Remark
from ...statistics.paired import Counts, Pairing, Scores, StatisticSpec
from ..quoting import quoted, quoted_apart
from .documents import coded, document_clusters
from .format import FirstLook, Format, Sign
from .reader import ReaderOptions, Reading, choose_metric
from .roles import needed
from .source import Source

ROLES = ("gold", "u", "v")
USES = frozenset(("metric", "items", "clusters"))
COLUMNS = 10
ID, FORM, LEMMA, UPOS, XPOS, HEAD, DEPREL = 0, 1, 2, 3, 4, 6, 7
WORD = re.compile(r"[1-9][0-9]*")
RANGE = re.compile(r"[0-9]+-[0-9]+")
EMPTY_NODE = re.compile(r"[0-9]+\.[0-9]+")
NEWDOC = re.compile(r"#\s*newdoc\b(?:\s*id\s*=\s*(?P<id>.*))?")
SENT_ID = re.compile(r"#\s*sent_id\s*=\s*(?P<id>.*)")

Word = list[str]
Right = Callable[[Word, Word], bool]


def _universal(deprel: str) -> str:
    return deprel.partition(":")[0]


METRICS: Mapping[str, Right] = {
    "upos": lambda gold, system: gold[UPOS] == system[UPOS],
    "xpos": lambda gold, system: gold[XPOS] == system[XPOS],
    "lemma": lambda gold, system: gold[LEMMA] == system[LEMMA],
    "uas": lambda gold, system: gold[HEAD] == system[HEAD],
    "las": lambda gold, system: (
        gold[HEAD] == system[HEAD] and _universal(gold[DEPREL]) == _universal(system[DEPREL])
    ),
    "las_full": lambda gold, system: gold[HEAD] == system[HEAD] and gold[DEPREL] == system[DEPREL],
}
SENTENCE = "_sentence"  # upos_sentence: 1 where the whole sentence is right
STATISTICS = (*METRICS, *(metric + SENTENCE for metric in METRICS))
SCORED_COLUMNS: Mapping[str, Mapping[str, int]] = {
    "upos": {"UPOS": UPOS},
    "xpos": {"XPOS": XPOS},
    "lemma": {"LEMMA": LEMMA},
    "uas": {"HEAD": HEAD},
    "las": {"HEAD": HEAD, "DEPREL": DEPREL},
    "las_full": {"HEAD": HEAD, "DEPREL": DEPREL},
}


@dataclass(slots=True)
class Treebank:
    """The sentences of a file: their words, and the lines of the words."""

    source: Source
    words: list[list[Word]] = field(default_factory=list)
    lines: list[list[int]] = field(default_factory=list)
    documents: list[str | None] = field(default_factory=list)
    sent_ids: list[str | None] = field(default_factory=list)
    multiword: int = 0
    empty_nodes: int = 0


def read(files: Mapping[str, Source], options: ReaderOptions, format_: str) -> Reading:
    """Counts `correct` and `total` per sentence or word; or 0/1 per sentence for a `_sentence` metric."""
    notes: list[str] = []
    name = (options.metric or (options.statistic if options.statistic in STATISTICS else None) or "").lower()
    if name not in STATISTICS:
        raise choose_metric(options, list(STATISTICS))
    gold, u, v = (treebank(needed(files, role, format_), notes) for role in ROLES)
    metric = name.removesuffix(SENTENCE)
    for system in (u, v):
        _require_same_words(gold, system)
        _require_annotated(system, metric)
    _require_annotated(gold, metric)
    for system in (u, v):
        _require_same_labels(gold, system, metric)
    right_u, right_v = (_right(gold, system, METRICS[metric]) for system in (u, v))
    total = np.array([len(words) for words in gold.words], dtype=np.int64)
    notes.append(f"{len(total):,} sentences and {total.sum():,} words, scored by {name}.")
    consumed = options.metric is None
    spec = StatisticSpec("accuracy")
    if name.endswith(SENTENCE):
        _refuse_words(options, name)
        scores = [
            np.array([all(sentence) for sentence in right], dtype=np.int64) for right in (right_u, right_v)
        ]
        data = Scores(scores[0], scores[1], _pairing(gold, options, notes, total))
        mean = StatisticSpec("mean_difference")
        return Reading("scores", data, mean, tuple(notes), format_, statistic_read=consumed, metric=name)
    pairing = _pairing(gold, options, notes, total)
    counts = []
    for right in (right_u, right_v):
        if options.items == "word":
            correct = np.array([word for sentence in right for word in sentence], dtype=np.int64)
            counts.append({"correct": correct, "total": np.ones(len(correct), dtype=np.int64)})
        else:
            counts.append({"correct": np.array(list(map(sum, right)), dtype=np.int64), "total": total})
    data_counts = Counts(counts[0], counts[1], pairing)
    return Reading("counts", data_counts, spec, tuple(notes), format_, statistic_read=consumed, metric=name)


def _refuse_words(options: ReaderOptions, name: str) -> None:
    if options.items == "word":
        raise InvalidTest.at(
            "/options/items", "invalid_option", f"{name} scores whole sentences: `items=word` does not apply."
        )


def treebank(source: Source, notes: list[Any]) -> Treebank:
    """Read a file; raises MalformedBody or InvalidTest naming the line."""
    bank = Treebank(source)
    document = sent_id = None
    words: list[Word] = []
    lines: list[int] = []
    for number, line in enumerate([*source.lines(notes), ""], 1):
        if line.startswith("#") and not words:
            if match := NEWDOC.match(line):
                document = (match["id"] or "").strip() or f"document at line {number}"
            elif match := SENT_ID.match(line):
                sent_id = match["id"].strip()
        elif line.strip():
            word = _word(bank, number, line, len(words))
            if word is not None:
                words.append(word)
                lines.append(number)
        elif words:
            bank.words.append(words)
            bank.lines.append(lines)
            bank.documents.append(document)
            bank.sent_ids.append(sent_id)
            words, lines, sent_id = [], [], None
    if not bank.words:
        raise source.empty()
    notes.append(
        Remark(
            source.role,
            f"{len(bank.words):,} sentences read from {source.label}; skipped {bank.multiword:,} multiword "
            f"tokens and {bank.empty_nodes:,} empty nodes, which are not words.",
        )
    )
    return bank


def _word(bank: Treebank, number: int, line: str, before: int) -> Word | None:
    fields = line.split("\t")
    if len(fields) != COLUMNS:
        detail = f"there are {len(fields)} columns between tabs; CoNLL-U has {COLUMNS}."
        raise bank.source.refused(number, "wrong_field_count", detail)
    key = fields[ID]
    if RANGE.fullmatch(key):
        bank.multiword += 1
        return None
    if EMPTY_NODE.fullmatch(key):
        bank.empty_nodes += 1
        return None
    if not WORD.fullmatch(key) or int(key) != before + 1:
        detail = f"the ID is {quoted(key)}; word {before + 1} of the sentence was expected."
        raise bank.source.refused(number, "wrong_word_id", detail, "ID")
    return fields


def _require_same_words(gold: Treebank, system: Treebank) -> None:
    """Require the same sentences with the same words; another tokenisation cannot be paired."""
    source = system.source
    for index, (expected, words) in enumerate(zip(gold.words, system.words, strict=False)):
        ids = gold.sent_ids[index], system.sent_ids[index]
        if None not in ids and ids[0] != ids[1]:
            wanted, given = quoted_apart(str(ids[0]), str(ids[1]))
            detail = f"sent_id is {given} here and {wanted} in gold (line {gold.lines[index][0]:,})."
            raise source.refused(system.lines[index][0], "sentence_mismatch", detail, "sent_id")
        for position, (mine, other) in enumerate(zip(expected, words, strict=False)):
            if mine[FORM] != other[FORM]:
                wanted, given = quoted_apart(mine[FORM], other[FORM])
                detail = f"the word is {given} here and {wanted} in gold "
                detail += f"(line {gold.lines[index][position]:,}); the tokens must be the same."
                raise source.refused(system.lines[index][position], "token_mismatch", detail, "FORM")
        if len(expected) != len(words):
            detail = f"this sentence has {len(words)} words and {len(expected)} in gold (line {gold.lines[index][0]:,})."
            raise source.refused(system.lines[index][0], "length_mismatch", detail)
    if len(gold.words) != len(system.words):
        detail = f"{source.label} has {len(system.words):,} sentences and gold has {len(gold.words):,}."
        raise InvalidTest.at(source.pointer, "length_mismatch", detail)


def _require_annotated(bank: Treebank, metric: str) -> None:
    """Refuse a column that is `_` throughout: it was not filled in, and scoring it would count as errors."""
    for name, column in SCORED_COLUMNS[metric].items():
        if _values(bank, column) == {"_"}:
            detail = f"{bank.source.label}: the column {name}, which {metric} compares, is _ in every line; it was not filled in."
            raise InvalidTest.at(bank.source.line(bank.lines[0][0], metric), "not_annotated", detail)


def _require_same_labels(gold: Treebank, system: Treebank, metric: str) -> None:
    """Refuse a column none of whose values occurs in gold: its labels differ from gold's, or it is another column."""
    for name, column in SCORED_COLUMNS[metric].items():
        mine, other = _values(gold, column), _values(system, column)
        if metric == "las":
            mine, other = set(map(_universal, mine)), set(map(_universal, other))
        if column != HEAD and mine.isdisjoint(other):
            detail = f"no {name} of this file occurs in gold: here is {quoted(min(other))}, in gold {quoted(min(mine))}."
            raise system.source.refused(system.lines[0][0], "labels_never_match", detail, name)


def _values(bank: Treebank, column: int) -> set[str]:
    return {word[column] for words in bank.words for word in words}


def _right(gold: Treebank, system: Treebank, right: Right) -> list[list[bool]]:
    return [
        [right(mine, other) for mine, other in zip(expected, words, strict=True)]
        for expected, words in zip(gold.words, system.words, strict=True)
    ]


def _pairing(
    gold: Treebank,
    options: ReaderOptions,
    notes: list[str],
    total: np.ndarray[tuple[int], np.dtype[np.int64]],
) -> Pairing:
    """Clusters of the items: documents of sentences; documents or sentences of words. Sentences may have ids."""
    if options.clusters == "sentence" and options.items == "word":
        return coded(np.repeat(np.arange(len(total)), total).tolist())
    keys = document_clusters(gold.documents, options.clusters, gold.source, notes)
    if options.items == "word":
        return Pairing() if keys is None else coded(np.repeat(np.array(keys, dtype=object), total).tolist())
    pairing = Pairing() if keys is None else coded(keys)
    ids = [key for key in gold.sent_ids if key is not None]
    return replace(pairing, ids=ids) if len(ids) == len(gold.sent_ids) else pairing


def _sign(look: FirstLook) -> Sign:
    fields = look.rows[0].split("\t") if look.rows else []
    return Sign.MARK if len(fields) == 10 and fields[0][:1].isdigit() else Sign.NONE


FORMAT = Format(
    "conllu", read, ROLES, USES, "CoNLL-U, gold and two systems: UPOS, XPOS, LEMMA, UAS, LAS",
    statistics=STATISTICS, sign=_sign,
)  # fmt: skip
