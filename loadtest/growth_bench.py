"""Measure how the cost of the exact test grows with the number of items, from a hundred to ten million."""

from collections.abc import Iterator
from functools import partial

from exactperm.engine.lattice import canonical_form
from loadtest import ours, workload
from loadtest.measure import Contender, interleave
from loadtest.options import Options
from loadtest.table import Table, duration, ratio

SIZES = tuple(10**power for power in range(2, 8))
SECONDS_PER_SIZE = 1.5
MOST_TURNS = 60


def measure(options: Options) -> Iterator[Table]:
    """The `fft` method from effects to p-value, and the part of it that grows with N."""
    rows, before = [], 0.0
    for items in SIZES:
        load = workload.accuracy(items, options.seed, options.law, options.gap)
        stay, swap = load.stay, load.swap
        turns = _turns(items, options.quick)
        whole, form = interleave(
            [
                Contender("fft", partial(ours.by_fft, stay, swap), turns),
                Contender("form", partial(canonical_form, stay, swap), turns),
            ]
        )
        rows.append(
            [
                f"N = {items:,}",
                duration(whole.median),
                duration(whole.best),
                str(len(whole.seconds)),
                f"{whole.median / items * 1e9:.3g} ns",
                ratio(whole.median / before) if before else "",
                duration(form.median),
                f"{form.result.range:,}",
                f"{whole.result:.12g}",
            ]
        )
        before = whole.median
    header = [
        "items",
        "median",
        "min",
        "calls",
        "per item",
        "of ten times fewer",
        "canonical form",
        "range",
        "p",
    ]
    yield Table("Our fft, from effects to p-value, two-sided", header, rows)


def _turns(items: int, quick: bool) -> int:
    """The number of calls that take about the same time for every size, at 10 ns an item; at least three."""
    seconds = SECONDS_PER_SIZE / (4 if quick else 1)
    return max(3, min(MOST_TURNS, int(seconds / (items * 10e-9 + 1e-3))))
