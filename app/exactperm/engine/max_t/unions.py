"""Unions of tests: marginal probabilities, and the law of two or three sums on the lattice that they span."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ..binomial_tails import upper_tails
from ..joint import enumeration, methods
from ..joint.form import JointForm, axes_form, joint_form
from ..joint.grid import dp, grid
from ..joint.grid.box import box_sums
from ..joint.grid.price import box_of, law_nanoseconds, spectrum_nanoseconds
from ..joint.grid.spectrum import box_probabilities
from ..joint.planner import costs
from ..lattice import CanonicalForm, Integers, Reals
from ..one_sum import fft, rational
from ..plan import Budget, Cost
from ..probability import SMALLEST, UNIT_ROUNDOFF, Probability, region
from .family import Family, SignedSums

# The marginal probabilities P(T_k >= t_i) of each test at every step, with bounds.


# Limits on marginal laws: the cells of each, and their total seconds.
_MOST_MARGINAL_CELLS, LAWS_SECONDS = 1 << 22, 4.0
# Probabilities below _DEEP have few certified digits, and need none if below _NOTHING of the largest of their step.
_DEEP, _NOTHING = 1e-6, 1e-6
# A generous error bound for the exponential of a rounded statistic.
_EXPONENT = 1e-9


def marginals(family: Family) -> tuple[Reals, Reals]:
    """Return certified bounds, shape (g, m) each, with absolute errors far below 1e-8, relative ones for equal weights.

    Sums whose law takes too many cells, or too long, have only Hoeffding's bound.
    """
    ceiling = _hoeffding(family)
    low, high = np.zeros_like(ceiling), np.ones_like(ceiling)
    binomial = [k for k, form in enumerate(family.forms) if form.weights.tolist() == [1]]
    if binomial:
        low[:, binomial], high[:, binomial] = _binomial(family, binomial)
    known: dict[tuple[bytes, ...], tuple[Reals, Reals] | None] = {}
    left = LAWS_SECONDS
    for k, form in enumerate(family.forms):
        cuts = _cuts(form, family.thresholds[:, k])
        if not form.nonzero:
            low[:, k] = high[:, k] = np.where(cuts <= 0, 1.0, 0.0)
        elif len(form.weights) > 1:
            key = (form.weights.tobytes(), form.counts.tobytes(), cuts.tobytes())
            if key not in known:
                line = axes_form(form.weights[:, None], form.counts)
                price = _seconds(line)
                known[key] = _doubled(family, *_tails(form, line, cuts)) if price <= left else None
                left -= price if price <= left else 0.0
            bounds = known[key]
            if bounds is not None:
                low[:, k], high[:, k] = bounds
    certain = family.thresholds <= 0
    if family.two_sided:
        low[certain] = high[certain] = 1.0
    return low, np.minimum(high, ceiling)


def _cuts(form: CanonicalForm, least: Integers) -> Integers:
    """Return cuts with T >= cut iff S >= least."""
    return -((form.offset - least) // form.step)


def _seconds(line: JointForm) -> float:
    """Predict the seconds of a law, infinite if it has too many cells."""
    if box_of(line).cells > _MOST_MARGINAL_CELLS:
        return math.inf
    return 1e-9 * (spectrum_nanoseconds(line) + law_nanoseconds(line, 0.0))


def _doubled(family: Family, low: Reals, high: Reals) -> tuple[Reals, Reals]:
    """Double the tail of a symmetric sum where the test has two."""
    if not family.two_sided:
        return low, np.minimum(high, 1.0)
    return np.minimum(2.0 * low, 1.0), np.minimum(2.0 * high, 1.0)


def _binomial(family: Family, tests: list[int]) -> tuple[Reals, Reals]:
    """Bound sums of equal weights by binomial tails, to a small relative error."""
    flips = np.array([family.forms[k].nonzero for k in tests], dtype=np.int64)
    cuts = np.column_stack([_cuts(family.forms[k], family.thresholds[:, k]) for k in tests])
    flips = np.broadcast_to(flips, cuts.shape)
    tails = upper_tails(flips.reshape(-1), np.minimum(cuts, flips).reshape(-1))
    reached = (cuts <= flips).astype(np.float64)
    low = (tails.p * (1.0 - 1.01 * tails.error)).reshape(cuts.shape) * reached
    high = (tails.p * (1.0 + 1.01 * tails.error)).reshape(cuts.shape)
    # Below the normal numbers a double is rounded by the smallest one.
    low = np.maximum(np.where(high < 2.0**-1000, 0.0, low) * (1.0 - 4.0 * UNIT_ROUNDOFF), 0.0)
    high = np.where(reached > 0.0, high * (1.0 + 4.0 * UNIT_ROUNDOFF) + SMALLEST, 0.0)
    return _doubled(family, low, high)


def _tails(form: CanonicalForm, line: JointForm, cuts: Integers) -> tuple[Reals, Reals]:
    """Return bounds of P(T >= cut) from the law on a window; shape (g,)."""
    box = box_of(line)
    masses, error = box_probabilities(line, box)
    tails = np.append(np.cumsum(masses[::-1])[::-1], 0.0)
    at = np.clip(cuts - int(box.low[0]), 0, len(masses))
    # Mass outside is missed at most once, and aliases into the window at most once.
    slack = error + 2.0 * box.outside
    values = tails[at]
    rounding = 2.0 * len(masses) * UNIT_ROUNDOFF * (np.abs(values) + 2.0 * slack)
    low = np.maximum(values - slack - rounding, 0.0)
    high = np.where(cuts > form.range, 0.0, np.minimum(values + slack + rounding, 1.0))
    certain = np.ones_like(low)
    return np.where(cuts <= 0, certain, low), np.where(cuts <= 0, certain, high)


def deepen(family: Family, low: Reals, high: Reals) -> None:
    """Replace bounds of small probabilities by relative ones, one transform each."""
    for i, k in np.argwhere((high < _DEEP) & (high > low * (1.0 + 1e-6))).tolist():
        form, least = family.forms[k], int(family.thresholds[i, k])
        if (
            family.step[k] < i
            or high[i, k] <= _NOTHING * high[i].max()
            or _cells(form) > _MOST_MARGINAL_CELLS
        ):
            continue
        tail = region(form, least, "two-sided" if family.two_sided else "greater")
        if not tail.intervals:
            low[i, k] = high[i, k] = 0.0
            continue
        probability = fft.probability(form, tail)
        error = probability.relative_error_bound + UNIT_ROUNDOFF * (8.0 + 2.0 * abs(probability.log_p))
        if error < 1e-6:
            # Below the normal numbers a double is rounded by the smallest one.
            low[i, k] = max(low[i, k], probability.p * (1.0 - error) - SMALLEST)
            high[i, k] = min(high[i, k], probability.p * (1.0 + error) + SMALLEST)


def _cells(form: CanonicalForm) -> float:
    """Estimate the number of cells of the law of a sum."""
    return min(20.0 * math.sqrt(form.variance), float(form.range))


def _hoeffding(family: Family) -> Reals:
    """Bound P(S >= c), c > 0, by exp(-c**2 / (2 D)) (Hoeffding 1963, theorem 2), twice for two tails; (g, m)."""
    squares = np.array([float(max(square, 1)) for square in family.squares])
    cuts = np.maximum(family.thresholds, 0).astype(np.float64)
    bound = np.exp(-0.5 * cuts * cuts / squares * (1.0 - _EXPONENT)) * (1.0 + _EXPONENT)
    return np.asarray(np.minimum(np.maximum(bound, SMALLEST) * (2.0 if family.two_sided else 1.0), 1.0))


# Two or three tests at once


# The longest time of an exact fraction.
_FRACTION_SECONDS = 0.2
# The largest number of cells of the law of two sums.
_MOST_CELLS = 1 << 20
# A method that takes longer for a step is replaced by bounds and samples.
_EXACT_SECONDS = 3.0
# The largest number of bits of coefficients for the exact fraction of one sum.
_FRACTION_BITS = 2_000_000
# Nanoseconds, per sum, of deciding whether a state is extreme.
_WORK = 15.0
# The largest relative error of an exact answer.
_PROVEN = 1e-6


@dataclass(frozen=True, slots=True)
class ProbabilityBounds:
    """Bounds of a probability, and its exact fraction where known."""

    low: float
    high: float
    fraction: Fraction | None = None


NEVER = ProbabilityBounds(0.0, 0.0, Fraction(0))
ALWAYS = ProbabilityBounds(1.0, 1.0, Fraction(1))


def union(family: Family, step: int, tests: Sequence[int], budget: Budget) -> ProbabilityBounds | None:
    """Return P(T_k >= t_i for some of the tests), i = `step`; None if over the budget, or if nothing is proven."""
    thresholds = family.thresholds[step].tolist()
    parts: list[ProbabilityBounds] = []
    for start, part in family.places:
        chosen = [k - start for k in tests if start <= k < start + len(part)]
        if chosen:
            least = [thresholds[start + k] for k in chosen]
            solved = _union_of_part(part, chosen, least, two_sided=family.two_sided, budget=budget)
            if solved is None:
                return None
            parts.append(solved)
    return _independent(parts)


def _independent(parts: Sequence[ProbabilityBounds]) -> ProbabilityBounds:
    """Return the probability that at least one of several independent events happens."""
    if len(parts) == 1:
        return parts[0]
    fractions = [part.fraction for part in parts if part.fraction is not None]
    fraction = None
    if len(fractions) == len(parts):
        fraction = 1 - math.prod((1 - chance for chance in fractions), start=Fraction(1))
        return _fraction(fraction)
    low = high = 0.0
    for part in parts:
        # a + b - a b, each step rounded by less than two units in the last place.
        low = (low + part.low * (1.0 - low)) * (1.0 - 8.0 * UNIT_ROUNDOFF)
        high = (high + part.high * (1.0 - high)) * (1.0 + 8.0 * UNIT_ROUNDOFF)
    return ProbabilityBounds(low, min(high, 1.0))


def _union_of_part(
    part: SignedSums, tests: Sequence[int], least: Sequence[int], *, two_sided: bool, budget: Budget
) -> ProbabilityBounds | None:
    if two_sided and min(least) <= 0:
        return ALWAYS
    # A sum without effects is always 0.
    if any(not part.squares[k] and c <= 0 for k, c in zip(tests, least, strict=True)):
        return ALWAYS
    moving = [(k, c) for k, c in zip(tests, least, strict=True) if part.squares[k]]
    if not moving:
        return NEVER
    if len(moving) == 1:
        return _single_test(part, *moving[0], two_sided=two_sided, budget=budget)
    stay = np.column_stack([part.effects(k) for k, _ in moving])
    form = joint_form(stay, -stay)
    return _solved(form, Reached(tuple(c for _, c in moving), two_sided), budget)


@dataclass(frozen=True, slots=True)
class Reached:
    """The states in which some sum, or its absolute value, is at least its threshold."""

    least: tuple[int, ...]
    two_sided: bool

    def __call__(self, sums: Sequence[Integers]) -> NDArray[np.bool_]:
        """Return the mask of these states, for sums that broadcast against each other."""
        mask = np.zeros(1, dtype=bool)
        for total, c in zip(sums, self.least, strict=True):
            mask = mask | ((np.abs(total) if self.two_sided else total) >= c)
        return mask

    def tiles(
        self, low: Sequence[Reals], high: Sequence[Reals]
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return where all states of a box are, and where none is, for sums between `low` and `high`, (M,) each."""
        every, some = np.zeros(len(low[0]), dtype=bool), np.zeros(len(low[0]), dtype=bool)
        for bottom, top, c in zip(low, high, self.least, strict=True):
            every |= bottom >= c
            some |= top >= c
            if self.two_sided:
                every |= top <= -c
                some |= bottom <= -c
        return every, ~some


