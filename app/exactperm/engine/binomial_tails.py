"""Tails of Binomial(n, 1/2) for many n and k at once. This is the null distribution of right-or-wrong scores, with n
the number of items on which two systems differ.

S(n, k) = P(X >= k). Up to a thousand flips, Pascal's rule is used,

    S(n + 1, k) = (S(n, k) + S(n, k - 1)) / 2,

one rounded addition of positive numbers at each step, so that after n of them the relative error is at most n u, u the
unit roundoff; nothing underflows, as 2**-1000 is a normal double. Beyond that, S is the first term times a series,

    S(n, k) = C(n, k) / 2**n * (1 + (n - k) / (k + 1) + (n - k) (n - k - 1) / ((k + 1) (k + 2)) + ...),  k > n / 2,

the first term in ball arithmetic (Johansson 2017, Arb), the series in doubles with its error accumulated. Exact values
are sums of binomial coefficients in integers.
"""

from __future__ import annotations

from dataclasses import dataclass

import flint
import numpy as np
from numpy.typing import NDArray

from .lattice import Integers, Reals
from .probability import LN2, LN10, SMALLEST, UNIT_ROUNDOFF

# The largest number of flips for Pascal's rule; 2**-1000 is far from underflow.
MOST_BY_RULE = 1_000
# Up to this many flips every tail is a multiple of 2**-53, and so a double.
_EXACT = 53
_BALL_BITS = 160
_LEAST_NORMAL = 2.0**-1022
# The truncated part of a series, relative to its sum.
_LEFT_OUT = 2.0**-57


@dataclass(frozen=True, slots=True)
class Tails:
    """Probabilities, shape (M,) each.

    Exact values lie within p (1 +- error) and 10**log10_p (1 +- log_error); an underflowing p is the smallest double >
    0.
    """

    p: Reals
    log10_p: Reals
    error: Reals
    log_error: Reals

    def at(self, where: NDArray[np.int64]) -> Tails:
        """Select the tails at `where`, positions that may repeat."""
        return Tails(self.p[where], self.log10_p[where], self.error[where], self.log_error[where])


def upper_tails(n: Integers, k: Integers) -> Tails:
    """Return P(X >= k) for X ~ Binomial(n, 1/2); shape (M,) each, n >= 0 and k <= n."""
    first = np.maximum(k, 0)
    codes, where = np.unique(n * (int(n.max(initial=0)) + 1) + first, return_inverse=True)
    flips, heads = np.divmod(codes, int(n.max(initial=0)) + 1)
    p, log_p, error = np.ones(len(codes)), np.zeros(len(codes)), np.zeros(len(codes))
    few = flips <= MOST_BY_RULE
    if few.any():
        p[few] = _by_rule(flips[few], heads[few])
        log_p[few] = np.log(p[few])
        error[few] = np.where(flips[few] <= _EXACT, 0.0, 1.01 * UNIT_ROUNDOFF * flips[few])
    if not few.all():
        p[~few], log_p[~few], error[~few] = _by_series(flips[~few], heads[~few])
    log10_p = np.minimum(log_p / LN10, 0.0)
    # Rounding of the logarithm and of its conversion.
    log_error = error + 8.0 * UNIT_ROUNDOFF * (1.0 + np.abs(log_p))
    log_error[p == 1.0] = error[p == 1.0]
    rounded = np.where(p < _LEAST_NORMAL, SMALLEST / np.maximum(p, SMALLEST), 0.0)
    return Tails(p, log10_p, error + rounded, log_error).at(where)


def exact_tail(n: int, k: int) -> int:
    """Return 2**n P(X >= k), the number of sequences of n flips with at least k heads."""
    if 2 * k <= n:
        return (1 << n) - exact_tail(n, n - k + 1) if k > 0 else 1 << n
    return _sum_of_coefficients(n, n - k)


def exact_tails(n: int) -> list[int]:
    """Count the sequences of n flips with at least n, n - 1, ..., 0 heads: n + 1 integers, ascending."""
    total, term, tails = 0, 1, []
    for tail in range(n + 1):
        total += term
        tails.append(total)
        term = term * (n - tail) // (tail + 1)
    return tails


def _sum_of_coefficients(n: int, most: int) -> int:
    """Sum C(n, i) over 0 <= i <= most."""
    total, term = 0, 1
    for i in range(most + 1):
        total += term
        term = term * (n - i) // (i + 1)
    return total


