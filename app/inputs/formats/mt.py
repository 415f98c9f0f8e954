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
from ..alignment import ById, align, coded
from ..missing_texts import is_missing
from ..quoting import quoted
from .asr import InFront, ids_in_front
from .count_files import CountFile, count_file
from .format import FirstLook, Format, Sign
from .metrics import metric_of
from .number_text import NumberReader, parsed
from .outputs_by_id import counts, matched, scores_reading, values_in
from .reader import ReaderOptions, Reading, choose
from .roles import needed
from .sentences import DOCUMENT, from_file
from .source import Source, parsed_once

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


def _by_id(found: Mapping[str, InFront], files: Mapping[str, Source]) -> tuple[list[list[str]], Pairing]:
    """Texts by the ids in front of their lines, which are no part of them; raises InvalidTest where ids differ."""
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
    return [values_in(side, aligned.order[name]) for name, side in sides.items()], aligned.pairing


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


@parsed_once
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


def read_statistics(files: Mapping[str, Source], options: ReaderOptions, format_: str) -> Reading:
    """Counts of BLEU or TER from a scorer's per-segment table; or scores, from any one column of it."""
    notes: list[str] = []
    tables = [count_file(needed(files, r, format_), IDS, CLUSTERS, options, notes) for r in STATISTICS_ROLES]
    header = tables[0].header
    available = [m for m, names in (("bleu", BLEU_COUNTS), ("ter", TER_COUNTS)) if set(header) >= set(names)]
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
        systems = [file.outputs([metric], NumberReader.of(options)) for file in tables]
        for system in systems:
            system.values = [None if value is None else value[0] for value in system.values]
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
    systems = [file.outputs(names, NumberReader()) for file in tables]
    for file, system in zip(tables, systems, strict=True):
        for index, row in enumerate(system.values):
            if row is not None and not all(isinstance(value, int) and value >= 0 for value in row):
                raise file.data.refused(index, "", "not_a_count", "a count is not a whole number from 0.")
    pairs = matched(*systems, on_missing=options.on_missing, notes=notes, clustered=clustered)
    return Reading(
        "counts", counts(pairs, names), CORPUS_METRICS[metric], tuple(notes), format_, statistic_read=consumed,
        metric=metric,
    )  # fmt: skip


def _choose_metric(file: CountFile, available: list[str]) -> InvalidTest:
    """The refusal that lists the metrics and the columns of numbers, which may lack some."""
    data = file.data
    fields = {name: [field for field in data.column(name) if not is_missing(field)] for name in data.names}
    numeric = [
        name.lower()
        for name, known in fields.items()
        if name != file.key and known and all(parsed(field.strip()) is not None for field in known)
    ]
    return choose(data.source.line(1), "metric", "metric", [*available, *numeric])


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
