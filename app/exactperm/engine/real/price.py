"""The predicted cost of a rigorous bracket.

Costs are in elementary steps, which `one_sum.methods` prices at 8 ns each. The constants are fitted to measured
times; `python -m loadtest.bench --section plan` prints predicted and measured time and memory.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from ..probability import LN2, SMALLEST
from .branching import MOST_LISTED, PER_STATE, branch
from .form import RealForm, RealRegion, Tail
from .spectrum import MOST_AT_ONCE, Circle, evaluation_steps
from .tilt import RealTilt, real_tilt_at, real_tilt_towards

# Frequencies u with a larger square count as unbounded.
_FARTHEST = 1e280
# Elementary steps of both polynomials' expectations, per retained frequency.
PER_ENDS = 64
# Steps of a tilt, its window and the bookkeeping, per group and per tail.
_PER_GROUP = 120
_PER_TAIL = 100_000
_PER_BLOCK = 72
_SAMPLED_GROUPS = 2048
# The degree for a finer precision overflows a double. No bracket gets there, so its cost is that of this one.
_FINEST = 1e-280
# Open states of a branching during planning, which must be cheap.
_MOST_OPEN = 1 << 14
# The largest number of retained frequencies; a bracket that needs more stays wider.
MOST_RETAINED = 1 << 21


def steps_and_bytes(form: RealForm, region: RealRegion, precision: float) -> tuple[int, int]:
    """Predict the elementary steps and peak bytes of `bounds.bracket`."""
    setup, retained = 30 * len(form.halves), 0
    steps = setup
    for tail in {tail.outer: tail for tail in region.tails}.values():
        more, kept = _branched(form, tail, precision)
        steps, retained = steps + more, max(retained, kept)
    listed = listing_steps(form)
    if listed is not None and listed < steps:
        # Polynomials are tried first, for at most as many steps, plus their tilt.
        return setup + listed + fixed_steps(form.nonzero), (48 << form.nonzero) + 200
    held = 200 * len(form.halves) + 200 * min(retained, MOST_RETAINED) + 64 * MOST_AT_ONCE
    return steps, held


def _branched(form: RealForm, tail: Tail, precision: float) -> tuple[int, int]:
    """Predict (steps, retained frequencies) for one tail, with its heaviest items decided first as in `bounds`."""
    theta = slope(form, tail)
    best, steps = branch(form, tail, lambda light: tail_steps(light, theta, precision)[0], _MOST_OPEN)
    if len(best.light.halves) == 0 or len(best.sums) == 0:
        return steps, 0
    return steps, tail_steps(best.light, theta, precision)[1]


def slope(form: RealForm, tail: Tail) -> float:
    """Return the tilt that moves the mean to a tail; 0 for a tail at the end of the range or beyond."""
    law = real_tilt_towards(form, tail.outer) if tail.outer < form.reach else real_tilt_at(form, 0.0)
    return law.theta


def log_expected(form: RealForm, region: RealRegion) -> float:
    """Estimate log P(X in region), approximating the tilted law by a normal one (Lugannani & Rice 1980)."""
    logs = []
    for tail in region.tails:
        if tail.outer >= form.reach:
            logs.append(-LN2 * form.nonzero)
            continue
        law = real_tilt_towards(form, tail.outer)
        weight, _ = law.log_weight(tail.outer)
        distance = (law.mean - tail.outer) / law.sd
        shape = 0.5 * float(special.erfcx((law.theta * law.sd - distance) / math.sqrt(2.0)))
        logs.append(weight + math.log(shape) - 0.5 * distance * distance)
    total = math.fsum(math.exp(min(value, 0.0)) for value in logs)
    if region.complement:
        return math.log1p(-total) if total < 1.0 else -math.inf
    return math.log(total) if total > 0.0 else max(logs)


def listing_steps(form: RealForm) -> int | None:
    """Predict the elementary steps of listing all 2**n sums; None where there are too many."""
    return PER_STATE * 2 << form.nonzero if form.nonzero <= MOST_LISTED else None


def tail_steps(form: RealForm, theta: float, precision: float) -> tuple[int, int]:
    """Predict the steps and retained frequencies of one tail of `form`, tilted by `theta`, by polynomials."""
    form = _sample(form)
    law = real_tilt_at(form, theta)
    below = negligible(precision)
    period = 2.0 * min(form.reach, math.sqrt(2.0 * (below + 4.0) * form.variance))
    circle = Circle(form, law, period)
    # The normal law's density at the edge over its tail, both tilted.
    sd = math.sqrt(2.0) / _width(form, law, 1.0)
    hazard = math.sqrt(2.0 / math.pi) / (sd * float(special.erfcx(theta * sd / math.sqrt(2.0))))
    degree = math.ceil(1.1 * period * hazard / max(precision, _FINEST))
    level = circle.level(below)
    if level < 0:
        retained = degree
    else:
        retained = min(degree, 4 + math.ceil(period * _width(form, law, below) / math.pi))
    screened = 0 if level < 0 else _PER_BLOCK * ((degree >> level) + 8 * level + 8)
    each = evaluation_steps(form) + 2 * PER_ENDS  # the same frequencies count again as the degree rises
    return fixed_steps(form.nonzero) + screened + retained * each, retained


def fixed_steps(groups: int) -> int:
    """Predict the elementary steps of a tail before its polynomials: its tilt and its circle."""
    return _PER_TAIL + _PER_GROUP * groups


def negligible(precision: float) -> float:
    """Return -log of the largest modulus of a dropped frequency."""
    if precision > _FINEST:
        return math.log(4.0e4 / precision)
    return math.log(4.0e4) - math.log(max(precision, SMALLEST))  # their quotient may overflow


def _sample(form: RealForm) -> RealForm:
    """Sample at most a few thousand groups that represent all of them."""
    every = len(form.halves) // _SAMPLED_GROUPS
    if every < 2:
        return form
    counts = np.add.reduceat(form.counts, np.arange(0, len(form.counts), every))
    return RealForm(form.halves[::every], counts, form.items, form.unit)


def _width(form: RealForm, law: RealTilt, below: float) -> float:
    """Estimate the u beyond which -log|phi(u)| is above `below`.

    The share of each item is quadratic in u until it reaches log(2 / (1 + tau)), its average, and constant from there;
    the sum of all shares is therefore one quadratic between neighbouring ends.
    """
    worth = form.counts * -np.log1p(-0.5 * (1.0 - law.tau))
    quadratic = 0.5 * form.counts * law.sech2 * np.square(form.halves)
    if float(worth.sum()) <= below:
        return math.pi / float(form.halves[0])
    moving = quadratic > 0.0
    worth, quadratic = worth[moving], quadratic[moving]
    with np.errstate(over="ignore"):
        ends = np.minimum(worth / quadratic, _FARTHEST)  # of u ** 2
    order = np.argsort(ends)
    ended = np.concatenate(([0.0], np.cumsum(worth[order])))
    growing = np.concatenate((np.cumsum(quadratic[order][::-1])[::-1], [0.0]))
    reached = ended[1:] + ends[order] * growing[1:]
    segment = int(np.searchsorted(reached, below))
    if segment == len(order):
        return math.pi / float(form.halves[0])
    return math.sqrt(min((below - float(ended[segment])) / float(growing[segment]), _FARTHEST))
