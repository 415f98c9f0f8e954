"""The exact p-values of right or wrong: the null of n items that differ is Binomial(n, 1/2), whatever the items."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from ...engine.binomial_tails import exact_tail, exact_tails
from ...engine.lattice import Integers

# With more items that differ, a list of all attainable p-values takes too much memory: they are searched for.
_MOST_LISTED = 2_000


@dataclass(frozen=True, slots=True)
class BinomialValues:
    """`PairTests.fraction`, `attained`, `support` and `null_key` of tests with `n` items that differ, shape (m,).

    At least `heads` of n heads are as extreme as what was observed; `two_sided` doubles their probability. `known` are
    p-values that were asked for. A fraction that would take more than `most_work` is not given: work is the number of
    binomial coefficients that are added, times their bits.
    """

    n: Integers
    heads: Integers
    two_sided: bool
    most_work: float = math.inf
    known: dict[tuple[int, int], Fraction] = field(default_factory=dict, compare=False, repr=False)

    def fraction(self, test: int) -> Fraction | None:
        """The exact p-value of one test, None where it would take long."""
        n, heads = int(self.n[test]), int(self.heads[test])
        coefficients = min(n - heads, heads - 1) + 1
        return self._p(n, heads) if coefficients * n <= self.most_work else None

    def null_key(self, test: int) -> Hashable:
        """The same for tests with the same null distribution."""
        return "binomial", int(self.n[test]), self.two_sided

    def support(self, test: int) -> Sequence[Fraction] | None:
        """All attainable p-values, ascending; None where they are too many."""
        n = int(self.n[test])
        if n > _MOST_LISTED:
            return None
        tails = exact_tails(n)
        if not self.two_sided:
            return [Fraction(tail, 1 << n) for tail in tails]
        below = [Fraction(2 * tail, 1 << n) for tail in tails[: (n + 1) // 2]]
        return below if n % 2 else [*below, Fraction(1)]

    def attained(self, test: int, x: Fraction) -> Fraction:
        """The largest attainable p-value that is at most x, 0 if there is none."""
        n = int(self.n[test])
        if x >= 1:
            return Fraction(1)
        least = n // 2 + 1 if self.two_sided else 0
        # The first number of heads whose p-value is at most x: p falls with it.
        at = bisect_left(range(least, n + 1), -x, key=lambda heads: -self._p(n, heads)) + least
        return self._p(n, at) if at <= n else Fraction(0)

    def _p(self, n: int, heads: int) -> Fraction:
        value = self.known.get((n, heads))
        if value is None:
            tail = exact_tail(n, heads)
            value = min(Fraction(tail << int(self.two_sided), 1 << n), Fraction(1))
            self.known[n, heads] = value
        return value
