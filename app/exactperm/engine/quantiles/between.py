"""P(Q_U - Q_V >= d) where a quantile lies between two values and every item swaps alone: sums over three binomials.

See section 17 of the README. The 2 n values have places in one order, ties in any; an item's coin gives U one of its
places.
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

# The largest share of the answer that may be omitted.
_LEFT_OUT = 2e-7
# Fitted nanoseconds of a visited place; of a likely place of V's k-th value, at most, and per other likely place.
_LOOKED, _PLACE, _PLACES = 200_000.0, 3_500_000.0, 30_000.0
# A place is likely if its log probability is within this of the largest.
_LIKELY = 18.0
# With more items than _LONGEST, longer runs of places between two values of one system are omitted, and so are places
# where the k-th value has a log probability below _UNLIKELY.
_LONGEST, _UNLIKELY = 128, -90.0
# (flips of both counts, of the first, of the second; the two required sums; whether the second sum may be less)
Sum = tuple[int, int, int, int, int, bool]


class Between:
    """The event {Q_U - Q_V >= distance}, distance >= 1 in parts, as disjoint events; `form.share` is not zero."""

    def __init__(self, form: QuantileForm, distance: int) -> None:
        self._form, self._distance = form, distance
        ranks = np.concatenate([form.ranks_u, form.ranks_v])
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
        # Numbers of items with both places below a cut, and with one.
        self._both, self._straddling = below_high, below_low - below_high
        # Lists, for reading one by one.
        self._of_both, self._of_one = self._both.tolist(), self._straddling.tolist()
        self._lows, self._highs = self._low.tolist(), self._high.tolist()
        self._rows = BinomialRows(n)
        self._known: dict[Sum, tuple[float, int]] = {}
        self._numerator, self._denominator = form.share.numerator, form.share.denominator

    @cached_property
    def pairs(self) -> tuple[Integers, Integers, Reals]:
        """The places of V's two values, and the log of a bound on each probability, shape (m,), likely ones first."""
        n = self._form.items
        straddling = self._straddling[: 2 * n]
        need = np.arange(2 * n) - (self._form.place - 1) - self._both[: 2 * n]
        likely = self._log_places() > (-math.inf if self.whole else _UNLIKELY)
        listed: list[tuple[int, int, int, int, int]] = []
        for b in np.flatnonzero(likely).tolist():
            listed += self._ends(b, int(straddling[b]), int(need[b]))
        if not listed:
            return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), np.empty(0)
        first, second, fixed, free, ones = np.array(listed).T
        bounds = np.minimum(
            _log_share(free, ones) - LN2 * fixed, self._log_beyond(first.tolist(), second.tolist())
        )
        order = np.argsort(-bounds, kind="stable")
        order = order[bounds[order] > -math.inf]
        return first[order], second[order], bounds[order]

    def _ends(self, b: int, free: int, need: int) -> list[tuple[int, int, int, int, int]]:
        """List (b, c, fixed coins, free coins of items with one place below b, those of U), V at b and c, U between."""
        listed = []
        between: set[int] = set()
        count = 1
        if self._mate[b] < b:
            free, need = free - 1, need - 1
        for c in range(b + 1, min(2 * self._form.items, b + 2 + _LONGEST)):
            mate = self._mate[c]
            if mate == b:  # U has c, as V has b
                continue
            if mate in between:
                listed.append((b, c, count, free, need))
                break
            below = mate < b
            listed.append((b, c, count + 1, free - below, need - below))
            between.add(c)
            count, free = count + 1, free - below
        return listed

    def _log_beyond(self, first: list[int], second: list[int]) -> Reals:
        """Return the log of a bound on P(Q_U is large enough), at most k of U below (Hoeffding 1963, theorem 2)."""
        k = self._form.place
        logs = np.empty(len(first))
        for at, (b, c) in enumerate(zip(first, second, strict=True)):
            cut = self._start(self._wanted(b, c))
            straddling = int(self._straddling[cut])
            beyond = int(self._both[cut]) + straddling / 2.0 - k
            span = cut - b
            between = span / 2.0 - (2 * k - b - 1)
            logs[at] = min(
                -2.0 * max(beyond, 0.0) ** 2 / max(straddling, 1)
                if beyond <= straddling / 2.0
                else -math.inf,
                -2.0 * max(between, 0.0) ** 2 / max(span, 1),
            )
        return logs

    def _wanted(self, b: int, c: int) -> int:
        """Return the least Q_U, in parts."""
        low, high = self._values[b], self._values[c]
        return low * (self._denominator - self._numerator) + high * self._numerator + self._distance

    def _start(self, least: int) -> int:
        """Return the first place of a value that is large enough alone."""
        return bisect_left(self._values, -(-least // self._denominator))

    def sums(self, b: int, c: int, negligible: float = 0.0) -> Iterator[tuple[int, Sum]]:
        """Yield (fixed coins, sum over free coins) of each event of U with V at the places b and c.

        The last pair may be (-1, the omitted part), of at most the probability `negligible`.
        """
        fixed = {self._item[b]: self._mate[b], self._item[c]: self._mate[c]}
        for p in range(b + 1, c):
            fixed.setdefault(self._item[p], p)
        need = b - (self._form.place - 1)
        least = self._wanted(b, c)
        start = self._start(least)
        yield self._sum(fixed, b, need, start, at_most=True)
        # U's k-th value is lower, at the place a, and U has none before the place where the next is large enough.
        end, share = start, self._denominator - self._numerator
        for a in range(start - 1, -1, -1):
            target = -(-(least - share * self._values[a]) // self._numerator)
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
        first, second = self._of_one[b] - both, self._of_one[cut] - both
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
                first -= 1
            elif at_cut:
                second -= 1
        return len(fixed), (both, first, second, s, r, at_most)

    def _crossing(self, low_cut: int, high_cut: int) -> int:
        """Count the items with one place below both cuts and one above."""
        crossing = self._crossings.get((low_cut, high_cut))
        if crossing is None:
            crossing = int(np.count_nonzero((self._low < low_cut) & (self._high >= high_cut)))
            self._crossings[low_cut, high_cut] = crossing
        return crossing

    @cached_property
    def _crossings(self) -> dict[tuple[int, int], int]:
        return {}

    def chance(self, terms: Sum) -> tuple[float, int]:
        """Return P(X + Y = s, X + Z = r or <= r) as a mantissa and an exponent, X, Y, Z binomial with these flips."""
        known = self._known.get(terms)
        if known is None:
            if len(self._known) >= 1 << 20:
                self._known.clear()
            known = self._known[terms] = self._chance(terms)
        return known

    def _chance(self, terms: Sum) -> tuple[float, int]:
        both, first, second, s, r, at_most = terms
        low, high = max(0, s - first, 0 if at_most else r - second), min(both, s, r)
        if low > high:
            return 0.0, 0
        j = np.arange(low, high + 1)
        numbers, exponents = self._rows.chances_at(both, j)
        parts = [self._rows.chances_at(first, s - j)]
        if at_most:
            tails = self._rows.tails(second)
            at = np.minimum(r - j, second)
            parts.append((tails[0][at], tails[1][at]))
        else:
            parts.append(self._rows.chances_at(second, r - j))
        for mantissas, powers in parts:
            numbers, exponents = numbers * mantissas, exponents + powers
        return summed(numbers, exponents)

    def count(self, terms: Sum) -> int:
        """Return `chance` times 2 to the number of flips, an integer."""
        both, first, second, s, r, at_most = terms
        total = 0
        for j in range(max(0, s - first, 0 if at_most else r - second), min(both, s, r) + 1):
            last = (
                math.comb(second, r - j)
                if not at_most
                else sum(math.comb(second, i) for i in range(min(r - j, second) + 1))
            )
            total += math.comb(both, j) * math.comb(first, s - j) * last
        return total

    def price(self) -> tuple[float, float]:
        """Predict the nanoseconds of `probability` and `fraction` from the likely places of V's k-th value."""
        chances = self._log_places()
        most = float(chances.max())
        likely = int(np.count_nonzero(chances > most - _LIKELY))
        looked = int(np.count_nonzero(chances > _UNLIKELY))
        fixed = _LOOKED * looked + 1e3 * self._form.items
        return fixed + min(_PLACE, _PLACES * likely) * likely, fixed + min(
            _PLACE, _PLACES * likely
        ) * likely / 3.0

    def _log_places(self) -> Reals:
        """Return, for each place, log P(U has as many values below it as when V's k-th value is there)."""
        places = np.arange(2 * self._form.items)
        need = places - (self._form.place - 1) - self._both[:-1]
        return _log_share(self._straddling[:-1], need)

    @property
    def whole(self) -> bool:
        """Whether no pair of places is omitted."""
        return self._form.items <= _LONGEST

    def probability(self) -> Probability:
        """Add the probabilities of all events, likely ones first; the others are bounded."""
        first, second, bounds = self.pairs
        left = bounds + np.log(np.arange(len(first), 0, -1)) + 1e-9
        total, base, lost = 0.0, 0, 0.0
        for at, (b, c) in enumerate(zip(first.tolist(), second.tolist(), strict=True)):
            log_total = math.log(total) + base * LN2 if total else -math.inf
            if left[at] < log_total + math.log(_LEFT_OUT / 2.0):
                lost += math.exp(max(min(float(left[at]) - log_total, 0.0), -700.0))
                break
            negligible = (
                math.exp(max(log_total + math.log(_LEFT_OUT / 4.0 / len(first)), -700.0)) if total else 0.0
            )
            for fixed, terms in self.sums(b, c, negligible):
                if fixed < 0:
                    lost += math.exp(max(min(-LN2 * terms[3] - log_total, 0.0), -700.0))
                    continue
                mantissa, exponent = self.chance(terms)
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
        """Return the probability as numerator / 2**items."""
        first, second, _ = self.pairs
        total, items = 0, self._form.items
        for b, c in zip(first.tolist(), second.tolist(), strict=True):
            for fixed, terms in self.sums(b, c):
                total += self.count(terms) << (items - fixed - sum(terms[:3]))
        return from_fraction(total, items) if total else IMPOSSIBLE


def _log_share(flips: Integers, ones: Integers) -> Reals:
    """Return log P(`ones` of the flips are ones), with an error up to 1e-6; -inf where impossible."""
    possible = (ones >= 0) & (ones <= flips)
    ones = np.clip(ones, 0, np.maximum(flips, 0))
    ways = gammaln(flips + 1.0) - gammaln(ones + 1.0) - gammaln(flips - ones + 1.0)
    return np.where(possible, ways - LN2 * flips + 1e-6, -math.inf)
