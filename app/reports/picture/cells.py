"""The cells of a heatmap: which pair is where, and in which of the five steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from ...inference.compare.record import BoardRecord, PairRecord
from ..compare.words import toward
from .figures import limit_text

STEPS = 4  # beyond "not significant": alpha, alpha / 10, alpha / 100, alpha / 1000


@dataclass(frozen=True, slots=True)
class Cell:
    """The pair of the systems at two places: `upper` is better ranked than `lower`.

    `step` is 0 where they do not differ significantly, and up to 4, where the adjusted p-value is at most alpha / 1000.
    `sign` is 1 where the upper one is significantly better, -1 where it is worse, else 0.
    """

    upper: int
    lower: int
    step: int
    sign: int
    pair: PairRecord


def cells_of(board: BoardRecord) -> list[Cell]:
    """A cell for each listed pair."""
    place = {system.name: at for at, system in enumerate(board.systems)}
    limits = limits_of(board.family.alpha)
    return [_cell(place, limits, pair) for pair in board.pairs]


def limits_of(alpha: float) -> list[float]:
    """The largest adjusted p-value of each step from the first significant one: alpha, alpha / 10, ..."""
    return [float(Decimal(repr(alpha)).scaleb(-k)) for k in range(STEPS)]


def limit_texts(alpha: float) -> list[str]:
    """The same in words."""
    return [limit_text(limit) for limit in limits_of(alpha)]


def _cell(place: dict[str, int], limits: Sequence[float], pair: PairRecord) -> Cell:
    upper, lower = sorted((place[pair.u], place[pair.v]))
    first = pair.u if place[pair.u] == upper else pair.v
    _, relation = toward(pair, first)
    sign = {"better": 1, "worse": -1}.get(relation, 0)
    # The relation decides about alpha itself: it knows fractions. Beyond, the upper bound must be below a limit.
    beyond = sum(pair.p_adjusted_bounds[1] <= limit for limit in limits[1:])
    return Cell(upper, lower, (1 + beyond) if sign else 0, sign, pair)
