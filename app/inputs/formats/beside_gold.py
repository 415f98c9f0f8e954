"""Labels or scores of systems beside gold: one table or JSON records, of two systems or of many; or a file each, paired by id.

`labels`: a label per item: `id,label` in files gold, u and v; `{"id", "gold", "pred"}` in u and v; or one table `id,gold,u,v`. The
statistic is accuracy, unless `statistic` says another.

`ranking`: gold is labels, human scores or times (what other tools call y_true, target, human_score, time), beside scores of the
systems: `label,score_u,score_v`, or a file each; and there may be `group` and `event`. Two labels make an AUC, times a
concordance, other numbers Kendall's tau, unless `statistic` says what. (Names: sklearn.metrics.roc_auc_score,
lifelines.utils.concordance_index, R's survival::Surv.)

Either may have clusters. Where no file has ids and each is one column beside gold, items are paired by their order.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...errors import InvalidTest, relocated
from ...inference.reading import LeftOut, Remark
from ...statistics.paired import Pairing, Predictions, StatisticSpec
from ..alignment import BOUNDS, DROP, align, coded, require_unique
from ..frame import Frame, named
from ..names import (
    CLASS,
    CLUSTER,
    EVENT,
    GOLD_LABEL,
    GOLD_SCORE,
    GROUP,
    ID,
    INDEX,
    PREDICTED,
    RANKED,
    STEMS,
    SURELY_GOLD,
    TIME,
    find,
    is_one_of,
)
from ..quoting import quoted
from .format import Format
from .gold_signs import sign_of_labels, sign_of_scores
from .label_values import labels_of
from .many_systems import SYSTEMS, refuse_index, refuse_no_systems
from .number_text import NumberReader
from .outputs_by_id import PAIRED_BY_ORDER, column_of, known_values, values_in
from .reader import OnMissingOutcome, ReaderOptions, Reading, choose, no_bounds
from .roles import Systems, needed, two_systems
from .source import Source

ROLES = ("file", "u", "v", "gold")
ACCURACY = StatisticSpec("accuracy")
NO_GOLD = "A column of labels, human scores or times is needed, such as label, y_true or time. "


@dataclass(frozen=True, slots=True)
class Outputs:
    """What systems give: a label or a score; and how the columns of gold and of systems are called.

    `otherwise` are names of a system's column where gold is in a file of its own; `stems` stand before u and v.
    """

    what: str
    gold: tuple[str, ...]
    named: tuple[str, ...]
    otherwise: tuple[str, ...]
    stems: tuple[str, ...]


LABELS = Outputs("label", GOLD_LABEL, PREDICTED, CLASS, STEMS)
SCORES = Outputs("score", GOLD_SCORE, RANKED, (), (*(f"{name}_" for name in RANKED), ""))
OUTPUTS = {"labels": LABELS, "ranking": SCORES}


class Columns:
    """Which columns of a frame are what; `others` are those of systems, `name` the one that is read of a file. Only scores have groups and events."""

    def __init__(
        self, data: Frame, options: ReaderOptions, outputs: Outputs, *, has_gold: bool = True
    ) -> None:
        self.data, self.outputs, self.name = data, outputs, ""
        index = data.names[0] if len(data.names) > 1 and is_one_of(data.names[0], INDEX) else None
        keys = set() if index is None else {str(value).strip() for value in data.column(index)}
        names_rows = len(keys) == data.n and "" not in keys
        self.gold = data.chosen("gold_column", options.gold_column, outputs.gold) if has_gold else None
        self.id = data.chosen("id_column", options.id_column, ID) or (index if names_rows else None)
        self.cluster = data.chosen("clusters", options.clusters, CLUSTER)
        self.group = self.event = None
        if outputs is SCORES:
            self.group = data.chosen("groups", options.groups, GROUP)
            self.event = data.chosen("event_column", options.event_column, EVENT)
        taken = {self.gold, self.id, self.cluster, self.group, self.event, index}
        self.others = [name for name in data.names if name not in taken]

    def needed_gold(self, options: ReaderOptions, why: str, code: str | None = None) -> str:
        """The column of gold; raises InvalidTest where none is, or where several columns of a table may be."""
        names = self.others or list(self.data.names)
        several = [name for name in self.data.names if is_one_of(name, SURELY_GOLD)]
        if options.gold_column is None and len(several) > 1 and (code or self.outputs is SCORES):
            why, names, code = "More than one column may be gold. ", several, None
        elif self.gold is not None:
            return self.gold
        raise choose(self.data.top, "gold_column", "column of gold", names, why, code=code)

    def place(self, row: int) -> str:
        """The pointer to a value that is read of a file."""
        return self.data.place(row, self.name)


def read(files: Mapping[str, Source], options: ReaderOptions, format_: str) -> Reading:
    """Gold and the labels or scores of both systems."""
    notes: list[Any] = []
    outputs = OUTPUTS[format_]
    if "file" in files:
        if "gold" in files:
            detail = "With gold, give u and v in files of their own."
            raise InvalidTest.at("/files/file", "unused_file", detail)
        return _one_file(named(files["file"], options, notes), outputs, options, format_, notes)
    u, v = (named(needed(files, role, format_), options, notes) for role in ("u", "v"))
    gold = named(files["gold"], options, notes) if "gold" in files else None
    return _files(gold, u, v, outputs, options, format_, notes)


# One file


@dataclass(frozen=True, slots=True)
class SystemsBesideGold:
    """The rows of a file that have gold.

    `gold`, `groups`, `events`, `clusters` and `ids` have one value for each of `rows`, the last four are None where there
    is no such column; `systems` have one for each of their `present`, positions in `rows`. `place` finds a value in the file.
    """

    of: Columns
    gold_name: str
    rows: Sequence[int]
    gold: list[Any]
    systems: dict[str, Any]
    present: dict[str, Sequence[int]]
    ids: list[str] | None
    clusters: list[str] | None
    groups: list[str] | None
    events: list[bool] | None
    default: StatisticSpec
    notes: tuple[str, ...]

    def place(self, row: int, name: str | None) -> str:
        """The pointer to a value of an item; to the item's line without a name."""
        return self.of.data.place(self.rows[row], name or "")


