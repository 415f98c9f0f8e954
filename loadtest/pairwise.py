"""`python -m loadtest.pairwise`: statistics of pairs, brackets and quantiles at the sizes of their goals, in one run.

Tests run in process, from arrays to the p-value. Set OPENBLAS_NUM_THREADS=1, as workers do. `loadtest.control_variate` measures the savings
of a control variate. The sampled contender works as google-research/mt-metrics-eval does: swap every segment's scores at random, compute
both systems' average correlation, and count; it is written in NumPy from its description, and timed on some swaps. With --pack, the folder
of an evaluation pack's segment statistics, BLEU uses real translations: segments of both systems are mixed for a p near the value in the
row.
"""

import argparse
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exactperm.answers.test import TestRecord
from exactperm.engine.plan import Budget
from exactperm.inference.options import Options
from exactperm.inference.paired import run_test
from exactperm.statistics.corpus import BLEU_NAMES
from exactperm.statistics.paired import Counts, Paired, Predictions, Scores, StatisticSpec
from loadtest.control_variate import MACRO, MCC, labels
from loadtest.segments import mixed, segments_of
from loadtest.table import Table, duration

GROUP = 15
SAMPLED = 1_000
BRACKETED = frozenset(("bleu", "f1", "mcc"))
Draw = np.random.Generator
Case = tuple[str, Paired, StatisticSpec, str]


def ranked(draw: Draw, n: int) -> Predictions:
    """Scores of two highly correlated classifiers, without ties."""
    gold: Any = (draw.random(n) < 0.4).astype(np.int64)
    common = gold + draw.normal(size=n)
    u, v = common + draw.normal(0.0, 0.8, (2, n))
    return Predictions(gold, np.round(u, 9), np.round(v + 0.005 * gold, 9))


