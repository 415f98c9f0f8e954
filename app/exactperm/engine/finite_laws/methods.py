"""The methods for finite laws besides `fft`: exact fractions, samples, the law for display, costs and plans.

`rational` counts: the coefficients of prod_g (sum_k w_gk x**v_gk) ** c_g are the numbers of ways to reach each T.
`monte_carlo` draws the multinomial numbers of equal laws that take each value.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from fractions import Fraction
from functools import partial

import flint
import numpy as np

from ..lattice import Integers, Reals
from ..one_sum.monte_carlo import SAMPLES_PER_BLOCK, Estimate, estimate_by, stream
from ..one_sum.spectrum import negligible
from ..one_sum.summary import Law, masses_on
from ..plan import Budget, Cost, FractionOverBudget, Plan, choose
from ..probability import IMPOSSIBLE, SMALLEST, UNIT_ROUNDOFF, Alternative, Probability, Region, from_ratio
from ..real.bounds import Bracket
from ..tilting import bernstein_reach
from . import fft
from .fft import top_probability
from .form import CoarseLaws, FiniteLaws, coarse_laws, coarse_region
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


def is_dense(form: FiniteLaws) -> bool:
    """Whether most frequencies matter: of few units with many values the characteristic function does not vanish."""
    squares = (np.exp(2.0 * form.log_chances)).sum(axis=1)
    # Far from zero the modulus of a law is about that of random turns: E -log = (Euler's constant - log(squares)) / 2.
    return float(form.counts @ (0.29 - 0.5 * np.log(squares))) < negligible(window_length(form))


def masses(form: FiniteLaws) -> tuple[Reals, float]:
    """P(T = t) for t in 0..range, unit by unit, and a bound on their relative error: all terms are positive."""
    found, terms = np.ones(1), 0
    for law, count in zip(form.laws, form.counts.tolist(), strict=True):
        chances = [ways / law.total for ways in law.ways]
        for _ in range(count):
            longer = np.zeros(len(found) + law.top)
            for value, chance in zip(law.values, chances, strict=True):
                longer[value : value + len(found)] += chance * found
            found, terms = longer, terms + len(chances) + 2
    return found, 1.1 * UNIT_ROUNDOFF * (terms + len(found).bit_length() + 130)


def masses_operations(form: FiniteLaws) -> int:
    """The operations of `masses`."""
    units = zip(form.laws, form.counts.tolist(), strict=True)
    return form.range * sum(int(count) * len(law.values) for law, count in units) + 50_000


# Tilted mass outside the window; shorter laws are counted in integers.
_OUTSIDE, _FEW = 1e-16, 1 << 12


def law(form: FiniteLaws) -> Law:
    """Return the law of T where it has mass, to about 1e-15 (see `one_sum.summary`)."""
    if form.range <= _FEW and form.counts.sum() <= 64:
        ways, total = ways_of(form), all_ways(form)
        counted = np.array([int(number) / total for number in ways.coeffs()])
        return Law(np.arange(form.range + 1, dtype=np.int64), counted)
    if is_dense(form):
        return Law(np.arange(form.range + 1, dtype=np.int64), masses(form)[0])
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


def enumerated(
    coarse: CoarseLaws, observed: int, alternative: Alternative
) -> tuple[Probability, Probability]:
    """P(S at least as extreme as observed) from all values of S before rounding, and P(S as extreme)."""
    ways = Counter({0: 1})
    for law, count in coarse.laws:
        for _ in range(count):
            longer: Counter[int] = Counter()
            for total, number in ways.items():
                for value, more in law.items():
                    longer[total + value] += number * more
            ways = longer
    every, distance = sum(ways.values()), abs(observed - coarse.mean)
    if alternative == "two-sided":
        sizes = {total: abs(total - coarse.mean) - distance for total in ways}
    else:
        sign = 1 if alternative == "greater" else -1
        sizes = {total: Fraction(sign * (total - observed)) for total in ways}
    inside = sum(number for total, number in ways.items() if sizes[total] >= 0)
    ties = sum(number for total, number in ways.items() if sizes[total] == 0)
    return from_ratio(Fraction(inside, every)), from_ratio(Fraction(ties, every))


def in_bounds(coarse: CoarseLaws, observed: int, alternative: Alternative, least: float) -> Bracket:
    """A rigorous bracket of p from rounded laws; `least` is the logarithm of a number that p is not below."""
    regions = [coarse_region(coarse, observed, alternative, outer=side) for side in (False, True)]
    if is_dense(coarse.form):
        chances, error = masses(coarse.form)
        tails = [
            sum(float(chances[first : last + 1].sum()) for first, last in region.intervals)
            for region in regions
        ]
        logs = [(math.log(tail) if tail else -math.inf, error) for tail in tails]
    else:
        found = [fft.probability(coarse.form, region) for region in regions]
        logs = [(tail.log_p, tail.relative_error_bound) for tail in found]
    (inner, inner_error), (outer, outer_error) = logs
    low, high = least, 0.0
    if inner_error < 1.0:
        low = max(least, inner + math.log1p(-inner_error))
    if outer_error < math.inf:
        high = min(max(outer + math.log1p(outer_error), low), 0.0)
    return Bracket(min(low, high), high, 0, 0, reached=True)


# Prices


EXACT_METHODS = ("fft", "rational")
METHODS = (*EXACT_METHODS, "monte_carlo")
FRACTION_METHODS = ("enumeration", "rational")

# Nanoseconds of a tail, of a frequency screened by a gap, of a value of a law at a frequency, and of a law at one.
_PER_TAIL, _PER_SCREENED, _PER_VALUE, _PER_FACTOR = 600_000, 4, 30, 80
# The same of a value where no sines are shared and most frequencies are retained.
_PER_DENSE = 100
# Retained frequencies, for windows of any length.
_RETAINED = 250
# -log of the mass outside a window, as in `fft`.
_LOG_ODDS = 43.0
# Steps to a standard deviation of rounded laws.
_MOST_SUMS = 200_000
_FEWEST_STEPS, _MOST_STEPS = 2.0**12, 2.0**18
# Nanoseconds of a word of a coefficient per doubling, of a coefficient, of a sample of a law, and of its value.
_PER_WORD, _PER_COEFFICIENT, _PER_DRAW, _PER_DRAWN = 12, 300, 60, 16


def window_length(form: FiniteLaws) -> int:
    """Return the number of points of the untilted window."""
    reach = bernstein_reach(_LOG_ODDS, float(form.tops.max(initial=0.0)), form.variance)
    return min(form.range, 2 * math.ceil(reach)) + 1


def fft_cost(form: FiniteLaws) -> Cost:
    """Return the cost of both tails by `fft`."""
    length, size, groups = window_length(form), form.values.size, len(form.laws)
    retained, per_value = min(_RETAINED, length // 2 + 1), _PER_VALUE
    if retained == _RETAINED and is_dense(form):
        retained, per_value = length // 2 + 1, _PER_DENSE
    gaps = min(form.values.shape[1], 64)
    each = (
        _PER_TAIL + _PER_SCREENED * length * gaps // 2 + retained * (per_value * size + _PER_FACTOR * groups)
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


def rounded(form: FiniteLaws, steps: float) -> CoarseLaws:
    """Round a form's laws to about so many steps a standard deviation; in the units of S."""
    return coarse_laws(form.of_s, form.items, steps, form.step)


