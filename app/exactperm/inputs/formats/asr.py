"""Read speech recognition: counts per utterance in a table, or transcripts to align: NIST `.trn`, or Kaldi's with ids in front.

Counts are `errors` and `ref_words`; their ratio is the exact word error rate. The cluster is the call or speaker: a column of the table, or
the part of an utterance's id before its first `-` or `_`, as in NIST's sclite.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...answers.reading import Remark
from ...errors import InvalidTest
from ...extras import missing
from ...statistics.paired import StatisticSpec
from ..format import MAX_LINES, START_BYTES, FirstLook, Format, Sign
from ..frame import Frame, table
from ..json_records import read_records
from ..number_text import NumberReader
from ..quoting import quoted
from ..reader import ReaderOptions, Reading, Source, choose, choose_metric, in_words, parsed_once
from .outputs_by_id import SystemOutputs, scores_reading
from .roles import needed

# Tables with named numbers per item, one file per system, as ASR and MT scorers write them

NO_CLUSTER = "_"


@dataclass(frozen=True, slots=True)
class CountFile:
    """The table of one system, and its columns of ids and clusters; `header` has the other columns in lower case."""

    data: Frame
    key: str
    cluster: str | None
    header: tuple[str, ...]

    def outputs(self, names: Sequence[str], reader: NumberReader) -> SystemOutputs:
        """The values of these columns, one row per item."""
        data = self.data
        rows = data.tuples([str(data.chosen("metric", name)) for name in names], reader)
        clusters = None if self.cluster is None else data.keys_known(self.cluster)
        outputs = SystemOutputs(data.source)
        for row, key in enumerate(data.keys_known(self.key) or ()):
            cluster = None if clusters is None or clusters[row] == NO_CLUSTER else clusters[row]
            outputs.add(key, rows[row], data.path(row), cluster)
        return outputs


def count_file(
    source: Source, ids: tuple[str, ...], clusters: tuple[str, ...], options: ReaderOptions, notes: list[str]
) -> CountFile:
    """Read one system's table; `ids` and `clusters` are the names their columns may have. Raises InvalidTest if one is lacking."""
    data = table(source, options, notes)
    if not data.has_header:
        raise source.refused(1, "no_header", "a header with the names of the columns is needed.")
    key = data.chosen("id_column", options.id_column, ids)
    if key is None:
        raise choose(source.line(1), "id_column", "column of ids", list(data.names))
    cluster = data.chosen("clusters", options.clusters)
    if cluster is None and (name := data.find(clusters)) is not None:
        keys = dict.fromkeys(map(str.strip, data.column(name)))
        if list(keys) != [NO_CLUSTER]:
            notes.append(
                f"{source.role}: the column {quoted(name)} has {len(keys):,} values; clusters: {name[:40]} would swap each as a whole."
            )
    return CountFile(data, key, cluster, tuple(name.lower() for name in data.names if name != key))


# Word errors

STATISTICS = ("wer", "utterance_accuracy")
WER = StatisticSpec("ratio", {"numerator": "errors", "denominator": "ref_words"})
NAMES = ("errors", "ref_words")
PARTS = ("substitutions", "deletions", "insertions")
IDS = ("utterance", "utt_id", "utt", "id", "segment")
CLUSTERS = ("call", "speaker", "session", "cluster")
# How tools print the counts of an utterance: the mark of the line with counts, the line with the id, and the counts, either of correct,
# substituted, deleted and inserted words or of errors and words. Other lines hold words.
PRINTED = tuple(
    (mark, re.compile(key), re.compile(re.sub("{(.+?)}", r"(?P<\1>[0-9]{1,9})", counts)))
    for mark, key, counts in (
        # kaldi-asr/kaldi, egs/wsj/s5/utils/scoring/wer_per_utt_details.pl
        (" #csid", r"(\S+)\s+#csid.*", r"\S+\s+#csid\s+{c}\s+{s}\s+{i}\s+{d}\s*"),
        # speechbrain/speechbrain, speechbrain/dataio/wer.py
        (", %WER ", r"(.+), %WER .*", r".+, %WER \S+ \[ {errors} / {words}, .*"),
        # wenet-e2e/wenet, tools/compute-wer.py
        ("WER: ", r"utt: (.+)", r"WER: +\S+ % N={words} C={c} S={s} D={d} I={i}\s*"),
        # usnistgov/SCTK, sclite -o pra
        ("Scores: (#C", r"id: \((.+)\)\s*", r"Scores: \(#C #S #D #I\) {c} {s} {d} {i}\s*"),
    )
)
TEXT, HEARD = "text", "pred_text"  # fields of NeMo's manifests, and of those of the Open ASR Leaderboard
SPEAKER = re.compile(r"[^-_]+")
UTTERANCE = re.compile(r"(?P<words>.*)\((?P<id>[^()\s]+)\)\s*")
IN_FRONT = re.compile(r"(?P<id>[^\s;|]+)(?:[ \t]*\|\|\|[ \t]*|\t|;|(?P<blank> +)|$)(?P<words>.*)")
LEAST_LINES = 3
LEAST_COMMON, LEAST_WITH_DIGITS = 0.9, 0.8


