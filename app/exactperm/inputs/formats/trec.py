"""Read TREC: the per-query output of `trec_eval -q`, or runs and qrels.

A line of output is `measure query value`, padded with blanks; values have four decimals, so they lie on a lattice. Lines of ir_measures
(`-q`) are `query measure value`, or JSON; measures that trec_eval has get its names. Lines of `all` queries and of the run's id are not
items. trec_eval leaves out a query for which a run has no document; here it is a missing item, subject to on_missing: zero is trec_eval -c.

Runs and qrels are evaluated by trec_eval itself through pytrec_eval (the optional extra `trec`): values are in full precision, and
`decimals=4` rounds them as trec_eval prints them.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ...answers.reading import Remark
from ...errors import InvalidTest
from ...extras import missing
from .. import json_text
from ..format import FirstLook, Format, Sign
from ..number_text import NumberReader, is_tiny, parsed
from ..quoting import quoted
from ..reader import ReaderOptions, Reading, Source, choose, parsed_once
from .outputs_by_id import SystemOutputs, scores_reading
from .roles import needed

ALL = "all"
NO_MEASURES = ("runid", "relstring")
NEITHER = ("num_ret", "num_rel")  # counts of the run and the judgements
SIZES = "num_"  # num_ret, num_rel, num_rel_ret, num_q: counts, tested only when asked for by name
DEFAULT_MEASURE = "map"
COMMON = ["map", "ndcg", "ndcg_cut_10", "P_10", "recip_rank", "bpref", "Rprec", "recall_1000", "success_10"]
# Three fields: qid, pid, rank (microsoft/MSMARCO-Passage-Ranking); query-id, corpus-id, score (beir-cellar/beir).
# Four: qid, pid, rank, score (stanford-futuredata/ColBERT).
RUN_FIELDS, QRELS_FIELDS = (6, 3, 4), (4, 3)
WHAT_RUN = (
    "a run has query, Q0, document, rank, score and tag; one of MS MARCO query, document and rank (and score)"
)
WHAT_QRELS = (
    "qrels have query, 0, document and relevance; those of BEIR query-id, corpus-id and score below a header"
)
BEIR_HEADER = frozenset(("score", "relevance", "label", "rel"))
# Safe measures only. pytrec_eval is C code: success_0 aborts the process, runid reads uninitialised memory, and ndcg loops over every level
# of relevance, a million of which take minutes.
MEASURE = re.compile(
    r"(?:gm_)?map|Rprec|bpref|recip_rank|ndcg|ndcg_rel|Rndcg|infAP|11pt_avg|binG|G|num_(?:ret|rel|rel_ret)|"
    r"set_(?:P|recall|map|F)|(?:P|recall|success|relative_P|map_cut|ndcg_cut)_[1-9][0-9]{0,5}|"
    r"iprec_at_recall_[01]\.[0-9]{1,2}"
)
MAX_RELEVANCE = 1_000
RELEVANCE = re.compile(r"[+-]?[0-9]{1,6}")
# Names in ir_measures of trec_eval's measures, with and without a cutoff.
CUT = {
    "ap": "map_cut", "ndcg": "ndcg_cut", "p": "P", "r": "recall", "success": "success", "iprec": "iprec_at_recall",
}  # fmt: skip
WHOLE = {
    "ap": "map", "ndcg": "ndcg", "rr": "recip_rank", "rprec": "Rprec", "bpref": "bpref", "infap": "infAP",
}  # fmt: skip
NAMED = re.compile(r"(?P<name>[A-Za-z]+)(?:@(?P<cut>[0-9]{1,6}|[01]?\.[0-9]{1,2}))?")
# The measure at the beginning of a line of `trec_eval -q`.
LINE_MEASURE = re.compile(
    r"runid|num_(?:q|ret|rel|rel_ret)|(?:gm_)?map|Rprec|bpref|recip_rank|(?:ndcg|P|recall|success|map_cut|ndcg_cut|"
    r"iprec_at_recall)(?:_[\d.]+)?|set_\w+|infAP|utility|Rndcg|11pt_avg"
)
# ir_measures' names, with parameters and cutoffs: nDCG@10, RBP(p=0.8), P(rel=2)@5.
IR_MEASURE = re.compile(
    r"(?:A?P|nDCG|RR|R|RPrec|Rprec|Bpref|infAP|ERR|IPrec|Success|Judged|RBP|INST|BPM|SDCG|Set(?:P|R|F|AP|_?Rel)|NumQ|"
    r"NumRet|NumRel|NumRelRet|Compat|alpha_nDCG|NRBP|AP_IA|P_IA|Accuracy|NERR\d+)(?:\([^)]*\))?(?:@[\d.]+)?"
)
OF_RECORDS = frozenset(("query_id", "measure", "value"))

Row = tuple[int, str, str]  # line, query, value
ByQuery = dict[str, dict[str, Any]]


def read(files: Mapping[str, Source], options: ReaderOptions, format_: str) -> Reading:
    """Read scores per query of two runs."""
    notes: list[Any] = []
    systems = [needed(files, role, format_) for role in "uv"]
    if options.measure is not None:
        options = replace(options, measure=measure_of(options.measure))
    if "qrels" in files:
        measure, (u, v) = _evaluated(files["qrels"], systems, options, notes)
    else:
        printed = [_rows(source, notes) for source in systems]
        names = [name for name in printed[0] if not name.startswith(SIZES)]
        if options.measure is None and len(names) != 1:
            raise choose(systems[0].pointer, "measure", "measure", names or list(printed[0]))
        measure, reader = options.measure or names[0], NumberReader.of(options)
        u, v = outputs = [SystemOutputs(source) for source in systems]
        for source, rows, of_system in zip(systems, printed, outputs, strict=True):
            if measure not in rows:
                why = f"{source.label} has no measure {quoted(measure)}. "
                raise choose(source.pointer, "measure", "measure", list(rows), why)
            for number, query, value in rows[measure]:
                of_system.add(query, reader.of_text(value, source.line(number, "value")), f"line/{number}")
    note = f"The measure is {measure[:40]}."
    if "qrels" in files and options.measure is None:
        note = f"No measure was given: {measure} was taken; the option measure chooses another, such as ndcg or P_10."
    notes.append(note)
    if options.on_missing == "zero":
        if measure.startswith("gm_"):
            detail = (
                f"{measure[:40]} of a missing query is a logarithm, not 0: set `on_missing=drop`, or add it."
            )
            raise InvalidTest.at("/options/on_missing", "no_zero", detail)
        for system, other in ((u, v), (v, u)):
            absent = [query for query in other.ids if query not in system.index]
            for query in absent:
                system.add(query, 0, f"query/{query[:40]}")
            n = len(absent) + system.values.count(None)
            system.values = [0 if value is None else value for value in system.values]
            if n:
                note = f"{n:,} queries without a value count 0 (on_missing: zero)."
                notes.append(Remark(system.source.role, note))
        options = replace(options, on_missing="error")
    better = True if MEASURE.fullmatch(measure) and measure not in NEITHER else None
    try:
        return scores_reading(u, v, options, notes, format_, metric=measure, higher_is_better=better)
    except InvalidTest as error:
        if not any(flaw.code in ("unmatched_ids", "missing_value") for flaw in error.flaws):
            raise
        way = " trec_eval -c counts such queries as 0: set `on_missing=zero` for this."
        raise InvalidTest(error.detail + way, flaws=error.flaws) from None


def measure_of(name: str) -> str:
    """trec_eval's name of a measure that may be written as in ir_measures.

    >>> measure_of("nDCG@10"), measure_of("AP"), measure_of("IPrec@0.1"), measure_of("P_10")
    ('ndcg_cut_10', 'map', 'iprec_at_recall_0.10', 'P_10')
    """
    match = NAMED.fullmatch(name)
    if match is None:
        return name
    name_of_measure, cut = match["name"].lower(), match["cut"]
    if cut is None:
        return WHOLE.get(name_of_measure, name)
    if name_of_measure not in CUT or ("." in cut) != (name_of_measure == "iprec"):
        return name
    return f"{CUT[name_of_measure]}_{float(cut):.2f}" if "." in cut else f"{CUT[name_of_measure]}_{int(cut)}"


def is_of_ir_measures(fields: list[str]) -> bool:
    """Whether a line is `query measure value`, as `ir_measures -q` prints it."""
    if len(fields) != 3 or LINE_MEASURE.fullmatch(fields[0]) or parsed(fields[2]) is None:
        return False
    return IR_MEASURE.fullmatch(fields[1]) is not None


@parsed_once
def _rows(source: Source, notes: list[Any]) -> dict[str, list[Row]]:
    """The lines of single queries by measure."""
    by_measure: dict[str, list[Row]] = {}
    averages = 0
    turned = None
    for number, line in enumerate(source.lines(notes), 1):
        if not line.strip():
            continue
        fields = line.split()
        if line.startswith("{"):  # ir_measures --output jsonl
            record = json_text.decoded(line, source.line(number), f"Line {number:,}")
            fields = [str(record.get(name)) for name in ("measure", "query_id", "value")]
            turned = False
        turned = is_of_ir_measures(fields) if turned is None else turned
        if turned and len(fields) == 3:
            fields = [fields[1], fields[0], fields[2]]
        if len(fields) >= 2 and (fields[1] == ALL or fields[0] in NO_MEASURES):
            averages += 1
            continue
        if len(fields) != 3:
            detail = f"there are {len(fields)} fields; trec_eval -q writes measure, query and value."
            raise source.refused(number, "wrong_field_count", detail)
        by_measure.setdefault(measure_of(fields[0]), []).append((number, fields[1], fields[2]))
    if not by_measure:
        detail = f"{source.label} has averages over all queries only, which cannot be tested; run trec_eval with -q."
        raise InvalidTest.at(source.pointer, "averages_only", detail)
    if averages:
        notes.append(Remark(source.role, f"{averages:,} lines of averages over all queries were skipped."))
    return by_measure


# Runs and qrels


def _evaluated(
    qrels: Source, runs: Sequence[Source], options: ReaderOptions, notes: list[Any]
) -> tuple[str, list[SystemOutputs]]:
    """The measure, and its value on every judged query of both runs; raises InvalidTest."""
    measure = options.measure or DEFAULT_MEASURE
    if MEASURE.fullmatch(measure) is None:
        why = f"There is no {quoted(measure)}, or its cutoff is missing. "
        raise choose("/options/measure", "measure", "measure", COMMON, why)
    judged, _ = _by_query(qrels, notes)
    n = sum(map(len, judged.values()))
    notes.append(f"{n:,} judgements of {len(judged):,} queries read from {qrels.label}.")
    read = [_by_query(source, notes) for source in runs]
    for source, (ranked, _) in zip(runs, read, strict=True):
        n = sum(map(len, ranked.values()))
        note = f"{n:,} ranked documents of {len(ranked):,} queries read from {source.label}."
        notes.append(Remark(source.role, note))
    neither = {query for query in judged if not any(query in ranked for ranked, _ in read)}
    if 0 < len(neither) < len(judged) and options.on_missing != "zero":
        # Without -c trec_eval takes the topics of a run: a topic that both lack is not an item.
        judged = {query: of_query for query, of_query in judged.items() if query not in neither}
        notes.append(f"{len(neither):,} judged queries that neither run has were skipped, as trec_eval does.")
    systems = []
    for source, (ranked, lines) in zip(runs, read, strict=True):
        outputs, values = SystemOutputs(source), _values(judged, ranked, measure)
        unjudged = sum(query not in judged for query in ranked)
        if unjudged:
            note = f"{unjudged:,} queries without judgements were skipped, as trec_eval does."
            notes.append(Remark(source.role, note))
        for query in judged:
            value = values.get(query)
            if value is not None and options.decimals is not None:
                value = float(f"{value:.{options.decimals}f}")  # as trec_eval's printf rounds
            path = f"line/{lines[query]}" if query in lines else f"query/{query[:40]}"
            outputs.add(query, value, path)
        systems.append(outputs)
    return measure, systems


def _values(judged: ByQuery, ranked: ByQuery, measure: str) -> dict[str, float]:
    try:
        import pytrec_eval
    except ImportError:
        detail = f"{missing('trec')}; or give the output of trec_eval -q instead."
        raise InvalidTest.at("/files/qrels", "missing_extra", detail) from None
    results: dict[str, dict[str, float]] = pytrec_eval.RelevanceEvaluator(judged, {measure}).evaluate(ranked)
    # MEASURE matches single measures only.
    return {query: value for query, values in results.items() for value in values.values()}


@parsed_once
def _by_query(source: Source, notes: list[Any]) -> tuple[ByQuery, dict[str, int]]:
    """The relevance of documents, or their scores in a run, by query; and the first line of each query."""
    judged = source.role == "qrels"
    widths, what = (QRELS_FIELDS, WHAT_QRELS) if judged else (RUN_FIELDS, WHAT_RUN)
    ranked: ByQuery = {}
    first: dict[str, int] = {}
    width = None
    if source.content.lstrip()[:1] == b"{":
        return _of_document(source, notes, judged=judged), first
    for number, line in enumerate(source.lines(notes), 1):
        fields = line.split()
        if len(fields) != width:
            if not fields:
                continue
            if width is not None or len(fields) not in widths:
                raise source.refused(number, "wrong_field_count", f"there are {len(fields)} fields; {what}.")
            width = len(fields)
        query = fields[0]
        if number == 1 and judged and fields[-1].lower() in BEIR_HEADER:
            continue
        if query not in ranked:
            ranked[query], first[query] = {}, number
        of_query = ranked[query]
        document, text = (
            (fields[2], fields[4]) if len(fields) == 6 else (fields[-2 if judged else 1], fields[-1])
        )
        try:
            # In MS MARCO the first rank is the best.
            value = float(f"-{text}" if len(fields) == 3 and not judged else text)
        except ValueError:
            value = math.nan
        if judged and (not RELEVANCE.fullmatch(text) or abs(value) > MAX_RELEVANCE):
            detail = f"the relevance is not an integer from -{MAX_RELEVANCE:,} to {MAX_RELEVANCE:,}."
            raise source.refused(number, "not_a_number", detail, 4)
        if not math.isfinite(value) or (not value and is_tiny(text)):
            raise source.refused(
                number, "not_a_number", "the score is not a finite number that a double holds.", 5
            )
        if document in of_query:
            how = "judged" if judged else "ranked"
            detail = f"the document {quoted(document)} is {how} twice for {quoted(query)}."
            raise source.refused(number, "duplicate_id", detail)
        of_query[document] = int(value) if judged else value
    if not ranked:
        raise source.empty()
    return ranked, first


def _of_document(source: Source, notes: list[Any], *, judged: bool) -> ByQuery:
    """Qrels or a run in the form of ranx and pytrec_eval: `{query: {document: number}}`."""
    document = source.decoded(notes)
    queries = list(document.values()) if isinstance(document, dict) else []
    values = [value for query in queries if isinstance(query, dict) for value in query.values()]
    most, types = (MAX_RELEVANCE, (int,)) if judged else (sys.float_info.max, (int, float))
    right = [type(value) in types and -most <= value <= most for value in values]
    if not values or not all(right) or not all(isinstance(query, dict) for query in queries):
        what = f"whole numbers from -{most:,} to {most:,}" if judged else "numbers"
        raise source.refused("", "not_a_number", f"a JSON document has {what} by query and document.")
    of_queries: ByQuery = document
    return of_queries


def _sign(look: FirstLook) -> Sign:
    words = look.rows[0].split() if look.rows else []
    measured = len(words) == 3 and (LINE_MEASURE.fullmatch(words[0]) or is_of_ir_measures(words))
    measured = measured or (look.record or {}).keys() == OF_RECORDS
    return Sign.MARK if measured or ("qrels" in look.roles and not look.is_archive) else Sign.NONE


FORMAT = Format(
    "trec", read, ("u", "v", "qrels"), frozenset(("measure", "on_missing", "missing_range", "decimals")),
    "trec_eval -q or ir_measures -q output, or runs and qrels",
    kinds=("scores",), sign=_sign, zero=True,
)  # fmt: skip
