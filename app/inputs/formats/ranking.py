"""What items are, beside the scores that two systems gave them: `label,score_u,score_v`, or a file each.

One file has gold (`label`, or what other tools call it: y_true, target, human_score, time) and both systems' scores:
`score_u` and `score_v`, `y_score_u` and `y_score_v`, or the only two other columns. Three files, gold, u and v, are paired by id.
Either way there may be `group`, `event` and `cluster`. Two labels make an AUC, times a concordance, other numbers
Kendall's tau, unless `statistic` says what. (Names: sklearn.metrics.roc_auc_score, lifelines.utils.concordance_index,
R's survival::Surv.)
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from ...errors import relocated
from ...statistics.paired import Pairing, Predictions, StatisticSpec
from ..alignment import DROP, coded, require_unique
from ..frame import Frame, named
from ..names import CLUSTER, EVENT, GOLD_SCORE, GROUP, ID, RANKED, SURELY_GOLD, TIME, find, folded, is_one_of
from ..quoting import quoted
from .beside_gold import OfItems, ValuesById, predictions_by_id, scores
from .format import FirstLook, Format, Sign
from .number_text import NumberReader
from .reader import ReaderOptions, Reading, choose
from .roles import Systems, needed, two_systems
from .source import Source

ROLES = ("file", "u", "v", "gold")
USES = frozenset(
    (
        "clusters", "decimal", "decimals", "delimiter", "event_column", "gold_column", "groups", "id_column", "metric", "on_missing",
        "score_column", "system_u", "system_v",
    )
)  # fmt: skip


def read(files: Mapping[str, Source], options: ReaderOptions, format_: str) -> Reading:
    """Scores of both systems with the items' labels, scores or times."""
    notes: list[str] = []
    if "file" in files and "gold" not in files:
        return _one_file(named(files["file"], options, notes), options, format_, notes)
    if "gold" not in files and {"u", "v"} <= files.keys():
        u, v = (named(files[role], options, notes) for role in ("u", "v"))
        _require_one_gold(u, v, options)
        return _three_files(u, u, v, options, format_, notes)
    parts = [named(needed(files, role, format_), options, notes) for role in ("gold", "u", "v")]
    return _three_files(parts[0], parts[1], parts[2], options, format_, notes)


class Roles:
    """Which columns of a file are what, but for the scores, which are `others`; only what is `ranked` has groups and events."""

    def __init__(self, data: Frame, options: ReaderOptions, *, ranked: bool = True) -> None:
        self.gold = _gold(data, options)
        self.event = data.chosen("event_column", options.event_column, EVENT) if ranked else None
        self.group = data.chosen("groups", options.groups, GROUP) if ranked else None
        self.cluster = data.chosen("clusters", options.clusters, CLUSTER)
        self.id = data.chosen("id_column", options.id_column, ID)
        taken = {self.gold, self.event, self.group, self.cluster, self.id}
        self.others = [name for name in data.names if name not in taken]

    def needed_gold(self, data: Frame) -> str:
        """The column of gold; raises InvalidTest."""
        if self.gold is None:
            why = "A column of labels, human scores or times is needed, such as label, y_true or time. "
            raise choose(
                data.top, "gold_column", "column of gold", list(data.names), why, code="missing_column"
            )
        return self.gold


def _gold(data: Frame, options: ReaderOptions) -> str | None:
    """The column of gold, if there is one; raises InvalidTest where several say that they are it."""
    several = [name for name in data.names if is_one_of(name, SURELY_GOLD)]
    if options.gold_column is None and len(several) > 1:
        raise choose(data.top, "gold_column", "column of gold", several, "More than one column may be gold. ")
    return data.chosen("gold_column", options.gold_column, GOLD_SCORE)


def _one_file(data: Frame, options: ReaderOptions, format_: str, notes: list[str]) -> Reading:
    roles = Roles(data, options)
    gold_name = roles.needed_gold(data)
    systems = _systems(data, roles.others, options, notes)
    gold = data.labels(gold_name)
    columns = {
        "gold": gold,
        **{role: data.numbers(getattr(systems, role), options, notes) for role in ("u", "v")},
    }
    names = {"gold": gold_name, "u": systems.u, "v": systems.v}
    lacking = [column for column in columns.values() if None in column]
    gaps = sorted({row for column in lacking for row, value in enumerate(column) if value is None})
    if gaps and options.on_missing == "error":
        role = next(role for role, column in columns.items() if column[gaps[0]] is None)
        raise data.refused(
            gaps[0],
            names[role],
            "missing",
            f"there is no {names[role]}; `on_missing=drop` leaves such items out.",
            DROP,
        )
    if gaps:
        notes.append(f"{len(gaps):,} items without gold or a score were left out (on_missing: drop).")
    without = set(gaps)
    keep = [row for row in range(data.n) if row not in without]
    if not keep:
        raise data.source.empty()

    def kept(values: list[Any] | None) -> list[Any] | None:
        return None if values is None else [values[row] for row in keep] if gaps else values

    ids = kept(None if roles.id is None else data.keys(roles.id))
    if ids is not None:
        id_name = str(roles.id)
        with relocated(lambda pointer: data.place(keep[int(pointer.rpartition("/")[2])], id_name)):
            require_unique(ids)
    codes, n_clusters = coded(kept(None if roles.cluster is None else data.keys(roles.cluster)))
    groups = kept(None if roles.group is None else data.keys(roles.group))
    events = kept(None if roles.event is None else data.events(roles.event))
    notes.append(f"{len(keep):,} items with scores of both systems; gold is the column {gold_name[:80]}.")
    notes += NumberReader.of(options).note()
    predictions = Predictions(
        kept(gold) or [],
        scores(kept(columns["u"]) or [], "file"),
        scores(kept(columns["v"]) or [], "file"),
        Pairing(clusters=codes, n_clusters=n_clusters, by_id=ids is not None, ids=ids),
        coded(groups)[0],
        None if events is None else np.array(events, dtype=bool),
    )
    return Reading(
        "predictions", predictions, _default(predictions, gold_name), tuple(notes), format_,
        names=_shown(systems), role_question=systems.question,
    )  # fmt: skip


