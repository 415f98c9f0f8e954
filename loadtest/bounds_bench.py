"""Real-valued scores: rigorous brackets at several precisions, and meet in the middle for few items."""

import numpy as np

from app.engine import bounds, meet_in_the_middle
from app.engine.lattice import canonical_form
from app.engine.null import region
from app.engine.real_form import real_form, real_region
from loadtest import workload
from loadtest.measure import Contender, interleave
from loadtest.table import duration, goal, render

SIZES = (100, 1_000, 10_000)
PRECISIONS = (1e-2, 1e-3, 1e-4)
GOAL, GOAL_SECONDS = (1_000, 1e-3), 0.15
FEW, FEW_SECONDS = 40, 2.0
# Shifts that put p near 0.025 at each size, as the goal has it.
SHIFTS = {100: 0.25, 1_000: 0.075, 10_000: 0.024}


def run(seed: int, quick: bool) -> None:
    """Print brackets and times, and the two goals."""
    rows = []
    goals = []
    for items in SIZES:
        u, v = workload.scores(items, seed, SHIFTS[items])
        for precision in PRECISIONS:

            def call(u: np.ndarray = u, v: np.ndarray = v, precision: float = precision) -> bounds.Bracket:
                form, seen = real_form(u - v)
                return bounds.bracket(form, real_region(form, seen, "two-sided"), precision=precision)

            (timing,) = interleave([Contender("bounds", call, 3 if quick else 9)])
            found: bounds.Bracket = timing.result
            rows.append(
                [
                    f"{items:,}",
                    f"{precision:g}",
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
    print(render(["N", "precision", "bracket", "width", "degree", "median", "min"], rows))
    goals.append(_few(seed, quick))
    print("\n".join(goals))


def _few(seed: int, quick: bool) -> str:
    effects = np.random.default_rng(seed).integers(-(10**12), 10**12, FEW)

    def call() -> float:
        form = canonical_form(effects)
        return meet_in_the_middle.probability(form, region(form, int(effects.sum()), "two-sided")).p

    (timing,) = interleave([Contender("meet in the middle", call, 3 if quick else 5)])
    return goal(f"meet_in_the_middle, n = {FEW}", timing.median, FEW_SECONDS, "s", at_least=False)
