"""Hold the outputs of each system by item id, and pair those of two systems as columns."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ...answers.reading import LeftOut, Read, Remark
from ...errors import Choice, Flaw, InvalidTest, mapped
from ...statistics.columns import EXCHANGE_RUNS, OF_RUNS, slices_of, taken, unequal_runs
from ...statistics.effects import weights_of
from ...statistics.paired import Column, Correction, Counts, Repeated, Scores, Slices, StatisticSpec
from .. import columns
from ..alignment import BOUNDS, DROP, NAMED_IDS, Aligned, ById, PairedColumns, Positions, in_files
from ..beside import LABELS, Placed, covariates_of, labels_of
from ..json_records import SLICES
from ..number_text import NumberReader
from ..options import OnMissingOutcome
from ..quoting import quoted
from ..reader import Finding, ReaderOptions, Reading, Source, in_words, no_bounds
from .roles import NAMED_APART, UNSURE, described, differing

MEAN = StatisticSpec("mean_difference")
PAIRED_BY_ORDER = "The files have no ids: items were paired by their order."
WEIGHTED = "Items count by the column weight."


@dataclass(slots=True)
class SystemOutputs:
    """One system's values in the order of its file: a list, or a column if all are numbers.

    `by_order`: the file has no ids, so the keys are running numbers. `paths` are pointers to the records, relative to the source's.
    `runs` is the number of runs behind a single number of an item, such as pass@k or a tool's mean; one by default. `context` describes
    the items, by the names of columns or fields. `empty` is the number of runs without a value.
    """

    source: Source
    by_order: bool = False
    ids: list[str] = field(default_factory=list)
    values: Any = field(default_factory=list)
    paths: Any = field(default_factory=list)
    clusters: list[str | None] = field(default_factory=list)
    weights: list[str | None] = field(default_factory=list)
    runs: dict[str, int] = field(default_factory=dict)
    context: dict[str, list[Any]] = field(default_factory=dict)
    empty: int = 0
    _index: dict[str, int] = field(default_factory=dict)

    @property
    def index(self) -> dict[str, int]:
        """The position of each id."""
        if len(self._index) != len(self.ids):
            self._index = dict(zip(self.ids, range(len(self.ids)), strict=True))
        return self._index

    def add(self, key: str, value: Any, path: str, cluster: str | None = None) -> None:
        """Add an item without a weight; raises InvalidTest if the key repeats."""
        before = self._index.setdefault(key, len(self.ids))
        if before != len(self.ids):
            raise self._twice(key, path, self.paths[before])
        self.ids.append(key)
        self.values.append(value)
        self.paths.append(path)
        self.clusters.append(cluster)
        self.weights.append(None)

    def require_unique(self) -> None:
        """Refuse a key that repeats."""
        if len(self.index) < len(self.ids):
            first: dict[str, str] = {}
            for key, path in zip(self.ids, self.paths, strict=True):
                if first.setdefault(key, path) != path:
                    raise self._twice(key, path, first[key])

    def _twice(self, key: str, path: str, before: str) -> InvalidTest:
        where = f"{in_words(path)} is already at {in_words(before)}"
        detail = f"{self.source.label}: the id {quoted(key)} at {where}; ids must be unique."
        return InvalidTest.at(f"{self.source.pointer}/{path}", "duplicate_id", detail)

    def __len__(self) -> int:
        """The number of items."""
        return len(self.ids)

    def pointer(self, index: int) -> str:
        """The pointer to the record of an item."""
        return f"{self.source.pointer}/{self.paths[index]}"

    def without(self, gone: Collection[str]) -> SystemOutputs:
        """The same outputs without some items."""
        rows = [row for row, key in enumerate(self.ids) if key not in gone]
        values = taken(self.values, np.array(rows, dtype=np.int64))
        listed: tuple[list[Any], ...] = (self.ids, self.clusters, self.weights)
        ids, clusters, weights = ([column[row] for row in rows] for column in listed)
        paths = [self.paths[row] for row in rows] if isinstance(self.paths, list) else self.paths.taken(rows)
        context = {name: [column[row] for row in rows] for name, column in self.context.items()}
        return SystemOutputs(
            self.source, self.by_order, ids, values, paths, clusters, weights, self.runs, context
        )

    def lengths(self, *, counted: bool = True) -> list[int]:
        """The number of runs of each value; 0 if it is missing."""
        if isinstance(self.values, Repeated):
            lengths: list[int] = self.values.lengths.tolist()
        elif isinstance(self.values, np.ndarray):
            lengths = [1] * len(self)
        else:
            lengths = [
                len(each) if isinstance(each, tuple) else int(each is not None) for each in self.values
            ]
        if self.runs and counted:
            lengths = [n and self.runs.get(key, n) for key, n in zip(self.ids, lengths, strict=True)]
        return lengths

    @property
    def has_runs(self) -> bool:
        """Whether values may have several runs."""
        values = self.values
        several = (
            tuple in set(map(type, values)) if isinstance(values, list) else isinstance(values, Repeated)
        )
        return bool(self.runs) or several


@dataclass(frozen=True, slots=True)
class ValuesById:
    """One column by id, or by order without ids; None is missing; `pointer` maps an index to the pointer of its value."""

    source: Source
    ids: list[str] | None
    values: list[Any]
    pointer: Callable[[int], str]


def by_id(ids: list[str], values: Any) -> ById:
    """Make a column of the items that have a value; the others are absent."""
    values, there = known_of(values)
    if there is None:
        return ById(ids, values)
    has = np.zeros(len(ids), dtype=bool)
    has[there] = True
    return ById([ids[at] for at in there.tolist()], values, [ids[at] for at in np.flatnonzero(~has).tolist()])


def known_of(values: Any) -> tuple[Any, Positions | None]:
    """The values that are not None, and their positions, None for all."""
    if not isinstance(values, list) or None not in values:
        return values, None
    there = [index for index, value in enumerate(values) if value is not None]
    return [values[index] for index in there], np.array(there, dtype=np.int64)


def _aligned(
    u: SystemOutputs, v: SystemOutputs, options: ReaderOptions, notes: list[Any], *, clustered: bool
) -> tuple[list[Any], Aligned]:
    """The values of both systems, and how they are paired; raises InvalidTest if they cannot be."""
    on_missing = options.on_missing
    systems = {"u": u, "v": v}
    for system in (u, v):
        if not len(system):
            raise system.source.empty()
    if u.by_order != v.by_order:
        without = u if u.by_order else v
        detail = f"{without.source.label}: this file has no ids and the other has; both need them."
        raise InvalidTest.at(without.source.pointer, "mixed_forms", detail)
    if u.by_order:
        notes.append(PAIRED_BY_ORDER)
    require_as_many_runs(u, v, options)
    for system in (u, v) if options.exchange != "items" else ():
        _require_single_runs(system)
    clusters = clusters_of((u, v)) if clustered else None
    if u.by_order and len(u) != len(v):
        detail = f"u has {len(u):,} items and v has {len(v):,}, and there are no ids to pair them by."
        raise InvalidTest.at(v.source.pointer, "length_mismatch", detail)
    sides = {role: known_values(system, role, on_missing, notes) for role, system in systems.items()}
    if on_missing == BOUNDS:
        _require_boundable(u, v)
    sources = {"/u": u.source.pointer, "/v": v.source.pointer}
    paired = PairedColumns(
        sides, lambda column, *_: sources.get(column, in_files(column)), clusters=clusters, of_test=True
    )
    values, aligned, _ = paired.taken("error" if on_missing == "zero" else on_missing)
    alone = {"u": aligned.pairing.only_u, "v": aligned.pairing.only_v}
    if on_missing != BOUNDS:
        notes += [LeftOut(role, n, "counterpart") for role, n in alone.items() if n]
    return list(values.values()), aligned


def require_as_many_runs(
    u: SystemOutputs, v: SystemOutputs, options: ReaderOptions, choices: tuple[Choice, ...] = ()
) -> None:
    """Refuse an item with different numbers of runs; raises InvalidTest at V's record."""
    if options.exchange == "runs" or not (u.has_runs or v.has_runs):
        return
    if options.statistic in (None, *OF_RUNS) and not any(map(_averages, (u, v))):
        choices = (*choices, EXCHANGE_RUNS)
    every = v.lengths()
    for key, runs in zip(u.ids, u.lengths(), strict=True):
        other = v.index.get(key)
        others = 0 if other is None else every[other]
        if other is not None and runs and others and runs != others:
            item = f"{v.source.label}: the item {quoted(key)} at {in_words(v.paths[other])}"
            raise unequal_runs(v.pointer(other), others, runs, item, choices)


