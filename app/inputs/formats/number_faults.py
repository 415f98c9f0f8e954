"""What to say of a text that is no number: which it is, where it is, and what to write instead."""

from __future__ import annotations

import re

from ..quoting import quoted

# 1,234 is 1234 to some and 1.234 to others; 0,125 is no number with a thousands separator.
EITHER = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")
THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(?:[,.'’ \u00a0\u202f]\d{3})+(?:[.,]\d+)?")
COMMA = re.compile(r"[+-]?\d{0,30},\d{1,30}(?:[eE][+-]?\d{1,3})?")
PERCENT = re.compile(r"[+-]?(?:\d[\d.,]{0,30}|[.,]\d{1,30}) ?%")
SHEET_ERROR = re.compile(r"#[A-Z0-9/]{2,12}[!?]")
SPREAD = re.compile(r"\d\s*(?:±|\+/-|\\pm\b|\(\d)")
INFINITY = re.compile(r"[+-]?inf(inity)?", re.IGNORECASE)
NOTHING = frozenset(("-", "--", "---", "–", "—", "?", ".", "*", "nil", "missing", "undefined"))
VERDICTS = frozenset(
    (
        "t", "f", "yes", "no", "y", "n", "pass", "passed", "fail", "failed", "right", "wrong", "correct", "incorrect", "c", "i",
        "win", "loss",
    )
)  # fmt: skip


def sentence(text: str, pointer: str, *, comma: bool, percent: bool) -> str:
    """One sentence or two; `comma` and `percent` say how the other numbers are written."""
    why = _why(text.removesuffix("%").rstrip() if percent else text, text, comma=comma, percent=percent)
    return f"{_place(pointer)}{quoted(text)} is not a finite number.{why and ' '}{why}"


def _place(pointer: str) -> str:
    """`/files/u/line/3/2` in words."""
    file, _, line = pointer.rpartition("/line/")
    number, _, field = line.partition("/")
    if not number.isdigit():
        return ""
    below = f", field {field}" if field.isdigit() else ""
    return f"{file.removeprefix('/files/') + ', ' if file else ''}line {number}{below}: "


def _why(text: str, whole: str, *, comma: bool, percent: bool) -> str:
    if percent and not whole.endswith("%") and any(map(str.isdigit, whole)):
        return "Other scores have a percent sign: write it in all lines, or in none."
    if comma and "." in text:
        return "With decimal commas a point would separate thousands: leave it out."
    if not comma and EITHER.fullmatch(text):
        return (
            "The comma may separate thousands or decimals: leave it out if it separates thousands; else write a point, or give "
            "`decimal=comma`."
        )
    if THOUSANDS.fullmatch(text):
        return "Thousands separators are not read: leave them out."
    if not comma and COMMA.fullmatch(text):
        return "Decimal commas are read with `decimal=comma`, in all numbers alike; else write 0.5, not 0,5."
    if not percent and PERCENT.fullmatch(text):
        return "Percent signs are not read here: leave them out, in all lines."
    if SPREAD.search(text):
        return "A mean with its deviation is an average and no item: give the scores of the items, or of the runs, each on its own line."
    if SHEET_ERROR.fullmatch(text):
        return "It is an error of a spreadsheet: mend its cell; or leave it empty if there is no score."
    folded = text.lower()
    if folded in NOTHING:
        return "If there is no value, leave the field empty, or write NA."
    if folded in VERDICTS:
        return "Write 1 and 0, or true and false."
    if text.startswith("−"):
        return "A minus is written as a hyphen."
    if INFINITY.fullmatch(text):
        return "Infinite scores have no mean."
    return "Labels have statistics of their own, such as accuracy (`statistic`)." if text.isalpha() else ""
