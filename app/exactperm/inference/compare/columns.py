"""Tests one by one, and parts of them, as the columns of `PairTests`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...answers.test import Fraction2
from ...engine.probability import SMALLEST
from ..p_value import Answer
from .exact_values import Joined, Listed
from .pair_tests import PairTests
from .sum_values import Null, SumValues

# Rounding of a logarithm and of what it is the logarithm of.
_ROUNDING = 2.0**-51


@dataclass(frozen=True, slots=True)
class PairTest:
    """One test, as `PairTests` has it in columns."""

    u: int
    v: int
    n: int
    wins: int
    ties: int
    losses: int
    difference: float
    sign: int
    p: float
    p_low: float
    p_high: float
    log10_p: float
    log10_low: float
    log10_high: float
    attainable: float
    method: str
    exact: bool
    sampled: bool
    fraction: Fraction2 | None
    notes: tuple[tuple[str, str], ...] = ()
    null: Null | None = None


def from_rows(rows: Sequence[PairTest], *, two_sided: bool = True) -> PairTests:
    """The columns of single tests; with what p-values are attainable where all rows have their null."""
    nulls = tuple(row.null for row in rows if row.null is not None)
    values = SumValues(nulls, two_sided) if rows and len(nulls) == len(rows) else None
    columns: dict[str, Any] = {
        name: np.array([getattr(row, name) for row in rows], dtype=kind) for name, kind in _KINDS.items()
    }
    return PairTests(
        **columns,
        method=tuple(row.method for row in rows),
        fraction=Listed(tuple(row.fraction for row in rows)),
        attained=None if values is None else values.attained,
        null_key=None if values is None else values.null_key,
        support=None if values is None else values.support,
        notes=tuple((at, *note) for at, row in enumerate(rows) for note in row.notes),
    )


_KINDS: dict[str, Any] = {
    **dict.fromkeys(("u", "v", "n", "wins", "ties", "losses", "sign"), np.int64),
    **dict.fromkeys(("difference", "p", "p_low", "p_high", "log10_p", "log10_low", "log10_high"), np.float64),
    "attainable": np.float64,
    "exact": np.bool_,
    "sampled": np.bool_,
}


def concatenated(parts: Sequence[PairTests]) -> PairTests:
    """The tests of all parts of a board, or of several boards, in their order; what they know of their nulls where all do.

    `u` and `v` remain positions in their own boards.
    """
    if len(parts) == 1:
        return parts[0]
    starts = tuple(np.cumsum([0, *(len(part) for part in parts)]).tolist()[:-1])
    columns: dict[str, Any] = {
        name: np.concatenate([getattr(part, name) for part in parts]) for name in _KINDS
    }
    notes = (
        (start + at, *rest) for part, start in zip(parts, starts, strict=True) for at, *rest in part.notes
    )
    return PairTests(
        **columns,
        method=tuple(name for part in parts for name in part.method),
        fraction=Joined(tuple(part.fraction for part in parts), starts),
        attained=_joined([part.attained for part in parts], parts, starts),
        null_key=_joined([part.null_key for part in parts], parts, starts),
        support=_joined([part.support for part in parts], parts, starts),
        notes=tuple(notes),
    )


def _joined(functions: Sequence[Any], parts: Sequence[PairTests], starts: tuple[int, ...]) -> Any:
    """One function for all tests, where all parts that are not empty have it."""
    known = all(function is not None for function, part in zip(functions, parts, strict=True) if len(part))
    return Joined(tuple(functions), starts) if known else None


def log10_bounds(answer: Answer) -> tuple[float, float]:
    """Certified bounds of log10 p, rounded outward, also where p underflows; of a sample, those of its interval."""
    log10, error = answer.log10_p_value, answer.relative_error_bound
    rounding = _ROUNDING * (1.0 + abs(log10))
    low, high = answer.bounds
    if answer.monte_carlo is not None or error is None:
        bottom = _log10(low) - rounding if low > 0.0 else -math.inf
        return min(bottom, log10), min(max(_log10(high) + rounding, log10), 0.0)
    if error == 0.0 and log10 == 0.0:
        return 0.0, 0.0
    bottom = log10 + math.log10(1.0 - error) - rounding if error < 1.0 else -math.inf
    top = log10 + math.log10(1.0 + error) + rounding
    return bottom, min(top, 0.0)


def _log10(p: float) -> float:
    return math.log10(max(p, SMALLEST))


def require_all(tests: PairTests) -> None:
    """Raise ArithmeticError, which is a fault of the service, when a p-value is none, or not within its bounds."""
    inside = (
        (tests.p > 0.0)
        & (tests.p_low <= tests.p)
        & (tests.p <= tests.p_high)
        & (tests.p_high <= 1.0)
        & (tests.p_low >= 0.0)
        & (tests.log10_low <= tests.log10_p)
        & (tests.log10_p <= tests.log10_high)
        & (tests.log10_high <= 0.0)
        & (tests.sampled | ~(tests.log10_high < tests.attainable - 1e-2))
    )
    if not inside.all():
        at = int(np.argmin(inside))
        raise ArithmeticError(f"a p-value without a certificate: test {at} has p = {tests.p[at]!r}")
