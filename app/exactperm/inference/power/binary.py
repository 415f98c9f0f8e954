"""Right or wrong items before there are any: unconditional power of the exact paired test (McNemar's)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Self

from ...answers.power import PowerMethod
from ...answers.test import Alternative
from ...engine.power.paired_binary import OutOfReachError, PairedBinary, detectable_difference, sample_size
from ...errors import InvalidTest
from .design import Needed

METHOD = PowerMethod(
    "unconditional_binomial",
    True,
    "The probabilities that only one of the systems is right on an item; how many such items there will be is averaged over.",
)
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class BinaryDesign:
    """`discordant` is the probability that exactly one system is right; it is held fixed when the difference varies."""

    discordant: float
    difference: float
    alpha: float
    alternative: Alternative

    own_n = None

    @property
    def own_effect(self) -> float:
        """p10 - p01."""
        return self.difference

    @property
    def rough(self) -> Self:
        """Itself: every point of a curve is as exact."""
        return self

    def method_at(self, n: int) -> PowerMethod:
        """See `Design`."""
        return METHOD

    def power(self, n: int, size: float) -> float:
        """See `Design`."""
        return self._of(size).power(n)

    def detectable(self, n: int, power: float) -> float | None:
        """See `Design`."""
        try:
            return detectable_difference(
                self.discordant, n, power, alpha=self.alpha, alternative=self.alternative
            )
        except OutOfReachError:
            return None

    def needed(self, size: float, power: float) -> Needed | None:
        """See `Design`."""
        try:
            found = sample_size(self._of(size), power)
        except OutOfReachError:
            return None
        return Needed(found.smallest, found.always)

    def critical(self, n: int) -> float | None:
        """With the number of discordant items that is expected of n."""
        wins = self._of(0.0).critical_wins(n)
        return None if wins is None else wins / n

    def actual_alpha(self, n: int) -> float:
        """See `Design`."""
        return self._of(0.0).level(n)

    def _of(self, size: float) -> PairedBinary:
        if size > self.discordant * (1.0 + _ROUNDING):
            raise InvalidTest.at(
                "/effect",
                "effect_too_large",
                f"The systems differ on {self.discordant:g} of the items, so that the difference is at most that.",
            )
        p01 = max((self.discordant - size) / 2.0, 0.0)
        side: Alternative = "two-sided" if self.alternative == "two-sided" else "greater"
        return PairedBinary(self.discordant - p01, p01, self.alpha, side)


def as_written(first: float, second: float, sign: int) -> float:
    """The sum or the difference of two decimals: 0.83 - 0.8 is 0.03."""
    return float(Fraction(repr(first)) + sign * Fraction(repr(second)))


def from_accuracies(
    u: float, v: float, discordance: float | None, correlation: float | None
) -> tuple[float, float]:
    """(p10, p01) of two accuracies and the discordance, or the correlation of being right.

    Raises InvalidTest where no two systems can be so.
    """
    difference = as_written(u, v, -1)
    if discordance is None:
        assert correlation is not None
        both = u * v + correlation * math.sqrt(u * (1.0 - u) * v * (1.0 - v))
        pointer, detail = "/design/correlation", "No two systems with these accuracies are so correlated."
        p10, p01 = u - both, v - both
        neither = 1.0 - u - v + both
    else:
        pointer = "/design/discordance"
        detail = "No two systems with these accuracies differ on so many items, or on so few."
        p10, p01 = (discordance + difference) / 2.0, (discordance - difference) / 2.0
        both, neither = u - p10, 1.0 - u - p01
    if min(p10, p01, both, neither) < -_ROUNDING:
        raise InvalidTest.at(pointer, "not_attainable", detail)
    return max(p10, 0.0), max(p01, 0.0)
