"""What Tango's test of a margin could have found: its power is summed over all tables, with as many discordant items as were seen."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np

from ...engine.power.paired_binary import binomial_masses, lower_tail
from ...engine.root import root
from ..record import SensitivityRecord
from .margin import TangoTest

# Numbers of discordant items within so many standard deviations of the expected one are looked at.
_FAR = 8.5
_TOLERANCE = 1e-12
_SECONDS_PER_TABLE = 8e-6
METHOD = "tango_score"


@dataclass(frozen=True, slots=True)
class TangoSensitivity:
    """The test of the gate, and the question; not exact, as the test is not, and the share of discordant items is the observed one."""

    test: TangoTest
    power: float
    alpha: float

    @property
    def seconds(self) -> float:
        """Predicted time: a search among the tables of every number of discordant items."""
        items = self.test.table.items
        return _SECONDS_PER_TABLE * (2 * _FAR * math.sqrt(items) + 30) * math.log2(items + 2)

    def solve(self) -> SensitivityRecord:
        """Both numbers count from the margin on, in the direction of the test."""
        table = self.test.table
        items, sign = table.items, 1 if self.test.question.alternative == "greater" else -1
        margin = sign * float(self.test.proportion)
        seen = (table.only_u + table.only_v) / items
        least = cache(self._least)
        found = least(table.only_u + table.only_v)
        critical = None if found is None else (2 * found - table.only_u - table.only_v) / items - margin

        def power(beyond: float) -> float:
            difference = margin + beyond
            share = min(1.0, max(seen, abs(difference)))
            first, masses = binomial_masses(items, share)
            discordant = np.arange(first, first + len(masses))
            least_wins = [least(one) for one in discordant.tolist()]
            most_losses = np.array(
                [-1 if own is None else d - own for d, own in enumerate(least_wins, first)]
            )
            losing = 0.5 if share == 0.0 else (1.0 - difference / share) / 2.0
            return float((masses * lower_tail(most_losses, discordant, min(max(losing, 0.0), 1.0))).sum())

        widest = 1.0 - margin
        if power(widest) < self.power:
            return self._record(critical, None)
        if power(0.0) >= self.power:  # the test is asymptotic: its level may be above alpha
            return self._record(critical, 0.0)
        return self._record(
            critical, root(lambda beyond: power(beyond) - self.power, 0.0, widest, tolerance=_TOLERANCE)
        )

    def _record(self, critical: float | None, detectable: float | None) -> SensitivityRecord:
        whole = float(self.test.table.all_right)
        critical, detectable = (None if one is None else one * whole for one in (critical, detectable))
        return SensitivityRecord(self.power, critical, detectable, METHOD, exact=False)

    def _least(self, discordant: int) -> int | None:
        """The fewest items that only the tested side has right, of so many discordant ones, for p <= alpha; None if all do not do."""
        if not self._rejects(discordant, discordant):
            return None
        low, high = -1, discordant
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self._rejects(middle, discordant) else (middle, high)
        return high

    def _rejects(self, wins: int, discordant: int) -> bool:
        upwards = self.test.question.alternative == "greater"
        u, v = (wins, discordant - wins) if upwards else (discordant - wins, wins)
        return self.test.tail(u, v)[0] <= self.alpha
