"""`python -m loadtest.runs`: tests that exchange runs: false alarms, power beside exchanged items, a baseline gate, and their time.

Items have log-odds N(0, 1.5) of being right. The first table draws both systems from the same items with different numbers of
runs: the share of data sets that are significant at 0.05, for means and for pass@2. The second raises the log-odds of U by 0.8, and
has the power that a pilot of 2,000 such items foresees. In the third one new run
of 1,319 items, nearly all of them certain, is gated against ten runs of the baseline (one-sided), beside McNemar's test against
one of them. The last times the engine: p alone, and p with the null distribution.
"""

import argparse
import time

import numpy as np
from numpy.typing import NDArray

import exactperm
from exactperm.answers.test import Alternative, Exchange
from exactperm.engine.plan import Budget
from exactperm.inference.options import Options
from exactperm.inference.paired import planned_test, run_test
from exactperm.statistics.paired import Repeated, Scores, StatisticSpec
from loadtest.table import Table

SETS, ALPHA, EFFECT = 2_000, 0.05, 0.8
Reals = NDArray[np.float64]
LEVELS = [(50, 1, 10), (50, 10, 1), (50, 1, 5), (20, 5, 5), (6, 10, 10), (30, 3, 10)]
POWERS = [(6, 10), (20, 5), (60, 5)]
PILOT = 2_000, 10
MEANS = StatisticSpec("mean_difference")
ANY_OF_TWO = StatisticSpec("mean_difference", {"repeats": "any", "k": 2})
# Items, runs of each system, kind of scores, and the goal in milliseconds, where there is one.
TIMED = [
    (500, (10, 10), "0/1", "5"),
    (2_000, (8, 8), "0/1", "20"),
    (10_000, (8, 8), "0/1", ""),
    (1_319, (1, 10), "0/1", ""),
    (300, (5, 5), "0 to 10", ""),
]
DROPS = [0.0, 0.5, 1.0, 1.5]


def main() -> None:
    """Draw the data sets and print the tables."""
    parser = argparse.ArgumentParser(prog="python -m loadtest.runs", description=__doc__)
    parser.add_argument("--sets", type=int, default=SETS)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    rng, sets = np.random.default_rng(asked.seed), asked.sets
    rows = [
        [
            f"{n} items, {a} and {b} runs",
            _level(rng, sets, n, a, b),
            _level(rng, sets, n, a, b, ANY_OF_TWO) if min(a, b) > 1 else "",
        ]
        for n, a, b in LEVELS
    ]
    title = "Data sets of no difference that are significant"
    print(Table(title, ["design", "runs exchanged", "pass@2"], rows).text())
    print(
        Table(
            "Power",
            ["design", "runs exchanged", "items exchanged", "planned, runs", "planned, items"],
            [_power(rng, sets, *of) for of in POWERS],
        ).text()
    )
    rows = [[f"{drop:g} points", *_gated(rng, sets, drop)] for drop in DROPS]
    print(Table("One run against ten of the baseline", ["drop", "ten runs", "McNemar, one run"], rows).text())
    print(
        Table("Milliseconds", ["design", "p", "p and law", "goal"], [_timed(rng, *of) for of in TIMED]).text()
    )


def _rejects(
    u: Repeated,
    v: Repeated,
    exchange: Exchange,
    alternative: Alternative = "two-sided",
    spec: StatisticSpec = MEANS,
) -> bool:
    options = Options(exchange=exchange, alternative=alternative, alpha=ALPHA, pmf="none")
    return run_test(Scores(u, v), spec, options, Budget()).significant


def _runs(rng: np.random.Generator, log_odds: Reals, runs: int) -> Repeated:
    rates = 1 / (1 + np.exp(-log_odds))
    return _drawn(rng, rates, runs)


def _drawn(rng: np.random.Generator, rates: Reals, runs: int) -> Repeated:
    right = rng.random((len(rates), runs)) < rates[:, None]
    return Repeated(right.astype(np.int64).ravel(), np.full(len(rates), runs))


