"""`python -m loadtest.boards`: whole boards beside loops of single tests and of SciPy's, in one run.

Measures the engine without HTTP (except in the last table): planning, all tests, adjustment, ranks, groups and records. SciPy and
single tests are timed on some pairs and extrapolated to all. Set OPENBLAS_NUM_THREADS=1, as workers do.
"""

import argparse
import io
import time
from collections.abc import Callable, Iterator
from typing import Any, cast

import httpx
import numpy as np
from numpy.typing import NDArray
from scipy import stats

from exactperm.engine.plan import Budget
from exactperm.inference.compare.compare import finish_compare, prepare_compare
from exactperm.inference.compare.systems import Comparison, pair_data
from exactperm.inference.options import Options
from exactperm.inference.paired import run_test
from exactperm.statistics.paired import Column, StatisticSpec, Systems
from loadtest.server import running_server
from loadtest.table import Table, duration, ratio

SINGLE = 40
ROUNDS = 5  # each with a separate array
BUDGET = Budget()
OPTIONS = Options(higher_is_better=True, pmf="none")
MEAN = StatisticSpec("mean_difference")
Scores = NDArray[np.int64]
Loop = Callable[[Column, Column], Any]


def right_or_wrong(systems: int, items: int, generator: np.random.Generator) -> Scores:
    """Shape (K, N): easy and hard items, better and worse systems."""
    ability = generator.normal(0.6, 0.5, (systems, 1)) - generator.normal(0.0, 1.5, (1, items))
    return (generator.random((systems, items)) < 1.0 / (1.0 + np.exp(-ability))).astype(np.int64)


def grades(systems: int, items: int, generator: np.random.Generator) -> Scores:
    """Shape (K, N): 0 to 20."""
    means = 12.0 + generator.normal(0.0, 0.3, (systems, 1)) + generator.normal(0.0, 4.0, (1, items))
    return np.clip(np.rint(means + generator.normal(0.0, 4.0, (systems, items))), 0, 20).astype(np.int64)


def binomial(u: Column, v: Column) -> Any:
    """Run SciPy's exact McNemar test of one pair."""
    more, less = int((u > v).sum()), int((u < v).sum())
    return stats.binomtest(more, more + less).pvalue if more + less else 1.0


def wilcoxon(u: Column, v: Column) -> Any:
    """Run SciPy's signed-rank test of one pair, by the normal approximation, as its exact test does not take such scores."""
    return stats.wilcoxon(u, v, method="approx").pvalue


def measured(title: str, sets: list[Scores], loop: Loop, rounds: int) -> Table:
    """Time a comparison of one or several sets, its parts, and loops over its pairs."""
    datasets: dict[str | None, Systems] = {
        None if len(sets) == 1 else f"set {at:03}": Systems(
            "scores", {f"s{i:04}": row for i, row in enumerate(scores)}
        )
        for at, scores in enumerate(sets)
    }
    comparison = Comparison(datasets, MEAN, OPTIONS)
    whole, cpu, tests = [], [], []
    for _ in range(rounds):
        started, busy = time.perf_counter(), time.process_time()
        prepared = prepare_compare(comparison, BUDGET)
        record = finish_compare(prepared)
        whole.append(time.perf_counter() - started)
        cpu.append(time.process_time() - busy)
        busy = time.process_time()
        for board in prepared.boards:
            board.planned.solve()
        tests.append(time.process_time() - busy)
    assert len(record.boards) == len(sets) + (len(sets) > 1)  # the overall board
    first = next(iter(datasets.values()))
    pairs = [(f"s{i:04}", f"s{i + 1:04}") for i in range(min(SINGLE, len(first.names) - 1))]
    busy = time.process_time()
    for u, v in pairs:
        data = pair_data(first, u, v)
        assert data is not None
        run_test(data, MEAN, OPTIONS, BUDGET)
    single = (time.process_time() - busy) / len(pairs) * prepared.tests
    busy = time.process_time()
    for u, v in pairs:
        loop(cast("Any", first.columns[u]), cast("Any", first.columns[v]))
    scipy = (time.process_time() - busy) / len(pairs) * prepared.tests
    best = min(cpu)
    rows = [
        ["board, by the clock", duration(min(whole)), ""],
        ["board, of the processor", duration(best), "1"],
        ["its tests alone", duration(min(tests)), ratio(min(tests) / best)],
        ["as predicted", duration(prepared.seconds), ratio(prepared.seconds / best)],
        ["single tests, one by one", duration(single), ratio(single / best)],
        [f"scipy {loop.__name__}, one by one", duration(scipy), ratio(scipy / best)],
    ]
    return Table(f"{title}: {prepared.tests:,} tests", ["", "time", "over board"], rows)


def tables(*, quick: bool, seed: int = 0) -> Iterator[Table]:
    """Measure the boards of the goals, then growth in systems and in items."""
    generator = np.random.default_rng(seed)
    rounds = 2 if quick else 5
    yield measured(
        "134 systems x 500, right or wrong", [right_or_wrong(134, 500, generator)], binomial, rounds
    )
    yield measured("50 systems x 1,000, grades 0..20", [grades(50, 1_000, generator)], wilcoxon, rounds)
    sets = [right_or_wrong(100, 1_000, generator) for _ in range(5 if quick else 50)]
    yield measured(
        f"100 systems x {len(sets)} sets x 1,000, right or wrong", sets, binomial, 1 if quick else 2
    )
    for systems, items in ((20, 1_000), (40, 1_000), (20, 16_000)):
        title = f"{systems} systems x {items:,}, grades"
        yield measured(title, [grades(systems, items, generator)], wilcoxon, rounds)
    for systems, items in ((100, 10_000), (30, 160_000)):
        title = f"{systems} systems x {items:,}, right or wrong"
        yield measured(title, [right_or_wrong(systems, items, generator)], binomial, rounds)


def over_http(seed: int = 0) -> Table:
    """Send 134 systems x 500 as an array to a new server: answers of every size, without cached ones."""
    rows = []
    with running_server() as url, httpx.Client(base_url=url, timeout=60.0) as client:
        for listed in ("none", "significant", "all"):
            times, size = [], 0
            for turn in range(ROUNDS):
                scores = right_or_wrong(134, 500, np.random.default_rng(seed + turn))
                body = io.BytesIO()
                np.save(body, scores.T.astype(np.int8))
                query = {"systems": ",".join(f"s{i:03}" for i in range(134)), "pairs": listed}
                started = time.perf_counter()
                answer = client.post(
                    "/v1/compare",
                    params=query,
                    content=body.getvalue(),
                    headers={"content-type": "application/x-npy"},
                )
                times.append(time.perf_counter() - started)
                answer.raise_for_status()
                size = len(answer.content)
            rows.append([f"pairs={listed}", duration(min(times)), duration(max(times)), f"{size:,}"])
    return Table("134 systems x 500 over HTTP, npy", ["", "best", "worst", "bytes of answer"], rows)


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rounds and sets")
    for table in tables(quick=parser.parse_args().quick):
        print(table.text(), end="\n\n", flush=True)
    print(over_http().text(), flush=True)


if __name__ == "__main__":
    main()
