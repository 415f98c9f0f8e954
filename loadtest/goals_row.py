"""Hold one line of the table of goals."""

from __future__ import annotations

from typing import NamedTuple


class Row(NamedTuple):
    """A goal, its limit, the measurement, whether it is met, and how it was measured."""

    goal: str
    asked: str
    measured: str
    met: bool
    how: str


def row(
    goal: str, measured: float, unit: str, *, most: float | None = None, least: float | None = None, how: str
) -> Row:
    """A goal with a limit, at most or at least."""
    limit, sign = (most, "<=") if most is not None else (least, ">=")
    assert limit is not None
    met = measured <= limit if most is not None else measured >= limit
    return Row(goal, f"{sign} {limit:,.4g} {unit}".strip(), f"{measured:,.4g} {unit}".strip(), met, how)
