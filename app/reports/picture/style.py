"""The colours of pictures, and the settings that make them the same everywhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from .fonts import FAMILY

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


# The dark paper is that of the page's cards (--surface of app/web/page/colours.css), on which pictures lie.
# The tail's vermilion is that of Okabe & Ito's palette for colour-blind readers.
PALETTES: dict[Theme, Palette] = {
    "light": Palette("#ffffff", "#1b1f24", "#d5dae1", "#b4c4d6", "#d55e00", "#7a3600", "#1b1f24"),
    "dark": Palette("#1b1f22", "#e8ecf1", "#3a424c", "#5b7088", "#ff8f3f", "#ffd9b8", "#ffffff"),
}
# Never drawn: stand-ins that become CSS variables.
STAND_INS = Palette("#010101", "#010102", "#010103", "#010104", "#010105", "#010106", "#010107")


def settings(salt: str) -> dict[str, Any]:
    """rcParams: the same record gives the same bytes, text stays text, and no label is read as mathematics."""
    return {
        "svg.hashsalt": salt,
        "svg.fonttype": "none",
        "text.parse_math": False,
        "text.usetex": False,
        "font.family": [FAMILY],
        "font.size": 10.0,
        "axes.unicode_minus": True,
        "hatch.linewidth": 0.7,
        "path.simplify": True,
    }
