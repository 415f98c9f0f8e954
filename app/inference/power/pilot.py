"""Data that is there already, a pilot: power given the sizes of its differences."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...engine.lattice import CanonicalForm
from ...engine.power.tilted_sum import (
    Rejection,
    mean as mean_of,
    power,
    rejection,
    resized,
    tilt_of_mean,
    tilt_of_power,
)
from ...errors import InvalidTest
from ..options import Alternative
from .design import Needed
from .record import PowerMethod
from .sizes import Sizes, rounded

# Beyond so many items nothing is searched.
MOST_ITEMS = 10_000_000
# Power goes up and down: so many numbers below the one found are tried.
_LOOK_BACK = 24


@dataclass(frozen=True, slots=True)
class PilotDesign:
    """A test's own sizes; of another number of items the same mixture."""

    sizes: Sizes
    alpha: float
    alternative: Alternative
    _known: dict[int, tuple[CanonicalForm, Rejection | None]] = field(default_factory=dict, repr=False)

    own_effect = None

    @property
    def method(self) -> PowerMethod:
        """See `Design`."""
        return self.sizes.method

    @property
    def own_n(self) -> int:
        """The pilot's items."""
        return self.sizes.items

    def power(self, n: int, size: float) -> float:
        """See `Design`; 1 where the sizes cannot have so large a difference."""
        form, rejects = self._of(n)
        if rejects is None:
            return 0.0
        tilt = tilt_of_mean(form, size / self.sizes.scale(n))
        return 1.0 if tilt is None else power(form, rejects.region, tilt)

    def detectable(self, n: int, power: float) -> float | None:
        """See `Design`."""
        form, rejects = self._of(n)
        tilt = None if rejects is None else tilt_of_power(form, rejects.region, power)
        return None if tilt is None else mean_of(form, tilt) * self.sizes.scale(n)

    @property
    def rough(self) -> PilotDesign:
        """The same with rounded sizes: for curves, and to begin a search."""
        return PilotDesign(rounded(self.sizes), self.alpha, self.alternative)

    def needed(self, size: float, power: float) -> Needed | None:
        """See `Design`: found by bisection, on rounded sizes first; no number is proven to be the last."""
        if size == 0.0:
            return None
        rough = self.rough
        low, high = 0, self.own_n
        while rough.power(high, size) < power:
            low, high = high, 2 * high
            if low >= MOST_ITEMS:
                return None
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if rough.power(middle, size) >= power else (middle, high)
        while self.power(high, size) < power:
            high += 1
        while high > 1 and self.power(high - 1, size) >= power:
            high -= 1
        if rough.sizes is not self.sizes:
            return Needed(high, None)
        # Few sizes: power goes up and down with the number of items.
        before = range(max(high - _LOOK_BACK, 1), high)
        return Needed(next((n for n in before if self.power(n, size) >= power), high), None)

    def critical(self, n: int) -> float | None:
        """See `Design`."""
        form, rejects = self._of(n)
        return None if rejects is None else (rejects.least - form.range / 2.0) * self.sizes.scale(n)

    def actual_alpha(self, n: int) -> float:
        """See `Design`."""
        rejects = self._of(n)[1]
        return 0.0 if rejects is None else rejects.level

    def _of(self, n: int) -> tuple[CanonicalForm, Rejection | None]:
        known = self._known.get(n)
        if known is None:
            form = self.sizes.form if n == self.own_n else self._resized(n)
            side: Alternative = "two-sided" if self.alternative == "two-sided" else "greater"
            known = self._known[n] = form, rejection(form, self.alpha, side)
        return known

    def _resized(self, n: int) -> CanonicalForm:
        if self.sizes.grows is None:
            detail = f"How this statistic changes with the number of items is not known: leave n out, for the {self.own_n} of the pilot."
            raise InvalidTest.at("/n", "only_own_n", detail)
        units = max(round(n * self.sizes.form.items / self.own_n), 1)
        return resized(self.sizes.form, units)
