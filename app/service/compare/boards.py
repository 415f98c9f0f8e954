"""The columns of one data set become `Systems`: on the same items, of one form, and checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from ...errors import BodyTooLarge, InvalidTest, relocated
from ...inference.record import WarningRecord
from ...inputs import nested
from ...inputs.alignment import GOLD, Aligned, ById, Gapped, Given, OnMissingOnBoard, system_pointer
from ...inputs.nested import NamedCounts
from ...inputs.quoting import quoted
from ...statistics.counts import board_totals_warning
from ...statistics.label_match import GoldLabels
from ...statistics.paired import StatisticSpec
from ...statistics.pairwise.gold import PAIRWISE
from ...statistics.repeats import per_item_systems
from ...statistics.summary_rows import summary_warning
from ...statistics.systems import SystemColumn, Systems, SystemsKind
from ..item_columns import (
    events_for,
    gold_column,
    groups_for,
    labels_of,
    require_taken,
    score_column,
    weights_for,
)
from ..messages import Limits
from ..pointers import PointerMap
from ..schema.compare import CompareKind
from ..segments import TEXT_STATISTICS, references, texts
from .given import GivenBoard
from .names import require_names

NAMED_SYSTEMS = 5


@dataclass(frozen=True, slots=True)
class Board:
    """The systems of one data set, where their items stand in what was sent, and warnings about the data."""

    systems: Systems
    pointer_map: PointerMap
    warnings: tuple[WarningRecord, ...]


def require_systems(board: GivenBoard, kind: CompareKind, limits: Limits) -> None:
    """Refuse too few systems or too many, their names, and gold where it is not needed or missing.

    Raises
    ------
    InvalidTest
        Pointers are `/systems`, `/systems/<name>` and `/gold`.
    BodyTooLarge
        A column has more items than the server accepts.
    """
    n = len(board.systems)
    if n < 2:
        detail = f"A comparison needs at least two systems; there {'is one' if n else 'is none'}."
        raise InvalidTest.at("/systems", "too_few_systems", detail)
    if n > limits.max_systems:
        detail = f"There are {n:,} systems; this server compares at most {limits.max_systems:,}."
        raise InvalidTest.at("/systems", "too_many_systems", detail)
    require_names(board.systems, "system", system_pointer, limits.max_name_chars)
    if kind == "predictions" and board.gold is None:
        raise InvalidTest.at("/gold", "missing", "Predictions need gold: give the items' gold labels.")
    if kind != "predictions" and board.gold is not None:
        detail = f"gold goes with predictions; {kind} are already scored. Leave gold out, or set kind to predictions."
        raise InvalidTest.at("/gold", "superfluous", detail)
    for column in board.systems.values():
        if len(column) > limits.max_items:
            detail = f"A system has {len(column):,} items; at most {limits.max_items:,} are allowed."
            raise BodyTooLarge(detail)


def board_of(
    given: GivenBoard,
    kind: CompareKind,
    spec: StatisticSpec,
    on_missing: OnMissingOnBoard,
    decimals: int | None,
) -> Board:
    """Align and check the systems of one data set.

    Raises
    ------
    InvalidTest
        As `inputs.alignment.align`; or the counts have other names, texts are no texts, labels another type than gold's.
        Pointers are into the data set as it was given.
    """
    with relocated(given.whole):
        aligned = given.align(on_missing)
    pointer_map = given.pointer_map(aligned)
    with relocated(pointer_map):
        columns = {
            name: _column(column, aligned, system_pointer(name), decimals)
            for name, column in given.systems.items()
        }
        gold = None if given.gold is None else _column(given.gold, aligned, GOLD, None)
        if kind == "counts":
            _require_same_counts(columns)
        systems_kind: SystemsKind = kind
        if kind == "predictions" and spec.name in TEXT_STATISTICS:
            systems_kind = "segments"
            columns = {name: texts(column, system_pointer(name)) for name, column in columns.items()}
            gold = references(gold or ())
        present = {
            name: aligned.present[system_pointer(name)]
            for name in columns
            if system_pointer(name) in aligned.present
        }
        if systems_kind == "scores":
            by_pointer = {system_pointer(name): column for name, column in columns.items()}
            places = {system_pointer(name): own for name, own in present.items()}
            reduced = per_item_systems(by_pointer, places, spec)
            columns = {name: reduced[system_pointer(name)] for name in columns}
        if systems_kind == "predictions":
            columns = {name: _outputs(column, spec, system_pointer(name)) for name, column in columns.items()}
            gold = gold_column(gold, spec, GOLD) if spec.name in PAIRWISE else labels_of(gold, GOLD)
        if kind == "predictions":
            require_taken(spec, given.groups, given.event)
        elif given.groups is not None or given.event is not None:
            where = "groups" if given.groups is not None else "event"
            detail = f"{where} goes with predictions that are compared in pairs: leave it out."
            raise InvalidTest.at(f"/{where}", "superfluous", detail)
        if given.weights is not None and kind != "scores":
            detail = f"weights goes with scores; the items of {kind} have none: leave weights out."
            raise InvalidTest.at("/weights", "superfluous", detail)
        systems = Systems(
            systems_kind,
            cast(Mapping[str, SystemColumn], columns),
            gold,
            aligned.pairing,
            present,
            weights_for(given.weights, aligned.items),
            groups_for(given.groups, aligned.items),
            events_for(given.event, aligned.items),
        )
        warnings = (
            *_of_items(systems, aligned, on_missing),
            *_of_labels(systems, spec),
            *_of_totals(systems, spec),
        )
    return Board(systems, pointer_map, warnings)


def _column(given: Given, aligned: Aligned, pointer: str, decimals: int | None) -> Any:
    """The values of one system in the common order."""
    values: Any = given.values if isinstance(given, ById | Gapped) else given
    order = aligned.order[pointer]
    if order is not None:
        values = nested.taken(values, order)
    if isinstance(values, NamedCounts):
        return values.columns
    return values if decimals is None else nested.to_decimals(values, decimals)


def _outputs(column: Any, spec: StatisticSpec, pointer: str) -> Any:
    """Scores of a statistic of pairs, or labels."""
    return score_column(column, pointer) if spec.name in PAIRWISE else labels_of(column, pointer)


def _require_same_counts(columns: Mapping[str, Mapping[str, Any]]) -> None:
    first, wanted = next((name, set(column)) for name, column in columns.items())
    for name, column in columns.items():
        if set(column) != wanted:
            odd = min(set(column) ^ wanted)
            has, lacks = (name, first) if odd in column else (first, name)
            detail = f"All systems need the same counts: {quoted(has)} has {quoted(odd)} and {quoted(lacks)} has not."
            raise InvalidTest.at(system_pointer(name), "different_counts", detail)


def _of_items(systems: Systems, aligned: Aligned, on_missing: OnMissingOnBoard) -> tuple[WarningRecord, ...]:
    """Warnings about rows of averages among the items, and about items that were left out."""
    warnings = []
    summary = summary_warning(aligned.pairing)
    if summary is not None:
        warnings.append(WarningRecord(summary.code, summary.detail))
    largest = aligned.pairing.largest
    if on_missing == "complete" and largest is not None and aligned.n < largest:
        detail = (
            f"{aligned.n:,} items were compared, those that all systems have, out of {largest:,} (on_missing: "
            "complete)."
        )
        if 2 * aligned.n < largest:
            detail += " The rest may not be representative: check that the ids are spelled the same and that no run stopped early."
        warnings.append(WarningRecord("items_left_out", detail))
    if systems.present:
        names = ", ".join(quoted(name) for name in list(systems.present)[:NAMED_SYSTEMS])
        more = (
            f" and {len(systems.present) - NAMED_SYSTEMS:,} more"
            if len(systems.present) > NAMED_SYSTEMS
            else ""
        )
        detail = (
            f"Not all systems have all {aligned.n:,} items (on_missing: pairwise): {names}{more}. Each pair is tested on the "
            "items that both have, and each score is over a system's own items, so that scores may be of different items."
        )
        warnings.append(WarningRecord("items_differ", detail))
    return tuple(warnings)


def _of_totals(systems: Systems, spec: StatisticSpec) -> tuple[WarningRecord, ...]:
    """The warning that one system was run more often than another, by the totals of its counts."""
    found = board_totals_warning(systems, spec) if systems.kind == "counts" else None
    return () if found is None else (WarningRecord(found.code, found.detail),)


def _of_labels(systems: Systems, spec: StatisticSpec) -> tuple[WarningRecord, ...]:
    """Warnings about labels that cannot match gold's; raises InvalidTest where that is certain."""
    if systems.kind != "predictions" or spec.name in PAIRWISE:
        return ()
    gold = GoldLabels(cast(Any, systems.gold), spec)
    return tuple(
        WarningRecord(warning.code, warning.detail)
        for name, column in systems.columns.items()
        for warning in gold.warnings(quoted(name), cast(Any, column), system_pointer(name))
    )
