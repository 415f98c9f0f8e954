"""`bounds` for several sums: a rigorous bracket from the exact law of the linear part.

t / 2 is nearly l . s = sum_n e_n b_n, a sum of random signs. Where |t / 2 - l . s| <= r1 |l . s| + r2 except with
probability eps, and x = |t_observed| / 2,

    P(|l . s| >= (x + r2) / (1 - r1)) - eps <= P(|t| >= |t_observed|) <= P(|l . s| >= (x - r2) / (1 + r1)) + eps.

Both probabilities are those of `one_sum.fft`, on effects rounded to a lattice: what rounding moves the sum by is a sum of
signs too, and its bound joins r2. The engine's notes have the proof.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..lattice import CanonicalForm, Reals, canonical_form
from ..one_sum import fft
from ..one_sum.planner import fft_cost
from ..plan import Cost
from ..probability import CERTAIN, LN2, Alternative, Probability, region
from ..real.bounds import Bracket, log

# Steps of the lattice to a standard deviation: what fft needs are some twenty of these.
_STEPS = 1 << 16
# Rounding of what is computed here in doubles, relatively.
_ROUNDED = 1e-9


@dataclass(frozen=True, eq=False)
class LinearPart:
    """l . s = step * T + something: T = sum_n e_n w_n on a lattice, the rest a sum of signs of this `norm`."""

    form: CanonicalForm
    step: float
    norm: float

    @property
    def deviation(self) -> float:
        """The standard deviation of step * T."""
        return self.step * 2.0 * math.sqrt(self.form.variance)

    @property
    def cost(self) -> Cost:
        """Of the two tails."""
        one = fft_cost(self.form)
        return Cost("bounds", 2 * one.operations, one.bytes, one.rate)


@dataclass(frozen=True, slots=True)
class Distance:
    """|t / 2 - l . s| <= relative |l . s| + absolute, except with probability exp(log_outside)."""

    relative: float
    absolute: float
    log_outside: float


def linear_part(effects: Reals, errors: Reals) -> LinearPart | None:
    """The sum of signs times `effects`, each of which is off by `errors` at most, shape (N,); None where all are zero."""
    deviation = float(np.linalg.norm(effects))
    if not deviation > 0.0:
        return None
    step = 2.0 ** math.floor(math.log2(deviation / _STEPS))
    weights = np.rint(effects / step)
    # Dividing by a power of two is exact.
    off = np.abs(effects - weights * step) + errors
    return LinearPart(
        canonical_form(weights.astype(np.int64)), step, float(np.linalg.norm(off)) * (1.0 + _ROUNDED)
    )


def bracket(part: LinearPart, size: float, error: float, distance: Distance, side: Alternative, sign: int) -> Bracket:
    """The bracket of P(t is as extreme as observed), |t| / 2 observed as `size` +- `error` with this `sign`.

    States without a value, which count as extreme, are among those outside of the bounds.
    """
    low, high = _ends(part, size, error, distance, strictly=side != "two-sided" and sign <= 0)
    least = -part.form.nonzero * LN2
    if side == "two-sided":
        return _bracket(max(low, math.exp(least)), high)
    outside = math.exp(distance.log_outside)
    # t is odd in s: both sides of zero have the same chance, and what is undefined counts on either.
    if (sign > 0) == (side == "greater") and sign != 0:
        return _bracket(max(0.5 * low, math.exp(least)), 0.5 * (high + outside))
    return _bracket(1.0 - 0.5 * high, 1.0 - 0.5 * low)


def _ends(
    part: LinearPart, size: float, error: float, distance: Distance, *, strictly: bool
) -> tuple[float, float]:
    """Lower and upper bounds of P(|t| / 2 >= size), or of P(|t| / 2 > size)."""
    near = (size - error - distance.absolute) / (1.0 + distance.relative)
    far = (size + error + distance.absolute) / (1.0 - distance.relative)
    near, far = near - _ROUNDED * abs(near), far + _ROUNDED * abs(far)
    outside = math.exp(distance.log_outside) * (1.0 + _ROUNDED)
    below = _tail(part.form, math.ceil(near / part.step))
    above = _tail(part.form, math.ceil(far / part.step) + int(strictly))
    most = math.exp(min(below.log_p, 0.0)) * (1.0 + below.relative_error_bound) + outside
    least = math.exp(above.log_p) * (1.0 - min(above.relative_error_bound, 1.0)) * (1.0 - _ROUNDED) - outside
    return max(least, 0.0), min(most * (1.0 + _ROUNDED), 1.0)


def _tail(form: CanonicalForm, total: int) -> Probability:
    """P(|T| >= total)."""
    if total <= 0:
        return CERTAIN
    tails = region(form, total, "two-sided")
    return fft.probability(form, tails) if tails.intervals else Probability(-math.inf, 0.0)


def _bracket(low: float, high: float) -> Bracket:
    return Bracket(log(min(max(low, 0.0), 1.0)), log(min(max(high, 0.0), 1.0)), 0, 0, reached=False)
