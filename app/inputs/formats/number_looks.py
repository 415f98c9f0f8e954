"""Whether a text looks like a number, in any way of writing it."""

from __future__ import annotations

from collections.abc import Sequence

from .number_faults import COMMA, INFINITY, PERCENT, THOUSANDS
from .number_text import TRUTH, parsed


def are_data(names: Sequence[str]) -> bool:
    """Whether the first line of a table is no header: a number is in it, or nothing but true and false."""
    return any(is_numeric(name) and name.lower() not in TRUTH for name in names) or all(
        name.lower() in TRUTH for name in names
    )


def is_numeric(text: str) -> bool:
    """Whether a field is a number in any way of writing it that is read, or asked about; or true or false."""
    text = text.strip()
    return (
        parsed(text) is not None
        or text.lower() in TRUTH
        or any(pattern.fullmatch(text) for pattern in (COMMA, THOUSANDS, PERCENT, INFINITY))
    )
