"""What a rigorous bracket will cost, before it is computed."""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from app.engine.branching import MOST_LISTED, PER_STATE
from app.engine.real_form import RealForm, RealRegion
from app.engine.real_tilt import RealTilt, real_tilt_at, real_tilt_towards
from app.engine.retirement import MOST_AT_ONCE, Circle, evaluation_steps

# Steps of a tilt, its window and the bookkeeping, per group and per tail.
_PER_GROUP = 120
_PER_TAIL = 100_000
_PER_BLOCK = 64
_SAMPLED_GROUPS = 2048
_HALVINGS = 30
# The degree for a precision below this is no double; nothing comes near to it, so that its price is as good.
_FINEST = 1e-280


def steps_and_bytes(form: RealForm, region: RealRegion, precision: float) -> tuple[int, int]:
    """Predicted elementary steps (about 5 ns each on an ordinary core) and bytes at the peak."""
    setup, retained = 30 * len(form.halves), 0
    steps = setup
    for edge in {tail.outer for tail in region.tails}:
        law = real_tilt_towards(form, edge) if edge < form.reach else real_tilt_at(form, 0.0)
        more, kept = tail_steps(form, law.theta, precision)
        steps, retained = steps + more, max(retained, kept)
    listed = listing_steps(form)
    if listed is not None and listed < steps:
        return setup + listed, (48 << form.nonzero) + 200
    held = 200 * len(form.halves) + 200 * retained + 64 * MOST_AT_ONCE
    return steps, held


def listing_steps(form: RealForm) -> int | None:
    """Elementary steps of listing all 2**n sums; None where there are too many."""
    return PER_STATE * 2 << form.nonzero if form.nonzero <= MOST_LISTED else None


def tail_steps(form: RealForm, theta: float, precision: float) -> tuple[int, int]:
    """Elementary steps, and frequencies retained, for one tail of `form`, tilted by `theta`, by polynomials."""
    form = _sample(form)
    law = real_tilt_at(form, theta)
    below = negligible(precision)
    period = 2.0 * min(form.reach, math.sqrt(2.0 * (below + 4.0) * form.variance))
    circle = Circle(form, law, period)
    # The normal law's density at the edge against its tail, both tilted.
    sd = math.sqrt(2.0) / _width(form, law, 1.0)
    hazard = math.sqrt(2.0 / math.pi) / (sd * float(special.erfcx(theta * sd / math.sqrt(2.0))))
    degree = math.ceil(1.1 * period * hazard / max(precision, _FINEST))
    level = circle.level(below)
    if level < 0:
        retained = degree
    else:
        retained = min(degree, 4 + math.ceil(period * _width(form, law, below) / math.pi))
    screened = 0 if level < 0 else _PER_BLOCK * ((degree >> level) + 8 * level + 8)
    per_tail = _PER_TAIL + _PER_GROUP * form.nonzero
    return per_tail + screened + retained * evaluation_steps(form), retained


def negligible(precision: float) -> float:
    """-log of what a retired frequency may be, at most."""
    if precision > _FINEST:
        return math.log(4.0e4 / precision)
    return math.log(4.0e4) - math.log(max(precision, math.ulp(0.0)))  # their quotient may be no double


def _sample(form: RealForm) -> RealForm:
    """At most some thousand groups that stand for all of them."""
    every = len(form.halves) // _SAMPLED_GROUPS
    if every < 2:
        return form
    counts = np.add.reduceat(form.counts, np.arange(0, len(form.counts), every))
    return RealForm(form.halves[::every], counts, form.items, form.unit)


def _width(form: RealForm, law: RealTilt, below: float) -> float:
    """The u beyond which -log|phi(u)| is above `below`: quadratic first, then log(2 / (1 + tau)) a coin."""
    worth = form.counts * -np.log1p(-0.5 * (1.0 - law.tau))
    quadratic = 0.5 * form.counts * law.sech2 * np.square(form.halves)
    if float(worth.sum()) <= below:
        return math.pi / float(form.halves[0])
    low, high = 0.0, math.pi / float(form.halves[0])
    while float(np.minimum(quadratic * (high * high), worth).sum()) < below and math.isfinite(high):
        high *= 2.0
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        reached = float(np.minimum(quadratic * (middle * middle), worth).sum())
        low, high = (low, middle) if reached > below else (middle, high)
    return high