def _by_rule(n: Integers, k: Integers) -> Reals:
    """Apply Pascal's rule row by row up to the largest n, and collect the requested tails; n ascending."""
    largest = int(n[-1])
    ends = np.searchsorted(n, np.arange(largest + 1), side="right").tolist()
    tails = np.zeros(largest + 2)
    tails[0] = 1.0
    result, start = np.ones(len(n)), 0
    for flips in range(largest + 1):
        if flips:
            # S(n, 0) stays 1; the right-hand side is evaluated before anything is stored.
            tails[1 : flips + 1] = 0.5 * (tails[1 : flips + 1] + tails[:flips])
        if ends[flips] > start:
            result[start : ends[flips]] = tails[k[start : ends[flips]]]
            start = ends[flips]
    return result


def _by_series(n: Integers, k: Integers) -> tuple[Reals, Reals, Reals]:
    """Return (p, log p, bound on the relative error) for any n; a tail beyond the middle comes from its complement."""
    low = 2 * k <= n
    # Any value serves where k is 0: the tail is certain.
    upper = np.where(low, np.minimum(n - k + 1, n), k)
    log_first, first, first_error = _first_terms(n, upper)
    series, series_error = _series(n, upper)
    p, log_p = first * series, log_first + np.log(series)
    error = first_error + series_error + 2.0 * UNIT_ROUNDOFF
    # The complement: nothing cancels, as the tail is at most 1/2.
    rest = 1.0 - p
    log_p = np.where(low, np.log1p(-np.minimum(p, 0.75)), log_p)
    error = np.where(low, error * p / rest + UNIT_ROUNDOFF, error)
    p = np.where(low, rest, p)
    certain = k <= 0
    p[certain], log_p[certain], error[certain] = 1.0, 0.0, 0.0
    return np.maximum(p, SMALLEST), log_p, error


def _first_terms(n: Integers, k: Integers) -> tuple[Reals, Reals, Reals]:
    """Return log(C(n, k) / 2**n), the number itself (0 where it underflows), and a bound on both relative errors."""
    logs, values, errors = np.empty(len(n)), np.empty(len(n)), np.empty(len(n))
    known: dict[int, flint.arb] = {}
    with flint.ctx.workprec(_BALL_BITS):
        ln2 = flint.arb(2).log()

        def log_factorial(i: int) -> flint.arb:
            value = known.get(i)
            if value is None:
                value = known[i] = flint.arb(i + 1).lgamma()
            return value

        for at, (flips, heads) in enumerate(zip(n.tolist(), k.tolist(), strict=True)):
            ball = log_factorial(flips) - log_factorial(heads) - log_factorial(flips - heads) - flips * ln2
            logs[at] = float(ball.mid())
            values[at] = float(ball.exp().mid())
            errors[at] = 2.0 * float(ball.rad())
    return logs, values, errors + 2.0 * UNIT_ROUNDOFF


def _series(n: Integers, k: Integers) -> tuple[Reals, Reals]:
    """Sum 1 + (n - k) / (k + 1) + ..., for k > n / 2, and bound its relative error; shape (M,) each.

    Term i takes i multiplications and divisions, so its error is at most 2 i u; sums are compensated (Neumaier 1974).
    """
    total, weighted = np.ones(len(n)), np.zeros(len(n))
    lost, left = np.zeros(len(n)), np.zeros(len(n))
    active = np.arange(len(n))
    above, below = (n - k).astype(np.float64), (k + 1).astype(np.float64)
    term, index = np.ones(len(n)), 0.0
    sums, sizes, errors = total.copy(), weighted.copy(), lost.copy()
    while len(active):
        ratio = np.maximum(above - index, 0.0) / (below + index)
        term = term * ratio
        index += 1.0
        # Ratios fall, so the remaining terms add up to less than a geometric series.
        rest = term / (1.0 - ratio)
        done = rest <= _LEFT_OUT * sums
        if done.any():
            ended = active[done]
            total[ended], weighted[ended], lost[ended] = sums[done], sizes[done], errors[done]
            left[ended] = rest[done]
            going = ~done
            active, above, below, term = active[going], above[going], below[going], term[going]
            sums, sizes, errors = sums[going], sizes[going], errors[going]
        grown = sums + term
        errors = errors + ((sums - grown) + term)  # terms are at most as large as the sum
        sums = grown
        sizes = sizes + index * term
    total = total + lost
    relative = 2.0 * UNIT_ROUNDOFF * weighted / total + left / total
    return total, 1.01 * relative + 4.0 * UNIT_ROUNDOFF


def log10_power_of_two(exponent: Integers) -> Reals:
    """Return log10 of 2**exponent, shape (M,)."""
    return np.asarray(exponent * (LN2 / LN10), dtype=np.float64)
