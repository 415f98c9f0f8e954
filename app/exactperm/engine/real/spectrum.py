"""The characteristic function of X at the non-negligible frequencies of a circle.

phi(k) = E exp(2 pi i k X / P) = prod_j (cos a_j + i tau_j sin a_j) ** c_j with a_j = 2 pi k d_j / P, d_j the halves of
the form. All but a few dozen frequencies are negligible. Proving that is expensive, so it is done for whole blocks of
frequencies: over a block the angle of a light item moves little, and its factor is at most its value at the nearest
point. Blocks that a few dozen items do not prove negligible are halved.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ..lattice import Integers, Reals
from ..probability import UNIT_ROUNDOFF
from .form import RealForm
from .tilt import RealTilt

# Trigonometric polynomials above and below a truncated exponential on a circle.
#
# Beurling's and Selberg's majorant and minorant of an interval, generalised to f(y) = exp(-theta y) on
# 0 <= y < Y: with theta = 0 they are Selberg's, built from Vaaler's polynomial (Montgomery 1994, *Ten
# Lectures*, ch. 1); a positive theta keeps small p-values sharp. On the line, the extremal majorant M and
# minorant m of exponential type 2 pi of exp(-x) at x >= 0 agree with it at the integers, and so do their
# derivatives except at zero (Graham & Vaaler 1981, *A class of extremal functions for the Fourier
# transform*, Trans. AMS 265). With q = exp(-lambda - 2 pi i u), 0 < u < 1, their transforms are
#
#     M^(u) = (1 - u) / (1 - q) - i lambda / (2 pi) (1 / (exp(lambda) - 1) - q / (1 - q))
#     m^(u) = M^(u) - (1 - u)
#
# and M - m is Fejer's kernel (sin(pi x) / (pi x))**2, so that the price of a degree J is the mass that the
# kernel sees around the edge, one (J+1)-th of the circle. Wrapping M and m around the circle gives
# polynomials of degree J; the edge at Y is the same, weighted with exp(-theta Y).


Complexes = NDArray[np.complex128]


@dataclass(frozen=True, slots=True)
class Sawtooth:
    """exp(-decay y) on 0 <= y < length and zero on the rest of a circle of circumference one."""

    decay: float
    length: float

    def coefficients(self, degree: int, frequencies: Integers, *, above: bool) -> tuple[float, Complexes]:
        """Return c_0 and the c_k of `frequencies`, 0 < k <= degree, (F,), in the polynomial sum c_k exp(2 pi i k y).

        The majorant if `above`, else the minorant.
        """
        nodes = degree + 1
        spacing = self.decay / nodes
        at_end = math.exp(-self.decay * self.length)
        lower, upper = _edges(spacing, frequencies / nodes)
        here, there = (upper, lower) if above else (lower, upper)
        turns = np.remainder(frequencies * self.length, 1.0)
        line = (here - at_end * np.exp(-2j * np.pi * turns) * there) / nodes
        return self._mean(nodes, spacing, at_end, above=above), line

    def _mean(self, nodes: int, spacing: float, at_end: float, *, above: bool) -> float:
        area = nodes * self.length
        if self.decay > 0.0:
            area = math.expm1(-self.decay * self.length) / math.expm1(-spacing)
        # The nodes of the sum are 0, 1, ...; the majorant includes the node at zero, the minorant does not.
        return (area + (at_end if above else -1.0)) / nodes

    @staticmethod
    def largest(degree: int) -> float:
        """Bound the sum of |c_k| over both signs of k; |m^(u)| and |M^(u)| are below 1 / u."""
        return 4.0 * (1.0 + math.log(degree + 1))


def _edges(spacing: float, u: Reals) -> tuple[Complexes, Complexes]:
    """Return the transforms of m and of M at 0 < u < 1."""
    shrink = math.exp(-spacing)
    q = shrink * np.exp(-2j * np.pi * u)
    # 1 - q without cancellation: its real part is a sum of positive terms.
    missing = -math.expm1(-spacing) + shrink * 2.0 * np.sin(np.pi * u) ** 2 - 1j * q.imag
    flat = spacing * shrink / -math.expm1(-spacing) if spacing > 0.0 else 1.0
    tangent = flat - spacing * q / missing
    slopes = (-0.5j / np.pi) * tangent
    return (1.0 - u) * (q / missing) + slopes, (1.0 - u) / missing + slopes


# The characteristic function


_Scalar = TypeVar("_Scalar", np.float64, np.complex128)

# Over a block, the angle of an item may move by this much to either side of the middle, in half-turns.
_LEEWAY = 0.1
# An item contributes log(2 / (1 + tau)) on average to -log|phi|; over a block less than half of that.
_MARGIN = 2.5
_MAX_GROUPS = 256
_FIRST_CHUNK, _CHUNK = 1 << 10, 1 << 15
# Elementary steps of a screening, fixed and per block; each factor takes one more. Checked with `price`.
_PER_SCREEN, _PER_BLOCK = 4_000, 8
# The least number of blocks to screen at once, even with few steps left; fewer make no progress.
_LEAST_BLOCKS = 64
_AT_ONCE = 1 << 13
MOST_AT_ONCE = 1 << 17
# Elementary steps of evaluating a factor fully, and of the rest for a retained frequency.
_EVALUATION, _RETAINED = 10, 64


@dataclass(frozen=True)
class Circle:
    """X of `form` under the tilted `law`, wrapped onto a circle of circumference `period`."""

    form: RealForm
    law: RealTilt
    period: float

    @cached_property
    def half_turns(self) -> Reals:
        """2 d_j / P, the angle of each item per frequency in half-turns, shape (U,), ascending."""
        return np.asarray(2.0 * self.form.halves / self.period)

    @cached_property
    def worth(self) -> Reals:
        """-log|factor| of each group, averaged over angles: c_j log(2 / (1 + tau_j)), shape (U,)."""
        return np.asarray(-self.form.counts * np.log1p(-0.5 * (1.0 - self.law.tau)))

    @cached_property
    def moments(self) -> tuple[Reals, Reals]:
        """Sums of 8 c sech2 h**2 and 16 c sech2 h**4 over the lightest 0, 1, ... U groups, h the half-turns."""
        squares = np.square(self.half_turns)
        second = 8.0 * self.form.counts * self.law.sech2 * squares
        return _running(second), _running(2.0 * second * squares)

    def level(self, below: float) -> int:
        """Return the largest level whose typical blocks, of 2**level frequencies, the light items prove negligible.

        Negligible means a modulus below exp(-below). -1 if all items together do not prove that of one frequency.
        """
        total = np.cumsum(self.worth)
        if total[-1] < below:
            return -1
        index = int(np.searchsorted(total, _MARGIN * below))
        if index >= len(total):
            return 0
        return max(math.floor(math.log2(2.0 * _LEEWAY / float(self.half_turns[index]))), 0)


@dataclass(frozen=True, slots=True)
class Retained:
    """All frequencies below `stop` not proved negligible, ascending, and the steps taken."""

    frequencies: Integers
    stop: int
    steps: int

    def first(self, most: int) -> Retained:
        """Keep the first `most` of them, with the corresponding `stop`."""
        if len(self.frequencies) <= most:
            return self
        return Retained(self.frequencies[:most], int(self.frequencies[most]), self.steps)


def retained(circle: Circle, first: int, stop: int, below: float, most: int, steps: int) -> Retained:
    """Return the frequencies in [first, stop) whose |phi| may exceed exp(-below).

    The search stops early, at a smaller `stop`, before there are more than `most` of them or after about `steps`
    elementary steps.
    """
    level = min(circle.level(below), stop.bit_length())  # one block is enough, however light the items
    if level < 0 or first >= stop:
        stop = max(min(stop, first + most), first)
        return Retained(np.arange(first, stop, dtype=np.int64), stop, stop - first)
    parts = [np.zeros(0, dtype=np.int64)]
    reached, used, kept, size = first, 0, 0, _FIRST_CHUNK
    while reached < stop and used < steps and kept <= most:
        end = min(reached + (size << level), stop)
        part = _retained_in(circle, range(reached, end, 1 << level), below, steps - used)
        parts.append(part.frequencies)
        reached, used, kept = part.stop, used + part.steps, kept + len(part.frequencies)
        size = min(2 * size, _CHUNK)
    return Retained(np.concatenate(parts), reached, used).first(most)


def _retained_in(circle: Circle, starts: range, below: float, steps: int) -> Retained:
    """Search neighbouring blocks, of a length equal to the step of `starts`; fewer where `steps` are few."""
    blocks, stop = np.arange(starts.start, starts.stop, starts.step, dtype=np.int64), starts.stop
    used, most_groups = 0, min(len(circle.half_turns), _MAX_GROUPS)
    for level in range(starts.step.bit_length() - 1, -1, -1):
        affordable = max((steps - used) // (_PER_BLOCK + most_groups), _LEAST_BLOCKS)
        if len(blocks) > affordable:
            stop, blocks = int(blocks[affordable]), blocks[:affordable]
        blocks, spent = _screen(circle, blocks, level, stop, below)
        used += spent
        if level:
            blocks = np.stack((blocks, blocks + (1 << (level - 1))), axis=1).reshape(-1)
            blocks = blocks[blocks < stop]
    return Retained(blocks, stop, used)


def _screen(circle: Circle, blocks: Integers, level: int, stop: int, below: float) -> tuple[Integers, int]:
    """Return the blocks [b, b + 2**level) not proved negligible, and the steps taken."""
    wide = 0.5 * ((1 << level) - 1)
    turns = circle.half_turns
    steps = _PER_SCREEN + _PER_BLOCK * len(blocks)
    blocks = blocks[_smooth_decay(circle, blocks, 1 << level) < 2.0 * below + 1e-6]
    light = len(turns) if level == 0 else int(np.searchsorted(turns, _LEEWAY / wide, side="right"))
    useful = np.flatnonzero(circle.worth[:light] > 0.05 * circle.form.counts[:light])[::-1][:_MAX_GROUPS]
    # Rounding of k * turn, for every k below `stop`.
    leeway = turns * (wide + 2.0**-50 * stop)
    limit = math.exp(-2.0 * below) * (1.0 - 1e-9)
    left: list[Integers] = []
    for start in range(0, len(blocks), _AT_ONCE):
        part = blocks[start : start + _AT_ONCE]
        modulus2 = np.ones(len(part))
        first = 0
        while first < len(useful) and len(part):
            batch = useful[first : first + max(_AT_ONCE // len(part), 4)]
            modulus2 *= _bound(circle, np.add(part, wide, dtype=np.float64), batch, leeway)
            steps += len(part) * len(batch)
            first += len(batch)
            kept = modulus2 >= limit
            if np.count_nonzero(kept) < 0.9 * len(part):
                part, modulus2 = part[kept], modulus2[kept]
        left.append(part[modulus2 >= limit])
    return np.concatenate(left) if left else blocks, steps


def evaluation_steps(form: RealForm) -> int:
    """Return the elementary steps of evaluating phi at a retained frequency."""
    return _EVALUATION * len(form.halves) + _RETAINED


def _smooth_decay(circle: Circle, blocks: Integers, length: int) -> Reals:
    """Bound -log |phi|**2 below over each block, from the items with t < 1/2, t their angle in half-turns.

    For them 1 - |factor|**2 >= sech2 (8 t**2 - 16 t**4), which grows up to t = 1/2: the block's first
    frequency is the worst, and all items together need two sums.
    """
    second, fourth = circle.moments
    light = np.searchsorted(circle.half_turns, 0.499 / (blocks + length), side="right")
    square = np.square(blocks.astype(np.float64))
    return np.asarray(square * (second[light] - square * fourth[light]) * (1.0 - 1e-8))


def _running(terms: Reals) -> Reals:
    return np.concatenate(([0.0], np.cumsum(terms)))


def _bound(circle: Circle, centre: Reals, batch: NDArray[np.intp], leeway: Reals) -> Reals:
    """Bound prod |factor|**2 above for a batch of groups within `leeway` of each centre, shape (F,).

    |factor|**2 = 1 - sech2 sin(pi t)**2, and cos(pi t) <= 1 - 4 t**2 for t in [0, 1/2].
    """
    t = np.multiply.outer(circle.half_turns[batch], centre)
    t -= np.rint(t)
    np.abs(t, out=t)
    t -= leeway[batch, None]
    np.maximum(t, 0.0, out=t)
    t *= t
    missing = 8.0 * t
    missing *= 1.0 - 2.0 * t
    missing *= circle.law.sech2[batch, None]
    factors = np.subtract(1.0, missing, out=missing)
    counts = circle.form.counts[batch]
    if counts.max() > 1:
        factors **= counts[:, None]
    return np.asarray(np.multiply.reduce(factors, axis=0))


def characteristic(circle: Circle, frequencies: Integers) -> tuple[Complexes, Reals]:
    """Return phi(k) and a bound on its absolute error, shape (F,) each.

    Every factor has modulus and derivative at most one, so errors of angles and factors add up.
    """
    turns, counts = circle.form.halves / circle.period, circle.form.counts
    phi = np.empty(len(frequencies), dtype=np.complex128)
    block = max(MOST_AT_ONCE // max(len(turns), 1), 1)
    for start in range(0, len(frequencies), block):
        angle = np.multiply.outer(turns, frequencies[start : start + block].astype(np.float64))
        angle -= np.rint(angle)
        angle *= 2.0 * np.pi
        if circle.law.theta == 0.0:
            phi[start : start + block] = _power_product(np.cos(angle), counts)
        else:
            factors = np.cos(angle) + 1j * (circle.law.tau[:, None] * np.sin(angle))
            phi[start : start + block] = _power_product(factors, counts)
    along = 8.0 * np.pi * float(np.dot(counts, turns)) * frequencies.astype(np.float64)
    return phi, UNIT_ROUNDOFF * (along + (16.0 * circle.form.nonzero + 64.0))


def _power_product(factors: NDArray[_Scalar], counts: Integers) -> NDArray[_Scalar]:
    """Return prod_j factors[j] ** counts[j], by the binary digits of the counts."""
    product = np.multiply.reduce(factors[counts & 1 == 1], axis=0)
    squared = factors
    for bit in range(1, int(counts.max()).bit_length()):
        squared = squared * squared
        product = product * np.multiply.reduce(squared[(counts >> bit) & 1 == 1], axis=0)
    return np.asarray(product)
