"""Numbers in pictures: few digits, below each other, and still on the right side of what they are compared with."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from itertools import pairwise

from ...answers.board import PairRecord
from ...presentation.numbers import exactly, number

MINUS = "\N{MINUS SIGN}"
SIGNIFICANT, MOST_DECIMALS = 3, 9
LONGEST_SHARE = 6  # decimals of a number that is not written as a power of ten
UNDERFLOW = -99.0


def aligned(scores: Sequence[float]) -> list[str]:
    """Scores with equally many decimals: three significant digits, more where neighbours would look the same."""
    largest = max(map(abs, scores), default=0.0)
    magnitude = math.floor(math.log10(largest)) if largest > 0.0 else 0
    if -SIGNIFICANT <= magnitude <= SIGNIFICANT + 3:
        first = max(0, SIGNIFICANT - 1 - max(magnitude, -1))
        for decimals in range(first, MOST_DECIMALS + 1):
            texts = [_fixed(score, decimals) for score in scores]
            near = zip(pairwise(scores), pairwise(texts), strict=True)
            if all((one == other) == (text == beside) for (one, other), (text, beside) in near):
                return texts
    return [number(score).replace("-", MINUS) for score in scores]


def short_p(pair: PairRecord, alpha: float, digits: int = 2) -> str:
    """An adjusted p-value in two digits, unless these would be on the other side of alpha, or 1 where it is less."""
    p = pair.p_adjusted
    if pair.log10_p_adjusted < UNDERFLOW:
        return f"<1e{MINUS}99"
    for some in (digits, digits + 1, digits + 2):
        text = f"{p:.{some}g}"
        shown = float(text)
        if (shown <= alpha) == (p <= alpha) and (shown < 1.0) == (p < 1.0):
            return _power(text)
    return "<1" if p > max(alpha, 0.5) else f"{'<' if p <= alpha else '>'}{limit_text(alpha)}"


def limit_text(limit: float) -> str:
    """A bound of p-values in decimals, as a power of ten where it would be long."""
    text = f"{Decimal(repr(limit)):f}"
    return text if len(text) <= LONGEST_SHARE + 2 else _power(exactly(limit))


def _fixed(value: float, decimals: int) -> str:
    text = f"{value:.{decimals}f}"
    return text.removeprefix("-") if float(text) == 0.0 else text.replace("-", MINUS)


def _power(text: str) -> str:
    """1e-07 as 1e-7, with a real minus sign."""
    return text.replace("e-0", "e-").replace("-", MINUS)
