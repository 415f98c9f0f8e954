"""A body and its query become a `ParsedCompare`: what is compared, as inference takes it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from ...errors import InvalidTest, pointer_token, relocated
from ...execution.ipc import UNBOUNDED, Control
from ...inference.compare.comparison import Comparison
from ...inference.compare.pair_data import pair_data
from ...inference.compare.record import MOST_LISTED
from ...inference.options import Options
from ...inference.record import ReadingRecord, WarningRecord
from ...inputs import json_body
from ...inputs.alignment import system_pointer
from ...inputs.formats.metrics import two_metrics
from ...inputs.quoting import quoted
from ...inputs.sides import unit_mismatch
from ...statistics.corpus import counting_seconds
from ...statistics.direction import of_kind, of_name
from ...statistics.paired import Segments
from ...statistics.systems import Systems
from ..media_types import CSV, JSON, MULTIPART, NDJSON, TSV
from ..messages import Job
from ..parse import settled
from ..pointers import PointerMap, chained
from ..query import ELSEWHERE, OF_A_BOARD, options_of_query
from ..schema.compare import CompareChoices
from ..schema.fields import NO_BOOLEANS
from ..schema.statistics import STATISTIC_MODELS, spec_of
from ..storing import store_of
from ..validation import validated
from . import design, files, json_request
from .board import Board, DecodedCompare, board_of, require_names, require_systems
from .options import SYSTEMS, beside_body, in_query, options_of_board

NAMED_SYSTEMS = 5


@dataclass(frozen=True, slots=True)
class ParsedCompare:
    """A comparison, decoded and validated.

    `pointer_map` turns pointers of the comparison (`/systems/A/17`, `/datasets/mmlu/systems/A/17`, `/adjust`) into
    pointers into what the client sent. `reading` says how files were read, None where there were none.
    """

    comparison: Comparison
    timeout_s: float | None
    pointer_map: PointerMap = str
    reading: ReadingRecord | None = None
    warnings: tuple[WarningRecord, ...] = ()
    store: bool | None = None

    @property
    def counting_seconds(self) -> float:
        """Predicted seconds for counting the texts of all systems, which comes before a plan; else 0."""
        seconds = 0.0
        for systems in self.comparison.datasets.values():
            some = pair_data(systems, *systems.names[:2]) if systems.kind == "segments" else None
            if isinstance(some, Segments):
                # Each system is counted once; where systems lack items, for each of its pairs.
                k = len(systems.names)
                times = k * (k - 1) / 2 if systems.present else k / 2
                seconds += times * counting_seconds(some, self.comparison.spec)
        return seconds


def parse_compare(job: Job, body: bytes | bytearray, control: Control = UNBOUNDED) -> ParsedCompare:
    """Decode, validate and align a body without content coding; raises InputError."""
    return comparison_of(_decoded(job, body, control), job)


def _decoded(job: Job, body: bytes | bytearray, control: Control) -> DecodedCompare:
    media_type = job.body.media_type
    if media_type in (CSV, TSV, NDJSON):
        return files.parse_body(job, body)
    if media_type in (JSON, MULTIPART):
        options_of_query(job.query, (*ELSEWHERE, *OF_A_BOARD))
        if media_type == MULTIPART:
            return files.parse_form(job, body, control)
        read = json_body.decode(body)
        return json_request.decoded(read.value, {NO_BOOLEANS: read.no_booleans})
    with relocated(in_query):
        known = (SYSTEMS, *ELSEWHERE, *OF_A_BOARD)
        members, systems = options_of_board(job.query, lambda name: f"/?{name[:40]}", extra=known)
        choices = validated(CompareChoices, members)
        boards = files.of_array(body, systems, may_be_missing=choices.on_missing != "error")
    return DecodedCompare(choices, boards, beside_body)


def comparison_of(decoded: DecodedCompare, job: Job) -> ParsedCompare:
    """The comparison of what was decoded; raises InputError."""
    choices, limits = decoded.choices, job.limits
    several = None not in decoded.boards
    with relocated(decoded.pointer_map):
        if choices.samples > limits.max_samples:
            detail = f"At most {limits.max_samples:,} samples are allowed."
            raise InvalidTest.at("/samples", "too_many_samples", detail)
        design.require_sense(choices, several=several)
        spec = decoded.spec
        if spec is None:
            model = STATISTIC_MODELS[choices.kind]
            spec = spec_of(validated(model, choices.statistic or {}, prefix="/statistic"), choices.kind)
        if several:
            names = [name for name in decoded.boards if name is not None]
            require_names(
                names, "data set", lambda name: f"/datasets/{pointer_token(name)}", limits.max_name_chars
            )
        for name, given in decoded.boards.items():
            with relocated(_in_dataset(name)), relocated(given.whole):
                require_systems(given, choices.kind, limits)
        systems = {name: tuple(given.systems) for name, given in decoded.boards.items()}
        if several:  # A in one data set and "A " in another would be two systems
            every = {one: name for name, own in systems.items() for one in own}
            require_names(
                sorted(every),
                "system",
                lambda one: _in_dataset(every[one])(system_pointer(one)),
                limits.max_name_chars,
            )
        aggregate = design.aggregate_of(choices, several=several)
        design.require_common(choices, systems)
        design.require_named(choices, systems)
        n = design.require_few(choices, systems, aggregate, limits)
        boards: dict[str | None, Board] = {}
        for name, given in decoded.boards.items():
            with relocated(_in_dataset(name)):
                boards[name] = board_of(given, choices.kind, spec, choices.on_missing, choices.decimals)
        kind = next(iter(boards.values())).systems.kind
        known = of_kind(kind, spec, decoded.metric) if decoded.known is None else decoded.known
        lower = all(of_name(one) is False for own in systems.values() for one in own)
        higher, turned = settled(
            choices.higher_is_better, known, decoded.metric or spec.name, "board", "/higher_is_better",
            plain=kind == "scores" and decoded.metric is None and not lower,
        )  # fmt: skip
    which, pairs = design.design_of(choices)
    chosen = {
        option.name: getattr(choices, option.name) for option in fields(Options) if option.name in _CHOSEN
    }
    all_listed = choices.pairs == "auto" and (n <= MOST_LISTED or which != "all_pairs")
    comparison = Comparison(
        datasets={name: board.systems for name, board in boards.items()},
        spec=spec,
        options=Options(**chosen, metric=decoded.metric, higher_is_better=higher),
        design=which,
        pairs=pairs,
        family=choices.family or "dataset",
        aggregate=aggregate,
        listed="all" if all_listed else choices.pairs,
        **{name: getattr(choices, name) for name in ("baseline", "adjust", "combine")},
    )
    sides = {
        name: _of_sides(board.systems, decoded.metric) if higher else () for name, board in boards.items()
    }
    own = {name: board.warnings for name, board in boards.items()}
    of_boards = _named((name, each) for found in (sides, own) for name in boards for each in found[name])
    return ParsedCompare(
        comparison, job.deadline_s(choices.timeout_s), chained(_in_boards(boards), decoded.pointer_map), decoded.reading,
        (*decoded.warnings, *turned, *of_boards), store_of(choices),
    )  # fmt: skip


MOST_NAMES = 1_000  # of more systems the names are not looked at
_CHOSEN = frozenset(CompareChoices.model_fields) - {"higher_is_better"}


OF_A_DATASET = frozenset(("systems", "scores", "gold", "ids", "clusters", "weights", "groups", "event"))


def _prefix(name: str | None) -> str:
    return "" if name is None else f"/datasets/{pointer_token(name)}"


def _in_dataset(name: str | None) -> PointerMap:
    """The map for pointers into one data set of a JSON request; places in tables and files have no data set."""
    prefix = _prefix(name)
    return lambda pointer: prefix + pointer if pointer[1:].split("/")[0] in OF_A_DATASET else pointer


def _in_boards(boards: Mapping[str | None, Board]) -> PointerMap:
    """The map for pointers to items in the boards' common orders."""

    def pointer_map(pointer: str) -> str:
        for name, board in boards.items():
            if pointer.startswith(f"{_prefix(name)}/"):
                return _in_dataset(name)(board.pointer_map(pointer.removeprefix(_prefix(name))))
        return pointer

    return pointer_map


def _of_sides(systems: Systems, metric: str | None) -> Iterator[WarningRecord]:
    """Warnings where the systems of a board have different units, or are named after different metrics."""
    columns: Any = systems.columns if systems.kind == "scores" else {}
    two = two_metrics(list(columns)) if 0 < len(columns) <= MOST_NAMES else None
    if two is not None:
        yield WarningRecord("metric_mismatch", two)
    units = unit_mismatch(columns, metric) if columns else None
    if units is not None:
        share, percent = map(quoted, units)
        detail = f"the scores of {share} lie between 0 and 1 and those of {percent} are as large as percent: they seem to have different units."
        yield WarningRecord("unit_mismatch", detail)


def _named(warnings: Iterable[tuple[str | None, WarningRecord]]) -> Iterator[WarningRecord]:
    """Warnings about data sets, which are named where there are several."""
    for name, warning in warnings:
        yield warning if name is None else replace(warning, detail=f"{quoted(name)}: {warning.detail}")
