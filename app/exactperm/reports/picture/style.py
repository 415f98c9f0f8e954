"""The colours of pictures, safe for colour-blind readers and in print."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Literal, TypeVar

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

    `better` and `worse` are ramps of one hue each, blue and orange, whose lightness alone tells their four steps; what is
    worse has a mark of its own beside. `tied` is the step below both. `knock` is of text on the two strongest steps.
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