def read_systems(
    source: Source, options: ReaderOptions, wanted: Sequence[str] | None, format_: str
) -> SystemsBesideGold:
    """The scores of many systems, or their labels; systems are the columns that are `wanted`, or all that have no other role.

    Where `options.on_missing` is error, items without gold or a score are refused; else those without gold are left out.

    Raises
    ------
    MalformedBody, InvalidTest
        As `frame.named` does; gold or the systems are not to be told, or a value is missing or none that counts.
    """
    notes: list[Any] = []
    data = named(source, options, notes)
    outputs = OUTPUTS[format_]
    of = Columns(data, options, outputs)
    gold = of.needed_gold(options, NO_GOLD, "missing_column")
    if wanted is None:
        refuse_no_systems(data, of.others)
    for name in wanted or ():
        if name not in of.others:
            why = f"There is no column {quoted(name)} that could be a system. "
            raise choose(data.top, SYSTEMS, "columns of the systems", of.others, why, values=())
    found = _table(of, gold, list(wanted or of.others), options, notes, way="complete")
    if wanted is None and outputs is SCORES:
        for name, column in found.systems.items():
            refuse_index(data, name, column)
    return found


def _one_file(
    data: Frame, outputs: Outputs, options: ReaderOptions, format_: str, notes: list[Any]
) -> Reading:
    of = Columns(data, options, outputs)
    gold_name = of.needed_gold(options, NO_GOLD, "missing_column")
    systems = _two(of, options, notes)
    found = _table(of, gold_name, [systems.u, systems.v], options, notes, way="drop")
    if found.ids is not None:
        id_name = str(of.id)
        with relocated(lambda pointer: found.place(int(pointer.rpartition("/")[2]), id_name)):
            require_unique(found.ids)
    codes, n_clusters = coded(found.clusters)
    told = found.ids is not None or len(found.rows) < data.n
    matched = {"matched": len(found.rows), "largest": data.n} if told else {}
    predictions = Predictions(
        found.gold,
        found.systems[systems.u],
        found.systems[systems.v],
        Pairing(codes, n_clusters, by_id=found.ids is not None, ids=found.ids, **matched),
        coded(found.groups)[0],
        None if found.events is None else np.array(found.events, dtype=bool),
    )
    only_roles = (
        systems.u.lower().endswith("u") and systems.v.lower() == f"{systems.u.lower().removesuffix('u')}v"
    )
    return Reading(
        "predictions", predictions, found.default, found.notes, format_,
        names=None if only_roles else systems.names, role_question=systems.question,
    )  # fmt: skip


