"""Read machine translation: parallel lines of text, or per-segment statistics of a scorer.

Texts without ids in front of their lines are paired by line, so all files need equally many lines; an empty line is also a segment.

Files of mt-metrics-eval are metrics of translation beside human scores. A line is `SYSTEM SCORE`, separated by blanks, with the segments of
a system in order; `None` is a segment without a score. u and v are files of two metrics (`BLEU-refA.seg.score`), gold the human scores
(`en-de.mqm.seg.score`): systems and segments without a human score are left out, as in mt-metrics-eval. An item is a segment of a system.
`groups` chooses the items that are compared: those of one segment (WMT's "group by item"), of one system, or all.
(google-research/mt-metrics-eval: README.md, "File organization and naming convention"; data.py, ReadScoreFile.)
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ...errors import InvalidTest, choices_of
from ...statistics.paired import Pairing, Segments, StatisticSpec
from ..alignment import ById, PairedColumns, coded, in_files
from ..format import FirstLook, Format, Sign
from ..number_text import Number, NumberReader, is_missing, parsed
from ..quoting import quoted, some
from ..reader import ReaderOptions, Reading, Source, choose, parsed_once
from .asr import InFront, count_file, ids_in_front
from .beside_gold import predictions_by_id
from .conll import DOCUMENT, from_file
from .outputs_by_id import ValuesById, scores_reading
from .roles import metric_of, needed
from .tool_shapes import SEG_SCORE

ROLES = ("u", "v", "ref", "ref2", "ref3", "ref4", "gold", "documents")
USES = frozenset(("clusters",))
FAIRSEQ_NAME = "fairseq"
FAIRSEQ_LINE = re.compile(r"(?P<kind>[STHDPEAVI])-(?P<sentence>[0-9]{1,9})\t")
STATISTICS = ("bleu", "chrf", "ter")

STATISTICS_ROLES = ("u", "v")
IDS = ("segment", "seg_id", "id", "line")
CLUSTERS = ("document", "doc", "doc_id", "cluster")
BLEU_COUNTS = ("sys_len", "ref_len", *(f"{what}_{n}" for what in ("correct", "total") for n in range(1, 5)))
TER_COUNTS = ("ter_edits", "ter_ref_len")
CORPUS_METRICS: Mapping[str, StatisticSpec] = {
    "ter": StatisticSpec("ratio", {"numerator": TER_COUNTS[0], "denominator": TER_COUNTS[1]}),
    "bleu": StatisticSpec("bleu"),
}


def read(files: Mapping[str, Source], options: ReaderOptions, format_: str) -> Reading:
    """Read segments of two systems with one or more references."""
    notes: list[str] = []
    reference = "gold" if "gold" in files and "ref" not in files else "ref"
    roles = ["u", "v", reference, *(role for role in ("ref2", "ref3", "ref4") if role in files)]
    sources = [needed(files, role, format_) for role in roles]
    is_fairseq = format_ == FAIRSEQ_NAME
    texts = _fairseq(sources, notes) if is_fairseq else [_segments(each, notes) for each in sources]
    in_front = None if is_fairseq else ids_in_front(texts)
    if in_front is not None:
        texts, pairing = _by_id(dict(zip(roles, in_front, strict=True)), files)
        how = f"the ids in front of their lines, such as {quoted(in_front[0].ids[0])}, which were cut off"
    else:
        pairing, how = Pairing(), "line"
        for role, text in zip(roles, texts, strict=True):
            if len(text) != len(texts[0]):
                detail = (
                    f"{role} has {len(text):,} lines and u has {len(texts[0]):,}; line n of all is segment n."
                )
                raise InvalidTest.at(f"/files/{role}", "length_mismatch", detail)
    n = len(texts[0])
    notes.append(f"{n:,} segments, paired by {how}; {len(texts) - 2} reference(s) each.")
    if (options.clusters is None) != ("documents" not in files) or options.clusters not in (None, DOCUMENT):
        detail = "`clusters=document` goes with a file documents: a table with one line a segment."
        raise InvalidTest.at("/options/clusters", "invalid_option", detail)
    if "documents" in files:
        codes, n_clusters = coded(from_file(files["documents"], n, options, notes))
        pairing = replace(pairing, clusters=codes, n_clusters=n_clusters)
    references = [list(segment) for segment in zip(*texts[2:], strict=True)]
    data = Segments(texts[0], texts[1], references, pairing)
    return Reading("segments", data, StatisticSpec("bleu"), tuple(notes), format_)


def _by_id(in_front: Mapping[str, InFront], files: Mapping[str, Source]) -> tuple[list[list[str]], Pairing]:
    """Pair texts by the ids in front of their lines, which are cut off; raises InvalidTest if ids differ."""
    sides = {role: ById(lines.ids, lines.texts) for role, lines in in_front.items()}
    try:
        texts, aligned, _ = PairedColumns(sides, in_files, of_test=True).taken("error")
    except InvalidTest as error:  # no option leaves segments out
        flaws = tuple(replace(flaw, choices=()) for flaw in error.flaws)
        raise InvalidTest(error.detail, flaws=flaws) from None
    if "documents" in files and any(lines.ids != in_front["u"].ids for lines in in_front.values()):
        detail = "Documents go by line, and the ids of the texts are in another order: sort the files in the same order."
        raise InvalidTest.at("/files/documents", "mixed_forms", detail)
    return list(texts.values()), aligned.pairing


def refuse_transcripts(files: Mapping[str, Source]) -> None:
    """Refuse lines with ids before a blank: they may be transcripts, as Kaldi writes them, or translations; raises InvalidTest."""
    texts = [source.lines([]) for role, source in files.items() if role in ROLES[:-1]]
    in_front = ids_in_front(texts)
    if in_front is not None and any(lines.blank for lines in in_front):
        detail = (
            f"There are ids in front of the lines, such as {quoted(in_front[0].ids[0])}: these may be transcripts of speech, or "
            "translations. Choose the format: asr (word error rate), or mt (BLEU)."
        )
        titles = {"asr": "Transcripts of utterances: word error rate", "mt": "Translations: BLEU"}
        raise InvalidTest.at("/options/format", "choose_format", detail, choices_of("format", titles))


def _fairseq(sources: Sequence[Source], notes: list[str]) -> list[list[str]]:
    """The texts of each file by sentence number, as fairseq-generate writes them:

    H-12, score, text; T-12, text. References may be plain lines, in the order of the numbers. Raises InvalidTest if files have
    different sentences, or one twice.
    """
    files: list[dict[int, str]] = []
    for source in sources:
        of_reference = source.role not in ("u", "v")
        wanted = "T" if of_reference else "H"
        texts: dict[int, str] = {}
        lines = source.lines(notes)
        numbered = any(map(FAIRSEQ_LINE.match, lines))
        for number, line in enumerate(lines, 1):
            match = FAIRSEQ_LINE.match(line)
            if not numbered and of_reference:
                texts[number - 1] = line
            elif match is not None and match["kind"] == wanted:
                key = int(match["sentence"])
                if key in texts:
                    raise source.refused(number, "duplicate_id", f"the sentence {key} is there twice.")
                texts[key] = line.rpartition("\t")[2]
        if not texts:
            raise source.refused("", "no_items", f"there are no lines {wanted}-… of fairseq.")
        if files and texts.keys() != files[0].keys():
            other = min(texts.keys() ^ files[0].keys())
            detail = f"the sentence {other} is in this file or in u, and not in both."
            raise source.refused("", "unmatched_ids", detail)
        files.append(texts)
    notes.append("Sentences are paired by the numbers that fairseq gives them.")
    return [[texts[key] for key in sorted(files[0])] for texts in files]


@parsed_once
def _segments(source: Source, notes: list[str]) -> list[str]:
    lines = source.lines(notes)
    if all(map(FAIRSEQ_LINE.match, lines)):
        detail = (
            f"{source.label}: the lines begin with the numbers that fairseq-generate gives sentences (H-12), and are in its order: by "
            "line other sentences would be paired. Give `format=fairseq`, which reads the numbers."
        )
        choices = choices_of("format", {FAIRSEQ_NAME: "Pair by the numbers"})
        raise InvalidTest.at(source.pointer, "choose_format", detail, choices)
    blank = sum(not line.strip() for line in lines)
    if blank:
        notes.append(f"{source.role}: {blank:,} empty lines were kept as empty segments.")
    return lines


def read_statistics(files: Mapping[str, Source], options: ReaderOptions, format_: str) -> Reading:
    """Read counts of BLEU or TER from a scorer's per-segment table, or scores from any one of its columns."""
    notes: list[str] = []
    tables = [count_file(needed(files, r, format_), IDS, CLUSTERS, options, notes) for r in STATISTICS_ROLES]
    header = tables[0].header
    available = [m for m, names in (("bleu", BLEU_COUNTS), ("ter", TER_COUNTS)) if set(header) >= set(names)]
    chosen = options.metric or (options.statistic if options.statistic in STATISTICS else None)
    metric = (chosen or (available[0] if len(available) == 1 else "")).lower()
    if metric not in (*available, *header):
        data, fields = tables[0].data, {}
        for name in data.names:  # columns of numbers, some of which may be missing
            fields[name] = [parsed(field.strip()) for field in data.column(name) if not is_missing(field)]
        numeric = [
            name.lower()
            for name, known in fields.items()
            if name != tables[0].key and known and None not in known
        ]
        raise choose(data.source.line(1), "metric", "metric", [*available, *numeric])
    consumed = options.metric is None and options.statistic is not None and metric == options.statistic
    clustered = options.clusters is not None
    if metric not in available:
        systems = [file.outputs([metric], NumberReader.of(options)) for file in tables]
        for system in systems:
            system.values = [None if value is None else value[0] for value in system.values]
        return scores_reading(
            systems[0], systems[1], options, notes, format_, clustered=clustered,
            more_notes=[f"The score of a segment is its {metric[:40]}."], statistic_read=consumed,
            metric=metric_of(metric),
        )  # fmt: skip
    if options.decimals is not None:
        detail = "Counts are used as they are: `decimals` does not apply."
        raise InvalidTest.at("/options", "invalid_option", detail)
    names = BLEU_COUNTS if metric == "bleu" else TER_COUNTS
    systems = [file.outputs(names, NumberReader()) for file in tables]
    for file, system in zip(tables, systems, strict=True):
        for index, row in enumerate(system.values):
            if row is not None and not all(isinstance(value, int) and value >= 0 for value in row):
                raise file.data.refused(index, "", "not_a_count", "a count is not a whole number from 0.")
    return scores_reading(
        systems[0], systems[1], options, notes, format_, clustered=clustered, counted=names, statistic=CORPUS_METRICS[metric],
        statistic_read=consumed, metric=metric,
    )  # fmt: skip


