"""`bounds` for several sums: a rigorous bracket from the exact law of the linear part.

t / 2 is nearly l . s = sum_n e_n b_n, a sum of random signs. If |t / 2 - l . s| <= r1 |l . s| + r2 except with
probability eps, then for x = |t_observed| / 2

    P(|l . s| >= (x + r2) / (1 - r1)) - eps <= P(|t| >= |t_observed|) <= P(|l . s| >= x / (1 + r1) - r2) + eps.

Both probabilities are bracketed by `real.bounds`, on effects rounded to a fine lattice: rounding changes the sum by
another sum of signs, whose bound joins r2, so r2 is not divided by 1 + r1. Section 16 of the engine's README has the
proof.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..lattice import CanonicalForm, Integers, Reals, canonical_form
from ..one_sum.methods import bounds_cost, lattice_bracket
from ..plan import Cost
from ..probability import LN2, Alternative, region
from ..real.bounds import Bracket, log

# About the number of lattice steps per standard deviation, so that rounding hardly moves the sum.
STEPS = 1 << 24
# The largest number of steps of a tail, some 50 ms; many nearly equal sums may leave it wider than requested.
_MOST_STEPS = 12_000_000
# Relative rounding error of the doubles computed here.
_ROUNDED = 1e-9


@dataclass(frozen=True, eq=False)
class LinearPart:
    """l . s = step * T + rest, with T = sum_n e_n w_n on a lattice and the rest a sum of signs of this `norm`."""

    form: CanonicalForm
    step: float
    norm: float

    @property
    def deviation(self) -> float:
        """The standard deviation of step * T."""
        return self.step * 2.0 * math.sqrt(self.form.variance)

    def cost(self, size: float, precision: float) -> Cost:
        """Return the cost of both tails from about `size`, each to this precision."""
        tails = region(self.form, max(math.ceil(size / self.step), 1), "two-sided")
        tail_cost = bounds_cost(self.form, tails, precision)
        return Cost("bounds", 2 * tail_cost.operations, tail_cost.bytes, tail_cost.rate, precision)


@dataclass(frozen=True, slots=True)
class Distance:
    """|t / 2 - l . s| <= relative |l . s| + r2, except with probability exp(log_outside).

    `absolute` is r2 plus the change of l . s by rounding.
    """

    relative: float
    absolute: float
    log_outside: float


def linear_part(weights: Integers, step: float, errors: Reals) -> LinearPart | None:
    """Return the sum of signs times step * `weights`, with errors up to `errors`, shape (N,); None if all are zero."""
    if not weights.any():
        return None
    return LinearPart(canonical_form(weights), step, float(np.linalg.norm(errors)) * (1.0 + _ROUNDED))


def bracket(
    part: LinearPart,
    size: float,
    error: float,
    distance: Distance,
    side: Alternative,
    sign: int,
    *,
    precision: float,
) -> Bracket:
    """Bracket P(t is as extreme as observed), the observed |t| / 2 being `size` +- `error` with this `sign`.

    `precision` is the precision of the linear part's tails. States without a value count as extreme, and lie
    outside the bounds.
    """
    if sign == 0 and side == "two-sided":
        return _bracket(1.0, 1.0)
    towards = sign != 0 and (side == "two-sided" or (sign > 0) == (side == "greater"))
    low, high = _ends(part, size, error, distance, precision, strictly=not towards)
    # t is odd in s: both sides of zero have the same probability, and undefined states count on either.
    if not towards:
        # Rounded outwards: a tail below 1e-16 would vanish, which must not make p equal to 1.
        return _bracket(math.nextafter(1.0 - 0.5 * high, 0.0), math.nextafter(1.0 - 0.5 * low, 2.0))
    # At least the probability of the observed assignment.
    low = max(low, math.exp(-part.form.items * LN2))
    if side == "two-sided":
        return _bracket(low, high)
    return _bracket(0.5 * low, 0.5 * (high + math.exp(distance.log_outside)))


def _ends(
    part: LinearPart, size: float, error: float, distance: Distance, precision: float, *, strictly: bool
) -> tuple[float, float]:
    """Return lower and upper bounds of P(|t| / 2 >= size), or of P(|t| / 2 > size)."""
    near = (size - error) / (1.0 + distance.relative) - distance.absolute
    far = (size + error + distance.absolute) / (1.0 - distance.relative)
    near, far = near - _ROUNDED * abs(near), far + _ROUNDED * abs(far)
    outside = math.exp(distance.log_outside) * (1.0 + _ROUNDED)
    _, most = _tail(part.form, math.ceil(near / part.step), precision)
    least, _ = _tail(part.form, math.ceil(far / part.step) + int(strictly), precision)
    return max(least * (1.0 - _ROUNDED) - outside, 0.0), min(most * (1.0 + _ROUNDED) + outside, 1.0)


def _tail(form: CanonicalForm, total: int, precision: float) -> tuple[float, float]:
    """Return bounds of P(|T| >= total)."""
    if total <= 0:
        return 1.0, 1.0
    tails = region(form, total, "two-sided")
    if not tails.intervals:
        return 0.0, 0.0
    bracketed = lattice_bracket(form, tails, precision, steps=_MOST_STEPS)
    return bracketed.low, bracketed.high


def _bracket(low: float, high: float) -> Bracket:
    return Bracket(log(min(max(low, 0.0), 1.0)), log(min(max(high, 0.0), 1.0)), 0, 0, reached=False)
