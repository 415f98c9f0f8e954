"""`rational`: the exact fraction, by big-integer polynomials.

prod_j (1 + x**v_j) ** c_j counts the ways to reach each T; the tail's coefficients over 2**n are the
p-value with no rounding at all (Zmigrod, Vieira & Cotterell 2022, section 4, in exact arithmetic).
"""

from __future__ import annotations

import heapq

import flint

from ..lattice import CanonicalForm, once_per_form
from ..probability import CERTAIN, IMPOSSIBLE, Probability, Region, from_fraction
from .enumeration import binomials

# Integers of more bits are FLINT's.
FEW_COINS = 4_096
# Of a law this short all ways are counted at once: for the p-value, its ties, and the law itself.
SHORT_RANGE, SHORT_COINS = 512, 128
Ways = flint.fmpz_poly | list[int]


def probability(form: CanonicalForm, region: Region) -> Probability:
    """P(T in region) as an exact fraction."""
    return CERTAIN if region.covers(form) else with_ties(form, region, ())[0]


def with_ties(form: CanonicalForm, region: Region, ties: tuple[int, ...]) -> tuple[Probability, Probability]:
    """P(T in region) and P(T in ties), values of T, as exact fractions from one polynomial."""
    places = [min(value, form.range - value) for value in ties]
    ways = _ways(form, max([coefficients(form, region), *(place + 1 for place in places)]))
    numerator = sum(
        _at_most(form, ways, high) - _at_most(form, ways, low - 1) for low, high in region.intervals
    )
    tied = sum(int(ways[place]) for place in places)
    return from_fraction(numerator, form.nonzero), from_fraction(tied, form.nonzero) if tied else IMPOSSIBLE


def coefficients(form: CanonicalForm, region: Region) -> int:
    """How many of the lowest coefficients the region needs: at most half of all, as the counts are symmetric."""
    ends = [end for low, high in region.intervals for end in (low - 1, high) if 0 <= end < form.range]
    return 1 + max((min(end, form.range - 1 - end) for end in ends), default=0)


def is_short(form: CanonicalForm) -> bool:
    """Whether `half_of_ways` takes some ten microseconds."""
    return form.range <= SHORT_RANGE and form.nonzero <= SHORT_COINS


@once_per_form
def half_of_ways(form: CanonicalForm) -> list[int]:
    """Count the ways to T = 0, 1, ..., range // 2, which equal those to range - T."""
    length = form.range // 2 + 1
    ways = _counted(form, length)
    if isinstance(ways, list):
        return ways[:length]
    found = [int(number) for number in ways.coeffs()]
    return found + [0] * (length - len(found))  # FLINT leaves out zeros at the end


def _ways(form: CanonicalForm, length: int) -> Ways:
    """Count the ways to T = 0, 1, ..., `length` - 1."""
    return half_of_ways(form) if is_short(form) else _counted(form, length)


def _counted(form: CanonicalForm, length: int) -> Ways:
    """The same: of equal weights binomial coefficients, which need no polynomial."""
    if len(form.weights) == 1 and form.weights[0] == 1 and form.nonzero <= FEW_COINS:
        return binomials(form.nonzero)
    return counting_polynomial(form, length)


def _at_most(form: CanonicalForm, ways: Ways, value: int) -> int:
    """Count the ways to T of at most `value`."""
    if value < 0:
        return 0
    if 2 * value >= form.range:
        return (1 << form.nonzero) - _at_most(form, ways, form.range - 1 - value)
    if isinstance(ways, list):
        return sum(ways[: value + 1])
    return int(ways.truncate(value + 1)(1))


def counting_polynomial(form: CanonicalForm, length: int | None = None) -> flint.fmpz_poly:
    """prod_j (1 + x**v_j) ** c_j, or its lowest `length` coefficients. The two smallest factors are multiplied first."""
    length = form.range + 1 if length is None else length
    queue: list[tuple[int, int, flint.fmpz_poly]] = []
    for weight, count in zip(form.weights.tolist(), form.counts.tolist(), strict=True):
        if weight >= length:
            break  # weights ascend: this one and the rest move everything out of what is kept
        factor = flint.fmpz_poly([1, 1]).pow_trunc(count, (length - 1) // weight + 1).inflate(weight)
        queue.append((weight * count, len(queue), factor))
    heapq.heapify(queue)
    while len(queue) > 1:
        size, order, first = heapq.heappop(queue)
        other, _, second = heapq.heappop(queue)
        heapq.heappush(queue, (size + other, order, first.mul_low(second, length)))
    return queue[0][2] if queue else flint.fmpz_poly([1])