FAIRSEQ = Format(
    FAIRSEQ_NAME, read, ROLES, USES, "lines H-, T- of fairseq-generate, with references", kinds=("segments",)
)
TEXTS = Format(
    "mt", read, ROLES, USES, "parallel lines of text with references", kinds=("segments",),
    sign=lambda look: Sign.LINES if look.rows and "ref" in look.roles else Sign.NONE,
)  # fmt: skip
COUNTS = Format(
    "mt-stats", read_statistics, STATISTICS_ROLES,
    frozenset(("metric", "clusters", "id_column", "delimiter", "on_missing", "decimals")), "per-segment statistics of BLEU and TER",
    statistics=("bleu", "ter"),
    sign=lambda look: Sign.HEADER if set(TER_COUNTS) <= look.columns or {"correct_1", "total_1"} <= look.columns else Sign.NONE,
)  # fmt: skip


# Scores of metrics

GROUPS = ("segment", "system", "none")
METRIC_CLUSTERS = ("segment", "system", "document")
NO_SCORE = "None"

SegmentScores = dict[str, list[tuple[Number | None, int]]]


def read_metrics(files: Mapping[str, Source], options: ReaderOptions, format_: str) -> Reading:
    """Read two metrics' scores of the segments with human scores."""
    notes: list[str] = []
    gold, u, v = (needed(files, role, format_) for role in ("gold", "u", "v"))
    groups, clusters = options.groups or "segment", options.clusters
    for name, group, allowed in (("groups", groups, GROUPS), ("clusters", clusters, METRIC_CLUSTERS)):
        if group is not None and group not in allowed:
            detail = f"{name} must be one of: {', '.join(allowed)}."
            raise InvalidTest.at(f"/options/{name}", "invalid_option", detail)
    if (clusters == "document") != ("documents" in files):
        detail = "`clusters=document` goes with a file documents: one line `DOMAIN DOCUMENT` a segment."
        raise InvalidTest.at("/options/clusters", "invalid_option", detail)
    human = _scores(gold, NumberReader(), notes)
    metrics = [_scores(source, NumberReader.of(options), notes) for source in (u, v)]
    systems = _systems(human, metrics, (u, v), notes)
    items = [(name, segment) for name in systems for segment in range(len(human[name]))]
    rated = [(name, segment) for name, segment in items if human[name][segment][0] is not None]
    if len(rated) < len(items):
        notes.append(
            f"{len(items) - len(rated):,} of {len(items):,} segments of {len(systems):,} systems have no human score and were left out."
        )
    if not rated:
        raise gold.empty()
    documents = (
        _documents_of_segments(files["documents"], human, systems, notes) if clusters == "document" else []
    )
    ids = [f"{name}/{segment + 1}" for name, segment in rated]

    def column(source: Source, scores: SegmentScores) -> ValuesById:
        rows = [scores[name][segment] for name, segment in rated]
        return ValuesById(source, ids, [value for value, _ in rows], lambda row: source.line(rows[row][1], 2))

    parts = {
        "system": [name for name, _ in rated],
        "segment": [str(segment + 1) for _, segment in rated],
        "document": [documents[segment] for _, segment in rated if documents],
    }
    by_id = {which: dict(zip(ids, part, strict=False)) for which, part in parts.items()}
    data = predictions_by_id(
        column(gold, human), column(u, metrics[0]), column(v, metrics[1]), options.on_missing, notes,
        groups=by_id.get(groups), clusters=None if clusters is None else by_id[clusters],
    )  # fmt: skip
    other = {"segment": "systems", "system": "segments"}.get(groups)
    compared = f"Scores of {other} are compared within each {groups} (groups: {groups})."
    notes.append(compared if other else "All segments of all systems are compared (groups: none).")
    notes += NumberReader.of(options).note()
    names = [SEG_SCORE.sub("", source.name) for source in (u, v) if SEG_SCORE.search(source.name)]
    different = len(names) == 2 and names[0] != names[1] and all(names)
    return Reading(
        "predictions", data, StatisticSpec("kendall"), tuple(notes), format_,
        names=(names[0], names[1]) if different else None,
    )  # fmt: skip


