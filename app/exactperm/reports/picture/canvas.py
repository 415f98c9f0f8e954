"""A canvas for SVG pictures, in inches from its top left corner.

Every mark may have a sentence, shown when pointing at it. Texts stay texts, and the same picture is the same bytes
everywhere. Layout and PNG use DejaVu Sans, which is beside this file. Colours are safe for colour-blind readers and
in print.
"""

from __future__ import annotations

import math
import re
import struct
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from decimal import Decimal
from functools import cache, lru_cache
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import Literal, TypeVar

from ...presentation.escaping import single_line
from ...presentation.numbers import MINUS

FAMILY = "DejaVu Sans"
# The reader's fonts draw an SVG; none of these is wider than ours.
FAMILIES = f"system-ui,-apple-system,'Segoe UI',Roboto,'{FAMILY}',sans-serif"
FOLDER = Path(__file__).parent / "dejavu"


@cache
def _widths() -> tuple[dict[int, float], float]:
    """The width over the size of each character of the font, and of the box for missing ones.

    From the tables of OpenType 1.9: cmap (format 12), head, hhea and hmtx.
    """
    data = (FOLDER / "DejaVuSans.ttf").read_bytes()
    count = struct.unpack_from(">H", data, 4)[0]
    records = (struct.unpack_from(">4s4xL", data, 12 + 16 * at) for at in range(count))
    tables = {tag.decode(): offset for tag, offset in records}
    per_em = struct.unpack_from(">H", data, tables["head"] + 18)[0]
    measured = struct.unpack_from(">H", data, tables["hhea"] + 34)[0]
    advances = struct.unpack_from(">" + "H2x" * measured, data, tables["hmtx"])

    def width(glyph: int) -> float:
        return float(advances[min(glyph, measured - 1)] / per_em)

    cmap = tables["cmap"]
    subtables = (
        struct.unpack_from(">HHL", data, cmap + 4 + 8 * at)
        for at in range(struct.unpack_from(">H", data, cmap + 2)[0])
    )
    unicode_full = next(
        cmap + offset for platform, encoding, offset in subtables if (platform, encoding) == (3, 10)
    )
    groups = struct.unpack_from(">L", data, unicode_full + 12)[0]
    widths = {}
    for at in range(groups):
        first, last, glyph = struct.unpack_from(">LLL", data, unicode_full + 16 + 12 * at)
        widths.update({char: width(glyph + char - first) for char in range(first, last + 1)})
    return widths, width(0)


def advance(char: str) -> float:
    """The width of a character over the size of the font."""
    widths, box = _widths()
    return widths.get(ord(char), box)


def printable(text: str) -> str:
    """The text with characters that the font lacks replaced, since no other font is certain."""
    widths, _ = _widths()
    return "".join(char if ord(char) in widths else "\N{REPLACEMENT CHARACTER}" for char in text)


ELLIPSIS = "\N{HORIZONTAL ELLIPSIS}"
POINTS_PER_INCH = 72.0
WIDE = 1.3  # of the size: emoji and Han characters in the reader's fonts; ours has neither
BOLD = 1.14  # of the same text in regular weight
HINTED = 1.05  # letters on whole pixels are a little wider
NAMELESS = "(unnamed)"


def width(text: str, points: float, *, bold: bool = False) -> float:
    """The width in inches at a size in points; the reader's fonts are not wider."""
    ems = sum(map(_advance, text)) * (BOLD if bold else 1.0)
    return HINTED * ems * points / POINTS_PER_INCH


def widest(texts: Iterable[str], points: float, *, bold: bool = False) -> float:
    """The width of the widest, 0 for none."""
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
    """Names that fit and still differ: names cut to the same text get numbers."""
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
    """Lines of whole words, at most `room` wide; longer words are cut in the middle."""
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


Point = tuple[float, float]
Box = tuple[float, float, float, float]  # left, top, right, bottom

MARGIN = 0.18
LEAST_WIDTH = 6.4
TITLE, TEXT, SMALL = 13.0, 9.0, 8.0  # points
LINE = 0.165  # inches between the lines of small text
# From the middle of a line of text, or its top or bottom, to its base, over its size.
BASE = {"center": 0.36, "top": 0.93, "bottom": -0.24}
HATCH = 3.2  # points from line to line
# Forbidden in XML documents (XML 1.0, section 2.2).
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_ANCHORS = {"left": "start", "center": "middle", "right": "end"}


