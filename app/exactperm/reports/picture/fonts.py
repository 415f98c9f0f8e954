"""The font that pictures are laid out in, and drawn in where they are pixels: DejaVu Sans, which stands beside this file."""

from __future__ import annotations

import struct
from functools import cache
from pathlib import Path

FAMILY = "DejaVu Sans"
# A reader's fonts draw an SVG; none of these is wider than ours.
FAMILIES = f"system-ui,-apple-system,'Segoe UI',Roboto,'{FAMILY}',sans-serif"
FOLDER = Path(__file__).parent / "dejavu"


@cache
def _widths() -> tuple[dict[int, float], float]:
    """The width over the size of each character that the font has, and of the box for all others.

    The tables are those of OpenType 1.9: cmap (format 12), head, hhea and hmtx.
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
    """The text with what the font lacks replaced: there is no other font to be counted on."""
    widths, _ = _widths()
    return "".join(char if ord(char) in widths else "\N{REPLACEMENT CHARACTER}" for char in text)
