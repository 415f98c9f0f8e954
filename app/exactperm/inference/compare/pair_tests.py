"""The tests of the pairs of one board before they are adjusted, as columns: a board may have 250,000."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...answers.test import ExactFraction
from ...engine.binomial_tails import exact_tail, exact_tails
from ...engine.lattice import CanonicalForm, Integers, Reals
from ...engine.one_sum.rational import tails
from ...engine.probability import SMALLEST
from ..certificate import Answer

Flags = NDArray[np.bool_]

# Exact properties of many tests, as data: tests are pickled between processes


@dataclass(frozen=True, slots=True)
class Listed:
    """Fractions that came with the answers, None where there was none."""

    values: tuple[ExactFraction | None, ...]

    def __call__(self, test: int) -> Fraction | None:
        """The exact p-value of one test."""
        value = self.values[test]
        return None if value is None else value.value


@dataclass(frozen=True, slots=True)
class Joined:
    """A function of consecutive runs of tests; `starts` are the positions of their first ones.

    Of runs with the same start all but the last are empty.
    """

    parts: tuple[Callable[..., Any], ...]
    starts: tuple[int, ...]

    def __call__(self, test: int, *rest: Any) -> Any:
        """The answer of the test's run."""
        part = bisect_right(self.starts, test) - 1
        return self.parts[part](test - self.starts[part], *rest)


# All attainable p-values of sums on a small lattice, for `holm_discrete`


# Distinct weights and their counts, which determine a null distribution.
Null = tuple[tuple[int, ...], tuple[int, ...]]


def null_of(form: CanonicalForm) -> Null:
    """The null of a canonical form whose sum is symmetric about 0."""
    return tuple(form.weights.tolist()), tuple(form.counts.tolist())


@dataclass(frozen=True, slots=True)
class SumValues:
    """`PairTests.attained`, `support` and `null_key` of tests with these nulls; `known` caches supports."""

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
    return [Fraction(ways, 1 << form.nonzero) for ways in dict.fromkeys(tails(form, two_sided=two_sided))]


# Exact p-values of right or wrong: the null of n items that differ is Binomial(n, 1/2)


# With more items that differ, a list of all attainable p-values takes too much memory: they are searched for.
_MOST_LISTED = 2_000


