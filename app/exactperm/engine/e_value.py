"""E-values of sign flips: evidence against the null hypothesis that may be checked after every item.

With d_n the differences, S their sum and G a grid of tilts,

    E = 1 / (2 |G|) sum_{lambda in G} (exp(lambda S) + exp(-lambda S)) / prod_n cosh(lambda d_n),

with one of the two exponentials and without the 2 if one-sided. Over all sign flips of the d_n the mean of E is exactly
one, as E exp(lambda e d) = cosh(lambda d); item after item it is a martingale, so that P(some E >= 1 / alpha) <= alpha
(Ville 1939; de la Pena 1999, *Annals of Probability* 27:537-564; Ramdas, Ruf, Larsson & Koolen 2020, arXiv 2009.03167;
Koning 2023, arXiv 2310.01153). It depends only on S and on the multiset of the |d_n|, not on the order of the items. G
= {2**-7, 2**-6.5, ..., 2} / scale; the scale must not come from the data.

Where the runs of an item are reassigned between the systems, its difference T_n has a law of its own, given its runs:
M_n(lambda) = E exp(lambda T_n) replaces cosh(lambda d_n), and the rest of the argument is the same.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import flint
import numpy as np

from .finite_laws.form import FiniteLaws, Law
from .finite_laws.tilt import log_moments
from .lattice import CanonicalForm, Integers, Reals
from .probability import LN2, LN10, UNIT_ROUNDOFF, Alternative

Form = CanonicalForm | FiniteLaws
# Tilts are these doubles over the scale; the mean is exactly one however they are rounded.
GRID: tuple[float, ...] = tuple(2.0 ** (half / 2.0) for half in range(-14, 3))
# Number of terms multiplied before a logarithm is taken; each is at most 2, so nothing overflows.
_BLOCK = 512
# Squarings per exponential, for the tilts twice and four times as large.
_SQUARES = 2
_SIDES = {"greater": (1,), "less": (-1,), "two-sided": (1, -1)}
_FIRST_BITS, _MOST_BITS = 128, 2048


@dataclass(frozen=True, slots=True)
class EValue:
    """The natural logarithm of E, and a bound on its absolute error."""

    log_e: float
    error: float

    @property
    def value(self) -> float | None:
        """E as a double; None where it overflows or underflows."""
        return math.exp(self.log_e) if -708.0 < self.log_e < 709.0 else None

    @property
    def log10(self) -> float:
        """log10 of E."""
        return self.log_e / LN10


def e_value(form: Form, observed: int, unit: Fraction, alternative: Alternative) -> EValue:
    """Return E for a sum S = offset + step T with the weights or laws of `form` and the observed value `observed`.

    `unit` turns lattice units into differences over the scale: d_n is +-`step` w_n / 2 * `unit`, as swapping changes
    the sum by twice the difference. S of weights is centred.
    """
    if form.range == 0:
        return EValue(0.0, 0.0)
    up = (observed - form.offset) // form.step  # the observed T; T - W is the part with flipped signs
    ends = {"greater": (up,), "less": (form.range - up,), "two-sided": (up, form.range - up)}[alternative]
    size = float(unit * form.step)
    parts = (
        _of_signs(form, ends, size / 2.0)
        if isinstance(form, CanonicalForm)
        else _of_laws(form, up, size, _SIDES[alternative])
    )
    logs, errors = zip(*parts, strict=True)
    peak = max(logs)
    total = math.fsum(math.exp(value - peak) for value in logs)
    log_e = peak + math.log(total / len(logs))
    return EValue(log_e, max(errors) + UNIT_ROUNDOFF * (8.0 + 4.0 * abs(log_e)))


def _of_signs(form: CanonicalForm, ends: tuple[int, ...], size: float) -> Iterator[tuple[float, float]]:
    """Yield the logarithms of the terms of E and bounds on their absolute errors; half a step is `size` scales."""
    again = np.flatnonzero(form.counts > 1)
    for tilt, terms in zip(GRID, _terms(form.weights, size), strict=True):
        # log(exp(l S) / prod cosh(l d)) = 2 l (T - W) d + n ln 2 - sum c log(1 + exp(-2 l d)).
        decays, slack = _log_product(form, terms, again)
        for end in ends:
            down = 2.0 * tilt * size * float(form.range - end)
            error = slack + UNIT_ROUNDOFF * (6.0 * down + 3.0 * form.nonzero)
            yield form.nonzero * LN2 - decays - down, error


def _of_laws(form: FiniteLaws, up: int, size: float, sides: Sequence[int]) -> Iterator[tuple[float, float]]:
    """Yield the same for the laws of reassigned runs; a step is `size` scales."""
    for tilt, side in itertools.product(GRID, sides):
        theta = side * tilt * size
        moments, sizes = log_moments(form, theta)
        # Values that matter have chances of at least exp(-theta value) times a term of `sizes`.
        error = 32.0 * UNIT_ROUNDOFF * (sizes + abs(theta) * form.range)
        yield math.fsum([theta * up, *(-moments).tolist()]), error


def _terms(weights: Integers, size: float) -> Iterator[Reals]:
    """Yield exp(-2 tilt size w_j) for each tilt of `GRID`.

    Each tilt is twice the tilt two places before, so squares replace most exponentials. With a a quarter of the
    exponent, the result of two squarings has a relative error of at most 4 (a + 1) + 3 rounding errors.
    """
    before: list[Reals] = []
    for at, tilt in enumerate(GRID):
        squared = at // 2 % (_SQUARES + 1) > 0
        before.append(before[-2] * before[-2] if squared else np.exp(-2.0 * tilt * size * weights))
        del before[:-2]
        yield before[-1]


def _log_product(form: CanonicalForm, terms: Reals, again: Integers) -> tuple[float, float]:
    """Return sum_j c_j log(1 + terms_j) and a bound on its absolute error; `again` lists the j with c_j > 1."""
    # First every size once, with one logarithm per block of factors; then the repeated sizes, c_j - 1 times.
    padded = np.ones(-(-len(terms) // _BLOCK) * _BLOCK)
    padded[: len(terms)] += terms
    total = float(np.log(padded.reshape(-1, _BLOCK).prod(axis=1)).sum())
    if len(again):
        total += float(((form.counts[again] - 1) * np.log1p(terms[again])).sum())
    # A relative error of x in the exponent a moves exp(-a) by at most x / e; squaring adds at most 7 rounding errors.
    return total, UNIT_ROUNDOFF * (24.0 * form.nonzero + 64.0 * total)


def reaches(
    form: Form,
    observed: int,
    unit: Fraction,
    alternative: Alternative,
    *,
    prior_log_e: float = 0.0,
    level: Fraction,
) -> bool:
    """Return whether E times exp(`prior_log_e`) is certainly at least 1 / `level`: in ball arithmetic where doubles
    cannot decide.
    """
    computed = e_value(form, observed, unit, alternative)
    threshold = -math.log(level.numerator) + math.log(level.denominator) - prior_log_e
    margin = computed.error + UNIT_ROUNDOFF * (8.0 + 4.0 * abs(threshold) + 4.0 * abs(prior_log_e))
    if abs(computed.log_e - threshold) > margin:
        return computed.log_e > threshold
    bits = _FIRST_BITS
    while bits <= _MOST_BITS:
        with flint.ctx.workprec(bits):
            ball = _ball(form, observed, unit, alternative)
            excess = ball * flint.arb(prior_log_e).exp() * level.numerator - level.denominator
            if excess > 0 or excess < 0:
                return bool(excess > 0)
        bits *= 4
    # E and the level agree to 600 digits; equality counts as reached.
    return True


def _ball(form: Form, observed: int, unit: Fraction, alternative: Alternative) -> flint.arb:
    """Return E in ball arithmetic (Johansson 2017, Arb); a sign is the law of 0 and the weight."""
    exact = unit * form.step
    size = flint.arb(exact.numerator) / exact.denominator
    up = (observed - form.offset) // form.step
    laws = (
        form.laws
        if isinstance(form, FiniteLaws)
        else tuple(Law((0, weight), (1, 1)) for weight in form.weights.tolist())
    )
    total = flint.arb(0)
    for tilt, side in itertools.product(GRID, _SIDES[alternative]):
        theta = flint.arb(side * tilt) * size
        product = flint.arb(1)
        for law, count in zip(laws, form.counts.tolist(), strict=True):
            terms = (ways * (theta * value).exp() for value, ways in zip(law.values, law.ways, strict=True))
            product *= (sum(terms, flint.arb(0)) / law.total) ** count
        total += (theta * up).exp() / product
    return total / (len(GRID) * len(_SIDES[alternative]))