def exact_seconds(family: Family, budget: Budget) -> float:
    """Predict the time of `union` of all tests at every step."""
    total = 0.0
    for part in family.parts:
        moving = [k for k in range(len(part)) if part.squares[k]]
        if len(moving) > 1:
            stay = np.column_stack([part.effects(k) for k in moving])
            form = joint_form(stay, -stay)
            # A method that proves nothing is followed by the next.
            total += sum(cost.seconds for cost in _plans(form, budget))
    return family.steps * total


def _plans(form: JointForm, budget: Budget) -> list[Cost]:
    """Return the methods to try, cheapest first."""
    return [
        cost
        for cost in costs(form, 1, _WORK * len(form.origin))
        if cost.exact and cost.fits(budget) and cost.seconds <= _EXACT_SECONDS
    ]


def _solved(form: JointForm, extreme: Reached, budget: Budget) -> ProbabilityBounds | None:
    plans = _plans(form, budget)
    counting = {cost.method: cost.seconds * _passes(form, cost.method) for cost in plans}
    for name in ("enumeration", "dp"):
        if counting.get(name, math.inf) <= _FRACTION_SECONDS:
            if name == "dp":
                return _certified(dp.fraction(form, extreme))
            return _certified(enumeration.probability(form, lambda states: extreme(list(states.T))))
    for cost in plans:
        observed = bool(np.all(extreme(list(form.states(form.observed[None, :]).T))))
        if cost.method == "grid":
            probability = grid.probability(form, extreme, extreme.tiles)
        elif cost.method == "dp" or observed:
            probability = methods.exact_probability(cost.method, form, extreme)
        else:
            continue
        certified = _certified(probability)
        if certified is not None:
            return certified
    return None


