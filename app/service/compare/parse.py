"""A body and its query become a `ParsedCompare`: what is compared, as inference takes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from ...errors import InvalidTest, pointer_token, relocated
from ...execution.ipc import UNBOUNDED, Control
from ...inference.compare.comparison import Comparison
from ...inference.compare.record import MOST_LISTED
from ...inference.options import Options
from ...inference.record import ReadingRecord, WarningRecord
from ...inputs import json_body
from ...inputs.alignment import system_pointer
from ...inputs.formats.metrics import two_metrics
from ...inputs.quoting import quoted
from ...inputs.sides import unit_mismatch
from ...statistics.direction import of_kind, of_name
from ...statistics.paired import StatisticSpec
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
        spec = _spec(choices) if decoded.spec is None else decoded.spec
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
    comparison = Comparison(
        datasets={name: board.systems for name, board in boards.items()},
        spec=spec,
        options=Options(**chosen, metric=decoded.metric, higher_is_better=higher),
        design=which,
        baseline=choices.baseline,
        pairs=pairs,
        adjust=choices.adjust,
        family=design.family_of(choices),
        aggregate=aggregate,
        combine=choices.combine,
        listed="all"
        if choices.pairs == "auto" and (n <= MOST_LISTED or which != "all_pairs")
        else choices.pairs,
    )
    warnings = (
        *decoded.warnings,
        *turned,
        *(_of_sides(boards, decoded.metric) if higher else ()),
        *_of_boards(boards),
    )
    pointer_map = chained(_in_boards(boards), decoded.pointer_map)
    return ParsedCompare(
        comparison, _deadline(choices, job), pointer_map, decoded.reading, warnings, store_of(choices)
    )


MOST_NAMES = 1_000  # of more systems the names are not looked at
_CHOSEN = frozenset(CompareChoices.model_fields) - {"higher_is_better"}


def _spec(choices: CompareChoices) -> StatisticSpec:
    statistic = validated(STATISTIC_MODELS[choices.kind], choices.statistic or {}, prefix="/statistic")
    return spec_of(statistic, choices.kind)


def _deadline(choices: CompareChoices, job: Job) -> float | None:
    """The shortest deadline in seconds that body and query ask for, within the server's limit; None for its default."""
    timeouts = [seconds for seconds in (choices.timeout_s, job.timeout_s) if seconds is not None]
    return min([job.limits.max_timeout_s, *timeouts]) if timeouts else None


OF_A_DATASET = frozenset(("systems", "scores", "gold", "ids", "clusters", "weights", "groups", "event"))


def _in_dataset(name: str | None) -> PointerMap:
    """The map for pointers into one data set of a JSON request; places in tables and files have no data set."""
    prefix = "" if name is None else f"/datasets/{pointer_token(name)}"
    return lambda pointer: prefix + pointer if pointer[1:].split("/")[0] in OF_A_DATASET else pointer


def _in_boards(boards: Mapping[str | None, Board]) -> PointerMap:
    """The map for pointers to items in the boards' common orders."""
    by_token = {None if name is None else pointer_token(name): name for name in boards}

    def pointer_map(pointer: str) -> str:
        if None in by_token:
            return boards[None].pointer_map(pointer)
        tokens = pointer.split("/", 3)
        if len(tokens) < 4 or tokens[1] != "datasets" or tokens[2] not in by_token:
            return pointer
        name = by_token[tokens[2]]
        return _in_dataset(name)(boards[name].pointer_map("/" + tokens[3]))

    return pointer_map


def _of_sides(boards: Mapping[str | None, Board], metric: str | None) -> tuple[WarningRecord, ...]:
    """Warnings where the systems of a board have different units, or are named after different metrics."""
    warnings = []
    for name, board in boards.items():
        if board.systems.kind != "scores":
            continue
        within = "" if name is None else f"{quoted(name)}: "
        columns: Any = board.systems.columns
        two = two_metrics(list(columns)) if len(columns) <= MOST_NAMES else None
        if two is not None:
            warnings.append(WarningRecord("metric_mismatch", within + two))
        units = unit_mismatch(columns, metric)
        if units is not None:
            share, percent = map(quoted, units)
            detail = f"{within}the scores of {share} lie between 0 and 1 and those of {percent} are as large as percent: they seem to have different units."
            warnings.append(WarningRecord("unit_mismatch", detail))
    return tuple(warnings)


def _of_boards(boards: Mapping[str | None, Board]) -> tuple[WarningRecord, ...]:
    """The warnings about the data, which name their data set where there are several."""
    return tuple(
        warning if name is None else WarningRecord(warning.code, f"{quoted(name)}: {warning.detail}")
        for name, board in boards.items()
        for warning in board.warnings
    )