def read(files: Mapping[str, Source], options: ReaderOptions, format_: str) -> Reading:
    """Read counts `errors` and `ref_words`; for `utterance_accuracy`, 1 for an utterance without an error."""
    notes: list[Any] = []
    name = options.metric or (options.statistic if options.statistic in STATISTICS else None)
    if name is not None and name not in STATISTICS:
        raise choose_metric(options, list(STATISTICS))
    reference = files.get("ref") or files.get("gold")
    systems = [needed(files, role, format_) for role in ("u", "v")]
    if reference is None:
        u, v = (_counted(source, options, notes) for source in systems)
    else:
        references = _transcript(reference, notes)
        if options.clusters not in (None, *CLUSTERS[:2]):
            detail = "Transcripts have `clusters=call` (or `clusters=speaker`): the part of an utterance's id before its first - or _."
            raise InvalidTest.at("/options/clusters", "invalid_option", detail)
        u, v = (_system(references, _transcript(source, notes), options, notes) for source in systems)
    for key, mine in u.index.items():
        other = v.index.get(key)
        rows: list[Any] = [u.values[mine], None if other is None else v.values[other]]
        if other is not None and None not in rows and rows[0][1] != rows[1][1]:
            detail = f"{v.source.label}: ref_words of {quoted(key)} is {rows[1][1]} and in u it is "
            detail += f"{rows[0][1]}; both systems need the same references."
            raise InvalidTest.at(f"{v.pointer(other)}/ref_words", "ref_words_mismatch", detail)
    is_read, clustered = name is not None and options.metric is None, options.clusters is not None
    known: dict[str, Any] = {"statistic_read": is_read, "metric": name or "wer", "clustered": clustered}
    if name == "utterance_accuracy":
        for system in (u, v):
            system.values = [None if value is None else int(value[0] == 0) for value in system.values]
        return scores_reading(u, v, options, notes, format_, **known)
    known |= {"counted": NAMES, "statistic": WER}
    return scores_reading(u, v, options, notes, format_, **known)


# Counts


@parsed_once
def _counted(source: Source, options: ReaderOptions, notes: list[Any]) -> SystemOutputs:
    """Read a table of counts; `errors` is a column or the sum of its parts, which must agree if both are present."""
    printed = _printed_in(source.content[:START_BYTES].decode("utf-8", "replace").splitlines())
    if printed is not None:
        return _per_utterance(source, *printed, notes)
    if source.content.lstrip()[:1] == b"{":
        return _manifest(source, notes)
    file = count_file(source, IDS, CLUSTERS, options, notes)
    parts = all(part in file.header for part in PARTS)
    if "ref_words" not in file.header or not (parts or "errors" in file.header):
        detail = "the columns ref_words and errors (or substitutions, deletions and insertions) are needed."
        raise source.refused(1, "missing_column", detail)
    wanted = [*(("errors",) if "errors" in file.header else ()), "ref_words", *(PARTS if parts else ())]
    outputs = file.outputs(wanted, NumberReader())
    outputs.values = [
        None if value is None else _row(file, row, dict(zip(wanted, value, strict=True)))
        for row, value in enumerate(outputs.values)
    ]
    return outputs


