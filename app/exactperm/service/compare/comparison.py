"""A comparison of many systems: from a body and its query to the input of inference, and to parts for several workers."""

from __future__ import annotations

import math
import pickle
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from ...answers.board import MOST_LISTED, Aggregate, Design
from ...answers.plan import BoardPlanRecord, ComparePlanRecord
from ...answers.test import ReadingRecord, WarningRecord
from ...errors import Choice, InputError, InvalidTest, PointerMap, choices_of, located, pointer_token
from ...execution.ipc import UNBOUNDED, Control, Function, Part, Split
from ...inference.compare.compare import PreparedCompare, of_cost, prefix_of, prepare_compare
from ...inference.compare.pair_tests import PairTests, concatenated
from ...inference.compare.systems import Comparison, pair_data, system_sizes
from ...inference.options import Options
from ...inputs.alignment import PairedColumns, system_pointer
from ...inputs.formats.roles import two_metrics
from ...inputs.quoting import quoted, some
from ...statistics.corpus import counting_seconds
from ...statistics.names import of_kind, of_name
from ...statistics.paired import Segments, StatisticSpec, Systems
from ..documents import json_of
from ..kinds import JSON, MULTIPART, NPY
from ..messages import Job, Limits, store_of
from ..parse import chosen_of, refuse_samples, settled, unit_mismatch
from ..query import ELSEWHERE, OF_A_BOARD, options_of_query
from ..schema.compare import CompareChoices
from ..schema.fields import STATISTIC_MODELS, spec_of
from ..validation import chained, prefixed, validated
from . import carriers
from .board import Board, DecodedCompare, board_of, require_names, require_systems

NAMED_SYSTEMS = 5
MOST_NAMES = 1_000  # with more systems, names are not checked
OF_A_DATASET = frozenset(("systems", "scores", *carriers.OF_A_DATASET))
NOT_ATTAINABLE = ("monte_carlo", "bounds")

AGAINST_IT = (Choice("Compare each system with it", {"compare": "baseline"}),)
BOTH_WAYS = (Choice("Test both ways", {"alternative": "two-sided"}),)
HOLM_OR_EXACT = (Choice("Adjust by Holm", {"adjust": "holm"}), Choice("The method auto", {"method": "auto"}))
# The systems' names by data set; a single board has the key None.
Names = Mapping[str | None, Sequence[str]]
Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class ParsedCompare:
    """A comparison, decoded and validated.

    `pointer_map` turns pointers of the comparison (`/systems/A/17`, `/datasets/mmlu/systems/A/17`, `/adjust`) into
    pointers into the client's data. `reading` tells how files were read; None without files.
    """

    comparison: Comparison
    timeout_s: float | None
    pointer_map: PointerMap = str
    reading: ReadingRecord | None = None
    warnings: tuple[WarningRecord, ...] = ()
    store: bool | None = None

    @property
    def counting_seconds(self) -> float:
        """Predicted seconds for counting the texts of all systems, which precedes a plan; else 0."""
        seconds = 0.0
        for systems in self.comparison.datasets.values():
            first = pair_data(systems, *systems.names[:2]) if systems.kind == "segments" else None
            if isinstance(first, Segments):
                # Each system is counted once, or once per pair if systems lack items.
                k = len(systems.names)
                times = k * (k - 1) / 2 if systems.present else k / 2
                seconds += times * counting_seconds(first, self.comparison.spec)
        return seconds


def parse_compare(job: Job, body: bytes | bytearray, control: Control = UNBOUNDED) -> ParsedCompare:
    """Decode, validate and align a body without content coding; raises InputError."""
    media_type = job.body.media_type
    if media_type in (JSON, MULTIPART):
        options_of_query(job.query, (*ELSEWHERE, *OF_A_BOARD))
    if media_type == MULTIPART:
        decoded = carriers.parse_form(job, body, control)
    elif media_type == JSON:
        decoded = carriers.of_json(*json_of(body))
    elif media_type == NPY:
        decoded = carriers.of_array(job, body)
    else:
        decoded = carriers.parse_body(job, body)
    return comparison_of(decoded, job)


