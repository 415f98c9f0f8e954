"""`python -m loadtest.several_systems [SETS]`: false alarms of tests of several systems, by default 2,000 null sets a design, and their times."""

import sys
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exactperm.engine.plan import Budget
from exactperm.inference.options import Options
from exactperm.inference.paired import run_test
from exactperm.statistics.paired import StatisticSpec, Systems

PAGE = StatisticSpec("page", {"order": list("ABCDE")})
CONTRAST = StatisticSpec("contrast", {"weights": {"A": -1, "D": 1}})
DESIGNS = {
    "cochran_q": (StatisticSpec("cochran_q"), 3, 40),
    "friedman": (StatisticSpec("friedman"), 3, 25),
    "page": (StatisticSpec("page", {"order": list("ABCD")}), 4, 20),
    "contrast": (StatisticSpec("contrast", {"weights": {"A": 1, "B": 1, "C": -2}}), 3, 20),
}


def p_of(table: NDArray[np.int64], spec: StatisticSpec) -> float:
    data: Any = Systems("scores", dict(zip("ABCDE", table.T, strict=False)))
    return run_test(data, spec, Options(pmf="none"), Budget()).p_value


def level(spec: StatisticSpec, systems: int, items: int, sets: int) -> float:
    """The share of data sets without a difference, but with items of different difficulty, that are significant at 0.05."""
    chance = np.random.default_rng(1)
    below = 0
    for _ in range(sets):
        hard = chance.random(items)[:, None]
        below += p_of((chance.random((items, systems)) < hard).astype(np.int64), spec) <= 0.05
    return below / sets


def best_of(table: NDArray[np.int64], spec: StatisticSpec, times: int = 7) -> float:
    """The least milliseconds of processor time of one test."""
    taken = []
    for _ in range(times):
        started = time.process_time()
        p_of(table, spec)
        taken.append(time.process_time() - started)
    return 1e3 * min(taken)


def main() -> None:
    sets = int(sys.argv[1]) if len(sys.argv) > 1 else 2_000
    for name, (spec, systems, items) in DESIGNS.items():
        print(f"level of {name}, {items} items, {systems} systems: {level(spec, systems, items, sets):.3f}")
    chance = np.random.default_rng(2)
    right = (chance.random((1_000, 3)) < [0.5, 0.53, 0.6]).astype(np.int64)
    print(f"cochran_q, 1,000 items, 3 systems: {best_of(right, StatisticSpec('cochran_q')):.1f} ms")
    scores = chance.integers(0, 40, (5_000, 5)) + np.arange(5)
    print(f"page, 5,000 items, 5 systems: {best_of(scores, PAGE):.1f} ms")
    print(
        f"contrast, 1,000 items, 4 systems, scores 0..10: {best_of(chance.integers(0, 11, (1_000, 4)), CONTRAST):.1f} ms"
    )


if __name__ == "__main__":
    main()
