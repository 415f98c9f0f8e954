"""Adjusted p-values of a family of tests: values, certified bounds, and decisions at alpha."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import cached_property, lru_cache, partial
from itertools import accumulate, groupby, pairwise
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from ...answers.board import Adjust
from ...engine.lattice import Integers, Reals
from ...engine.probability import SMALLEST
from ...errors import Flaw, InvalidTest, PlanTooLarge
from .pair_tests import (
    LOG10_DEEP,
    Flags,
    PairTests,
    columns_of,
    concatenated,
    log10_of,
    log10_or,
    raw_bounds,
    smallest_p,
)

# The adjusted p-values of a family, as columns


@dataclass(frozen=True, slots=True)
class Adjusted:
    """The m adjusted p-values of a family, or of one board of it; shape (m,) each.

    Attributes
    ----------
    p, low, high
        The adjusted p-value and certified bounds, doubles; with a sampled test in the family, at its confidence.
    log10_p
        Its logarithm, accurate even if `p` underflows.
    rejected, open
        Whether it is at most alpha for certain; whether alpha lies within its bounds.
    hopeless
        Whether it would be above alpha whatever the outcomes of all tests.
    size
        The number of tests of the whole family.
    sampled
        Whether `low` and `high` hold with 99 % confidence; else they are certified. None: not set yet.
    """

    p: Reals
    low: Reals
    high: Reals
    log10_p: Reals
    rejected: Flags
    open: Flags
    hopeless: Flags
    size: int
    sampled: Flags | None = None

    def part(self, start: int, end: int) -> Adjusted:
        """Those of the tests start, ..., end - 1."""
        columns: dict[str, Any] = {field.name: getattr(self, field.name) for field in fields(self)}
        for name, value in columns.items():
            if isinstance(value, np.ndarray):
                columns[name] = value[start:end]
        return Adjusted(**columns)


# Procedures by rank: the k-th smallest of m p-values times a factor, stepping down or up


# Factors that are not integers are within three roundings of their value; products round once more, by `nextafter`.
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
        doubles = [(float(value), value) for value in p]  # fractions only distinguish equal doubles
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
        rejected, ordered = np.empty(m, bool), np.empty(m, bool)
        ordered[order] = below
        if self.step == "down":
            rejected[order] = np.logical_and.accumulate(below)
        elif self.step == "up":
            rejected[order] = np.logical_or.accumulate(below[::-1])[::-1]
        else:
            rejected = ordered
        return rejected, ordered

    def _scaled(self, m: int) -> Reals:
        return self.factors(m) if self.integer else self.factors(m) * float(self.scale(m))

    def _accumulate(self, terms: Reals) -> Reals:
        if self.step == "down":
            return np.maximum.accumulate(terms)
        return np.minimum.accumulate(terms[::-1])[::-1] if self.step == "up" else terms


def _beyond(p: Reals, known: Mapping[int, Fraction]) -> Integers:
    """Ranks of the differences between fractions and their doubles, 0 without a fraction: the order among equal doubles."""
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


# Decisions at alpha: by certified bounds, and by fractions if these do not decide


def decide(
    procedure: Procedure, low: Reals, high: Reals, fraction: Callable[[int], Fraction | None], alpha: Fraction
) -> tuple[Flags, Flags]:
    """Whether each hypothesis is rejected at alpha for certain, and whether it is possibly.

    `low` and `high` bound the raw p-values, shape (m,); `fraction` gives an exact one, or None. Fractions are only computed where they
    matter: first for the tests whose own term may be on either side of alpha, then for all that are still open. This settles all if all
    fractions are known: an adjusted p-value is monotone in rank, so that a test that is not open is on the same side of alpha as all below
    it (rejected) or above it (not), and where its p-value lies among them does not matter to the others.
    """
    low, high = low.copy(), high.copy()
    known: dict[int, Fraction] = {}
    compared = np.zeros(len(low), bool)
    while True:
        certain, own_high = procedure.rejects(high, known, alpha)
        possible, own_low = procedure.rejects(low, known, alpha)
        open_ = possible & ~certain
        if not open_.any():
            return certain, possible
        ask = open_ & own_low & ~own_high & ~compared
        if not ask.any():
            ask = open_ & ~compared
        if not ask.any():
            return certain, possible
        compared |= ask
        for i in np.flatnonzero(ask).tolist():
            exact = fraction(i)
            if exact is not None:
                known[i] = exact
                low[i] = high[i] = float(exact)


# Holm's adjustment for discrete tests


# Calls of `attained`, of some microseconds each.
_MOST_CALLS = 2_000_000
# Sums of up to this many terms use fractions; others do if bounds do not decide.
_FEW_TERMS = 50_000
_ROUNDOFF = 2.0**-53


def holm_discrete(tests: PairTests, alpha: Fraction) -> Adjusted:
    """The adjusted p-values; raises InvalidTest if a null distribution is not known exactly."""
    fractions, attained = _exact_nulls(tests)
    values, place = _distinct(fractions)
    classes = _classes(tests, place, len(values), attained)
    calls = sum(len(values) for null in classes if null.support is None)
    if calls > _MOST_CALLS:
        detail = (
            f"holm_discrete would look up {calls:,} attainable p-values; {_MOST_CALLS:,} are allowed. Use holm, or compare "
            "fewer systems."
        )
        raise PlanTooLarge(detail, flaws=(Flaw("/adjust", "plan_too_large", detail),))
    hopeless = _hopeless(tests, alpha)
    if len(classes) * len(values) <= _FEW_TERMS:
        exactly, largest = [], Fraction(0)
        for d, value in enumerate(values):
            largest = max(largest, Fraction(1) if largest >= 1 else _sum(classes, d, value))
            exactly.append(min(largest, Fraction(1)))
        p, low, high, log10_p, rejected = columns_of(exactly, alpha)
    else:
        p, low, high, log10_p, rejected = _rounded(classes, values, len(tests), alpha)
    nothing = np.zeros(len(tests), bool)
    return Adjusted(
        p[place], low[place], high[place], log10_p[place], rejected[place], nothing, hopeless, len(tests)
    )


class _Null:
    """Tests with the same null distribution, and how many have at least the d-th distinct p-value."""

    def __init__(
        self,
        support: Sequence[Fraction] | None,
        attained: Callable[[Fraction], Fraction],
        places: Integers,
        size: int,
    ) -> None:
        self.support = support
        self.attained = attained
        self.counts = np.cumsum(np.bincount(places, minlength=size)[::-1])[::-1]

    def at(self, value: Fraction) -> Fraction:
        """F(value)."""
        if self.support is None:
            return self.attained(value)
        below = bisect_right(self.support, value)
        return self.support[below - 1] if below else Fraction(0)

    def places(self, values: Sequence[Fraction], doubles: Reals) -> Integers:
        """The number of support points at most each of the ascending values; fractions distinguish equal doubles."""
        assert self.support is not None
        below = np.searchsorted(self.table, doubles, "right")
        first = np.searchsorted(self.table, doubles, "left")
        for d in np.flatnonzero(below > first).tolist():
            below[d] = bisect_right(self.support, values[d], int(first[d]), int(below[d]))
        return below

    @cached_property
    def table(self) -> Reals:
        """Doubles nearest to the support."""
        return np.array([float(value) for value in self.support or ()], np.float64)

    @cached_property
    def log_table(self) -> Reals:
        """Natural logarithms of the support."""
        return np.array([log10_of(value) for value in self.support or ()], np.float64) * math.log(10.0)


def _exact_nulls(tests: PairTests) -> tuple[list[Fraction], Callable[[int, Fraction], Fraction]]:
    fractions = [tests.fraction(i) for i in range(len(tests))] if tests.attained is not None else []
    known = [fraction for fraction in fractions if fraction is not None]
    if tests.attained is None or len(known) < len(tests):
        detail = (
            "holm_discrete needs all p-values that each test can attain, as fractions. They are listed of right-or-wrong items and of "
            "single scores on a lattice that is not too long; they are not of at least one pair here, however exact its test is (means of "
            "samples, other statistics, finer scores): use holm."
        )
        raise InvalidTest.at("/adjust", "null_not_exact", detail)
    return known, tests.attained


def _distinct(fractions: Sequence[Fraction]) -> tuple[list[Fraction], Integers]:
    """The distinct values, ascending, and the place of each value among them; fractions distinguish equal doubles."""
    doubles = [float(value) for value in fractions]
    order = sorted(range(len(doubles)), key=doubles.__getitem__)
    values: list[Fraction] = []
    places = np.empty(len(doubles), np.int64)
    for _, alike in groupby(order, key=doubles.__getitem__):
        group = list(alike)
        if any(fractions[i] != fractions[group[0]] for i in group[1:]):
            group.sort(key=fractions.__getitem__)
        for i in group:
            if not values or values[-1] != fractions[i]:
                values.append(fractions[i])
            places[i] = len(values) - 1
    return values, places


def _classes(
    tests: PairTests, place: Integers, size: int, attained: Callable[[int, Fraction], Fraction]
) -> list[_Null]:
    members: dict[Hashable, list[int]] = {}
    for i in range(len(tests)):
        members.setdefault(i if tests.null_key is None else tests.null_key(i), []).append(i)
    return [
        _Null(
            None if tests.support is None else tests.support(members_of_class[0]),
            partial(attained, members_of_class[0]),
            place[members_of_class],
            size,
        )
        for members_of_class in members.values()
    ]


def _sum(classes: Sequence[_Null], d: int, value: Fraction) -> Fraction:
    """The sum of F_k(value), the d-th distinct p-value, over all tests whose p-value is not below it."""
    return sum((int(null.counts[d]) * null.at(value) for null in classes if null.counts[d]), Fraction(0))


def _rounded(
    classes: Sequence[_Null], values: Sequence[Fraction], size: int, alpha: Fraction
) -> tuple[Reals, Reals, Reals, Reals, Flags]:
    """The same from doubles, with bounds: a sum of positive terms has at most the largest relative error of the terms, plus that of adding."""
    doubles = np.array([float(value) for value in values], np.float64)
    total, log_total = np.zeros(len(values)), np.full(len(values), -np.inf)
    deep = int(np.searchsorted(doubles, 10.0**LOG10_DEEP))
    for null in classes:
        if null.support is not None:
            _add(null, values, doubles, total, log_total[:deep])
    _look_up([null for null in classes if null.support is None], values, total, log_total[:deep])
    error = (len(classes) + 4) * _ROUNDOFF
    # Doubles below the normal ones are rounded by at most half of the smallest each.
    absolute = size * SMALLEST
    low = np.maximum(total * (1.0 - error) - absolute, 0.0)
    high = total * (1.0 + error) + absolute
    below = total <= float(alpha)
    for d in np.flatnonzero((low <= float(alpha)) & (high >= float(alpha))).tolist():
        below[d] = _sum(classes, d, values[d]) <= alpha
    p, low, high = (np.minimum(np.maximum.accumulate(bound), 1.0) for bound in (total, low, high))
    log10_p = log10_or(p, lambda: np.minimum(np.maximum.accumulate(log_total) / math.log(10.0), 0.0))
    p = np.where(log10_p < LOG10_DEEP, np.maximum(10.0**log10_p, SMALLEST), p).clip(low, high)
    return p, low, high, log10_p, np.logical_and.accumulate(below)


def _add(null: _Null, values: Sequence[Fraction], doubles: Reals, total: Reals, log_total: Reals) -> None:
    """Add a null's F to the sums, and to the logarithms of the first, which underflow."""
    places = null.places(values, doubles)
    some = (places > 0) & (null.counts > 0)
    total[some] += null.counts[some] * null.table[places[some] - 1]
    some = some[: len(log_total)]
    if some.any():
        d = np.flatnonzero(some)
        logs = null.log_table[places[d] - 1] + np.log(null.counts[d])
        log_total[d] = np.logaddexp(log_total[d], logs)