def _level(
    rng: np.random.Generator,
    sets: int,
    items: int,
    n: int,
    m: int,
    spec: StatisticSpec = MEANS,
) -> str:
    count = 0
    for _ in range(sets):
        log_odds = rng.normal(0, 1.5, items)
        count += _rejects(_runs(rng, log_odds, n), _runs(rng, log_odds, m), "runs", spec=spec)
    return f"{count / sets:.3f}"


def _power(rng: np.random.Generator, sets: int, items: int, runs: int) -> list[str]:
    found = {"runs": 0, "items": 0}
    for _ in range(sets):
        log_odds = rng.normal(0, 1.5, items)
        u, v = _runs(rng, log_odds + EFFECT, runs), _runs(rng, log_odds, runs)
        found["runs"] += _rejects(u, v, "runs")
        found["items"] += _rejects(u, v, "items")
    seen = (f"{found[one] / sets:.3f}" for one in ("runs", "items"))
    return [f"{items} items, {runs} runs", *seen, *_planned(rng, items, runs)]


def _planned(rng: np.random.Generator, items: int, runs: int) -> list[str]:
    """The power by `/v1/power`, at the true mean difference."""
    log_odds = rng.normal(0, 1.5, PILOT[0])
    true = [1 / (1 + np.exp(-log_odds - more)) for more in (EFFECT, 0)]
    u, v = (_drawn(rng, rates, PILOT[1]).values.reshape(PILOT).tolist() for rates in true)
    effect = float((true[0] - true[1]).mean())
    exchanges: tuple[Exchange, ...] = ("runs", "items")
    answers = [
        exactperm.power(
            exactperm.scores(u, v, exchange=one), "power", n=items, effect=effect, runs_per_item=runs
        )
        for one in exchanges
    ]
    return [f"{answer.solution.power or 0:.3f}" for answer in answers]


def _gated(rng: np.random.Generator, sets: int, drop: float) -> list[str]:
    """Most items are nearly certain, and a drop turns some of those into wrong ones, as a broken feature does."""
    found = [0, 0]
    for _ in range(sets):
        rates = rng.beta(0.17, 0.019, 1_319)
        lost = round(drop / 100 * len(rates))
        broken = rates.copy()
        broken[rng.choice(np.argsort(-rates)[: len(rates) // 2], lost, replace=False)] = 0.0
        new = _drawn(rng, broken, 1)
        old = _drawn(rng, rates, 10)
        first = Repeated(old.values[::10], new.lengths)
        found[0] += _rejects(new, old, "runs", "less")
        found[1] += _rejects(new, first, "items", "less")
    return [f"{count / sets:.3f}" for count in found]


def _timed(rng: np.random.Generator, items: int, runs: tuple[int, int], kind: str, goal: str) -> list[str]:
    log_odds = rng.normal(0, 1.5, items)
    if kind == "0/1":
        u, v = _runs(rng, log_odds + 0.1, runs[0]), _runs(rng, log_odds, runs[1])
    else:
        u, v = (
            Repeated(np.clip(np.rint(5 + 2 * log_odds[:, None] + rng.normal(0, 1.5, (items, n))), 0, 10).astype(np.int64).ravel(),
                     np.full(items, n))
            for n in runs
        )  # fmt: skip
    taken = []
    for pmf in ("none", "summary"):
        options = Options(exchange="runs", pmf=pmf)
        each = []
        for _ in range(5):
            planned = planned_test(Scores(u, v), StatisticSpec("mean_difference"), options, Budget())
            start = time.perf_counter()
            planned.solve()
            each.append(time.perf_counter() - start)
        taken.append(f"{1e3 * min(each):.1f}")
    return [f"{items:,} items, {runs[0]} and {runs[1]} runs, {kind}", *taken, goal]


if __name__ == "__main__":
    main()
