"""`bounds`: rigorous p-value brackets for real-valued effects, as narrow as they are asked to be.

The null of real weights has up to 2**n atoms and no lattice. P(X >= a) = E exp(K(theta) - theta X) under
the tilted law, and the truncated exponential is bracketed by two trigonometric polynomials of degree J
(`majorant`), of which the expectation needs phi(2 pi k / P) alone, k = 1 .. J, hardly any of it different
from nought (`retirement`). Everything that is left out or rounded is added to the bracket: the mass
beyond the circle (Chernoff), the frequencies retired, the roundings. What polynomials cannot see, few
coins or coins out of all proportion, is branched upon first (`branching`).

Sources: Selberg's majorant from Vaaler's polynomial (Montgomery 1994, *Ten Lectures*, ch. 1); Graham &
Vaaler 1981 (the truncated exponential); Keich & Nagarajan 2006 (the tilt).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..lattice import Integers
from ..probability import LN10, UNIT_ROUNDOFF
from .branching import Branches, branch, decide_all
from .form import RealForm, RealRegion, Tail
from .price import listing_steps, slope, tail_steps
from .tail_bracket import TailBracket, tail_bracket
from .tilt import real_tilt_at

MAX_STEPS = 400_000_000
# Of the width asked for, what the open states of a branching may use each relatively, and together.
_SHARE, _SPARE = 0.8, 0.15
_SMALLEST = math.ulp(0.0)


@dataclass(frozen=True, slots=True)
class Bracket:
    """The p-value lies in [exp(log_low), exp(log_high)], always.

    `degree` is the largest degree J that was used (0: none was needed), `steps` the elementary steps it
    took, `reached` whether the width is what was asked for rather than what the budget allowed.
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
        """The upper end as a double, rounded up; never nought."""
        return min(math.nextafter(math.exp(self.log_high), 1.0), 1.0)

    @property
    def p(self) -> float:
        """The middle of the bracket; the smallest positive double where that underflows."""
        return max(0.5 * (self.low + self.high), _SMALLEST)

    @property
    def log10_p(self) -> float:
        """log10 of the middle, right however small it is."""
        return (self.log_high + math.log(0.5 * (1.0 + math.exp(self.log_low - self.log_high)))) / LN10

    @property
    def half_width(self) -> float:
        """(high - low) / (high + low): how far the truth may be from the middle, relatively; at most 1."""
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
    """A bracket of P(X in region), at most `precision` wide against its lower end while `steps` last."""
    if not region.tails:
        return Bracket(0.0, 0.0, 0, 0, reached=True)
    found = _sum_of_tails(form, region, precision, steps)
    if not region.complement:
        return found
    inverse = _complement(found, precision)
    if found.reached and not inverse.reached and inverse.log_high > -math.inf:
        # Tails that leave little must be known better than relatively.
        likely = max(inverse.log_low, inverse.log_high - 3.0)
        finer = 0.5 * precision * math.exp(min(likely - found.log_high, 0.0))
        again = _sum_of_tails(form, region, max(finer, 1e-12), steps - found.steps)
        inverse = _complement(_both(found, again), precision)
    return inverse


def _both(one: Bracket, other: Bracket) -> Bracket:
    """Two brackets of the same probability: what they have in common, at the price of both."""
    low, high = max(one.log_low, other.log_low), min(one.log_high, other.log_high)
    degree, steps = max(one.degree, other.degree), one.steps + other.steps
    return Bracket(low, high, degree, steps, one.reached or other.reached)


def _complement(inside: Bracket, precision: float) -> Bracket:
    low = max(-math.expm1(min(inside.log_high, 0.0)) - 4.0 * UNIT_ROUNDOFF, 0.0)
    high = -math.expm1(inside.log_low) + 4.0 * UNIT_ROUNDOFF if inside.log_low < 0.0 else 0.0
    reached = bool(high - low <= precision * low)
    return Bracket(log(low), log(min(high, 1.0)), inside.degree, inside.steps, reached)


def log(p: float) -> float:
    """log of a probability that may be nought."""
    return math.log(p) if p > 0.0 else -math.inf


