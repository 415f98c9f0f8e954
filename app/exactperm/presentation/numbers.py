"""Numbers for people. (JSON has the shortest decimals that survive a round trip.)

Six significant digits, and more where rounding would be wrong: a printed p-value is on the same side of alpha and of
the usual levels as the value itself, two different scores look different, and only zero is written 0. A sampled p-value
shows only the digits that its interval supports, or what that takes. The page (`web/page/numbers.js`) and R
(`p_digits` in `openapi/clients/r/R/test.R`) keep the same rules; `tests/unit/reports/test_levels.py` compares them.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

SMALLEST_WRITTEN = 1e-300
MINUS = "\N{MINUS SIGN}"
LEVELS = (0.05, 0.01)  # usual levels, to or across which rounding must not move a p-value

_DIGITS = 6
_ALL_DIGITS = 17
_LARGEST_WHOLE = 1e15
_LONGEST_SHARE = 6  # decimals of a number not written as a power of ten
_UNDERFLOW = -99.0


def number(value: float, *landmarks: float, digits: int = _DIGITS) -> str:
    """At least `digits` significant digits, and enough to compare with each landmark as `value` does."""
    for enough in range(digits, _ALL_DIGITS):
        text = _rounded(value, enough)
        if stands(float(text), value, *landmarks):
            return text
    return exactly(value)


def exactly(value: float) -> str:
    """The shortest decimal of this double, as a caller wrote it."""
    return repr(float(value)).removesuffix(".0")


def probability(p: float, log10_p: float, *landmarks: float, digits: int = _DIGITS) -> str:
    """A p-value; a power of ten if it is too small for a double, 1 only for 1. Landmarks are above 1e-300."""
    if p >= SMALLEST_WRITTEN:
        return p_number(p, *landmarks, digits=digits)
    exponent = math.floor(log10_p)
    mantissa = f"{10 ** (log10_p - exponent):.4g}"
    if mantissa == "10":
        mantissa, exponent = "1", exponent + 1
    return f"{mantissa}e{exponent}"


def p_number(p: float, *landmarks: float, digits: int = _DIGITS) -> str:
    """A p-value that a double holds, on its own side of 1, the usual levels and the landmarks."""
    return number(p, 1.0, *LEVELS, *landmarks, digits=digits)


def short_p(p: float, log10_p: float, alpha: float, digits: int = 2) -> str:
    """A p-value in two digits, or up to two more; `<0.05` where these would not be on its side of alpha, a usual level or 1."""
    if log10_p < _UNDERFLOW:
        return f"<1e{MINUS}99"
    for some in (digits, digits + 1, digits + 2):
        text = f"{p:.{some}g}"
        if stands(float(text), p, alpha, 1.0, *LEVELS):
            return _power(text)
    near = min((alpha, 1.0, *LEVELS), key=lambda level: abs(level - p))
    return f"{'<' if p < near else '>' if p > near else ''}{limit_text(near) if near < 1.0 else 1}"


def limit_text(limit: float) -> str:
    """A bound of p-values in decimals, or as a power of ten if that is shorter."""
    text = f"{Decimal(repr(limit)):f}"
    return text if len(text) <= _LONGEST_SHARE + 2 else _power(exactly(limit))


def known_digits(p: float, bounds_kind: str, low: float, high: float) -> int:
    """The number of significant digits worth printing; for a sampled p-value down to a tenth of its interval's width.

    >>> known_digits(0.2643256, "confidence", 0.26332, 0.26534), known_digits(0.2643256, "certified", 0.26332, 0.26534)
    (4, 6)
    """
    if bounds_kind != "confidence" or not (p > 0.0 and high > low):
        return _DIGITS
    digits = math.floor(math.log10(p)) - math.floor(math.log10(high - low)) + 2
    return min(max(digits, 1), _DIGITS)


def apart(first: float, second: float) -> tuple[str, str]:
    """Two numbers with enough digits to see which is larger."""
    for digits in range(_DIGITS, _ALL_DIGITS):
        texts = _rounded(first, digits), _rounded(second, digits)
        if _order(float(texts[0]), float(texts[1])) == _order(first, second):
            return texts
    return exactly(first), exactly(second)


def enclosing(low: float, high: float, *landmarks: float) -> tuple[str, str]:
    """The ends of a certified bracket: rounded outwards, on their own sides of the landmarks."""
    return _outwards(low, ROUND_FLOOR, landmarks), _outwards(high, ROUND_CEILING, landmarks)


def enclosing_p(low: float, high: float, *landmarks: float) -> tuple[str, str]:
    """The ends of a bracket of a p-value, on their own sides of the usual levels and the landmarks."""
    return enclosing(low, high, *LEVELS, *landmarks)


def stands(shown: float, value: float, *landmarks: float) -> bool:
    """Whether a rounded number compares with each landmark as the value does."""
    return all(_order(shown, landmark) == _order(value, landmark) for landmark in landmarks)


def percent(share: float) -> str:
    """A confidence level: 0.95 is 95 %, and only 1 is 100 %."""
    return f"{number(float(Decimal(repr(float(share))) * 100), 0.0, 100.0)} %"


def counted(count: int, noun: str) -> str:
    """A count with its noun: 1 item, 2,077 items."""
    return f"{count:,} {noun if count == 1 else noun + 's'}"


def _outwards(value: float, rounding: str, landmarks: tuple[float, ...]) -> str:
    for digits in range(_DIGITS, _ALL_DIGITS - 1):
        shown = float(Context(prec=digits, rounding=rounding).create_decimal(repr(float(value))))
        if math.isfinite(shown) and stands(shown, value, *landmarks):
            return number(shown) if digits == _DIGITS else exactly(shown)
    return exactly(value)


def _rounded(value: float, digits: int) -> str:
    """Rounded to `digits` significant digits; whole numbers in full."""
    if value.is_integer() and abs(value) < _LARGEST_WHOLE:
        return str(int(value))
    return f"{value:.{digits}g}"


def _power(text: str) -> str:
    """1e-07 as 1e-7, with a real minus sign."""
    return text.replace("e-0", "e-").replace("-", MINUS)


def _order(left: float, right: float) -> int:
    return (left > right) - (left < right)


def signed(value: float) -> str:
    """A difference with its sign."""
    return f"+{number(value)}" if value > 0 else number(value)
