"""Labels that fit: how wide a text is, and names cut in the middle, where they differ least."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache

from ...presentation.escaping import single_line
from .fonts import advance

ELLIPSIS = "\N{HORIZONTAL ELLIPSIS}"
POINTS_PER_INCH = 72.0
WIDE = 1.3  # of the size: emoji, and Han in the reader's fonts; ours has neither
BOLD = 1.14  # of the same text in regular weight
HINTED = 1.05  # letters on whole pixels are a little wider
NAMELESS = "(unnamed)"


def width(text: str, points: float, *, bold: bool = False) -> float:
    """The width in inches, of a size in points; the reader's fonts are not wider than ours."""
    ems = sum(map(_advance, text)) * (BOLD if bold else 1.0)
    return HINTED * ems * points / POINTS_PER_INCH


def widest(texts: Iterable[str], points: float, *, bold: bool = False) -> float:
    """The width of the widest, 0 of none."""
    return max((width(text, points, bold=bold) for text in texts), default=0.0)


def fitted(text: str, points: float, room: float) -> str:
    """A label on one line, cut in the middle until it is at most `room` inches wide."""
    label = single_line(text) or NAMELESS
    most = int(room * POINTS_PER_INCH / (0.2 * points)) + 8  # no visible character is narrower
    if len(label) > most:
        label = label[:most] + label[-most:]
    elif width(label, points) <= room:
        return label
    ems = [_advance(char) for char in label]
    left, right, used = 0, len(label), _advance(ELLIPSIS)
    limit = room * POINTS_PER_INCH / points / HINTED
    while left < right:
        at = left if left <= len(label) - right else right - 1
        if used + ems[at] > limit:
            break
        used += ems[at]
        left, right = (left + 1, right) if at == left else (left, right - 1)
    while right < len(label) and unicodedata.combining(label[right]):
        right += 1  # an accent does not go over to the ellipsis
    return f"{label[:left].rstrip()}{ELLIPSIS}{label[right:].lstrip()}"


def names_fitted(names: Sequence[str], points: float, room: float) -> list[str]:
    """Names that fit, and still differ: those that are cut to the same text get numbers."""
    labels = [fitted(name, points, room) for name in names]
    seen: dict[str, int] = {}
    many = {label for label in labels if labels.count(label) > 1}
    if not many:
        return labels
    for at, label in enumerate(labels):
        if label in many:
            seen[label] = seen.get(label, 0) + 1
            number = f" ({seen[label]})"
            labels[at] = fitted(label, points, room - width(number, points)) + number
    return labels


def wrapped(text: str, points: float, room: float) -> list[str]:
    """Lines of whole words that are at most `room` wide; a longer word is cut in its middle."""
    lines: list[str] = []
    for word in text.split():
        if lines and width(f"{lines[-1]} {word}", points) <= room:
            lines[-1] += f" {word}"
        else:
            lines.append(fitted(word, points, room))
    return lines


@lru_cache(4096)
def _advance(char: str) -> float:
    """The width of a character over the size of the font."""
    if unicodedata.east_asian_width(char) in {"W", "F"}:
        return WIDE
    if unicodedata.combining(char):
        return 0.0
    return advance(char)