def _look_up(classes: Sequence[_Null], values: Sequence[Fraction], total: Reals, log_total: Reals) -> None:
    """The same for nulls that are evaluated value by value; once a sum is one, so are all later adjusted p-values."""
    for d, value in enumerate(values if classes else ()):
        exactly = _sum(classes, d, value)
        total[d] += float(exactly)
        if d < len(log_total) and exactly:
            log_total[d] = np.logaddexp(log_total[d], log10_of(exactly) * math.log(10.0))
        if total[d] >= 1.0 + 1e-9:
            return


def _hopeless(tests: PairTests, alpha: Fraction) -> Flags:
    """Above alpha even with every test at its smallest p-value, where only tests with the very same one add up."""
    smallest, exact = smallest_p(tests)
    values, place, count = np.unique(np.where(exact, smallest, -1.0), return_inverse=True, return_counts=True)
    alone = np.where(exact, np.minimum(values * count, 1.0)[place], smallest * (1.0 - 1e-6))
    order = np.argsort(smallest, kind="stable")
    hopeless = np.empty(len(tests), bool)
    hopeless[order] = np.maximum.accumulate(alone[order]) > float(alpha) * (1.0 + 1e-9)
    return hopeless


Adjuster = Callable[[PairTests, Fraction], Adjusted]
# So many tests are adjusted as fractions: some 30 ms.
FEW = 2_000


