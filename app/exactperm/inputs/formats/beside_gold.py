"""Read labels or scores of systems with gold: one table or JSON records of two or more systems, or one file per system, paired by id.

`labels` has a label per item: `id,label` in files gold, u and v; `{"id", "gold", "pred"}` in u and v; or one table `id,gold,u,v`. The
statistic is accuracy, unless `statistic` names another. `ranking` has labels, human scores or times as gold (y_true, target, human_score,
time in other tools) beside scores of the systems: `label,score_u,score_v`, or one file each; `group` and `event` are optional. The default
is AUC for two labels, concordance for times, and Kendall's tau for other numbers, unless `statistic` names another. (Names:
sklearn.metrics.roc_auc_score, lifelines.utils.concordance_index, R's survival::Surv.)

Both may have clusters. If no file has ids and each has one column beside gold, items are paired by their order.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...answers.reading import LeftOut, Remark
from ...errors import InvalidTest
from ...statistics.columns import slices_of
from ...statistics.paired import Predictions, StatisticSpec
from .. import names
from ..alignment import BOUNDS, GOLD, MENDED, Gapped, PairedColumns, RawColumn, in_files, system_pointer
from ..format import Format
from ..frame import Frame, named
from ..json_records import labels_in_cell
from ..names import find, is_one_of
from ..number_text import NumberReader
from ..options import OnMissingOutcome
from ..quoting import quoted
from ..reader import ReaderOptions, Reading, Source, choose, no_bounds
from ..roles import Key, Side, keys_of, note_index, others_of, refuse_unknown_key
from .labels import labels_of, refuse_untold, sign_of_labels, sign_of_scores
from .many_systems import SYSTEMS, ManySystems, refuse_index, refuse_no_systems
from .outputs_by_id import PAIRED_BY_ORDER, ValuesById, column_of, known_of, known_values
from .roles import Systems, needed, two_systems
from .tables import ids_of

ROLES = ("file", "u", "v", "gold")
ACCURACY = StatisticSpec("accuracy")


@dataclass(frozen=True, slots=True)
class Outputs:
    """The kind of outputs, and usual names of columns: gold, a system, a system if gold is in another file; `stems` precede u and v."""

    what: str
    gold: tuple[str, ...]
    named: tuple[str, ...]
    otherwise: tuple[str, ...]
    stems: tuple[str, ...]


LABELS = Outputs("label", names.GOLD_LABEL, names.PREDICTED, names.CLASS, names.STEMS)
SCORES = Outputs("score", names.GOLD_SCORE, names.RANKED, (), (*(f"{name}_" for name in names.RANKED), ""))
OUTPUTS = {"labels": LABELS, "ranking": SCORES}


class Columns:
    """The roles of the columns of a frame; `others` may be systems, and the `chosen` ones are. Only scores have groups and events."""

    def __init__(
        self, data: Frame, options: ReaderOptions, outputs: Outputs, *, has_gold: bool = True, chosen: Collection[str] = (),
        beside: Sequence[Frame] = (),
    ) -> None:  # fmt: skip
        def column(option: str, name: str | None, usual: Sequence[str]) -> str | None:
            """The column of this frame; None if only the frames `beside` have the column that an option names."""
            absent = name is not None and data.find((name,)) is None
            elsewhere = absent and any(frame.find((str(name),)) for frame in beside)
            return None if elsewhere else data.chosen(option, name, usual)

        self.data, self.outputs = data, outputs
        self.gold = data.chosen("gold_column", options.gold_column, outputs.gold) if has_gold else None
        self.cluster, self.group, self.event = column("clusters", options.clusters, names.CLUSTER), None, None
        self.slice = column("slices", options.slices, ())
        if outputs is SCORES:
            self.group = column("groups", options.groups, names.GROUP)
            self.event = column("event_column", options.event_column, names.EVENT)
        taken = {self.gold, self.cluster, self.group, self.event, self.slice}
        index = [name for name in data.names if is_one_of(name, names.INDEX) and name != data.index]
        usual = {*others_of(data, options, least=3), *index, *(data.find((name,)) for name in chosen)}
        self.others = [name for name in data.names if name in usual - taken]

    def side(self, systems: Collection[str]) -> Side:
        """The rows of the frame; columns of gold and systems are not keys."""
        return Side(
            self.data, frozenset((self.gold, self.cluster, self.group, self.event, self.slice, *systems))
        )

    def of_rows(self, what: str) -> list[Any] | None:
        """The cluster, group, event or slice of each row."""
        name = getattr(self, what)
        if what == "slice" and name is not None:
            return list(map(labels_in_cell, self.data.column(name)))
        return None if name is None else self.data.events(name) if what == "event" else self.data.keys(name)

    def needed_gold(self, options: ReaderOptions, why: str = "", code: str | None = None) -> str:
        """The column of gold; raises InvalidTest if there is none, or if several columns of a table could be."""
        listed = self.others or list(self.data.names)
        several = [name for name in self.data.names if is_one_of(name, names.SURELY_GOLD)]
        if options.gold_column is None and len(several) > 1 and (code or self.outputs is SCORES):
            why, listed, code = "More than one column may be gold. ", several, None
        elif self.gold is not None:
            return self.gold
        raise choose(self.data.top, "gold_column", "column of gold", listed, why, code=code)


@dataclass(frozen=True, slots=True)
class Column:
    """A column of gold or of a system, and the ids of its rows; None if rows are identified by their order."""

    of: Columns
    name: str
    ids: list[str] | None

    def place(self, row: int) -> str:
        """The pointer to a value."""
        return self.of.data.place(row, self.name)


def read(files: Mapping[str, Source], options: ReaderOptions, format_: str) -> Reading:
    """Read gold and the labels or scores of both systems."""
    notes: list[Any] = []
    outputs = OUTPUTS[format_]
    if "file" in files:
        data = named(files["file"], options, notes)
        chosen = {options.system_u, options.system_v} - {None}
        of, gold = _of_table(data, options, outputs, [str(name) for name in chosen])
        # The chosen columns, those named u and v after a stem, or the only two that remain or have names of systems.
        pairs = [[data.find((f"{stem}{role}",)) for role in "uv"] for stem in outputs.stems if not chosen]
        named_so = next((pair for pair in pairs if set(pair) <= set(of.others)), None)
        systems = (
            Systems(str(named_so[0]), str(named_so[1]))
            if named_so
            else two_systems(of.others, options, data.source, notes)
        )
        ids = _ids_of_table(of, (systems.u, systems.v), options, notes)
        golds = [Column(of, gold, ids)]
        sides = {"u": Column(of, systems.u, ids), "v": Column(of, systems.v, ids)}
        u, v = systems.u.lower(), systems.v.lower()
        shown = None if u.endswith("u") and v == f"{u[:-1]}v" else systems.names
        reading = _reading(golds, sides, options, format_, notes)
        return replace(reading, names=shown, role_question=systems.question)
    u_v = [named(needed(files, role, format_), options, notes) for role in "uv"]
    gold_file = named(files["gold"], options, notes) if "gold" in files else None
    return _files(gold_file, u_v, options, format_, notes)


# One file


def _of_table(
    data: Frame, options: ReaderOptions, outputs: Outputs, chosen: Sequence[str]
) -> tuple[Columns, str]:
    of = Columns(data, options, outputs, chosen=chosen)
    why = "A column of labels, human scores or times is needed, such as label, y_true or time. "
    return of, of.needed_gold(options, why, "missing_column")


def _ids_of_table(
    of: Columns, systems: Sequence[str], options: ReaderOptions, notes: list[Any]
) -> list[str] | None:
    (key,) = keys_of([of.side(systems)], options, notes)
    note_index(of.data, key, notes)
    return _ids(of.data, key)


def _ids(data: Frame, key: Key, at: str = "") -> list[str] | None:
    """The ids of all rows; raises InvalidTest at the column `at` if one is missing or repeats."""
    if not key.columns:
        return None
    name = key.columns[0]
    ids = ids_of(data, key, np.arange(data.n))
    seen: dict[str, int] = {}
    for row, one in enumerate(ids) if len(set(ids)) < len(ids) or "" in ids else ():
        if not one:
            raise data.refused(row, name, "missing", f"there is no {name[:40]}.")
        if seen.setdefault(one, row) != row:
            detail = f"the id {quoted(one)} is there twice; ids must be unique."
            raise data.refused(row, at or name, "duplicate_id", detail)
    return ids


def read_systems(
    source: Source, options: ReaderOptions, wanted: Sequence[str] | None, format_: str, *, untold: bool
) -> ManySystems:
    """Read the scores or labels of many systems: the `wanted` columns, or all that have no other role.

    If it is `untold` whether numbers are scores, refuse numbers that may be labels. Raises MalformedBody, InvalidTest.
    """
    notes: list[Any] = []
    data = named(source, options, notes)
    outputs = OUTPUTS[format_]
    of, gold_name = _of_table(data, options, outputs, wanted or ())
    if wanted is None:
        refuse_no_systems(data, of.others)
    for name in wanted or ():
        if name not in of.others:
            why = f"There is no column {quoted(name)} that could be a system. "
            raise choose(data.top, SYSTEMS, "columns of the systems", of.others, why, values=())
    listed = list(wanted or of.others)
    ids = _ids_of_table(of, listed, options, notes)
    columns = {name: Column(of, name, ids) for name in listed}
    values = _values(outputs, {GOLD: Column(of, gold_name, ids)}, columns, options, notes)
    for name, column in values.items() if options.on_missing == "error" else ():
        if None in column:
            called = gold_name if name == GOLD else name
            why = f"there is no {called}; `on_missing=complete` compares the items that all systems have."
            raise data.refused(column.index(None), called, "missing_value", why, MENDED)
    gold = values.pop(GOLD)
    known = [value for value in gold if value is not None]
    if not known:
        raise source.empty()
    if len(known) < data.n:
        notes.append(f"{data.n - len(known):,} items without gold were left out (on_missing).")
    systems: dict[str, Any] = {
        name: _present_column(outputs, column, source.role) for name, column in values.items()
    }
    for name, column in systems.items() if wanted is None and outputs is SCORES else ():
        if not isinstance(column, Gapped):
            refuse_index(data, name, column)
    default = _default(of, known, gold_name)
    if untold:
        each = {name: getattr(column, "values", column) for name, column in systems.items()}
        refuse_untold(default, known, each)
    more = {"groups": of.group, "events": of.event, "clusters": of.cluster}
    more_columns = "".join(f"; {what} are the column {quoted(name)}" for what, name in more.items() if name)
    notes.append(
        f"{len(known):,} items of {', '.join(map(quoted, listed))}; gold is the column {quoted(gold_name)}{more_columns}."
    )
    notes += NumberReader.of(options).note()
    of_items: dict[str, Any] = {
        "ids": ids,
        **{name: of.of_rows(name.removesuffix("s")) for name in ("clusters", "groups", "event")},
    }
    at = {GOLD: gold_name, "/ids": None, "/clusters": of.cluster, "/groups": of.group, "/event": of.event}
    at |= {system_pointer(name): name for name in systems}

    def place(column: str, row: int | None, _: Sequence[str]) -> str:
        if row is None:
            return data.top if column in at else column
        return data.place(row, at.get(column) or "")

    ordered = {name: systems[name] for name in sorted(systems)}
    board = PairedColumns(ordered, place, _present_column(LABELS, gold, ""), **of_items)
    return ManySystems({None: board}, tuple(notes), labels=frozenset(known), default=default)


def _present_column(outputs: Outputs, values: list[Any], role: str) -> RawColumn:
    """A column, with the rows that have a value if some have none."""
    present, at = known_of(values)
    column: Any = present if outputs is LABELS else column_of(present, role)
    return column if at is None else Gapped(column, at, len(values))


def _values(
    outputs: Outputs, golds: Mapping[str, Column], systems: Mapping[str, Column], options: ReaderOptions, notes: list[Any]
) -> dict[str, list[Any]]:  # fmt: skip
    """The values of columns of gold and systems, None if missing; labels are read in one way in all of them."""
    if outputs is LABELS:
        return labels_of(
            {role: (column.of.data, column.name) for role, column in {**golds, **systems}.items()}
        )
    numbers = {role: column.of.data.numbers(column.name, options, notes) for role, column in systems.items()}
    gold = labels_of({role: (column.of.data, column.name) for role, column in golds.items()}, whole=False)
    return {**gold, **numbers}


def _default(of: Columns, gold: Collection[Any], gold_name: str) -> StatisticSpec:
    """The default statistic: accuracy of labels; for scores it follows from gold."""
    if of.outputs is LABELS:
        return ACCURACY
    if of.event is not None or is_one_of(gold_name, names.TIME):
        return StatisticSpec("concordance")
    return StatisticSpec("auc" if len(set(gold)) <= 2 else "kendall")


# A file each


def _files(
    gold: Frame | None, u_v: Sequence[Frame], options: ReaderOptions, format_: str, notes: list[Any]
) -> Reading:
    alone, outputs = gold is None, OUTPUTS[format_]
    frames = [*u_v, *([] if gold is None else [gold])]
    refuse_unknown_key(frames, options)
    of = [Columns(data, options, outputs, has_gold=alone or data is gold, beside=frames) for data in frames]
    read_of = [_system(table, options, alone=alone) for table in of[:2]]
    read_of += [_gold(table, options, alone=False) for table in of[2:]]
    golds = [_gold(table, options, alone=True) for table in of] if alone else []
    keys = keys_of([table.side((name,)) for table, name in zip(of, read_of, strict=True)], options, notes)
    for data, key in zip(frames, keys, strict=True):
        note_index(data, key, notes)
        if not key.columns and any(other.columns for other in keys):
            why = "Files beside gold are paired by id. "
            raise choose(data.top, "id_column", "column of ids", list(data.names), why)
        if not key.columns and data.n != frames[0].n:
            detail = f"{data.source.label} has {data.n:,} items and {frames[0].source.label} has {frames[0].n:,}, and there are no ids."
            raise InvalidTest.at(data.source.pointer, "length_mismatch", detail)
    if not keys[0].columns:
        notes.append(PAIRED_BY_ORDER)
    columns = [
        Column(table, name, _ids(table.data, key, name))
        for table, name, key in zip(of, read_of, keys, strict=True)
    ]
    beside = [replace(column, name=name) for column, name in zip(columns, golds, strict=False)] or columns[2:]
    return _reading(beside, {"u": columns[0], "v": columns[1]}, options, format_, notes)


def _gold(of: Columns, options: ReaderOptions, *, alone: bool) -> str:
    """The column of gold in its file, or in the file of a system (`alone`: there is no file gold)."""
    if of.gold is None and len(of.others) == 1 and not alone:
        return of.others[0]
    why = "There is no file gold, and no column of gold, such as gold or y_true. " if alone else ""
    return of.needed_gold(options, why)


def _system(of: Columns, options: ReaderOptions, *, alone: bool) -> str:
    """The column of a system: the chosen one, by its name, or the only one left; unless `alone` it may have a name of gold."""
    data, outputs = of.data, of.outputs
    usual = [name for name in outputs.named if find(of.others, (name,)) is not None]
    name = data.chosen("score_column", options.score_column or options.metric, usual)
    if name is None and not alone:
        name = data.find(outputs.otherwise)
    left = [one for one in of.others if outputs is LABELS or not is_one_of(one, names.GOLD_SCORE)]
    if name is None and len(left or of.others) == 1:
        name = (left or of.others)[0]
    if name is None or name == of.gold:
        what = f"column of {outputs.what}s of {data.source.role}"
        raise choose(data.top, "score_column", what, of.others or list(data.names))
    return name


# Both ways


def _reading(
    golds: Sequence[Column], systems: Mapping[str, Column], options: ReaderOptions, format_: str, notes: list[Any]
) -> Reading:  # fmt: skip
    outputs = OUTPUTS[format_]
    of_gold = {f"gold{at}": column for at, column in enumerate(golds)}
    read_as = _values(outputs, of_gold, systems, options, notes)
    values = {
        role: ValuesById(column.of.data.source, column.ids, read_as[role], column.place)
        for role, column in {**of_gold, **systems}.items()
    }
    truth = values["gold0"]
    if len(golds) > 1:
        truth = _merged_gold(golds, truth, values["gold1"], dropped=options.on_missing != "error")
    predictions = predictions_by_id(
        truth, values["u"], values["v"], options.on_missing, notes, groups=_of_items(golds, "group"),
        clusters=_of_items(golds, "cluster"), events=_of_items(golds, "event"), slices=_of_items(golds, "slice"), are_labels=outputs is LABELS,
    )  # fmt: skip
    for role, scored in systems.items() if systems["u"].of is not systems["v"].of else ():
        notes.append(Remark(role, f"the {outputs.what} of an item is its {quoted(scored.name)}."))
    notes.append(f"{len(predictions.gold):,} items; gold is the column {quoted(golds[0].name)}.")
    notes += NumberReader.of(options).note()
    default = _default(golds[0].of, predictions.gold, golds[0].name)
    return Reading("predictions", predictions, default, tuple(notes), format_)


def _merged_gold(
    golds: Sequence[Column], first: ValuesById, second: ValuesById, *, dropped: bool
) -> ValuesById:
    """Merge gold of both files, which must agree; of all items if missing ones are `dropped`."""
    known = _agreed(golds, "gold", [first.values, second.values])
    if not dropped or first.ids is None:
        return first
    return ValuesById(
        first.source, list(map(str, known)), list(known.values()), lambda _: first.source.pointer
    )


def _of_items(golds: Sequence[Column], what: str) -> Any:
    """The cluster, group, event or slice of each item, by id or by order; files with gold must agree."""
    columns = [gold.of.of_rows(what) for gold in golds]
    if all(values is None for values in columns):
        return None
    for gold, values in zip(golds, columns, strict=True):
        if values is None:
            detail = f"there is no column of {what}s, and the other file has one."
            raise gold.of.data.source.refused("", "mixed_forms", detail)
    known = _agreed(golds, what, columns)
    return known if golds[0].ids is not None else list(known.values())


def _agreed(golds: Sequence[Column], what: str, columns: Sequence[Any]) -> dict[Any, Any]:
    """The value of each item, by id or by its number; raises InvalidTest if files disagree."""
    known: dict[Any, Any] = {}
    for gold, values in zip(golds, columns, strict=True):
        data = gold.of.data
        for row, (key, value) in enumerate(zip(gold.ids or range(data.n), values, strict=True)):
            if known.setdefault(key, value) != value:
                item = f"the item {quoted(str(key))}" if gold.ids else "the item"
                detail = (
                    f"{item} has the {what} {quoted(str(value))} here and {quoted(str(known[key]))} in u."
                )
                raise data.refused(
                    row, gold.name if what == "gold" else getattr(gold.of, what), f"{what}_mismatch", detail
                )
    return known


def _raw_column(outputs: ValuesById, role: str, on_missing: OnMissingOutcome, notes: list[Any]) -> RawColumn:
    """The items that have a value; raises InvalidTest at others, unless they are dropped."""
    known, at = known_values(outputs, role, on_missing, notes), known_of(outputs.values)[1]
    if outputs.ids is not None:
        return known
    return known.values if at is None else Gapped(known.values, at, len(outputs.values))


def predictions_by_id(
    gold: ValuesById, u: ValuesById, v: ValuesById, on_missing: OnMissingOutcome, notes: list[Any], *, groups: Any = None,
    clusters: Any = None, events: Any = None, slices: Any = None, are_labels: bool = False,
) -> Predictions:  # fmt: skip
    """Gold and the outputs of both systems, in the order of gold; groups, clusters and events are by id or by order. Raises InvalidTest."""
    if on_missing == BOUNDS:
        raise no_bounds()
    truth, *systems = (
        _raw_column(side, role, on_missing, notes) for role, side in (("gold", gold), ("u", u), ("v", v))
    )
    sides = dict(zip("uv", systems, strict=True))
    paired = PairedColumns(sides, in_files, truth, clusters=clusters, of_test=True)
    values, aligned, _ = paired.taken("drop" if on_missing == "drop" else "error")
    columns: list[Any] = []
    for role, column in {"gold": truth, **sides}.items():
        n = len(column.values if isinstance(column, Gapped) else column)
        if n > aligned.n:
            notes.append(LeftOut(role, n - aligned.n, "file"))
        of_role = list(values[f"/{role}"])
        columns.append(of_role if are_labels or role == "gold" else column_of(of_role, role))
    pairing = aligned.pairing
    if pairing.matched is not None:
        pairing = replace(pairing, largest=max(len(side.values) for side in (u, v)))
    if slices is not None:
        pairing = replace(pairing, slices=slices_of(aligned.items.of(slices, "slices")[0]))
    event = None if events is None else np.array(aligned.items.of(events, "event")[0], dtype=bool)
    return Predictions(
        columns[0], columns[1], columns[2], pairing, aligned.items.codes(groups, "groups")[0], event
    )


USES = frozenset((
    "clusters", "delimiter", "gold_column", "id_column", "metric", "on_missing", "score_column", "slices", "system_u", "system_v",
))  # fmt: skip
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
