"""Nothing known but a standard deviation: the normal approximation."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

from scipy import special

from ...answers.power import PowerMethod
from ...answers.test import Alternative
from ...engine.root import root
from .design import Needed

METHOD = PowerMethod(
    "normal",
    False,
    "The standard deviation of an item's difference; the mean is taken as normal, so that this is approximate.",
)
MOST_ITEMS = 10**12


@dataclass(frozen=True, slots=True)
class NormalDesign:
    """`sd` is the standard deviation of one item's difference."""

    sd: float
    alpha: float
    alternative: Alternative

    own_n = None
    own_effect = None

    @property
    def rough(self) -> Self:
        """Itself: every point of a curve is as exact."""
        return self

    @property
    def _tails(self) -> float:
        return 2.0 if self.alternative == "two-sided" else 1.0

    @property
    def _z(self) -> float:
        return -float(special.ndtri(self.alpha / self._tails))

    def method_at(self, n: int) -> PowerMethod:
        """See `Design`."""
        return METHOD

    def power(self, n: int, size: float) -> float:
        """See `Design`."""
        return self._found(size * math.sqrt(n) / self.sd)

    def _found(self, shift: float) -> float:
        power = float(special.ndtr(shift - self._z))
        return power + float(special.ndtr(-shift - self._z)) if self.alternative == "two-sided" else power

    def _shift(self, power: float) -> float:
        """The standardised difference that has the power."""
        if self._found(0.0) >= power:
            return 0.0
        return root(lambda shift: self._found(shift) - power, 0.0, 100.0, tolerance=1e-13)

    def detectable(self, n: int, power: float) -> float | None:
        """See `Design`."""
        return self._shift(power) * self.sd / math.sqrt(n)

    def needed(self, size: float, power: float) -> Needed | None:
        """See `Design`."""
        if size == 0.0:
            return None
        root_n = self._shift(power) * (self.sd / size)
        if root_n > math.sqrt(MOST_ITEMS):
            return None
        n = max(math.ceil(root_n**2 * (1.0 - 1e-12)), 1)
        return Needed(n, n)

    def critical(self, n: int) -> float | None:
        """See `Design`."""
        return self._z * self.sd / math.sqrt(n)

    def actual_alpha(self, n: int) -> float:
        """See `Design`."""
        return self.alpha
