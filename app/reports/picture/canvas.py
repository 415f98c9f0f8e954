"""A sheet of paper in inches from its top left corner, on which pictures of comparisons are laid out by hand.

Every mark may have a sentence, which a reader of the SVG sees when pointing at it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from ..escaping import single_line
from .labels import wrapped

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.figure import Figure

Point = tuple[float, float]
Box = tuple[float, float, float, float]  # left, top, right, bottom

MARGIN = 0.18
LEAST_WIDTH = 6.4
TITLE, TEXT, SMALL = 13.0, 9.0, 8.0  # points
LINE = 0.165  # inches between the lines of small text

_GROUP = re.compile(r'<g id="mark-(\d+)">')


class Canvas:
    """A figure of `width` by `height` inches; `printable` replaces what its font cannot draw."""

    def __init__(self, width: float, height: float, paper: str, printable: Callable[[str], str]) -> None:
        from matplotlib.figure import Figure

        self.width, self.height = width, height
        self.figure: Figure = Figure(figsize=(width, height), facecolor=paper)
        self.sentences: list[str] = []
        self._printable = printable

    def text(
        self,
        x: float,
        y: float,
        text: str,
        *,
        color: str,
        size: float = TEXT,
        across: str = "left",
        up: str = "center_baseline",
        bold: bool = False,
        say: str = "",
    ) -> None:
        """A text; `across` and `up` say which of its points is at (x, y)."""
        if not text:
            return
        written = self.figure.text(
            x,
            self.height - y,
            self._printable(text),
            transform=self.figure.dpi_scale_trans,
            color=color,
            fontsize=size,
            ha=across,
            va=up,
            fontweight="bold" if bold else "normal",
        )
        self._said(written, say)

    def line(self, points: Sequence[Point], *, color: str, say: str = "", **style: Any) -> None:
        """Straight lines from point to point."""
        from matplotlib.lines import Line2D

        xs, ys = [x for x, _ in points], [self.height - y for _, y in points]
        style = {"linewidth": 1.0, "solid_capstyle": "butt", **style}
        self._add(Line2D(xs, ys, color=color, **style), say)

    def lines(
        self, segments: Iterable[tuple[Point, Point]], *, color: str, say: str = "", **style: Any
    ) -> None:
        """Many separate lines as one path."""
        parts = [[*segment] for segment in segments]
        self._path(parts, closed=False, say=say, edgecolor=color, facecolor="none", **style)

    def boxes(self, boxes: Iterable[Box], *, color: str, say: str = "", **style: Any) -> None:
        """Many rectangles as one path."""
        parts = [[(x0, y0), (x1, y0), (x1, y1), (x0, y1)] for x0, y0, x1, y1 in boxes]
        style = {"edgecolor": "none", "linewidth": 0.0, **style}
        self._path(parts, closed=True, say=say, facecolor=color, **style)

    def dot(self, x: float, y: float, *, color: str, fill: str, size: float = 5.5, say: str = "") -> None:
        """A round mark of so many points."""
        style = {"markeredgecolor": color, "markerfacecolor": fill, "markeredgewidth": 1.2}
        self.line([(x, y)], color=color, marker="o", markersize=size, linestyle="none", say=say, **style)

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

    def with_sentences(self, drawn: str) -> str:
        """The SVG with the sentence of each mark as the first element of its group (SVG 2, section 5.7)."""
        return _GROUP.sub(
            lambda found: f"<g><title>{escape(single_line(self.sentences[int(found[1])]))}</title>", drawn
        )

    def _path(self, parts: list[list[Point]], *, closed: bool, say: str, **style: Any) -> None:
        from matplotlib.patches import PathPatch
        from matplotlib.path import Path

        if not parts:
            return
        points: list[Point] = []
        codes: list[int] = []
        for part in parts:
            points += [(x, self.height - y) for x, y in part]
            codes += [int(Path.MOVETO), *([int(Path.LINETO)] * (len(part) - 1))]
            if closed:
                points.append(points[-len(part)])
                codes.append(int(Path.CLOSEPOLY))
        self._add(PathPatch(Path(points, codes), **style), say)

    def _add(self, artist: Artist, say: str) -> None:
        artist.set_transform(self.figure.dpi_scale_trans)
        self._said(artist, say)
        self.figure.add_artist(artist)

    def _said(self, artist: Artist, say: str) -> None:
        if say:
            artist.set_gid(f"mark-{len(self.sentences)}")
            self.sentences.append(say)


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
