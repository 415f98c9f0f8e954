"""A table of what items are beside the scores that two systems gave them: `label,score_u,score_v`.

Columns: `label` (also y_true, gold, target, human, time), `score_u` and `score_v` (or those that system_u and system_v
name), and where there are any `id`, `group`, `event`, `cluster`. Two labels make an AUC, a time a concordance, other
numbers Kendall's tau, unless `statistic` says what.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...statistics.paired import Column, Pairing, Predictions, StatisticSpec
from ..columns import numbers
from ..pairing import coded, require_unique
from .format import FirstLook, Format, Sign
from .number_text import NumberReader, is_missing, parsed
from .reader import ReaderOptions, Reading
from .roles import needed
from .source import Source
from .table import FileTable, table

ROLES = ("file",)
USES = frozenset(("clusters", "decimals", "delimiter", "id_column", "system_u", "system_v"))
GOLD = ("label", "y_true", "gold", "target", "human", "time")


def read(files: Mapping[str, Source], options: ReaderOptions, format_: str) -> Reading:
    """Scores of both systems with the items' labels, scores or times."""
    notes: list[str] = []
    data = table(needed(files, "file", format_), options, notes)
    gold_at = _needed(data, GOLD)
    gold = _labels(data, gold_at)
    u, v = (_scores(data, _needed(data, _named(options, role)), options) for role in ("u", "v"))
    group, event = data.find(("group",)), data.find(("event",))
    time = data.header is not None and data.header[gold_at].lower() == "time"
    default = "concordance" if time or event is not None else "auc" if len(set(gold)) <= 2 else "kendall"
    notes.append(
        f"{len(gold):,} items with scores of both systems; gold is the column {_name(data, gold_at)}."
    )
    notes += NumberReader.of(options).note()
    predictions = Predictions(
        gold,
        u,  # type: ignore[arg-type]
        v,  # type: ignore[arg-type]
        _pairing(data, options),
        None if group is None else coded(data.column(group))[0],
        None if event is None else _events(data, event),
    )
    names = None
    if options.system_u is not None and options.system_v is not None:
        names = (options.system_u, options.system_v)
    return Reading("predictions", predictions, StatisticSpec(default), tuple(notes), format_, names=names)


def _named(options: ReaderOptions, role: str) -> tuple[str, ...]:
    given = getattr(options, f"system_{role}")
    return (f"score_{role}", role) if given is None else (given.strip().lower(),)


def _needed(data: FileTable, names: Sequence[str]) -> int:
    at = data.find(tuple(names))
    if at is None:
        detail = f"a column {' or '.join(names)} is needed."
        raise data.source.refused(1, "missing_column", detail)
    return at


def _name(data: FileTable, at: int) -> str:
    return data.header[at] if data.header is not None else str(at + 1)


def _labels(data: FileTable, at: int) -> list[Any]:
    """Numbers where all fields are numbers, else texts."""
    fields = [field.strip() for field in data.column(at)]
    for row, field in enumerate(fields):
        if is_missing(field):
            raise data.source.refused(data.lines[row], "missing", f"there is no {_name(data, at)}.", at + 1)
    values = [parsed(field) for field in fields]
    return fields if None in values else values


def _scores(data: FileTable, at: int, options: ReaderOptions) -> Column:
    reader, values = NumberReader.of(options), []
    for row, field in enumerate(data.column(at)):
        value = reader.of_text(field, data.pointer(row, at))
        if value is None:
            raise data.source.refused(data.lines[row], "missing", "there is no score.", at + 1)
        values.append(value)
    return numbers(values)


def _events(data: FileTable, at: int) -> Any:
    known = {"1": True, "0": False, "true": True, "false": False}
    fields = [field.strip().lower() for field in data.column(at)]
    for row, field in enumerate(fields):
        if field not in known:
            detail = "an event is 1 or true, and a censored item 0 or false."
            raise data.source.refused(data.lines[row], "not_an_event", detail, at + 1)
    return np.array([known[field] for field in fields], dtype=bool)


def _pairing(data: FileTable, options: ReaderOptions) -> Pairing:
    id_at = data.find(("id",)) if options.id_column is None else data.position(options.id_column, "id_column")
    cluster_at = data.find(("cluster",))
    if options.clusters is not None:
        cluster_at = data.position(options.clusters, "clusters")
    ids = None if id_at is None else data.column(id_at)
    if ids is not None:
        require_unique(ids)
    codes, n_clusters = coded(None if cluster_at is None else data.column(cluster_at))
    return Pairing(clusters=codes, n_clusters=n_clusters, by_id=ids is not None, ids=ids)


def _sign(look: FirstLook) -> Sign:
    known = {"score_u", "score_v"} <= look.columns and look.columns.intersection(GOLD)
    return Sign.HEADER if known else Sign.NONE


FORMAT = Format(
    "ranking", read, ROLES, USES, "label,score_u,score_v[,group,event,cluster,id]: scores of both systems beside gold",
    kinds=("predictions",), sign=_sign,
)  # fmt: skip
