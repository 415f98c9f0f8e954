"""The law of a sum under a tilt: what is listed, and what is on a window (see `parts`)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from scipy import fft as transforms

from ..lattice import CanonicalForm, Integers, Reals, once_per_form
from ..one_sum import fft
from ..one_sum.spectrum import Spectrum, spectrum
from ..one_sum.tilt import tilt_at
from ..probability import UNIT_ROUNDOFF, Region
from .parts import parts_of, states_of

# Tilted mass that a window leaves out; powers are right to about 1e-12.
_OUTSIDE = 1e-16
# Rounding of a cumulative law of a window; of a state's share, in roundoffs.
_CUMULATED, _OF_STATES = 1e-12, 64.0
# States of less than the least double are lost.
_UNDERFLOW = 1e-290
# With fewer frequencies than a point in so many has, single tails are summed over them.
_FEW = 64


class _Light(Protocol):
    """The law of the part that is not listed."""

    def above(self, values: Integers) -> Reals:
        """P(R >= value), shape (M,)."""
        ...

    def below(self, values: Integers) -> Reals:
        """P(R <= value)."""
        ...


@dataclass(frozen=True, slots=True)
class _Nothing:
    """All sizes are listed: R = 0."""

    def above(self, values: Integers) -> Reals:
        return (values <= 0).astype(np.float64)

    def below(self, values: Integers) -> Reals:
        return (values >= 0).astype(np.float64)


@dataclass(frozen=True)
class _Window:
    """The characteristic function of a law on the values `first` to `last`, which hold nearly all of its mass."""

    phi: Spectrum
    first: int
    last: int
    range_: int

    def above(self, values: Integers) -> Reals:
        if len(values) == 1 and len(self.phi.frequencies) * _FEW < self.phi.length:
            return self._contracted(max(int(values[0]), self.first), self.last)
        return self._cumulated[0][np.clip(values - self.first, 0, self.last - self.first + 1)]

    def below(self, values: Integers) -> Reals:
        if len(values) == 1 and len(self.phi.frequencies) * _FEW < self.phi.length:
            return self._contracted(self.first, min(int(values[0]), self.last))
        return self._cumulated[1][np.clip(values - self.first + 1, 0, self.last - self.first + 1)]

    def _contracted(self, start: int, end: int) -> Reals:
        if start > end:
            return np.zeros(1)
        total, _ = fft.contract(self.phi, self.range_, start, end - start + 1, 0.0)
        return np.array([total])

    @cached_property
    def _cumulated(self) -> tuple[Reals, Reals]:
        """P(R >= first + i) and P(R < first + i), i from 0 to the number of values."""
        length, count = self.phi.length, self.last - self.first + 1
        turns = (self.phi.frequencies * ((2 * self.first - self.range_) % (2 * length))) % (2 * length)
        values = np.zeros(length // 2 + 1, dtype=np.complex128)
        angle = self.phi.phase - (math.pi / length) * turns
        # The transform's sign is the other one: conjugates.
        values[self.phi.frequencies] = np.exp(self.phi.log_modulus - 1j * angle)
        # Noise about 0 stays as it is: cut at 0 it would add up.
        masses = transforms.irfft(values, n=length)[:count]
        above, below = np.zeros(count + 1), np.zeros(count + 1)
        above[:-1] = np.cumsum(masses[::-1])[::-1]
        below[1:] = np.cumsum(masses)
        return above, below


@dataclass(frozen=True)
class TiltedLaw:
    """T = H + R: the values of H with their chances, shape (H,), and the law of R."""

    sums: Integers
    chances: Reals
    light: _Light
    range_: int
    # Bounds on the error of a probability: relative to it, and besides.
    relative: float
    absolute: float

    def error(self, found: float) -> float:
        """A bound on the error of a probability that was found."""
        return self.relative * found + self.absolute

    @property
    def is_listed(self) -> bool:
        """Whether every value of T is in the list."""
        return isinstance(self.light, _Nothing)

    def next_sum(self, least: int) -> int:
        """The least value of T from `least` on, all being listed."""
        return int(self.sums[np.searchsorted(self.sums, least)])

    def probability(self, region: Region) -> float:
        """P(T in region)."""
        return min(max(math.fsum(self._interval(*interval) for interval in region.intervals), 0.0), 1.0)

    def _interval(self, low: int, high: int) -> float:
        if low <= 0 and high >= self.range_:
            return 1.0
        if high >= self.range_:
            return self.above(low)
        if low <= 0:
            return self.below(high)
        # The smaller tails, so that little is lost.
        if 2 * low >= self.range_:
            return self.above(low) - self.above(high + 1)
        return self.below(high) - self.below(low - 1)

    def above(self, value: int) -> float:
        """P(T >= value)."""
        if self.is_listed:
            return float(self._from_above[np.searchsorted(self.sums, value)])
        return float(np.dot(self.chances, self.light.above(value - self.sums)))

    def below(self, value: int) -> float:
        """P(T <= value)."""
        if self.is_listed:
            return float(self._from_below[np.searchsorted(self.sums, value, side="right")])
        return float(np.dot(self.chances, self.light.below(value - self.sums)))

    @cached_property
    def _from_above(self) -> Reals:
        return np.append(np.cumsum(self.chances[::-1])[::-1], 0.0)

    @cached_property
    def _from_below(self) -> Reals:
        return np.concatenate([[0.0], np.cumsum(self.chances)])


def tilted_law(form: CanonicalForm, theta: float) -> TiltedLaw:
    """The law of T with the tilt `theta` >= 0."""
    states, light = states_of(form), form.without(parts_of(form).heavy)
    # From the likeliest state on, whose differences to others are exact: sums may be long.
    logs = states.log_ways + theta * states.sums.astype(np.float64)
    peak = int(np.argmax(logs))
    logs = (states.log_ways - states.log_ways[peak]) + theta * (states.sums - states.sums[peak])
    chances = np.exp(logs - logs.max())
    heavy = len(form.weights) - len(light.weights)
    listed = form.nonzero - light.nonzero
    error = UNIT_ROUNDOFF * (_OF_STATES + 2.0 * listed * (heavy + 1))
    if len(light.weights) == 0:
        return TiltedLaw(states.sums, chances / chances.sum(), _Nothing(), form.range, error, _UNDERFLOW)
    law = tilt_at(light, theta)
    first, last = fft.window(light, law, _OUTSIDE)
    phi = spectrum(light, law, _odd_and_smooth(last - first + 1))
    window = _Window(phi, first, last, light.range)
    return TiltedLaw(states.sums, chances / chances.sum(), window, form.range, error, _CUMULATED)


@once_per_form
def null_law(form: CanonicalForm) -> TiltedLaw:
    """That of no tilt, kept."""
    return tilted_law(form, 0.0)


def _odd_and_smooth(least: int) -> int:
    """An odd length that is transformed quickly, at least `least`: a product of 3, 5, 7 and 11."""
    found: int = 3 ** math.ceil(math.log(max(least, 3), 3) + 1e-9)
    elevens = 1
    while elevens < found:
        sevens = elevens
        while sevens < found:
            fives = sevens
            while fives < found:
                length = fives
                while length < least:
                    length *= 3
                found = min(found, length)
                fives *= 5
            sevens *= 7
        elevens *= 11
    return found
