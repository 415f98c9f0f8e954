"""A label per item: `id,label` in files gold, u and v; `{"id", "gold", "pred"}` in u and v; or one table `id,gold,u,v`.

Tables and lines of JSON, paired by id; where no file has ids and each is one column, by their order. Statistics are those
of labels: accuracy, unless `statistic` says another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...errors import InvalidTest
from ...inference.reading import Remark
from ...statistics.paired import StatisticSpec
from ..frame import Frame, named
from ..names import CLASS, CLUSTER, GOLD_LABEL, ID, INDEX, PREDICTED, STEMS, find, is_one_of
from ..quoting import quoted
from .beside_gold import OfItems, ValuesById, predictions_by_id
from .format import Format
from .label_signs import sign
from .label_values import labels_of
from .reader import ReaderOptions, Reading, choose
from .roles import Systems, needed, two_systems
from .source import Source

ROLES = ("file", "u", "v", "gold")
USES = frozenset(
    (
        "clusters", "delimiter", "gold_column", "id_column", "metric", "on_missing", "score_column", "system_u", "system_v",
    )
)  # fmt: skip
ACCURACY = StatisticSpec("accuracy")


def read(files: Mapping[str, Source], options: ReaderOptions, format_: str) -> Reading:
    """The labels of gold and of both systems."""
    notes: list[str] = []
    if "file" in files:
        if "gold" in files:
            detail = "With gold, give u and v in files of their own."
            raise InvalidTest.at("/files/file", "unused_file", detail)
        return _one_file(named(files["file"], options, notes), options, format_, notes)
    u, v = (named(needed(files, role, format_), options, notes) for role in ("u", "v"))
    gold = named(files["gold"], options, notes) if "gold" in files else None
    return _files(gold, u, v, options, format_, notes)


class Columns:
    """Which columns of a file are ids, clusters and gold; `others` are what is left."""

    def __init__(self, data: Frame, options: ReaderOptions, gold: Sequence[str] = GOLD_LABEL) -> None:
        self.id = data.chosen("id_column", options.id_column, ID) or _index(data)
        self.cluster = data.chosen("clusters", options.clusters, CLUSTER)
        self.gold = data.chosen("gold_column", options.gold_column, gold) if gold else None
        index = data.names[0] if is_one_of(data.names[0], INDEX) else self.id
        self.others = [name for name in data.names if name not in {self.id, self.cluster, self.gold, index}]


def _index(data: Frame) -> str | None:
    """The first column, if it is an index as pandas and R write it and names every row."""
    name = data.names[0]
    if not is_one_of(name, INDEX) or len(data.names) < 2:
        return None
    values = [str(value).strip() for value in data.column(name)]
    return name if len(set(values)) == len(values) and "" not in values else None


@dataclass(frozen=True, slots=True)
class Side:
    """A column of labels of one file, and the columns of ids and clusters beside it."""

    data: Frame
    name: str
    id: str | None
    cluster: str | None

    def place(self, row: int) -> str:
        """The pointer to a label."""
        return self.data.place(row, self.name)


def _files(
    gold: Frame | None,
    u: Frame,
    v: Frame,
    options: ReaderOptions,
    format_: str,
    notes: list[Any],
) -> Reading:
    systems = {role: _predicted(data, options, alone=gold is None) for role, data in (("u", u), ("v", v))}
    golds = [_gold(gold, options)] if gold is not None else [_gold_beside(data, options) for data in (u, v)]
    sides = {**systems, **{f"gold{index}": side for index, side in enumerate(golds)}}
    ids = _ids(list(sides.values()), notes)
    labels = labels_of({role: (side.data, side.name) for role, side in sides.items()})
    values = {
        role: ValuesById(side.data.source, ids[index], labels[role], side.place)
        for index, (role, side) in enumerate(sides.items())
    }
    truth = values["gold0"]
    if len(golds) == 2:
        truth = _one_gold(truth, values["gold1"], options)
    clusters = _clusters(golds, ids[2:])
    predictions = predictions_by_id(
        truth,
        values["u"],
        values["v"],
        OfItems(clusters=clusters),
        options.on_missing,
        notes,
        lambda side, _: side,
    )
    notes += [
        Remark(role, f"the label of an item is its {quoted(systems[role].name)}.") for role in ("u", "v")
    ]
    notes.append(f"{len(predictions.gold):,} items; gold is the column {quoted(golds[0].name)}.")
    return Reading("predictions", predictions, ACCURACY, tuple(notes), format_)


def _gold(data: Frame, options: ReaderOptions) -> Side:
    columns = Columns(data, options)
    name = columns.gold or (columns.others[0] if len(columns.others) == 1 else None)
    if name is None:
        raise choose(data.top, "gold_column", "column of gold", columns.others or list(data.names))
    return Side(data, name, columns.id, columns.cluster)


def _gold_beside(data: Frame, options: ReaderOptions) -> Side:
    """Gold in a file of predictions."""
    columns = Columns(data, options)
    if columns.gold is None:
        why = "There is no file gold, and no column of gold, such as gold or y_true. "
        raise choose(data.top, "gold_column", "column of gold", columns.others, why)
    return Side(data, columns.gold, columns.id, columns.cluster)


def _predicted(data: Frame, options: ReaderOptions, *, alone: bool) -> Side:
    """The column of a system's labels: as chosen, by its name, or the only one that is left.

    Where gold is a column beside it (`alone`, without a file gold), `label` is gold.
    """
    wanted = options.score_column or options.metric
    columns = Columns(data, options, GOLD_LABEL if alone else ())
    name = data.chosen(
        "score_column", wanted, [one for one in PREDICTED if find(columns.others, (one,)) is not None]
    )
    if name is None and not alone:
        name = data.find(CLASS)
    if name is None and len(columns.others) == 1:
        name = columns.others[0]
    if name is None or name == columns.gold:
        raise choose(data.top, "score_column", f"column of labels of {data.source.role}", columns.others)
    return Side(data, name, columns.id, columns.cluster)


def _ids(sides: Sequence[Side], notes: list[str]) -> list[list[str]]:
    """The ids of each file; where none has any, the numbers of the lines, if nothing else says what an item is."""
    without = [side for side in sides if side.id is None]
    if not without:
        return [side.data.keys(str(side.id)) for side in sides]
    for side in without:
        if len(without) < len(sides) or len(side.data.names) > 2:
            why = "Files of labels are paired by id. "
            raise choose(side.data.top, "id_column", "column of ids", list(side.data.names), why)
    first = sides[0].data
    for side in sides:
        if side.data.n != first.n:
            detail = f"{side.data.source.label} has {side.data.n:,} labels and {first.source.label} has {first.n:,}, and there are no ids."
            raise InvalidTest.at(side.data.source.pointer, "length_mismatch", detail)
    notes.append("The files have no ids: items were paired by their order.")
    return [[str(row + 1) for row in range(first.n)]] * len(sides)


def _one_gold(first: ValuesById, second: ValuesById, options: ReaderOptions) -> ValuesById:
    """Gold of both files, which must agree; where items are dropped, of all items."""
    for side in (first, second):
        side.require_unique()
    known = dict(zip(first.ids, first.values, strict=True))
    for row, (key, label) in enumerate(zip(second.ids, second.values, strict=True)):
        if known.setdefault(key, label) != label:
            detail = f"{second.source.label}: gold of the item {quoted(key)} is {quoted(label)} here and {quoted(known[key])} in u."
            raise InvalidTest.at(second.place(row), "gold_mismatch", detail)
    if options.on_missing == "error":
        return first
    return ValuesById(first.source, list(known), list(known.values()), lambda _: first.source.pointer)


def _clusters(golds: Sequence[Side], ids: Sequence[Sequence[str]]) -> dict[str, str] | None:
    """The cluster of each item, which the files must agree about."""
    clusters: dict[str, str] = {}
    named = [side.cluster is not None for side in golds]
    if not any(named):
        return None
    for side, keys in zip(golds, ids, strict=True):
        if side.cluster is None:
            detail = f"{side.data.source.label}: there is no column of clusters, and the other file has one."
            raise InvalidTest.at(side.data.source.pointer, "mixed_forms", detail)
        for row, (key, cluster) in enumerate(zip(keys, side.data.keys(side.cluster), strict=True)):
            if clusters.setdefault(key, cluster) != cluster:
                detail = f"the item {quoted(key)} is in cluster {quoted(cluster)} here and in {quoted(clusters[key])} in u."
                raise side.data.refused(row, side.cluster, "cluster_mismatch", detail)
    return clusters


def _one_file(data: Frame, options: ReaderOptions, format_: str, notes: list[str]) -> Reading:
    columns = Columns(data, options)
    gold = _gold_beside(data, options)
    systems = _systems(data, columns.others, options, notes)
    sides = {
        "gold": gold,
        "u": Side(data, systems.u, gold.id, None),
        "v": Side(data, systems.v, gold.id, None),
    }
    labels = labels_of({role: (side.data, side.name) for role, side in sides.items()})
    numbered = [str(row + 1) for row in range(data.n)]
    ids = numbered if gold.id is None else data.keys(gold.id)
    values = {role: ValuesById(data.source, ids, labels[role], side.place) for role, side in sides.items()}
    predictions = predictions_by_id(
        values["gold"], values["u"], values["v"], OfItems(clusters=_clusters([gold], [ids])), options.on_missing, notes,
        lambda side, _: side,
    )  # fmt: skip
    notes.append(f"{len(predictions.gold):,} items; gold is the column {quoted(gold.name)}.")
    return Reading(
        "predictions", predictions, ACCURACY, tuple(notes), format_, names=_shown(systems), role_question=systems.question,
    )  # fmt: skip


def _systems(data: Frame, others: list[str], options: ReaderOptions, notes: list[str]) -> Systems:
    """The columns of the systems: as chosen, u and v, pred_u and pred_v, or the only two that are left."""
    if (options.system_u, options.system_v) == (None, None):
        for stem in STEMS:
            pair: list[Any] = [data.find((f"{stem}{role}",)) for role in "uv"]
            if None not in pair and set(pair) <= set(others):
                return Systems(pair[0], pair[1])
    return two_systems(others, options, data.source, notes)


def _shown(systems: Systems) -> tuple[str, str] | None:
    """The systems' names; None where they only say which is u and which v."""
    pair = systems.u.lower(), systems.v.lower()
    return None if pair in {(f"{stem}u", f"{stem}v") for stem in STEMS} else (systems.u, systems.v)


FORMAT = Format(
    "labels", read, ROLES, USES,
    "a label per item: id,label in gold, u and v; id,gold,pred in u and v; or one table id,gold,u,v",
    kinds=("predictions",), sign=sign,
)  # fmt: skip
