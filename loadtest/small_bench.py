"""Measure small tests: the engine beside other programs for the same p-value, and whole requests beside an echo, with their goals."""

from collections.abc import Callable, Iterator
from contextlib import closing

import numpy as np

from exactperm.engine.lattice import canonical_form
from exactperm.engine.one_sum import methods, rational
from exactperm.engine.plan import Budget
from exactperm.engine.probability import region
from loadtest import latency_bench, paper, rivals, workload
from loadtest.measure import Contender, Timing, interleave
from loadtest.options import Options
from loadtest.paper import IntArray
from loadtest.server import running_echo, running_process
from loadtest.sockets import Link
from loadtest.table import Table, duration, goal, ratio

SIZES = (100, 1_000)
ENGINE_MS, REQUEST_MS, OF_THE_ECHO = 0.1, 0.8, 0.35
SAMPLES, ALPHA = 20_000, 0.05
# One process against one: beyond half of its time, the web process would pass tests to its workers.
SETTINGS = {**latency_bench.SETTINGS, "inplace_share": 1}
# The share of items on which only one system is right, and the excess of U: one case with p near 1, one with small p.
RIGHT_ALONE = ((0.25, 0.25), (0.45, 0.08))
GAPS = (0.0, 0.05)
OURS, DP = "ours: lattice, plan, p", "Algorithm 3 (the paper's dynamic programme)"
COMPILED, POIBIN, IN_R = "Algorithm 3 under numba", "fast-poibin", "PoissonBinomial in R"

Effects = tuple[IntArray, IntArray]


def measure(options: Options) -> Iterator[Table]:
    """Measure the p-value alone, with rivals and all errors; then whole requests."""
    for items in SIZES:
        for title, effects in _workloads(items, options):
            yield _p_value(f"{title}, N = {items:,}: the p-value alone", effects, options.quick)
    yield from _requests(options)


def _workloads(items: int, options: Options) -> Iterator[tuple[str, Effects]]:
    for number, (u, v) in enumerate(RIGHT_ALONE):
        draw = np.random.default_rng(options.seed + number)
        stay = draw.choice([1, -1, 0], items, p=[u, v, 1.0 - u - v]).astype(np.int64)
        yield f"Right or wrong ({u:g} against {v:g})", (stay, -stay)
    for gap in GAPS:
        load = workload.accuracy(items, options.seed, options.law, gap)
        yield f"Correct tokens (gap {gap:g})", (load.stay, load.swap)


def ours(stay: IntArray, swap: IntArray) -> float:
    """The two-sided p-value as a test computes it: the lattice, the plan, and the method that it chooses."""
    form = canonical_form(stay, swap)
    tail = region(form, int(stay.sum()), "two-sided")
    plan = methods.plan(form, tail, Budget(), method="auto", samples=SAMPLES, alpha=ALPHA)
    return methods.exact_probability(plan.chosen.method, form, tail).p


def _p_value(title: str, effects: Effects, quick: bool) -> Table:
    stay, swap = effects
    unit = bool((np.abs(stay) <= 1).all())
    contenders: list[tuple[str, Callable[[IntArray, IntArray], float] | None]] = [
        (OURS, ours),
        (DP, lambda a, b: paper.exact_perm_test(a, b, paper.convolve_dp)),
        (COMPILED, rivals.algorithm_3_compiled()),
    ]
    missing = [] if contenders[-1][1] else [f"{COMPILED}: numba is not installed."]
    if unit:
        contenders.append((POIBIN, rivals.fast_poibin()))
        missing += [] if contenders[-1][1] else [f"{POIBIN}: it is not installed."]
    turns = 100 if quick else 400
    timings = interleave(
        [_contender(name, call, effects, turns) for name, call in contenders if call is not None]
    )
    form = canonical_form(stay, swap)
    truth = rational.probability(form, region(form, int(stay.sum()), "two-sided")).fraction
    assert truth is not None
    exact = truth[0] / (1 << truth[1])
    rows = [_row(timing, timings[0], exact) for timing in timings]
    if unit:
        found = rivals.poisson_binomial_in_r(stay)
        if found is None:
            missing.append(f"{IN_R}: R, or its package of this name, is not installed.")
        else:
            in_r = Timing(f"{IN_R}, timed by R", (found.median, found.best), found.p)
            rows.append(
                [in_r.name, duration(found.median), duration(found.best),
                 ratio(found.median / timings[0].median), f"{found.p:.15g}", _error(found.p, exact)]
            )  # fmt: skip
    notes = [f"p = {exact:.17g}, the exact fraction", *missing]
    if len(stay) == SIZES[0]:
        best = timings[0].best * 1e3
        notes.append(goal("engine, the least of all calls", best, ENGINE_MS, "ms", at_least=False))
    return Table(title, ["two-sided", "median", "min", "over ours", "p", "error"], rows, notes)


def _contender(
    name: str, call: Callable[[IntArray, IntArray], float], effects: Effects, turns: int
) -> Contender:
    return Contender(name, lambda: call(*effects), turns)


def _row(timing: Timing, unit: Timing, exact: float) -> list[str]:
    return [
        timing.name,
        duration(timing.median),
        duration(timing.best),
        ratio(timing.median / unit.median),
        f"{timing.result:.15g}",
        _error(timing.result, exact),
    ]


def _error(p: float, exact: float) -> str:
    return f"{abs(p - exact) / exact:.1e} rel"


def _requests(options: Options) -> Iterator[Table]:
    """Measure whole requests of one client, and the requests per second of eight, beside the echo of the same bodies."""
    with running_process(SETTINGS) as (url, _), running_echo() as echo:
        rows: list[list[str]] = []
        notes: list[str] = []
        for items in SIZES:
            bodies = latency_bench.bodies_of(items, options)
            for clients in latency_bench.CLIENTS:
                crowds = latency_bench.in_turns(url, echo, bodies, clients, options.quick)
                rows += [
                    [f"N = {items:,}, {row[0]}", *row[1:]] for row in latency_bench.rows_of(crowds, clients)
                ]
            mine, other = (max(crowd.rates) for crowd in crowds[:2])
            if items == SIZES[-1]:
                notes.append(
                    goal(f"N = {items:,}: requests/s", mine / other, OF_THE_ECHO, "of the echo", True)
                )
            else:
                with closing(Link(url)) as link:
                    best = latency_bench.quietest_p50(link, bodies)
                notes.append(
                    goal(f"N = {items:,}: p50 of the quietest second", best * 1e3, REQUEST_MS, "ms", False)
                )
        header = ["clients", "p50", "p99", "requests/s", "of the echo", "requests"]
        yield Table("Whole requests of small tests, JSON", header, rows, notes)
