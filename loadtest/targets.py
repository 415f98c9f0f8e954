"""`python -m loadtest.targets`: false alarms of gates for systems exactly at the threshold, and of floors.

The first table has laws of scores whose mean is the threshold: the share of data sets in which `at_least` passes and `not_below`
fails, at 0.05. The second has floors from ten runs, and the share of new runs below them, beside the probability that the floor states.
"""

import argparse
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from exactperm.answers.gate import GateTerms, Policy
from exactperm.inference.floor import RunsDesign
from exactperm.inference.options import Options
from exactperm.inference.target import target_test
from exactperm.statistics.paired import Repeated, Scores, StatisticSpec
from loadtest.table import Table

SETS, ALPHA, ITEMS = 2_000, 0.05, 60
_LEVEL = Fraction(1, 20)
Draw = Callable[[np.random.Generator], tuple[NDArray[np.float64], float]]


def main() -> None:
    """Draw the data sets and print both tables."""
    parser = argparse.ArgumentParser(prog="python -m loadtest.targets", description=__doc__)
    parser.add_argument("--sets", type=int, default=SETS)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    rng = np.random.default_rng(asked.seed)
    rows = [[name, *_levels(draw, runs, asked.sets, rng)] for name, (draw, runs) in DESIGNS.items()]
    print(
        Table("Systems right at the threshold", ["scores", "at_least passes", "not_below fails"], rows).text()
    )
    floors = [[name, *_alarms(shape, asked.sets, rng)] for name, shape in RATES.items()]
    print(
        Table("New runs below a floor", ["items", "by the true rates", "by ten runs", "seen"], floors).text()
    )


def _levels(draw: Draw, runs: int, sets: int, rng: np.random.Generator) -> list[str]:
    counts: dict[Policy, int] = {"at_least": 0, "not_below": 0}
    for _ in range(sets):
        values, threshold = draw(rng)
        column = values if runs == 1 else Repeated(values, np.full(len(values) // runs, runs))
        for policy in counts:
            counts[policy] += _shown(column, policy, threshold, runs)
    return [f"{count / sets:.3f}" for count in counts.values()]


def _shown(column: NDArray[np.float64] | Repeated, policy: Policy, threshold: float, runs: int) -> bool:
    whole = bool(np.isin(column.values if isinstance(column, Repeated) else column, (0, 1)).all())
    terms = GateTerms(policy, alpha=ALPHA, threshold=threshold, range=None if whole else (0.0, 1.0))
    options = Options(pmf="none", exchange="items" if runs == 1 else "runs")
    test = target_test(Scores(column, column), StatisticSpec("mean_difference"), options, terms)
    return test.solve().answer.bounds[1] <= ALPHA


def _right(rng: np.random.Generator) -> tuple[NDArray[np.float64], float]:
    return (rng.random(ITEMS) < 0.9).astype(float), 0.9


def _unequal(rng: np.random.Generator) -> tuple[NDArray[np.float64], float]:
    rates = np.repeat(np.linspace(0.0, 1.0, ITEMS // 4 + 1), 4)
    return (rng.random(len(rates)) < rates).astype(float), 0.5


def _even(rng: np.random.Generator) -> tuple[NDArray[np.float64], float]:
    return np.round(rng.random(ITEMS), 3), 0.5


def _rare(rng: np.random.Generator) -> tuple[NDArray[np.float64], float]:
    return np.where(rng.random(ITEMS) < 0.05, 0.0, 0.9), 0.855


DESIGNS: dict[str, tuple[Draw, int]] = {
    "right or wrong, 0.9": (_right, 1),
    "4 runs of unequal items": (_unequal, 4),
    "even on 0 to 1": (_even, 1),
    "0.9, sometimes 0": (_rare, 1),
}
RATES = {
    "200, mostly certain": np.repeat([1.0, 0.95, 0.5, 0.05], [140, 30, 20, 10]),
    "200, all at 0.8": np.full(200, 0.8),
}


def _alarms(rates: NDArray[np.float64], sets: int, rng: np.random.Generator) -> list[str]:
    """The mean promise of floors by the true rates and by ten runs, and the share of new runs below those of ten runs."""
    of_truth = RunsDesign.of((np.round(rates * 100)).astype(int).tolist(), [100] * len(rates))
    true = of_truth.alarm(of_truth.floor(_LEVEL)[0])[0]
    said, seen = 0.0, 0
    for _ in range(sets):
        design = RunsDesign.of(rng.binomial(10, rates).tolist(), [10] * len(rates))
        least = design.floor(_LEVEL)[0]
        said += design.alarm(least)[0]
        seen += int((rng.random(len(rates)) < rates).sum() < least)
    return [f"{true:.3f}", f"{said / sets:.3f}", f"{seen / sets:.3f}"]


if __name__ == "__main__":
    main()
