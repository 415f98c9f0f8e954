"""`python -m loadtest.judge`: false alarms and power of a judge that people's labels correct.

People judge n of N items. The judge agrees with people with probability 0.9 (or as the table has it); a biased one calls a
wrong output of U right more often. The share of data sets in which p is at most 0.05, two-sided: corrected, by the labels alone, and by the judge alone.
"""

import argparse
from dataclasses import dataclass

import numpy as np

from exactperm.engine.plan import Budget
from exactperm.inference.options import Options
from exactperm.inference.paired import run_test
from exactperm.statistics.paired import Correction, Scores, StatisticSpec
from loadtest.table import Table

SETS = 2_000
ALPHA = 0.05
MEAN = StatisticSpec("mean_difference")
OPTIONS = Options(pmf="none")


@dataclass(frozen=True)
class Design:
    """`better` is how much more often people call U right, `bias` how often the judge calls a wrong output of U right."""

    name: str
    labelled: int
    items: int
    better: float = 0.0
    bias: float = 0.0
    agrees: float = 0.9


DESIGNS = (
    Design("no difference, a fair judge", 30, 300),
    Design("no difference, a fair judge", 60, 600),
    Design("no difference to people, the judge favours U", 30, 300, bias=0.25),
    Design("no difference to people, the judge favours U", 60, 600, bias=0.25),
    Design("no difference to people, the judge favours U", 100, 1_000, bias=0.25),
    Design("U better by 0.12, a judge that agrees with people on 0.9", 60, 600, better=0.12),
    Design("U better by 0.12, a judge that agrees with people on 0.97", 60, 600, better=0.12, agrees=0.97),
    Design("no difference to people, the judge favours U", 10, 300, bias=0.25),
)


def main() -> None:
    """Draw the data sets and print the table."""
    parser = argparse.ArgumentParser(prog="python -m loadtest.judge", description=__doc__)
    parser.add_argument("--sets", type=int, default=SETS)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    rng = np.random.default_rng(asked.seed)
    rows = []
    for design in DESIGNS:
        counts = np.zeros(3, dtype=np.int64)
        for _ in range(asked.sets):
            counts += _significant(design, rng)
        shares = [f"{count / asked.sets:.3f}" for count in counts.tolist()]
        rows.append([design.name, f"{design.labelled} of {design.items:,}", *shares])
    header = ["design", "labels", "corrected", "labels alone", "judge alone"]
    print(Table("Data sets with p at most 0.05", header, rows).text())


def _significant(design: Design, rng: np.random.Generator) -> list[bool]:
    hard = rng.random(design.items)
    noise = 0.3 * rng.standard_normal((2, design.items))
    threshold = np.array([[0.5 + design.better], [0.5]])
    people = hard + noise < threshold
    judge = np.where(rng.random(people.shape) < design.agrees, people, ~people)
    judge[0] |= ~people[0] & (rng.random(design.items) < design.bias)
    labelled = np.zeros(design.items, dtype=bool)
    labelled[rng.permutation(design.items)[: design.labelled]] = True
    of_u, of_v = (np.where(labelled, own, 0).astype(np.int64) for own in people)
    labels = Scores(of_u, of_v)
    scores = Scores(judge[0].astype(np.int64), judge[1].astype(np.int64))
    alone = Scores(of_u[labelled], of_v[labelled])
    corrected = Scores(scores.u, scores.v, correction=Correction({"labels": labels}, labelled))
    return [
        run_test(data, MEAN, OPTIONS, Budget()).p_value_bounds[1] <= ALPHA
        for data in (corrected, alone, scores)
    ]


if __name__ == "__main__":
    main()
