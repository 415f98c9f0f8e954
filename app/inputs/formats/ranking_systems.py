"""Scores, or labels, of many systems beside gold in one file: `label,A,B,C`, and perhaps id, group, event and cluster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...statistics.paired import StatisticSpec
from ..frame import Frame, named
from ..quoting import quoted
from . import labels
from .beside_gold import scores
from .label_values import labels_of
from .many_systems import refuse_index, refuse_no_systems
from .number_text import NumberReader
from .ranking import Roles, default_statistic
from .reader import ReaderOptions, choose
from .source import Source

SYSTEMS = "systems"


@dataclass(frozen=True, slots=True)
class SystemsBesideGold:
    """The rows of a file that have gold.

    `gold`, `groups`, `events`, `clusters` and `ids` have one value for each of `rows`, the last four are None where there
    is no such column; `columns` have one for each of their `present`, positions in `rows`. `place` finds a value in the file.
    """

    data: Frame
    roles: Roles
    gold_name: str
    rows: list[int]
    gold: list[Any]
    columns: dict[str, Any]
    present: dict[str, list[int]]
    ids: list[str] | None
    clusters: list[str] | None
    groups: list[str] | None
    events: list[bool] | None
    default: StatisticSpec
    notes: tuple[str, ...]

    @property
    def complete(self) -> bool:
        """Whether every system has a score of every item."""
        return all(len(present) == len(self.rows) for present in self.present.values())

    def place(self, row: int, name: str | None) -> str:
        """The pointer to a value of an item; to the item's line without a name."""
        return self.data.place(self.rows[row], name or "")


def read(
    source: Source, options: ReaderOptions, wanted: Sequence[str] | None, format_: str
) -> SystemsBesideGold:
    """The scores of the systems, or in the format `labels` their labels; systems are the columns that are `wanted`, or all that have no other role.

    Where `options.on_missing` is error, items without gold or a score are refused; else those without gold are left out.

    Raises
    ------
    MalformedBody, InvalidTest
        As `frame.named` does; gold or the systems are not to be told, or a value is missing or none that counts.
    """
    notes: list[str] = []
    data = named(source, options, notes)
    are_labels = format_ == labels.FORMAT.name
    roles = Roles(data, options, ranked=not are_labels)
    gold_name = roles.needed_gold(data)
    names = _systems(data, roles, wanted)
    gold, values = (
        _labels(data, gold_name, names) if are_labels else _scores(data, gold_name, names, options, notes)
    )
    for name, column in {gold_name: gold, **values}.items():
        if None in column and options.on_missing == "error":
            why = f"there is no {name}; `on_missing=complete` compares the items that all systems have."
            raise data.refused(column.index(None), name, "missing", why)
    rows = [row for row, value in enumerate(gold) if value is not None]
    if not rows:
        raise source.empty()
    if len(rows) < data.n:
        notes.append(f"{data.n - len(rows):,} items without gold were left out (on_missing).")
    present = {
        name: [at for at, row in enumerate(rows) if column[row] is not None]
        for name, column in values.items()
    }
    columns = {
        name: _column([values[name][rows[at]] for at in present[name]], source.role, are_labels=are_labels)
        for name in names
    }
    if wanted is None and not are_labels:
        for name, column in columns.items():
            refuse_index(data, name, column)

    def kept(column: list[Any] | None) -> list[Any] | None:
        return None if column is None else [column[row] for row in rows]

    known = kept(gold) or []
    notes += [*_said(roles, gold_name, names, len(rows)), *NumberReader.of(options).note()]
    return SystemsBesideGold(
        data, roles, gold_name, rows, known, columns, present,
        kept(None if roles.id is None else data.keys(roles.id)),
        kept(None if roles.cluster is None else data.keys(roles.cluster)),
        kept(None if roles.group is None else data.keys(roles.group)),
        kept(None if roles.event is None else data.events(roles.event)),
        labels.ACCURACY if are_labels else default_statistic(known, gold_name, timed=roles.event is not None), tuple(notes),
    )  # fmt: skip


def _systems(data: Frame, roles: Roles, wanted: Sequence[str] | None) -> list[str]:
    """The columns of the systems; raises InvalidTest where not all that are left can be."""
    if wanted is None:
        refuse_no_systems(data, roles.others)
        return roles.others
    for name in wanted:
        if name not in roles.others:
            why = f"There is no column {quoted(name)} that could be a system. "
            raise choose(data.top, SYSTEMS, "columns of the systems", roles.others, why, values=())
    return list(wanted)


Values = dict[str, list[Any]]


def _scores(
    data: Frame, gold: str, names: Sequence[str], options: ReaderOptions, notes: list[str]
) -> tuple[list[Any], Values]:
    return data.labels(gold), {name: data.numbers(name, options, notes) for name in names}


def _labels(data: Frame, gold: str, names: Sequence[str]) -> tuple[list[Any], Values]:
    read_as = labels_of({name: (data, name) for name in (gold, *names)})
    return read_as[gold], {name: read_as[name] for name in names}


def _column(values: list[Any], role: str, *, are_labels: bool) -> Any:
    return values if are_labels else scores(values, role)


def _said(roles: Roles, gold_name: str, names: Sequence[str], n: int) -> list[str]:
    """Notes of which column is what, as nobody need have named them."""
    others = {"groups": roles.group, "events": roles.event, "clusters": roles.cluster, "ids": roles.id}
    said = "".join(f"; {what} are the column {quoted(name)}" for what, name in others.items() if name)
    listed = ", ".join(map(quoted, names))
    return [f"{n:,} items of {listed}; gold is the column {quoted(gold_name)}{said}."]