def comparison_of(decoded: DecodedCompare, job: Job) -> ParsedCompare:
    """Build the comparison from the decoded request; raises InputError."""
    choices, limits = decoded.choices, job.limits
    several = None not in decoded.boards
    places = decoded.pointer_map
    try:
        refuse_samples(choices.samples, limits)
        _require_sense(choices, several=several)
        spec = decoded.spec
        if spec is None:
            model = STATISTIC_MODELS[choices.kind]
            spec = spec_of(validated(model, choices.statistic or {}, prefixed("/statistic")), choices.kind)
        if several:
            names = [name for name in decoded.boards if name is not None]
            require_names(names, "data set", lambda name: f"/datasets/{pointer_token(name)}", limits)
        for name, columns in decoded.boards.items():
            places = chained(chained(columns.whole, _in_dataset(name)), decoded.pointer_map)
            require_systems(columns, choices.kind, limits)
        places = decoded.pointer_map
        systems = {name: tuple(columns.systems) for name, columns in decoded.boards.items()}
        if several:  # "A" in one data set and "A " in another would be two systems
            every = {system: name for name, names_of_set in systems.items() for system in names_of_set}
            place = {one: _in_dataset(name)(system_pointer(one)) for one, name in every.items()}
            require_names(sorted(every), "system", lambda one: place.get(one, "/systems"), limits)
        design, pairs, aggregate, n = _designed(choices, systems, limits)
        boards: dict[str | None, Board] = {}
        for name, columns in decoded.boards.items():
            places = chained(_in_dataset(name), decoded.pointer_map)
            boards[name] = board_of(
                columns, choices.kind, spec, choices.on_missing, choices.decimals, choices.exchange
            )
        places = decoded.pointer_map
        cost = None
        if decoded.cost is not None:
            cost = _costs(decoded.cost, boards[None].systems, choices, limits)
        kind = next(iter(boards.values())).systems.kind
        known = of_kind(kind, spec, decoded.metric) if decoded.known is None else decoded.known
        lower = all(
            of_name(of_column) is False for of_columns in systems.values() for of_column in of_columns
        )
        higher, turned = settled(
            choices.higher_is_better, known, decoded.metric or spec.name, "board", "/higher_is_better",
            plain=kind == "scores" and decoded.metric is None and not lower,
        )  # fmt: skip
    except InvalidTest as error:
        raise located(error, places) from None
    all_listed = choices.pairs == "auto" and (n <= MOST_LISTED or design != "all_pairs")
    comparison = Comparison(
        datasets={name: board.systems for name, board in boards.items()},
        spec=spec,
        options=Options(
            **chosen_of(choices, "higher_is_better"), metric=decoded.metric, higher_is_better=higher
        ),
        design=design,
        pairs=pairs,
        family=choices.family or "dataset",
        aggregate=aggregate,
        listed="all" if all_listed else choices.pairs,
        **{name: getattr(choices, name) for name in ("baseline", "adjust", "combine", "range")},
        cost=cost,
        wins=decoded.wins,
    )
    sides = {
        name: _of_sides(board.systems, decoded.metric) if higher else () for name, board in boards.items()
    }
    of_columns = {name: board.warnings for name, board in boards.items()}
    of_boards = _named(
        (name, each) for warnings in (sides, of_columns) for name in boards for each in warnings[name]
    )
    return ParsedCompare(
        comparison, job.deadline_s(choices.timeout_s), chained(_in_boards(boards), decoded.pointer_map), decoded.reading,
        (*decoded.warnings, *turned, *of_boards), store_of(choices),
    )  # fmt: skip


def _costs(costs: PairedColumns, systems: Systems, choices: CompareChoices, limits: Limits) -> Systems:
    """The costs of the systems, on as many items; raises InvalidTest at `/frontier/cost[/<system>]`."""
    names, most = systems.names, min(limits.max_comparisons, MOST_LISTED)
    if tuple(sorted(costs.systems)) != names:
        lacking = min(set(names) ^ set(costs.systems))
        detail = f"Give a cost for every system, by the same names: {quoted(lacking)} is not in both."
        raise InvalidTest.at("/frontier/cost", "different_systems", detail)
    if len(names) * (len(names) - 1) > most:
        detail = f"A frontier compares every system with every other, in both orders: at most {most:,} pairs. Give fewer systems."
        raise InvalidTest.at("/frontier", "too_many_comparisons", detail)
    try:
        cost = board_of(costs, "scores", StatisticSpec("mean_difference"), choices.on_missing, None).systems
    except InvalidTest as error:
        raise located(error, of_cost) from None
    for name, n, n_costs in zip(names, system_sizes(systems), system_sizes(cost), strict=True):
        if n != n_costs:
            detail = f"{quoted(name)} has {n_costs:,} costs for {n:,} items: give one for each."
            raise InvalidTest.at(of_cost(system_pointer(name)), "length_mismatch", detail)
    return cost


