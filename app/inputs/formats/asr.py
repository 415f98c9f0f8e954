"""Speech recognition: counts per utterance in a table, or `.trn` transcripts aligned here.

Counts are `errors` and `ref_words`; their ratio is the word error rate, and is exact. The cluster is the call, or
speaker: a column of the table, or the part of an utterance's id before its first `-` or `_`, as in NIST's sclite.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ...errors import InvalidTest
from ...inference.reading import Remark
from ...statistics.paired import StatisticSpec
from ..frame import Frame
from ..quoting import quoted
from .count_files import CountFile, count_file, require_same
from .format import FirstLook, Format, Sign
from .number_text import NumberReader
from .outputs_by_id import SystemOutputs, counts, in_words, matched, scores_reading
from .reader import ReaderOptions, Reading, choose_metric
from .roles import needed
from .source import Source
from .transcripts import UTTERANCE, Transcript, transcript, word_errors

ROLES = ("u", "v", "ref", "gold")
USES = frozenset(("metric", "clusters", "id_column", "delimiter", "on_missing"))
STATISTICS = ("wer", "utterance_accuracy")
WER = StatisticSpec("ratio", {"numerator": "errors", "denominator": "ref_words"})
NAMES = ("errors", "ref_words")
PARTS = ("substitutions", "deletions", "insertions")
IDS = ("utterance", "utt_id", "utt", "id", "segment")
CLUSTERS = ("call", "speaker", "session", "cluster")
PER_UTTERANCE = re.compile(r"(?P<key>\S+)\s+#csid\s+(?P<counts>\d{1,9}(?:\s+\d{1,9}){3})\s*", re.ASCII)
SPEAKER = re.compile(r"[^-_]+")


def read(files: Mapping[str, Source], options: ReaderOptions, format_: str) -> Reading:
    """Counts `errors` and `ref_words`; or 1 for an utterance without an error, for `utterance_accuracy`."""
    notes: list[str] = []
    name = options.metric or (options.statistic if options.statistic in STATISTICS else None)
    if name is not None and name not in STATISTICS:
        raise choose_metric(options, list(STATISTICS))
    reference = files.get("ref") or files.get("gold")
    systems = [needed(files, role, format_) for role in ("u", "v")]
    if reference is None:
        u, v = (_counted(source, options, notes) for source in systems)
    else:
        u, v = _aligned(reference, systems, options, notes)
    require_same(u, v, 1, "ref_words", "both systems need the same references.")
    if name == "utterance_accuracy":
        for system in (u, v):
            system.values = [None if value is None else int(value[0] == 0) for value in system.values]
    consumed, clustered = name is not None and options.metric is None, options.clusters is not None
    if name == "utterance_accuracy":
        return scores_reading(
            u, v, options, notes, format_, clustered=clustered, statistic_read=consumed, metric=name
        )
    pairs = matched(u, v, on_missing=options.on_missing, notes=notes, clustered=clustered)
    return Reading(
        "counts", counts(pairs, NAMES), WER, tuple(notes), format_, statistic_read=consumed, metric="wer"
    )


def _counted(source: Source, options: ReaderOptions, notes: list[str]) -> SystemOutputs:
    """A table of counts; `errors` is its column or the sum of its parts, which must agree if both are there."""
    if b" #csid " in source.content:
        return _per_utterance(source, notes)
    file = count_file(source, IDS, CLUSTERS, options, notes)
    header = [name.lower() for name in file.columns()]
    parts = all(part in header for part in PARTS)
    if "ref_words" not in header or not (parts or "errors" in header):
        detail = "the columns ref_words and errors (or substitutions, deletions and insertions) are needed."
        raise source.refused(1, "missing_column", detail)
    wanted = [*(("errors",) if "errors" in header else ()), "ref_words", *(PARTS if parts else ())]
    outputs = file.outputs(wanted, NumberReader(), row=True)
    outputs.values = [
        None if value is None else _row(file, index, dict(zip(wanted, value, strict=True)))
        for index, value in enumerate(outputs.values)
    ]
    return outputs


def _per_utterance(source: Source, notes: list[str]) -> SystemOutputs:
    """Kaldi's per_utt: `utterance #csid correct substituted inserted deleted`, between lines of words."""
    outputs = SystemOutputs(source)
    for line, text in enumerate(source.lines(notes), 1):
        found = PER_UTTERANCE.fullmatch(text)
        if found is not None:
            correct, substituted, inserted, deleted = map(int, found["counts"].split())
            errors = substituted + inserted + deleted
            outputs.add(found["key"], (errors, correct + substituted + deleted), f"line/{line}")
        elif " #csid" in text:
            detail = "#csid is followed by four counts: correct, substituted, inserted and deleted words."
            raise source.refused(line, "not_a_count", detail)
    return outputs


