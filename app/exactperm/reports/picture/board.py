"""The common part of all pictures of a comparison: the board, titles, numbers, and refusals.

Numbers have few digits, are aligned, and stay on the right side of what they are compared with.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from ...answers.board import BoardRecord, CompareRecord, SystemRecord
from ...errors import InvalidTest
from ...presentation.escaping import short, single_line
from ...presentation.numbers import MINUS, counted, number
from ...presentation.words import ranks
from ..board_words import NamedBoard, adjustment, kinds_in_words, what_was_measured, which_is_better
from .canvas import LINE, MARGIN, BoardPalette, Canvas, Drawing, note_lines

SIGNIFICANT, MOST_DECIMALS = 3, 9


def aligned(scores: Sequence[float]) -> list[str]:
    """Scores with equally many decimals: three significant digits, more where neighbours would look the same."""
    largest = max(map(abs, scores), default=0.0)
    magnitude = math.floor(math.log10(largest)) if largest > 0.0 else 0
    if -SIGNIFICANT <= magnitude <= SIGNIFICANT + 3:
        first = max(0, SIGNIFICANT - 1 - max(magnitude, -1))
        for decimals in range(first, MOST_DECIMALS + 1):
            texts = [_fixed(score, decimals) for score in scores]
            near = zip(pairwise(scores), pairwise(texts), strict=True)
            if all((one == other) == (text == beside) for (one, other), (text, beside) in near):
                return texts
    return [number(score).replace("-", MINUS) for score in scores]


def _fixed(value: float, decimals: int) -> str:
    text = f"{value:.{decimals}f}"
    return text.removeprefix("-") if float(text) == 0.0 else text.replace("-", MINUS)


# Rows of few systems have room; those of many are as close as their texts allow.
FEW = 40
MOST_NAME = 2.9  # inches: longer names are cut in the middle


@dataclass(frozen=True, slots=True)
class Scene:
    """How a picture is drawn: its colours, its `name`, and `printable`, which replaces what the font cannot draw."""

    palette: BoardPalette
    name: str
    printable: Callable[[str], str]

    @property
    def subtitle(self) -> str:
        """The line below the title."""
        raise NotImplementedError

    def canvas(self, title: str, wide: float, below: float, notes: Sequence[str]) -> Canvas:
        """A canvas with the title, `wide` inches, and with room for the notes from `below` on."""
        height = below + LINE * len(note_lines(notes, wide)) + MARGIN
        canvas = Canvas(wide, height, self.palette.paper, self.name, self.printable)
        canvas.title(title, self.subtitle, ink=self.palette.ink, soft=self.palette.soft)
        return canvas

    def drawn(
        self, canvas: Canvas, title: str, below: float, notes: Sequence[str], sentences: str
    ) -> Drawing:
        """The picture with its notes from `below` on, and its `sentences` for those who cannot see it."""
        canvas.notes(below, notes, color=self.palette.soft)
        return Drawing(canvas, title, f"{title}. {self.subtitle}. {sentences}")


@dataclass(frozen=True, slots=True)
class BoardScene(Scene):
    """A board to draw, and how."""

    record: CompareRecord
    named: NamedBoard

    @property
    def board(self) -> BoardRecord:
        """The board itself."""
        return self.named.board

    @property
    def systems(self) -> tuple[SystemRecord, ...]:
        """Best first."""
        return self.board.systems

    @property
    def measured(self) -> str:
        """The metric in words."""
        return what_was_measured(self.record, short)

    @property
    def subtitle(self) -> str:
        """The data set, the number of items, and the adjustment."""
        parts = [
            self.named.title(short(self.named.dataset)),
            _items(self.board),
            adjustment(self.board),
            kinds_in_words(self.board),
            which_is_better(self.record),
        ]
        return "; ".join(part for part in parts if part)

    @property
    def row(self) -> float:
        """The height of a system's row, in inches."""
        return 0.235 if len(self.systems) <= FEW else 0.165

    @property
    def size(self) -> float:
        """The size of a row's text, in points."""
        return 9.0 if len(self.systems) <= FEW else 8.0


def refusal(detail: str) -> InvalidTest:
    """A refusal to draw a picture of a comparison."""
    return InvalidTest.at("/?picture", "picture_impossible", detail)


def sentence_of(system: SystemRecord) -> str:
    """A system in words: its score, its ranks and its groups."""
    parts = [f"{short(system.name)}: score {number(system.score)}, rank {system.rank}"]
    if system.rank_low is not None:
        parts.append(f"rank range {ranks(system)}")
    if system.letters:
        parts.append(f"letters {system.letters}")
    if system.cluster is not None:
        parts.append(f"cluster {system.cluster}")
    if system.in_best_set:
        parts.append("in the best set")
    return single_line(", ".join(parts))


def _items(board: BoardRecord) -> str:
    sizes = [system.n for system in board.systems]
    low, high = min(sizes), max(sizes)
    return counted(low, "item") if low == high else f"{low:,} to {high:,} items"
