"""Machine translation: parallel lines of text, or per-segment statistics of a scorer.

Texts without ids in front of their lines are paired by line, so that all files need as many lines; an empty line is a
segment too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ...errors import InvalidTest, choices_of, relocated
from ...statistics.paired import Pairing, Segments, StatisticSpec
from ..alignment import ById, align
from ..quoting import quoted
from .count_files import CountFile, count_file
from .format import FirstLook, Format, Sign
from .metrics import metric_of
from .number_text import Number, NumberReader
from .outputs_by_id import counts, matched, scores_reading, values_in
from .reader import ReaderOptions, Reading, choose
from .roles import needed
from .sentences import DOCUMENT, clustered, from_file
from .source import Source
from .transcripts import InFront, ids_in_front

ROLES = ("u", "v", "ref", "ref2", "ref3", "ref4", "gold", "documents")
USES = frozenset(("clusters",))
FAIRSEQ_NAME = "fairseq"
FAIRSEQ_LINE = re.compile(r"(?P<kind>[STHDPEAVI])-(?P<sentence>[0-9]{1,9})\t")
STATISTICS = ("bleu", "chrf", "ter")

STATISTICS_USES = frozenset(("metric", "clusters", "id_column", "delimiter", "on_missing", "decimals"))
STATISTICS_ROLES = ("u", "v")
IDS = ("segment", "seg_id", "id", "line")
CLUSTERS = ("document", "doc", "doc_id", "cluster")
BLEU_COUNTS = (
    "sys_len",
    "ref_len",
    *(f"correct_{n}" for n in range(1, 5)),
    *(f"total_{n}" for n in range(1, 5)),
)
TER_COUNTS = ("ter_edits", "ter_ref_len")
CORPUS_METRICS: Mapping[str, StatisticSpec] = {
    "ter": StatisticSpec("ratio", {"numerator": TER_COUNTS[0], "denominator": TER_COUNTS[1]}),
    "bleu": StatisticSpec("bleu"),
}


def read(files: Mapping[str, Source], options: ReaderOptions, format_: str) -> Reading:
    """Segments of two systems with one reference or more."""
    notes: list[str] = []
    reference = "gold" if "gold" in files and "ref" not in files else "ref"
    roles = ["u", "v", reference, *(role for role in ("ref2", "ref3", "ref4") if role in files)]
    sources = [needed(files, role, format_) for role in roles]
    texts = (
        _fairseq(sources, notes) if format_ == FAIRSEQ_NAME else [_segments(each, notes) for each in sources]
    )
    in_front = None if format_ == FAIRSEQ_NAME else ids_in_front(texts)
    if in_front is not None:
        return _by_id(dict(zip(roles, in_front, strict=True)), files, options, notes, format_)
    for role, text in zip(roles, texts, strict=True):
        if len(text) != len(texts[0]):
            detail = (
                f"{role} has {len(text):,} lines and u has {len(texts[0]):,}; line n of all is segment n."
            )
            raise InvalidTest.at(f"/files/{role}", "length_mismatch", detail)
    notes.append(f"{len(texts[0]):,} segments, paired by line; {len(texts) - 2} reference(s) each.")
    references = [list(segment) for segment in zip(*texts[2:], strict=True)]
    data = Segments(texts[0], texts[1], references, _documents(files, len(texts[0]), options, notes))
    return Reading("segments", data, StatisticSpec("bleu"), tuple(notes), format_)


def _by_id(
    found: Mapping[str, InFront],
    files: Mapping[str, Source],
    options: ReaderOptions,
    notes: list[str],
    format_: str,
) -> Reading:
    """Segments by the ids in front of their lines, which are no part of the texts; raises InvalidTest where ids differ."""
    sides = {f"/{role}": ById(lines.ids, lines.texts) for role, lines in found.items()}
    with relocated(lambda pointer: f"/files{pointer}"):
        try:
            aligned = align(sides)
        except InvalidTest as error:  # nothing leaves segments out
            flaws = tuple(replace(flaw, choices=()) for flaw in error.flaws)
            raise InvalidTest(error.detail, flaws=flaws) from None
    if "documents" in files and any(lines.ids != found["u"].ids for lines in found.values()):
        detail = "The documents are of lines, and the lines of the texts have ids in another order: sort the files alike."
        raise InvalidTest.at("/files/documents", "mixed_forms", detail)
    u, v, *rest = (values_in(side, aligned.order[name]) for name, side in sides.items())
    documents = _documents(files, aligned.n, options, notes)
    pairing = replace(aligned.pairing, clusters=documents.clusters, n_clusters=documents.n_clusters)
    notes.append(
        f"{len(u):,} segments, paired by the ids in front of their lines, such as {quoted(found['u'].ids[0])}, which were cut "
        f"off; {len(rest)} reference(s) each."
    )
    references = [list(segment) for segment in zip(*rest, strict=True)]
    return Reading(
        "segments", Segments(u, v, references, pairing), StatisticSpec("bleu"), tuple(notes), format_
    )


def refuse_transcripts(files: Mapping[str, Source]) -> None:
    """Ask what lines are, with ids before a blank in front: transcripts, as Kaldi writes them, or translations; raises InvalidTest."""
    texts = [source.lines([]) for role, source in files.items() if role in ROLES[:-1]]
    found = ids_in_front(texts)
    if found is not None and any(lines.blank for lines in found):
        detail = (
            f"There are ids in front of the lines, such as {quoted(found[0].ids[0])}: these may be transcripts of speech, or "
            "translations. Choose the format: asr (word error rate), or mt (BLEU)."
        )
        titles = {"asr": "Transcripts of utterances: word error rate", "mt": "Translations: BLEU"}
        raise InvalidTest.at("/options/format", "choose_format", detail, choices_of("format", titles))


def _fairseq(sources: Sequence[Source], notes: list[str]) -> list[list[str]]:
    """The texts of each file by the number of their sentence, as fairseq-generate writes them: H-12, score, text; T-12, text.

    Raises
    ------
    InvalidTest
        A file has other sentences than the first, or one twice. References may be plain lines, in the order of the numbers.
    """
    found: list[dict[int, str]] = []
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
            raise InvalidTest.at(
                source.pointer, "no_items", f"{source.label}: there are no lines {wanted}-… of fairseq."
            )
        if found and texts.keys() != found[0].keys():
            other = min(texts.keys() ^ found[0].keys())
            detail = f"{source.label}: the sentence {other} is in this file or in u, and not in both."
            raise InvalidTest.at(source.pointer, "unmatched_ids", detail)
        found.append(texts)
    notes.append("Sentences are paired by the numbers that fairseq gives them.")
    return [[texts[key] for key in sorted(found[0])] for texts in found]


def _segments(source: Source, notes: list[str]) -> list[str]:
    lines = source.lines(notes)
    if all(map(FAIRSEQ_LINE.match, lines)):
        detail = (
            f"{source.label}: the lines begin with the numbers that fairseq-generate gives sentences (H-12), and are in its order: by "
            "line other sentences would be paired. Give `format=fairseq`, which reads the numbers."
        )
        raise InvalidTest.at(
            source.pointer,
            "choose_format",
            detail,
            choices_of("format", {FAIRSEQ_NAME: "Pair by the numbers"}),
        )
    blank = sum(not line.strip() for line in lines)
    if blank:
        notes.append(f"{source.role}: {blank:,} empty lines were kept as empty segments.")
    return lines


def _documents(files: Mapping[str, Source], n: int, options: ReaderOptions, notes: list[str]) -> Pairing:
    if (options.clusters is None) != ("documents" not in files) or options.clusters not in (None, DOCUMENT):
        detail = "`clusters=document` goes with a file documents: a table with one line a segment."
        raise InvalidTest.at("/options/clusters", "invalid_option", detail)
    if options.clusters is None:
        return Pairing()
    return clustered(from_file(files["documents"], n, options, notes))


def read_statistics(files: Mapping[str, Source], options: ReaderOptions, format_: str) -> Reading:
    """Counts of BLEU or TER from a scorer's per-segment table; or scores, from any one column of it."""
    notes: list[str] = []
    tables = [count_file(needed(files, r, format_), IDS, CLUSTERS, options, notes) for r in STATISTICS_ROLES]
    header = [name.lower() for name in tables[0].columns()]
    available = [m for m, names in (("bleu", BLEU_COUNTS), ("ter", TER_COUNTS)) if set(names) <= set(header)]
    chosen = options.metric or (options.statistic if options.statistic in STATISTICS else None)
    if chosen is None:
        if len(available) != 1:
            raise _choose_metric(tables[0], available)
        chosen = available[0]
    metric = chosen.lower()
    consumed = options.metric is None and options.statistic is not None and metric == options.statistic
    clustered = options.clusters is not None
    if metric not in available:
        if metric not in header:
            raise _choose_metric(tables[0], available)
        number_reader = NumberReader.of(options)
        systems = [file.outputs([metric], number_reader, row=False) for file in tables]
        return scores_reading(
            systems[0], systems[1], options, notes, format_, clustered=clustered,
            more_notes=[f"The score of a segment is its {metric[:40]}."], statistic_read=consumed,
            metric=metric_of(metric),
        )  # fmt: skip
    if options.decimals is not None:
        raise InvalidTest.at(
            "/options", "invalid_option", "Counts are used as they are: `decimals` does not apply."
        )
    names = BLEU_COUNTS if metric == "bleu" else TER_COUNTS
    systems = [file.outputs(names, NumberReader(), row=True) for file in tables]
    for file, system in zip(tables, systems, strict=True):
        for index, row in enumerate(system.values):
            if row is not None and not all(_is_count(value) for value in row):
                raise file.data.refused(index, "", "not_a_count", "a count is not a whole number from 0.")
    pairs = matched(*systems, on_missing=options.on_missing, notes=notes, clustered=clustered)
    return Reading(
        "counts", counts(pairs, names), CORPUS_METRICS[metric], tuple(notes), format_, statistic_read=consumed,
        metric=metric,
    )  # fmt: skip


def _choose_metric(file: CountFile, available: list[str]) -> InvalidTest:
    names = [*available, *map(str.lower, file.numeric_columns())]
    return choose(file.data.source.line(1), "metric", "metric", names)


def _is_count(value: Number) -> bool:
    return isinstance(value, int) and value >= 0


def _sign(look: FirstLook) -> Sign:
    return Sign.LINES if look.rows and "ref" in look.roles else Sign.NONE


def _sign_of_statistics(look: FirstLook) -> Sign:
    columns = look.columns
    known = {"ter_edits", "ter_ref_len"} <= columns or {"correct_1", "total_1"} <= columns
    return Sign.HEADER if known else Sign.NONE


FAIRSEQ = Format(
    FAIRSEQ_NAME, read, ROLES, USES, "lines H-, T- of fairseq-generate, with references", kinds=("segments",)
)
TEXTS = Format(
    "mt", read, ROLES, USES, "parallel lines of text with references", kinds=("segments",), sign=_sign
)
COUNTS = Format(
    "mt-stats", read_statistics, STATISTICS_ROLES, STATISTICS_USES, "per-segment statistics of BLEU and TER",
    statistics=("bleu", "ter"), sign=_sign_of_statistics,
)  # fmt: skip
