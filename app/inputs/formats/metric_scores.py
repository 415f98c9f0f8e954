"""Segment scores of mt-metrics-eval: metrics of translation beside human scores.

A line is `SYSTEM SCORE`, separated by blanks, with the segments of a system in order; `None` is a segment without a score.
u and v are two metrics' files (`BLEU-refA.seg.score`), gold the human scores (`en-de.mqm.seg.score`), which say what is
compared: systems and segments without a human score are left out, as mt-metrics-eval does. An item is a segment of a
system. `groups` says which items are compared: those of one segment (WMT's "group by item"), of one system, or all.
(google-research/mt-metrics-eval: README.md, "File organization and naming convention"; data.py, ReadScoreFile.)
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping

from ...errors import InvalidTest
from ...statistics.paired import StatisticSpec
from ..quoting import quoted, some
from .beside_gold import ValuesById, predictions_by_id
from .format import FirstLook, Format, Sign
from .number_text import Number, NumberReader, parsed
from .reader import ReaderOptions, Reading
from .roles import needed
from .source import Source, parsed_once

ROLES = ("u", "v", "gold", "documents")
USES = frozenset(("clusters", "decimals", "groups", "on_missing"))
GROUPS = ("segment", "system", "none")
CLUSTERS = ("segment", "system", "document")
ENDING = re.compile(r"\.seg\.score(\.gz|\.zst)?\Z")
MISSING = "None"

Scores = dict[str, list[tuple[Number | None, int]]]


def read(files: Mapping[str, Source], options: ReaderOptions, format_: str) -> Reading:
    """Two metrics' scores of the segments that have human scores."""
    notes: list[str] = []
    gold, u, v = (needed(files, role, format_) for role in ("gold", "u", "v"))
    groups = _choice("groups", options.groups or "segment", GROUPS)
    clusters = None if options.clusters is None else _choice("clusters", options.clusters, CLUSTERS)
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
    documents = _documents(files["documents"], human, systems, notes) if clusters == "document" else []
    ids = [f"{name}/{segment + 1}" for name, segment in rated]

    def column(source: Source, scores: Scores) -> ValuesById:
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
    names = [ENDING.sub("", source.name) for source in (u, v) if ENDING.search(source.name)]
    different = len(names) == 2 and names[0] != names[1] and all(names)
    return Reading(
        "predictions", data, StatisticSpec("kendall"), tuple(notes), format_,
        names=(names[0], names[1]) if different else None,
    )  # fmt: skip


def _choice(name: str, given: str, allowed: tuple[str, ...]) -> str:
    if given not in allowed:
        detail = f"{name} must be one of: {', '.join(allowed)}."
        raise InvalidTest.at(f"/options/{name}", "invalid_option", detail)
    return given


@parsed_once
def _scores(source: Source, reader: NumberReader, notes: list[str]) -> Scores:
    """The scores of each system with their lines, in order; raises InvalidTest."""
    scores: Scores = {}
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
        if value is None and fields[1] != MISSING:
            value = reader.of_text(fields[1], source.line(number, 2))
        scores.setdefault(fields[0], []).append((value, number))
    if blank:
        notes.append(f"{source.label}: {blank:,} empty lines were skipped.")
    if not scores:
        raise source.empty()
    return scores


def _systems(
    human: Scores, metrics: list[Scores], sources: tuple[Source, Source], notes: list[str]
) -> list[str]:
    """The systems that have human scores and both metrics' scores; raises InvalidTest."""
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
        notes.append(
            f"{len(unscored):,} systems that no metric scored (references) were left out: {some(unscored)}."
        )
    for name in systems:
        for scores, source in zip(metrics, sources, strict=True):
            if len(scores[name]) != len(human[name]):
                detail = (
                    f"{source.label}: {quoted(name)} has {len(scores[name]):,} segments here and {len(human[name]):,} in the "
                    "human scores; segments have no ids, so both must have as many."
                )
                raise InvalidTest.at(source.line(scores[name][-1][1]), "length_mismatch", detail)
    return systems


def _documents(source: Source, human: Scores, systems: list[str], notes: list[str]) -> list[str]:
    """The document of each segment, the last field of its line; the systems have as many. Raises InvalidTest."""
    documents = []
    for number, line in enumerate(source.lines(notes), 1):
        fields = line.split()
        if not fields:
            raise source.refused(
                number, "wrong_field_count", "a line is a domain and a document, one for each segment."
            )
        documents.append(fields[-1])
    for name in systems:
        if len(documents) != len(human[name]):
            detail = f"{source.label}: {len(documents):,} lines for {len(human[name]):,} segments of {quoted(name)}."
            raise InvalidTest.at(source.pointer, "length_mismatch", detail)
    return documents


def _sign(look: FirstLook) -> Sign:
    if "gold" not in look.roles or not look.rows:
        return Sign.NONE
    complete = look.rows[: -1 if len(look.rows) > 1 else None]
    fields = [line.split() for line in itertools.islice(complete, 50)]
    scored = all(len(row) == 2 and (row[1] == MISSING or parsed(row[1]) is not None) for row in fields)
    named = ENDING.search(look.source.name) is not None
    return (Sign.MARK if named else Sign.SHAPE) if scored else Sign.NONE


FORMAT = Format(
    "mt-metrics-eval", read, ROLES, USES, "segment scores of two metrics (SYSTEM SCORE per line), and human scores as gold",
    kinds=("predictions",), aliases=("mtme", "seg.score"), sign=_sign, several=False,
)  # fmt: skip