def _averages(system: SystemOutputs) -> list[tuple[int, int]]:
    """The items with one number for several runs, and how many."""
    counts = zip(system.lengths(), system.lengths(counted=False), strict=True)
    return [(at, runs) for at, (runs, there) in enumerate(counts) if runs > there > 0]


def _require_single_runs(system: SystemOutputs) -> None:
    """Refuse means of several runs where runs are exchanged; raises InvalidTest at the item."""
    for at, runs in _averages(system):
        item = f"{system.source.label}: the item {quoted(system.ids[at])} at {in_words(system.paths[at])}"
        detail = f"{item} has one number for {runs:,} runs, which cannot be exchanged: give each run's score, or exchange items."
        raise InvalidTest.at(system.pointer(at), "runs_averaged", detail)


def other_items(
    systems: Sequence[SystemOutputs], options: ReaderOptions, who: tuple[str, str] = ("u", "v"), place:
    Callable[[SystemOutputs, int, str], str] = lambda outputs, at, _: outputs.pointer(at),
) -> tuple[tuple[str, ...], tuple[Finding, ...]]:  # fmt: skip
    """The keys of items whose description differs from the first system's, and a finding; raises InvalidTest if half of them differ."""
    first, *others = systems
    different: dict[str, tuple[str, Any, Any]] = {}
    keys: dict[str, None] = {}
    pointer = first.source.pointer
    for other in others if options.on_mismatch != "keep" else ():
        common = first.context.keys() & other.context.keys()
        if not common or (
            first.ids == other.ids and all(first.context[name] == other.context[name] for name in common)
        ):
            continue
        rows = [(row, other.index[key]) for key, row in first.index.items() if key in other.index]
        keys |= dict.fromkeys(first.ids[row] for row, _ in rows)
        for at, name in differing(first.context, other.context, rows):
            row, its = rows[at]
            pointer = pointer if different else place(other, its, name)
            different.setdefault(first.ids[row], (name, first.context[name][row], other.context[name][its]))
    if not different:
        return (), ()
    shown = [(key, *values) for key, values in itertools.islice(different.items(), NAMED_APART)]
    detail = f"{len(different):,} of {len(keys):,} items are described differently in {who[0]} and in {who[1]}: {described(shown, who)}. "
    if 2 * sum(name not in UNSURE for name, _, _ in different.values()) >= len(keys):
        detail += "These are two sets of items: give both systems' scores of the same. If they are the same, worded differently, give `on_mismatch=keep`."
        raise InvalidTest.at(pointer, "item_mismatch", detail, MISMATCH[1:])
    detail += "Give `on_mismatch=drop` to leave these out, or `on_mismatch=keep` if they are the same, worded differently."
    finding = Finding("item_mismatch", detail, pointer, MISMATCH)
    return tuple(different), () if options.on_mismatch == "drop" else (finding,)


