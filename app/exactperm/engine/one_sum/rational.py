"""`rational`: the exact fraction, by big-integer polynomials.

The coefficients of prod_j (1 + x**v_j) ** c_j count the ways to reach each T; those of the tail, over 2**n, add up to
the p-value without rounding (Zmigrod, Vieira & Cotterell 2022, section 4, in exact arithmetic).
"""

from __future__ import annotations

import heapq
from itertools import accumulate

import flint

from ..lattice import CanonicalForm, once_per_form
from ..probability import CERTAIN, IMPOSSIBLE, Probability, Region, from_fraction
from .enumeration import binomials

# FLINT computes integers of more bits.
FEW_COINS = 4_096
# For laws this short, all ways are counted at once, for the p-value, its ties, and the law.
SHORT_RANGE, SHORT_COINS = 512, 128
Ways = flint.fmpz_poly | list[int]


def probability(form: CanonicalForm, region: Region) -> Probability:
    """Return P(T in region) as an exact fraction."""
    return CERTAIN if region.covers(form) else with_ties(form, region, ())[0]


def with_ties(form: CanonicalForm, region: Region, ties: tuple[int, ...]) -> tuple[Probability, Probability]:
    """Return P(T in region) and P(T in ties), `ties` being values of T, as exact fractions from one polynomial."""
    places = [min(value, form.range - value) for value in ties]
    ways = _ways(form, max([coefficients(form, region), *(place + 1 for place in places)]))
    numerator = sum(
        _cumulative_ways(form, ways, high) - _cumulative_ways(form, ways, low - 1)
        for low, high in region.intervals
    )
    tied = sum(int(ways[place]) for place in places)
    return from_fraction(numerator, form.nonzero), from_fraction(tied, form.nonzero) if tied else IMPOSSIBLE


def coefficients(form: CanonicalForm, region: Region) -> int:
    """Return the number of lowest coefficients that the region needs: at most half, as the counts are symmetric."""
    ends = [end for low, high in region.intervals for end in (low - 1, high) if 0 <= end < form.range]
    return 1 + max((min(end, form.range - 1 - end) for end in ends), default=0)


def is_short(form: CanonicalForm) -> bool:
    """Return whether `half_of_ways` takes only some ten microseconds."""
    return form.range <= SHORT_RANGE and form.nonzero <= SHORT_COINS


@once_per_form
def half_of_ways(form: CanonicalForm) -> list[int]:
    """Count the ways to T = 0, 1, ..., range // 2, which equal those to range - T."""
    length = form.range // 2 + 1
    ways = _count(form, length)
    if isinstance(ways, list):
        return ways[:length]
    lowest = [int(number) for number in ways.coeffs()]
    return lowest + [0] * (length - len(lowest))  # FLINT leaves out zeros at the end


def tails(form: CanonicalForm, *, two_sided: bool) -> list[int]:
    """Count the ways to T <= t for t = 0, 1, ..., range; or twice that for t below the middle, and all ways last."""
    half = half_of_ways(form)
    if two_sided:
        return [*(2 * ways for ways in accumulate(half[: (form.range + 1) // 2])), 1 << form.nonzero]
    return list(accumulate([*half, *half[: form.range + 1 - len(half)][::-1]]))


def _ways(form: CanonicalForm, length: int) -> Ways:
    """Count the ways to T = 0, 1, ..., `length` - 1."""
    return half_of_ways(form) if is_short(form) else _count(form, length)


def _count(form: CanonicalForm, length: int) -> Ways:
    """Count as `_ways` does; equal weights have binomial coefficients and need no polynomial."""
    if len(form.weights) == 1 and form.weights[0] == 1 and form.nonzero <= FEW_COINS:
        return binomials(form.nonzero)
    return counting_polynomial(form, length)


def _cumulative_ways(form: CanonicalForm, ways: Ways, value: int) -> int:
    """Count the ways to T of at most `value`."""
    if value < 0:
        return 0
    if 2 * value >= form.range:
        return (1 << form.nonzero) - _cumulative_ways(form, ways, form.range - 1 - value)
    if isinstance(ways, list):
        return sum(ways[: value + 1])
    return int(ways.truncate(value + 1)(1))


def counting_polynomial(form: CanonicalForm, length: int | None = None) -> flint.fmpz_poly:
    """Return prod_j (1 + x**v_j) ** c_j, or its lowest `length` coefficients, smallest factors first."""
    length = form.range + 1 if length is None else length
    queue: list[tuple[int, int, flint.fmpz_poly]] = []
    for weight, count in zip(form.weights.tolist(), form.counts.tolist(), strict=True):
        if weight >= length:
            break  # weights ascend: this one and the rest only reach dropped coefficients
        factor = flint.fmpz_poly([1, 1]).pow_trunc(count, (length - 1) // weight + 1).inflate(weight)
        queue.append((weight * count, len(queue), factor))
    heapq.heapify(queue)
    while len(queue) > 1:
        size, order, first = heapq.heappop(queue)
        other, _, second = heapq.heappop(queue)
        heapq.heappush(queue, (size + other, order, first.mul_low(second, length)))
    return queue[0][2] if queue else flint.fmpz_poly([1])