def _passes(form: JointForm, method: str) -> float:
    """Return the cost of the method in integers as a multiple of its cost."""
    return 3.0 * dp.passes(form) if method == "dp" else 1.0


def _single_test(
    part: SignedSums, k: int, least: int, *, two_sided: bool, budget: Budget
) -> ProbabilityBounds | None:
    form = part.forms[k]
    tail = region(form, least, "two-sided" if two_sided else "greater")
    if not tail.intervals:
        return NEVER
    if tail.covers(form):
        return ALWAYS
    if rational.coefficients(form, tail) * form.nonzero <= _FRACTION_BITS:
        return _certified(rational.probability(form, tail))
    return _certified(fft.probability(form, tail))


def _certified(probability: Probability) -> ProbabilityBounds | None:
    """Return bounds from a certificate; None where it proves too little."""
    if probability.fraction is not None:
        numerator, log2_denominator = probability.fraction
        return _fraction(Fraction(numerator, 1 << log2_denominator))
    if not probability.relative_error_bound <= _PROVEN:
        return NEVER if probability.log_p == -math.inf and probability.relative_error_bound == 0.0 else None
    # The exponential of a logarithm has as many roundings as the logarithm has units.
    error = probability.relative_error_bound + UNIT_ROUNDOFF * (8.0 + 2.0 * abs(probability.log_p))
    low, high = probability.p * (1.0 - error), probability.p * (1.0 + error)
    return ProbabilityBounds(math.nextafter(low, 0.0), min(math.nextafter(high, math.inf), 1.0))


