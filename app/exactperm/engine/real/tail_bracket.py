"""One tail of a real-valued sum between the expectations of two trigonometric polynomials.

Under the tilt by theta, P(X >= a) = exp(K(theta) - theta a) E f(X - a) with f(y) = exp(-theta y) for
y >= 0. The circle is so long that the mass beyond it is negligible; then the degree is raised until the
expectations are as close to each other as the precision asks for.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy import special

from ..lattice import Integers, Reals
from ..probability import UNIT_ROUNDOFF
from .form import RealForm, Tail
from .majorant import Complexes, Sawtooth
from .price import MOST_RETAINED, PER_ENDS, fixed_steps, negligible
from .spectrum import Circle, characteristic, evaluation_steps, retained
from .tilt import RealTilt, deviations, real_tilt_at, real_tilt_towards

_FIRST_DEGREE = 1 << 9
_LAST_DEGREE = 1 << 40
_RESTARTS = 4
# The share of the width that may come from what does not shrink with the degree.
_FIXED = 0.02
# Nothing smaller is left out: its logarithm is taken.
_LEAST_OUTSIDE = 1e-300
# Lengths of arcs are multiples of this, so that k times them is exact.
_ARC = 2.0**-10


@dataclass(frozen=True, slots=True)
class TailBracket:
    """log of a lower and an upper bound of a tail; the degree it took and the elementary steps."""

    log_low: float
    log_high: float
    degree: int
    steps: int

    def after(self, steps: int) -> TailBracket:
        """The bracket with the `steps` taken before it added to its own."""
        return replace(self, steps=self.steps + steps)

    def scaled(self, log_mass: float) -> TailBracket:
        """The bracket times a probability."""
        return TailBracket(self.log_low + log_mass, self.log_high + log_mass, self.degree, self.steps)


@dataclass(frozen=True, slots=True)
class _Scene:
    """A tail under its tilt, on a circle; probabilities are in units of exp(log_weight).

    The circle has the items that may be up or down; `outside` bounds the tilted mass that is neglected.
    """

    outer: float
    inner: float
    strict: bool
    circle: Circle
    shape: Sawtooth
    outside: float
    atom: float
    # exp(K - theta inner) against exp(K - theta outer)
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
        """Extend to the frequencies up to `degree`, or as far as `steps` allow; returns whether it got there."""
        each = evaluation_steps(self.circle.form)
        room = MOST_RETAINED - len(self.frequencies)
        most = max(min(steps // each, room), 0)
        wanted = degree + 1
        affordable = self.stop + self._affordable(steps, most)
        # At most half of the steps go into the search; the others evaluate what it finds.
        kept = retained(self.circle, self.stop, min(wanted, affordable), self.below, most, steps // 2)
        kept = kept.first(max(min((steps - kept.steps) // each, room), 0))
        phi, error = characteristic(self.circle, kept.frequencies)
        self.frequencies = np.concatenate((self.frequencies, kept.frequencies))
        self.phi, self.error = np.concatenate((self.phi, phi)), np.concatenate((self.error, error))
        self.steps += kept.steps + each * len(kept.frequencies)
        self.stop = max(kept.stop, self.stop)
        return self.stop == wanted

    def _affordable(self, steps: int, most: int) -> int:
        level = self.circle.level(self.below)
        return most if level < 0 else (max(steps, 0) // 64) << level


def tail_bracket(
    form: RealForm, tail: Tail, precision: float, *, steps: int, log_floor: float = -math.inf
) -> TailBracket:
    """Bracket one tail, at most as wide as `precision` times its lower end, or as exp(log_floor) if that is wider.

    It stays wider than that when the `steps` run out.
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
        ends, degree, spent = _raised(scene, precision, expected, floor, steps - used)
        used += spent
        low, high = max(low, ends.low), min(high, ends.high)
        aim = max(precision * low, floor)
        if high - low <= aim or ends.left_out <= 0.2 * aim or used >= steps:
            break
        # The tail is smaller than expected, so less may be left out.
        expected = max(min(low, 0.1 * expected), 1e-3 * expected)
    log_low = log_weight + math.log(low) - rounding if low > 0.0 else -math.inf
    return TailBracket(log_low, log_weight + math.log(high) + rounding, degree, used)


def _scene(form: RealForm, law: RealTilt, tail: Tail, outside: float) -> _Scene:
    """The shortest circle beyond which there is at most `outside` of the tilted mass, on either side."""
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
    """The form and law without the heaviest items, which are all up but for `outside` of the tilted mass; their sum."""
    down = form.counts * 0.5 * (1.0 - law.tau)
    frozen = int(np.searchsorted(np.cumsum(down[::-1]), 0.9 * outside))
    light = max(len(down) - frozen, 1)
    if light == len(down):
        return form, law, 0.0
    settled = math.fsum((form.counts[light:] * form.halves[light:]).tolist())
    live = form.lightest(light)
    return live, real_tilt_at(live, law.theta), settled


def _raised(
    scene: _Scene, precision: float, expected: float, floor: float, steps: int
) -> tuple[_Ends, int, int]:
    """The ends at the first degree that is high enough, that degree, and the steps it took."""
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
        # The width less what is fixed falls like 1 / J, or faster.
        room = 0.95 * aim - ends.fixed
        shrink = (width - ends.fixed) / room if room > 0.0 else 16.0
        degree = min(math.ceil(degree * min(max(shrink, 1.5), 64.0)), _LAST_DEGREE)


def _ends(scene: _Scene, waves: _Waves, degree: int) -> _Ends:
    """Both expectations, and everything that was left out or rounded on the safe side."""
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
    """The expectation of the polynomial at X - at, and a bound on its absolute error."""
    mean, line = scene.shape.coefficients(degree, waves.frequencies, above=above)
    turns = waves.frequencies * (at / scene.circle.period)
    terms = line * waves.phi * np.exp(-2j * np.pi * (turns - np.rint(turns)))
    size = np.abs(line)
    phases = 8.0 * np.pi * np.abs(turns) + 64.0
    error = 2.0 * float(np.dot(size, waves.error + UNIT_ROUNDOFF * phases * np.abs(waves.phi)))
    return mean + 2.0 * math.fsum(terms.real.tolist()), error + 64.0 * UNIT_ROUNDOFF * abs(mean)