MISMATCH = (
    Choice("Leave these items out", {"on_mismatch": "drop"}),
    Choice("They are the same items, worded differently", {"on_mismatch": "keep"}),
)


def _require_boundable(u: SystemOutputs, v: SystemOutputs) -> None:
    """Refuse data for which missing outcomes have no bounds: blank lines of two files without ids, and weights."""
    if u.by_order and u.source is not v.source:
        detail = "Only ids show which outcomes are missing in two files: give both a column of ids."
        raise InvalidTest.at(v.source.pointer, "no_ids", detail)
    if any(weight is not None for side in (u, v) for weight in side.weights):
        detail = "Missing outcomes have bounds only without weights: leave the weights out, or set `on_missing=drop`."
        raise InvalidTest.at("/options/on_missing", "no_missing_bounds", detail)


def known_values(
    outputs: SystemOutputs | ValuesById, role: str, on_missing: OnMissingOutcome, notes: list[Any]
) -> ById:
    """The items of a role that have a value, by number without ids; raises InvalidTest for others, depending on `on_missing`."""
    source, values = outputs.source, outputs.values
    ids: Any = range(1, len(values) + 1) if outputs.ids is None else outputs.ids
    side = by_id(ids, values)
    notes.append(Read(role, len(ids), source.label, source.name[:80]))
    if isinstance(outputs, SystemOutputs) and outputs.empty:
        notes.append(Remark(role, f"runs without a score, which count as not made: {outputs.empty:,}."))
    if not side.absent or on_missing == BOUNDS:
        return side
    if on_missing == "drop":
        notes.append(LeftOut(role, len(side.absent), "value"))
        return side
    missing = [index for index, value in enumerate(values) if value is None]
    details = [f"The item {quoted(str(ids[index]))} of {role} has no value." for index in missing[:NAMED_IDS]]
    flaws = tuple(
        Flaw(outputs.pointer(index), "missing_value", detail, () if place else DROP)
        for place, (index, detail) in enumerate(zip(missing, details, strict=False))
    )
    where = in_words(outputs.pointer(missing[0]).removeprefix(f"{source.pointer}/"))
    detail = (
        f"{source.label}: {len(missing):,} of {len(ids):,} items of {role} have no value (the first is {quoted(str(ids[missing[0]]))} "
        f"at {where}). Missing is not zero: add them, or give `on_missing=drop` to leave these items out."
    )
    raise InvalidTest(detail, flaws=flaws)


