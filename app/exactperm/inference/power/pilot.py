"""Data that is there already, a pilot: power given the sizes of its differences."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from ...answers.power import PowerMethod
from ...answers.test import Alternative
from ...engine.plan import Cost
from ...engine.power.paired_binary import ROUNDING, PairedBinary
from ...engine.power.parts import resized
from ...engine.power.tilted_sum import (
    SEARCH,
    LevelTest,
    Rejection,
    laws_cost,
    mean as mean_of,
    power,
    rejection,
    tilt_of_mean,
    tilt_of_power,
)
from ...errors import InvalidTest
from .design import Needed
from .sizes import EXACT_LAW, ROUGH_LAW, Sizes, quick

# Beyond so many items nothing is searched.
MOST_ITEMS = 10_000_000
# Power of few sizes goes up and down: so many numbers below the one found are tried, again below what they find, and all below the
# last of these.
_LOOK_BACK, _LOOKS_BACK, _FEW_SIZES, _ALL_BELOW = 24, 20, 64, 64
# Of one size, up to so many times the number found it is tried to prove that all from there on have the power.
_MOST_PROVEN = 4
# An effect this much beyond the sizes is rounding.
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class PilotDesign:
    """A test's own sizes; of another number of items the same mixture. A law of theirs may take `most` nanoseconds."""

    sizes: Sizes
    test: LevelTest
    most: int = EXACT_LAW
    _sizes: dict[int, Sizes] = field(default_factory=dict, repr=False)
    _rejections: dict[int, Rejection | None] = field(default_factory=dict, repr=False)

    own_effect = None

    @property
    def own_n(self) -> int:
        """The pilot's items."""
        return self.sizes.items

    @property
    def rough(self) -> PilotDesign:
        """The same with rounded sizes: for curves, and to begin a search."""
        return replace(self, most=ROUGH_LAW, _sizes={}, _rejections={})

    def method_at(self, n: int) -> PowerMethod:
        """See `Design`."""
        return self.sizes_at(n).method

    def power(self, n: int, size: float) -> float:
        """See `Design`; raises InvalidTest for a size that the pilot's differences cannot have."""
        sizes, rejects = self.sizes_at(n), self._rejects(n)
        most = max(sizes.largest, self.sizes.largest) if self.sizes.grows == "mean" else sizes.largest
        if size > most * (1.0 + _ROUNDING):
            detail = f"With all differences on one side it is {most:.6g}: the effect is at most that."
            raise InvalidTest.at("/effect", "effect_too_large", detail)
        if rejects is None:
            return 0.0
        tilt = tilt_of_mean(sizes.form, size / sizes.scale)
        return 1.0 if tilt is None else power(sizes.form, rejects.region, tilt)

    def detectable(self, n: int, power: float) -> float | None:
        """See `Design`."""
        sizes, rejects = self.sizes_at(n), self._rejects(n)
        tilt = None if rejects is None else tilt_of_power(sizes.form, rejects.region, power)
        return None if tilt is None else mean_of(sizes.form, tilt) * sizes.scale

    def needed(self, size: float, power: float) -> Needed | None:
        """See `Design`: found by bisection, on rounded sizes first; of more than one size no number is proven to be the last."""
        if size == 0.0:
            return None
        if self.sizes.grows == "sum":
            detail = "A sum grows with the items, and so would the effect: ask for mean_difference, whose effect does not."
            raise InvalidTest.at("/solve", "not_available", detail)
        start = _least(_reaching(self.rough, size, power), self.own_n)
        reaches = _reaching(self, size, power)
        high = None if start is None else _least(reaches, start)
        if high is None:
            return None
        if len(self.sizes.form.weights) > _FEW_SIZES:
            return Needed(high, None)
        for _ in range(_LOOKS_BACK):
            first = 1 if high <= _ALL_BELOW else high - _LOOK_BACK
            before = next((n for n in range(first, high) if reaches(n)), None)
            if before is None:
                break
            high = before
        return Needed(high, self._always(high, size, power))

    def _always(self, found: int, size: float, power: float) -> int | None:
        """The first number from which on all have the power, where all differences are of one size; else None.

        Then k of the n items differ, each of them for the better system with chance q, 1/2 more where the size is all of it. A
        test of k or more such items has at least the power of the randomised test of k at the least of their levels
        (`paired_binary`), with the least q that any number from n on has. Downwards from where that proves it.
        """
        form = self.sizes.form
        if (
            len(form.weights) != 1
            or self.sizes.grows != "mean"
            or self.test.mid
            or not self.sizes.method.exact
        ):
            return None
        # q - 1/2 for each item that differs, of one item in all.
        ahead = size / (self.sizes.scale * self.sizes.items * float(form.weights[0]))
        proven, gap = found, max(found // 100, 1)
        while True:
            # k <= share n + 1 + share / 2, as units and those that differ are rounded.
            share = form.nonzero / form.items
            most = form.nonzero / self.sizes.items + (1.0 + 0.5 * share) / proven
            flips, differ = self._flips(ahead / most), self._differ(proven)
            level = flips.least_level_from(differ)
            if level > 0.0 and flips.randomised_power(differ, level) - 2.0 * ROUNDING >= power:
                break
            proven, gap = proven + gap, 2 * gap
            if proven > _MOST_PROVEN * found:
                return None
        while proven > found:
            differ = self._differ(proven - 1)
            if differ == 0 or self._flips(ahead * (proven - 1) / differ).power(differ) < power:
                break
            proven -= 1
        return proven

    def _differ(self, n: int) -> int:
        """How many of n items differ."""
        return resized(self.sizes.form, self.sizes.units(n)).nonzero

    def _flips(self, ahead: float) -> PairedBinary:
        """Items that all differ, for the better system with chance 1/2 + `ahead`."""
        p10 = min(0.5 + ahead, 1.0)
        side: Alternative = "two-sided" if self.test.two_sided else "greater"
        return PairedBinary(p10, 1.0 - p10, self.test.alpha, side)

    def critical(self, n: int) -> float | None:
        """See `Design`."""
        sizes, rejects = self.sizes_at(n), self._rejects(n)
        return None if rejects is None else (rejects.least - sizes.form.range / 2.0) * sizes.scale

    def actual_alpha(self, n: int) -> float:
        """See `Design`."""
        rejects = self._rejects(n)
        return 0.0 if rejects is None else rejects.level

    def cost(self, n: int, *, solved: bool) -> Cost:
        """What the power of n items takes, or, `solved`, the effect that they find; raises InvalidTest."""
        laws = 1 + SEARCH * solved
        return laws_cost(self.sizes_at(n).form, self.test, laws, meets=self.most > ROUGH_LAW)

    def sizes_at(self, n: int) -> Sizes:
        """The sizes of n items, rounded where their law would take too long; raises InvalidTest."""
        if n not in self._sizes:
            self._sizes[n] = quick(self.sizes if n == self.own_n else self._resized(n), self.most)
        return self._sizes[n]

    def _rejects(self, n: int) -> Rejection | None:
        if n not in self._rejections:
            self._rejections[n] = rejection(self.sizes_at(n).form, self.test)
        return self._rejections[n]

    def _resized(self, n: int) -> Sizes:
        if self.sizes.grows is None:
            detail = f"How this statistic changes with the number of items is not known: leave n out, for the {self.own_n} of the pilot."
            raise InvalidTest.at("/n", "only_own_n", detail)
        return self.sizes.of(n)


def _reaching(design: PilotDesign, size: float, power: float) -> Callable[[int], bool]:
    """Whether a number of items has the power; each is asked once."""
    known: dict[int, bool] = {}

    def reaches(n: int) -> bool:
        if n not in known:
            known[n] = design.power(n, size) >= power
        return known[n]

    return reaches


def _least(reaches: Callable[[int], bool], start: int) -> int | None:
    """A number that reaches it, the one before it not, by steps that double from `start` on, and bisection."""
    low, high, step = start - 1, start, 1
    if reaches(start):
        while low > 0 and reaches(low):
            high, low, step = low, max(low - step, 0), 2 * step
    else:
        while not reaches(high):
            low, high, step = high, high + step, 2 * step
            if low >= MOST_ITEMS:
                return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if reaches(middle) else (middle, high)
    return high
