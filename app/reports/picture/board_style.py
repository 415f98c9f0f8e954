"""The colours of the pictures of comparisons, safe for colour-blind readers and in print."""

from __future__ import annotations

from dataclasses import dataclass

from .style import Theme


@dataclass(frozen=True, slots=True)
class BoardPalette:
    """Colours by their part.

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


# Blue and vermilion are those of Okabe & Ito.
BOARD_PALETTES: dict[Theme, BoardPalette] = {
    "light": BoardPalette(
        "#ffffff", "#1b1f24", "#59626d", "#e3e7ec", "#0072b2", "#b9cbe0", "#fffffe", "#eceff3", "#9aa4b0",
        "#b4d0ec", "#78abd8", "#2f74b5", "#0b4787", "#fbcf9c", "#f4a65a", "#b8570b", "#86380a",
    ),
    "dark": BoardPalette(
        "#1b1f22", "#e8ecf1", "#a3adb8", "#2b323a", "#56b4e9", "#3d5a7a", "#0d1116", "#242a31", "#5d6875",
        "#1d466f", "#2b6cab", "#5fa5e3", "#b5dcff", "#5b3410", "#97571a", "#dd8b38", "#ffcf9b",
    ),
}  # fmt: skip
# Never drawn: stand-ins that become CSS variables.
BOARD_STAND_INS = BoardPalette(*(f"#0201{number:02x}" for number in range(1, 18)))
