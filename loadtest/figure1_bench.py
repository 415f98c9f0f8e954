"""Reproduce Figure 1 of Zmigrod, Vieira & Cotterell 2022: runtime against N of Monte Carlo and the exact algorithms, with exactperm's.

Writes results/figure1.csv, from which `figure1` draws docs/figure1.svg. Monte Carlo has the paper's four numbers of samples and ends
where the paper's figure does; the others continue while a call takes a few seconds.
"""

import csv
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from loadtest import figure1, ours, paper, workload
from loadtest.measure import Contender, Timing, interleave
from loadtest.options import Options
from loadtest.table import Table, duration

SIZES = (100, 300, 1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
SAMPLES = (5_000, 10_000, 20_000, 40_000)
PAPER_ENDS = 10_000
LONG_CALL_ITEMS = 10_000
"""From this N the slower lines get fewer turns."""

PValue = Callable[[workload.IntArray, workload.IntArray], float]


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the figure: its source, the function that computes a p-value, and its last N."""

    name: str
    source: str
    p_value: PValue
    ends: int


def _exact(convolve: paper.Convolution) -> PValue:
    return lambda stay, swap: paper.exact_perm_test(stay, swap, convolve)


def _sampled(samples: int) -> PValue:
    return lambda stay, swap: paper.monte_carlo(stay, swap, samples)


LINES = (
    Line("fft", "exactperm", ours.by_fft, SIZES[-1]),
    Line("dp", "exactperm", ours.by_dp, 30_000),
    Line(
        "monte_carlo, K = 20,000",
        "exactperm",
        lambda stay, swap: ours.by_monte_carlo(stay, swap, 20_000, 0),
        SIZES[-1],
    ),
    Line("convolve_DP", "paper", _exact(paper.convolve_dp), 30_000),
    Line("convolve_FFT", "paper", _exact(paper.convolve_fft), 100_000),
    *(Line(f"monte_carlo, K = {samples:,}", "paper", _sampled(samples), PAPER_ENDS) for samples in SAMPLES),
)


def measure(options: Options) -> Iterator[Table]:
    """Measure the medians of every line, and write the files of the figure."""
    timings: dict[tuple[Line, int], Timing] = {}
    for items in SIZES:
        load = workload.accuracy(items, options.seed, options.law, options.gap)
        lines = [line for line in LINES if items <= line.ends]
        calls = [_contender(line, load, options.quick) for line in lines]
        for line, timing in zip(lines, interleave(calls), strict=True):
            timings[line, items] = timing
    points = [
        figure1.Point(items, line.name, line.source, timing.median, timing.best, len(timing.seconds))
        for line in LINES
        for (other, items), timing in timings.items()
        if other is line
    ]
    if options.write:
        _write(points)
    yield _table(points)


def _contender(line: Line, load: workload.AccuracyWorkload, quick: bool) -> Contender:
    slow = line.source == "paper" and load.stay.size >= LONG_CALL_ITEMS
    turns = (1 if slow else 2) if quick else (3 if slow else 7)
    sampled = line.source == "paper" and line.name.startswith("monte_carlo")
    # Skip the first call, which runs with the caches of other contenders.
    burst = 1 if slow or sampled else (2 if quick else 5)
    call = partial(line.p_value, load.stay, load.swap)
    return Contender(f"{line.source} {line.name}", call, turns, burst, warm_up=not slow)


def _write(points: list[figure1.Point]) -> None:
    figure1.FOLDER.mkdir(exist_ok=True)
    with figure1.CSV.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(figure1.COLUMNS)
        for p in points:
            writer.writerow([p.items, p.line, p.source, f"{p.median_s:.6g}", f"{p.min_s:.6g}", p.calls])
    figure1.write()


def _table(points: list[figure1.Point]) -> Table:
    medians = {(p.source, p.line, p.items): duration(p.median_s) for p in points}
    rows = [
        [f"{line.source}: {line.name}", *(medians.get((line.source, line.name, n), "") for n in SIZES)]
        for line in LINES
    ]
    calls = sorted({p.calls for p in points})
    notes = [
        "lines of the paper are its pseudo-code in NumPy (paper.py), on this machine; the authors' own code is not measured",
        f"medians of {' or '.join(map(str, calls))} calls; [figure1.csv](results/figure1.csv) has how many, and the minima",
        "![Runtime against the number of items, both on logarithmic scales](../docs/figure1.svg)",
    ]
    return Table("Seconds from effects to p-value", ["", *(f"N = {n:,}" for n in SIZES)], rows, notes)