@dataclass(frozen=True, slots=True)
class BinomialValues:
    """`PairTests.fraction`, `attained`, `support` and `null_key` of tests with `n` items that differ, shape (m,).

    At least `heads` of n heads are as extreme as the observed value; `two_sided` doubles their probability. `known` are p-values that were
    asked for. A fraction that would take more than `most_work` is not given: work is the number of binomial coefficients that are added,
    times their bits.
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


# Tests one by one, and parts of them, as the columns of `PairTests`


# Rounding of a logarithm and of its argument.
_LOGARITHM_ROUNDING = 2.0**-51


@dataclass(frozen=True, slots=True)
class PairTest:
    """One test, as `PairTests` has it in columns."""

    u: int
    v: int
    n: int
    wins: int
    ties: int
    losses: int
    difference: float
    sign: int
    p: float
    p_low: float
    p_high: float
    log10_p: float
    log10_low: float
    log10_high: float
    attainable: float
    method: str
    exact: bool
    sampled: bool
    fraction: ExactFraction | None
    notes: tuple[tuple[str, str], ...] = ()
    null: Null | None = None


def pair_test(
    pair: tuple[int, int],
    counts: tuple[int, int, int, int],
    observed: tuple[float, int],
    answer: Answer,
    attainable: float,
    by: tuple[str, bool],
    *,
    lower_is_better: bool,
    notes: tuple[tuple[str, str], ...] = (),
    null: Null | None = None,
) -> PairTest:
    """One test from its answer.

    `counts` are the items, and the units on which the statistic is more with u, the same, and less; `observed` its value
    and its sign; `attainable` as in `PairTests`; `by` the method, and whether its p-value is exact.
    """
    n, more, ties, less = counts
    wins, losses = (less, more) if lower_is_better else (more, less)
    value, sign = observed
    low, high = log10_bounds(answer)
    return PairTest(
        *pair,
        *(n, wins, ties, losses),
        *(value, -sign if lower_is_better else sign),
        *(answer.p_value, *answer.bounds),
        *(answer.log10_p_value, low, high),
        attainable,
        *by,
        sampled=answer.monte_carlo is not None,
        fraction=answer.fraction,
        notes=notes,
        null=null,
    )


def from_rows(rows: Sequence[PairTest], *, two_sided: bool = True) -> PairTests:
    """The columns of single tests; with what p-values are attainable where all rows have their null."""
    nulls = tuple(row.null for row in rows if row.null is not None)
    values = SumValues(nulls, two_sided) if rows and len(nulls) == len(rows) else None
    columns: dict[str, Any] = {
        name: np.array([getattr(row, name) for row in rows], dtype=kind) for name, kind in _KINDS.items()
    }
    return PairTests(
        **columns,
        method=tuple(row.method for row in rows),
        fraction=Listed(tuple(row.fraction for row in rows)),
        attained=None if values is None else values.attained,
        null_key=None if values is None else values.null_key,
        support=None if values is None else values.support,
        notes=tuple((at, *note) for at, row in enumerate(rows) for note in row.notes),
    )


_KINDS: dict[str, Any] = {
    **dict.fromkeys(("u", "v", "n", "wins", "ties", "losses", "sign"), np.int64),
    **dict.fromkeys(("difference", "p", "p_low", "p_high", "log10_p", "log10_low", "log10_high"), np.float64),
    "attainable": np.float64,
    "exact": np.bool_,
    "sampled": np.bool_,
}


def concatenated(parts: Sequence[PairTests]) -> PairTests:
    """Join the tests of all parts of a board, or of several boards, in order, with their nulls if all have them.

    `u` and `v` remain positions in their own boards.
    """
    if len(parts) == 1:
        return parts[0]
    starts = tuple(np.cumsum([0, *(len(part) for part in parts)]).tolist()[:-1])
    columns: dict[str, Any] = {
        name: np.concatenate([getattr(part, name) for part in parts]) for name in _KINDS
    }
    notes = (
        (start + at, *rest) for part, start in zip(parts, starts, strict=True) for at, *rest in part.notes
    )
    return PairTests(
        **columns,
        method=tuple(name for part in parts for name in part.method),
        fraction=Joined(tuple(part.fraction for part in parts), starts),
        attained=_joined([part.attained for part in parts], parts, starts),
        null_key=_joined([part.null_key for part in parts], parts, starts),
        support=_joined([part.support for part in parts], parts, starts),
        notes=tuple(notes),
    )


def _joined(functions: Sequence[Any], parts: Sequence[PairTests], starts: tuple[int, ...]) -> Any:
    """One function for all tests, where all parts that are not empty have it."""
    known = all(function is not None for function, part in zip(functions, parts, strict=True) if len(part))
    return Joined(tuple(functions), starts) if known else None


def log10_bounds(answer: Answer) -> tuple[float, float]:
    """Certified bounds of log10 p, rounded outward, also where p underflows; of a sample, those of its interval."""
    log10, error = answer.log10_p_value, answer.relative_error_bound
    rounding = _LOGARITHM_ROUNDING * (1.0 + abs(log10))
    low, high = answer.bounds
    if answer.monte_carlo is not None or error is None:
        bottom = _log10(low) - rounding if low > 0.0 else -math.inf
        return min(bottom, log10), min(max(_log10(high) + rounding, log10), 0.0)
    if error == 0.0 and log10 == 0.0:
        return 0.0, 0.0
    bottom = log10 + math.log10(1.0 - error) - rounding if error < 1.0 else -math.inf
    top = log10 + math.log10(1.0 + error) + rounding
    return bottom, min(top, 0.0)


def _log10(p: float) -> float:
    return math.log10(max(p, SMALLEST))


def require_all(tests: PairTests) -> None:
    """Raise ArithmeticError, a fault of the service, if a p-value is invalid or outside its bounds."""
    inside = (
        (tests.p > 0.0)
        & (tests.p_low <= tests.p)
        & (tests.p <= tests.p_high)
        & (tests.p_high <= 1.0)
        & (tests.p_low >= 0.0)
        & (tests.log10_low <= tests.log10_p)
        & (tests.log10_p <= tests.log10_high)
        & (tests.log10_high <= 0.0)
        & (tests.sampled | ~(tests.log10_high < tests.attainable - 1e-2))
    )
    if not inside.all():
        at = int(np.argmin(inside))
        raise ArithmeticError(f"a p-value without a certificate: test {at} has p = {tests.p[at]!r}")


# Doubles next to exact values, and bounds of p-values that underflow


# Below this p-values are taken from their logarithms: products of doubles could lose digits there.
LOG10_DEEP = -300.0
_LOGARITHM_ROUNDED = 1e-11


def exact_alpha(alpha: float) -> Fraction:
    """alpha as written, 0.05 as 1/20, not as the nearest double."""
    return Fraction(repr(alpha))


def nearest(values: Sequence[Fraction]) -> tuple[Reals, Reals, Reals]:
    """The nearest doubles (no positive value becomes 0), and the closest ones at or below, at or above."""
    p = np.array([float(value) for value in values], np.float64)
    side = np.array(
        [_side(value, double) for value, double in zip(values, p.tolist(), strict=True)], np.int64
    )
    low = np.where(side < 0, np.nextafter(p, 0.0), p)
    high = np.where(side > 0, np.nextafter(p, math.inf), p)
    return np.maximum(p, SMALLEST), low, high


def columns_of(values: Sequence[Fraction], alpha: Fraction) -> tuple[Reals, Reals, Reals, Reals, Flags]:
    """The nearest doubles of p-values, their bounds, logarithms where nothing underflows, and whether they are at most alpha."""
    p, low, high = nearest(values)
    log10_p = log10_or(p, lambda: np.array([log10_of(value) for value in values], np.float64))
    return p, low, high, log10_p, np.array([value <= alpha for value in values], bool)


def _side(value: Fraction, double: float) -> int:
    """1 where the value is above its double, -1 below, 0 at it."""
    top, bottom = double.as_integer_ratio()
    difference = value.numerator * bottom - top * value.denominator
    return (difference > 0) - (difference < 0)


def raw_bounds(tests: PairTests) -> tuple[Reals, Reals]:
    """Certified bounds of the raw p-values as doubles, also where these underflow."""
    high = np.minimum(tests.p_high, 1.0)
    deep = tests.log10_low < LOG10_DEEP
    if not deep.any():
        return np.maximum(tests.p_low, 0.0), high
    from_log = 10.0 ** np.where(deep, tests.log10_low, 0.0) * (1.0 - _LOGARITHM_ROUNDED)
    return np.where(deep, np.nextafter(from_log, 0.0), tests.p_low), high


def log10_or(p: Reals, deep: Callable[[], Reals]) -> Reals:
    """Logarithms of p; those of `deep` where p is too small to have all its digits."""
    shallow = p >= 10.0**LOG10_DEEP
    logarithms = np.minimum(np.log10(np.where(shallow, p, 1.0)), 0.0)
    return logarithms if shallow.all() else np.where(shallow, logarithms, deep())


def log10_of(value: Fraction) -> float:
    """log10 of a positive fraction of any size."""
    shift = value.numerator.bit_length() - value.denominator.bit_length()
    top, bottom = (0, shift) if shift > 0 else (-shift, 0)
    scaled = Fraction(value.numerator << top, value.denominator << bottom)
    return min(math.log10(float(scaled)) + shift * math.log10(2.0), 0.0)


# The smallest p-value that any outcome of a test has: whether the test could be significant at all


_LOG2_10 = np.log2(10.0)
# What rounding may do to a logarithm. The smallest p-value of a sum of effects is a power of two, known by its logarithm.
_ROUNDING = 1e-9


def smallest_p(tests: PairTests) -> tuple[Reals, Flags]:
    """The smallest attainable p-values, and whether these doubles are exact; 0 where they underflow, NaN if not known."""
    log2 = tests.attainable * _LOG2_10
    power = np.rint(log2)
    exact = np.abs(log2 - power) <= _ROUNDING
    # Far below the smallest double, `ldexp` is 0 for any exponent.
    as_power = np.ldexp(1.0, np.maximum(np.where(exact, power, 0.0), -2000.0).astype(np.int64))
    if not exact.all():
        as_power[~exact] = 10.0 ** tests.attainable[~exact]
    return as_power, exact


def untestable(tests: PairTests, alpha: Fraction) -> Flags:
    """Whether certainly no outcome of a test has p <= alpha; decided exactly, false if that is impossible."""
    smallest, exact = smallest_p(tests)
    limit = float(alpha)
    above = smallest > limit
    for i in np.flatnonzero(np.abs(smallest - limit) <= 4 * _ROUNDING * limit).tolist():
        if exact[i]:
            above[i] = Fraction(float(smallest[i])) > alpha
        else:
            above[i] = tests.attained is not None and tests.attained(i, alpha) == 0
    return above


@dataclass(frozen=True, slots=True)
class PairTests:
    """m tests, shape (m,) each. `u` and `v` are positions in the board's systems by code point.

    The null distribution of a difference of two systems is symmetric about zero: exchanging all items changes its
    sign. So the one-sided p-values follow from the two-sided one, and `sign`.

    Attributes
    ----------
    n, wins, ties, losses
        Items of the pair; swapping units on which u is better, as good, and worse.
    difference
        score(u) - score(v) over the pair's items, in the statistic's own sign.
    sign
        1 where u is observed to be better, -1 where it is worse, 0 where they are equal.
    p, p_low, p_high
        The p-value of the requested alternative, and certified bounds; nearest doubles, the smallest positive one
        where it underflows.
    log10_p, log10_low, log10_high
        The same as logarithms, where nothing underflows. The bounds are rounded outward.
    attainable
        log10 of the smallest p-value of the same alternative that any outcome of the test has; NaN where it is not known.
    method, exact, sampled
        Names of methods; whether the p-value is exact; whether its bounds are a confidence interval at 99 %.
    fraction
        The exact p-value of the i-th test, or None where it is not known (or not cheap).
    attained
        For `holm_discrete`: F_k of the i-th test, the largest attainable p-value that is at most x, as a fraction (0 if
        there is none); None where its null distribution is not known exactly.
    null_key
        Tests with the same key have the same null distribution, so that results for one hold for all.
    support
        All attainable p-values of the i-th test, ascending, where they are few; None if `attained` is faster.
    notes
        Notes of single tests: the test's position, a code and a sentence.
    """

    u: Integers
    v: Integers
    n: Integers
    wins: Integers
    ties: Integers
    losses: Integers
    difference: Reals
    sign: Integers
    p: Reals
    p_low: Reals
    p_high: Reals
    log10_p: Reals
    log10_low: Reals
    log10_high: Reals
    attainable: Reals
    method: tuple[str, ...]
    exact: NDArray[np.bool_]
    sampled: NDArray[np.bool_]
    fraction: Callable[[int], Fraction | None]
    attained: Callable[[int, Fraction], Fraction] | None = None
    null_key: Callable[[int], Hashable] | None = None
    support: Callable[[int], Sequence[Fraction] | None] | None = None
    notes: tuple[tuple[int, str, str], ...] = ()

    def __len__(self) -> int:
        """How many tests."""
        return len(self.u)