def clusters_of(systems: Iterable[SystemOutputs]) -> dict[str, str]:
    """The cluster of every item; the systems must agree."""
    return {key: cluster for key, (cluster, _, _) in _of_items(systems, "cluster").items()}


def written_weights(
    systems: Sequence[SystemOutputs], place: Callable[[SystemOutputs, int], str] = SystemOutputs.pointer
) -> dict[str, str] | None:
    """The weight of each item, as written; None if the files have none. Raises InvalidTest at the items."""
    if all(system.weights.count(None) == len(system) for system in systems):
        return None
    written = _of_items(systems, "weight")
    places = list(written.values())
    mapped(
        lambda pointer: place(*places[int(pointer[1:])][1:]), weights_of, [weight for weight, _, _ in places]
    )
    return {key: weight for key, (weight, _, _) in written.items()}


def _of_items(systems: Iterable[SystemOutputs], what: str) -> dict[str, tuple[str, SystemOutputs, int]]:
    """The cluster or weight of every item, and its first place; the systems must agree."""
    firsts: dict[str, tuple[str, SystemOutputs, int]] = {}
    for system in systems:
        column = system.clusters if what == "cluster" else system.weights
        for index, (key, value) in enumerate(zip(system.ids, column, strict=True)):
            if value is None:
                detail = f"{system.source.label}: the item {quoted(key)} has no {what}, and others have one."
                raise InvalidTest.at(system.pointer(index), f"no_{what}", detail)
            before, first, at = firsts.setdefault(key, (value, system, index))
            if before != value:
                label, other = system.source.label, first.source.label
                elsewhere = in_words(first.paths[at]) + ("" if first is system else f" of {other}")
                detail = f"{label}: the item {quoted(key)} has the {what} {quoted(value)} here and "
                detail += f"{quoted(before)} at {elsewhere}: an item has one {what}."
                raise InvalidTest.at(system.pointer(index), f"{what}_mismatch", detail)
    return firsts


