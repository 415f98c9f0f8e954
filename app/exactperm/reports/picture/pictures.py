"""Pictures of answers as SVG or PNG files, and as elements of a page that follow its light or dark theme.

The null distribution with the observed value and the shaded tail (the paper's Figure 2); of comparisons the leaderboard,
the heatmap, the bars of cliques and the forest; power against the number of items. The same record gives the same bytes.
"""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Generic

from ...answers.board import CompareRecord
from ...answers.power import PowerRecord
from ...answers.test import SlicesRecord, TestRecord
from ...presentation.escaping import what_was_read
from ..board_words import NamedBoard, named_boards
from .bars import bars
from .board import BoardScene
from .board_rows import SlicesScene, forest, leaderboard, slices_panel
from .canvas import (
    BOARD_PALETTES,
    FAMILY,
    FOLDER,
    PALETTES,
    POINTS_PER_INCH,
    AnyPalette,
    BoardPalette,
    Drawing,
    Palette,
    Theme,
    printable,
    style_sheet,
    variables,
)
from .frontier import frontier
from .heatmap import heatmap
from .null_distribution import draw, power_curve, scene

DOTS_PER_INCH = 160.0
MOST_PIXELS = 32_000_000  # eight bytes each while written; a heatmap of 1,000 systems would have 350 million
BOARD_PICTURES: Mapping[str, Callable[[BoardScene], Drawing]] = {
    "leaderboard": leaderboard,
    "heatmap": heatmap,
    "bars": bars,
    "forest": forest,
    "frontier": frontier,
}
# The colours of a card of our report: hollow dots are filled with them.
_CARDS: Mapping[Theme, str] = {"light": "#fff", "dark": "#1b1f22"}
_TRANSPARENT: Mapping[Theme, str] = dict.fromkeys(PALETTES, "transparent")

# The colours, the name, and what replaces characters that a font lacks.
Draw = Callable[[AnyPalette, str, Callable[[str], str]], Drawing]


@dataclass(frozen=True, slots=True)
class Picture(Generic[AnyPalette]):
    """The picture of an answer: how it is drawn, its names in a file and on a page, its colours, and its background there."""

    draw: Draw[AnyPalette]
    name: str
    name_inline: str
    palettes: Mapping[Theme, AnyPalette]
    paper: Mapping[Theme, str]

    def svg(self, theme: Theme = "light") -> bytes:
        """An SVG file."""
        drawn = self.draw(self.palettes[theme], self.name, str)
        element = drawn.canvas.svg(drawn.title, drawn.description)
        return f'<?xml version="1.0" encoding="utf-8"?>\n{element}\n'.encode()

    def inline(self) -> str:
        """An element of a page, whose colours are variables."""
        name = self.name_inline
        themed = {
            theme: replace(palette, paper=self.paper[theme]) for theme, palette in self.palettes.items()
        }
        drawn = self.draw(variables(self.palettes["light"], name), name, str)
        return drawn.canvas.svg(drawn.title, drawn.description, style_sheet(name, themed))

    def png(self, theme: Theme = "light") -> bytes:
        """At twice the usual resolution, drawn by resvg in our font, with title and description as PNG texts.

        Very large ones have fewer dots per inch, because resvg aborts the process if memory is short.
        """
        import resvg_py

        drawn = self.draw(self.palettes[theme], "p", printable)
        inches = drawn.canvas.width * drawn.canvas.height
        dots_per_inch = min(DOTS_PER_INCH, math.sqrt(MOST_PIXELS / inches))
        pixels: bytes = resvg_py.svg_to_bytes(
            svg_string=drawn.canvas.svg(drawn.title, drawn.description),
            zoom=dots_per_inch / POINTS_PER_INCH,
            skip_system_fonts=True,
            font_files=[str(path) for path in sorted(FOLDER.glob("*.ttf"))],
            font_family=FAMILY,
            sans_serif_family=FAMILY,
        )
        return with_texts(bytes(pixels), {"Title": drawn.title, "Description": drawn.description})


def null_picture(record: TestRecord, note: str = "", number: int = 0) -> Picture[Palette]:
    """The null distribution; `number` distinguishes pictures of one record on a page."""
    name = f"n{record.id[2:14]}" + (f"-{number}" if number else "")
    return Picture(partial(draw, scene(record, note)), "null", name, PALETTES, _TRANSPARENT)


def board_picture(
    record: CompareRecord, picture: str, named: NamedBoard | None = None, number: int = 0
) -> Picture[BoardPalette]:
    """One board, by default the main one; a standalone picture tells how files were read. InvalidTest if it has no such picture."""
    shown = next(named_boards(record)) if named is None else named

    def draw_board(palette: BoardPalette, name: str, printable: Callable[[str], str]) -> Drawing:
        drawn = BOARD_PICTURES[picture](BoardScene(palette, name, printable, record, shown))
        if named is not None or record.reading is None:
            return drawn
        return replace(drawn, description=drawn.description + what_was_read(record.reading.notes))

    return Picture(draw_board, picture, f"{picture[0]}{record.id[2:14]}-{number}", BOARD_PALETTES, _CARDS)


def slices_picture(
    slices: SlicesRecord, alpha: float, record_id: str, number: int = 0
) -> Picture[BoardPalette]:
    """The slices of a test; `number` as in `null_picture`."""

    def draw_slices(palette: BoardPalette, name: str, printable: Callable[[str], str]) -> Drawing:
        return slices_panel(SlicesScene(palette, name, printable, slices, alpha))

    return Picture(draw_slices, "slices", f"s{record_id[2:14]}-{number}", BOARD_PALETTES, _CARDS)


def power_picture(record: PowerRecord) -> Picture[Palette]:
    """Power against the number of items."""
    return Picture(partial(power_curve, record), "power", f"w{record.id[2:14]}", PALETTES, _TRANSPARENT)


def with_texts(pixels: bytes, texts: Mapping[str, str]) -> bytes:
    """A PNG with texts by their keywords after its header (PNG 1.2, section 4.2.3.3: iTXt)."""
    head = 33  # the signature, and the chunk IHDR
    chunks = b""
    for keyword, text in texts.items():
        content = b"iTXt" + keyword.encode() + b"\0\0\0\0\0" + text.encode(errors="replace")
        chunks += struct.pack(">L", len(content) - 4) + content + struct.pack(">L", zlib.crc32(content))
    return pixels[:head] + chunks + pixels[head:]
