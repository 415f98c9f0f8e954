"""Power of the exact paired test of right or wrong (McNemar's), before seeing any item.

U alone is right on an item with probability p10, V alone with p01; other items carry no evidence. Of n items K ~ Bin(n,
psi) are discordant, psi = p10 + p01, and given K = k the wins of U are B ~ Bin(k, theta), theta = p10 / psi. The test
rejects where B <= c_k or B >= k - c_k, c_k the largest c with 2 P(Bin(k, 1/2) <= c) <= alpha (one-sided: one of both,
without the factor), so that

    power(n) = sum_k Bin(k; n, psi) g(k),   g(k) = P(B <= c_k) + P(B >= k - c_k)

(Connor 1987, *Biometrics* 43:207-211; Lachin 1992, *Statistics in Medicine* 11:1239-1251: the exact unconditional
power). With theta = 1/2 the same sum is the true level of the test.

Power is a saw-tooth in n, as the c_k are integers. Two monotone envelopes bound where it can cross a level: the
randomised test of level a is uniformly most powerful unbiased (Lehmann & Romano 2005, section 4.4 to 4.7), and more
items cannot hurt it, as it may ignore one; so its power R_a(n) grows with n. Given k, the exact test is the randomised
test of its level a_k <= alpha: R_a(n) - P(K < m) <= power(n) <= R_alpha(n) for a = min a_k over k >= m.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

import numpy as np
from scipy import special

from ..binomial_tails import exact_tail
from ..lattice import Integers, Reals
from ..probability import Alternative
from ..root import root
from ..tilting import bernstein_reach

# Mass of K omitted from a sum on either side, and the error of its doubles.
_OUTSIDE = 1e-15
ROUNDING = 1e-11
# Levels nearer to alpha than this are compared in integers.
_NEAR = 1e-9
# Levels below this are too far out for the normal approximation.
_FAR_OUT = 1e-6
# Levels are computed for at least _COMPUTED discordant items, and for four times the requested number up to this.
_COMPUTED = 4_096
_MOST_COMPUTED = 65_536


def critical_counts(flips: Integers, level: float) -> Integers:
    """Return the largest c with P(Bin(k, 1/2) <= c) <= `level` < 1/2, -1 where there is none; shape (M,) of k to (M,).

    Comparisons are exact: 1/16 meets a level of 0.0625.
    """
    flips = np.asarray(flips, dtype=np.int64)
    # The normal approximation is off by a few at most; counts that move are tried again.
    near = 0.5 * (flips + float(special.ndtri(level)) * np.sqrt(flips) - 1.0)
    counts = np.clip(np.floor(near).astype(np.int64), -1, flips)
    if level < _FAR_OUT:
        counts = _bisect(flips, level)
    left = np.arange(len(flips))
    while len(left):
        left = left[(counts[left] >= 0) & _above(counts[left], flips[left], level)]
        counts[left] -= 1
    left = np.arange(len(flips))
    while len(left):
        left = left[~_above(counts[left] + 1, flips[left], level)]
        counts[left] += 1
    return counts


def _bisect(flips: Integers, level: float) -> Integers:
    """Bisect in doubles, because the normal approximation fails so far out."""
    low, high = np.full(len(flips), -1, dtype=np.int64), flips // 2 + 1
    while (high - low).max(initial=0) > 1:
        middle = (low + high) // 2
        above = lower_tail(middle, flips, 0.5) > level
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    return low


def _above(counts: Integers, flips: Integers, level: float) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Return whether P(Bin(k, 1/2) <= c) > level, exactly."""
    tails = lower_tail(counts, flips, 0.5)
    above = tails > level
    for at in np.flatnonzero(np.abs(tails - level) <= _NEAR * level).tolist():
        k, c = int(flips[at]), int(counts[at])
        above[at] = c >= 0 and Fraction(exact_tail(k, k - c), 1 << k) > Fraction(level)
    return np.asarray(above)


def lower_tail(counts: Integers, flips: Integers, chance: float) -> Reals:
    """Return P(Bin(k, chance) <= c), also for c < 0 and c >= k."""
    inside = np.clip(counts, 0, np.maximum(flips - 1, 0))
    tails = np.asarray(special.bdtr(inside.astype(np.float64), flips, chance), dtype=np.float64)
    return np.where(counts < 0, 0.0, np.where(counts >= flips, 1.0, tails))