def _printed_in(lines: Sequence[str]) -> tuple[str, re.Pattern[str], re.Pattern[str]] | None:
    """The style in which the first lines of a file print counts of utterances; None if they do not."""
    return next((each for each in PRINTED if any(map(each[2].fullmatch, lines[:MAX_LINES]))), None)


def _per_utterance(
    source: Source, mark: str, id_of: re.Pattern[str], counts_of: re.Pattern[str], notes: list[Any]
) -> SystemOutputs:
    """Read the counts of utterances between lines of words."""
    outputs, key = SystemOutputs(source), ""
    for line, text in enumerate(source.lines(notes), 1):
        named, counted = id_of.fullmatch(text), counts_of.fullmatch(text)
        key = named[1] if named is not None else key
        if counted is not None:
            count = {name: int(value) for name, value in counted.groupdict().items()}
            errors = count.get("errors", sum(count.get(name, 0) for name in "sdi"))
            words = count.get("words", sum(count.get(name, 0) for name in "csd"))
            outputs.add(key, (errors, words), f"line/{line}")
        elif mark in text and text.index(mark) <= len(key):
            detail = f"{mark.strip()} is followed by the counts of words and errors, which are whole numbers."
            raise source.refused(line, "not_a_count", detail)
    return outputs


def _manifest(source: Source, notes: list[Any]) -> SystemOutputs:
    """Read lines of JSON with reference and hypothesis."""
    outputs, records = SystemOutputs(source), read_records(source, notes, flat=False).records
    spoken, heard = ([str(row.get(name) or "").split() for _, row in records] for name in (TEXT, HEARD))
    for index, (record, errors) in enumerate(zip(records, word_errors(spoken, heard), strict=True)):
        key = record.value.get("audio_filepath")
        missing_text = not isinstance(record.value.get(HEARD), str)
        outputs.add(str(key or index), None if missing_text else (errors, len(spoken[index])), record.path)
    notes.append("Words are compared as written: capitals and punctuation count.")
    return outputs


def _row(file: CountFile, row: int, value: dict[str, int | float]) -> tuple[int | float, int | float]:
    """Errors and words of the reference; raises InvalidTest at a value that is not a count, or at errors that differ from the sum."""
    total = sum(value[part] for part in PARTS if part in value)
    errors = value.get("errors", total)
    wrong = next((name for name, count in value.items() if not isinstance(count, int) or count < 0), None)
    code, detail = "not_a_count", f"{wrong} is not a whole number from 0."
    if wrong is None and PARTS[0] in value and errors != total:
        wrong, code = "errors", "inconsistent_counts"
        detail = f"errors is {errors}, and substitutions, deletions and insertions add up to {total}."
    if wrong is not None:
        label = f"{file.data.source.label}, {in_words(file.data.path(row))}"
        raise InvalidTest.at(f"{file.data.place(row)}/{wrong}", code, f"{label}: {detail}")
    return errors, value["ref_words"]


# Transcripts


@parsed_once
def _transcript(source: Source, notes: list[Any]) -> SystemOutputs:
    """The words of every utterance; raises InvalidTest at a line without an id, or with an id that repeats."""
    read = SystemOutputs(source)
    filled = [(number, line) for number, line in enumerate(source.lines(notes), 1) if line.strip()]
    texts, pattern = [line for _, line in filled], UTTERANCE
    if not any(map(UTTERANCE.fullmatch, texts)) and ids_in_front([texts]) is not None:
        pattern = IN_FRONT
    for number, line in filled:
        match = pattern.fullmatch(line)
        if match is None:
            detail = "there is no (utterance-id) at the end, and none in front of every line."
            raise source.refused(number, "no_id", detail)
        read.add(match["id"], match["words"].split(), f"line/{number}")
    if not filled:
        raise source.empty()
    if source.role in ("ref", "gold"):
        notes.append(f"{len(read):,} references read from {source.label}.")
    return read


