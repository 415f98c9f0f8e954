"""Compare the predictions of `POST /v1/plan` for whole answers with the time they take: statistics of pairs, quantiles, brackets.

Their effects are computed before planning, or planning a bracket takes half of the work, so the time of the method alone is not
informative.
"""

from collections.abc import Iterator
from functools import partial

import numpy as np

from exactperm.engine.plan import Budget
from exactperm.inference.options import Options as Asked
from exactperm.inference.paired import prepare, run_test
from exactperm.statistics.paired import Paired, Predictions, Scores, StatisticSpec
from loadtest.control_variate import MACRO, MCC, labels
from loadtest.measure import Contender, interleave
from loadtest.options import Options
from loadtest.pairwise import ranked, segments, translated
from loadtest.table import Table, duration, goal

MOST_FACTOR = 3.0


def cases(seed: int) -> Iterator[tuple[str, Paired, StatisticSpec, Asked]]:
    """Title, data, statistic and options of each answer."""
    draw = np.random.default_rng(seed)
    exact, bounds = Asked(pmf="none"), Asked(pmf="none", method="bounds")
    grouped = segments(draw, 18_000)
    whole = Predictions(grouped.gold[:10_000], grouped.u[:10_000], grouped.v[:10_000])
    for items in (1_000, 10_000, 100_000):
        yield f"auc, N = {items:,}", ranked(draw, items), StatisticSpec("auc"), exact
    for name in ("kendall", "spearman", "pairwise_accuracy", "concordance"):
        yield f"{name}, N = 10,000", whole, StatisticSpec(name), exact
        yield f"{name}, 18,000 in groups of 15", grouped, StatisticSpec(name), exact
    for items in (100, 1_000):
        u, v = np.round(draw.lognormal(0.0, 0.5, (2, items)), 4)
        for q in (0.5, 0.95):
            spec = StatisticSpec("quantile_difference", {"q": q})
            yield f"quantile {q:g}, N = {items:,}", Scores(u, v), spec, exact
    for items in (500, 2_000, 10_000):
        yield f"BLEU's bracket, N = {items:,}", translated(draw, items), StatisticSpec("bleu"), bounds
    for classes in (5, 10):
        data = labels(draw, np.full(classes, 1.0 / classes))
        yield f"macro F1's bracket, {classes} classes, N = {len(data.gold):,}", data, MACRO, bounds
        yield f"MCC's bracket, {classes} classes, N = {len(data.gold):,}", data, MCC, bounds


def measure(options: Options) -> Iterator[Table]:
    """Measure one row per answer, and check the worst against the goal."""
    rows, factors = [], []
    for name, data, spec, asked in cases(options.seed):
        predicted = prepare(data, spec, asked, Budget(), only_planned=True).seconds
        call = partial(run_test, data, spec, asked, Budget())
        (timing,) = interleave([Contender(name, call, 3 if options.quick else 7, 1)])
        factor = predicted / timing.median
        factors.append(max(factor, 1.0 / factor))
        rows.append([name, duration(predicted), duration(timing.median), f"{factor:.2f}x"])
    notes = [
        goal("predicted time, largest factor either way", max(factors), MOST_FACTOR, "times", at_least=False)
    ]
    header = ["answer", "predicted", "took", "predicted over took"]
    yield Table("Whole answers, predicted and taken", header, rows, notes)
