"""What all pictures of a comparison share: the board that is drawn, its titles, and refusals of what cannot be drawn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ...answers.board import BoardRecord, CompareRecord, SystemRecord
from ...errors import InvalidTest
from ...presentation.escaping import short, single_line
from ...presentation.numbers import counted, number
from ..compare.words import (
    NamedBoard,
    adjustment,
    kinds_in_words,
    range_text,
    what_was_measured,
    which_is_better,
)
from .style import BoardPalette

# Rows of a few systems have room; those of many are as close as their texts allow.
FEW = 40
MOST_NAME = 2.9  # inches: longer names are cut in the middle


@dataclass(frozen=True, slots=True)
class BoardScene:
    """A board to draw, and how: its colours, its `name`, and `printable`, which replaces what the font cannot draw."""

    record: CompareRecord
    named: NamedBoard
    palette: BoardPalette
    name: str
    printable: Callable[[str], str] = str

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
        """What was measured."""
        return what_was_measured(self.record, short)

    @property
    def subtitle(self) -> str:
        """Where, how many items, and how the p-values were adjusted."""
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
    """Why a picture cannot be drawn of a comparison."""
    return InvalidTest.at("/?picture", "picture_impossible", detail)


def sentence_of(system: SystemRecord) -> str:
    """A system in words: its score, its ranks and its groups."""
    parts = [f"{short(system.name)}: score {number(system.score)}, rank {system.rank}"]
    if system.rank_low is not None:
        parts.append(f"rank range {range_text(system)}")
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
