"""A long comparison in parts that several workers run: which pairs each of them tests."""

from __future__ import annotations

import math
import pickle
from collections.abc import Sequence
from dataclasses import dataclass

from ...execution.pool import Function
from ...execution.split import Part, Split
from ...inference.compare.compare import PreparedCompare
from ...inference.compare.pair_tests import PairTests
from ...inference.compare.pairs import concatenated
from ..messages import Job

# A comparison is long enough to be split from this many times the longest short call on.
_LONG = 2.0
# Every part decodes the body and plans anew: at most this share of its time.
_MOST_AGAIN = 0.25


@dataclass(frozen=True, slots=True)
class Slice:
    """Some of the pairs of a board, by their position in its plan."""

    board: int
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class PairsJob:
    """The pairs that one part tests."""

    job: Job
    slices: tuple[Slice, ...]


@dataclass(frozen=True, slots=True)
class JoinJob:
    """What is known about the whole: which pairs each part has tested, and since when it is computed (monotonic)."""

    job: Job
    parts: tuple[tuple[Slice, ...], ...]
    started: float
    planning: float


def split_of(
    job: Job,
    prepared: PreparedCompare,
    function: Function,
    join: Function,
    started: float,
    planning: float,
    now: float,
) -> Split | None:
    """The parts, or None where one worker is as quick: the times say how long decoding and planning took."""
    limits, seconds = job.limits, prepared.seconds
    again = now - started
    long_s = limits.long_test_seconds
    if limits.workers < 2 or not _LONG * long_s < seconds < math.inf:
        return None
    # Parts that are short calls themselves run in all workers, and calls of others come in between.
    share = max(long_s / 2 - again, again / _MOST_AGAIN)
    at_once = limits.workers if again + share <= long_s else limits.workers - 1
    wanted = math.ceil(seconds / share)
    parts = slices_of([(board.tests, board.planned.seconds) for board in prepared.boards], wanted)
    if min(len(parts), at_once) < 2:
        return None
    each = again + seconds / len(parts)
    return Split(
        function=function,
        parts=tuple(Part(PairsJob(job, slices), each) for slices in parts),
        join=join,
        job=JoinJob(job, parts, started, planning),
        at_once=at_once,
        seconds=seconds + again * len(parts),
        join_seconds=again,
    )


def slices_of(boards: Sequence[tuple[int, float]], wanted: int) -> tuple[tuple[Slice, ...], ...]:
    """At most `wanted` parts of about the same predicted seconds; `boards` are numbers of tests, and their seconds."""
    share = sum(seconds for _, seconds in boards) / wanted
    parts: list[tuple[Slice, ...]] = []
    part: list[Slice] = []
    room = share
    for board, (tests, seconds) in enumerate(boards):
        start, each = 0, seconds / max(tests, 1)
        while start < tests:
            fit = (
                tests - start
                if each <= 0.0
                else min(tests - start, max(round(room / each), 0 if part else 1))
            )
            if fit:
                part.append(Slice(board, start, start + fit))
                start += fit
                room -= fit * each
            if start < tests or room <= each / 2:
                parts.append(tuple(part))
                part, room = [], share
    if part:
        parts.append(tuple(part))
    return tuple(parts)


def solved(prepared: PreparedCompare, slices: Sequence[Slice]) -> bytes:
    """The tests of one part, pickled: the web process passes them on as they are."""
    tests = [prepared.boards[each.board].planned.solve(each.start, each.stop) for each in slices]
    return pickle.dumps(tests, pickle.HIGHEST_PROTOCOL)


def joined(
    prepared: PreparedCompare, parts: Sequence[Sequence[Slice]], results: Sequence[bytes]
) -> list[PairTests]:
    """The tests of all parts, board by board; the results are those of our own workers."""
    boards: list[list[PairTests]] = [[] for _ in prepared.boards]
    for slices, result in zip(parts, results, strict=True):
        for each, tests in zip(slices, pickle.loads(result), strict=True):  # noqa: S301  (written by `solved`)
            boards[each.board].append(tests)
    return [
        concatenated(tests) if tests else board.planned.solve(0, 0)
        for tests, board in zip(boards, prepared.boards, strict=True)
    ]
