"""Time contenders fairly: they take turns in one run, so that a slow minute of the machine affects all.

Each contender is called once to warm up, then has `turns` turns spread evenly over the rounds; in one turn it is called `burst` times
in a row. Garbage collection is off while the clock runs, as in `timeit`.
"""

import gc
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

NANOSECONDS = 1e9


@dataclass(frozen=True, slots=True)
class Contender:
    """A contender: a name, a call without arguments, and its number of turns."""

    name: str
    call: Callable[[], Any]
    turns: int
    burst: int = 1
    warm_up: bool = True


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds per call, in order, and the result of the last call."""

    name: str
    seconds: tuple[float, ...]
    result: Any

    @property
    def median(self) -> float:
        """Median in seconds."""
        return statistics.median(self.seconds)

    @property
    def best(self) -> float:
        """Minimum in seconds."""
        return min(self.seconds)


def interleave(contenders: Sequence[Contender]) -> list[Timing]:
    """Time the contenders in turn; return timings in their order.

    A contender with fewer turns than the busiest one skips some rounds. `warm_up=False` is for calls of many seconds, where the extra
    cost of a first call is negligible.
    """
    rounds = max(contender.turns for contender in contenders)
    results: dict[str, Any] = {}
    seconds: dict[str, list[float]] = {contender.name: [] for contender in contenders}
    for contender in contenders:
        if contender.warm_up:
            results[contender.name] = contender.call()
    for turn in range(rounds):
        for contender in contenders:
            if not _has_turn(turn, rounds, contender.turns):
                continue
            for _ in range(contender.burst):
                elapsed, results[contender.name] = _timed(contender.call)
                seconds[contender.name].append(elapsed)
    return [Timing(c.name, tuple(seconds[c.name]), results[c.name]) for c in contenders]


def _has_turn(turn: int, rounds: int, turns: int) -> bool:
    """Whether the turns, spread evenly over the rounds, fall on this one."""
    return turn * turns // rounds != (turn - 1) * turns // rounds


def _timed(call: Callable[[], Any]) -> tuple[float, Any]:
    gc.collect(0)
    gc.disable()
    try:
        start = time.perf_counter_ns()
        result = call()
        return (time.perf_counter_ns() - start) / NANOSECONDS, result
    finally:
        gc.enable()
