"""Measure the engine beside the published algorithms and SciPy, on the paper's workload (section 5)."""

import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from exactperm.engine.lattice import canonical_form
from loadtest import ours, paper, workload
from loadtest.measure import Contender, Timing, interleave
from loadtest.options import Options
from loadtest.table import Table, duration, goal, ratio

SAMPLES = 20_000
FEWER_SAMPLES = 5_000
SCIPY_RESAMPLES = 9_999
SCIPY_BATCH_CELLS = 1 << 21

FFT, DP, MONTE_CARLO = "ours fft", "ours dp", f"ours monte_carlo K={SAMPLES:,}"
ALGORITHM_1_FEWER, ALGORITHM_1 = (f"Algorithm 1 K={samples:,}" for samples in (FEWER_SAMPLES, SAMPLES))
ALGORITHM_1_PACKED = f"Algorithm 1 packed bits, BLAS K={SAMPLES:,}"
ALGORITHM_3, ALGORITHM_4 = "Algorithm 3 convolve_DP", "Algorithm 4 convolve_FFT"
ALGORITHM_4_TUNED = "Algorithm 4, short factors directly"
SCIPY = f"scipy permutation_test {SCIPY_RESAMPLES:,}"
SAMPLES_OF = {
    MONTE_CARLO: SAMPLES,
    ALGORITHM_1: SAMPLES,
    ALGORITHM_1_FEWER: FEWER_SAMPLES,
    ALGORITHM_1_PACKED: SAMPLES,
    SCIPY: SCIPY_RESAMPLES,
}

SIZES = (100, 1_000, 10_000)
LARGE_SIZES = (100_000, 1_000_000)
SMALL_P_GAPS = (0.005, 0.01, 0.02, 0.03, 0.05)
FFT_SPEEDUP, FFT_SECONDS, LARGE_FFT_SECONDS, MONTE_CARLO_SPEEDUP = 200.0, 1e-3, 40e-3, 50.0


def measure(options: Options) -> Iterator[Table]:
    """The side-by-side tables, the small p-values, the large sizes, each with its goals."""
    for items in SIZES:
        yield _side_by_side(items, options)
    yield _small_p_values(options)
    for items in LARGE_SIZES:
        yield _large(items, options)


def _side_by_side(items: int, options: Options) -> Table:
    load = workload.accuracy(items, options.seed, options.law, options.gap)
    timings = {timing.name: timing for timing in interleave(_contenders(load, options.seed, options.quick))}
    notes = [_shape(load), *(_goals(timings) if items == SIZES[-1] else [])]
    header = ["two-sided", "median", "min", "calls", "over ours fft", "p", "error"]
    return Table(f"N = {items:,}", header, _rows(timings), notes)


def _contenders(load: workload.AccuracyWorkload, seed: int, quick: bool) -> list[Contender]:
    stay, swap = load.stay, load.swap
    few, many = (2, 5) if quick else (5, 20)
    calls = [
        Contender(FFT, lambda: ours.by_fft(stay, swap), many, burst=5),
        Contender(DP, lambda: ours.by_dp(stay, swap), many),
        Contender(MONTE_CARLO, lambda: ours.by_monte_carlo(stay, swap, SAMPLES, seed), many),
        Contender(ALGORITHM_3, lambda: paper.exact_perm_test(stay, swap, paper.convolve_dp), many, burst=2),
        Contender(ALGORITHM_4, lambda: paper.exact_perm_test(stay, swap, paper.convolve_fft), many),
        Contender(
            ALGORITHM_4_TUNED,
            lambda: paper.exact_perm_test(stay, swap, paper.convolve_fft_tuned),
            many,
            burst=2,
        ),
        Contender(ALGORITHM_1_FEWER, lambda: paper.monte_carlo(stay, swap, FEWER_SAMPLES, seed), few),
        Contender(ALGORITHM_1, lambda: paper.monte_carlo(stay, swap, SAMPLES, seed), few),
        Contender(ALGORITHM_1_PACKED, lambda: paper.monte_carlo_packed(stay, swap, SAMPLES, seed), few),
    ]
    scipy_turns = 1 if quick or stay.size > 1_000 else 2
    return [*calls, Contender(SCIPY, lambda: _scipy(load, seed), scipy_turns, warm_up=False)]