def _systems(data: Frame, others: list[str], options: ReaderOptions, notes: list[str]) -> Systems:
    """The columns of scores: as chosen, score_u and score_v, or the only two that are left or whose names tell."""
    if (options.system_u, options.system_v) == (None, None):
        for stem in (*RANKED, ""):
            pair = [data.find((f"{stem}_{role}".lstrip("_"),)) for role in "uv"]
            if pair[0] in others and pair[1] in others and None not in pair:
                return Systems(str(pair[0]), str(pair[1]))
    return two_systems(others, options, data.source, notes)


def _shown(systems: Systems) -> tuple[str, str] | None:
    """The systems' names; none where they only say which is u and which v."""
    return (
        None
        if systems.u.lower().endswith("u") and systems.v.lower() == systems.u.lower()[:-1] + "v"
        else systems.names
    )


def _three_files(
    gold: Frame, u: Frame, v: Frame, options: ReaderOptions, format_: str, notes: list[str]
) -> Reading:
    roles = Roles(gold, options)
    gold_name = roles.gold or (roles.others[0] if len(roles.others) == 1 else roles.needed_gold(gold))
    ids = gold.keys(_id(gold, options))
    values = ValuesById(gold.source, ids, gold.labels(gold_name), lambda row: gold.place(row, gold_name))

    def by_id(name: str | None) -> dict[str, str] | None:
        return None if name is None else dict(zip(ids, gold.keys(name), strict=True))

    events = None if roles.event is None else dict(zip(ids, gold.events(roles.event), strict=True))
    of_items = OfItems(by_id(roles.group), by_id(roles.cluster), events)
    sides = [_side(data, options, notes) for data in (u, v)]
    predictions = predictions_by_id(values, sides[0], sides[1], of_items, options.on_missing, notes)
    notes.append(f"{len(predictions.gold):,} items paired by id; gold is the column {gold_name[:80]}.")
    notes += NumberReader.of(options).note()
    return Reading("predictions", predictions, _default(predictions, gold_name), tuple(notes), format_)


def _require_one_gold(u: Frame, v: Frame, options: ReaderOptions) -> None:
    """Refuse files whose gold differs; raises InvalidTest at the value of v."""
    names = [Roles(data, options).needed_gold(data) for data in (u, v)]
    known = dict(zip(u.keys(_id(u, options)), u.labels(names[0]), strict=True))
    rows = zip(v.keys(_id(v, options)), v.labels(names[1]), strict=True)
    for row, (key, label) in enumerate(rows):
        if known.get(key, label) != label:
            detail = f"gold of the item {quoted(key)} is {quoted(label)} here and {quoted(known[key])} in u."
            raise v.refused(row, names[1], "gold_mismatch", detail)


def _side(data: Frame, options: ReaderOptions, notes: list[str]) -> ValuesById:
    key = _id(data, options)
    chosen = options.score_column or options.metric
    name = data.chosen("score_column", chosen, RANKED)
    if name is None:
        others = [one for one in data.names if one != key and not is_one_of(one, (*GROUP, *EVENT, *CLUSTER))]
        # A submission calls its predictions as the solution calls its labels.
        left = [one for one in others if not is_one_of(one, GOLD_SCORE)] or others
        if len(left) != 1:
            raise choose(data.top, "score_column", "column of scores", list(data.names))
        name = left[0]
    notes.append(f"{data.source.role}: the score of an item is its {name[:80]}.")
    return ValuesById(
        data.source,
        data.keys(key),
        list(data.numbers(name, options, notes)),
        lambda row: data.place(row, name),
    )


def _id(data: Frame, options: ReaderOptions) -> str:
    name = data.chosen("id_column", options.id_column, ID)
    if name is None:
        why = "Files of gold, u and v are paired by id. "
        raise choose(data.top, "id_column", "column of ids", list(data.names), why)
    return name


def _default(data: Predictions, gold_name: str) -> StatisticSpec:
    return default_statistic(data.gold, gold_name, timed=data.event is not None)


def default_statistic(gold: Collection[Any], gold_name: str, *, timed: bool) -> StatisticSpec:
    """What is asked of scores beside such gold; `timed` where there are events."""
    if timed or is_one_of(gold_name, TIME):
        return StatisticSpec("concordance")
    return StatisticSpec("auc" if len(set(gold)) <= 2 else "kendall")


def _sign(look: FirstLook) -> Sign:
    columns = look.columns if look.record is None else look.record.keys()
    if {"u", "v", "gold"} <= look.roles:
        mine = find(columns, ID) is not None and find(columns, RANKED) is not None
        return Sign.HEADER if mine else Sign.NONE
    names = {folded(name) for name in columns}
    both = any({folded(f"{stem}_u"), folded(f"{stem}_v")} <= names for stem in RANKED)
    timed = find(columns, TIME) is not None and find(columns, EVENT) is not None
    mine = (both and find(columns, SURELY_GOLD) is not None) or timed
    return Sign.HEADER if "file" in look.roles and mine else Sign.NONE


FORMAT = Format(
    "ranking", read, ROLES, USES,
    "label,score_u,score_v[,group,event,cluster,id], or a file each: scores of both systems beside gold",
    kinds=("predictions",), sign=_sign, several=False,
)  # fmt: skip