@dataclass(frozen=True, eq=False)
class PairedBinary:
    """A design: the probabilities that only U, or only V, is right on an item, the level, and the alternative.

    Raises ValueError for negative probabilities, for psi = 0 or psi > 1, and for a level outside (0, 1/2].
    """

    p10: float
    p01: float
    alpha: float = 0.05
    alternative: Alternative = "two-sided"
    _known: dict[tuple[float, float, bool], tuple[int, Reals]] = field(default_factory=dict, repr=False)
    _levels: dict[int, Reals] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        if not (min(self.p10, self.p01) >= 0.0 and 0.0 < self.p10 + self.p01 <= 1.0 + 1e-12):
            raise ValueError("p10 and p01 are at least 0, and their sum is above 0 and at most 1")
        if not 0.0 < self.alpha <= 0.5:
            raise ValueError("alpha is above 0 and at most 0.5")

    @cached_property
    def discordant(self) -> float:
        """psi, the probability that exactly one system is right."""
        return min(self.p10 + self.p01, 1.0)

    @cached_property
    def theta(self) -> float:
        """The probability that this system is U."""
        return min(self.p10 / self.discordant, 1.0)

    @property
    def _tails(self) -> float:
        return 2.0 if self.alternative == "two-sided" else 1.0

    @property
    def _tail_level(self) -> float:
        return self.alpha / self._tails

    def power(self, items: int) -> float:
        """Return the probability that the test of `items` items rejects, to about 1e-11."""
        return self._expected(items, self.theta, self._tail_level, randomised=False)

    def level(self, items: int) -> float:
        """Return the probability, at most alpha, that the test rejects equally good systems."""
        return self._expected(items, 0.5, self._tail_level, randomised=False)

    def randomised_power(self, items: int, level: float) -> float:
        """Return R_level(items), the power of the randomised test, which grows with the items."""
        return self._expected(items, self.theta, level / self._tails, randomised=True)

    def least_level_from(self, flips: int) -> float:
        """Return a lower bound on all a_k, k >= `flips`, the levels of the test given k discordant items."""
        size = max(_COMPUTED, 1 << (4 * flips).bit_length())
        if size > _MOST_COMPUTED:
            return self._tail_level * (1.0 - _shortfall(flips, self._tail_level)) * self._tails
        if size not in self._levels:
            self._levels[size] = self._least_levels(size)
        return float(self._levels[size][flips])

    def _least_levels(self, size: int) -> Reals:
        """Compute `least_level_from` of 0, ..., size - 1."""
        flips = np.arange(size, dtype=np.int64)
        tails = lower_tail(critical_counts(flips, self._tail_level), flips, 0.5) * (1.0 - _NEAR)
        tails[-1] = min(tails[-1], self._tail_level * (1.0 - _shortfall(size, self._tail_level)))
        return np.maximum(np.minimum.accumulate(tails[::-1])[::-1], 0.0) * self._tails

    def critical_wins(self, items: int) -> int | None:
        """Return the least significant |wins - losses| at the expected number of discordant items; None without one."""
        flips = round(items * self.discordant)
        count = int(critical_counts(np.array([flips]), self._tail_level)[0])
        return None if count < 0 else flips - 2 * count

    def fewest_discordant(self, items: int) -> int:
        """Return m with P(K < m) below 1e-15."""
        return binomial_masses(items, self.discordant)[0]

    def _expected(self, items: int, chance: float, tail_level: float, *, randomised: bool) -> float:
        first, masses = binomial_masses(items, self.discordant)
        powers = self._kernel_values(first, first + len(masses), (chance, tail_level, randomised))
        return min(math.fsum((masses * powers).tolist()), 1.0)

    def _kernel_values(self, first: int, end: int, key: tuple[float, float, bool]) -> Reals:
        """Return g(first), ..., g(end - 1), caching neighbours as well, which the next call needs."""
        known = self._known.get(key)
        if known is None or not known[0] <= first <= end <= known[0] + len(known[1]):
            room = 0 if known is None else end - first
            start = max(first - room, 0)
            known = self._known[key] = start, self._conditional(start, end + room, *key)
        return known[1][first - known[0] : end - known[0]]

    def _conditional(self, first: int, end: int, chance: float, tail_level: float, randomised: bool) -> Reals:
        """Return the power given k discordant items, first <= k < end."""
        flips = np.arange(first, end, dtype=np.int64)
        counts = critical_counts(flips, tail_level)
        powers = np.zeros(len(flips))
        for alternative, wins in (("greater", 1.0 - chance), ("less", chance)):
            # P(B >= k - c) is P(k - B <= c), and k - B ~ Bin(k, 1 - theta).
            if self.alternative in {alternative, "two-sided"}:
                powers += lower_tail(counts, flips, wins)
                if randomised:
                    powers += _randomised_part(counts, flips, tail_level, wins)
        return np.minimum(powers, 1.0)


def binomial_masses(items: int, chance: float) -> tuple[int, Reals]:
    """Return the first value and the probabilities of Bin(items, chance) on a window of all but 1e-15 per side."""
    if chance >= 1.0 or items == 0:
        return items, np.ones(1)
    # Bernstein's inequality.
    odds = math.log(1.0 / _OUTSIDE)
    reach = bernstein_reach(odds, 1.0, items * chance * (1.0 - chance))
    first = max(math.floor(items * chance - reach), 0)
    last = min(math.ceil(items * chance + reach), items)
    k = np.arange(first, last + 1, dtype=np.float64)
    logs = (
        special.xlogy(k, chance)
        + special.xlog1py(items - k, -chance)
        - special.betaln(k + 1.0, items - k + 1.0)
    )
    # Only ratios count: dividing by the total removes the error of the scale.
    masses = np.exp(logs - logs.max())
    return first, masses / math.fsum(masses.tolist())