def _fraction(value: Fraction) -> ProbabilityBounds:
    """Bound a fraction by the doubles next to it."""
    nearest = float(value)
    rounded = Fraction(nearest)
    low = nearest if rounded <= value else math.nextafter(nearest, 0.0)
    high = nearest if rounded >= value else math.nextafter(nearest, math.inf)
    return ProbabilityBounds(low, high, value)


def pair_bounds(family: Family, j: int, k: int, allowed: float) -> tuple[float, tuple[Reals, Reals]] | None:
    """Return the predicted seconds and certified bounds of P(T_j >= t_i and T_k >= t_i) at every step, shape (g,) each.

    None where that takes more seconds than `allowed`. The absolute error is that of a Fourier transform, far below
    1e-8. Both tests must be of one data set.
    """
    start, sums = list(family.places)[int(family.part_of[j])]
    stay = np.column_stack([sums.effects(j - start), sums.effects(k - start)])
    form = joint_form(stay, -stay)
    if form.rank == 0 or box_of(form).cells > _MOST_CELLS:
        return None
    seconds = 1e-9 * (spectrum_nanoseconds(form) + law_nanoseconds(form, 2.0 * _WORK)) + 2e-3
    if seconds > allowed:
        return None
    box = box_of(form)
    masses, error = box_probabilities(form, box)
    first, second = (
        np.broadcast_to(family.first(test, column), box.shape)
        for test, column in zip((j, k), box_sums(form, box), strict=True)
    )
    joined = np.maximum(first, second).reshape(-1)
    held = np.bincount(joined, weights=masses.reshape(-1), minlength=family.steps + 1)[: family.steps]
    values = np.cumsum(held)
    # Mass outside is missed at most once, and aliases into the box at most once.
    slack = error + 2.0 * box.outside
    # The rounding of sums of at most this many numbers, of a law and its errors.
    rounding = (masses.size + family.steps) * UNIT_ROUNDOFF * (np.abs(values) + 2.0 * slack)
    low = np.maximum(values - slack - rounding, 0.0)
    return seconds, (low, np.minimum(values + slack + rounding, 1.0))