def adjust_boards(boards: Sequence[PairTests], adjust: Adjust, alpha: Fraction) -> list[Adjusted]:
    """The adjusted p-values of one family, by board; raises InvalidTest if `adjust` does not apply."""
    adjuster = ADJUSTERS.get(adjust)
    if adjuster is None:
        names = ", ".join(ADJUSTERS)
        raise InvalidTest.at("/adjust", "not_available", f"{adjust} is not available: use one of {names}.")
    tests = concatenated(boards)
    # An adjusted p-value depends on the others' too, so that one estimate makes all bounds intervals.
    sampled = np.full(len(tests), bool(tests.sampled.any()) and adjust != "none")
    adjusted = replace(adjuster(tests, alpha), sampled=sampled | tests.sampled)
    ends = accumulate((len(board) for board in boards), initial=0)
    return [adjusted.part(start, end) for start, end in pairwise(ends)]


def stepwise(procedure: Procedure, tests: PairTests, alpha: Fraction) -> Adjusted:
    """Adjusted by ranks, with bounds rounded outward; compared with alpha without rounding where fractions are known."""
    smallest, exact = smallest_p(tests)
    smallest = np.where(np.isnan(smallest), 0.0, smallest)  # unknown values may be arbitrarily small
    reachable, _ = procedure.rejects(np.where(exact, smallest, smallest * (1.0 - 1e-6)), {}, alpha)
    fractions = None if procedure is NONE else _all_fractions(tests)
    if fractions is not None:
        p, low, high, log10_p, rejected = columns_of(procedure.adjust_exactly(fractions), alpha)
        return Adjusted(p, low, high, log10_p, rejected, np.zeros_like(rejected), ~reachable, len(tests))
    low, high = raw_bounds(tests)
    rejected, possible = decide(procedure, low, high, tests.fraction, alpha)
    low, high = procedure.adjust(low, "down"), procedure.adjust(high, "up")
    p = procedure.adjust(tests.p)
    log10_p = log10_or(p, lambda: procedure.adjust_log10(tests.log10_p))
    p = np.where(log10_p < LOG10_DEEP, np.maximum(10.0**log10_p, SMALLEST), p).clip(low, high)
    return Adjusted(p, low, high, log10_p, rejected, possible & ~rejected, ~reachable, len(tests))


def _all_fractions(tests: PairTests) -> list[Fraction] | None:
    """The exact p-values of few tests, if all are known."""
    if len(tests) > FEW:
        return None
    fractions = []
    for i in range(len(tests)):
        fraction = tests.fraction(i)
        if fraction is None:
            return None
        fractions.append(fraction)
    return fractions


# What adjusts a family by its p-values alone, by the request's name. `max_t` looks at the items: `max_t.plan_max_t`.
ADJUSTERS: Mapping[Adjust, Adjuster] = MappingProxyType(
    {
        "bonferroni": partial(stepwise, BONFERRONI),
        "holm": partial(stepwise, HOLM),
        "hochberg": partial(stepwise, HOCHBERG),
        "bh": partial(stepwise, BH),
        "by": partial(stepwise, BY),
        "holm_discrete": holm_discrete,
        "none": partial(stepwise, NONE),
    }
)
