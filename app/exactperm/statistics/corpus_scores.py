"""BLEU and chrF of a corpus from the sums of its segments' statistics, fast with error bounds and exactly.

Both are what sacrebleu computes from the same sums (Post 2018), on its scale of 0 to 100.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import flint
import numpy as np

from ..engine.lattice import Integers, Reals
from .approximation import Approximation
from .exact_value import Exact, ball, minus
from .gradient import Tangent, combined
from .quantity import Quantity
from .state_cost import StateCost

BLEU_ORDERS = 4
_U = 2.0**-52
# Of one corpus score, by the number of n-gram orders; see `state_cost`.
_FILTER_NS, _FILTER_ORDER_NS = 8.0, 10.0
_BALL_NS, _BALL_ORDER_NS, _LAST_BALL_NS = 6_000.0, 6_000.0, 35_000.0


@dataclass(frozen=True)
class Difference(Quantity):
    """score(x_0 .. x_{m-1}) - score(x_m .. x_{2m-1}): system U's score minus system V's."""

    score: Quantity

    def approximate(self, sums: Sequence[Integers]) -> Approximation:
        """See `quantity.Quantity`."""
        half = len(sums) // 2
        u, v = self.score.approximate(sums[:half]), self.score.approximate(sums[half:])
        value = u.value - v.value
        return Approximation(value, u.error + v.error + _U * np.abs(value))

    def value_at(self, row: Sequence[int], *, last: bool) -> Exact | None:
        """See `quantity.Quantity`."""
        half = len(row) // 2
        if row[:half] == row[half:]:
            return Fraction(0)
        u, v = (self.score.value_at(part, last=last) for part in (row[:half], row[half:]))
        return None if u is None or v is None else minus(u, v)

    def cost(self, peaks: Sequence[int]) -> StateCost:
        """See `quantity.Quantity`."""
        one = self.score.cost(peaks[: len(peaks) // 2])
        return StateCost(2.0 * one.filter, one.exact, tuple(2.0 * ball for ball in one.balls))

    def tangent(self, point: Sequence[flint.arb]) -> Tangent | None:
        """See `quantity.Quantity`."""
        half = len(point) // 2
        u, v = (self.score.tangent(part) for part in (point[:half], point[half:]))
        if u is None or v is None:
            return None
        other = Tangent(v.value, {half + index: slope for index, slope in v.slopes.items()})
        return Tangent(u.value - v.value, combined((1, u), (-1, other)))


@dataclass(frozen=True)
class Bleu(Quantity):
    """Corpus BLEU of (sys_len, ref_len, correct_1..4, total_1..4) with exponential smoothing.

    100 BP (prod_n c_n / t_n)^(1/4) (Papineni et al. 2002); the z-th order without a match counts as
    1 / (2^z t_n) (Chen & Cherry 2014, method 3); 0 without any match or with an order that has no n-grams.
    """

    def approximate(self, sums: Sequence[Integers]) -> Approximation:
        """See `quantity.Quantity`."""
        system, reference, *counts = (np.asarray(column, dtype=np.float64) for column in sums)
        correct, total = counts[:BLEU_ORDERS], counts[BLEU_ORDERS:]
        matched: Reals = np.asarray(sum(correct))
        scored = np.asarray(matched > 0) & (system > 0) & (reference >= 0)
        product: Reals = np.asarray(1.0)
        smoothing: Reals = np.asarray(1.0)
        for matched, possible in zip(correct, total, strict=True):
            # A box has rows that no corpus can have, with negative counts: they score 0, as in `value_at`.
            scored = scored & (matched >= 0) & (possible > 0)
            smoothing = np.where(matched == 0, 2.0 * smoothing, smoothing)
            numerator = np.where(matched == 0, 1.0 / smoothing, matched)
            product = product * numerator / np.where(possible > 0, possible, 1.0)
        excess = reference / np.where(system > 0, system, 1.0)
        with np.errstate(invalid="ignore"):
            penalty = np.exp(np.minimum(1.0 - excess, 0.0))
            value = 100.0 * penalty * np.sqrt(np.sqrt(product))
        value = np.where(scored, value, 0.0)
        # 8 operations on the product, each root halving their share; 1 - excess is off by its own rounding.
        error = value * (_U * (24.0 + 4.0 * excess)) + 1e-300
        wrong = ~np.isfinite(value)
        shape = np.broadcast_shapes(*(column.shape for column in sums))
        return Approximation(
            np.broadcast_to(np.where(wrong, 0.0, value), shape), np.where(wrong, np.inf, error)
        )

    def value_at(self, row: Sequence[int], *, last: bool) -> Exact | None:
        """See `quantity.Quantity`."""
        system, reference = row[:2]
        correct, total = row[2 : 2 + BLEU_ORDERS], row[2 + BLEU_ORDERS :]
        if min(row) < 0 or not any(correct) or system == 0 or 0 in total:
            return Fraction(0)
        product, smoothing = Fraction(1), 1
        for matched, possible in zip(correct, total, strict=True):
            smoothing *= 1 if matched else 2
            product *= Fraction(matched, possible) if matched else Fraction(1, smoothing * possible)
        score: flint.arb = 100 * ball(product).sqrt().sqrt()
        if system >= reference:
            return score
        return score * ball(1 - Fraction(reference, system)).exp()

    def cost(self, peaks: Sequence[int]) -> StateCost:
        """See `quantity.Quantity`."""
        return _cost(BLEU_ORDERS)

    def tangent(self, point: Sequence[flint.arb]) -> Tangent:
        """See `quantity.Quantity`; an order without any match has no slope, and 0 has none at all."""
        system, reference = point[:2]
        correct, total = point[2 : 2 + BLEU_ORDERS], point[2 + BLEU_ORDERS :]
        if not any(matched > 0 for matched in correct) or not all(x > 0 for x in (system, *total)):
            return Tangent(flint.arb(0), {})
        product, smoothing = flint.arb(1), 1
        for matched, possible in zip(correct, total, strict=True):
            smoothing *= 1 if matched > 0 else 2
            product *= matched / possible if matched > 0 else 1 / (smoothing * possible)
        score = 100 * product.sqrt().sqrt()
        excess = 1 - reference / system
        if excess < 0:
            score *= excess.exp()
        slopes = {}
        for order, (matched, possible) in enumerate(zip(correct, total, strict=True)):
            if matched > 0:
                slopes[2 + order] = score / (4 * matched)
            slopes[2 + BLEU_ORDERS + order] = -score / (4 * possible)
        if not excess > 0:
            # At equal lengths, the mean of the slopes of both sides.
            share = flint.arb(1) if excess < 0 else flint.arb(0.5)
            slopes[0] = share * score * reference / (system * system)
            slopes[1] = -share * score / system
        return Tangent(score, slopes)


@dataclass(frozen=True)
class Chrf(Quantity):
    """Corpus chrF of (hyp_1..n, ref_1..n, match_1..n): F-beta of mean precision and mean recall over the orders.

    Orders that hypothesis or reference lacks are left out of the means (Popović 2015, in sacrebleu's form).
    """

    orders: int
    beta: Fraction = Fraction(2)

    def approximate(self, sums: Sequence[Integers]) -> Approximation:
        """See `quantity.Quantity`."""
        columns = [np.asarray(column, dtype=np.float64) for column in sums]
        precision, recall, effective = (np.asarray(0.0) for _ in range(3))
        n = self.orders
        for predicted, true, match in zip(columns[:n], columns[n : 2 * n], columns[2 * n :], strict=True):
            both = (predicted > 0) & (true > 0)
            precision = precision + np.where(both, match / np.where(both, predicted, 1.0), 0.0)
            recall = recall + np.where(both, match / np.where(both, true, 1.0), 0.0)
            effective = effective + both
        factor = float(self.beta) ** 2
        below = (factor * precision + recall) * np.maximum(effective, 1.0)
        scored = below > 0.0
        value = 100.0 * (1.0 + factor) * precision * recall / np.where(scored, below, 1.0)
        value = np.where(scored, value, 0.0)
        # Sums of positive terms: every operation adds one rounding at most.
        return Approximation(value, np.abs(value) * (_U * (2.0 * n + 16.0)) + 1e-300)

    def value_at(self, row: Sequence[int], *, last: bool) -> Exact | None:
        """See `quantity.Quantity`."""
        precision, recall, effective = Fraction(0), Fraction(0), 0
        n = self.orders
        for predicted, true, match in zip(row[:n], row[n : 2 * n], row[2 * n :], strict=True):
            if predicted > 0 and true > 0:
                precision += Fraction(match, predicted)
                recall += Fraction(match, true)
                effective += 1
        factor = self.beta**2
        below = (factor * precision + recall) * max(effective, 1)
        return 100 * (1 + factor) * precision * recall / below if below > 0 else Fraction(0)

    def cost(self, peaks: Sequence[int]) -> StateCost:
        """See `quantity.Quantity`."""
        return _cost(self.orders)

    def tangent(self, point: Sequence[flint.arb]) -> Tangent:
        """See `quantity.Quantity`."""
        n, factor = self.orders, ball(self.beta**2)
        used = [k for k in range(n) if point[k] > 0 and point[n + k] > 0]
        precision = sum((point[2 * n + k] / point[k] for k in used), flint.arb(0))
        recall = sum((point[2 * n + k] / point[n + k] for k in used), flint.arb(0))
        below = factor * precision + recall
        if not below > 0:
            return Tangent(flint.arb(0), {})
        scale = 100 * (1 + factor) / len(used)
        by_precision = scale * recall * recall / (below * below)
        by_recall = scale * factor * precision * precision / (below * below)
        slopes = {}
        for k in used:
            predicted, true, match = point[k], point[n + k], point[2 * n + k]
            slopes[k] = -by_precision * match / (predicted * predicted)
            slopes[n + k] = -by_recall * match / (true * true)
            slopes[2 * n + k] = by_precision / predicted + by_recall / true
        return Tangent(scale * precision * recall / below, slopes)


def _cost(orders: int) -> StateCost:
    first = _BALL_NS + _BALL_ORDER_NS * orders
    return StateCost(_FILTER_NS + _FILTER_ORDER_NS * orders, None, (first, first + _LAST_BALL_NS))
