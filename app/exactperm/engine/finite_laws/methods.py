"""The methods for finite laws besides `fft`: exact fractions, samples, the law for display, costs and plans.

`rational` counts: the coefficients of prod_g (sum_k w_gk x**v_gk) ** c_g are the numbers of ways to reach each T.
`monte_carlo` draws the multinomial numbers of equal laws that take each value.
"""

from __future__ import annotations

import heapq
import math
from fractions import Fraction
from functools import partial

import flint
import numpy as np

from ..lattice import Integers
from ..one_sum.monte_carlo import SAMPLES_PER_BLOCK, Estimate, estimate_by, stream
from ..one_sum.summary import Law, masses_on
from ..plan import Budget, Cost, FractionOverBudget, Plan, choose
from ..probability import IMPOSSIBLE, SMALLEST, Alternative, Probability, Region, from_ratio
from ..tilting import bernstein_reach
from . import fft
from .fft import top_probability
from .form import FiniteLaws
from .spectrum import centre, spectrum
from .tilt import tilt_at


def with_ties(
    method: str, form: FiniteLaws, region: Region, ties: tuple[int, ...]
) -> tuple[Probability, Probability]:
    """Return P(T in `region`), a nonempty one, by an exact method, and the mass at `ties` (`form.ties_of`)."""
    if method == "fft":
        return fft.with_ties(form, region, ties)
    tail, tied = counted(form, region, ties)
    return from_ratio(tail), from_ratio(tied) if tied else IMPOSSIBLE


def counted(form: FiniteLaws, region: Region, ties: tuple[int, ...]) -> tuple[Fraction, Fraction]:
    """Return both probabilities as exact fractions."""
    ways, total = ways_of(form), all_ways(form)
    inside = sum(
        int(sum((ways[t] for t in range(low, high + 1)), flint.fmpz(0))) for low, high in region.intervals
    )
    return Fraction(inside, total), Fraction(sum(int(ways[t]) for t in ties), total)


def all_ways(form: FiniteLaws) -> int:
    """Return the number of all ways."""
    total = 1
    for law, count in zip(form.laws, form.counts.tolist(), strict=True):
        total *= law.total**count
    return total


def ways_of(form: FiniteLaws) -> flint.fmpz_poly:
    """Return the polynomial whose coefficients count the ways to each T, multiplying the smallest factors first."""
    queue: list[tuple[int, int, flint.fmpz_poly]] = []
    for law, count in zip(form.laws, form.counts.tolist(), strict=True):
        coefficients = [0] * (law.top + 1)
        for value, ways in zip(law.values, law.ways, strict=True):
            coefficients[value] = ways
        queue.append((law.top * count, len(queue), flint.fmpz_poly(coefficients) ** count))
    heapq.heapify(queue)
    while len(queue) > 1:
        size, order, first = heapq.heappop(queue)
        other, _, second = heapq.heappop(queue)
        heapq.heappush(queue, (size + other, order, first * second))
    return queue[0][2] if queue else flint.fmpz_poly([1])


def estimate(form: FiniteLaws, region: Region, *, samples: int, seed: int) -> Estimate:
    """Estimate P(T in region) from `samples` independent draws of T."""
    return estimate_by(lambda block: draw_block(form, seed, block), region, samples=samples, seed=seed)


def draw_block(form: FiniteLaws, seed: int, block: int) -> Integers:
    """Draw SAMPLES_PER_BLOCK independent values of T."""
    generator = np.random.Generator(stream(seed, block))
    totals = np.zeros(SAMPLES_PER_BLOCK, dtype=np.int64)
    for law, count in zip(form.laws, form.counts.tolist(), strict=True):
        whole = law.total
        chances = [ways / whole for ways in law.ways]
        scale = sum(chances)
        drawn = generator.multinomial(count, [chance / scale for chance in chances], size=SAMPLES_PER_BLOCK)
        totals += drawn @ np.array(law.values, dtype=np.int64)
    return totals


# The null distribution, and the least p-value


# Tilted mass outside the window; shorter laws are counted in integers.
_OUTSIDE, _FEW = 1e-16, 1 << 12