def _sum_of_tails(form: RealForm, region: RealRegion, precision: float, steps: int) -> Bracket:
    """The sum over the tails; the mirror image of one is the same object and is solved once."""
    solved: list[tuple[Tail, TailBracket]] = []
    different = len({id(tail) for tail in region.tails})
    for tail in region.tails:
        known = [found for other, found in solved if other is tail]
        if known:
            solved.append((tail, known[0]))
            continue
        left = steps - sum(found.steps for _, found in solved)
        solved.append((tail, _tail(form, tail, precision, left // different)))
        different -= 1
    parts = [found for _, found in solved]
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
    """One tail, by polynomials; coin by coin where that is cheaper, or where they do not get there."""
    listing = listing_steps(form)
    found = _by_polynomials(form, tail, precision, steps if listing is None else min(steps, listing))
    if listing is None or listing > steps - found.steps or _narrow(found, precision):
        return found
    listed = _decided(form, decide_all(form, tail), tail)
    return TailBracket(
        max(found.log_low, listed.log_low),
        min(found.log_high, listed.log_high),
        0,
        found.steps + listed.steps,
    )


def _narrow(found: TailBracket, precision: float) -> bool:
    """Whether the width is at most `precision` times the lower end."""
    return found.log_low > -math.inf and found.log_high <= found.log_low + math.log1p(precision)


def _by_polynomials(form: RealForm, tail: Tail, precision: float, steps: int) -> TailBracket:
    """One tail, its heaviest coins branched upon where that pays."""
    theta = slope(form, tail)
    found, _ = branch(form, tail, lambda light: tail_steps(light, theta, precision)[0])
    if len(found.light.halves) == 0 or len(found.sums) == 0:
        return _decided(form, found, tail)
    if len(found.sums) == 1 and found.inside == 0.0:
        one = tail_bracket(found.light, found.tail(tail, 0), precision, steps=steps - found.steps)
        return one.scaled(math.log(found.masses[0]) + found.log_scale).after(found.steps)
    return _open_states(found, tail, theta, precision, steps)


def _decided(form: RealForm, found: Branches, tail: Tail) -> TailBracket:
    """Nothing is left to decide: what is still open lies on the threshold, to within rounding."""
    unsure = float(found.masses.sum())
    atom = 0.0
    if form.sharp:
        atom = unsure
    elif found.path is not None and tail.chosen is not None:
        atom = math.exp(form.log_atom(tail.chosen) - found.log_scale)
    low, high = found.inside, found.inside + unsure
    low, high = (low, high - atom) if tail.strict else (low + atom, high)
    return TailBracket(log(low), log(high), 0, found.steps).scaled(found.log_scale)


def _open_states(found: Branches, tail: Tail, theta: float, precision: float, steps: int) -> TailBracket:
    """The sum over the open states, the likeliest to be over the threshold first; Chernoff's bound of the last ones
    where the `steps` run out before.
    """
    low = high = found.inside
    degree, used = 0, found.steps
    spare = _SPARE * precision / len(found.sums)
    log_masses = np.log(found.masses)
    likeliest = (log_masses + found.sums / math.sqrt(found.light.variance)).argsort()[::-1]
    for done, state in enumerate(likeliest.tolist()):
        if used >= steps:
            high += _at_most(found, tail, theta, likeliest[done:])
            break
        log_mass = float(log_masses[state])
        part = tail_bracket(
            found.light,
            found.tail(tail, state),
            _SHARE * precision,
            steps=steps - used,
            log_floor=log(low * spare) - log_mass,
        )
        low += math.exp(part.log_low + log_mass)
        high += math.exp(part.log_high + log_mass)
        degree, used = max(degree, part.degree), used + part.steps
    return TailBracket(log(low), log(high), degree, used).scaled(found.log_scale)


def _at_most(found: Branches, tail: Tail, theta: float, states: Integers) -> float:
    """A bound on the mass that some open states have in the tail: one tilt for all of them."""
    at = tail.outer - found.sums[states] - found.rounding
    within = np.exp(real_tilt_at(found.light, theta).log_most(at))
    return float(np.dot(found.masses[states], within)) * (1.0 + 4.0 * UNIT_ROUNDOFF * (len(states) + 4))