@parsed_once
def _scores(source: Source, reader: NumberReader, notes: list[str]) -> SegmentScores:
    """Read the scores of each system with their lines, in order; raises InvalidTest."""
    scores: SegmentScores = {}
    blank = 0
    for number, line in enumerate(source.lines(notes), 1):
        fields = line.split()
        if not fields:
            blank += 1
            continue
        if len(fields) != 2:
            detail = (
                f"there are {len(fields)} fields; a line is a system and its score, as in a .seg.score file."
            )
            raise source.refused(number, "wrong_field_count", detail)
        value = reader.plain(parsed(fields[1]))
        if value is None and fields[1] != NO_SCORE:
            value = reader.of_text(fields[1], source.line(number, 2))
        scores.setdefault(fields[0], []).append((value, number))
    if blank:
        notes.append(f"{source.label}: {blank:,} empty lines were skipped.")
    if not scores:
        raise source.empty()
    return scores


def _systems(
    human: SegmentScores, metrics: list[SegmentScores], sources: tuple[Source, Source], notes: list[str]
) -> list[str]:
    """The systems with human scores and scores of both metrics; raises InvalidTest."""
    for scores, other, source in zip(metrics, metrics[::-1], sources, strict=True):
        lacking = [name for name in human if name in other and name not in scores]
        if lacking:
            detail = f"{source.label}: there are no scores of {some(lacking)}, which the other metric and the human scores have."
            raise InvalidTest.at(source.pointer, "missing_system", detail)
    systems = [name for name in human if name in metrics[0]]
    if not systems:
        detail = f"{sources[0].label}: no system has both human scores and scores of the metrics."
        raise InvalidTest.at(sources[0].pointer, "no_common_ids", detail)
    unrated = sorted({name for scores in metrics for name in scores} - set(human))
    unscored = [name for name in human if name not in metrics[0]]
    if unrated:
        notes.append(f"{len(unrated):,} systems without human scores were left out: {some(unrated)}.")
    if unscored:
        why = "systems that no metric scored (references) were left out"
        notes.append(f"{len(unscored):,} {why}: {some(unscored)}.")
    for name in systems:
        for scores, source in zip(metrics, sources, strict=True):
            if len(scores[name]) != len(human[name]):
                detail = (
                    f"{source.label}: {quoted(name)} has {len(scores[name]):,} segments here and {len(human[name]):,} in the "
                    "human scores; segments have no ids, so both must have as many."
                )
                raise InvalidTest.at(source.line(scores[name][-1][1]), "length_mismatch", detail)
    return systems


