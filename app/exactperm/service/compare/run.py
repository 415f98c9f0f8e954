"""Prepare and run a comparison, or some of its pairs: a long one in parts, by several workers. Errors point into what the client sent.

The first worker decodes and plans; the plan is what the others get, so that nothing is decoded twice.
"""

from __future__ import annotations

import math
import pickle
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from ...answers.plan import BoardPlanRecord, ComparePlanRecord
from ...engine.plan import Budget
from ...errors import InputError, relocated
from ...execution.ipc import Function, Part, Split
from ...inference.compare.columns import concatenated
from ...inference.compare.compare import prepare_compare
from ...inference.compare.pair_tests import PairTests
from ...inference.compare.prepared import PreparedCompare
from ..messages import Job
from .parse import ParsedCompare

# A comparison is split when it is this many times as long as a short call may be.
_LONG = 2.0
# Every part reads the plan: at most this share of its time.
_MOST_AGAIN = 0.25
_CALL_SECONDS = 2e-3
_SECONDS_PER_BYTE = 1e-8


def prepare_comparison(job: Job, parsed: ParsedCompare) -> PreparedCompare:
    """Validate and plan the tests of all pairs; raises InputError."""
    budget = Budget(job.limits.engine_budget_operations, job.limits.engine_budget_bytes)
    with relocated(parsed.pointer_map):
        prepared = prepare_compare(parsed.comparison, budget)
    return replace(prepared, reading=parsed.reading, warnings=(*parsed.warnings, *prepared.warnings))


def plan_of_comparison(prepared: PreparedCompare) -> ComparePlanRecord:
    """What the comparison would do and cost, without doing it."""
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
    """What the last call needs besides the results: the plan (pickled), and since when it is computed (monotonic)."""

    job: Job
    prepared: bytes
    parts: tuple[tuple[Slice, ...], ...]
    started: float
    planning: float


def split_of(
    job: Job,
    prepared: PreparedCompare,
    calls: tuple[Function, Function],
    started: float,
    planning: float,
) -> Split | None:
    """The parts; None where one worker is as quick.

    `calls` run one part and join all; `started` and `planning` are when decoding and planning began.
    """
    boards = [(board.tests, board.planned.seconds) for board in prepared.boards]
    seconds = sum(own for _, own in boards)
    long_s, workers = job.limits.long_test_seconds, job.limits.workers
    if workers < 2 or not _LONG * long_s < seconds < math.inf:
        return None
    pickled = pickle.dumps(prepared, pickle.HIGHEST_PROTOCOL)
    again = _CALL_SECONDS + _SECONDS_PER_BYTE * len(pickled)
    # Parts that are short calls themselves may run in all workers, and calls of others come in between.
    share = max(long_s / 2, again / _MOST_AGAIN)
    at_once = workers if again + share <= long_s else workers - 1
    parts = slices_of(boards, min(math.ceil(seconds / share), prepared.tests))
    if min(len(parts), at_once) < 2:
        return None
    each = again + seconds / len(parts)
    function, join = calls
    return Split(
        function=function,
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
        # A pair is in the part in which the middle of its time lies.
        middles = before + seconds * (np.arange(tests) + 0.5) / max(tests, 1)
        part_of = np.zeros(tests, np.int64) if share <= 0.0 else (middles / share).astype(np.int64)
        part_of = np.minimum(part_of, wanted - 1)
        edges = [0, *(np.flatnonzero(np.diff(part_of)) + 1).tolist(), tests]
        for start, stop in pairwise(edges if tests else []):
            parts[int(part_of[start])].append(Slice(board, start, stop))
        before += seconds
    return tuple(tuple(part) for part in parts if part)


def solved(plan: bytes | bytearray, slices: Sequence[Slice]) -> bytes | InputError:
    """The tests of one part, pickled, or why there are none: the web process passes both on as they are."""
    prepared: PreparedCompare = pickle.loads(plan)  # noqa: S301  (written by `split_of`)
    try:
        tests = [prepared.boards[each.board].solve(each.start, each.stop) for each in slices]
    except InputError as error:
        return error
    return pickle.dumps(tests, pickle.HIGHEST_PROTOCOL)


def joined(whole: Whole, results: Sequence[bytes | InputError]) -> tuple[PreparedCompare, list[PairTests]]:
    """The plan, and the tests of all parts by board; raises what a part was refused with."""
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
