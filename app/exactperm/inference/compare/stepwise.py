"""Multiple testing procedures by rank: the k-th smallest of m p-values times a factor, stepping down or up."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ...engine.lattice import Integers, Reals

Flags = NDArray[np.bool_]
# Factors that are no integers are within three roundings of their value; products round once more, by `nextafter`.
_SLACK = 2.0**-50
# A term is compared with alpha in fractions where doubles could be on its wrong side.
_NEAR = 2.0**-45


@dataclass(frozen=True, slots=True)
class Procedure:
    """A procedure that multiplies the p-value of rank k = 1, ..., m by `scale(m)` times `factor(k, m)`.

    Attributes
    ----------
    step
        `down`: the adjusted p-value is the largest term up to its rank; `up`: the smallest from its rank on;
        `single`: its own term.
    factors
        Doubles nearest to factor(k, m), shape (m,).
    integer
        Whether these doubles are exact, and the scale is one.
    """

    step: Literal["down", "up", "single"]
    factors: Callable[[int], Reals]
    factor: Callable[[int, int], Fraction]
    scale: Callable[[int], Fraction] = lambda m: Fraction(1)
    integer: bool = True

    def adjust(self, p: Reals, rounding: Literal["nearest", "down", "up"] = "nearest") -> Reals:
        """Adjusted p-values of p-values, shape (m,) in any order; `down` and `up` are certified bounds.

        All procedures are monotone in every p-value, so that bounds may be adjusted like the values they bound.
        """
        order = np.argsort(p)
        ranked = p[order]
        factors = self._scaled(len(p))
        terms = factors * ranked
        if rounding != "nearest":
            outward = math.inf if rounding == "up" else 0.0
            if not self.integer:
                terms *= 1.0 + _SLACK if rounding == "up" else 1.0 - _SLACK
            terms = np.where((factors == 1.0) & self.integer, terms, np.nextafter(terms, outward))
        adjusted = np.empty_like(terms)
        adjusted[order] = np.minimum(self._accumulate(terms), 1.0)
        return adjusted

    def adjust_log10(self, log10_p: Reals) -> Reals:
        """The same of logarithms, where nothing underflows."""
        order = np.argsort(log10_p)
        terms = log10_p[order] + np.log10(self._scaled(len(log10_p)))
        adjusted = np.empty_like(terms)
        adjusted[order] = np.minimum(self._accumulate(terms), 0.0)
        return adjusted

    def adjust_exactly(self, p: Sequence[Fraction]) -> list[Fraction]:
        """The same of fractions."""
        m = len(p)
        doubles = [(float(value), value) for value in p]  # fractions only tell equal doubles apart
        order = sorted(range(m), key=doubles.__getitem__)
        one, scale = Fraction(1), self.scale(m)
        terms = [self.factor(k, m) * p[i] for k, i in enumerate(order, 1)]
        if self.step == "down":
            for k in range(1, m):
                terms[k] = max(terms[k], terms[k - 1])
        elif self.step == "up":
            for k in range(m - 2, -1, -1):
                terms[k] = min(terms[k], terms[k + 1])
        adjusted = [one] * m
        for i, term in zip(order, terms, strict=True):
            adjusted[i] = min(one, term if scale == 1 else scale * term)
        return adjusted

    def rejects(self, p: Reals, known: Mapping[int, Fraction], alpha: Fraction) -> tuple[Flags, Flags]:
        """Whether the adjusted p-value is at most alpha, and whether the own term is; shape (m,), without rounding.

        `p` are doubles taken as exact, but for the tests in `known`: there they are the doubles nearest to these
        fractions.
        """
        m, limit = len(p), float(alpha)
        order = np.lexsort((_beyond(p, known), p)) if known else np.argsort(p)
        terms = self._scaled(m) * p[order]
        below = terms <= limit
        for k in np.flatnonzero(np.abs(terms - limit) <= _NEAR * limit + math.ulp(0.0)).tolist():
            i = int(order[k])
            exact = known.get(i)
            term = self.factor(k + 1, m) * (Fraction(float(p[i])) if exact is None else exact)
            below[k] = self.scale(m) * term <= alpha
        rejected, own = np.empty(m, bool), np.empty(m, bool)
        own[order] = below
        if self.step == "down":
            rejected[order] = np.logical_and.accumulate(below)
        elif self.step == "up":
            rejected[order] = np.logical_or.accumulate(below[::-1])[::-1]
        else:
            rejected = own
        return rejected, own

    def _scaled(self, m: int) -> Reals:
        return self.factors(m) if self.integer else self.factors(m) * float(self.scale(m))

    def _accumulate(self, terms: Reals) -> Reals:
        if self.step == "down":
            return np.maximum.accumulate(terms)
        return np.minimum.accumulate(terms[::-1])[::-1] if self.step == "up" else terms


def _beyond(p: Reals, known: Mapping[int, Fraction]) -> Integers:
    """Ranks of what the fractions are above or below their doubles; 0 for none: the order among equal doubles."""
    residuals = {i: exact - Fraction(float(p[i])) for i, exact in known.items()}
    ranked = sorted(set(residuals.values()) | {Fraction(0)})
    zero = ranked.index(Fraction(0))
    place = {residual: k - zero for k, residual in enumerate(ranked)}
    beyond = np.zeros(len(p), np.int64)
    for i, residual in residuals.items():
        beyond[i] = place[residual]
    return beyond


@lru_cache(maxsize=16)
def harmonic(m: int) -> Fraction:
    """1 + 1/2 + ... + 1/m, by halving: the numbers stay small for long."""

    def part(first: int, end: int) -> tuple[int, int]:
        if end - first == 1:
            return 1, first
        middle = (first + end) // 2
        (a, b), (c, d) = part(first, middle), part(middle, end)
        return a * d + c * b, b * d

    return Fraction(*part(1, m + 1))


def _descending(m: int) -> Reals:
    return np.arange(m, 0, -1, dtype=np.float64)


def _m_over_k(m: int) -> Reals:
    return m / np.arange(1, m + 1, dtype=np.float64)


NONE = Procedure("single", np.ones, lambda k, m: Fraction(1))
BONFERRONI = Procedure("single", lambda m: np.full(m, float(m)), lambda k, m: Fraction(m))
# Holm 1979, Scandinavian Journal of Statistics 6:65-70.
HOLM = Procedure("down", _descending, lambda k, m: Fraction(m - k + 1))
# Hochberg 1988, Biometrika 75:800-802.
HOCHBERG = Procedure("up", _descending, lambda k, m: Fraction(m - k + 1))
# Benjamini & Hochberg 1995, Journal of the Royal Statistical Society B 57:289-300.
BH = Procedure("up", _m_over_k, lambda k, m: Fraction(m, k), integer=False)
# Benjamini & Yekutieli 2001, Annals of Statistics 29:1165-1188, theorem 1.3.
BY = Procedure("up", _m_over_k, lambda k, m: Fraction(m, k), harmonic, integer=False)
# Holm over the 2m one-sided tests of m two-sided p-values: the m in the observed direction have half of them. The others
# have at least 1/2: they come last, and are never rejected.
HOLM_ONE_SIDED = Procedure(
    "down", lambda m: 0.5 * np.arange(2 * m, m, -1, dtype=np.float64), lambda k, m: Fraction(2 * m - k + 1, 2)
)
