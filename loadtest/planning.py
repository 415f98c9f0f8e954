"""`python -m loadtest.planning`: the cost of power and e-values, and checks of their guarantees.

Compares conditional power with simulated assignments of signs, and false alarms of e-values on null streams with a look after every
item with those of p-values with a look every 25 items.
"""

import argparse
import math
import time
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from scipy import special

from exactperm.engine.e_value import GRID, e_value
from exactperm.engine.lattice import canonical_form
from exactperm.engine.power.paired_binary import PairedBinary
from exactperm.engine.power.tilted_sum import LevelTest, power, rejection, tilt_of_mean, tilt_of_power
from loadtest.table import Table, duration

ALPHA, ITEMS = 0.05, 10_000
DESIGNS, FLIPS = 50, 1_000_000
STREAMS, LONGEST, EVERY = 10_000, 1_000, 25
# The share of items of a stream on which two systems differ.
DISCORDANT = 0.25


def best(function: Callable[[], Any], times: int = 5) -> float:
    """The seconds of the fastest of some runs."""
    took = []
    for _ in range(times):
        started = time.perf_counter()
        function()
        took.append(time.perf_counter() - started)
    return min(took)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m loadtest.planning", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the simulations")
    part = 10 if parser.parse_args().quick else 1
    print(Table("Power and e-values, seconds", ["", "seconds"], list(_timed())).text())
    print(
        Table(
            "Conditional power against simulation", ["designs", "flips", "largest z"], [_simulated(part)]
        ).text()
    )
    heads = ["true difference", "streams", "looks", "e-values", "median stop", "p-values every 25"]
    print(Table("Rejections within 1,000 items", heads, [_streams(0.0, part), _streams(0.08, part)]).text())


def _timed() -> list[list[str]]:
    draw = np.random.default_rng(0)
    graded, real = draw.integers(-10, 11, ITEMS), draw.integers(-(10**6), 10**6, ITEMS)
    rows = []

    def design() -> None:
        PairedBinary(0.08, 0.05).power(ITEMS)

    rows.append(["binary design, N = 10,000: power", duration(best(design))])
    twice = np.concatenate([real[: ITEMS // 2], real[: ITEMS // 2]])
    for name, effects in (("21 sizes", graded), ("10,000 sizes", real), ("5,000 sizes twice", twice)):

        def whole(effects: Any = effects) -> None:
            form = canonical_form(effects)
            found = rejection(form, LevelTest(ALPHA, "two-sided"))
            tilt = tilt_of_mean(form, 2.0 * math.sqrt(form.variance))
            assert found is not None
            assert tilt is not None
            power(form, found.region, tilt)

        def evidence(effects: Any = effects) -> None:
            form = canonical_form(effects)
            e_value(form, int(effects.sum()), Fraction(1, int(np.abs(effects).max())), "two-sided")

        if name == "21 sizes":
            rows.append([f"pilot of 10,000 items, {name}: power", duration(best(whole))])
        rows.append([f"e-value of 10,000 items, {name}", duration(best(evidence))])
    return rows


def _simulated(part: int) -> list[str]:
    """The largest |difference| in standard errors between conditional power and simulated rejections."""
    draw, worst = np.random.default_rng(1), 0.0
    for _ in range(DESIGNS):
        n = int(draw.integers(8, 400))
        form = canonical_form(draw.integers(0, int(draw.choice([2, 5, 40])), n))
        found = rejection(form, LevelTest(ALPHA, "two-sided"))
        tilt = None if found is None else tilt_of_power(form, found.region, float(draw.uniform(0.2, 0.95)))
        if found is None or tilt is None:
            continue
        expected, flips = power(form, found.region, tilt), FLIPS // part
        total = np.zeros(flips, dtype=np.int64)
        for weight, count in zip(form.weights.tolist(), form.counts.tolist(), strict=True):
            total += weight * draw.binomial(count, special.expit(tilt * weight), flips)
        share = float(np.mean((total >= found.least) | (total <= form.range - found.least)))
        worst = max(worst, abs(share - expected) / math.sqrt(expected * (1.0 - expected) / flips))
    return [str(DESIGNS), f"{FLIPS // part:,}", f"{worst:.2f}"]


def _streams(difference: float, part: int) -> list[str]:
    """Streams of right-or-wrong items: the shares on which either kind of evidence rejects, and when e-values do."""
    draw = np.random.default_rng(2)
    streams = STREAMS // part
    up = (DISCORDANT + difference) / 2.0
    rolled = draw.random((streams, LONGEST))
    signs = (rolled < up).astype(np.int64) - (rolled > 1.0 - (DISCORDANT - up))
    sums, flips = signs.cumsum(axis=1), np.abs(signs).cumsum(axis=1)
    log_e = np.full(sums.shape, -np.inf)
    for tilt in GRID:
        one = np.logaddexp(tilt * sums, -tilt * sums) - math.log(2.0) - flips * math.log(math.cosh(tilt))
        log_e = np.logaddexp(log_e, one)
    found = log_e - math.log(len(GRID)) >= -math.log(ALPHA)
    stops = found.argmax(axis=1)[found.any(axis=1)] + 1
    looked = slice(EVERY - 1, None, EVERY)
    k, wins = flips[:, looked], (flips[:, looked] + np.abs(sums[:, looked])) // 2
    p = np.minimum(2.0 * special.bdtrc(np.maximum(wins - 1, 0).astype(float), np.maximum(k, 1), 0.5), 1.0)
    peeked = ((p <= ALPHA) & (k > 0) & (wins > 0)).any(axis=1)
    return [
        f"{difference:g}", f"{streams:,}", "after every item", f"{found.any(axis=1).mean():.4f}",
        f"{np.median(stops):.0f}" if len(stops) else "", f"{peeked.mean():.3f}",
    ]  # fmt: skip


if __name__ == "__main__":
    main()
