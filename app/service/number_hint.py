"""How to write a number that was written for people: 2%, 0,05, 1,000 or "0.05" in JSON."""

from __future__ import annotations

import re
from decimal import Decimal

MOST_CHARS = 20
PERCENT = re.compile(r"([+-]?\d+(?:[.,]\d+)?)\s*%")
THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(?:,\d{3})+")
COMMA = re.compile(r"[+-]?\d+,\d+")
POINT = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,2})?")


def number_hint(value: object, *, whole: bool) -> str:
    """A sentence after " " that says what to write instead; empty where that is not certain.

    >>> number_hint("2%", whole=False), number_hint("0,05", whole=False), number_hint("1e4", whole=True)
    (' Write 0.02.', ' Write 0.05, with a point.', ' Write 10000.')
    """
    text = str(value).strip() if isinstance(value, str | float) else ""
    if len(text) > MOST_CHARS or not text.isascii():
        return ""
    if whole:
        number = text.replace(",", "") if THOUSANDS.fullmatch(text) else text
        exact = Decimal(number) if POINT.fullmatch(number) else None
        return "" if exact is None or exact != int(exact) else f" Write {int(exact)}{_quotes(value, text)}."
    if percent := PERCENT.fullmatch(text):
        return f" Write {_plain(Decimal(percent[1].replace(',', '.')) / 100)}."
    if THOUSANDS.fullmatch(text):
        return " Write decimals with a point, and nothing between thousands."
    if COMMA.fullmatch(text):
        return f" Write {text.replace(',', '.')}, with a point."
    return f" Write {text}{_quotes(value, text)}." if POINT.fullmatch(text) else ""


def _quotes(value: object, text: str) -> str:
    """Only JSON has quotes: a field or a parameter that is a number as it stands is read as one."""
    return ", without quotes" if isinstance(value, str) and re.fullmatch(r"[+-]?\d+(?:\.\d+)?", text) else ""


def _plain(number: Decimal) -> str:
    return f"{number.normalize():f}"
