"""The methods for one sum, by name, and their costs, computed in exact integers before any array exists.

Operations are the elementary steps of each method; `Cost.seconds` converts them to time with the rates below, which
are fitted to measured times. `python -m loadtest.bench --section plan` prints predicted and measured time and
memory: run it after changing a method or a constant of this file.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np

from ..lattice import CanonicalForm, Integers
from ..plan import INEXACT_METHODS, LONG_S, Budget, Cost, FractionOverBudget, Plan, choose
from ..probability import Probability, Region
from ..real import bounds
from ..real.bounds import Bracket
from ..real.form import from_lattice
from ..real.price import log_expected, steps_and_bytes
from . import dp, enumeration, fft, monte_carlo, rational
from .heavy_weights import best_split, screening, window_length
from .monte_carlo import COUNTED_BITS, Estimate
from .spectrum import frequencies

EXACT_METHODS = ("fft", "dp", "rational", "enumeration", "meet_in_the_middle")
FRACTION_METHODS = ("enumeration", "meet_in_the_middle", "rational")
METHODS = (*EXACT_METHODS, *INEXACT_METHODS)

# Nanoseconds per operation.
_RATES = {
    "fft": 1.0,
    "dp": 1.0,
    "rational": 0.6,
    "enumeration": 2.0,
    "meet_in_the_middle": 4.0,
    # Measured: 3 to 5. A bracket that takes all its allowed steps is still within three times its price.
    "bounds": 8.0,
    "monte_carlo": 2.0,
}
_MAX_ENUMERATED = 28
# Cells of `dp` that stay in the cache; an addition beyond it costs half as much again.
_CACHED_CELLS = 1 << 18
_MAX_MET = 52
# See `_obvious_choice`.
_FEW_LISTED, _CHEAP_S, _MANY_ADDED = 24, 1e-4, 128
# A wider bracket says less than a sample.
WIDEST = 0.1
# Logarithm of the ratio at which the bisection over precisions stops.
_FINELY = math.log(1.5)
# A bracket is likely to decide where the estimated p-value and alpha differ by this factor.
_FAR = 1.5


def costs(form: CanonicalForm, region: Region, samples: int) -> tuple[Cost, ...]:
    """Return the costs of all applicable methods but `bounds`: exact ones, cheapest first, then Monte Carlo."""
    by_fft = _tabled(form) if fft.is_tabled(form, region) else fft_cost(form)
    exact = [by_fft, _dp(form, region), _rational(form, region)]
    if form.nonzero <= _MAX_ENUMERATED:
        exact.append(_enumeration(form))
    if 2 <= form.nonzero <= _MAX_MET:
        exact.append(_meet_in_the_middle(form, region))
    exact.sort(key=lambda cost: cost.seconds)
    return (*exact, _monte_carlo(form, samples))


def plan(
    form: CanonicalForm,
    region: Region,
    budget: Budget,
    *,
    method: str,
    samples: int,
    precision: float = 1e-3,
    alpha: float | None = None,
) -> Plan:
    """Plan `method`, or the best one when it is `auto`; `precision` is the relative width that `bounds` aims at.

    With an `alpha`, `auto` may prefer a bracket that decides about it to slow exact methods. Raises as `choose` does.
    """
    if method == "auto" and (certain := _obvious_choice(form, region)) is not None and certain.fits(budget):
        rest = partial(_all_but, certain.method, form, region, samples)
        return Plan(certain, "the cheapest exact method here: few items and small sums", rest, budget)
    candidates = costs(form, region, samples)
    decisive = False
    if method == "auto":
        exact = next((cost for cost in candidates if cost.exact and cost.fits(budget)), None)
        if exact is None:
            candidates = (*candidates, narrowest_bracket(form, region, precision, budget))
        elif alpha is not None and exact.seconds > LONG_S:
            candidates = (*candidates, bounds_cost(form, region, precision))
            decisive = _likely_to_decide(form, region, alpha)
    elif not any(cost.method == method and cost.fits(budget) for cost in candidates):
        candidates = (*candidates, bounds_cost(form, region, precision))
    endless = None if method == "auto" else _endless(form, candidates)
    return choose(candidates, budget, method=method, endless=endless, decisive=decisive)


def _obvious_choice(form: CanonicalForm, region: Region) -> Cost | None:
    """Return the cheapest exact method of a short law where it is clear without computing the costs of the others.

    Their formulas give at least 130 microseconds (fft without tables), 60 and 1.8 per item (dp), 161 from
    _FEW_LISTED items on (meet_in_the_middle, excluded above _MAX_MET items), and more (enumeration).
    """
    if form.nonzero < _FEW_LISTED:
        return None
    if not rational.is_short(form) and form.nonzero < _MANY_ADDED:
        return None
    counted = _rational(form, region)
    if counted.seconds <= _CHEAP_S:
        return counted
    if form.nonzero < _MANY_ADDED or not fft.is_tabled(form, region):
        return None
    return min(_tabled(form), counted, key=lambda cost: cost.seconds)


def _tabled(form: CanonicalForm) -> Cost:
    """Return the cost of `fft.probability` by tables."""
    return _cost("fft", 120_000 + 40 * form.range + 2_000 * len(form.weights), 64 * form.range)


def _all_but(method: str, form: CanonicalForm, region: Region, samples: int) -> tuple[Cost, ...]:
    return tuple(cost for cost in costs(form, region, samples) if cost.method != method)


def _endless(form: CanonicalForm, candidates: Sequence[Cost]) -> dict[str, str]:
    """Explain why methods that are not candidates would never end."""
    listed = {cost.method for cost in candidates}
    return {
        name: f"{name} takes 2**n steps in n non-zero effects, and there are {form.nonzero}."
        for name in ("enumeration", "meet_in_the_middle")
        if name not in listed
    }


def narrowest_bracket(form: CanonicalForm, region: Region, precision: float, budget: Budget) -> Cost:
    """Return the cost of the narrowest bracket that fits the budget, of a width from `precision` to WIDEST.

    Where none fits, return the cost of `precision`.
    """
    finest = bounds_cost(form, region, precision)
    if finest.fits(budget) or precision >= WIDEST:
        return finest
    coarsest = bounds_cost(form, region, WIDEST)
    if not coarsest.fits(budget):
        return finest
    narrowest, too_fine, fits = coarsest, math.log(precision), math.log(WIDEST)
    while fits - too_fine > _FINELY:
        middle = 0.5 * (fits + too_fine)
        tried = bounds_cost(form, region, math.exp(middle))
        if tried.fits(budget):
            narrowest, fits = tried, middle
        else:
            too_fine = middle
    return narrowest


def _likely_to_decide(form: CanonicalForm, region: Region, alpha: float) -> bool:
    """Return whether the estimated p-value differs from alpha by a factor of more than _FAR."""
    return abs(log_expected(*from_lattice(form, region)) - math.log(alpha)) > math.log(_FAR)


def cheapest_fraction(form: CanonicalForm, region: Region, budget: Budget) -> Cost:
    """Return the cheapest method that gives the exact fraction, or raise FractionOverBudget."""
    candidates = [cost for cost in costs(form, region, 0) if cost.method in FRACTION_METHODS]
    for cost in candidates:
        if cost.fits(budget):
            return cost
    raise FractionOverBudget(FRACTION_METHODS, tuple(candidates), budget)


def fft_cost(form: CanonicalForm) -> Cost:
    """Return the cost of `fft.probability` without tables, for one tail or for two that mirror each other."""
    split = best_split(form)
    return _transforms(len(form.weights) - split.heavy, screening(form), split.combinations)


def window_cost(form: CanonicalForm) -> Cost:
    """Return the cost of one window of all weights, none of them enumerated."""
    return _transforms(len(form.weights), frequencies(form, window_length(form)), 1)


def _transforms(groups: int, screened_of: tuple[int, int, int], times: int) -> Cost:
    blocks, screened, retained = screened_of
    each = 130_000 + 3_000 * groups + 4 * blocks + 8 * screened + 120 * groups * retained
    held = 64 * min(2 * blocks, 1 << 18) + 80 * blocks + 160 * min(groups * retained, 1 << 19)
    return _cost("fft", times * each, held)


def _dp(form: CanonicalForm, region: Region) -> Cost:
    cells = dp.cells_of(form, region)
    added = dp.additions(form, cells)
    # An addition costs 0.4 ns in the cache and 0.6 ns in memory.
    each = 2 * added // 5 if cells <= _CACHED_CELLS else 3 * added // 5
    pieces = form.nonzero * (2 + cells // dp.TILE)
    return _cost("dp", each + 1_800 * pieces + 2 * cells + 60_000, 16 * cells + 64 * dp.TILE)


def _rational(form: CanonicalForm, region: Region) -> Cost:
    limbs = form.nonzero // 64 + 1
    doublings = max(form.nonzero, 2).bit_length()
    coefficients = rational.coefficients(form, region)
    return _cost(
        "rational",
        coefficients * limbs * doublings * 80 + 250 * coefficients + 3_000 * len(form.weights) + 30_000,
        coefficients * (limbs * 8 + 32) * 3,
    )


def _enumeration(form: CanonicalForm) -> Cost:
    return _cost("enumeration", 3 * (1 << form.nonzero) + 10_000, 24 << form.nonzero)


def _meet_in_the_middle(form: CanonicalForm, region: Region) -> Cost:
    half = (form.nonzero + 1) // 2
    # Both halves are sorted; then each sum of one is searched for in the other.
    passes = 1 + enumeration.bisections(form, region)
    return _cost("meet_in_the_middle", (1 << half) * (half + 4) * passes // 2 + 10_000, 48 << half)


def bounds_cost(form: CanonicalForm, region: Region, precision: float) -> Cost:
    """Return the cost of a bracket of relative width `precision`; computing it needs the tilt of the law."""
    steps, held = steps_and_bytes(*from_lattice(form, region), precision)
    return Cost("bounds", steps, held, _RATES["bounds"], precision)


def _monte_carlo(form: CanonicalForm, samples: int) -> Cost:
    few = form.counts <= COUNTED_BITS
    drawn = len(few) - int(np.count_nonzero(few))
    counted = int(form.counts[few].sum()) if drawn else form.nonzero
    draws = 3 * len(form.weights) + 2 * (counted // 64 + 1) + 40 * drawn
    return _cost("monte_carlo", (samples + 4096) * draws + 30_000, 4096 * 64)


def _cost(method: str, operations: int, held: int) -> Cost:
    return Cost(method, operations, held, _RATES[method])


# The methods by name


_EXACT: Mapping[str, Callable[[CanonicalForm, Region], Probability]] = {
    "fft": fft.probability,
    "dp": dp.probability,
    "rational": rational.probability,
    "enumeration": enumeration.probability,
    "meet_in_the_middle": enumeration.probability_by_halves,
}


_WITH_TIES: Mapping[
    str, Callable[[CanonicalForm, Region, tuple[int, ...]], tuple[Probability, Probability]]
] = {
    "fft": fft.with_ties,
    "dp": dp.with_ties,
    "rational": rational.with_ties,
    "enumeration": enumeration.with_ties,
    "meet_in_the_middle": enumeration.with_ties_by_halves,
}


def with_ties(
    method: str, form: CanonicalForm, region: Region, ties: tuple[int, ...]
) -> tuple[Probability, Probability]:
    """Return P(T in region) by an exact method, and, at little extra cost, P(T in ties) (`probability.ties_of`)."""
    return _WITH_TIES[method](form, region, ties)


def exact_probability(method: str, form: CanonicalForm, region: Region) -> Probability:
    """Return P(T in region) by one of `EXACT_METHODS`."""
    return _EXACT[method](form, region)


def lattice_bracket(
    form: CanonicalForm,
    region: Region,
    precision: float,
    *,
    chosen: Integers | None = None,
    steps: int = bounds.MAX_STEPS,
) -> Bracket:
    """Compute a rigorous bracket of P(T in region) by `real.bounds.bracket`.

    `chosen`, shape (U,), is the observed assignment (`real.form.items_up`): its ties are then known to be in the
    region, however fine the lattice.
    """
    return bounds.bracket(*from_lattice(form, region, chosen), precision=precision, steps=steps)


def sampled_probability(form: CanonicalForm, region: Region, *, samples: int, seed: int) -> Estimate:
    """Estimate P(T in region) by Monte Carlo."""
    return monte_carlo.estimate(form, region, samples=samples, seed=seed)