# The compared pairs


def _require_sense(choices: CompareChoices, *, several: bool) -> None:
    """Refuse options that contradict each other with any data; raises InvalidTest."""
    if choices.compare != "baseline" and choices.baseline is not None:
        detail = "`baseline` needs `compare=baseline`: set that, or leave `baseline` out."
        raise InvalidTest.at("/baseline", "superfluous", detail, AGAINST_IT)
    if choices.compare == "all_pairs" and choices.alternative != "two-sided":
        detail = (
            "All pairs are compared two-sided: u is the better ranked system of a pair, so the data would "
            "choose the side. Set `alternative=two-sided`; or for a one-sided test set `compare=baseline`, "
            "or `compare` to a list of pairs."
        )
        raise InvalidTest.at("/alternative", "one_sided_all_pairs", detail, BOTH_WAYS)
    if choices.adjust == "holm_discrete" and choices.method in NOT_ATTAINABLE:
        detail = (
            f"holm_discrete needs the exact null distribution of every test, which method {choices.method} does not give: set "
            "`adjust=holm`, or `method=auto`."
        )
        raise InvalidTest.at("/adjust", "adjust_needs_exact_tests", detail, HOLM_OR_EXACT)
    if choices.range is not None and choices.confidence_level is None:
        detail = "`range` is for the intervals of systems: set `confidence_level`, or leave it out."
        raise InvalidTest.at("/range", "redundant", detail)
    if choices.decimals is not None and choices.kind != "scores":
        raise InvalidTest.at(
            "/decimals", "superfluous", f"decimals rounds scores; {choices.kind} are not rounded."
        )
    if not several:
        for name in ("family", "aggregate", "combine"):
            if name in choices.model_fields_set and getattr(choices, name) is not None:
                detail = (
                    f"{name} is for several data sets, and there is one: give datasets, or leave {name} out."
                )
                raise InvalidTest.at(f"/{name}", "superfluous", detail)
    elif choices.combine is not None and _aggregate_of(choices) is None:
        detail = (
            "`combine` makes the overall board, which `aggregate=null` leaves out: leave out one of them."
        )
        raise InvalidTest.at("/combine", "superfluous", detail)


def _aggregate_of(choices: CompareChoices) -> Aggregate | None:
    """The overall board of several data sets: macro by default."""
    return choices.aggregate if "aggregate" in choices.model_fields_set else "macro"


