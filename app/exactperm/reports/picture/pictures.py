"""Pictures of answers as SVG or PNG files, and as elements of a page that follow its light or dark theme.

The null distribution with the observed value and the shaded tail (the paper's Figure 2); of comparisons the leaderboard,
the heatmap, the bars of cliques and the forest; power against the number of items. The same record gives the same bytes.
"""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

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

Printable = Callable[[str], str]
Draw = Callable[
    [AnyPalette, str, Printable], Drawing
]  # the colours, the name, and the replacement of characters


def svg(record: TestRecord, theme: Theme = "light", note: str = "") -> bytes:
    """The null distribution as an SVG file."""
    return _file(_null(record, note), PALETTES[theme], "null")


def png(record: TestRecord, theme: Theme = "light", note: str = "") -> bytes:
    """The null distribution as PNG, at twice the usual resolution."""
    return _pixels(_null(record, note), PALETTES[theme])


def inline_svg(record: TestRecord, note: str = "", number: int = 0) -> str:
    """The null distribution for a page; `number` distinguishes pictures of one record on a page."""
    name = f"n{record.id[2:14]}" + (f"-{number}" if number else "")
    return _inline(_null(record, note), PALETTES, name, "transparent")


def board_svg(record: CompareRecord, picture: str, theme: Theme = "light") -> bytes:
    """A board as an SVG file; raises InvalidTest if it has no such picture."""
    return _file(_board(record, picture), BOARD_PALETTES[theme], picture)


def board_png(record: CompareRecord, picture: str, theme: Theme = "light") -> bytes:
    """A board as PNG, at twice the usual resolution; raises InvalidTest if it has no such picture."""
    return _pixels(_board(record, picture), BOARD_PALETTES[theme])


def inline_board(record: CompareRecord, picture: str, named: NamedBoard, number: int = 0) -> str:
    """A board for a page; `number` distinguishes pictures of one record on a page."""
    name = f"{picture[0]}{record.id[2:14]}-{number}"
    return _inline(_board(record, picture, named), BOARD_PALETTES, name, _CARDS)


def inline_slices(slices: SlicesRecord, alpha: float, record_id: str, number: int = 0) -> str:
    """The slices of a test for a page; `number` distinguishes pictures of one record on a page."""

    def draw_slices(palette: BoardPalette, name: str, printable: Printable) -> Drawing:
        return slices_panel(SlicesScene(palette, name, printable, slices, alpha))

    return _inline(draw_slices, BOARD_PALETTES, f"s{record_id[2:14]}-{number}", _CARDS)


def power_svg(record: PowerRecord, theme: Theme = "light") -> bytes:
    """Power as an SVG file."""
    return _file(partial(power_curve, record), PALETTES[theme], "power")


def power_png(record: PowerRecord, theme: Theme = "light") -> bytes:
    """Power as PNG, at twice the usual resolution."""
    return _pixels(partial(power_curve, record), PALETTES[theme])


def inline_power(record: PowerRecord) -> str:
    """Power for a page."""
    return _inline(partial(power_curve, record), PALETTES, f"w{record.id[2:14]}", "transparent")


def _null(record: TestRecord, note: str) -> Draw[Palette]:
    return partial(draw, scene(record, note))


def _board(record: CompareRecord, picture: str, named: NamedBoard | None = None) -> Draw[BoardPalette]:
    """The picture of one board, by default the main one; a standalone picture tells how files were read."""
    shown = next(named_boards(record)) if named is None else named

    def draw_board(palette: BoardPalette, name: str, printable: Printable) -> Drawing:
        drawn = BOARD_PICTURES[picture](BoardScene(palette, name, printable, record, shown))
        if named is not None or record.reading is None:
            return drawn
        return replace(drawn, description=drawn.description + what_was_read(record.reading.notes))

    return draw_board


def _file(draw: Draw[AnyPalette], palette: AnyPalette, name: str) -> bytes:
    drawn = draw(palette, name, str)
    element = drawn.canvas.svg(drawn.title, drawn.description)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{element}\n'.encode()


def _inline(
    draw: Draw[AnyPalette], palettes: Mapping[Theme, AnyPalette], name: str, paper: str | Mapping[Theme, str]
) -> str:
    """The picture as an element whose colours are variables; `paper` is its background."""
    grounds = {theme: paper if isinstance(paper, str) else paper[theme] for theme in palettes}
    themed = {theme: replace(palette, paper=grounds[theme]) for theme, palette in palettes.items()}
    drawn = draw(variables(palettes["light"], name), name, str)
    return drawn.canvas.svg(drawn.title, drawn.description, style_sheet(name, themed))


def _pixels(draw: Draw[AnyPalette], palette: AnyPalette) -> bytes:
    """The picture drawn by resvg in our font, with title and description as PNG texts.

    Very large ones have fewer dots per inch, because resvg aborts the process if memory is short.
    """
    import resvg_py

    drawn = draw(palette, "p", printable)
    dots_per_inch = min(DOTS_PER_INCH, math.sqrt(MOST_PIXELS / (drawn.canvas.width * drawn.canvas.height)))
    pixels: bytes = resvg_py.svg_to_bytes(
        svg_string=drawn.canvas.svg(drawn.title, drawn.description),
        zoom=dots_per_inch / POINTS_PER_INCH,
        skip_system_fonts=True,
        font_files=[str(path) for path in sorted(FOLDER.glob("*.ttf"))],
        font_family=FAMILY,
        sans_serif_family=FAMILY,
    )
    return with_texts(bytes(pixels), {"Title": drawn.title, "Description": drawn.description})


def with_texts(pixels: bytes, texts: Mapping[str, str]) -> bytes:
    """A PNG with texts by their keywords after its header (PNG 1.2, section 4.2.3.3: iTXt)."""
    head = 33  # the signature, and the chunk IHDR
    chunks = b""
    for keyword, text in texts.items():
        content = b"iTXt" + keyword.encode() + b"\0\0\0\0\0" + text.encode(errors="replace")
        chunks += struct.pack(">L", len(content) - 4) + content + struct.pack(">L", zlib.crc32(content))
    return pixels[:head] + chunks + pixels[head:]
