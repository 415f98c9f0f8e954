"""What is known exactly of many tests, kept as data: tests cross between processes by pickling."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ...answers.test import Fraction2


@dataclass(frozen=True, slots=True)
class Listed:
    """Fractions that came with the answers, None where there was none."""

    values: tuple[Fraction2 | None, ...]

    def __call__(self, test: int) -> Fraction | None:
        """The exact p-value of one test."""
        value = self.values[test]
        return None if value is None else Fraction(value.numerator, 1 << value.log2_denominator)


@dataclass(frozen=True, slots=True)
class Joined:
    """A function of consecutive runs of tests; `starts` are the positions of their first ones.

    Of runs with the same start all but the last are empty.
    """

    parts: tuple[Callable[..., Any], ...]
    starts: tuple[int, ...]

    def __call__(self, test: int, *rest: Any) -> Any:
        """What the test's own run says of it."""
        part = bisect_right(self.starts, test) - 1
        return self.parts[part](test - self.starts[part], *rest)
