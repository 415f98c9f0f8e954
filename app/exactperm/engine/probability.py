"""Regions of the null distribution and probabilities with certificates: the input and output of every method."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from .lattice import CanonicalForm

UNIT_ROUNDOFF = 2.0**-53
# The smallest positive double: no p-value is reported as zero.
SMALLEST = math.ulp(0.0)
LN2 = math.log(2.0)
LN10 = math.log(10.0)
_LOG_SMALLEST_NORMAL = -1022 * LN2
# Ratios with fewer bits than this are normal doubles.
_SHORT_RATIO = 1_000
# Roundings of a logarithm that is a multiple of LN2 and a small one: of LN2, the product and the sum.
_DEEP_ROUNDOFFS = 3.0

Alternative = Literal["two-sided", "greater", "less"]
Interval = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Region:
    """A set of values of T: disjoint inclusive intervals inside {0, ..., range}, ascending."""

    intervals: tuple[Interval, ...]

    def covers(self, form: CanonicalForm) -> bool:
        """Return whether every value of T is in the region, so that its probability is one."""
        return self.intervals == ((0, form.range),)


@dataclass(frozen=True, slots=True)
class Probability:
    """A probability under the null distribution, with its certificate.

    `log_p` is the natural logarithm. The exact value lies within p * (1 +- relative_error_bound); an infinite bound
    proves nothing. `fraction` is (numerator, log2 of the denominator) where the method gives it without rounding;
    `ratio` where the denominator is no power of two.
    """

    log_p: float
    relative_error_bound: float
    fraction: tuple[int, int] | None = None
    ratio: Fraction | None = None

    @property
    def p(self) -> float:
        """The p-value as a double; the smallest positive one where it underflows."""
        if self.fraction is not None:
            numerator, log2_denominator = self.fraction
            return max(numerator / (1 << log2_denominator), SMALLEST)
        if self.ratio is not None:
            return max(self.ratio.numerator / self.ratio.denominator, SMALLEST)
        return max(math.exp(min(self.log_p, 0.0)), SMALLEST)

    @property
    def log10_p(self) -> float:
        """The decimal logarithm of the p-value, even where p underflows."""
        return min(self.log_p, 0.0) / LN10


CERTAIN = Probability(0.0, 0.0, (1, 0))
IMPOSSIBLE = Probability(-math.inf, 0.0)


def from_fraction(numerator: int, log2_denominator: int) -> Probability:
    """Return the probability numerator / 2**log2_denominator; only the logarithm is rounded."""
    shift = (numerator & -numerator).bit_length() - 1
    numerator, log2_denominator = numerator >> shift, log2_denominator - shift
    if numerator == 1 and log2_denominator == 0:
        return CERTAIN
    bits = numerator.bit_length()
    # The top 64 bits as a number in [1/2, 1), so that nothing cancels even for p next to one.
    leading = math.ldexp(numerator >> max(bits - 64, 0), -min(bits, 64))
    log_p = math.log(leading) + (bits - log2_denominator) * LN2
    if log_p < _LOG_SMALLEST_NORMAL:
        bound = _DEEP_ROUNDOFFS * UNIT_ROUNDOFF * (1.0 + abs(log_p))
    else:
        bound = 0.0 if bits <= 53 else UNIT_ROUNDOFF
    return Probability(log_p, bound, (numerator, log2_denominator))


def from_ratio(value: Fraction) -> Probability:
    """Convert a positive fraction; only the logarithm is rounded."""
    top, below = value.numerator, value.denominator
    if below & (below - 1) == 0:
        return from_fraction(top, below.bit_length() - 1)
    log_p = log_ratio(top, below)
    small = log_p < _LOG_SMALLEST_NORMAL
    bound = UNIT_ROUNDOFF * (_DEEP_ROUNDOFFS * (1.0 + abs(log_p)) if small else 1.0)
    return Probability(log_p, bound, None, value)


def log_ratio(part: int, whole: int) -> float:
    """Return log(part / whole) of positive integers of any length, to a few roundings of itself and of 1."""
    shift = whole.bit_length() - part.bit_length()
    if shift < _SHORT_RATIO:
        return math.log(part / whole)  # the quotient of integers is correctly rounded
    return math.log((part << shift) / whole) - shift * LN2


def region(form: CanonicalForm, observed: int, alternative: Alternative, *, absolute: bool = False) -> Region:
    """Return the values of T at least as extreme as the observed sum S = `observed`.

    With h(x) = x: `greater` is S >= xi, `less` is S <= xi, `two-sided` is |S| >= |xi|. With h(x) = |x|
    (`absolute`) the three are about |S| (Zmigrod, Vieira & Cotterell 2022, eq. 7).
    """
    size = abs(observed)
    if absolute and alternative == "less":
        return clipped_region(form.range, [(_ceil(form, -size), _floor(form, size))])
    if absolute or alternative == "two-sided":
        if size == 0:
            return Region(((0, form.range),))
        return clipped_region(form.range, [(0, _floor(form, -size)), (_ceil(form, size), form.range)])
    if alternative == "greater":
        return clipped_region(form.range, [(_ceil(form, observed), form.range)])
    return clipped_region(form.range, [(0, _floor(form, observed))])


def ties_of(
    form: CanonicalForm, observed: int, alternative: Alternative, *, absolute: bool = False
) -> tuple[int, ...]:
    """Return the one or two values of T in the `region` that tie with the observed statistic, ascending.

    S = xi for a one-sided test, |S| = |xi| for a two-sided one and for |S|.
    """
    two = absolute or alternative == "two-sided"
    totals = {observed, -observed} if two else {observed}
    on_lattice = [divmod(total - form.offset, form.step) for total in totals]
    return tuple(sorted(t for t, left in on_lattice if left == 0 and 0 <= t <= form.range))


def _ceil(form: CanonicalForm, total: int) -> int:
    return -((form.offset - total) // form.step)


def _floor(form: CanonicalForm, total: int) -> int:
    return (total - form.offset) // form.step


def clipped_region(top: int, intervals: list[Interval]) -> Region:
    """Cut at most two ascending intervals to {0, ..., top}; drop empty ones, and join two that touch."""
    clipped = [(max(low, 0), min(high, top)) for low, high in intervals]
    kept = [pair for pair in clipped if pair[0] <= pair[1]]
    if len(kept) == 2 and kept[1][0] <= kept[0][1] + 1:
        kept = [(kept[0][0], kept[1][1])]
    return Region(tuple(kept))


def add(parts: list[Probability]) -> Probability:
    """Add probabilities of disjoint events; the terms are positive, so relative bounds do not grow."""
    if len(parts) == 1:
        return parts[0]
    fractions = [part.fraction for part in parts if part.fraction is not None]
    if len(fractions) == len(parts):
        deepest = max(log2 for _, log2 in fractions)
        return from_fraction(sum(top << (deepest - log2) for top, log2 in fractions), deepest)
    peak = max(part.log_p for part in parts)
    total = math.fsum(math.exp(part.log_p - peak) for part in parts)
    log_p = peak + math.log(total)
    bound = max(part.relative_error_bound for part in parts)
    # exp and log round once more, and the logarithm is rounded to its last place.
    return Probability(log_p, bound + UNIT_ROUNDOFF * (8.0 + 2.0 * abs(log_p)))


def upper(form: CanonicalForm, interval: Interval) -> Interval:
    """Return the interval or its mirror image about range / 2, whichever is higher; T is symmetric."""
    low, high = interval
    return interval if low + high >= form.range else (form.range - high, form.range - low)


def sum_of_intervals(
    form: CanonicalForm, region: Region, solve: Callable[[CanonicalForm, int, int], Probability]
) -> Probability:
    """Add `solve(form, low, high)` over the intervals of the region, each solved once, mirrored to the upper half."""
    if region.covers(form):
        return CERTAIN
    solved: dict[Interval, Probability] = {}
    for interval in region.intervals:
        mirrored = upper(form, interval)
        if mirrored not in solved:
            solved[mirrored] = solve(form, *mirrored)
    return add([solved[upper(form, interval)] for interval in region.intervals])


def mid_p(p: Probability, ties: Probability) -> Probability:
    """Subtract half of the mass at the observed value from p: Lancaster's (1961) mid-p-value.

    The mass is part of p, so the result is at least p / 2 and relative errors at most triple.
    """
    if p.fraction is not None and ties.fraction is not None:
        (top, log2), (part, log2_part) = p.fraction, ties.fraction
        deepest = max(log2, log2_part) + 1
        left_over = (top << (deepest - log2)) - (part << (deepest - log2_part - 1))
        # A remainder of zero or less is not a mid-p-value; certificates refuse such a p.
        return from_fraction(left_over, deepest) if left_over > 0 else Probability(-math.inf, math.inf)
    exact = _exactly(p), _exactly(ties)
    if exact[0] is not None and exact[1] is not None:
        return from_ratio(exact[0] - exact[1] / 2)
    share = math.exp(min(ties.log_p - p.log_p, 0.0))
    if share == 0.0:
        return p
    left = 1.0 - 0.5 * share
    bound = (p.relative_error_bound + 0.5 * share * ties.relative_error_bound) / left
    log_p = p.log_p + math.log(left)
    return Probability(log_p, bound + UNIT_ROUNDOFF * (8.0 + 2.0 * abs(p.log_p) + 2.0 * abs(ties.log_p)))


def _exactly(p: Probability) -> Fraction | None:
    return p.ratio if p.fraction is None else Fraction(p.fraction[0], 1 << p.fraction[1])


def complement(tail: Probability) -> Probability:
    """Return one minus a tail. Nothing cancels for tails up to about 1/2; for larger ones the error bound grows."""
    p = math.exp(tail.log_p)
    if p >= 1.0:
        return Probability(-math.inf, math.inf)
    bound = tail.relative_error_bound * p / (1.0 - p) + 4.0 * UNIT_ROUNDOFF / (1.0 - p)
    return Probability(math.log1p(-p), bound)