def _two(of: Columns, options: ReaderOptions, notes: list[Any]) -> Systems:
    """The columns of the systems: as chosen, called u and v after a stem, or the only two that are left or whose names tell."""
    if (options.system_u, options.system_v) == (None, None):
        for stem in of.outputs.stems:
            u, v = (of.data.find((f"{stem}{role}",)) for role in "uv")
            if u in of.others and v in of.others:
                return Systems(str(u), str(v))
    return two_systems(of.others, options, of.data.source, notes)


def _table(
    of: Columns, gold_name: str, names: Sequence[str], options: ReaderOptions, notes: list[Any], *, way: str
) -> SystemsBesideGold:
    """Gold and the systems `names`; `way` is the value of on_missing that leaves out what not all have, drop of two systems.

    Raises
    ------
    InvalidTest
        A value is missing, and `on_missing` is error; or it is none that counts.
    """
    data = of.data
    values = _values(
        of.outputs, {gold_name: (data, gold_name)}, {name: (data, name) for name in names}, options, notes
    )
    gaps = {name: column for name, column in values.items() if None in column}
    if gaps and options.on_missing == "error":
        name = min(gaps, key=lambda name: gaps[name].index(None))
        row = gaps[name].index(None)
        why = f"there is no {name}; `on_missing={way}` {'leaves such items out' if way == 'drop' else 'compares the items that all systems have'}."
        raise data.refused(row, name, "missing", why, DROP if way == "drop" else ())
    needed_by = gaps if way == "drop" else {name: gaps[name] for name in gaps if name == gold_name}
    gone = {row for column in needed_by.values() for row, value in enumerate(column) if value is None}
    rows: Sequence[int] = [row for row in range(data.n) if row not in gone] if gone else range(data.n)
    if not rows:
        raise data.source.empty()

    def kept(column: list[Any]) -> list[Any]:
        return [column[row] for row in rows] if gone else column

    if gone:
        what = f"without gold or a {of.outputs.what}" if way == "drop" else "without gold"
        notes.append(f"{len(gone):,} items {what} were left out (on_missing).")
    gold = kept(values.pop(gold_name))
    systems = {name: kept(column) for name, column in values.items()}
    present: dict[str, Sequence[int]] = {name: range(len(rows)) for name in systems}
    for name in gaps.keys() & systems.keys():
        present[name] = [at for at, value in enumerate(systems[name]) if value is not None]
        systems[name] = [systems[name][at] for at in present[name]]
    more = {"groups": of.group, "events": of.event, "clusters": of.cluster, "ids": of.id}
    said = "".join(f"; {what} are the column {quoted(name)}" for what, name in more.items() if name)
    notes.append(
        f"{len(rows):,} items of {', '.join(map(quoted, names))}; gold is the column {quoted(gold_name)}{said}."
    )
    notes += NumberReader.of(options).note()
    ids, clusters, groups = (
        None if name is None else kept(data.keys(name)) for name in (of.id, of.cluster, of.group)
    )
    return SystemsBesideGold(
        of,
        gold_name,
        rows,
        gold,
        (
            systems
            if of.outputs is LABELS
            else {name: column_of(column, data.source.role) for name, column in systems.items()}
        ),
        present,
        ids,
        clusters,
        groups,
        None if of.event is None else kept(data.events(of.event)),
        _default(of, gold, gold_name),
        tuple(notes),
    )


def _values(
    outputs: Outputs,
    gold: Mapping[str, tuple[Frame, str]],
    systems: Mapping[str, tuple[Frame, str]],
    options: ReaderOptions,
    notes: list[Any],
) -> dict[str, list[Any]]:
    """The values of columns of gold and of systems, None where there is none; labels are read alike in all of them."""
    if outputs is LABELS:
        return labels_of({**gold, **systems})
    numbers = {role: data.numbers(name, options, notes) for role, (data, name) in systems.items()}
    return {**labels_of(gold, whole=False), **numbers}


def _default(of: Columns, gold: Collection[Any], gold_name: str) -> StatisticSpec:
    """What is asked of scores beside such gold; of labels their accuracy."""
    if of.outputs is LABELS:
        return ACCURACY
    if of.event is not None or is_one_of(gold_name, TIME):
        return StatisticSpec("concordance")
    return StatisticSpec("auc" if len(set(gold)) <= 2 else "kendall")