def _randomised_part(counts: Integers, flips: Integers, level: float, chance: float) -> Reals:
    """Return the extra power of the randomised test: P(Bin(k, chance) = c + 1) times the share that fits the level."""
    below, next_ = lower_tail(counts, flips, 0.5), lower_tail(counts + 1, flips, 0.5)
    part = np.clip((level - below) / np.maximum(next_ - below, np.finfo(float).tiny), 0.0, 1.0)
    return part * (lower_tail(counts + 1, flips, chance) - lower_tail(counts, flips, chance))


def _shortfall(flips: int, level: float) -> float:
    """Bound (level - P(B <= c_k)) / level for all k >= `flips`; the bound falls with k.

    With q = c_k + 1, P(B <= q) > level, so that q > k / 2 - sqrt(k ln(1 / level) / 2) (Hoeffding 1963). Of the terms
    below q each is at least rho times the one above it, rho = (q - L) / (k - q + 1 + L) for the first L of them, so
    that P(B <= q) >= s P(B = q), s = (1 - rho**L) / (1 - rho). The shortfall is less than P(B = q), which is at most
    P(B <= c_k) / (s - 1) <= level / (s - 1).
    """
    length = max(math.floor(0.3 * math.sqrt(flips)), 1)
    least = math.floor(flips / 2.0 - math.sqrt(0.5 * flips * math.log(1.0 / level))) - length
    if least <= 0:
        return 1.0
    ratio = least / (flips - least + 1.0)
    terms = (1.0 - ratio**length) / (1.0 - ratio)
    return min(1.0 / (terms - 1.0), 1.0) if terms > 1.0 else 1.0


# The sample size of a paired test of right or wrong, and the smallest difference it detects. `smallest` is the first n
# with the required power, `always` the first from which on every n has it; between the two, power goes up and down (its
# saw-tooth). The envelopes above prove both: every n that they leave open is computed.


# The largest number of items to search.
MOST_ITEMS = 1_000_000


class OutOfReachError(ValueError):
    """No number of items up to MOST_ITEMS, or no difference, reaches the required power."""


@dataclass(frozen=True, slots=True)
class SampleSize:
    """The first number of items with the power, and the first from which on every number has it."""

    smallest: int
    always: int


def sample_size(design: PairedBinary, power: float) -> SampleSize:
    """Return the items that `design` needs for `power`, above alpha and below 1, or raise OutOfReachError."""
    if design.p10 == design.p01:
        raise OutOfReachError("equal systems differ significantly only by chance, for any number of items")
    least = _first_true(lambda n: design.randomised_power(n, design.alpha) >= power - ROUNDING, 1)
    smallest = least
    while design.power(smallest) < power:
        smallest += 1
        if smallest > MOST_ITEMS:
            raise OutOfReachError(f"more than {MOST_ITEMS} items are needed")
    return SampleSize(smallest, _always(design, power, smallest))


def _always(design: PairedBinary, power: float, smallest: int) -> int:
    """Return the first number from which on all have the power, going down from where the lower envelope proves it."""
    proven, gap = smallest, max(smallest // 500, 1)
    while True:
        level = design.least_level_from(design.fewest_discordant(proven))
        if level > 0.0 and design.randomised_power(proven, level) - 2.0 * ROUNDING >= power:
            break
        proven, gap = proven + gap, 2 * gap
        if proven > 2 * MOST_ITEMS:
            raise OutOfReachError(f"more than {MOST_ITEMS} items are needed")
    while proven > smallest and design.power(proven - 1) >= power:
        proven -= 1
    return proven


def _first_true(holds: Callable[[int], bool], start: int) -> int:
    """Return the first number from `start` on for which `holds`, which stays true from there on."""
    low, high = start - 1, start
    while not holds(high):
        low, high = high, 2 * high
        if low > MOST_ITEMS:
            raise OutOfReachError(f"more than {MOST_ITEMS} items are needed")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def detectable_difference(
    discordant: float, items: int, power: float, *, alpha: float, alternative: Alternative
) -> float:
    """Return the true p10 - p01 >= 0 that a test of `items` items detects with `power`, p10 + p01 being `discordant`.

    For the alternative less it is p01 - p10. Raises OutOfReachError where even p01 = 0 has less power.
    """
    side: Alternative = "greater" if alternative == "less" else alternative

    def missing(difference: float) -> float:
        p10 = (discordant + difference) / 2.0
        return PairedBinary(p10, max(discordant - p10, 0.0), alpha, side).power(items) - power

    if missing(discordant) < 0.0:
        raise OutOfReachError(f"{items} items with so few discordant ones cannot have this power")
    if missing(0.0) >= 0.0:
        return 0.0
    return root(missing, 0.0, discordant, tolerance=1e-15)
