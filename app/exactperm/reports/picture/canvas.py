"""A sheet of paper in inches from its top left corner, on which pictures are laid out by hand, as SVG.

Every mark may have a sentence, which a reader of the SVG sees when pointing at it. Texts stay texts, and the same
picture is the same bytes everywhere.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape

from ...presentation.escaping import single_line
from .fonts import FAMILIES
from .labels import POINTS_PER_INCH, width, wrapped

Point = tuple[float, float]
Box = tuple[float, float, float, float]  # left, top, right, bottom

MARGIN = 0.18
LEAST_WIDTH = 6.4
TITLE, TEXT, SMALL = 13.0, 9.0, 8.0  # points
LINE = 0.165  # inches between the lines of small text
# From the middle of a line of text, or its top or bottom, to its base, over its size.
BASE = {"center": 0.36, "top": 0.93, "bottom": -0.24}
HATCH = 3.2  # points from line to line
# No XML document may hold these (XML 1.0, section 2.2).
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_ANCHORS = {"left": "start", "center": "middle", "right": "end"}


def xml(text: str) -> str:
    """A text inside an element."""
    return escape(_FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", text))


def _length(inches: float) -> str:
    """Inches as points, in as few digits as they need."""
    return f"{inches * POINTS_PER_INCH:.5f}".rstrip("0").rstrip(".")


class Canvas:
    """A picture of `width` by `height` inches called `name`; `printable` replaces what its font cannot draw."""

    def __init__(
        self, width: float, height: float, paper: str, name: str, printable: Callable[[str], str] = str
    ) -> None:
        self.width, self.height, self.name = width, height, name
        self._paper, self._printable = paper, printable
        self._marks: list[str] = []
        self._hatches: dict[tuple[str, str], str] = {}

    def text(
        self,
        x: float,
        y: float,
        text: str,
        *,
        color: str,
        size: float = TEXT,
        across: str = "left",
        up: str = "center",
        bold: bool = False,
        turned: bool = False,
        behind: str = "",
        say: str = "",
    ) -> None:
        """A text of one line or several; `across` and `up` say which of its points is at (x, y).

        It reads upwards where it is `turned`, and has a ground of the colour `behind` it.
        """
        if not text:
            return
        rows = list(map(self._printable, text.split("\n")))
        pitch = 1.2 * size / POINTS_PER_INCH
        first = y - pitch * (len(rows) - 1) * {"top": 0.0, "center": 0.5, "bottom": 1.0}[up]
        base = first + BASE[up] * size / POINTS_PER_INCH
        if behind:
            wide = max(width(row, size, bold=bold) for row in rows)
            left = x - wide * {"left": 0.0, "center": 0.5, "right": 1.0}[across]
            top, bottom = (
                base - 0.8 * size / POINTS_PER_INCH,
                base + (0.25 * size / POINTS_PER_INCH) + pitch * (len(rows) - 1),
            )
            self.boxes([(left - 0.02, top, left + wide + 0.02, bottom)], color=behind, opacity=0.75)
        style = f"font-size: {size:g}px; text-anchor: {_ANCHORS[across]}; fill: {color}"
        style += "; font-weight: bold" if bold else ""
        turn = f' transform="rotate(-90 {_length(x)} {_length(y)})"' if turned else ""
        for row, content in enumerate(rows):
            place = f'x="{_length(x)}" y="{_length(base + pitch * row)}"'
            self._add(f'<text {place}{turn} style="{style}">{xml(content)}</text>', say)

    def line(
        self,
        points: Sequence[Point],
        *,
        color: str,
        linewidth: float = 1.0,
        dashes: str = "",
        fill: str = "none",
        say: str = "",
    ) -> None:
        """Straight lines from point to point; a shape where they have a `fill`."""
        style = f"fill: {fill}; stroke: {color}; stroke-width: {linewidth:g}"
        style += f"; stroke-dasharray: {dashes}" if dashes else ""
        self._path([points], style, say, closed=fill != "none")

    def lines(
        self, segments: Iterable[tuple[Point, Point]], *, color: str, linewidth: float = 1.0, say: str = ""
    ) -> None:
        """Many separate lines as one path."""
        self._path(list(segments), f"fill: none; stroke: {color}; stroke-width: {linewidth:g}", say)

    def boxes(
        self, boxes: Iterable[Box], *, color: str, edge: float = 0.0, opacity: float = 1.0, say: str = ""
    ) -> None:
        """Many rectangles as one path, with an `edge` of so many points."""
        parts = [((x0, y0), (x1, y0), (x1, y1), (x0, y1)) for x0, y0, x1, y1 in boxes]
        self.shapes(parts, color=color, edge=edge, opacity=opacity, say=say)

    def shapes(
        self,
        parts: Sequence[Sequence[Point]],
        *,
        color: str,
        edge: float = 0.0,
        opacity: float = 1.0,
        say: str = "",
    ) -> None:
        """Many filled outlines as one path."""
        style = f"fill: {color}"
        style += f"; stroke: {color}; stroke-width: {edge:g}; stroke-linejoin: miter" if edge else ""
        style += f"; opacity: {opacity:g}" if opacity < 1.0 else ""
        self._path(parts, style, say, closed=True)

    def dot(self, x: float, y: float, *, color: str, fill: str, size: float = 5.5, say: str = "") -> None:
        """A round mark of so many points."""
        place = f'cx="{_length(x)}" cy="{_length(y)}" r="{size / 2:g}"'
        self._add(f'<circle {place} style="fill: {fill}; stroke: {color}; stroke-width: 1.2"/>', say)

    def hatched(self, ground: str, lines: str) -> str:
        """A fill of slanted lines on a ground."""
        name = self._hatches.setdefault((ground, lines), f"{self.name}-hatch{len(self._hatches) or ''}")
        return f"url(#{name})"

    def title(self, title: str, subtitle: str, *, ink: str, soft: str) -> float:
        """Title and subtitle at the top; the height of what is below them."""
        room = self.width - 2 * MARGIN
        y = MARGIN + 0.1
        for row in title_lines(title, room):
            self.text(MARGIN, y, row, color=ink, size=TITLE, bold=True)
            y += 0.23
        for row in wrapped(subtitle, SMALL, room):
            self.text(MARGIN, y, row, color=soft, size=SMALL)
            y += LINE
        return y

    def notes(self, y: float, sentences: Sequence[str], *, color: str) -> None:
        """Sentences below the picture, each on lines of its own."""
        for row in note_lines(sentences, self.width):
            self.text(MARGIN, y, row, color=color, size=SMALL)
            y += LINE

    def svg(self, title: str, description: str, style: str = "") -> str:
        """The picture as one element, whose ids all begin with its name, with words for those who cannot see it."""
        wide, high = _length(self.width), _length(self.height)
        patterns = "".join(
            f'<pattern id="{name}" patternUnits="userSpaceOnUse" width="{HATCH}" height="{HATCH}" patternTransform="rotate(45)">'
            f'<path d="M 0 0 H {HATCH} V {HATCH} H 0 Z" style="fill: {ground}"/>'
            f'<path d="M 0 0 V {HATCH}" style="stroke: {lines}; stroke-width: 1.4"/></pattern>'
            for (ground, lines), name in self._hatches.items()
        )
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" id="{self.name}" viewBox="0 0 {wide} {high}" '
            f'font-family="{FAMILIES}" stroke-linejoin="round" stroke-linecap="butt" role="img" '
            f'aria-labelledby="{self.name}-title {self.name}-desc">{style}'
            f'<title id="{self.name}-title">{xml(title)}</title><desc id="{self.name}-desc">{xml(description)}</desc>'
            f"{f'<defs>{patterns}</defs>' if patterns else ''}"
            f'<path d="M 0 0 H {wide} V {high} H 0 Z" style="fill: {self._paper}"/>{"".join(self._marks)}</svg>'
        )

    def _path(self, parts: Sequence[Sequence[Point]], style: str, say: str, *, closed: bool = False) -> None:
        if not parts:
            return
        end = " Z" if closed else ""
        drawn = " ".join(
            "M " + " L ".join(f"{_length(x)} {_length(y)}" for x, y in part) + end for part in parts
        )
        self._add(f'<path d="{drawn}" style="{style}"/>', say)

    def _add(self, mark: str, say: str) -> None:
        """A mark; its sentence is the first element of its group (SVG 2, section 5.7)."""
        self._marks.append(f"<g><title>{xml(single_line(say))}</title>{mark}</g>" if say else mark)


@dataclass(frozen=True, slots=True)
class Drawing:
    """A picture with the words for those who cannot see it."""

    canvas: Canvas
    title: str
    description: str


def title_lines(title: str, room: float) -> list[str]:
    """The title on lines that fit."""
    return wrapped(title, TITLE * 1.14, room)


def note_lines(sentences: Sequence[str], width: float) -> list[str]:
    """The lines of sentences below a picture that is so wide."""
    return [row for sentence in sentences for row in wrapped(sentence, SMALL, width - 2 * MARGIN)]


def head_height(title: str, subtitle: str, width: float) -> float:
    """Where the picture begins below its title and subtitle."""
    room = width - 2 * MARGIN
    return MARGIN + 0.1 + 0.23 * len(title_lines(title, room)) + LINE * len(wrapped(subtitle, SMALL, room))