# A file each


def _files(
    gold: Frame | None,
    u: Frame,
    v: Frame,
    outputs: Outputs,
    options: ReaderOptions,
    format_: str,
    notes: list[Any],
) -> Reading:
    of_gold = (u, v) if gold is None else (gold,)
    golds = {
        f"gold{at}": _gold(data, options, outputs, alone=gold is None) for at, data in enumerate(of_gold)
    }
    systems = {
        role: _system(data, options, outputs, alone=gold is None) for role, data in (("u", u), ("v", v))
    }
    files = {**systems, **golds}
    ids = dict(zip(files, _ids(list(files.values()), notes), strict=True))
    columns = [{role: (of.data, of.name) for role, of in side.items()} for side in (golds, systems)]
    values = {
        role: ValuesById(files[role].data.source, ids[role], column, files[role].place)
        for role, column in _values(outputs, columns[0], columns[1], options, notes).items()
    }
    truth = values["gold0"] if gold is not None else _one_gold(values["gold0"], values["gold1"], options)
    keys = [ids[role] for role in golds]
    first, *_ = own = list(golds.values())
    predictions = predictions_by_id(
        truth, values["u"], values["v"], options.on_missing, notes,
        groups=_of_items(own, keys, "group", [of.group for of in own]),
        clusters=_of_items(own, keys, "cluster", [of.cluster for of in own]),
        events=_of_items(own, keys, "event", [of.event for of in own]), are_labels=outputs is LABELS,
    )  # fmt: skip
    notes += [
        Remark(role, f"the {outputs.what} of an item is its {quoted(of.name)}.")
        for role, of in systems.items()
    ]
    notes.append(f"{len(predictions.gold):,} items; gold is the column {quoted(first.name)}.")
    notes += NumberReader.of(options).note()
    default = _default(first, predictions.gold, first.name)
    return Reading("predictions", predictions, default, tuple(notes), format_)


def _gold(data: Frame, options: ReaderOptions, outputs: Outputs, *, alone: bool) -> Columns:
    """The file of gold, or of a system where gold is `alone` beside it."""
    of = Columns(data, options, outputs)
    only = of.others[0] if len(of.others) == 1 and not alone and of.gold is None else None
    why = "There is no file gold, and no column of gold, such as gold or y_true. " if alone else ""
    of.name = only or of.needed_gold(options, why)
    return of


def _system(data: Frame, options: ReaderOptions, outputs: Outputs, *, alone: bool) -> Columns:
    """The file of a system: its column as chosen, by its name, or the only one that is left; gold is beside it if `alone`.

    A submission calls its predictions as the solution calls its labels.
    """
    of = Columns(data, options, outputs, has_gold=alone)
    usual = [name for name in outputs.named if find(of.others, (name,)) is not None]
    name = data.chosen("score_column", options.score_column or options.metric, usual)
    if name is None and not alone:
        name = find(of.others, outputs.otherwise)
    left = [one for one in of.others if outputs is LABELS or not is_one_of(one, GOLD_SCORE)] or of.others
    if name is None and len(left) == 1:
        name = left[0]
    if name is None or name == of.gold:
        what = f"column of {outputs.what}s of {data.source.role}"
        raise choose(data.top, "score_column", what, of.others or list(data.names))
    of.name = name
    return of


def _ids(files: Sequence[Columns], notes: list[Any]) -> list[list[str]]:
    """The ids of each file; where none has any, the numbers of the lines, if nothing else says what an item is."""
    without = [of.data for of in files if of.id is None]
    if not without:
        return [of.data.keys(str(of.id)) for of in files]
    for data in without:
        if len(without) < len(files) or len(data.names) > 2:
            why = "Files beside gold are paired by id. "
            raise choose(data.top, "id_column", "column of ids", list(data.names), why)
    first = without[0]
    for data in without:
        if data.n != first.n:
            detail = f"{data.source.label} has {data.n:,} items and {first.source.label} has {first.n:,}, and there are no ids."
            raise InvalidTest.at(data.source.pointer, "length_mismatch", detail)
    notes.append(PAIRED_BY_ORDER)
    return [[str(row + 1) for row in range(first.n)]] * len(files)


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


