"""F1 by Algorithm 5, the yardstick for a two-dimensional method of the engine, which has none yet."""

from loadtest import paper_tuples, workload
from loadtest.measure import Contender, interleave
from loadtest.table import duration, render

SIZES = (20, 50, 100, 200)


def run(seed: int, quick: bool) -> None:
    """Print time, size of the pmf and p-value of Algorithm 5, or that its pmf does not fit."""
    print(
        "Only the paper's Algorithm 5 is measured here: the engine has no method of rank two to put beside it."
    )
    rows = [_row(items, seed, quick) for items in SIZES]
    print(render(["N", "cells of the pmf", "median", "min", "calls", "p"], rows))


def _row(items: int, seed: int, quick: bool) -> list[str]:
    load = workload.f1(items, seed)
    stay, swap = paper_tuples.f1_effects(load.u, load.v)
    cells = paper_tuples.cells(stay, swap)
    if cells > paper_tuples.MAX_CELLS:
        return [f"{items:,}", f"{cells:,}", "too large", "", "", ""]
    call = Contender("Algorithm 5", lambda: paper_tuples.exact_perm_test_m(stay, swap), 3 if quick else 9)
    (timing,) = interleave([call])
    calls = str(len(timing.seconds))
    p_value = f"{timing.result:.12g}"
    return [f"{items:,}", f"{cells:,}", duration(timing.median), duration(timing.best), calls, p_value]
