"""Files of tools whose format is a shape: what marks it, and how it becomes rows of items with named numbers.

A `Shape` is a row of a table (`tool_shapes`): a tool is added by a function from a file to `Rows`. What all share is here:
which number is compared, which systems, what both files must agree on, how values of one item join. Another package adds a shape
by an entry point of the group `exactperm.formats`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import entry_points
from typing import Any, NamedTuple

from ...errors import InvalidTest
from ...inference.reading import Remark
from ..quoting import escaped, quoted
from .format import FirstLook, Format, Sign
from .json_records import value_of
from .metrics import metric_of
from .number_text import Number, NumberReader
from .outputs_by_id import SystemOutputs, Value, scores_reading
from .reader import Kind, ReaderOptions, Reading, RoleQuestion, choose, only_or_chosen
from .roles import both, two_systems
from .source import Source, parsed_once

ENTRY_POINTS = "exactperm.formats"
SCORES: tuple[Kind, ...] = ("scores",)
USES = frozenset(("metric", "on_missing", "missing_range", "decimals"))
OF_ONE_FILE = USES | {"system_u", "system_v"}


class Row(NamedTuple):
    """An item of one system: its numbers by metric, None where one is missing, a list where it has several.

    `path` is the row's pointer below the file's. A number stands at `path/below/metric`; at `path`, where `below` is None.
    `runs` says of how many runs each number is, or that of a metric. `same` is what an item must have in both files, with its
    pointer: a hash, a question. `places` are those of single metrics.
    """

    key: str
    values: Mapping[str, Any]
    path: str
    below: str | None = ""
    system: str = ""
    cluster: str | None = None
    runs: int | Mapping[str, int] = 1
    same: Mapping[str, tuple[Any, str]] = {}
    places: Mapping[str, str] = {}

    def place(self, metric: str) -> str:
        """Where the number of a metric stands, or the row where it has none."""
        if metric in self.places:
            return self.places[metric]
        if self.below is None or self.values.get(metric) is None:
            return self.path
        return "/".join(filter(None, (self.path, self.below, escaped(metric))))


@dataclass(slots=True)
class Rows:
    """The rows of a file, and what it says of itself.

    `metric` is taken where none is chosen, `metrics` are those to choose from, if not all that have numbers. `agree` holds
    what must be the same in both files, with its pointer. `repeats` says that an item has several rows, whose numbers are
    averaged. `absent` is the number of an item that only the other file names.
    """

    source: Source
    rows: list[Row]
    name: str | None = None
    metric: str | None = None
    metrics: Sequence[str] | None = None
    measured: str | None = None
    higher_is_better: bool | None = None
    agree: Mapping[str, tuple[Any, str]] = field(default_factory=dict)
    by_order: bool = False
    repeats: bool = False
    clustered: bool = False
    absent: Number | None = None
    notes: tuple[str, ...] = ()

    @property
    def names(self) -> list[str]:
        """The metrics to choose from."""
        if self.metrics is not None:
            return list(self.metrics)
        return list(
            dict.fromkeys(
                name for row in self.rows for name, value in row.values.items()
                if isinstance(value, int | float | list)
            )
        )  # fmt: skip

    def systems(self) -> dict[str, list[Row]]:
        """The rows of each system."""
        found: dict[str, list[Row]] = {}
        for row in self.rows:
            found.setdefault(row.system, []).append(row)
        return found


RowsOf = Callable[[Source, ReaderOptions, list[str], Mapping[str, Source]], Rows]


@dataclass(frozen=True, slots=True)
class Shape:
    """What files of one tool are: `marks` sees whether a file is one, `rows` reads it; the rest is as in `Format`."""

    name: str
    summary: str
    marks: Callable[[FirstLook], bool]
    rows: RowsOf
    roles: tuple[str, ...] = ("u", "v")
    uses: frozenset[str] = USES
    aliases: tuple[str, ...] = ()

    @property
    def format(self) -> Format:
        """The format of these files."""
        return Format(
            self.name, partial(read, self), self.roles, self.uses, self.summary, kinds=SCORES, aliases=self.aliases,
            sign=lambda look: Sign.MARK if self.marks(look) else Sign.NONE,
        )  # fmt: skip


def installed() -> tuple[Shape, ...]:
    """The shapes of other packages, in the order of their names; raises TypeError where one gives something else."""
    found = []
    for point in sorted(entry_points(group=ENTRY_POINTS), key=lambda each: each.name):
        shape = point.load()
        if not isinstance(shape, Shape):
            raise TypeError(f"The entry point {point.name} of {ENTRY_POINTS} ({point.value}) is no Shape.")
        found.append(shape)
    return tuple(found)


def read(shape: Shape, files: Mapping[str, Source], options: ReaderOptions, format_: str) -> Reading:
    """Scores of two systems, each in its file, or both in one.

    Raises
    ------
    MalformedBody, InvalidTest
        A file is not as the tool writes it, the files do not belong together, or a choice must be made.
    """
    notes: list[str] = []
    first, second = both(files, format_)
    rows = parsed_once(shape.rows)
    u = rows(first, options, notes, files)
    v = u if first is second else rows(second, options, notes, files)
    _require_agreement(u, v)
    metric = metric_chosen(u, options)
    if metric not in v.names and all(metric not in row.values for row in v.rows):
        why = f"{second.label} has no metric {quoted(metric)}. "
        raise choose(second.pointer, "metric", "metric", v.names, why, code="no_scores")
    sides, names, question = _two(u, v, options, notes)
    reader = NumberReader.of(options)
    systems = [
        outputs_of(table, rows, metric, reader, notes) for table, rows in zip((u, v), sides, strict=True)
    ]
    _count_absent(u, v, systems, notes)
    notes.append(f"The metric is {escaped(metric)}.")
    return scores_reading(
        systems[0], systems[1], options, notes, format_, clustered=u.clustered or v.clustered, check=_checker(*sides),
        more_notes=tuple(dict.fromkeys((*u.notes, *v.notes))), names=names, metric=u.measured or metric_of(metric),
        higher_is_better=u.higher_is_better, role_question=question,
    )  # fmt: skip


def metric_chosen(table: Rows, options: ReaderOptions) -> str:
    """The metric that was chosen, or the only one; raises InvalidTest that lists them."""
    names = table.names
    if options.metric is not None and any(options.metric in row.values for row in table.rows):
        return options.metric
    if options.metric is None and table.metric is not None:
        return table.metric
    if not names:
        detail = f"{table.source.label}: no item has a number."
        raise InvalidTest.at(table.source.pointer, "no_scores", detail)
    return only_or_chosen(names, options.metric, table.source.pointer, "metric", "metric")


def outputs_of(
    table: Rows, rows: Sequence[Row], metric: str, reader: NumberReader, notes: list[str]
) -> SystemOutputs:
    """The numbers of one system by item; those of several rows of an item together."""
    outputs = SystemOutputs(table.source, by_order=table.by_order)
    grouped: dict[str, list[Row]] = {}
    several = 0
    for row in rows:
        grouped.setdefault(row.key, []).append(row)
    for key, every in grouped.items():
        own = [row for row in every if metric in row.values] or every[:1]
        for again in own if not table.repeats else own[:1]:
            values = [_value(table, row, metric, reader) for row in (own if table.repeats else (again,))]
            numbers = [
                number for value in values if value is not None
                for number in (value if isinstance(value, tuple) else (value,))
            ]  # fmt: skip
            whole = (
                None if None in values or not numbers else numbers[0] if len(numbers) == 1 else tuple(numbers)
            )
            outputs.add(key, whole, again.place(metric) if again is own[0] else again.path, again.cluster)
        runs = sum(row.runs if isinstance(row.runs, int) else row.runs.get(metric, 1) for row in own)
        if runs > max(1, len(numbers)):
            outputs.runs[key] = runs
        several += len(own) > 1
    if several:
        notes.append(f"{table.source.role}: {several:,} items have several scores, which are averaged.")
    return outputs


def board(
    shape: Shape, source: Source, options: ReaderOptions, notes: list[str]
) -> tuple[dict[str, SystemOutputs], str | None, bool | None]:
    """The outputs of every system in one file, the metric and its direction; raises InvalidTest."""
    table = shape.rows(source, options, notes, {"file": source})
    metric = metric_chosen(table, options)
    reader = NumberReader.of(options)
    systems = {name: outputs_of(table, rows, metric, reader, notes) for name, rows in table.systems().items()}
    notes += [f"The metric is {escaped(metric)}.", *table.notes]
    return systems, table.measured or metric_of(metric), table.higher_is_better


def _value(table: Rows, row: Row, metric: str, reader: NumberReader) -> Value:
    value = row.values.get(metric)
    return None if value is None else value_of(value, reader, f"{table.source.pointer}/{row.place(metric)}")


def _two(
    u: Rows, v: Rows, options: ReaderOptions, notes: list[Any]
) -> tuple[tuple[list[Row], list[Row]], tuple[str, str] | None, RoleQuestion | None]:
    """The rows of both systems, their names, and what a gate must ask."""
    if u is v:
        systems = u.systems()
        chosen = two_systems(list(systems), options, u.source, notes)
        return (systems[chosen.u], systems[chosen.v]), chosen.names, chosen.question
    sides, names = [], []
    for table, other, role in ((u, v, "u"), (v, u, "v")):
        systems = table.systems()
        wanted = getattr(options, f"system_{role}")
        own = [name for name in systems if name not in other.systems()]
        shared = [name for name in systems if name in other.systems()]
        if wanted is None and len(own) == 1 and shared:
            notes.append(
                Remark(
                    role,
                    f"{quoted(own[0])} is read, and not {', '.join(map(quoted, shared[:3]))}, which both files have.",
                )
            )
            wanted = own[0]
        name = only_or_chosen(list(systems), wanted, table.source.pointer, f"system_{role}", "system")
        sides.append(systems[name])
        names.append(name or table.name)
    return (sides[0], sides[1]), (names[0], names[1]) if all(names) else None, None  # type: ignore[return-value]


def _require_agreement(u: Rows, v: Rows) -> None:
    for name, (mine, _) in u.agree.items():
        other, pointer = v.agree.get(name, (None, ""))
        if None not in (mine, other) and mine != other:
            detail = f"{name} is {quoted(mine)} in u and {quoted(other)} in v: these are different items."
            raise InvalidTest.at(f"{v.source.pointer}/{pointer}", f"{name}_mismatch", detail)


def _checker(u: Sequence[Row], v: Sequence[Row]) -> Callable[[SystemOutputs, int, SystemOutputs, int], None]:
    first, second = ({row.key: row for row in reversed(rows)} for rows in (u, v))

    def check(of_u: SystemOutputs, place_u: int, of_v: SystemOutputs, place_v: int) -> None:
        """What an item must have in both files is the same."""
        mine, other = first.get(of_u.ids[place_u]), second.get(of_v.ids[place_v])
        if mine is None or other is None:
            return
        for name, (value, _) in mine.same.items():
            theirs, pointer = other.same.get(name, (None, ""))
            if None not in (value, theirs) and value != theirs:
                detail = f"{of_v.source.label}, {other.path}: {name} of {quoted(other.key)} is not that of u at {mine.path}: "
                detail += "the two files are not about the same items."
                raise InvalidTest.at(f"{of_v.source.pointer}/{pointer}", f"{name}_mismatch", detail)

    return check


def _count_absent(u: Rows, v: Rows, systems: Sequence[SystemOutputs], notes: list[str]) -> None:
    """Items that only the other file names, where that says what they count."""
    for table, mine, other in zip((u, v), systems, systems[::-1], strict=True):
        absent = [] if table.absent is None else [key for key in other.ids if key not in mine.index]
        for key in absent:
            mine.add(key, table.absent, "")
        if absent:
            many = f"{len(absent):,} items that only the other file names count {table.absent}."
            notes.append(f"{mine.source.role}: {many}")