def _of_items(
    golds: Sequence[Columns], ids: Sequence[Sequence[str]], what: str, names: Sequence[str | None]
) -> dict[str, Any] | None:
    """The cluster (or group, or event) of each item, which the files with gold must agree about."""
    if not any(name is not None for name in names):
        return None
    known: dict[str, Any] = {}
    for data, keys, name in zip([of.data for of in golds], ids, names, strict=True):
        if name is None:
            detail = f"{data.source.label}: there is no column of {what}s, and the other file has one."
            raise InvalidTest.at(data.source.pointer, "mixed_forms", detail)
        values: Sequence[Any] = data.events(name) if what == "event" else data.keys(name)
        for row, (key, value) in enumerate(zip(keys, values, strict=True)):
            if known.setdefault(key, value) != value:
                detail = f"the item {quoted(key)} has the {what} {quoted(value)} here and {quoted(known[key])} in u."
                raise data.refused(row, name, f"{what}_mismatch", detail)
    return known


# Values by id, of any file


@dataclass(frozen=True, slots=True)
class ValuesById:
    """One column by id; None is missing, `place` gives the pointer to the value of an index."""

    source: Source
    ids: list[str]
    values: list[Any]
    place: Callable[[int], str]

    def require_unique(self) -> None:
        """Refuse an id that repeats; raises InvalidTest."""
        seen: dict[str, int] = {}
        for index, key in enumerate(self.ids) if len(set(self.ids)) < len(self.ids) else ():
            if seen.setdefault(key, index) != index:
                detail = f"{self.source.label}: the id {quoted(key)} is there twice; ids must be unique."
                raise InvalidTest.at(self.place(index), "duplicate_id", detail)


def predictions_by_id(
    gold: ValuesById,
    u: ValuesById,
    v: ValuesById,
    on_missing: OnMissingOutcome,
    notes: list[Any],
    *,
    groups: Mapping[str, str] | None = None,
    clusters: Mapping[str, str] | None = None,
    events: Mapping[str, bool] | None = None,
    are_labels: bool = False,
) -> Predictions:
    """Gold and what both systems gave, in the order of gold; groups, clusters and which times are of events are known by id.

    Raises
    ------
    InvalidTest
        Ids repeat or do not match, or values are missing, without on_missing=drop. Bounds are of scores without gold.
    """
    if on_missing == BOUNDS:
        raise no_bounds()
    sides = {"gold": gold, "u": u, "v": v}
    known = {}
    for role, side in sides.items():
        side.require_unique()
        known[f"/{role}"] = known_values(
            side.source, side.ids, side.values, role, on_missing, notes, side.place
        )
    with relocated(lambda pointer: f"/files{pointer}"):
        aligned = align(known, clusters=clusters, on_missing="drop" if on_missing == "drop" else "error")
    ids = [str(key) for key in aligned.pairing.ids or ()]
    alone = {role: len(known[f"/{role}"]) - len(ids) for role in sides}
    notes += [LeftOut(role, n, "file") for role, n in alone.items() if n]
    pairing = replace(aligned.pairing, largest=max(len(side.ids) for side in (u, v)))
    gold_values, *systems = (values_in(known[name], aligned.order[name]) for name in known)
    columns: list[Any] = (
        systems if are_labels else [column_of(*each) for each in zip(systems, "uv", strict=True)]
    )
    return Predictions(
        gold_values,
        columns[0],
        columns[1],
        pairing,
        None if groups is None else coded([groups[key] for key in ids])[0],
        None if events is None else np.array([events[key] for key in ids], dtype=bool),
    )


USES = frozenset(
    (
        "clusters", "delimiter", "gold_column", "id_column", "metric", "on_missing", "score_column", "system_u", "system_v",
    )
)  # fmt: skip
OF_LABELS = Format(
    "labels", read, ROLES, USES,
    "a label per item: id,label in gold, u and v; id,gold,pred in u and v; or one table id,gold,u,v",
    kinds=("predictions",), sign=sign_of_labels,
)  # fmt: skip
OF_SCORES = Format(
    "ranking", read, ROLES, USES | {"decimal", "decimals", "event_column", "groups"},
    "label,score_u,score_v[,group,event,cluster,id], or a file each: scores of both systems beside gold",
    kinds=("predictions",), sign=sign_of_scores, several=False,
)  # fmt: skip
