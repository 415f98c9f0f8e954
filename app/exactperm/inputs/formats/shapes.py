"""Define shapes of files: the marks of a tool's format, and its conversion to rows of items with named numbers.

A `Shape` is an entry of `tool_shapes` or `eval_logs`; to add a tool, write a function from a file to `Rows`. The rest is shared:
choosing the number and the systems, checking that both files agree and describe the same items, and joining several values of an item.
Another package adds a shape by an entry point of the group `exactperm.formats`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.metadata import entry_points
from typing import Any, NamedTuple

from ...answers.reading import Remark
from ...errors import Choice, InvalidTest, choices_of
from ..format import FirstLook, Format, Sign
from ..json_records import value_of
from ..number_text import NumberReader, Value
from ..quoting import escaped, quoted
from ..reader import Finding, ReaderOptions, Reading, Source, choose, in_words, only_or_chosen, parsed_once
from .outputs_by_id import MISMATCH, SystemOutputs, require_as_many_runs, scores_reading
from .roles import metric_of, needed, two_systems

ENTRY_POINTS = "exactperm.formats"
USES = frozenset(("metric", "on_missing", "missing_range", "decimals"))
DESCRIBED = USES | {"on_mismatch"}  # options of files that describe their items
PAIR_OPTIONS = USES | {"system_u", "system_v"}
PAIR_ROLES = ("u", "v", "file")
HASH = "_hash"  # the suffix of fields that only some versions of a tool write

Object = dict[str, Any]
Files = Mapping[str, Source]


class Row(NamedTuple):
    """An item of one system: its numbers by metric, None if one is missing, a list if there are several.

    `path` is the row's pointer, relative to the file's. A number is at `path/below/metric`, or at `path` if `below` is None. `runs` is
    the number of runs behind each number, or by metric; `run` is the number or name of this run. `same` must be equal in both files (a
    hash, a question), with pointers. `context` describes the item; if it differs for some items, there is a finding. `places` are the
    paths of single metrics.
    """

    key: str
    values: Mapping[str, Any]
    path: str
    below: str | None = ""
    system: str = ""
    cluster: str | None = None
    runs: int | Mapping[str, int] = 1
    same: Mapping[str, tuple[Any, str]] = {}
    context: Mapping[str, Any] = {}
    places: Mapping[str, str] = {}
    run: int | str | None = None

    def place(self, metric: str) -> str:
        """The path of the number of a metric, or of the row if it has none."""
        if metric in self.places:
            return self.places[metric]
        if self.below is None or self.values.get(metric) is None:
            return self.path
        return "/".join(filter(None, (self.path, self.below, escaped(metric))))


class System(NamedTuple):
    """The name of a system in answers, a label that may show its role, and further names for options."""

    name: str
    label: str
    aliases: tuple[str, ...] = ()


@dataclass(slots=True)
class Rows:
    """The rows of a file, with its metadata.

    `metric` is the default, `metrics` are the choices, by default all with numbers; `called` is the word for them in a note, empty for
    no note. `agree` must be equal in both files, with pointers; `task` is the file's task, by its name or header. `repeats`: an item
    has several rows, whose numbers are averaged, or `most` takes the largest. `partial`: on_missing drop leaves a run out instead of
    its item. `ways` are choices if numbers of runs differ. `at_rows`: errors about an item point to its row instead of its number. A
    list holds several numbers of an item, or with `of_corpus` a part of a corpus metric. `positions` are those of `Scores`, by id.
    """

    source: Source
    rows: list[Row]
    name: str | None = None
    metric: str | None = None
    metrics: Sequence[str] | None = None
    called: str = "metric"
    measured: str | None = None
    higher_is_better: bool | None = None
    agree: Mapping[str, tuple[Any, str]] = field(default_factory=dict)
    task: str | None = None
    systems_called: Mapping[str, System] = field(default_factory=dict)
    by_order: bool = False
    repeats: bool = False
    most: bool = False
    partial: bool = False
    ways: tuple[Choice, ...] = ()
    at_rows: bool = False
    of_corpus: bool = False
    notes: tuple[str, ...] = ()
    positions: Mapping[str, list[int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.rows:
            raise self.source.empty()

    @property
    def names(self) -> list[str]:
        """The metrics to choose from."""
        cells = (each for row in self.rows for each in row.values.items())
        numeric = (name for name, value in cells if isinstance(value, int | float | list))
        return list(dict.fromkeys(numeric if self.metrics is None else self.metrics))

    def systems(self) -> dict[str, list[Row]]:
        """The rows of each system."""
        by_system: dict[str, list[Row]] = {}
        for row in self.rows:
            by_system.setdefault(row.system, []).append(row)
        return by_system

    def system(self, name: str | None) -> str | None:
        """The name in the rows of a system that an option names by an alias."""
        named = [system for system, each in self.systems_called.items() if name in each.aliases]
        return named[0] if len(named) == 1 else name

    def shown(self, system: str) -> str:
        """The name of a system in answers."""
        return self.systems_called[system].name if system in self.systems_called else system


RowsOf = Callable[[Source, ReaderOptions, list[str], Files], Rows]
Join = Callable[[Rows, Rows, Sequence[SystemOutputs], list[str]], tuple[Finding, ...]]


@dataclass(frozen=True, slots=True)
class Shape:
    """The files of one tool:

    `marks` recognises them, `rows` reads them; the rest is as in `Format`. `join` changes the outputs of both systems together, for
    tools that need it.
    """

    name: str
    summary: str
    marks: Callable[[FirstLook], bool]
    rows: RowsOf
    roles: tuple[str, ...] = ("u", "v")
    uses: frozenset[str] = DESCRIBED
    aliases: tuple[str, ...] = ()
    join: Join | None = None
    sign: Sign = Sign.MARK
    zero: bool = False

    @property
    def format(self) -> Format:
        """The format for the catalogue."""
        return Format(
            self.name, partial(read, self), self.roles, self.uses, self.summary, kinds=("scores",), aliases=self.aliases,
            sign=lambda look: self.sign if self.marks(look) else Sign.NONE, zero=self.zero,
        )  # fmt: skip


def installed() -> tuple[Shape, ...]:
    """The shapes of other packages, sorted by name; raises TypeError if an entry point is not a Shape."""
    shapes = []
    for point in sorted(entry_points(group=ENTRY_POINTS), key=lambda each: each.name):
        shape = point.load()
        if not isinstance(shape, Shape):
            raise TypeError(f"The entry point {point.name} of {ENTRY_POINTS} ({point.value}) is not a Shape.")
        shapes.append(shape)
    return tuple(shapes)


# Helpers of functions from a file to rows.


def refuse_incomplete(source: Source, why: str, options: ReaderOptions, notes: list[Any], *at: str) -> None:
    """Refuse the log of an unfinished run, unless an option allows it."""
    if not options.allow_incomplete:
        choices = choices_of("allow_incomplete", {"true": "Test the samples that it has"})
        why += ". Finish the evaluation, or give `allow_incomplete=true` to test the samples that it has."
        raise source.refused("", "incomplete_log", why, *at, choices=choices)
    notes.append(Remark(source.role, f"{why}; read because of allow_incomplete: true."))


def inner_object(value: Object, name: str) -> Object:
    """The object in a field; empty where there is none."""
    inner = value.get(name)
    return inner if isinstance(inner, dict) else {}


def numbers_in(value: Object) -> Object:
    """The fields that are numbers."""
    return {name: one for name, one in value.items() if isinstance(one, int | float)}


def first_of(value: Object, path: str, *names: str) -> tuple[Any, str]:
    """The first of these fields that is present, with its pointer; None at the path if there is none."""
    values = ((value[name], f"{path}/{name}") for name in names if value.get(name) is not None)
    return next(values, (None, path))


def has(at: str, *names: str) -> Callable[[FirstLook], bool]:
    """Return a mark: the first object at a dotted path (empty: of lines or an array) has these fields."""

    def marks(look: FirstLook) -> bool:
        value: Any = look.whole
        for name in at.split("."):
            value = value.get(name) if isinstance(value, dict) else None
        first = value[0] if isinstance(value, list) and value else None
        return set(names) <= ((first if isinstance(first, dict) else {}) if at else look.first_object).keys()

    return marks


def read(shape: Shape, files: Files, options: ReaderOptions, format_: str) -> Reading:
    """Read scores of two systems from two files or one; raises MalformedBody, InvalidTest."""
    notes: list[Any] = []
    rows = parsed_once(shape.rows)
    u = rows(files.get("file") or needed(files, "u", format_), options, notes, files)
    v = u if "file" in files else rows(needed(files, "v", format_), options, notes, files)
    for name, (mine, _) in u.agree.items():
        other, pointer = v.agree.get(name, (None, ""))
        if None not in (mine, other) and mine != other:
            detail = f"{name} is {quoted(other)} here and {quoted(mine)} in u: compare files of one {name}."
            raise v.source.refused(pointer, f"{name}_mismatch", detail)
    metric = metric_chosen(u, options)
    if all(metric not in row.values for row in v.rows) and metric not in v.names:
        why = f"{v.source.label} has no metric {quoted(metric)}. "
        raise choose(v.source.pointer, "metric", "metric", v.names, why, code="no_scores")
    sides, known = _two(u, v, options, notes)
    return reading(
        u, v, sides, (metric, metric), options, notes, format_, join=shape.join, metric=u.measured or metric_of(metric),
        higher_is_better=u.higher_is_better if u.higher_is_better == v.higher_is_better else None, **known,
    )  # fmt: skip


def reading(
    u: Rows, v: Rows, sides: Sequence[list[Row]], metrics: tuple[str, str], options: ReaderOptions, notes: list[Any],
    format_: str, *, join: Join | None = None, **known: Any,
) -> Reading:  # fmt: skip
    """The reading of the rows of two systems, each with its metric; `known` are further fields of `Reading`."""
    systems = [
        outputs_of(table, rows, metric, options, notes)
        for table, rows, metric in zip((u, v), sides, metrics, strict=True)
    ]
    findings = join(u, v, systems, notes) if join is not None else ()
    if u.called and metrics[0] == metrics[1]:
        notes.append(f"The {u.called} is {escaped(metrics[0])}.")
    if u.ways:
        require_as_many_runs(systems[0], systems[1], options, u.ways)
    if options.on_missing == "zero":
        options = replace(options, on_missing="error")  # missing items already count 0 in the rows
    require_same(u, v, sides, options)
    more_notes, more = _checked(u, v, sides, options)
    return scores_reading(
        systems[0], systems[1], options, notes, format_, more_notes=more_notes, positions=u.positions,
        clustered=any(row.cluster is not None for rows in sides for row in rows), findings=(*findings, *more), **known,
    )  # fmt: skip


def metric_chosen(table: Rows, options: ReaderOptions) -> str:
    """The chosen metric, or the only one; raises InvalidTest that lists the metrics."""
    if options.metric is not None and any(options.metric in row.values for row in table.rows):
        return options.metric
    if options.metric is None and table.metric is not None:
        return table.metric
    names, row = table.names, table.rows[0]
    if not names and table.of_corpus:
        raise _of_corpus(table, row, next(iter(row.values), ""))
    if not names:
        raise table.source.refused("", "no_scores", "no item has a number.")
    return only_or_chosen(names, options.metric, table.source.pointer, "metric", "metric")


def outputs_of(
    table: Rows, rows: Sequence[Row], metric: str, options: ReaderOptions, notes: list[Any]
) -> SystemOutputs:
    """The numbers of one system by item; several rows of an item are joined, sorted by run, or by number without runs."""
    outputs, reader = SystemOutputs(table.source, by_order=table.by_order), NumberReader.of(options)
    role = table.source.role
    who = table.shown(rows[0].system)[:80] if role == "file" and rows[0].system else role
    grouped: dict[str, list[Row]] = {}
    several = left_out = 0
    keys = [row.key for row in rows]
    joins = len(set(keys)) < len(keys) or table.most or any(row.runs != 1 for row in rows)
    for row in rows if joins else ():
        grouped.setdefault(row.key, []).append(row)
    if not joins:
        read_of = [_value(table, row, metric, reader) for row in rows]
        outputs.ids, outputs.weights = keys, [None] * len(keys)
        outputs.values = [
            value[0] if type(value) is tuple and len(value) == 1 else value for value in read_of
        ]
        outputs.paths = [row.path if table.at_rows else row.place(metric) for row in rows]
        outputs.clusters = [row.cluster for row in rows]
    for key, every in grouped.items():
        chosen = every if len(every) == 1 else [row for row in every if metric in row.values] or every[:1]
        runs = chosen if table.repeats else chosen[:1]
        has_order = all(row.run is not None for row in runs)
        if has_order:
            runs = sorted(runs, key=lambda row: (type(row.run).__name__, row.run))
        read = [_value(table, row, metric, reader) for row in runs]
        lacking = [row for row, value in zip(runs, read, strict=True) if value is None]
        known = [value if isinstance(value, tuple) else (value,) for value in read if value is not None]
        numbers = [number for value in known for number in value]
        if len(runs) > 1 and not has_order:
            numbers.sort()
        missing = not numbers or len(lacking) > 0
        if numbers and table.partial and options.on_missing == "drop":
            left_out, missing = left_out + len(lacking), False
        first = lacking[0] if missing and lacking else chosen[0]
        several += len(runs) > 1
        path = first.path if table.at_rows else first.place(metric)
        joined: Any = tuple(numbers) if len(numbers) > 1 and not table.most else max(numbers, default=None)
        outputs.add(key, None if missing else joined, path, first.cluster)
        if len(chosen) > 1 and not table.repeats:
            outputs.add(key, None, chosen[1].path)  # refused: the id repeats
        n = sum(row.runs if isinstance(row.runs, int) else row.runs.get(metric, 1) for row in chosen)
        if table.most or n > max(1, len(numbers)):
            outputs.runs[key] = len(numbers) if table.partial else n
    firsts = [every[0] for every in grouped.values()] or list(rows)
    described: list[Mapping[str, Any]] = [row.context for row in firsts]
    if options.on_mismatch != "error":  # compare `same` like the rest
        described = [{**row.context, **{name: one for name, (one, _) in row.same.items()}} for row in firsts]
    for name in dict.fromkeys(name for each in described for name in each):
        outputs.context[name] = [each.get(name) for each in described]
    if left_out:
        notes.append(Remark(who, f"{left_out:,} runs of items without a score were left out."))
    if several and not table.most:
        notes.append(
            Remark(who, f"{several:,} items have several scores, which are {options.done_with_runs}.")
        )
    return outputs


def board(
    shape: Shape, source: Source, options: ReaderOptions, notes: list[Any]
) -> tuple[dict[str, SystemOutputs], str | None, bool | None]:
    """The outputs of every system in one file, the metric and its direction; raises InvalidTest."""
    table = shape.rows(source, options, notes, {"file": source})
    metric = metric_chosen(table, options)
    systems = {
        table.shown(name): outputs_of(table, rows, metric, options, notes)
        for name, rows in table.systems().items()
    }
    if table.called:
        notes.append(f"The {table.called} is {escaped(metric)}.")
    notes += table.notes
    return systems, table.measured or metric_of(metric), table.higher_is_better


def _value(table: Rows, row: Row, metric: str, reader: NumberReader) -> Value:
    value = row.values.get(metric)
    number: Value = reader.plain(int(value) if type(value) is bool else value)
    if number is not None:
        return number
    if table.of_corpus and isinstance(value, list | dict):
        raise _of_corpus(table, row, metric)
    if value is None or isinstance(value, tuple):  # a row of counts
        return value
    return value_of(value, reader, f"{table.source.pointer}/{row.place(metric)}")


def _of_corpus(table: Rows, row: Row, metric: str) -> InvalidTest:
    detail = f"{escaped(metric)} is a corpus metric: an item has only a part of it and no separate score, so a mean over items would be "
    detail += "another metric."
    return table.source.refused(row.place(metric), "corpus_metric", detail)


def _two(u: Rows, v: Rows, options: ReaderOptions, notes: list[Any]) -> tuple[list[list[Row]], Object]:
    """The rows of both systems, and their names and the question of a gate, as fields of `Reading`."""
    options = replace(options, system_u=u.system(options.system_u), system_v=v.system(options.system_v))
    if u is v:
        systems = u.systems()
        labels = {name: each.label for name, each in u.systems_called.items()}
        chosen = two_systems(list(systems), options, u.source, notes, labels)
        shown = None if chosen.names is None else (u.shown(chosen.u), u.shown(chosen.v))
        return [systems[chosen.u], systems[chosen.v]], {"names": shown, "role_question": chosen.question}
    sides, names, of_u, of_v = [], [], u.systems(), v.systems()
    for table, systems, other, role in ((u, of_u, of_v, "u"), (v, of_v, of_u, "v")):
        wanted = getattr(options, f"system_{role}")
        unshared = [name for name in systems if name not in other]
        shared = [name for name in systems if name in other]
        if wanted is None and len(unshared) == 1 and shared:
            others = ", ".join(map(quoted, shared[:3]))
            notes.append(
                Remark(
                    role, (f"{quoted(unshared[0])} was read, and {others}, which both files have, was not.")
                )
            )
            wanted = unshared[0]
        name = only_or_chosen(list(systems), wanted, table.source.pointer, f"system_{role}", "system")
        sides.append(systems[name])
        names.append(table.shown(name) or table.name)
    return sides, {"names": tuple(names) if all(names) else None}


def require_same(u: Rows, v: Rows, sides: Sequence[Sequence[Row]], options: ReaderOptions) -> None:
    """Refuse an item whose `same` differs between the files, unless an option decides; raises InvalidTest."""
    if options.on_mismatch != "error" or not any(row.same for row in sides[0]):
        return
    first, second = ({row.key: row for row in reversed(rows)} for rows in sides)
    differing = [
        (mine, name, pointer)
        for mine in sides[0]
        for name, (value, _) in first[mine.key].same.items()
        for theirs, pointer in [second.get(mine.key, mine).same.get(name, (None, ""))]
        if None not in (value, theirs) and value != theirs
    ]
    for mine, name, pointer in differing[:1]:
        detail = f"{name} of {quoted(mine.key)} differs from u at {in_words(mine.path)}: the two files are not about the same items."
        # Without these items, too few would be left.
        most = 2 * len({row.key for row, *_ in differing}) >= len(first)
        choices = [one for one in MISMATCH if not most or one.fields["on_mismatch"] != "drop"]
        raise v.source.refused(pointer, f"{name}_mismatch", detail, choices=tuple(choices))


def _checked(
    u: Rows, v: Rows, sides: Sequence[list[Row]], options: ReaderOptions
) -> tuple[list[str], tuple[Finding, ...]]:
    """The notes of the files, notes on fields that could not be compared, and a finding if they are of two tasks."""
    notes = []
    for name in dict.fromkeys(name for rows in sides for row in rows for name in row.same):
        has = [[row.same.get(name, (None,))[0] is not None for row in rows] for rows in sides]
        without = [table.source.role for table, present in zip((u, v), has, strict=True) if not all(present)]
        if without and name.endswith(HASH):
            notes.append(
                f"{name} is missing for some items of {' and '.join(without)}: it was compared for the others only."
            )
    notes += dict.fromkeys((*u.notes, *v.notes))
    if None in (u.task, v.task) or u.task == v.task:
        return notes, ()
    detail = f"The files are of two tasks, {quoted(u.task)} (u) and {quoted(v.task)} (v)."
    texts = [
        {name for row in rows for name, one in (*row.context.items(), *((name, one) for name, (one, _) in row.same.items())) if one not in (None, "")}
        for rows in sides
    ]  # fmt: skip
    if texts[0] & texts[1] or options.on_mismatch == "keep":
        return [*notes, detail], ()
    detail += " Nothing in them shows whether their items are the same: give `on_mismatch=keep` if they are."
    return notes, (Finding("item_mismatch", detail, v.source.pointer, MISMATCH[1:]),)
