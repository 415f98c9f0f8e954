"""The null distribution with the observed value and the shaded tail, as SVG and PNG (the paper's Figure 2)."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from ...inference.record import TestRecord
from .fonts import prepare, printable
from .rendering import Kind, saved, svg_file, themed_svg
from .scene import Scene, scene
from .style import PALETTES, STAND_INS, Palette, Theme

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def svg(record: TestRecord, theme: Theme = "light", note: str = "") -> bytes:
    """A picture as a file of its own; the same record gives the same bytes."""
    content = scene(record, note)
    drawn = _saved(content, PALETTES[theme], record.digest, "svg").decode()
    return svg_file(drawn, "null", content.title, content.description)


def png(record: TestRecord, theme: Theme = "light", note: str = "") -> bytes:
    """A picture at twice the usual resolution."""
    prepare()
    content = scene(record, note)
    content = replace(content, statistic=printable(content.statistic))
    return _saved(content, PALETTES[theme], record.digest, "png")


def inline_svg(record: TestRecord, note: str = "", number: int = 0) -> str:
    """A picture for a page: it follows the page's light or dark, and several of them do not get in each other's way.

    `number` tells pictures of one record on one page apart.
    """
    name = f"n{record.digest[:12]}" + (f"-{number}" if number else "")
    content = scene(record, note)
    drawn = _saved(content, STAND_INS, record.digest, "svg").decode()
    light, dark = (asdict(replace(PALETTES[theme], paper="transparent")) for theme in ("light", "dark"))
    return themed_svg(
        drawn, name, content.title, content.description, stand_ins=asdict(STAND_INS), light=light, dark=dark
    )


def _saved(content: Scene, palette: Palette, salt: str, kind: Kind) -> bytes:
    def draw_it() -> Figure:
        from .drawing import draw

        return draw(content, palette)

    return saved(draw_it, salt, kind, lambda: (content.title, content.description))
