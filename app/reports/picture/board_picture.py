"""Pictures of comparisons as SVG and PNG: leaderboard, heatmap, bars of cliques, and forest."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from ...inference.compare.record import CompareRecord
from ..compare.words import NamedBoard, named_boards
from ..escaping import what_was_read
from .bars import bars
from .board_scene import BoardDrawing, BoardScene
from .board_style import BOARD_PALETTES, BOARD_STAND_INS, BoardPalette
from .fonts import prepare, printable
from .forest import forest
from .heatmap import heatmap
from .leaderboard import leaderboard
from .rendering import Kind, saved, svg_file, themed_svg
from .style import Theme

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DRAWN: Mapping[str, Callable[[BoardScene], BoardDrawing]] = {
    "leaderboard": leaderboard,
    "heatmap": heatmap,
    "bars": bars,
    "forest": forest,
}


def drawing(
    record: CompareRecord, picture: str, palette: BoardPalette, kind: Kind, named: NamedBoard | None = None
) -> BoardDrawing:
    """The figure of one board, the main one unless another is `named`; raises InvalidTest where there is no such picture.

    matplotlib measures and draws it, in the settings of `saved`.
    """
    prepare()
    shown = next(named_boards(record)) if named is None else named
    return DRAWN[picture](BoardScene(record, shown, palette, printable if kind == "png" else str))


def board_svg(record: CompareRecord, picture: str, theme: Theme = "light") -> bytes:
    """A picture as a file of its own; the same record gives the same bytes."""
    made, drawn = _drawn(record, picture, BOARD_PALETTES[theme])
    return svg_file(drawn, picture, made.title, _described(record, made))


def board_png(record: CompareRecord, picture: str, theme: Theme = "light") -> bytes:
    """A picture at twice the usual resolution."""
    made: list[BoardDrawing] = []

    def draw() -> Figure:
        made.append(drawing(record, picture, BOARD_PALETTES[theme], "png"))
        return made[0].canvas.figure

    return saved(draw, record.digest, "png", lambda: (made[0].title, _described(record, made[0])))


def inline_board(record: CompareRecord, picture: str, named: NamedBoard, number: int = 0) -> str:
    """A picture for a page, whose light or dark it follows; `number` tells pictures of one record on one page apart."""
    made, drawn = _drawn(record, picture, BOARD_STAND_INS, named)
    name = f"{picture[0]}{record.digest[:12]}-{number}"
    light, dark = (asdict(replace(BOARD_PALETTES[theme], paper=_PAGE[theme])) for theme in ("light", "dark"))
    return themed_svg(
        drawn, name, made.title, made.description, stand_ins=asdict(BOARD_STAND_INS), light=light, dark=dark
    )


# The colours of a card of our report: hollow dots are filled with them.
_PAGE = {"light": "#fff", "dark": "#1b1f22"}


def _described(record: CompareRecord, made: BoardDrawing) -> str:
    """The words for those who cannot see a picture that stands alone, and how its files were read."""
    return made.description + what_was_read(() if record.reading is None else record.reading.notes)


def _drawn(
    record: CompareRecord, picture: str, palette: BoardPalette, named: NamedBoard | None = None
) -> tuple[BoardDrawing, str]:
    """The drawing and what matplotlib wrote, in which marks have their sentences."""
    made: list[BoardDrawing] = []

    def draw() -> Figure:
        made.append(drawing(record, picture, palette, "svg", named))
        return made[0].canvas.figure

    drawn = saved(draw, record.digest, "svg").decode()
    return made[0], made[0].canvas.with_sentences(drawn)
