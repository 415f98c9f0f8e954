"""F1 far out in its tail, with its p-value by a double sum of binomials: no code of the engine's."""

from __future__ import annotations

import functools
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from fractions import Fraction
from random import Random

import numpy as np
from numpy.typing import NDArray

LongReals = NDArray[np.longdouble]
Counts = NDArray[np.int64]


@dataclass(frozen=True)
class Deep:
    """`flips` items that one system has right and the other wrong, `won` of them by U; `beside` items that both have
    right, where one has an error more, `against` of them U.

    U's sums are those of two independent binomials, so that the null is known in closed form, and of rank two.
    """

    flips: int
    won: int
    beside: int
    against: int
    side: str

    def counts(self) -> tuple[dict[str, Counts], dict[str, Counts]]:
        """tp and incorrect of every item, of U and of V."""
        won, lost = self.won, self.flips - self.won
        u_tp = np.repeat([1, 0, 1, 1], [won, lost, self.against, self.beside - self.against])
        v_tp = np.repeat([0, 1, 1, 1], [won, lost, self.against, self.beside - self.against])
        u_wrong = np.repeat([0, 2, 1, 0], [won, lost, self.against, self.beside - self.against])
        v_wrong = np.repeat([2, 0, 0, 1], [won, lost, self.against, self.beside - self.against])
        return ({"tp": u_tp, "incorrect": u_wrong}, {"tp": v_tp, "incorrect": v_wrong})

    def log10_p(self) -> float:
        """log10 of the p-value, right to some 1e-12."""
        upper, lower = log_tails(self.flips)
        log_against = log_binomial(self.beside)
        observed = self._difference(self.won, self.against)
        parts = [np.longdouble(-np.inf)]
        for against in range(self.beside + 1):
            # The difference of the F1 grows with `won`: both tails begin where exact fractions say.
            at_least, at_most = self._tails(against, observed)
            if at_least <= self.flips:
                parts.append(upper[at_least] + log_against[against])
            if at_most >= 0:
                parts.append(lower[at_most] + log_against[against])
        logs = np.array(parts)
        peak = logs.max()
        return float((peak + np.log(np.exp(logs - peak).sum())) / np.log(np.longdouble(10)))

    def _tails(self, against: int, observed: Fraction) -> tuple[int, int]:
        """The least `won` of the upper tail and the largest of the lower; flips + 1 and -1 where there is none."""
        every = range(self.flips + 1)
        aim = abs(observed) if self.side == "two-sided" else observed
        at_least, at_most = self.flips + 1, -1
        if self.side != "less":
            at_least = bisect_left(every, aim, key=lambda won: self._difference(won, against))
        if self.side != "greater":
            below = -aim if self.side == "two-sided" else aim
            at_most = bisect_right(every, below, key=lambda won: self._difference(won, against)) - 1
        return at_least, min(at_most, at_least - 1)

    def _difference(self, won: int, against: int) -> Fraction:
        """F1 of U less F1 of V."""
        top_u, top_v = 2 * (won + self.beside), 2 * (self.flips - won + self.beside)
        below_u = top_u + 2 * (self.flips - won) + against
        return Fraction(top_u, below_u) - Fraction(top_v, top_v + 2 * won + self.beside - against)


@functools.lru_cache(maxsize=8)
def log_binomial(n: int) -> LongReals:
    """log of the masses of Binomial(n, 1/2), in 64 bits of mantissa."""
    factorials = np.concatenate(
        ([np.longdouble(0)], np.cumsum(np.log(np.arange(1, n + 1, dtype=np.longdouble))))
    )
    k = np.arange(n + 1)
    return np.asarray(factorials[n] - factorials[k] - factorials[n - k] - n * np.log(np.longdouble(2)))


@functools.lru_cache(maxsize=8)
def log_tails(n: int) -> tuple[LongReals, LongReals]:
    """log P(X >= k) and log P(X <= k) of Binomial(n, 1/2) for k = 0 .. n."""
    masses = log_binomial(n)
    upper = np.logaddexp.accumulate(masses[::-1])[::-1]
    return np.asarray(upper), np.asarray(np.logaddexp.accumulate(masses))


def deep_case(random: Random) -> Deep:
    """Of 2,000 to 100,000 items, with p from 1e-20 to about 1e-5000 (and now and then 1e-20000)."""
    flips = int(10 ** random.uniform(3.3, 5.0))
    beside = random.choice([1, 7, 60, 400, min(flips // 4, 2000)])
    decades = 10 ** random.uniform(1.3, 3.7)
    # A deviation of d standard ones has a tail of about exp(-d^2 / 2).
    away = min((decades * 2.302585 * 2.0) ** 0.5 * flips**0.5 / 2.0, flips / 2.0)
    if random.random() < 0.1:
        away = flips / 2.0 - random.randint(0, 20)
    won = round(flips / 2.0 + away)
    if random.random() < 0.3:
        won = flips - won
    against = random.randint(0, beside)
    side = random.choice(["two-sided", "two-sided", "greater" if 2 * won > flips else "less"])
    return Deep(flips, won, beside, against, side)
