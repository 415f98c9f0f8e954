"""The exact p-values of many tests, kept as data: tests cross between processes by pickling."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from ..record import Fraction2


class Fractions(Protocol):
    """The exact p-value of the i-th test, or None where it is not known; picklable."""

    def __call__(self, test: int, /) -> Fraction | None:
        """See the class."""
        ...


class Attained(Protocol):
    """The largest attainable p-value of the i-th test that is at most x, 0 if there is none; picklable."""

    def __call__(self, test: int, x: Fraction, /) -> Fraction:
        """See the class."""
        ...


@dataclass(frozen=True, slots=True)
class Listed:
    """Fractions that came with the answers."""

    values: tuple[Fraction2 | None, ...]

    def __call__(self, test: int) -> Fraction | None:
        """See `Fractions`."""
        value = self.values[test]
        return None if value is None else Fraction(value.numerator, 1 << value.log2_denominator)


@dataclass(frozen=True, slots=True)
class JoinedFractions:
    """Those of consecutive runs of tests; `starts` are the positions of their first ones."""

    parts: tuple[Fractions, ...]
    starts: tuple[int, ...]

    def __call__(self, test: int) -> Fraction | None:
        """See `Fractions`."""
        part = part_of(self.starts, test)
        return self.parts[part](test - self.starts[part])


@dataclass(frozen=True, slots=True)
class JoinedAttained:
    """Those of consecutive runs of tests; `starts` are the positions of their first ones."""

    parts: tuple[Attained, ...]
    starts: tuple[int, ...]

    def __call__(self, test: int, x: Fraction) -> Fraction:
        """See `Attained`."""
        part = part_of(self.starts, test)
        return self.parts[part](test - self.starts[part], x)


def part_of(starts: Sequence[int], test: int) -> int:
    """Which run of tests holds one; of runs with the same start, the last one, as the others are empty."""
    return bisect_right(starts, test) - 1