def _scipy(load: workload.AccuracyWorkload, seed: int) -> float:
    """Run SciPy's test of the same hypothesis: |sum of differences|, vectorised, in batches of bounded memory."""
    result = stats.permutation_test(
        (load.u, load.v),
        _absolute_difference,
        permutation_type="samples",
        vectorized=True,
        n_resamples=SCIPY_RESAMPLES,
        batch=max(1, SCIPY_BATCH_CELLS // load.u.size),
        alternative="greater",
        rng=np.random.default_rng(seed),
    )
    return float(result.pvalue)


def _absolute_difference(u: NDArray[np.int64], v: NDArray[np.int64], axis: int) -> NDArray[np.int64]:
    return np.asarray(np.abs((u - v).sum(axis=axis)), dtype=np.int64)


def _rows(timings: dict[str, Timing]) -> list[list[str]]:
    truth = timings[ALGORITHM_3].result
    unit = timings[FFT].median
    return [
        [
            name,
            duration(timing.median),
            duration(timing.best),
            str(len(timing.seconds)),
            ratio(timing.median / unit),
            f"{timing.result:.15g}" if name not in SAMPLES_OF else f"{timing.result:.6g}",
            _error(timing.result, truth, SAMPLES_OF.get(name)),
        ]
        for name, timing in timings.items()
    ]


def _error(p: float, truth: float, samples: int | None) -> str:
    """The error against Algorithm 3, which only adds positive numbers: relative, or in standard errors for a sample."""
    if truth == 0.0:
        return "underflow"  # of Algorithm 3, which keeps plain probabilities
    if samples is None:
        return f"{abs(p - truth) / truth:.1e} rel"
    standard_error = math.sqrt(truth * (1.0 - truth) / samples)
    return f"{(p - truth) / standard_error:+.1f} se" if standard_error else "0 se"


def _shape(load: workload.AccuracyWorkload) -> str:
    form = canonical_form(load.stay, load.swap)
    return (
        f"{form.nonzero:,} items differ, {len(form.weights)} distinct weights, range {form.range:,}, "
        f"observed sum {int(load.stay.sum()):,}"
    )


def _goals(timings: dict[str, Timing]) -> list[str]:
    """Lines on the goals, all about the last size."""
    fft = timings[FFT].median
    over = timings[ALGORITHM_4].median / fft
    sampling = timings[MONTE_CARLO].median
    times = timings[ALGORITHM_1].median / sampling
    return [
        goal("fft over Algorithm 4", over, FFT_SPEEDUP, "times", at_least=True)
        + f"; over the tuned reading of it {timings[ALGORITHM_4_TUNED].median / fft:.0f} times",
        goal("fft", fft * 1e3, FFT_SECONDS * 1e3, "ms", at_least=False),
        goal(f"monte_carlo over {ALGORITHM_1}", times, MONTE_CARLO_SPEEDUP, "times", at_least=True)
        + f"; over packed bits and BLAS {timings[ALGORITHM_1_PACKED].median / sampling:.0f} times",
    ]


def _small_p_values(options: Options) -> Table:
    """The answers of the exact methods when p is small: an FFT of the pmf is only good to about 1e-16 of 1."""
    items = SIZES[-1]
    rows = []
    for gap in SMALL_P_GAPS:
        load = workload.accuracy(items, options.seed, options.law, gap)
        dp, conv = (
            paper.exact_perm_test(load.stay, load.swap, convolve)
            for convolve in (paper.convolve_dp, paper.convolve_fft)
        )
        fft = ours.by_fft(load.stay, load.swap)
        cells = [[f"{p:.12g}", _error(p, dp, None)] for p in (conv, fft)]
        rows.append([f"gap {gap:g}", f"{dp:.12g}", *cells[0], *cells[1]])
    header = ["accuracy", "Algorithm 3", "Algorithm 4", "error of 4", "ours fft", "error of fft"]
    return Table(f"Small p-values, N = {items:,}", header, rows)


def _large(items: int, options: Options) -> Table:
    load, quick = workload.accuracy(items, options.seed, options.law, options.gap), options.quick
    stay, swap = load.stay, load.swap
    calls = [
        Contender(FFT, lambda: ours.by_fft(stay, swap), 5 if quick else 15),
        Contender("of it canonical_form", lambda: canonical_form(stay, swap), 5 if quick else 15),
    ]
    longest = items == LARGE_SIZES[-1]
    if not (quick and longest):  # half a minute
        turns = 1 if quick or longest else 3
        calls.append(
            Contender(
                ALGORITHM_4,
                lambda: paper.exact_perm_test(stay, swap, paper.convolve_fft),
                turns,
                warm_up=False,
            )
        )
    timings: Sequence[Timing] = interleave(calls)
    fft = timings[0]
    rows = [
        [
            t.name,
            duration(t.median),
            duration(t.best),
            str(len(t.seconds)),
            ratio(t.median / fft.median),
            f"{t.result:.15g}" if isinstance(t.result, float) else "",
        ]
        for t in timings
    ]
    notes = [_shape(load)]
    if items == LARGE_SIZES[-1]:
        notes.append(goal("fft", fft.median * 1e3, LARGE_FFT_SECONDS * 1e3, "ms", at_least=False))
    return Table(f"N = {items:,}", ["two-sided", "median", "min", "calls", "over ours fft", "p"], rows, notes)