def scores_reading(
    u: SystemOutputs, v: SystemOutputs, options: ReaderOptions, notes: list[Any], format_: str, *, clustered: bool = False,
    more_notes: Sequence[str] = (), counted: Sequence[str] = (), statistic: StatisticSpec = MEAN,
    beside: Mapping[str, Sequence[SystemOutputs]] = {}, positions: Mapping[str, list[int]] = {}, **known: Any,
) -> Reading:  # fmt: skip
    """The reading of two systems' scores, or of rows of `counted` counts, paired by id. Raises InvalidTest.

    `beside` are labels or covariates of the items, `positions` those of battles, `known` further fields.
    """
    keys, findings = other_items((u, v), options)
    if options.on_mismatch == "drop" and keys:
        u, v = u.without(keys), v.without(keys)
        notes.append(LeftOut("u and v", len(keys), "likeness"))
    known["findings"] = (*known.get("findings", ()), *findings)
    if counted and options.on_missing == BOUNDS:
        raise no_bounds()
    values, aligned = _aligned(u, v, options, notes, clustered=clustered)
    if options.slices is not None:
        aligned = replace(aligned, pairing=replace(aligned.pairing, slices=_slices_of(u, v, aligned)))
    if counted:
        named = [
            {name: _numbers([row[at] for row in of_side], side) for at, name in enumerate(counted)}
            for side, of_side in zip("uv", values, strict=True)
        ]
        data_counts = Counts(named[0], named[1], aligned.pairing)
        return Reading("counts", data_counts, statistic, (*notes, *more_notes), format_, **known)
    data = Scores(column_of(values[0], "u"), column_of(values[1], "v"), aligned.pairing)
    if aligned.lacking is not None:
        gaps, (low, high) = aligned.lacking, options.bounds
        only = [column_of(gap, role) if len(gap) else gap for gap, role in ((gaps.u, "u"), (gaps.v, "v"))]
        data = replace(data, gaps=replace(gaps, u=only[0], v=only[1], low=low, high=high))
        lacking = len(gaps.u) + len(gaps.v) + 2 * gaps.neither
        each = f"each may be anything from {low:g} to {high:g}"
        notes.append(f"{lacking:,} outcomes are missing; {each} (on_missing: bounds).")
    notes += [*more_notes, *NumberReader.of(options).note()]
    written = written_weights((u, v))
    if written is not None:
        data = replace(data, weights=weights_of([written[str(key)] for key in aligned.pairing.ids or ()]))
        notes.append(WEIGHTED)
    if positions:
        items = [positions[str(key)] for key in aligned.pairing.ids or ()]
        data = replace(data, positions=np.array(items, dtype=np.int64))
    if beside:
        data = replace(
            data, correction=_correction(beside, list(map(str, aligned.pairing.ids or ())), options, notes)
        )
    return Reading("scores", data, MEAN, tuple(notes), format_, **known)


def _correction(
    beside: Mapping[str, Sequence[SystemOutputs]],
    ids: Sequence[str],
    options: ReaderOptions,
    notes: list[Any],
) -> Correction:
    """The labels or covariates on the items of these ids; raises InvalidTest."""
    number = {key: at for at, key in enumerate(ids)}

    def placed(outputs: SystemOutputs, role: str) -> Placed:
        values, there = known_of(outputs.values)
        rows = range(len(outputs)) if there is None else there.tolist()
        at = np.fromiter((number.get(outputs.ids[row], -1) for row in rows), dtype=np.int64, count=len(rows))
        return column_of(values, role), at, lambda item: outputs.paths.place(outputs.index[ids[item]])

    sides = {name: [placed(*each) for each in zip(both, "uv", strict=True)] for name, both in beside.items()}
    if not options.label_column:
        return covariates_of(sides, len(ids))
    correction = labels_of(sides[LABELS], len(ids), options.share)
    assert correction.labelled is not None
    notes.append(
        f"People judged {int(correction.labelled.sum()):,} of {len(ids):,} items ({options.label_column[:80]})."
    )
    return correction


def _slices_of(u: SystemOutputs, v: SystemOutputs, aligned: Aligned) -> Slices:
    """The slices of the items that are compared, as one of the systems has them; raises InvalidTest at its record."""
    system = u if SLICES in u.context else v
    labels = system.context.get(SLICES) or [None] * len(system)
    rows = [system.index[str(key)] for key in aligned.pairing.ids or ()]
    return mapped(
        lambda pointer: system.pointer(rows[int(pointer[1:])]), slices_of, [labels[row] for row in rows]
    )


def column_of(values: Any, role: str) -> Column | Repeated:
    """One or several numbers per item, shape (n,); raises InvalidTest at `/files/<role>/item/<n>`."""
    if isinstance(values, np.ndarray | Repeated):
        return values
    if not any(isinstance(value, tuple) for value in values):
        return _numbers(values, role)
    ragged = [value if isinstance(value, tuple) else (value,) for value in values]
    flat = _numbers([number for value in ragged for number in value], role)
    return Repeated(flat, np.fromiter(map(len, ragged), dtype=np.int64, count=len(ragged)))


def _numbers(values: list[Any], role: str) -> Column:
    return mapped(f"/files/{role}/item{{}}".format, columns.numbers, values, may_hold_booleans=False)
