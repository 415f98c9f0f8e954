"""`bounds`: rigorous p-value brackets for real-valued effects, as narrow as `precision` asks for.

The null distribution of real weights has up to 2**n atoms and no lattice. P(X >= a) = E exp(K(theta) - theta X)
under the tilted law, and the truncated exponential lies between two trigonometric polynomials of degree J
(`majorant`). Their expectations need phi(2 pi k / P) for k = 1 .. J only, and nearly all of these are negligible
(`spectrum`). Whatever is left out or rounded is added to the bracket: the mass beyond the circle (Chernoff), the
dropped frequencies, the roundings. Polynomials fail for few items and for items far heavier than the rest; those
are decided one by one first (`branching`).

Sources: Selberg's majorant from Vaaler's polynomial (Montgomery 1994, *Ten Lectures*, ch. 1); Graham &
Vaaler 1981 (the truncated exponential); Keich & Nagarajan 2006 (the tilt).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..lattice import Integers
from ..probability import LN10, SMALLEST, UNIT_ROUNDOFF
from .branching import Branches, branch, decide_all
from .form import RealForm, RealRegion, Tail
from .price import listing_steps, slope, tail_steps
from .tail_bracket import TailBracket, tail_bracket
from .tilt import real_tilt_at

MAX_STEPS = 400_000_000
# The share of the precision that each open state of a branching may use, relative to itself; and that those cut off
# early may use together.
_SHARE, _SPARE = 0.8, 0.15


@dataclass(frozen=True, slots=True)
class Bracket:
    """The p-value lies in [exp(log_low), exp(log_high)], always.

    `degree` is the largest degree J that was used (0: none was needed), `steps` the elementary steps it
    took (`price`), `reached` whether the precision was reached before the steps ran out.
    """

    log_low: float
    log_high: float
    degree: int
    steps: int
    reached: bool

    @property
    def low(self) -> float:
        """The lower end as a double, rounded down."""
        return max(math.nextafter(math.exp(self.log_low), 0.0), 0.0) if self.log_low < 0.0 else 1.0

    @property
    def high(self) -> float:
        """The upper end as a double, rounded up; never zero."""
        return min(math.nextafter(math.exp(self.log_high), 1.0), 1.0)

    @property
    def p(self) -> float:
        """The middle of the bracket; the smallest positive double where that underflows."""
        return max(0.5 * (self.low + self.high), SMALLEST)

    @property
    def log10_p(self) -> float:
        """log10 of the middle, right however small it is."""
        return (self.log_high + math.log(0.5 * (1.0 + math.exp(self.log_low - self.log_high)))) / LN10

    @property
    def half_width(self) -> float:
        """(high - low) / (high + low), the largest relative distance of the p-value from the middle; at most 1."""
        if self.log_high == self.log_low:
            return 0.0
        return min(math.tanh(0.5 * (self.log_high - self.log_low)) * (1.0 + 1e-9) + 4.0 * UNIT_ROUNDOFF, 1.0)

    @property
    def relative_width(self) -> float:
        """(high - low) / low."""
        return math.expm1(min(self.log_high - self.log_low, 700.0))


def bracket(
    form: RealForm, region: RealRegion, *, precision: float = 1e-3, steps: int = MAX_STEPS
) -> Bracket:
    """A bracket of P(X in region), at most `precision` wide relative to its lower end.

    It is wider when `steps` elementary steps (3 to 5 ns each) do not suffice; `reached` then is false.
    """
    if not region.tails:
        return Bracket(0.0, 0.0, 0, 0, reached=True)
    tails = _sum_of_tails(form, region, precision, steps)
    if not region.complement:
        return tails
    inverse = _complement(tails, precision)
    if tails.reached and not inverse.reached and inverse.log_high > -math.inf:
        # Where the complement is small, the tails must be known to a fraction of it.
        likely = max(inverse.log_low, inverse.log_high - 3.0)
        finer = 0.5 * precision * math.exp(min(likely - tails.log_high, 0.0))
        again = _sum_of_tails(form, region, max(finer, 1e-12), steps - tails.steps)
        inverse = _complement(_both(tails, again), precision)
    return inverse


def _both(one: Bracket, other: Bracket) -> Bracket:
    """The intersection of two brackets of the same probability, with the steps of both."""
    low, high = max(one.log_low, other.log_low), min(one.log_high, other.log_high)
    degree, steps = max(one.degree, other.degree), one.steps + other.steps
    return Bracket(low, high, degree, steps, one.reached or other.reached)


def _complement(inside: Bracket, precision: float) -> Bracket:
    low = max(-math.expm1(min(inside.log_high, 0.0)) - 4.0 * UNIT_ROUNDOFF, 0.0)
    high = -math.expm1(inside.log_low) + 4.0 * UNIT_ROUNDOFF if inside.log_low < 0.0 else 0.0
    reached = bool(high - low <= precision * low)
    return Bracket(log(low), log(min(high, 1.0)), inside.degree, inside.steps, reached)


def log(p: float) -> float:
    """log of a probability that may be zero."""
    return math.log(p) if p > 0.0 else -math.inf


def _sum_of_tails(form: RealForm, region: RealRegion, precision: float, steps: int) -> Bracket:
    """The sum over the tails. A tail and its mirror image are the same object, which is solved once."""
    solved: list[tuple[Tail, TailBracket]] = []
    different = len({id(tail) for tail in region.tails})
    for tail in region.tails:
        known = [result for other, result in solved if other is tail]
        if known:
            solved.append((tail, known[0]))
            continue
        left = steps - sum(result.steps for _, result in solved)
        solved.append((tail, _tail(form, tail, precision, left // different)))
        different -= 1
    parts = [result for _, result in solved]
    used = sum({id(part): part.steps for part in parts}.values())
    log_low, log_high = log_sum([part.log_low for part in parts]), log_sum([part.log_high for part in parts])
    return _outwards(log_low, log_high, max(part.degree for part in parts), used, precision)


def log_sum(logs: list[float]) -> float:
    """log of a sum of exponentials."""
    peak = float(max(logs))
    return peak if math.isinf(peak) else peak + math.log(math.fsum(math.exp(one - peak) for one in logs))


def _outwards(log_low: float, log_high: float, degree: int, steps: int, precision: float) -> Bracket:
    """The bracket, its logarithms rounded outwards."""
    low, high = (
        end + sign * 128.0 * UNIT_ROUNDOFF * (1.0 + abs(end)) if math.isfinite(end) else end
        for end, sign in ((log_low, -1.0), (log_high, 1.0))
    )
    reached = high == low or (low > -math.inf and math.expm1(min(high - low, 700.0)) <= precision)
    return Bracket(min(low, 0.0), min(high, 0.0), degree, steps, bool(reached))


def _tail(form: RealForm, tail: Tail, precision: float, steps: int) -> TailBracket:
    """One tail, by polynomials; item by item where that is cheaper, or where they do not reach the precision."""
    listing = listing_steps(form)
    first = _by_polynomials(form, tail, precision, steps if listing is None else min(steps, listing))
    if listing is None or listing > steps - first.steps or _narrow(first, precision):
        return first
    listed = _decided(form, decide_all(form, tail), tail)
    return TailBracket(
        max(first.log_low, listed.log_low),
        min(first.log_high, listed.log_high),
        0,
        first.steps + listed.steps,
    )


def _narrow(result: TailBracket, precision: float) -> bool:
    """Whether the width is at most `precision` times the lower end."""
    return result.log_low > -math.inf and result.log_high <= result.log_low + math.log1p(precision)


def _by_polynomials(form: RealForm, tail: Tail, precision: float, steps: int) -> TailBracket:
    """One tail, its heaviest items decided first where that pays."""
    theta = slope(form, tail)
    branches, _ = branch(form, tail, lambda light: tail_steps(light, theta, precision)[0])
    if len(branches.light.halves) == 0 or len(branches.sums) == 0:
        return _decided(form, branches, tail)
    if len(branches.sums) == 1 and branches.inside == 0.0:
        one = tail_bracket(branches.light, branches.tail(tail, 0), precision, steps=steps - branches.steps)
        return one.scaled(math.log(branches.masses[0]) + branches.log_scale).after(branches.steps)
    return _open_states(branches, tail, theta, precision, steps)


def _decided(form: RealForm, branches: Branches, tail: Tail) -> TailBracket:
    """The tail once every item is decided: states still open lie on the threshold, to within rounding."""
    unsure = float(branches.masses.sum())
    atom = 0.0
    if form.sharp:
        atom = unsure
    elif branches.path is not None and tail.chosen is not None:
        atom = math.exp(form.log_atom(tail.chosen) - branches.log_scale)
    low, high = branches.inside, branches.inside + unsure
    low, high = (low, high - atom) if tail.strict else (low + atom, high)
    return TailBracket(log(low), log(high), 0, branches.steps).scaled(branches.log_scale)


def _open_states(branches: Branches, tail: Tail, theta: float, precision: float, steps: int) -> TailBracket:
    """The sum over the open states, those most likely over the threshold first.

    Where the `steps` run out, Chernoff's bound stands in for the states that are left.
    """
    low = high = branches.inside
    degree, used = 0, branches.steps
    spare = _SPARE * precision / len(branches.sums)
    log_masses = np.log(branches.masses)
    likeliest = (log_masses + branches.sums / math.sqrt(branches.light.variance)).argsort()[::-1]
    for done, state in enumerate(likeliest.tolist()):
        if used >= steps:
            high += _at_most(branches, tail, theta, likeliest[done:])
            break
        log_mass = float(log_masses[state])
        part = tail_bracket(
            branches.light,
            branches.tail(tail, state),
            _SHARE * precision,
            steps=steps - used,
            log_floor=log(low * spare) - log_mass,
        )
        low += math.exp(part.log_low + log_mass)
        high += math.exp(part.log_high + log_mass)
        degree, used = max(degree, part.degree), used + part.steps
    return TailBracket(log(low), log(high), degree, used).scaled(branches.log_scale)


def _at_most(branches: Branches, tail: Tail, theta: float, states: Integers) -> float:
    """A bound on the mass that some open states have in the tail: one tilt for all of them."""
    at = tail.outer - branches.sums[states] - branches.rounding
    within = np.exp(real_tilt_at(branches.light, theta).log_most(at))
    return float(np.dot(branches.masses[states], within)) * (1.0 + 4.0 * UNIT_ROUNDOFF * (len(states) + 4))
