"""`bounds`: rigorous p-value brackets for real-valued effects, as narrow as `precision` requests.

The null distribution of real weights has up to 2**n atoms and no lattice. P(X >= a) = E exp(K(theta) - theta X) under
the tilted law, and the truncated exponential lies between two trigonometric polynomials of degree J (`majorant`). Their
expectations need phi(2 pi k / P) for k = 1 .. J only, and nearly all of these are negligible (`spectrum`). Every
omission and rounding widens the bracket: the mass beyond the circle (Chernoff), the dropped frequencies, the roundings.
Polynomials fail for few items and for items far heavier than the rest; those are decided one by one first
(`branching`).

Sources: Selberg's majorant from Vaaler's polynomial (Montgomery 1994, *Ten Lectures*, ch. 1); Graham &
Vaaler 1981 (the truncated exponential); Keich & Nagarajan 2006 (the tilt).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy import special

from ..lattice import Integers, Reals
from ..probability import LN10, SMALLEST, UNIT_ROUNDOFF
from .branching import Branches, branch, decide_all
from .form import RealForm, RealRegion, Tail
from .price import MOST_RETAINED, PER_ENDS, fixed_steps, listing_steps, negligible, slope, tail_steps
from .spectrum import Circle, Complexes, Sawtooth, characteristic, evaluation_steps, retained
from .tilt import RealTilt, deviations, real_tilt_at, real_tilt_towards

MAX_STEPS = 400_000_000
# The share of the precision for each open state, relative to it, and for all states cut off early together.
_SHARE, _SPARE = 0.8, 0.15


@dataclass(frozen=True, slots=True)
class Bracket:
    """The p-value lies in [exp(log_low), exp(log_high)], always.

    `degree` is the largest degree J used (0 if none was needed), `steps` are the elementary steps it took (`price`),
    and `reached` tells whether the precision was reached before the steps ran out.
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
        """log10 of the middle, without underflow."""
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
    """Bracket P(X in region), at most `precision` wide relative to its lower end.

    It is wider, and `reached` false, when `steps` elementary steps (3 to 5 ns each) do not suffice.
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
        inverse = _complement(_intersection(tails, again), precision)
    return inverse


def _intersection(first: Bracket, second: Bracket) -> Bracket:
    """Intersect two brackets of the same probability; the steps add up."""
    low, high = max(first.log_low, second.log_low), min(first.log_high, second.log_high)
    degree, steps = max(first.degree, second.degree), first.steps + second.steps
    return Bracket(low, high, degree, steps, first.reached or second.reached)


def _complement(inside: Bracket, precision: float) -> Bracket:
    low = max(-math.expm1(min(inside.log_high, 0.0)) - 4.0 * UNIT_ROUNDOFF, 0.0)
    high = -math.expm1(inside.log_low) + 4.0 * UNIT_ROUNDOFF if inside.log_low < 0.0 else 0.0
    reached = bool(high - low <= precision * low)
    return Bracket(log(low), log(min(high, 1.0)), inside.degree, inside.steps, reached)


def log(p: float) -> float:
    """Return the log of a probability that may be zero."""
    return math.log(p) if p > 0.0 else -math.inf


def _sum_of_tails(form: RealForm, region: RealRegion, precision: float, steps: int) -> Bracket:
    """Add the tails. A tail and its mirror image are the same object, solved once."""
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
    """Return the log of a sum of exponentials."""
    peak = float(max(logs))
    return peak if math.isinf(peak) else peak + math.log(math.fsum(math.exp(value - peak) for value in logs))


def _outwards(log_low: float, log_high: float, degree: int, steps: int, precision: float) -> Bracket:
    """Return the bracket with its logarithms rounded outwards."""
    low, high = (
        end + sign * 128.0 * UNIT_ROUNDOFF * (1.0 + abs(end)) if math.isfinite(end) else end
        for end, sign in ((log_low, -1.0), (log_high, 1.0))
    )
    reached = high == low or (low > -math.inf and math.expm1(min(high - low, 700.0)) <= precision)
    return Bracket(min(low, 0.0), min(high, 0.0), degree, steps, bool(reached))


def _tail(form: RealForm, tail: Tail, precision: float, steps: int) -> TailBracket:
    """Bracket a tail by polynomials; item by item where that is cheaper, or they miss the precision."""
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
    """Return whether the width is at most `precision` times the lower end."""
    return result.log_low > -math.inf and result.log_high <= result.log_low + math.log1p(precision)


def _by_polynomials(form: RealForm, tail: Tail, precision: float, steps: int) -> TailBracket:
    """Bracket a tail, deciding its heaviest items first where that pays."""
    theta = slope(form, tail)
    branches, _ = branch(form, tail, lambda light: tail_steps(light, theta, precision)[0])
    if len(branches.light.halves) == 0 or len(branches.sums) == 0:
        return _decided(form, branches, tail)
    if len(branches.sums) == 1 and branches.inside == 0.0:
        open_state = tail_bracket(
            branches.light, branches.tail(tail, 0), precision, steps=steps - branches.steps
        )
        return open_state.scaled(math.log(branches.masses[0]) + branches.log_scale).after(branches.steps)
    return _open_states(branches, tail, theta, precision, steps)


def _decided(form: RealForm, branches: Branches, tail: Tail) -> TailBracket:
    """Bracket the tail when every item is decided; states still open lie on the threshold, to within rounding."""
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
    """Add the open states, those most likely over the threshold first.

    Where the `steps` run out, Chernoff's bound replaces the remaining states.
    """
    low = high = branches.inside
    degree, used = 0, branches.steps
    spare = _SPARE * precision / len(branches.sums)
    log_masses = np.log(branches.masses)
    likeliest = (log_masses + branches.sums / math.sqrt(branches.light.variance)).argsort()[::-1]
    for done, state in enumerate(likeliest.tolist()):
        if used >= steps:
            high += _chernoff_mass(branches, tail, theta, likeliest[done:])
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


def _chernoff_mass(branches: Branches, tail: Tail, theta: float, states: Integers) -> float:
    """Bound the mass of some open states in the tail, with one tilt for all."""
    at = tail.outer - branches.sums[states] - branches.rounding
    within = np.exp(real_tilt_at(branches.light, theta).log_most(at))
    return float(np.dot(branches.masses[states], within)) * (1.0 + 4.0 * UNIT_ROUNDOFF * (len(states) + 4))


# One tail of a real-valued sum between the expectations of two trigonometric polynomials. Under the tilt by theta, P(X
# >= a) = exp(K(theta) - theta a) E f(X - a) with f(y) = exp(-theta y) for y >= 0. The circle is so long that the mass
# beyond it is negligible; then the degree is raised until the expectations are as close as the precision requires.


_FIRST_DEGREE = 1 << 9
_LAST_DEGREE = 1 << 40
_RESTARTS = 4
# The share of the width that may be independent of the degree.
_FIXED = 0.02
# The smallest omitted mass, because its logarithm is taken.
_LEAST_OUTSIDE = 1e-300
# Lengths of arcs are multiples of this, so that k times them is exact.
_ARC = 2.0**-10


@dataclass(frozen=True, slots=True)
class TailBracket:
    """The logs of a lower and an upper bound of a tail, the degree used, and the elementary steps."""

    log_low: float
    log_high: float
    degree: int
    steps: int

    def after(self, steps: int) -> TailBracket:
        """Add the `steps` taken before this bracket."""
        return replace(self, steps=self.steps + steps)

    def scaled(self, log_mass: float) -> TailBracket:
        """Multiply by the probability exp(log_mass)."""
        return TailBracket(self.log_low + log_mass, self.log_high + log_mass, self.degree, self.steps)


@dataclass(frozen=True, slots=True)
class _Scene:
    """A tail under its tilt, on a circle; probabilities are in units of exp(log_weight).

    The circle has the items not frozen up; `outside` bounds the neglected tilted mass.
    """

    outer: float
    inner: float
    strict: bool
    circle: Circle
    shape: Sawtooth
    outside: float
    atom: float
    # exp(K - theta inner) over exp(K - theta outer)
    inner_weight: float


@dataclass(frozen=True, slots=True)
class _Ends:
    """A lower and an upper bound; `fixed`, the width that no degree reduces; `left_out`, what a longer circle would."""

    low: float
    high: float
    fixed: float
    left_out: float


class _Waves:
    """phi at the frequencies retained so far; grows with the degree."""

    def __init__(self, circle: Circle, below: float) -> None:
        self.circle = circle
        self.below = below
        self.stop = 1
        self.steps = 0
        self.frequencies: Integers = np.zeros(0, dtype=np.int64)
        self.phi: Complexes = np.zeros(0, dtype=np.complex128)
        self.error: Reals = np.zeros(0)

    def extend(self, degree: int, steps: int) -> bool:
        """Extend to the frequencies up to `degree`, or as far as `steps` allow; return whether it got there."""
        each = evaluation_steps(self.circle.form)
        room = MOST_RETAINED - len(self.frequencies)
        most = max(min(steps // each, room), 0)
        stop = degree + 1
        affordable = self.stop + self._affordable(steps, most)
        # At most half of the steps go into the search; the others evaluate its frequencies.
        kept = retained(self.circle, self.stop, min(stop, affordable), self.below, most, steps // 2)
        kept = kept.first(max(min((steps - kept.steps) // each, room), 0))
        phi, error = characteristic(self.circle, kept.frequencies)
        self.frequencies = np.concatenate((self.frequencies, kept.frequencies))
        self.phi, self.error = np.concatenate((self.phi, phi)), np.concatenate((self.error, error))
        self.steps += kept.steps + each * len(kept.frequencies)
        self.stop = max(kept.stop, self.stop)
        return self.stop == stop

    def _affordable(self, steps: int, most: int) -> int:
        level = self.circle.level(self.below)
        return most if level < 0 else (max(steps, 0) // 64) << level


def tail_bracket(
    form: RealForm, tail: Tail, precision: float, *, steps: int, log_floor: float = -math.inf
) -> TailBracket:
    """Bracket one tail, at most as wide as `precision` times its lower end, or as exp(log_floor) if that is wider.

    It stays wider when the `steps` run out.
    """
    law = real_tilt_towards(form, tail.outer)
    log_weight, rounding = law.log_weight(tail.outer)
    if log_weight + rounding <= log_floor:
        return TailBracket(-math.inf, log_weight + rounding, 0, fixed_steps(len(form.halves)) // 2)
    floor = math.exp(min(log_floor - log_weight, 0.0))
    expected = max(0.5 * float(special.erfcx(law.theta * law.sd / math.sqrt(2.0))), floor)
    used, degree = fixed_steps(len(form.halves)), 0
    low, high = 0.0, 1.0
    for _ in range(_RESTARTS):
        scene = _scene(form, law, tail, max(_FIXED * precision * expected / 4.0, _LEAST_OUTSIDE))
        ends, degree, spent = _raise_degree(scene, precision, expected, floor, steps - used)
        used += spent
        low, high = max(low, ends.low), min(high, ends.high)
        aim = max(precision * low, floor)
        if high - low <= aim or ends.left_out <= 0.2 * aim or used >= steps:
            break
        # The tail is smaller than expected, so less may be omitted.
        expected = max(min(low, 0.1 * expected), 1e-3 * expected)
    log_low = log_weight + math.log(low) - rounding if low > 0.0 else -math.inf
    return TailBracket(log_low, log_weight + math.log(high) + rounding, degree, used)


def _scene(form: RealForm, law: RealTilt, tail: Tail, outside: float) -> _Scene:
    """Return the shortest circle with at most `outside` of the tilted mass beyond either side."""
    odds = -math.log(outside)
    live, law_of_live, settled = _unfrozen(form, law, outside)
    rounding = 0.0 if live is form else 4.0 * UNIT_ROUNDOFF * form.reach
    outer, inner = tail.outer - settled - rounding, tail.inner - settled + rounding
    below, above = deviations(live, law_of_live, odds)
    left = max(max(outer, inner) - (law_of_live.mean - below), 0.0)
    right = max(law_of_live.mean + above - min(outer, inner), 0.0)
    arc = min(right, odds / law.theta) if law.theta > 0.0 else right
    # A little more than needed leaves a gap, and the arc can be rounded up.
    period = 1.01 * max(left + arc, right) + 1e-9 * live.reach
    length = math.ceil(arc / period / _ARC) * _ARC
    chosen = -math.inf if tail.chosen is None else form.log_atom(tail.chosen)
    log_weight, error = law.log_weight(tail.outer)
    return _Scene(
        outer,
        inner,
        tail.strict,
        Circle(live, law_of_live, period),
        Sawtooth(law.theta * period, length),
        outside,
        math.exp(min(chosen - log_weight - error, 0.0)),
        math.exp(law.theta * (outer - inner)) * (1.0 - 8.0 * UNIT_ROUNDOFF),
    )


def _unfrozen(form: RealForm, law: RealTilt, outside: float) -> tuple[RealForm, RealTilt, float]:
    """Drop the heaviest items, all up except for `outside` of the tilted mass; return form, law, and their sum."""
    down = form.counts * 0.5 * (1.0 - law.tau)
    frozen = int(np.searchsorted(np.cumsum(down[::-1]), 0.9 * outside))
    light = max(len(down) - frozen, 1)
    if light == len(down):
        return form, law, 0.0
    settled = math.fsum((form.counts[light:] * form.halves[light:]).tolist())
    live = form.lightest(light)
    return live, real_tilt_at(live, law.theta), settled


def _raise_degree(
    scene: _Scene, precision: float, expected: float, floor: float, steps: int
) -> tuple[_Ends, int, int]:
    """Return the ends at the first sufficient degree, that degree, and the steps taken."""
    waves = _Waves(scene.circle, negligible(precision * expected))
    degree = _FIRST_DEGREE
    while True:
        complete = waves.extend(degree, steps - waves.steps)
        degree = waves.stop - 1
        ends = _ends(scene, waves, degree)
        waves.steps += PER_ENDS * len(waves.frequencies)
        aim = max(precision * max(ends.low, 0.0), floor)
        width = ends.high - ends.low
        done = width <= aim or width <= 2.0 * ends.fixed
        if done or not complete or waves.steps >= steps or degree >= _LAST_DEGREE:
            return ends, degree, waves.steps
        # The width minus the fixed part falls like 1 / J, or faster.
        room = 0.95 * aim - ends.fixed
        shrink = (width - ends.fixed) / room if room > 0.0 else 16.0
        degree = min(math.ceil(degree * min(max(shrink, 1.5), 64.0)), _LAST_DEGREE)


def _ends(scene: _Scene, waves: _Waves, degree: int) -> _Ends:
    """Compute both expectations, with everything omitted or rounded on the safe side."""
    dropped = math.exp(-waves.below) * Sawtooth.largest(degree)
    high, high_error = _expectation(scene, waves, degree, scene.outer, above=True)
    low, low_error = _expectation(scene, waves, degree, scene.inner, above=False)
    # The mass beyond the circle on both sides, and the mass where a frozen item is down.
    over = high_error + dropped + 2.0 * scene.outside
    under = low_error + dropped + 3.0 * scene.outside
    high = min(high + over, 1.0)
    low = max(low - under, 0.0) * scene.inner_weight
    if scene.strict:
        high = max(high - scene.atom, low)
    else:
        low += scene.atom
    return _Ends(low, high, over + under, 2.0 * dropped + 5.0 * scene.outside)


def _expectation(scene: _Scene, waves: _Waves, degree: int, at: float, *, above: bool) -> tuple[float, float]:
    """Return the expectation of the polynomial at X - at, and a bound on its absolute error."""
    mean, line = scene.shape.coefficients(degree, waves.frequencies, above=above)
    turns = waves.frequencies * (at / scene.circle.period)
    terms = line * waves.phi * np.exp(-2j * np.pi * (turns - np.rint(turns)))
    size = np.abs(line)
    phases = 8.0 * np.pi * np.abs(turns) + 64.0
    error = 2.0 * float(np.dot(size, waves.error + UNIT_ROUNDOFF * phases * np.abs(waves.phi)))
    return mean + 2.0 * math.fsum(terms.real.tolist()), error + 64.0 * UNIT_ROUNDOFF * abs(mean)
