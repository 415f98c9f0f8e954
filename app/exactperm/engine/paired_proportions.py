"""Tango's score test and interval for two proportions of the same items, and Clopper & Pearson's interval.

Of `items` pairs, U alone is right on `only_u` (b) and V alone on `only_v` (c); p_u - p_v is the difference of the
probabilities of the two. Asymptotic: the score statistic is compared with a standard normal.
"""

from __future__ import annotations

import math

from scipy import special

# Enough halvings of [-1, 1] to reach neighbouring doubles, unless an end is very near zero.
_HALVINGS = 120


def tango_test(only_u: int, only_v: int, items: int, difference: float) -> float:
    """Return the score statistic z of the hypothesis p_u - p_v = `difference`; positive if the observed one is larger.

    z = (b - c - n delta) / sqrt(n (2 q + delta (1 - delta))), q the maximum-likelihood estimate of V's discordant
    probability under the hypothesis (Tango 1998, *Statistics in Medicine* 17:891-908). At zero it is McNemar's (b - c)
    / sqrt(b + c), and 0 without discordant pairs. Infinite at a difference of -1 or 1 that was not observed.

    Raises
    ------
        ValueError: if the counts do not fit `items`, or the difference lies outside [-1, 1].
    """
    _require_counts(only_u, only_v, items)
    if not -1.0 <= difference <= 1.0:
        raise ValueError("a difference of proportions lies between -1 and 1")
    if difference < 0.0:
        return -_score(only_v, only_u, items, -difference)
    return _score(only_u, only_v, items, difference)


def restricted_estimate(only_u: int, only_v: int, items: int, difference: float) -> float:
    """Return the maximum-likelihood probability that V alone is right, under p_u - p_v = `difference` >= 0.

    It is the nonnegative root of 2 n q**2 + B q - c delta (1 - delta) = 0, B = (2 n - b + c) delta - b - c, where the
    derivative of b log(q + delta) + c log q + (n - b - c) log(1 - 2 q - delta) vanishes.
    """
    square, linear = 2.0 * items, (2 * items - only_u + only_v) * difference - (only_u + only_v)
    constant = only_v * difference * (1.0 - difference)
    root = math.sqrt(linear * linear + 4.0 * square * constant)
    # Of the two forms of the root, the one in which nothing cancels.
    if linear > 0.0:
        return 2.0 * constant / (linear + root)
    return (root - linear) / (2.0 * square)


def _score(only_u: int, only_v: int, items: int, difference: float) -> float:
    excess = only_u - only_v - items * difference
    if excess == 0.0:
        return 0.0
    estimate = restricted_estimate(only_u, only_v, items, difference)
    variance = items * (2.0 * estimate + difference * (1.0 - difference))
    return excess / math.sqrt(variance) if variance > 0.0 else math.copysign(math.inf, excess)


def tango_interval(only_u: int, only_v: int, items: int, level: float) -> tuple[float, float]:
    """Return the ends of the p_u - p_v that the two-sided score test at 1 - `level` does not reject (Tango 1998).

    The statistic falls as the hypothesised difference grows, so each end is a single root: bisected to neighbouring
    doubles and rounded inwards. Raises ValueError as `tango_test` does, and for a level outside (0, 1).
    """
    _require_counts(only_u, only_v, items)
    critical = -float(special.ndtri(_half_of_the_rest(level)))
    return (_lower_end(only_u, only_v, items, critical), -_lower_end(only_v, only_u, items, critical) + 0.0)


def _lower_end(only_u: int, only_v: int, items: int, critical: float) -> float:
    """Return the smallest difference with z <= critical."""
    rejected, kept = -1.0, (only_u - only_v) / items
    if tango_test(only_u, only_v, items, rejected) <= critical:
        return rejected
    for _ in range(_HALVINGS):
        middle = 0.5 * (rejected + kept)
        if middle in {rejected, kept}:
            break
        if tango_test(only_u, only_v, items, middle) <= critical:
            kept = middle
        else:
            rejected = middle
    return kept


def clopper_pearson(successes: int, trials: int, level: float) -> tuple[float, float]:
    """Return the exact interval of a binomial proportion, each tail at most (1 - `level`) / 2 (Clopper & Pearson 1934).

    (0, 1) without trials. Raises ValueError for a level outside (0, 1) or successes outside 0..trials.
    """
    if not 0 <= successes <= trials:
        raise ValueError("successes are between zero and the trials")
    tail = _half_of_the_rest(level)
    failures = trials - successes
    low = float(special.betaincinv(successes, failures + 1, tail)) if successes else 0.0
    high = float(special.betainccinv(successes + 1, failures, tail)) if failures else 1.0
    return low, high


def _half_of_the_rest(level: float) -> float:
    if not 0.0 < level < 1.0:
        raise ValueError("a confidence level lies between 0 and 1")
    return 0.5 * (1.0 - level)


def _require_counts(only_u: int, only_v: int, items: int) -> None:
    if items < 1 or only_u < 0 or only_v < 0 or only_u + only_v > items:
        raise ValueError("discordant counts must be nonnegative, with a sum of at most items > 0")