def bounds_cost(coarse: CoarseLaws, precision: float) -> Cost:
    """Return the cost of a bracket."""
    if is_dense(coarse.form):
        return Cost("bounds", masses_operations(coarse.form), 32 * coarse.form.range, precision=precision)
    each = fft_cost(coarse.form)
    return Cost("bounds", 2 * each.operations, each.bytes, each.rate, precision)


def steps_wanted(units: int, precision: float) -> float:
    """Steps to a standard deviation for a bracket of about this relative width, at some standard deviations."""
    return min(max(4.0 * units / precision, _FEWEST_STEPS), _MOST_STEPS)


def plan(
    form: FiniteLaws,
    budget: Budget,
    *,
    method: str,
    samples: int,
    precision: float,
    coarse: CoarseLaws | None = None,
) -> tuple[Plan, CoarseLaws | None]:
    """Plan `method`, or the best one when it is `auto`, and the rounded laws of a bracket, if one was priced.

    Where there are `coarse` laws only, `form` is theirs. Raises what `choose` raises.
    """
    exact: tuple[Cost, ...] = (fft_cost(form), rational_cost(form)) if coarse is None else ()
    sampled = monte_carlo_cost(form, samples)
    if coarse is None and method not in EXACT_METHODS and not any(cost.fits(budget) for cost in exact):
        coarse = rounded(form, steps_wanted(int(form.counts.sum()), precision))
    if coarse is not None and coarse.sums <= _MOST_SUMS:
        exact = (*exact, Cost("enumeration", 3_000 * coarse.sums + 50_000, 200 * coarse.sums))
    priced = () if coarse is None else (bounds_cost(coarse, precision),)
    return choose((*exact, *priced, sampled), budget, method=method), coarse


def fraction_cost(form: FiniteLaws, budget: Budget) -> Cost:
    """Return the cost of the exact fraction, or raise FractionOverBudget."""
    cost = rational_cost(form)
    if not cost.fits(budget):
        raise FractionOverBudget(("rational",), (cost,), budget)
    return cost
