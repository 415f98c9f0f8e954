"""What Tango's test of a margin could have found: its power is summed over all tables, with as many discordant items as were seen."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy import special

from ...engine.lattice import Integers, Reals
from ..record import SensitivityRecord
from .margin import TangoTest

# A number of discordant items further off than so many standard deviations has a probability below 1e-16.
_FAR = 8.5
_STEPS = 50
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
            spread = _FAR * math.sqrt(items * share * (1.0 - share)) + 15.0
            low, high = (
                max(0, math.floor(items * share - spread)),
                min(items, math.ceil(items * share + spread)),
            )
            discordant = np.arange(low, high + 1)
            wins = np.array([items + 1 if (own := least(int(d))) is None else own for d in discordant])
            chance = 0.5 if share == 0.0 else min(1.0, max(0.0, (1.0 + difference / share) / 2.0))
            tails = np.where(wins > discordant, 0.0, special.bdtrc(wins - 1.0, discordant, chance))
            tails = np.where(wins == 0, 1.0, tails)
            return float((_binomial(discordant, items, share) * tails).sum())

        low, high = 0.0, 1.0 - margin
        if power(high) < self.power:
            return self._record(critical, None)
        for _ in range(_STEPS):
            middle = (low + high) / 2.0
            low, high = (low, middle) if power(middle) >= self.power else (middle, high)
        return self._record(critical, high)

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


def _binomial(counts: Integers, items: int, share: float) -> Reals:
    """The probabilities of these counts."""
    if share in {0.0, 1.0}:
        return np.where(counts == items * share, 1.0, 0.0)
    logs = (
        special.gammaln(items + 1.0)
        - special.gammaln(counts + 1.0)
        - special.gammaln(items - counts + 1.0)
        + counts * math.log(share)
        + (items - counts) * math.log1p(-share)
    )
    chances: Reals = np.exp(logs)
    return chances