def _system(
    reference: SystemOutputs, hypothesis: SystemOutputs, options: ReaderOptions, notes: list[Any]
) -> SystemOutputs:
    source = hypothesis.source
    extra = [key for key in hypothesis.ids if key not in reference.index]
    if extra:
        detail = f"the utterance {quoted(extra[0])} is not in the references ({len(extra):,} are not)."
        raise source.refused(hypothesis.paths[hypothesis.index[extra[0]]], "unmatched_ids", detail)
    mine, theirs = ({word for words in one.values for word in words} for one in (hypothesis, reference))
    if mine and theirs and mine.isdisjoint(theirs):  # its spelling or its text differs
        detail = f"no word of this file occurs in the references: here is {quoted(min(mine))}, there {quoted(min(theirs))}. "
        detail += "Capitals and punctuation count: write both the same way."
        raise source.refused(hypothesis.paths[0], "labels_never_match", detail)
    shared = [key for key in reference.ids if key in hypothesis.index]
    texts = ([one.values[one.index[key]] for key in shared] for one in (reference, hypothesis))
    errors = dict(zip(shared, word_errors(*texts), strict=True))
    outputs = SystemOutputs(source)
    for key, words in zip(reference.ids, reference.values, strict=True):
        path = hypothesis.paths[hypothesis.index[key]] if key in errors else f"utterance/{key[:40]}"
        match = SPEAKER.match(key)
        cluster = match[0] if match and options.clusters is not None else None
        outputs.add(key, (errors[key], len(words)) if key in errors else None, path, cluster)
    silent = hypothesis.values.count([])
    if silent:
        text = f"{silent:,} utterances have an empty hypothesis, which is all deletions."
        notes.append(Remark(source.role, text))
    return outputs


def word_errors(references: Sequence[Sequence[str]], hypotheses: Sequence[Sequence[str]]) -> list[int]:
    """Substitutions, deletions and insertions of every utterance; raises InvalidTest if jiwer (the extra `asr`) is not installed."""
    try:
        import jiwer
    except ImportError:
        detail = f"{missing('asr')}; or give counts per utterance."
        raise InvalidTest.at("/files/ref", "missing_extra", detail) from None
    aligned = jiwer.process_words([" ".join(w) for w in references], [" ".join(w) for w in hypotheses])
    return [
        sum(
            max(chunk.ref_end_idx - chunk.ref_start_idx, chunk.hyp_end_idx - chunk.hyp_start_idx)
            for chunk in chunks
            if chunk.type != "equal"
        )
        for chunks in aligned.alignments
    ]


@dataclass(frozen=True, slots=True)
class InFront:
    """The ids in front of the lines of a file, and the texts after them; `blank` if a blank separates them."""

    ids: list[str]
    texts: list[str]
    blank: bool


def ids_in_front(files: Sequence[Sequence[str]]) -> list[InFront] | None:
    """The ids in front of all lines of files, as Kaldi and others write them; None if these look like words.

    Ids are unique in each file, nine of ten are in all files, and four of five have a digit.
    """
    split_files = []
    for lines in files:
        split = [match for match in map(IN_FRONT.fullmatch, lines) if match is not None]
        ids = [match["id"] for match in split]
        if len(split) < max(len(lines), LEAST_LINES) or len(set(ids)) < len(ids):
            return None
        blank = any(match["blank"] is not None for match in split)
        split_files.append(InFront(ids, [match["words"] for match in split], blank))
    common = set(split_files[0].ids).intersection(*(one.ids for one in split_files[1:]))
    if len(common) < LEAST_COMMON * max(len(one.ids) for one in split_files):
        return None
    with_digits = sum(any(map(str.isdigit, key)) for key in common)
    return split_files if with_digits >= LEAST_WITH_DIGITS * len(common) else None


def _sign(look: FirstLook) -> Sign:
    if _printed_in(look.rows) is not None or (look.record or {}).keys() >= {TEXT, HEARD}:
        return Sign.MARK
    if {"ref_words"} < look.columns:
        return Sign.HEADER
    rows = look.rows[:-1] or look.rows
    transcripts = rows and not look.roles.isdisjoint(("ref", "gold")) and all(map(UTTERANCE.fullmatch, rows))
    return Sign.SHAPE if transcripts else Sign.NONE


FORMAT = Format(
    "asr", read, ("u", "v", "ref", "gold"), frozenset(("metric", "clusters", "id_column", "delimiter", "on_missing")),
    "word errors per utterance (also as Kaldi, sclite, SpeechBrain and WeNet print them), or .trn transcripts",
    statistics=STATISTICS, aliases=("trn",), sign=_sign,
)  # fmt: skip
