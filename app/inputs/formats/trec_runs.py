"""Runs and qrels, evaluated by trec_eval itself through pytrec_eval (the optional extra `trec`).

Values are in full precision; `decimals=4` rounds them as trec_eval prints them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, NoReturn

from ...errors import InvalidTest
from ...extras import missing
from ...inference.reading import Remark
from ..quoting import quoted
from ..tiny_numbers import is_tiny
from .outputs_by_id import SystemOutputs
from .reader import ReaderOptions, choose
from .source import Source

DEFAULT_MEASURE = "map"
COMMON = ["map", "ndcg", "ndcg_cut_10", "P_10", "recip_rank", "bpref", "Rprec", "recall_1000", "success_10"]
RUN_FIELDS, QRELS_FIELDS = 6, 4
# query-id, corpus-id, score (beir-cellar/beir); qid, pid, rank (microsoft/MSMARCO-Passage-Ranking)
BEIR_FIELDS, MARCO_FIELDS = 3, 3
BEIR_HEADER = frozenset(("score", "relevance", "label", "rel"))
# Measures that are safe. pytrec_eval is C: success_0 aborts the process, runid reads uninitialised memory, and
# ndcg loops over every level of relevance, a million of which take minutes.
MEASURE = re.compile(
    r"(?:gm_)?map|Rprec|bpref|recip_rank|ndcg|ndcg_rel|Rndcg|infAP|11pt_avg|binG|G|num_(?:ret|rel|rel_ret)|"
    r"set_(?:P|recall|map|F)|(?:P|recall|success|relative_P|map_cut|ndcg_cut)_[1-9][0-9]{0,5}|"
    r"iprec_at_recall_[01]\.[0-9]{1,2}"
)
MAX_RELEVANCE = 1_000
RELEVANCE = re.compile(r"[+-]?[0-9]{1,6}")

Judged = dict[str, dict[str, int]]
Ranked = dict[str, dict[str, float]]


def evaluated(
    qrels: Source, u: Source, v: Source, options: ReaderOptions, notes: list[str]
) -> tuple[str, tuple[SystemOutputs, SystemOutputs]]:
    """The measure, and its value on every judged query of both runs.

    Raises
    ------
    InvalidTest
        A line is wrong, there is no such measure, or pytrec_eval is not installed.
    """
    measure = options.measure or DEFAULT_MEASURE
    if MEASURE.fullmatch(measure) is None:
        why = f"There is no {quoted(measure)}, or its cutoff is missing. "
        raise choose("/options/measure", "measure", "measure", COMMON, why)
    judged = _qrels(qrels, notes)
    runs = [(source, *_run(source, notes)) for source in (u, v)]
    neither = [query for query in judged if not any(query in ranked for _, ranked, _ in runs)]
    if 0 < len(neither) < len(judged) and options.on_missing != "zero":
        lacking = set(neither)
        # Without -c trec_eval takes the topics of a run: one that both lack is no item.
        judged = {query: of_query for query, of_query in judged.items() if query not in lacking}
        notes.append(f"{len(neither):,} judged queries that neither run has were skipped, as trec_eval does.")
    systems = [_outputs(*run, judged, measure, options.decimals, notes) for run in runs]
    return measure, (systems[0], systems[1])


def _outputs(
    source: Source,
    ranked: Ranked,
    lines: Mapping[str, int],
    judged: Judged,
    measure: str,
    decimals: int | None,
    notes: list[Any],
) -> SystemOutputs:
    values = _values(judged, ranked, measure)
    unjudged = [query for query in ranked if query not in judged]
    if unjudged:
        notes.append(
            Remark(
                source.role, f"{len(unjudged):,} queries without judgements were skipped, as trec_eval does."
            )
        )
    outputs = SystemOutputs(source)
    for query in judged:
        value: float | None = values.get(query)
        path = f"line/{lines[query]}" if query in lines else f"query/{query[:40]}"
        if value is not None and decimals is not None:
            value = float(f"{value:.{decimals}f}")  # as trec_eval's printf rounds it
        outputs.add(query, value, path)
    return outputs


def _values(judged: Judged, ranked: Ranked, measure: str) -> dict[str, float]:
    try:
        import pytrec_eval
    except ImportError:
        detail = f"{missing('trec')}; or give the output of trec_eval -q instead."
        raise InvalidTest.at("/files/qrels", "missing_extra", detail) from None
    results: dict[str, dict[str, float]] = pytrec_eval.RelevanceEvaluator(judged, {measure}).evaluate(ranked)
    names = {name for values in results.values() for name in values}
    assert len(names) <= 1, "MEASURE admits single measures only"
    return {query: value for query, values in results.items() for value in values.values()}


def _fields(
    source: Source, notes: list[str], needed: tuple[int, int], what: str
) -> Iterator[tuple[int, list[str]]]:
    """The fields of every line that is not empty, with its number; refuses any other number of fields, and two in one file."""
    width = None
    for number, line in enumerate(source.lines(notes), 1):
        fields = line.split()
        width = len(fields) if width is None and len(fields) in needed else width
        if fields and len(fields) != width:
            raise source.refused(number, "wrong_field_count", f"there are {len(fields)} fields; {what}.")
        if fields:
            yield number, fields


def _refuse_twice(source: Source, number: int, document: str, how: str, query: str) -> NoReturn:
    detail = f"the document {quoted(document)} is {how} twice for {quoted(query)}."
    raise source.refused(number, "duplicate_id", detail)


def _qrels(source: Source, notes: list[str]) -> Judged:
    judged: Judged = {}
    what = "qrels have query, 0, document and relevance; those of BEIR query-id, corpus-id and score below a header"
    for number, fields in _fields(source, notes, (QRELS_FIELDS, BEIR_FIELDS), what):
        query, document, relevance = fields[0], fields[-2], fields[-1]
        if number == 1 and not RELEVANCE.fullmatch(relevance) and relevance.lower() in BEIR_HEADER:
            continue
        of_query = judged.setdefault(query, {})
        if document in of_query:
            _refuse_twice(source, number, document, "judged", query)
        if not RELEVANCE.fullmatch(relevance) or abs(int(relevance)) > MAX_RELEVANCE:
            detail = f"the relevance is not an integer from -{MAX_RELEVANCE:,} to {MAX_RELEVANCE:,}."
            raise source.refused(number, "not_a_number", detail, 4)
        of_query[document] = int(relevance)
    if not judged:
        raise source.empty()
    n = sum(map(len, judged.values()))
    notes.append(f"{n:,} judgements of {len(judged):,} queries read from {source.label}.")
    return judged


def _run(source: Source, notes: list[Any]) -> tuple[Ranked, dict[str, int]]:
    """Scores by query and document, and the first line of every query."""
    ranked: Ranked = {}
    first: dict[str, int] = {}
    what = "a run has query, Q0, document, rank, score and tag; one of MS MARCO query, document and rank"
    for number, fields in _fields(source, notes, (RUN_FIELDS, MARCO_FIELDS), what):
        query = fields[0]
        if len(fields) == MARCO_FIELDS:  # the first rank is the best
            document, text = fields[1], f"-{fields[2]}"
        else:
            document, text = fields[2], fields[4]
        of_query = ranked.setdefault(query, {})
        first.setdefault(query, number)
        if document in of_query:
            _refuse_twice(source, number, document, "ranked", query)
        try:
            score = float(text)
        except ValueError:
            score = math.nan
        if not math.isfinite(score) or (not score and is_tiny(text)):
            raise source.refused(
                number, "not_a_number", "the score is not a finite number that a double holds.", 5
            )
        of_query[document] = score
    if not ranked:
        raise source.empty()
    n = sum(map(len, ranked.values()))
    notes.append(
        Remark(source.role, f"{n:,} ranked documents of {len(ranked):,} queries read from {source.label}.")
    )
    return ranked, first