def segments(draw: Draw, n: int) -> Predictions:
    """Scores of two metrics and of people for `n` translations, GROUP of each source."""
    gold: Any = np.round(draw.normal(size=n), 1)
    u, v = np.round(gold + draw.normal(0.0, 1.0, (2, n)), 3)
    return Predictions(gold, u, v, groups=np.arange(n) // GROUP)


def translated(draw: Draw, n: int) -> Counts:
    """BLEU counts of two systems, with equal translations of two thirds of the segments."""
    length = draw.integers(8, 40, n)
    alike = draw.random(n) < 2.0 / 3.0
    columns: list[dict[str, NDArray[np.int64]]] = []
    for quality in (0.8, 0.799):
        said = np.maximum(length + draw.integers(-3, 4, n), 5)
        one = {"sys_len": said, "ref_len": length}
        correct = length
        for order in range(1, 5):
            total = said - order + 1
            correct = np.minimum(draw.binomial(np.maximum(correct, 0), quality), total)
            one |= {f"total_{order}": total, f"correct_{order}": correct}
        if columns:
            one = {name: np.where(alike, columns[0][name], column) for name, column in one.items()}
        columns.append(one)
    return Counts(columns[0], columns[1])


def sampled_seconds(data: Predictions, draw: Draw, swaps: int) -> float:
    """Seconds of SAMPLED swaps by Kendall's tau-a averaged over the groups, from the time of `swaps` of them."""
    gold, u, v = (
        np.asarray(column, dtype=float).reshape(-1, GROUP) for column in (data.gold, data.u, data.v)
    )
    order = np.sign(gold[:, :, None] - gold[:, None, :])

    def tau(scores: NDArray[np.float64]) -> float:
        return float((np.sign(scores[:, :, None] - scores[:, None, :]) * order).sum())

    observed, extreme = abs(tau(u) - tau(v)), 0
    started = time.perf_counter()
    for _ in range(swaps):
        kept = draw.random(u.shape) < 0.5
        extreme += abs(tau(np.where(kept, u, v)) - tau(np.where(kept, v, u))) >= observed
    return (time.perf_counter() - started) / swaps * SAMPLED


def best(call: Callable[[], TestRecord], rounds: int) -> tuple[float, TestRecord]:
    """The minimum seconds of some calls, and the answer."""
    times = []
    for _ in range(rounds):
        started = time.perf_counter()
        record = call()
        times.append(time.perf_counter() - started)
    return min(times), record


def brackets(pack: Path, draw: Draw) -> list[Case]:
    """Real segments of some sizes, with p-values near those in the titles."""
    systems = segments_of(pack)
    sizes = [size for size in (100, 500, 2_000) if size < len(systems[0])]
    found: list[Case] = []
    for size in (*sizes, len(systems[0])):
        chosen = np.sort(draw.choice(len(systems[0]), size, replace=False))
        for share in (0.05, 0.001):
            u, v = mixed([rows[chosen] for rows in systems], share, draw)
            goal = "200 ms" if (size, share) == (2_000, 0.05) else ""
            one, other = (dict(zip(BLEU_NAMES, rows.T, strict=True)) for rows in (u, v))
            data = Counts(one, other)
            found.append((f"BLEU, N = {size:,}, p near {share}", data, StatisticSpec("bleu"), goal))
    return found


def of_classes(draw: Draw) -> list[Case]:
    """Labels of two systems, whose scores are functions of many sums."""
    found: list[Case] = []
    for classes, items, spec in ((5, 1_000, MACRO), (10, 1_000, MACRO), (10, 5_000, MCC)):
        name = "macro F1" if spec is MACRO else "MCC"
        data = labels(draw, np.full(classes, 1.0 / classes), items)
        found.append((f"{name}, {classes} classes, N = {items:,}", data, spec, ""))
    return found


def table(*, quick: bool, pack: Path | None = None, seed: int = 0) -> Table:
    """Measure one row for each goal."""
    draw = np.random.default_rng(seed)
    grouped = segments(draw, 18_000)
    u, v = np.round(draw.lognormal(0.0, 0.5, (2, 1_000)), 4)
    cases: list[Case] = [
        ("AUC, N = 10,000", ranked(draw, 10_000), StatisticSpec("auc"), "100 ms"),
        ("AUC, N = 100,000", ranked(draw, 100_000), StatisticSpec("auc"), "2 s"),
        ("Kendall, 18,000 in groups of 15", grouped, StatisticSpec("kendall"), "50 ms"),
        ("Spearman, 18,000 in groups of 15", grouped, StatisticSpec("spearman"), "50 ms"),
        ("BLEU, N = 2,000", translated(draw, 2_000), StatisticSpec("bleu"), "200 ms"),
        *([] if pack is None else brackets(pack, draw)),
        *of_classes(draw),
        ("quantile 0.95, N = 1,000", Scores(u, v), StatisticSpec("quantile_difference", {"q": 0.95}), "2 s"),
        ("median, N = 1,000", Scores(u, v), StatisticSpec("median_difference"), "2 s"),
    ]
    rows = []
    for title, data, spec, goal in cases:
        options = Options(pmf="none", method="bounds" if spec.name in BRACKETED else "auto")
        seconds, record = best(partial(run_test, data, spec, options, Budget()), 2 if quick else 5)
        low, high = record.p_value_bounds
        width = f"{(high - low) / record.p_value:.1e}"
        rows.append([title, duration(seconds), goal, record.method.name, f"{record.p_value:.6g}", width])
    took = sampled_seconds(grouped, draw, 3 if quick else 20)
    rows.append([f"Kendall, the same, sampled {SAMPLED:,} times", duration(took), "", "NumPy", "", ""])
    return Table(
        "Statistics of pairs, brackets, quantiles", ["", "best", "goal", "method", "p", "width / p"], rows
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m loadtest.pairwise", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    parser.add_argument("--pack", type=Path, help="a folder with *.segment-stats.tsv of two systems")
    asked = parser.parse_args()
    print(table(quick=asked.quick, pack=asked.pack).text())


if __name__ == "__main__":
    main()
