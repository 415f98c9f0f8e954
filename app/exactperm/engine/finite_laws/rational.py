"""`rational` for finite laws: the exact fraction, by big-integer polynomials.

prod_g (sum_k w_gk x**v_gk) ** c_g counts the ways to reach each T; the counts of the region over all ways are the p-value with
no rounding at all.
"""

from __future__ import annotations

import heapq
from fractions import Fraction

import flint

from ..probability import Region
from .form import FiniteLaws


def with_ties(form: FiniteLaws, region: Region, ties: tuple[int, ...]) -> tuple[Fraction, Fraction]:
    """P(T in region) and P(T in ties) as exact fractions."""
    ways, total = ways_of(form), all_ways(form)
    inside = sum(
        int(sum((ways[t] for t in range(low, high + 1)), flint.fmpz(0))) for low, high in region.intervals
    )
    return Fraction(inside, total), Fraction(sum(int(ways[t]) for t in ties), total)


def all_ways(form: FiniteLaws) -> int:
    """The number of all ways."""
    total = 1
    for law, count in zip(form.laws, form.counts.tolist(), strict=True):
        total *= law.total**count
    return total


def ways_of(form: FiniteLaws) -> flint.fmpz_poly:
    """The polynomial whose coefficients count the ways to each T; the two smallest factors are multiplied first."""
    queue: list[tuple[int, int, flint.fmpz_poly]] = []
    for law, count in zip(form.laws, form.counts.tolist(), strict=True):
        coefficients = [0] * (law.top + 1)
        for value, ways in zip(law.values, law.ways, strict=True):
            coefficients[value] = ways
        queue.append((law.top * count, len(queue), flint.fmpz_poly(coefficients) ** count))
    heapq.heapify(queue)
    while len(queue) > 1:
        size, order, first = heapq.heappop(queue)
        other, _, second = heapq.heappop(queue)
        heapq.heappush(queue, (size + other, order, first * second))
    return queue[0][2] if queue else flint.fmpz_poly([1])
