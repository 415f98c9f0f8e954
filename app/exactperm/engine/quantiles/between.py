"""P(Q_U - Q_V >= d) where a quantile lies between two values and every item swaps by itself: sums over three binomials.

See section 17 of the README. The 2 n values have places in one order, those that tie in any; the coin of an item says which of its two
places is U's.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator
from functools import cached_property

import numpy as np
from scipy.special import gammaln

from ..lattice import Integers, Reals
from ..probability import IMPOSSIBLE, LN2, UNIT_ROUNDOFF, Probability, from_fraction
from .binomial_rows import BinomialRows, summed
from .form import QuantileForm

# The largest part of the answer that may be left out.
_LEFT_OUT = 2e-7
# Fitted nanoseconds of a place that is looked at; of one where V's k-th value is likely to be, at the most, and for each other one.
_LOOKED, _PLACE, _PLACES = 200_000.0, 3_500_000.0, 30_000.0
# Places are likely whose chance is this near to the largest, as a logarithm.
_LIKELY = 18.0
# With more items than this, places between two values of one system are no more, and places where the logarithm of the chance that
# the k-th is there is below _UNLIKELY are left out.
_LONGEST, _UNLIKELY = 128, -90.0
# (flips of both counts, of the first, of the second; what they must add up to, and whether the second may be less)
Sum = tuple[int, int, int, int, int, bool]


class Between:
    """{Q_U - Q_V >= distance}, distance >= 1 in parts, as disjoint events; `form.share` is not zero."""

    def __init__(self, form: QuantileForm, distance: int) -> None:
        self._form, self._distance = form, distance
        ranks = np.concatenate([form.own, form.other])
        order = np.argsort(ranks, kind="stable")
        n = form.items
        place = np.empty(2 * n, dtype=np.int64)
        place[order] = np.arange(2 * n)
        self._values: list[int] = form.values[ranks[order]].tolist()
        self._item: list[int] = (order % n).tolist()
        self._mate: list[int] = place[(order + n) % (2 * n)].tolist()
        self._low, self._high = np.minimum(place[:n], place[n:]), np.maximum(place[:n], place[n:])
        below_low, below_high = (
            np.searchsorted(np.sort(x), np.arange(2 * n + 1)) for x in (self._low, self._high)
        )
        # Items with both places below a cut, and with one.
        self._both, self._straddling = below_high, below_low - below_high
        # As lists, which are read one by one.
        self._of_both, self._of_one = self._both.tolist(), self._straddling.tolist()
        self._lows, self._highs = self._low.tolist(), self._high.tolist()
        self._rows = BinomialRows(n)
        self._known: dict[Sum, tuple[float, int]] = {}
        self._numerator, self._denominator = form.share.numerator, form.share.denominator

    @cached_property
    def pairs(self) -> tuple[Integers, Integers, Reals]:
        """Places of V's two values, and the logarithm of a bound on the probability of each, shape (m,); likely ones first."""
        n = self._form.items
        straddling = self._straddling[: 2 * n]
        need = np.arange(2 * n) - (self._form.place - 1) - self._both[: 2 * n]
        likely = self._log_places() > (-math.inf if self.whole else _UNLIKELY)
        found: list[tuple[int, int, int, int, int]] = []
        for b in np.flatnonzero(likely).tolist():
            found += self._ends(b, int(straddling[b]), int(need[b]))
        if not found:
            return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), np.empty(0)
        first, second, fixed, free, ones = np.array(found).T
        bounds = np.minimum(
            _log_share(free, ones) - LN2 * fixed, self._log_beyond(first.tolist(), second.tolist())
        )
        order = np.argsort(-bounds, kind="stable")
        order = order[bounds[order] > -math.inf]
        return first[order], second[order], bounds[order]

    def _ends(self, b: int, free: int, need: int) -> list[tuple[int, int, int, int, int]]:
        """(b, c, fixed coins, free ones of items with one place below b, how many of these U has there) of V at b and c, U between."""
        found = []
        between: set[int] = set()
        count = 1
        if self._mate[b] < b:
            free, need = free - 1, need - 1
        for c in range(b + 1, min(2 * self._form.items, b + 2 + _LONGEST)):
            mate = self._mate[c]
            if mate == b:  # U's, as b is V's
                continue
            if mate in between:
                found.append((b, c, count, free, need))
                break
            below = mate < b
            found.append((b, c, count + 1, free - below, need - below))
            between.add(c)
            count, free = count + 1, free - below
        return found

    def _log_beyond(self, first: list[int], second: list[int]) -> Reals:
        """log of a bound on P(Q_U is large enough): at most k values of U below; Hoeffding 1963, theorem 2."""
        k = self._form.place
        found = np.empty(len(first))
        for at, (b, c) in enumerate(zip(first, second, strict=True)):
            cut = self._start(self._wanted(b, c))
            straddling = int(self._straddling[cut])
            beyond = int(self._both[cut]) + straddling / 2.0 - k
            span = cut - b
            between = span / 2.0 - (2 * k - b - 1)
            found[at] = min(
                -2.0 * max(beyond, 0.0) ** 2 / max(straddling, 1)
                if beyond <= straddling / 2.0
                else -math.inf,
                -2.0 * max(between, 0.0) ** 2 / max(span, 1),
            )
        return found

    def _wanted(self, b: int, c: int) -> int:
        """The least Q_U, in parts."""
        low, high = self._values[b], self._values[c]
        return low * (self._denominator - self._numerator) + high * self._numerator + self._distance

    def _start(self, wanted: int) -> int:
        """The first place of a value that is large enough by itself."""
        return bisect_left(self._values, -(-wanted // self._denominator))

    def sums(self, b: int, c: int, negligible: float = 0.0) -> Iterator[tuple[int, Sum]]:
        """(fixed coins, the sum over free ones) of each event of U beside V at the places b and c; -1 and what was left out last.

        What is left out has at most the probability `negligible`.
        """
        fixed = {self._item[b]: self._mate[b], self._item[c]: self._mate[c]}
        for p in range(b + 1, c):
            fixed.setdefault(self._item[p], p)
        need = b - (self._form.place - 1)
        wanted = self._wanted(b, c)
        start = self._start(wanted)
        yield self._sum(fixed, b, need, start, at_most=True)
        # U's k-th value is lower, at the place a, and no other value of U before the place from which on the next one is enough.
        end, share = start, self._denominator - self._numerator
        for a in range(start - 1, -1, -1):
            target = -(-(wanted - share * self._values[a]) // self._numerator)
            stop = bisect_left(self._values, target)
            if stop >= len(self._values):
                return
            for p in range(end, stop):
                if fixed.setdefault(self._item[p], self._mate[p]) != self._mate[p]:
                    return
            end = stop
            if 0.5 ** len(fixed) < negligible:
                yield -1, (0, 0, 0, len(fixed), 0, False)
                return
            item = self._item[a]
            if fixed.get(item, a) == a:
                known = item in fixed
                fixed[item] = a
                yield self._sum(fixed, b, need, a, at_most=False)
                if not known:
                    del fixed[item]
            if fixed.setdefault(item, self._mate[a]) != self._mate[a]:
                return

    def _sum(self, fixed: dict[int, int], b: int, need: int, cut: int, *, at_most: bool) -> tuple[int, Sum]:
        low_cut, high_cut = min(b, cut), max(b, cut)
        both = self._crossing(low_cut, high_cut)
        one, other = self._of_one[b] - both, self._of_one[cut] - both
        s, r = need - self._of_both[b], self._form.place - 1 - self._of_both[cut]
        lows, highs = self._lows, self._highs
        for item, place in fixed.items():
            low, high = lows[item], highs[item]
            at_b, at_cut = low < b <= high, low < cut <= high
            if at_b:
                s -= place < b
            if at_cut:
                r -= place < cut
            if at_b and at_cut:
                both -= 1
            elif at_b:
                one -= 1
            elif at_cut:
                other -= 1
        return len(fixed), (both, one, other, s, r, at_most)

    def _crossing(self, low_cut: int, high_cut: int) -> int:
        """Items with one place below both cuts, and one above."""
        found = self._crossings.get((low_cut, high_cut))
        if found is None:
            found = int(np.count_nonzero((self._low < low_cut) & (self._high >= high_cut)))
            self._crossings[low_cut, high_cut] = found
        return found

    @cached_property
    def _crossings(self) -> dict[tuple[int, int], int]:
        return {}

    def chance(self, asked: Sum) -> tuple[float, int]:
        """P(X + Y = s, X + Z = r or <= r) as a mantissa and an exponent, X, Y, Z binomial with these flips."""
        known = self._known.get(asked)
        if known is None:
            if len(self._known) >= 1 << 20:
                self._known.clear()
            known = self._known[asked] = self._chance(asked)
        return known

    def _chance(self, asked: Sum) -> tuple[float, int]:
        both, one, other, s, r, at_most = asked
        low, high = max(0, s - one, 0 if at_most else r - other), min(both, s, r)
        if low > high:
            return 0.0, 0
        j = np.arange(low, high + 1)
        numbers, exponents = self._rows.chances_at(both, j)
        parts = [self._rows.chances_at(one, s - j)]
        if at_most:
            tails = self._rows.tails(other)
            at = np.minimum(r - j, other)
            parts.append((tails[0][at], tails[1][at]))
        else:
            parts.append(self._rows.chances_at(other, r - j))
        for mantissas, powers in parts:
            numbers, exponents = numbers * mantissas, exponents + powers
        return summed(numbers, exponents)

    def count(self, asked: Sum) -> int:
        """The same times 2 to the number of flips."""
        both, one, other, s, r, at_most = asked
        total = 0
        for j in range(max(0, s - one, 0 if at_most else r - other), min(both, s, r) + 1):
            last = (
                math.comb(other, r - j)
                if not at_most
                else sum(math.comb(other, i) for i in range(min(r - j, other) + 1))
            )
            total += math.comb(both, j) * math.comb(one, s - j) * last
        return total

    def price(self) -> tuple[float, float]:
        """Nanoseconds of `probability` and of `fraction`, by the places where V's k-th value is likely to be."""
        chances = self._log_places()
        most = float(chances.max())
        likely = int(np.count_nonzero(chances > most - _LIKELY))
        looked = int(np.count_nonzero(chances > _UNLIKELY))
        fixed = _LOOKED * looked + 1e3 * self._form.items
        return fixed + min(_PLACE, _PLACES * likely) * likely, fixed + min(
            _PLACE, _PLACES * likely
        ) * likely / 3.0

    def _log_places(self) -> Reals:
        """log P(so many of U's values lie below each place as there are where the k-th of V is there)."""
        places = np.arange(2 * self._form.items)
        need = places - (self._form.place - 1) - self._both[:-1]
        return _log_share(self._straddling[:-1], need)

    @property
    def whole(self) -> bool:
        """Return whether no pair of places is left out."""
        return self._form.items <= _LONGEST

    def probability(self) -> Probability:
        """The probability of all events, likely ones first; the others are bounded."""
        first, second, bounds = self.pairs
        left = bounds + np.log(np.arange(len(first), 0, -1)) + 1e-9
        total, base, lost = 0.0, 0, 0.0
        for at, (b, c) in enumerate(zip(first.tolist(), second.tolist(), strict=True)):
            found = math.log(total) + base * LN2 if total else -math.inf
            if left[at] < found + math.log(_LEFT_OUT / 2.0):
                lost += math.exp(max(min(float(left[at]) - found, 0.0), -700.0))
                break
            negligible = (
                math.exp(max(found + math.log(_LEFT_OUT / 4.0 / len(first)), -700.0)) if total else 0.0
            )
            for fixed, asked in self.sums(b, c, negligible):
                if fixed < 0:
                    lost += math.exp(max(min(-LN2 * asked[3] - found, 0.0), -700.0))
                    continue
                mantissa, exponent = self.chance(asked)
                if mantissa:
                    exponent -= fixed
                    if not total or exponent > base + 900:
                        total, base = math.ldexp(total, max(base - exponent, -2000)), exponent
                    total += math.ldexp(mantissa, max(exponent - base, -2000))
        if not total:
            return IMPOSSIBLE
        log_p = math.log(total) + base * LN2
        if not self.whole:
            left_out = 2.0 * self._form.items * (2.0**-_LONGEST + math.exp(_UNLIKELY))
            lost += math.exp(max(min(math.log(left_out) - log_p, 0.0), -700.0))
        additions = 8.0 * len(first) * _LONGEST * UNIT_ROUNDOFF
        rounding = 2.0 * UNIT_ROUNDOFF * (2.0 + abs(log_p))
        return Probability(
            min(log_p, 0.0), 1.01 * (self._rows.error(self._form.items) + additions + lost) + rounding
        )

    def fraction(self) -> Probability:
        """The same as numerator / 2**items."""
        first, second, _ = self.pairs
        total, items = 0, self._form.items
        for b, c in zip(first.tolist(), second.tolist(), strict=True):
            for fixed, asked in self.sums(b, c):
                total += self.count(asked) << (items - fixed - sum(asked[:3]))
        return from_fraction(total, items) if total else IMPOSSIBLE


def _log_share(flips: Integers, ones: Integers) -> Reals:
    """log P(so many of these flips are ones), at most 1e-6 too large or too small; -inf where that cannot be."""
    possible = (ones >= 0) & (ones <= flips)
    ones = np.clip(ones, 0, np.maximum(flips, 0))
    ways = gammaln(flips + 1.0) - gammaln(ones + 1.0) - gammaln(flips - ones + 1.0)
    return np.where(possible, ways - LN2 * flips + 1e-6, -math.inf)
