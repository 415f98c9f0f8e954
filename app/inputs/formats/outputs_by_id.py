"""The outputs of each system by item id, and how those of two systems become paired columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

import numpy as np

from ...errors import Choice, Flaw, InvalidTest, relocated
from ...statistics.paired import Column, Counts, Pairing, Repeated, Scores, StatisticSpec
from ...statistics.repeats import unequal_runs
from .. import columns
from ..pairing import DROP, NAMED_IDS, ById, OnMissing, pair
from ..quoting import quoted
from . import item_weights, missing_scores
from .number_text import Number, NumberReader
from .reader import OnMissingOutcome, ReaderOptions, Reading
from .source import Source

MEAN = StatisticSpec("mean_difference")
PAIRED_BY_ORDER = "The files have no ids: items were paired by their order."
# A number; several of one item, to be averaged; a row of counts; or None, which is missing.
Value = Number | tuple[Number, ...] | None


@dataclass(slots=True)
class SystemOutputs:
    """One system's values in the order of its file.

    `by_order` says that the file has no ids: the keys are then running numbers. `paths` are pointers below the
    source's, to the records. `runs` says of how many runs an item's number is where it is one number, as of pass@k and of
    means that a tool has taken; of one where it says nothing.
    """

    source: Source
    by_order: bool = False
    ids: list[str] = field(default_factory=list)
    values: list[Any] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    clusters: list[str | None] = field(default_factory=list)
    weights: list[str | None] = field(default_factory=list)
    index: dict[str, int] = field(default_factory=dict)
    runs: dict[str, int] = field(default_factory=dict)

    def add(
        self, key: str, value: Value, path: str, cluster: str | None = None, weight: str | None = None
    ) -> None:
        """One more item; `weight` as it is written.

        Raises
        ------
        InvalidTest
            The key has been there before.
        """
        before = self.index.setdefault(key, len(self.ids))
        if before != len(self.ids):
            detail = (
                f"{self.source.label}: the id {quoted(key)} at {path} is already at {self.paths[before]}; "
                "ids must be unique."
            )
            raise InvalidTest.at(f"{self.source.pointer}/{path}", "duplicate_id", detail)
        self.ids.append(key)
        self.values.append(value)
        self.paths.append(path)
        self.clusters.append(cluster)
        self.weights.append(weight)

    def __len__(self) -> int:
        """How many items there are."""
        return len(self.ids)

    def runs_of(self, index: int) -> int:
        """Of how many runs an item's value is; 0 of a missing one."""
        value = self.values[index]
        if value is None:
            return 0
        return self.runs.get(self.ids[index], len(value) if isinstance(value, tuple) else 1)


@dataclass(frozen=True, slots=True)
class Matched:
    """Both systems' values in one order."""

    ids: list[str]
    u: list[Any]
    v: list[Any]
    pairing: Pairing


Check = Callable[[SystemOutputs, int, SystemOutputs, int], None]


def matched(
    u: SystemOutputs,
    v: SystemOutputs,
    *,
    on_missing: OnMissingOutcome,
    notes: list[str],
    clustered: bool = False,
    check: Check | None = None,
) -> Matched:
    """Pair two systems by id; `check` sees the two indices of every item that both have.

    Raises
    ------
    InvalidTest
        Values are missing or ids do not match, without on_missing=drop; or clusters differ. Bounds are of scores alone.
    """
    if on_missing == "bounds":
        raise missing_scores.no_bounds()
    clusters = _checked(u, v, notes, check, clustered=clustered)
    way: OnMissing = "drop" if on_missing == "drop" else "error"
    kept = {role: _with_values(system, way, notes, role) for role, system in (("u", u), ("v", v))}
    with relocated(_in_files(u, v)):
        paired = pair(kept, ids=None, clusters=clusters, on_missing=way)
    order = _order(kept["u"], kept["v"])
    _note_unmatched(paired.pairing, notes)
    pairing = replace(paired.pairing, largest=max(len(u), len(v)))
    return Matched(order, list(paired.columns["u"]), list(paired.columns["v"]), pairing)


def _checked(
    u: SystemOutputs, v: SystemOutputs, notes: list[str], check: Check | None, *, clustered: bool
) -> dict[str, str] | None:
    """The clusters by id, where there are any, of systems that can be paired; raises InvalidTest."""
    for system in (u, v):
        if not len(system):
            raise system.source.empty()
    _same_form(u, v, notes)
    if check is not None:
        for key, index in u.index.items():
            other = v.index.get(key)
            if other is not None:
                check(u, index, v, other)
    require_as_many_runs(u, v)
    clusters = _clusters(u, v) if clustered else None
    if u.by_order and len(u) != len(v):
        detail = f"u has {len(u):,} items and v has {len(v):,}, and there are no ids to pair them by."
        raise InvalidTest.at(v.source.pointer, "length_mismatch", detail)
    return clusters


def require_as_many_runs(u: SystemOutputs, v: SystemOutputs, choices: tuple[Choice, ...] = ()) -> None:
    """Refuse an item that one system was run more often on; raises InvalidTest at V's record."""
    if not (u.runs or v.runs or any(isinstance(value, tuple) for value in chain(u.values, v.values))):
        return
    for key, index in u.index.items():
        other = v.index.get(key)
        runs, others = u.runs_of(index), 0 if other is None else v.runs_of(other)
        if runs and others and runs != others:
            assert other is not None
            where = v.paths[other]
            item = f"{v.source.label}: the item {quoted(key)} at {where}"
            raise unequal_runs(f"{v.source.pointer}/{where}", others, runs, item, choices)


def _order(u: ById, v: ById) -> list[str]:
    if u.ids == v.ids:
        return u.ids
    ids_of_v = set(v.ids)
    return [key for key in u.ids if key in ids_of_v]


