"""Ends for many units on a coarse lattice, from the joint law of a random subset's effect and size.

The law of (sum of sizes, sum of effects) is one two-dimensional transform (`joint.grid.spectrum`), summed along the
effects. G(r) then takes one table entry per size, so the search is cheap and the end an exact fraction.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy import special

from ..joint.form import JointForm, axes_form
from ..joint.grid.box import Box, bounding_box
from ..joint.grid.spectrum import box_probabilities
from ..joint.tilt import untilted
from ..lattice import MAX_TOTAL, Integers, Reals
from ..probability import UNIT_ROUNDOFF
from .subset_means import Approximation, End, Grid, Units, end_of, search

MAX_CELLS = 1 << 22
# Nanoseconds per cell of a transform, of a group at a retained frequency, and of an addition. Fitted by hand to
# measured times; no section of the benchmark checks them.
_TRANSFORM, _RETAINED, _ADDITION = 35, 60, 1.0
_BYTES = 64
_OUTSIDE = 2.0**-48
_FIRST = 2.0**-8


@dataclass(frozen=True, slots=True)
class SubsetLaw:
    """P(size = low[0] + i, effect = low[1] + j) = masses[i, j]; sums of masses have an absolute error up to `error`."""

    masses: Reals
    low: tuple[int, int]
    error: float

    def mirrored(self) -> SubsetLaw:
        """Return the law with the signs of all effects changed."""
        high = self.low[1] + self.masses.shape[1] - 1
        return SubsetLaw(self.masses[:, ::-1], (self.low[0], -high), self.error)


@dataclass(frozen=True, slots=True)
class LawPlan:
    """A law by additions on the whole support (`direct`) or by a transform on a window; its cost with both ends."""

    direct: bool
    box: Box
    nanoseconds: int


def plan(units: Units, most_bytes: int) -> LawPlan | None:
    """Choose the cheaper method for the law; None if it has too many cells for either."""
    form = vectors_of(units)
    window = bounding_box(form, untilted(form), _OUTSIDE)
    candidates = []
    most = min(MAX_CELLS, most_bytes // _BYTES)
    if window.cells <= most:
        counts = units.counts.astype(np.float64)
        # The share of retained frequencies; see `one_sum.spectrum.frequencies`.
        spread = math.pi * math.sqrt(float(np.dot(counts, counts)) / 12.0)
        retained = float(special.ndtr((42.0 + math.log(window.cells) - math.log(2.0) * units.n) / spread))
        each = _TRANSFORM + _RETAINED * len(counts) * retained
        candidates.append(LawPlan(direct=False, box=window, nanoseconds=3_000_000 + int(each * window.cells)))
    shape = tuple(int(x) + 1 for x in form.high - form.low)
    if math.prod(shape) <= most:
        whole = Box(form.low, shape, 0.0)
        each = 1_000_000 + int(units.n * (10_000 + _ADDITION * whole.cells))
        candidates.append(LawPlan(direct=True, box=whole, nanoseconds=each))
    return min(candidates, key=lambda candidate: candidate.nanoseconds, default=None)


def vectors_of(units: Units) -> JointForm:
    """Return the form of (size, effect), every unit in or out of the subset."""
    vectors = np.stack((units.sizes, units.effects), axis=1)
    return axes_form(vectors, units.counts)


def subset_law(units: Units, planned: LawPlan) -> SubsetLaw:
    """Compute the law on its box."""
    return _added(units, planned.box) if planned.direct else _transformed(units, planned.box)


def _transformed(units: Units, box: Box) -> SubsetLaw:
    """Compute the law by one inverse transform, with its error bound."""
    masses, error = box_probabilities(vectors_of(units), box)
    # The sum is rounded as well.
    error = 1.01 * error + 4.0 * UNIT_ROUNDOFF * box.shape[1] + box.outside
    return SubsetLaw(masses, (int(box.low[0]), int(box.low[1])), error)


def _added(units: Units, box: Box) -> SubsetLaw:
    """Add unit by unit on the whole support; terms are positive, so cells have a relative error of n roundings."""
    masses = np.zeros(box.shape)
    row, zero = 0, -int(box.low[1])
    first = last = zero
    masses[0, zero] = 1.0
    for effect, size, count in zip(
        units.effects.tolist(), units.sizes.tolist(), units.counts.tolist(), strict=True
    ):
        for _ in range(count):
            before = 0.5 * masses[: row + 1, first : last + 1]
            masses[: row + 1, first : last + 1] = before
            masses[size : size + row + 1, first + effect : last + effect + 1] += before
            row, first, last = row + size, first + min(effect, 0), last + max(effect, 0)
    error = UNIT_ROUNDOFF * (units.n + 4.0 * box.shape[1] + 4.0)
    return SubsetLaw(masses, (0, int(box.low[1])), error)


@dataclass(frozen=True, slots=True)
class _Cumulative:
    """running[i, j] = P(size = sizes[i], effect <= low + j)."""

    sizes: Integers
    low: int
    running: Reals

    def at_most(self, r: Fraction) -> float:
        """Return G(r)."""
        bound = self.sizes * r.numerator // r.denominator - self.low
        inside = np.flatnonzero(bound >= 0)
        columns = np.minimum(bound[inside], self.running.shape[1] - 1)
        return math.fsum(self.running[inside, columns].tolist())


def lower_end(units: Units, law: SubsetLaw, tail: Fraction) -> End:
    """Return the smallest r that is not rejected, exactly, or a bracket where the law cannot decide."""
    running = np.cumsum(law.masses, axis=1)
    cumulative = _Cumulative(law.low[0] + np.arange(len(running), dtype=np.int64), law.low[1], running)
    approximation = Approximation(units)
    guess = approximation.end(float(tail))
    farthest = max(abs(guess) + 40.0 * approximation.error, abs(float(units.observed))) + 1.0
    room = MAX_TOTAL // (math.ceil(farthest) * max(units.total_size, 1))
    bits = min(max(room.bit_length() - 1, 0), (4 * units.total_size**2).bit_length())
    grid = Grid(Fraction(1, 1 << bits))
    target = float(tail)

    def side(index: int) -> int:
        r = grid.at(index)
        if abs(r) > farthest:
            return 0
        probability = cumulative.at_most(r)
        slack = law.error + 2.0 * UNIT_ROUNDOFF * target
        return -1 if probability + slack < target else 1 if probability - slack > target else 0

    spread = round(Fraction(approximation.error * _FIRST) / grid.step)
    low, high = search(units, grid, side, guess, spread=spread)
    return end_of(units, grid.at(low), grid.at(high))
