"""`rational`: the exact fraction, by big-integer polynomials.

prod_j (1 + x**v_j) ** c_j counts the ways to reach each T; the tail's coefficients over 2**n are the
p-value with no rounding at all (Zmigrod, Vieira & Cotterell 2022, section 4, in exact arithmetic).
"""

from __future__ import annotations

import heapq

import flint

from app.engine.lattice import CanonicalForm
from app.engine.null import CERTAIN, Probability, Region, from_fraction


def probability(form: CanonicalForm, region: Region) -> Probability:
    """P(T in region) as an exact fraction."""
    if region.covers(form):
        return CERTAIN
    ways = counting_polynomial(form)
    numerator = 0
    for low, high in region.intervals:
        mirror = (form.range - high, form.range - low)
        if mirror in region.intervals and mirror < (low, high):
            continue  # counts are symmetric: this tail was added with its mirror image
        part = int(sum((ways[i] for i in range(low, high + 1)), flint.fmpz(0)))
        numerator += 2 * part if mirror in region.intervals and mirror != (low, high) else part
    return from_fraction(int(numerator), form.nonzero)


def counting_polynomial(form: CanonicalForm) -> flint.fmpz_poly:
    """prod_j (1 + x**v_j) ** c_j; the smallest two factors are multiplied first."""
    queue: list[tuple[int, int, flint.fmpz_poly]] = []
    for weight, count in zip(form.weights.tolist(), form.counts.tolist(), strict=True):
        factor = (flint.fmpz_poly([1, 1]) ** count).inflate(weight)
        queue.append((weight * count, len(queue), factor))
    heapq.heapify(queue)
    while len(queue) > 1:
        size, order, first = heapq.heappop(queue)
        other, _, second = heapq.heappop(queue)
        heapq.heappush(queue, (size + other, order, first * second))
    return queue[0][2] if queue else flint.fmpz_poly([1])