def _same_form(u: SystemOutputs, v: SystemOutputs, notes: list[str]) -> None:
    if u.by_order != v.by_order:
        without = u if u.by_order else v
        detail = f"{without.source.label}: this file has no ids and the other has; both need them."
        raise InvalidTest.at(without.source.pointer, "mixed_forms", detail)
    if u.by_order:
        notes.append(PAIRED_BY_ORDER)


def _with_values(system: SystemOutputs, on_missing: OnMissing, notes: list[str], role: str) -> ById:
    """The items that have a value. Those without are refused, or dropped with on_missing=drop."""
    missing = [index for index, value in enumerate(system.values) if value is None]
    notes.append(f"{role}: {len(system):,} items read from {system.source.label}.")
    if not missing:
        return ById(system.ids, system.values)
    if on_missing == "error":
        flaws = tuple(
            Flaw(
                f"{system.source.pointer}/{system.paths[index]}",
                "missing_value",
                f"The item {quoted(system.ids[index])} of {role} has no value.",
                () if place else DROP,
            )
            for place, index in enumerate(missing[:NAMED_IDS])
        )
        detail = (
            f"{system.source.label}: {len(missing):,} of {len(system):,} items of {role} have no value "
            f"(the first is {quoted(system.ids[missing[0]])} at {system.paths[missing[0]]}). Missing is not zero: add them, "
            "or give on_missing=drop to leave these items out."
        )
        raise InvalidTest(detail, flaws=flaws)
    notes.append(f"{role}: {len(missing):,} items without a value were left out (on_missing=drop).")
    keep = [index for index, value in enumerate(system.values) if value is not None]
    return ById([system.ids[index] for index in keep], [system.values[index] for index in keep])


def _clusters(u: SystemOutputs, v: SystemOutputs) -> dict[str, str]:
    """The cluster of every item; the files must agree about the items that both have."""
    cluster_of: dict[str, str] = {}
    for system in (u, v):
        for key, cluster, path in zip(system.ids, system.clusters, system.paths, strict=True):
            if cluster is None:
                detail = f"{system.source.label}: the item {quoted(key)} has no cluster."
                raise InvalidTest.at(f"{system.source.pointer}/{path}", "no_cluster", detail)
            if cluster_of.setdefault(key, cluster) != cluster:
                detail = f"{system.source.label}: the item {quoted(key)} is in cluster {quoted(cluster)} here and in "
                detail += f"{quoted(cluster_of[key])} in u."
                raise InvalidTest.at(f"{system.source.pointer}/{path}", "cluster_mismatch", detail)
    return cluster_of


def _in_files(u: SystemOutputs, v: SystemOutputs) -> Callable[[str], str]:
    """The map of pointers into a JSON request to pointers to the files."""
    sources = {"/u": u.source.pointer, "/v": v.source.pointer}
    return lambda pointer: sources.get(pointer, f"/files{pointer}")


def _note_unmatched(pairing: Pairing, notes: list[str]) -> None:
    for role, count in (("u", pairing.only_u), ("v", pairing.only_v)):
        if count:
            notes.append(f"{count:,} items that only {role} has were left out (on_missing=drop).")


def scores_reading(
    u: SystemOutputs,
    v: SystemOutputs,
    options: ReaderOptions,
    notes: list[str],
    format_: str,
    *,
    clustered: bool = False,
    check: Check | None = None,
    more_notes: Sequence[str] = (),
    **known: Any,
) -> Reading:
    """The reading of two systems' scores, paired as by `matched`.

    `more_notes` come after those of the pairing; `known` are further fields of `Reading`.
    """
    if options.on_missing == "bounds":
        clusters = _checked(u, v, notes, check, clustered=clustered)
        notes += [
            f"{role}: {len(side):,} items read from {side.source.label}."
            for role, side in (("u", u), ("v", v))
        ]
        bounded = missing_scores.scores_with_gaps(u, v, clusters, column_of, options.bounds, notes)
        notes += [*more_notes, *NumberReader.of(options).note()]
        return Reading("scores", bounded, MEAN, tuple(notes), format_, **known)
    pairs = matched(u, v, on_missing=options.on_missing, notes=notes, clustered=clustered, check=check)
    notes += [*more_notes, *NumberReader.of(options).note()]
    data = replace(scores(pairs), weights=item_weights.item_weights((u, v), pairs.ids))
    if data.weights is not None:
        notes.append(item_weights.NOTE)
    return Reading("scores", data, MEAN, tuple(notes), format_, **known)


def scores(values: Matched) -> Scores:
    """One number, or several, per item and system."""
    return Scores(column_of(values.u, "u"), column_of(values.v, "v"), values.pairing)


def counts(values: Matched, names: Sequence[str]) -> Counts:
    """Rows of counts, in the order of `names`."""
    return Counts(_named(values.u, names, "u"), _named(values.v, names, "v"), values.pairing)


def _named(rows: list[Any], names: Sequence[str], role: str) -> dict[str, Column]:
    return {name: _numbers([row[index] for row in rows], role) for index, name in enumerate(names)}


def column_of(values: list[Any], role: str) -> Column | Repeated:
    """One number, or several, per item, shape (n,); raises InvalidTest at `/files/<role>/item/<n>`."""
    if not any(isinstance(value, tuple) for value in values):
        return _numbers(values, role)
    ragged = [value if isinstance(value, tuple) else (value,) for value in values]
    flat = _numbers([number for value in ragged for number in value], role)
    return Repeated(flat, np.fromiter(map(len, ragged), dtype=np.int64, count=len(ragged)))


def _numbers(values: list[Any], role: str) -> Column:
    with relocated(lambda pointer: f"/files/{role}/item{pointer}"):
        return columns.numbers(values, may_hold_booleans=False)