def _documents_of_segments(
    source: Source, human: SegmentScores, systems: list[str], notes: list[str]
) -> list[str]:
    """The document of each segment, the last field of its line; every system needs equally many. Raises InvalidTest."""
    documents = []
    for number, line in enumerate(source.lines(notes), 1):
        fields = line.split()
        if not fields:
            detail = "a line is a domain and a document, one for each segment."
            raise source.refused(number, "wrong_field_count", detail)
        documents.append(fields[-1])
    for name in systems:
        if len(documents) != len(human[name]):
            detail = f"{source.label}: {len(documents):,} lines for {len(human[name]):,} segments of {quoted(name)}."
            raise InvalidTest.at(source.pointer, "length_mismatch", detail)
    return documents


def _sign_of_metrics(look: FirstLook) -> Sign:
    if "gold" not in look.roles or not look.rows:
        return Sign.NONE
    complete = look.rows[: -1 if len(look.rows) > 1 else None]
    fields = [line.split() for line in itertools.islice(complete, 50)]
    scored = all(len(row) == 2 and (row[1] == NO_SCORE or parsed(row[1]) is not None) for row in fields)
    named = SEG_SCORE.search(look.source.name) is not None
    return (Sign.MARK if named else Sign.SHAPE) if scored else Sign.NONE


METRICS = Format(
    "mt-metrics-eval", read_metrics, ("u", "v", "gold", "documents"), frozenset(("clusters", "decimals", "groups", "on_missing")),
    "segment scores of two metrics (SYSTEM SCORE per line), and human scores as gold",
    kinds=("predictions",), aliases=("mtme", "seg.score"), sign=_sign_of_metrics, several=False,
)  # fmt: skip
