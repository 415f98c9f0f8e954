"""`python -m loadtest.control_variate`: the number of plain samples that a sample with a control variate replaces.

The variance ratio compares both estimates from the same samples, the width ratio their 99 % intervals, squared: the factor of samples for
an equally narrow plain interval. With --pack, the folder of an evaluation pack's segment statistics, corpus BLEU uses real translations,
else simulated ones.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from exactperm.answers.test import MonteCarloRecord
from exactperm.engine.one_sum.monte_carlo import Estimate
from exactperm.engine.plan import Budget
from exactperm.inference.options import Options
from exactperm.inference.paired import run_test
from exactperm.statistics.corpus import BLEU_NAMES
from exactperm.statistics.paired import Counts, Paired, Predictions, StatisticSpec
from loadtest.segments import segments_of
from loadtest.table import Table

SAMPLES = 200_000
MACRO, MCC, BLEU = StatisticSpec("f1", {"average": "macro"}), StatisticSpec("mcc"), StatisticSpec("bleu")
ITEMS = 1_000
HEADER = [
    "statistic", "p", "without", "linear part alone", "disagree", "variance ratio", "width ratio, squared",
]  # fmt: skip


def main() -> None:
    """Measure every case and print the table."""
    parser = argparse.ArgumentParser(prog="python -m loadtest.control_variate", description=__doc__)
    parser.add_argument("--samples", type=int, default=SAMPLES)
    parser.add_argument("--pack", type=Path, help="a folder with *.segment-stats.tsv of two systems")
    asked = parser.parse_args()
    rows = [_row(name, data, spec, asked.samples) for name, data, spec in _cases(asked.pack)]
    print(Table(f"Samples with a control variate, {asked.samples:,} each", HEADER, rows).text())


def _cases(pack: Path | None) -> Iterator[tuple[str, Paired, StatisticSpec]]:
    draw = np.random.default_rng(0)
    segments = _drawn_segments(draw) if pack is None else segments_of(pack)
    whole = len(segments[0])
    for size in (100, whole):
        chosen = np.sort(draw.choice(whole, size, replace=False))
        u, v = (dict(zip(BLEU_NAMES, rows[chosen].T, strict=True)) for rows in segments)
        yield f"BLEU, N = {size:,}", Counts(u, v), BLEU
        # Mix the segments of both systems, so that the difference is from the null distribution.
        for turn in range(3):
            mixed = draw.random(size) < 0.5
            one = {name: np.where(mixed, u[name], v[name]) for name in BLEU_NAMES}
            other = {name: np.where(mixed, v[name], u[name]) for name in BLEU_NAMES}
            yield f"BLEU, N = {size:,}, mixed, {turn + 1}", Counts(one, other), BLEU
    for classes in (3, 5, 10):
        even = np.full(classes, 1.0 / classes)
        yield f"macro F1, {classes} classes", labels(draw, even), MACRO
        yield f"MCC, {classes} classes", labels(draw, even), MCC
    skewed = 0.6 ** np.arange(10)
    yield "macro F1, 10 skewed classes", labels(draw, skewed / skewed.sum()), MACRO


def _row(name: str, data: Paired, spec: StatisticSpec, samples: int) -> list[str]:
    options = Options(method="monte_carlo", pmf="none", samples=samples)
    record = run_test(data, spec, options, Budget())
    drawn = record.method.monte_carlo
    if drawn is None or drawn.control is None:
        return [name, f"{record.p_value:.5g}", *["no control variate"] * 5]
    low, high = record.p_value_bounds
    first, last = Estimate(samples, 0, drawn.exceedances).interval()
    disagree = _counted(drawn.gained) + _counted(drawn.lost)
    return [
        name,
        f"{record.p_value:.5g}",
        f"{drawn.p_value_plain:.5g}",
        f"{drawn.control_p_value:.5g}",
        f"{disagree / samples:.1e}",
        _variance_ratio(drawn),
        f"{((last - first) / (high - low)) ** 2:,.0f}",
    ]


def _variance_ratio(drawn: MonteCarloRecord) -> str:
    """The variance ratio of the plain and the controlled estimate; a lower bound if no sample disagrees."""
    share, samples = drawn.exceedances / drawn.samples, drawn.samples
    gained, lost = _counted(drawn.gained), _counted(drawn.lost)
    moved = (gained - lost) / samples
    controlled = max(gained + lost, 1) / samples - moved * moved
    sign = "" if gained + lost else "> "
    return f"{sign}{share * (1.0 - share) / controlled:,.0f}"


def _counted(count: int | None) -> int:
    return 0 if count is None else count


def labels(
    draw: np.random.Generator, law: np.ndarray[tuple[int], np.dtype[np.float64]], items: int = ITEMS
) -> Predictions:
    """Two systems with accuracies of about 70 % and 66 %."""
    gold = draw.choice(len(law), items, p=law)
    systems = [
        np.where(draw.random(items) < right, gold, draw.choice(len(law), items, p=law))
        for right in (0.66, 0.62)
    ]
    return Predictions(gold.tolist(), systems[0].tolist(), systems[1].tolist())


def _drawn_segments(draw: np.random.Generator) -> list[np.ndarray[tuple[int, int], np.dtype[np.int64]]]:
    """Statistics of 2,445 segments with random n-gram matches."""
    reference = draw.integers(4, 40, 2_445)
    systems = []
    for quality in (0.62, 0.61):
        length = np.maximum(reference + draw.integers(-3, 4, len(reference)), 4)
        totals = [length - n for n in range(4)]
        correct = [np.minimum(draw.binomial(totals[0], quality), reference)]
        for total in totals[1:]:
            correct.append(np.minimum(draw.binomial(correct[-1], quality), total))
        systems.append(np.column_stack([length, reference, *correct, *totals]).astype(np.int64))
    return systems


if __name__ == "__main__":
    main()
