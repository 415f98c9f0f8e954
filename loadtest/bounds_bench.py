"""Measure real-valued scores: rigorous brackets at several precisions, and meeting in the middle for few items."""

from collections.abc import Iterator

import numpy as np

from exactperm.engine.lattice import canonical_form
from exactperm.engine.one_sum import enumeration
from exactperm.engine.probability import region
from exactperm.engine.real import bounds
from exactperm.engine.real.form import real_problem
from exactperm.statistics.effects import on_lattice
from loadtest import workload
from loadtest.measure import Contender, interleave
from loadtest.options import Options
from loadtest.table import Table, duration, goal

SIZES = (100, 1_000, 10_000)
PRECISIONS = (1e-2, 1e-3, 1e-4)
GOAL, GOAL_SECONDS = (1_000, 1e-3), 0.15
FEW, FEW_SECONDS = 40, 2.0
# Shifts for p near 0.025 at each size, as in the goal.
SHIFTS = {100: 0.25, 1_000: 0.075, 10_000: 0.024}


def measure(options: Options) -> Iterator[Table]:
    """Measure brackets at several precisions, then few items by meeting in the middle."""
    seed, quick = options.seed, options.quick
    rows = []
    goals = []
    for items in SIZES:
        u, v = workload.scores(items, seed, SHIFTS[items])
        for precision in PRECISIONS:

            def call(u: np.ndarray = u, v: np.ndarray = v, precision: float = precision) -> bounds.Bracket:
                first, second = on_lattice(u, v).columns
                return bounds.bracket(*real_problem(first - second, None, "two-sided"), precision=precision)

            (timing,) = interleave([Contender("bounds", call, 3 if quick else 9)])
            found: bounds.Bracket = timing.result
            rows.append(
                [
                    f"N = {items:,}, {precision:g}",
                    f"[{found.low:.10g}, {found.high:.10g}]",
                    f"{found.relative_width:.1e}",
                    f"{found.degree:,}",
                    duration(timing.median),
                    duration(timing.best),
                ]
            )
            if (items, precision) == GOAL:
                goals.append(
                    goal("bounds, N = 1,000, 1e-3", timing.median, GOAL_SECONDS, "s", at_least=False)
                )
    header = ["items, precision", "bracket", "width", "degree", "median", "min"]
    yield Table("Rigorous brackets of real-valued scores", header, rows, goals)
    yield _few(seed, quick)


def _few(seed: int, quick: bool) -> Table:
    effects = np.random.default_rng(seed).integers(-(10**12), 10**12, FEW)

    def call() -> float:
        form = canonical_form(effects)
        return enumeration.probability_by_halves(form, region(form, int(effects.sum()), "two-sided")).p

    (timing,) = interleave([Contender("meet in the middle", call, 3 if quick else 5)])
    rows = [[f"n = {FEW}", f"{timing.result:.12g}", duration(timing.median), duration(timing.best)]]
    said = goal(f"meet_in_the_middle, n = {FEW}", timing.median, FEW_SECONDS, "s", at_least=False)
    return Table("Few items: meet_in_the_middle", ["items", "p", "median", "min"], rows, [said])