def _row(file: CountFile, index: int, value: dict[str, int | float]) -> tuple[int | float, int | float]:
    data = file.data
    for name, count in value.items():
        if not isinstance(count, int) or count < 0:
            raise _refused(data, index, name, "not_a_count", f"{name} is not a whole number from 0.")
    if PARTS[0] not in value:
        return value["errors"], value["ref_words"]
    total = sum(value[part] for part in PARTS)
    if value.get("errors", total) != total:
        detail = (
            f"errors is {value['errors']}, and substitutions, deletions and insertions add up to {total}."
        )
        raise _refused(data, index, "errors", "inconsistent_counts", detail)
    return total, value["ref_words"]


def _refused(data: Frame, row: int, name: str, code: str, detail: str) -> InvalidTest:
    label = f"{data.source.label}, {in_words(data.path(row))}"
    return InvalidTest.at(f"{data.place(row)}/{name}", code, f"{label}: {detail}")


def _aligned(
    reference: Source, systems: list[Source], options: ReaderOptions, notes: list[str]
) -> tuple[SystemOutputs, SystemOutputs]:
    """Transcripts against their references, utterance by utterance."""
    references = transcript(reference, notes)
    if options.clusters not in (None, *CLUSTERS[:2]):
        detail = "Transcripts have `clusters=call` (or `clusters=speaker`): the part of an utterance's id before its first - or _."
        raise InvalidTest.at("/options/clusters", "invalid_option", detail)
    u, v = (_system(references, transcript(source, notes), options, notes) for source in systems)
    return u, v


def _require_common_words(reference: Transcript, hypothesis: Transcript) -> None:
    """Refuse a transcript none of whose words is in the references: its spelling or its text differs."""
    hypothesis_words, reference_words = (
        {word for words in one.words.values() for word in words} for one in (hypothesis, reference)
    )
    if hypothesis_words and reference_words and hypothesis_words.isdisjoint(reference_words):
        detail = f"no word of this file occurs in the references: here is {quoted(min(hypothesis_words))}, there {quoted(min(reference_words))}. "
        detail += "Capitals and punctuation count: write both the same way."
        raise hypothesis.source.refused(min(hypothesis.lines.values()), "labels_never_match", detail)


def _system(
    reference: Transcript, hypothesis: Transcript, options: ReaderOptions, notes: list[Any]
) -> SystemOutputs:
    extra = [key for key in hypothesis.lines if key not in reference.lines]
    if extra:
        detail = f"the utterance {quoted(extra[0])} is not in the references ({len(extra):,} are not)."
        raise hypothesis.source.refused(hypothesis.lines[extra[0]], "unmatched_ids", detail)
    _require_common_words(reference, hypothesis)
    shared = [key for key in reference.words if key in hypothesis.words]
    errors = dict(
        zip(
            shared,
            word_errors([reference.words[k] for k in shared], [hypothesis.words[k] for k in shared]),
            strict=True,
        )
    )
    outputs = SystemOutputs(hypothesis.source)
    for key, words in reference.words.items():
        path = f"line/{hypothesis.lines[key]}" if key in hypothesis.lines else f"utterance/{key[:40]}"
        match = SPEAKER.match(key)
        cluster = match[0] if match and options.clusters is not None else None
        outputs.add(key, (errors[key], len(words)) if key in errors else None, path, cluster)
    silent = sum(not words for words in hypothesis.words.values())
    if silent:
        notes.append(
            Remark(
                hypothesis.source.role,
                f"{silent:,} utterances have an empty hypothesis, which is all deletions.",
            )
        )
    return outputs


def _sign(look: FirstLook) -> Sign:
    if any(map(PER_UTTERANCE.fullmatch, look.rows)):
        return Sign.MARK
    if {"ref_words"} < look.columns:
        return Sign.HEADER
    rows = look.rows[:-1] or look.rows
    transcripts = rows and not look.roles.isdisjoint(("ref", "gold")) and all(map(UTTERANCE.fullmatch, rows))
    return Sign.SHAPE if transcripts else Sign.NONE


FORMAT = Format(
    "asr", read, ROLES, USES, "word errors per utterance (also Kaldi's per_utt), or .trn transcripts",
    statistics=STATISTICS, aliases=("trn",), sign=_sign,
)  # fmt: skip
