"""All attainable p-values of sums on a small lattice: what `holm_discrete` asks for."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import accumulate

import numpy as np

from ...engine.lattice import CanonicalForm
from ...engine.one_sum import rational

# Distinct weights and their counts: what a null distribution depends on.
Null = tuple[tuple[int, ...], tuple[int, ...]]


def null_of(form: CanonicalForm) -> Null:
    """The null of a canonical form whose sum is symmetric about 0."""
    return tuple(form.weights.tolist()), tuple(form.counts.tolist())


@dataclass(frozen=True, slots=True)
class SumValues:
    """`PairTests.attained`, `support` and `null_key` of tests with these nulls; `known` are supports that were asked for."""

    nulls: tuple[Null, ...]
    two_sided: bool
    known: dict[Null, list[Fraction]] = field(default_factory=dict, compare=False, repr=False)

    def null_key(self, test: int) -> Hashable:
        """The same for tests with the same null distribution."""
        return self.nulls[test], self.two_sided

    def support(self, test: int) -> Sequence[Fraction]:
        """All attainable p-values, ascending."""
        null = self.nulls[test]
        values = self.known.get(null)
        if values is None:
            values = self.known[null] = _attainable(null, two_sided=self.two_sided)
        return values

    def attained(self, test: int, x: Fraction) -> Fraction:
        """The largest attainable p-value that is at most x, 0 if there is none."""
        values = self.support(test)
        below = bisect_right(values, x)
        return values[below - 1] if below else Fraction(0)


def _attainable(null: Null, *, two_sided: bool) -> list[Fraction]:
    """P(T <= t) for all t that T has; or twice that for those below the middle, and 1 for the middle."""
    weights, counts = (np.array(part, dtype=np.int64) for part in null)
    form = CanonicalForm(0, 1, weights, counts, int(counts.sum()))
    ways = [int(number) for number in rational.counting_polynomial(form).coeffs()]
    bits, values = form.nonzero, []
    for t, (number, total) in enumerate(zip(ways, accumulate(ways), strict=True)):
        if number == 0:
            continue
        if not two_sided:
            values.append(Fraction(total, 1 << bits))
        elif 2 * t < form.range:
            values.append(Fraction(2 * total, 1 << bits))
        elif 2 * t == form.range:
            values.append(Fraction(1))
    return values