def xml(text: str) -> str:
    """A text inside an element."""
    return escape(_FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", text))


def _length(inches: float) -> str:
    """Inches as points, with few digits."""
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
        """Text of one or several lines; `across` and `up` choose the point of the text at (x, y).

        `turned` text reads upwards; `behind` is the colour of its background.
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
        """Straight lines from point to point; a shape if there is a `fill`."""
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
        """Many rectangles as one path, with an `edge` in points."""
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
        """A round mark of `size` points."""
        place = f'cx="{_length(x)}" cy="{_length(y)}" r="{size / 2:g}"'
        self._add(f'<circle {place} style="fill: {fill}; stroke: {color}; stroke-width: 1.2"/>', say)

    def hatched(self, ground: str, lines: str) -> str:
        """A hatched fill."""
        name = self._hatches.setdefault((ground, lines), f"{self.name}-hatch{len(self._hatches) or ''}")
        return f"url(#{name})"

    def title(self, title: str, subtitle: str, *, ink: str, soft: str) -> float:
        """Title and subtitle at the top; returns the y below them."""
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
        """Sentences below the picture, each on new lines."""
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
    """A picture, and its description for those who cannot see it."""

    canvas: Canvas
    title: str
    description: str


def title_lines(title: str, room: float) -> list[str]:
    """The title on lines that fit."""
    return wrapped(title, TITLE * 1.14, room)


def note_lines(sentences: Sequence[str], width: float) -> list[str]:
    """The lines of sentences below a picture of this width."""
    return [row for sentence in sentences for row in wrapped(sentence, SMALL, width - 2 * MARGIN)]


def head_height(title: str, subtitle: str, width: float) -> float:
    """The y of the picture below its title and subtitle."""
    room = width - 2 * MARGIN
    return MARGIN + 0.1 + 0.23 * len(title_lines(title, room)) + LINE * len(wrapped(subtitle, SMALL, room))


LEAST_EXPONENT, LARGEST_EXPONENT = -4, 5
PAD = 0.05
MOST_TICKS = 7
GAP = 0.12  # inches between numbers

Gap = Callable[[str, str], float]


@dataclass(frozen=True, slots=True)
class Axis:
    """Places of values on paper: `at(value)` in inches; values are drawn over 10**exponent."""

    left: float
    right: float
    low: float
    high: float
    exponent: int
    ticks: tuple[tuple[float, str], ...]  # in inches, with their numbers

    def at(self, value: float) -> float:
        """The place of a value in inches; values outside the axis are at its end."""
        share = (scaled(value, self.exponent) - self.low) / (self.high - self.low)
        return self.left + (self.right - self.left) * min(max(share, 0.0), 1.0)

    @property
    def units(self) -> str:
        """The units to add to the name of the axis."""
        return f" (in units of 1e{self.exponent})".replace("-", MINUS) if self.exponent else ""


def score_axis(
    values: Iterable[float], left: float, right: float, points: float, gap: Gap | None = None
) -> Axis:
    """An axis from `left` to `right` in inches for all finite values, with numbers of `size` points at least a `gap` apart."""
    finite = [value for value in values if math.isfinite(value)] or [0.0]
    low, high = min(finite), max(finite)
    exponent = _exponent(finite)
    small_low, small_high = scaled(low, exponent), scaled(high, exponent)
    reach = (small_high - small_low) or 0.1 * abs(small_high) or 1.0
    return _placed_axis(
        small_low - PAD * reach, small_high + PAD * reach, (left, right), exponent, gap or across(points)
    )


def axis_of(low: float, high: float, ends: tuple[float, float], gap: Gap) -> Axis:
    """An axis from a low to a high value at `ends` in inches; `gap` is the least distance of two numbers."""
    exponent = _exponent([low, high])
    return _placed_axis(scaled(low, exponent), scaled(high, exponent), ends, exponent, gap)


def across(points: float) -> Gap:
    """The least distance of two numbers side by side: half of each, and some room."""
    return lambda one, other: (width(one, points) + width(other, points)) / 2 + GAP


def upwards(points: float) -> Gap:
    """The least distance of two numbers above each other."""
    return lambda one, other: 2.6 * points / POINTS_PER_INCH


def _placed_axis(low: float, high: float, ends: tuple[float, float], exponent: int, gap: Gap) -> Axis:
    left, right = ends
    placed = tuple(
        (left + (right - left) * (float(tick) - low) / (high - low), tick.replace("-", MINUS))
        for tick in _ticks(low, high, abs(right - left), gap)
    )
    return Axis(left, right, low, high, exponent, placed)


def scaled(value: float, exponent: int) -> float:
    """The value over 10**exponent, even if that power is not a double."""
    return float(Decimal(value).scaleb(-exponent)) if exponent else value


def _exponent(values: Sequence[float]) -> int:
    largest = max(map(abs, values))
    exponent = math.floor(math.log10(largest)) if largest > 0.0 else 0
    return exponent if not LEAST_EXPONENT <= exponent <= LARGEST_EXPONENT else 0


def _ticks(low: float, high: float, room: float, gap: Gap) -> list[str]:
    """Round numbers, as many as fit; none if fewer than two do."""
    for most in range(MOST_TICKS, 0, -1):
        step, decimals = _step((high - low) / most)
        first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
        texts = [_fixed(step * at, decimals) for at in range(first, last + 1)]
        apart = room * step / (high - low)
        if all(gap(one, other) <= apart for one, other in pairwise(texts)):
            return texts
    return []


def _step(least: float) -> tuple[float, int]:
    """The next round number, and the decimals of its multiples."""
    magnitude = math.floor(math.log10(least))
    for digits, more in ((1.0, 0), (2.0, 0), (2.5, 1), (5.0, 0)):
        if digits * 10.0**magnitude >= least * (1.0 - 1e-9):
            return digits * 10.0**magnitude, max(0, more - magnitude)
    return 10.0 ** (magnitude + 1), max(0, -magnitude - 1)


def _fixed(value: float, decimals: int) -> str:
    """Fixed decimals, without negative zero."""
    text = f"{value:.{decimals}f}"
    return text.removeprefix("-") if float(text) == 0.0 else text


Theme = Literal["light", "dark"]


@dataclass(frozen=True, slots=True)
class Palette:
    """Colours by their part. Tails differ from the rest in lightness and by hatching, not in hue alone."""

    paper: str
    ink: str
    faint: str
    bar: str
    tail: str
    hatch: str
    observed: str


@dataclass(frozen=True, slots=True)
class BoardPalette:
    """Colours of comparisons by their part.

    `better` and `worse` are ramps of one hue each, blue and orange, in four steps of lightness; worse pairs also have a
    mark. `tied` is the step below both. `knock` is for text on the two strongest steps.
    """

    paper: str
    ink: str
    soft: str
    faint: str
    dot: str
    span: str
    knock: str
    tied: str
    hatch: str
    better1: str
    better2: str
    better3: str
    better4: str
    worse1: str
    worse2: str
    worse3: str
    worse4: str

    @property
    def better(self) -> tuple[str, ...]:
        """From the weakest step to the strongest."""
        return self.better1, self.better2, self.better3, self.better4

    @property
    def worse(self) -> tuple[str, ...]:
        """From the weakest step to the strongest."""
        return self.worse1, self.worse2, self.worse3, self.worse4


AnyPalette = TypeVar("AnyPalette", Palette, BoardPalette)

# The dark paper is that of the page's cards (--surface of app/exactperm/web/page/colours.css), on which pictures lie.
# Blue and vermilion are those of Okabe & Ito's palette for colour-blind readers.
PALETTES: Mapping[Theme, Palette] = {
    "light": Palette("#ffffff", "#1b1f24", "#d5dae1", "#b4c4d6", "#d55e00", "#7a3600", "#1b1f24"),
    "dark": Palette("#1b1f22", "#e8ecf1", "#3a424c", "#5b7088", "#ff8f3f", "#ffd9b8", "#ffffff"),
}
BOARD_PALETTES: Mapping[Theme, BoardPalette] = {
    "light": BoardPalette(
        "#ffffff", "#1b1f24", "#59626d", "#e3e7ec", "#0072b2", "#b9cbe0", "#fffffe", "#eceff3", "#9aa4b0",
        "#b4d0ec", "#78abd8", "#2f74b5", "#0b4787", "#fbcf9c", "#f4a65a", "#b8570b", "#86380a",
    ),
    "dark": BoardPalette(
        "#1b1f22", "#e8ecf1", "#a3adb8", "#2b323a", "#56b4e9", "#3d5a7a", "#0d1116", "#242a31", "#5d6875",
        "#1d466f", "#2b6cab", "#5fa5e3", "#b5dcff", "#5b3410", "#97571a", "#dd8b38", "#ffcf9b",
    ),
}  # fmt: skip


def variables(palette: AnyPalette, name: str) -> AnyPalette:
    """The same parts as CSS variables that begin with `name`."""
    return type(palette)(*(f"var(--{name}-{part.name})" for part in fields(palette)))


def style_sheet(name: str, palettes: Mapping[Theme, AnyPalette]) -> str:
    """The variables of an element called `name`, which follow the page's light or dark."""
    light, dark = (
        "".join(f"--{name}-{part.name}:{getattr(palette, part.name)};" for part in fields(palette))
        for palette in (palettes["light"], palettes["dark"])
    )
    return f"<style>#{name}{{{light}}}@media (prefers-color-scheme:dark){{#{name}{{{dark}}}}}</style>"
