"""Random tests of one sum whose null is counted in integers: weights of every awkward kind, up to some thousand cells."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from random import Random
from typing import Any

METHODS = ("auto", "fft", "dp", "rational", "enumeration", "meet_in_the_middle", "bounds", "monte_carlo")


@dataclass(frozen=True)
class SumCase:
    """Effects, asked about as they are or by their absolute value."""

    stay: list[int]
    swap: list[int] | None
    absolute: bool
    side: str

    @property
    def request(self) -> dict[str, Any]:
        """The body, without a method."""
        body: dict[str, Any] = {"stay": self.stay, "alternative": self.side, "pmf": "none"}
        if self.swap is not None:
            body["swap"] = self.swap
        if self.absolute:
            body["statistic"] = {"expression": "abs(x1)"}
        return body

    def p_value(self) -> Fraction:
        """By counting in how many ways every sum comes about."""
        swap = [-effect for effect in self.stay] if self.swap is None else self.swap
        ways: Counter[int] = Counter({0: 1})
        for one, other in zip(self.stay, swap, strict=True):
            following: Counter[int] = Counter()
            for total, number in ways.items():
                following[total + one] += number
                following[total + other] += number
            ways = following
        observed = sum(self.stay)
        return Fraction(
            sum(number for total, number in ways.items() if self._extreme(total, observed)),
            2 ** len(self.stay),
        )

    def _extreme(self, total: int, observed: int) -> bool:
        if self.absolute:
            total, observed = abs(total), abs(observed)
        if self.side == "two-sided":
            return abs(total) >= abs(observed)
        return total >= observed if self.side == "greater" else total <= observed


def weights(random: Random, items: int) -> list[int]:
    """Magnitudes: small, in powers, one giant among dwarfs, nearly equal, with a common factor, huge and few."""
    kind = random.randrange(7)
    if kind == 0:
        return [random.randint(0, 5) for _ in range(items)]
    if kind == 1:
        return [2 ** random.randint(0, 7) for _ in range(items)]
    if kind == 2:
        return [random.choice([0, 1, 1, 2])] * (items - 1) + [random.randint(50, 500)]
    if kind == 3:
        return [random.randint(97, 103) for _ in range(min(items, 40))]
    if kind == 4:
        factor = random.randint(2, 10**6)
        return [factor * random.randint(0, 9) for _ in range(items)]
    if kind == 5:
        return [random.randint(1, 10**12) for _ in range(min(items, 12))]
    return [round(1.3**power) for power in range(min(items, 30))]


def sum_case(random: Random) -> SumCase:
    """One to 150 items."""
    items = random.choice([1, 2, 3, 5, 8, 13, 40, 150])
    sizes = weights(random, items)
    bias = random.choice([0.5, 0.5, 0.7, 0.95, 1.0])
    stay = [size if random.random() < bias else -size for size in sizes]
    swap = None
    if random.random() < 0.3:
        shift = [random.randint(-3, 3) for _ in stay]
        swap = [step - effect for step, effect in zip(shift, stay, strict=True)]
    return SumCase(stay, swap, random.random() < 0.25, random.choice(["two-sided", "greater", "less"]))