def law(form: FiniteLaws) -> Law:
    """Return the law of T where it has mass, to about 1e-15 (see `one_sum.summary`)."""
    if form.range <= _FEW and form.counts.sum() <= 64:
        ways, total = ways_of(form), all_ways(form)
        masses = np.array([int(number) / total for number in ways.coeffs()])
        return Law(np.arange(form.range + 1, dtype=np.int64), masses)
    untilted = tilt_at(form, 0.0)
    reach = math.ceil(bernstein_reach(math.log(2.0 / _OUTSIDE), float(form.tops.max()), form.variance)) + 1
    middle = round(form.mean)
    low, high = max(0, middle - reach), min(form.range, middle + reach)
    return masses_on(low, high, 2 * centre(form, untilted), partial(spectrum, form, untilted))


def smallest_attainable(form: FiniteLaws, alternative: Alternative) -> float:
    """Return the least p-value of all outcomes: of the end farthest from the mean, or of both if equally far."""
    if form.range == 0:
        return 1.0
    top, bottom = top_probability(form).p, top_probability(form.reflected).p
    if alternative != "two-sided":
        return max(top if alternative == "greater" else bottom, SMALLEST)
    above, below = form.range - form.mean, form.mean
    return max(top + bottom if above == below else top if above > below else bottom, SMALLEST)


# Prices


EXACT_METHODS = ("fft", "rational")
METHODS = (*EXACT_METHODS, "monte_carlo")

# Nanoseconds of a tail, of a frequency screened by a gap, of a value of a law at a frequency, and of a law at one.
_PER_TAIL, _PER_SCREENED, _PER_VALUE, _PER_FACTOR = 600_000, 4, 30, 80
# Retained frequencies, for windows of any length.
_RETAINED = 250
# -log of the mass outside a window, as in `fft`.
_LOG_ODDS = 43.0
# Nanoseconds of a word of a coefficient per doubling, of a coefficient, of a sample of a law, and of its value.
_PER_WORD, _PER_COEFFICIENT, _PER_DRAW, _PER_DRAWN = 12, 300, 60, 16


def window_length(form: FiniteLaws) -> int:
    """Return the number of points of the untilted window."""
    reach = bernstein_reach(_LOG_ODDS, float(form.tops.max(initial=0.0)), form.variance)
    return min(form.range, 2 * math.ceil(reach)) + 1


def fft_cost(form: FiniteLaws) -> Cost:
    """Return the cost of both tails by `fft`."""
    length, size, groups = window_length(form), form.values.size, len(form.laws)
    retained = min(_RETAINED, length // 2 + 1)
    gaps = min(form.values.shape[1], 64)
    each = (
        _PER_TAIL + _PER_SCREENED * length * gaps // 2 + retained * (_PER_VALUE * size + _PER_FACTOR * groups)
    )
    return Cost("fft", 2 * each, 64 * min(length, 1 << 16) + 8 * length + 64 * min(size * retained, 1 << 19))


def rational_cost(form: FiniteLaws) -> Cost:
    """Return the cost of the exact fraction."""
    bits = sum(
        count * law.total.bit_length() for law, count in zip(form.laws, form.counts.tolist(), strict=True)
    )
    words, doublings = bits // 64 + 1, max(int(form.counts.sum()), 2).bit_length()
    coefficients = form.range + 1
    operations = coefficients * (words * doublings * _PER_WORD + _PER_COEFFICIENT) + 50_000
    return Cost("rational", operations, 3 * coefficients * (8 * words + 32))


def monte_carlo_cost(form: FiniteLaws, samples: int) -> Cost:
    """Return the cost of sampling."""
    each = _PER_DRAW * len(form.laws) + _PER_DRAWN * form.values.size
    return Cost("monte_carlo", (samples + 4096) * each + 100_000, 4096 * 16 * form.values.shape[1])


def plan(form: FiniteLaws, budget: Budget, *, method: str, samples: int) -> Plan:
    """Plan `method`, or the best one when it is `auto`. Raises the errors of `choose`."""
    candidates = (fft_cost(form), rational_cost(form), monte_carlo_cost(form, samples))
    return choose(candidates, budget, method=method)


def fraction_cost(form: FiniteLaws, budget: Budget) -> Cost:
    """Return the cost of the exact fraction, or raise FractionOverBudget."""
    cost = rational_cost(form)
    if not cost.fits(budget):
        raise FractionOverBudget(("rational",), (cost,), budget)
    return cost
