"""A comparison as CSV: its systems, or its pairs, of all boards."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import repeat
from typing import Any, Literal

from ...inference.compare.record import LEFT_OUT, CompareRecord, PairRecord, SystemRecord
from ..csv_row import boolean, listed, optional, written
from ..escaping import for_csv
from .words import NamedBoard, all_warnings, kinds, named_boards, warned


def compare_csv(record: CompareRecord, compare_id: str, table: Literal["systems", "pairs"]) -> str:
    """A row for each system, best first, or for each listed pair; the overall board first, then each data set.

    Numbers are in full, empty where there is no value, and every column is always there. `board` is overall, dataset,
    or empty for the only one. `notes` are in the first row alone.
    """
    rows = _system_rows(record, compare_id) if table == "systems" else _pair_rows(record, compare_id)
    heads = _SYSTEM if table == "systems" else _PAIR
    return written(list(rows), ["id", "board", "dataset", *heads, *_BOARD])


def _system_rows(record: CompareRecord, compare_id: str) -> Iterator[dict[str, str]]:
    notes = _notes(record)
    for named in named_boards(record):
        before, after = _before(named, compare_id), _after(record, named)
        for system in named.board.systems:
            yield before | {name: cell(system) for name, cell in _SYSTEM.items()} | after | next(notes)


def _pair_rows(record: CompareRecord, compare_id: str) -> Iterator[dict[str, str]]:
    notes = _notes(record)
    for named in named_boards(record.as_listed()):
        before, after = _before(named, compare_id), _after(record, named)
        for pair in named.board.pairs:
            yield before | {name: cell(pair) for name, cell in _PAIR.items()} | after | next(notes)


def _before(named: NamedBoard, compare_id: str) -> dict[str, str]:
    return {"id": compare_id, "board": named.scope, "dataset": for_csv(named.dataset)}


def _after(record: CompareRecord, named: NamedBoard) -> dict[str, str]:
    family = named.board.family
    codes = dict.fromkeys(warning.code for warning in (*record.warnings, *named.board.warnings))
    cells = (
        for_csv(record.statistic),
        for_csv(record.metric or ""),
        boolean(record.higher_is_better),
        record.compare,
        for_csv(record.baseline or ""),
        family.adjust,
        str(family.size),
        repr(family.alpha),
        " ".join(f"{kind}:{count}" for kind, count in kinds(named.board).items()),
        " ".join(codes),
    )
    return dict(zip(_BOARD[:-1], cells, strict=True))


def _notes(record: CompareRecord) -> Iterator[dict[str, str]]:
    """How files were read, and which pairs are not here, in the first row alone: a board has thousands of pairs."""
    fewer = [warned(of, warning) for of, warning in all_warnings(record) if warning.code == LEFT_OUT]
    yield {"notes": listed((*(() if record.reading is None else record.reading.notes), *fewer))}
    yield from repeat({"notes": ""})


def _flag(value: bool | None) -> str:
    return "" if value is None else boolean(value)


def _of_interval(name: str) -> Callable[[PairRecord], str]:
    def cell(pair: PairRecord) -> str:
        value: Any = getattr(pair.confidence_interval, name, None)
        return value if isinstance(value, str) else optional(value)

    return cell


_SYSTEM: dict[str, Callable[[SystemRecord], str]] = {
    "name": lambda one: for_csv(one.name),
    "score": lambda one: repr(one.score),
    "n": lambda one: str(one.n),
    "rank": lambda one: str(one.rank),
    "rank_low": lambda one: optional(one.rank_low),
    "rank_high": lambda one: optional(one.rank_high),
    "cluster": lambda one: optional(one.cluster),
    "tier": lambda one: optional(one.tier),
    "letters": lambda one: one.letters or "",
    "in_best_set": lambda one: _flag(one.in_best_set),
    "better_than": lambda one: optional(one.better_than),
    "worse_than": lambda one: optional(one.worse_than),
}
_PAIR: dict[str, Callable[[PairRecord], str]] = {
    "u": lambda one: for_csv(one.u),
    "v": lambda one: for_csv(one.v),
    "n": lambda one: str(one.n),
    "difference": lambda one: repr(one.difference),
    "p_value": lambda one: repr(one.p_value),
    "log10_p_value": lambda one: repr(one.log10_p_value),
    "p_value_low": lambda one: repr(one.p_value_bounds[0]),
    "p_value_high": lambda one: repr(one.p_value_bounds[1]),
    "p_value_bounds_kind": lambda one: one.p_value_bounds_kind,
    "p_adjusted": lambda one: repr(one.p_adjusted),
    "log10_p_adjusted": lambda one: repr(one.log10_p_adjusted),
    "p_adjusted_low": lambda one: repr(one.p_adjusted_bounds[0]),
    "p_adjusted_high": lambda one: repr(one.p_adjusted_bounds[1]),
    "p_adjusted_bounds_kind": lambda one: one.p_adjusted_bounds_kind,
    "relation": lambda one: one.relation,
    "min_attainable_p": lambda one: optional(one.min_attainable_p),
    "wins": lambda one: str(one.wins),
    "ties": lambda one: str(one.ties),
    "losses": lambda one: str(one.losses),
    "method": lambda one: one.method,
    "exact": lambda one: boolean(one.exact),
    "confidence_level": _of_interval("level"),
    "interval_low": _of_interval("low"),
    "interval_high": _of_interval("high"),
    "interval_method": _of_interval("method"),
    "interval_kind": _of_interval("kind"),
}
_BOARD = (
    "statistic", "metric", "higher_is_better", "compare", "baseline", "adjust", "family_size", "alpha", "certainty",
    "warnings", "notes",
)  # fmt: skip