def _designed(
    choices: CompareChoices, names: Names, limits: Limits
) -> tuple[Design, tuple[Pair, ...], Aggregate | None, int]:
    """The design, its explicit pairs, the overall board (none by default if data sets share too few systems), and the number of tests.

    Raises InvalidTest: a requested overall board, the baseline or a paired system is not everywhere, or there are too many tests.
    """
    aggregate = None if None in names else _aggregate_of(choices)
    common = sorted(set.intersection(*map(set, names.values())))
    if aggregate is not None and "aggregate" in choices.model_fields_set and len(common) < 2:
        detail = (
            f"The overall board needs at least two systems that all {len(names):,} data sets have; there "
            f"{'is one' if common else 'is none'}. Write the systems' names the same way in all data sets, "
            "or set aggregate to null."
        )
        raise InvalidTest.at("/datasets", "no_common_systems", detail)
    design: Design = "pairs" if isinstance(choices.compare, list) else choices.compare
    pairs: tuple[Pair, ...] = ()
    sizes = [len(of_dataset) for of_dataset in (*names.values(), *([] if aggregate is None else [common]))]
    n = sum(size * (size - 1) // 2 for size in sizes)
    if design == "baseline":
        n = sum(size - 1 for size in sizes)
        baselines = choices_of("baseline", {name: name for name in common})
        if choices.baseline is None:
            detail = "Name the baseline (`baseline`): the system that all others are compared to."
            raise InvalidTest.at("/baseline", "missing", detail, baselines)
        _require(choices.baseline, names, "/baseline", baselines)
    elif design == "pairs":
        pairs = tuple((u, v) for u, v in choices.compare)
        n = len(pairs) * len(sizes)
        _require_pairs(pairs, names)
    if n > limits.max_comparisons:
        detail = (
            f"These are {n:,} comparisons; this server does at most {limits.max_comparisons:,}. Compare to a baseline, or name the "
            "pairs."
        )
        raise InvalidTest.at("/compare", "too_many_comparisons", detail)
    return design, pairs, aggregate, n


def _require_pairs(pairs: Sequence[Pair], names: Names) -> None:
    if not pairs:
        raise InvalidTest.at("/compare", "no_pairs", "There are no pairs to compare; give at least one.")
    seen: set[frozenset[str]] = set()
    for index, pair in enumerate(pairs):
        for side, name in enumerate(pair):
            _require(name, names, f"/compare/{index}/{side}")
        if pair[0] == pair[1]:
            detail = f"{quoted(pair[0])} is paired with itself: give two systems."
            raise InvalidTest.at(f"/compare/{index}", "same_system", detail)
        if frozenset(pair) in seen:
            detail = (
                f"The pair {quoted(pair[0])}, {quoted(pair[1])} occurs twice: its test would count twice in "
                "the adjustment. Remove one."
            )
            raise InvalidTest.at(f"/compare/{index}", "duplicate_pair", detail)
        seen.add(frozenset(pair))


def _require(name: str, names: Names, pointer: str, choices: tuple[Choice, ...] = ()) -> None:
    lacking = [dataset for dataset, of_dataset in names.items() if name not in of_dataset]
    if lacking and len(lacking) == len(names):
        known = sorted({one for of_dataset in names.values() for one in of_dataset})
        detail = f"There is no system {quoted(name)}; there are {some(known)}."
        raise InvalidTest.at(pointer, "unknown_system", detail, choices)
    if lacking:
        where = ", ".join(quoted(dataset) for dataset in lacking[:NAMED_SYSTEMS])
        detail = f"{quoted(name)} is not in every data set, but a baseline and the systems of given pairs must be: not in {where}."
        raise InvalidTest.at(pointer, "system_not_everywhere", detail)


# Places and warnings


def _in_dataset(name: str | None) -> PointerMap:
    """The map for pointers into one data set of a JSON request; tables and files have no data sets."""
    prefix = prefix_of(name)
    return lambda pointer: prefix + pointer if pointer[1:].split("/")[0] in OF_A_DATASET else pointer


def _in_boards(boards: Mapping[str | None, Board]) -> PointerMap:
    def pointer_map(pointer: str) -> str:
        for name, board in boards.items():
            if pointer.startswith(f"{prefix_of(name)}/"):
                return _in_dataset(name)(board.pointer_map(pointer.removeprefix(prefix_of(name))))
        return pointer

    return pointer_map


def _of_sides(systems: Systems, metric: str | None) -> Iterator[WarningRecord]:
    """Warnings about systems of a board with different units or different metrics."""
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
    """Warnings about data sets, named if there are several."""
    for name, warning in warnings:
        yield warning if name is None else replace(warning, detail=f"{quoted(name)}: {warning.detail}")


# Running a comparison or some of its pairs. Several workers run parts of a long one: the first decodes and plans, and
# sends the plan to the others


# A comparison is split if it is this many times longer than a short call.
_LONG = 2.0
# Every part reads the plan, which may take at most this share of its time.
_MOST_AGAIN = 0.25
_CALL_SECONDS = 2e-3
_SECONDS_PER_BYTE = 1e-8


def prepare_comparison(job: Job, parsed: ParsedCompare) -> PreparedCompare:
    """Validate and plan the tests of all pairs; raises InputError."""
    prepared = prepare_compare(parsed.comparison, job.limits.budget)
    return replace(prepared, reading=parsed.reading, warnings=(*parsed.warnings, *prepared.warnings))


def plan_of_comparison(prepared: PreparedCompare) -> ComparePlanRecord:
    """The methods and cost of the comparison, without running it."""
    longest = prepared.longest_seconds
    return ComparePlanRecord(
        tests=prepared.tests,
        seconds=prepared.seconds,
        longest_seconds=longest if math.isfinite(longest) else None,
        boards=tuple(
            BoardPlanRecord(board.name, len(board.names), board.tests, board.planned.methods, board.seconds)
            for board in prepared.boards
        ),
    )


# In parts


@dataclass(frozen=True, slots=True)
class Slice:
    """Some of the pairs of a board, by their position in its plan."""

    board: int
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class Whole:
    """The data of the last call besides the results: the pickled plan, and when computing began (monotonic)."""

    job: Job
    prepared: bytes
    parts: tuple[tuple[Slice, ...], ...]
    started: float
    planning: float


def split_of(
    job: Job, prepared: PreparedCompare, join: Function, started: float, planning: float
) -> Split | None:
    """The parts; None if one worker is as fast. Decoding and planning began at `started` and `planning`."""
    boards = [(board.tests, board.planned.seconds) for board in prepared.boards]
    seconds = sum(seconds_of_board for _, seconds_of_board in boards)
    long_s, workers = job.limits.long_test_seconds, job.limits.workers
    if workers < 2 or not _LONG * long_s < seconds < math.inf:
        return None
    pickled = pickle.dumps(prepared, pickle.HIGHEST_PROTOCOL)
    again = _CALL_SECONDS + _SECONDS_PER_BYTE * len(pickled)
    # Parts that are short calls may run in all workers, with other calls in between.
    share = max(long_s / 2, again / _MOST_AGAIN)
    at_once = workers if again + share <= long_s else workers - 1
    parts = slices_of(boards, min(math.ceil(seconds / share), prepared.tests))
    if min(len(parts), at_once) < 2:
        return None
    each = again + seconds / len(parts)
    return Split(
        function=solved,
        parts=tuple(Part(slices, each) for slices in parts),
        body=pickled,
        join=join,
        job=Whole(job, pickled, parts, started, planning),
        at_once=at_once,
        seconds=len(parts) * each,
        join_seconds=again + prepared.seconds - seconds,  # intervals, adjustment, groups
    )


def slices_of(boards: Sequence[tuple[int, float]], wanted: int) -> tuple[tuple[Slice, ...], ...]:
    """At most `wanted` parts of about the same predicted seconds; `boards` are numbers of tests, and their seconds."""
    share = sum(seconds for _, seconds in boards) / wanted
    parts: list[list[Slice]] = [[] for _ in range(wanted)]
    before = 0.0
    for board, (tests, seconds) in enumerate(boards):
        # A pair belongs to the part that holds the middle of its time.
        middles = before + seconds * (np.arange(tests) + 0.5) / max(tests, 1)
        part_of = np.zeros(tests, np.int64) if share <= 0.0 else (middles / share).astype(np.int64)
        part_of = np.minimum(part_of, wanted - 1)
        edges = [0, *(np.flatnonzero(np.diff(part_of)) + 1).tolist(), tests]
        for start, stop in pairwise(edges if tests else []):
            parts[int(part_of[start])].append(Slice(board, start, stop))
        before += seconds
    return tuple(tuple(part) for part in parts if part)


def solved(slices: tuple[Slice, ...], plan: bytes | bytearray, control: Control) -> bytes | InputError:
    """The tests of one part, or its refusal, pickled; the web process does not read them."""
    prepared: PreparedCompare = pickle.loads(plan)  # noqa: S301  (written by `split_of`)
    try:
        tests = [prepared.boards[each.board].solve(each.start, each.stop) for each in slices]
    except InputError as error:
        return error
    return pickle.dumps(tests, pickle.HIGHEST_PROTOCOL)


def joined(whole: Whole, results: Sequence[bytes | InputError]) -> tuple[PreparedCompare, list[PairTests]]:
    """The plan, and the tests of all parts by board; raises the refusal of a part."""
    prepared: PreparedCompare = pickle.loads(whole.prepared)  # noqa: S301  (written by `split_of`)
    boards: list[list[PairTests]] = [[] for _ in prepared.boards]
    for slices, result in zip(whole.parts, results, strict=True):
        if isinstance(result, InputError):
            raise result
        for each, tests in zip(slices, pickle.loads(result), strict=True):  # noqa: S301  (written by `solved`)
            boards[each.board].append(tests)
    return prepared, [
        concatenated(tests) if tests else board.solve(0, 0)
        for tests, board in zip(boards, prepared.boards, strict=True)
    ]
