"""Measure F1: the engine's two-dimensional grid beside the paper's Algorithm 5 on four-dimensional arrays."""

from collections.abc import Callable, Iterator

from exactperm.engine.joint.form import joint_form
from exactperm.engine.joint.grid.grid import probability
from exactperm.statistics.effects import Joint
from exactperm.statistics.paired import Counts, StatisticSpec
from exactperm.statistics.reducers import reduce
from loadtest import paper_tuples, workload
from loadtest.measure import Contender, interleave
from loadtest.options import Options
from loadtest.table import Table, duration, goal, ratio

SIZES = (20, 50, 100, 1_000, 10_000, 100_000)
EXACT = 1e-9  # the requested relative error
GOAL_ITEMS, SPEEDUP, LARGE_SECONDS = 100, 300.0, 1.5


def measure(options: Options) -> Iterator[Table]:
    """Measure both while Algorithm 5 fits in memory, then the engine alone, and the goals."""
    seed, quick = options.seed, options.quick
    rows, goals = [], []
    for items in SIZES:
        load = workload.f1(items, seed)
        stay, swap = paper_tuples.f1_effects(load.u, load.v)
        cells = paper_tuples.cells(stay, swap)
        calls = [Contender("ours", _ours(load), 5 if quick else 15, burst=3 if items <= GOAL_ITEMS else 1)]
        if cells <= paper_tuples.MAX_CELLS:
            calls.append(Contender("Algorithm 5", _theirs(load), 3 if quick else 9))
        timings = interleave(calls)
        mine, paper = timings[0], timings[1] if len(timings) > 1 else None
        rows.append(
            [
                f"N = {items:,}",
                f"{mine.result:.12g}",
                duration(mine.median),
                duration(mine.best),
                f"{cells:,}",
                "too large" if paper is None else duration(paper.median),
                "" if paper is None else ratio(paper.median / mine.median),
                "" if paper is None else f"{abs(paper.result / mine.result - 1):.1e} rel",
            ]
        )
        if items == GOAL_ITEMS and paper is not None:
            over = paper.median / mine.median
            goals.append(goal("F1 over Algorithm 5 at N = 100", over, SPEEDUP, "times", at_least=True))
        if items == SIZES[-1]:
            goals.append(goal("F1 at N = 100,000", mine.median, LARGE_SECONDS, "s", at_least=False))
    header = ["items", "p", "ours", "min", "cells of Algorithm 5", "its time", "ratio", "difference"]
    yield Table("F1, two-sided", header, rows, goals)


def _theirs(load: workload.F1Workload) -> Callable[[], float]:
    """Run Algorithm 5 on the four counts."""
    stay, swap = paper_tuples.f1_effects(load.u, load.v)
    return lambda: paper_tuples.exact_perm_test_m(stay, swap)


def _ours(load: workload.F1Workload) -> Callable[[], float]:
    """From counts per item to the p-value: reduction to the lattice, grid, ties decided exactly."""
    u, v = ({"tp": counts[:, 0], "incorrect": counts[:, 1]} for counts in (load.u, load.v))
    data = Counts(u, v)
    problem = reduce(data, StatisticSpec("f1"))
    if not isinstance(problem, Joint):
        raise TypeError("F1 of these counts is a single sum")
    function, observed = problem.function, problem.stay.sum(axis=0)

    def call() -> float:
        found = probability(
            joint_form(problem.stay, problem.swap),
            lambda sums: function.extreme(sums, observed, "two-sided"),
            lambda low, high: function.settled(low, high, observed, "two-sided"),
        )
        if not found.relative_error_bound <= EXACT:
            raise ArithmeticError("this p-value is not proven, so its time says nothing")
        return found.p

    return call
