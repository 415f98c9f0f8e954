"""How files were read, as data: the roles, the numbers of items, what was left out and chosen.

`str` makes the sentence.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Read:
    """The number of items of a role or system in a file; `source` describes the file, `file` is its name, if any."""

    who: str
    n: int
    source: str
    file: str = ""

    def __str__(self) -> str:
        return f"{self.who}: {self.n:,} items read from {self.source}."


@dataclass(frozen=True, slots=True)
class LeftOut:
    """The number of items of a role that were left out: without a value, without a counterpart, or described
    differently.
    """

    who: str
    n: int
    lacks: Literal["value", "counterpart", "file", "likeness"]
    on_missing: str = "drop"

    def __str__(self) -> str:
        items, way = f"{self.n:,} items", f"were left out (on_missing: {self.on_missing})."
        if self.lacks == "value":
            return f"{self.who}: {items} without a value {way}"
        if self.lacks == "likeness":
            return f"{items} that {self.who} describe differently were left out (on_mismatch: drop)."
        which = (
            f"that only {self.who} has"
            if self.lacks == "counterpart"
            else f"of {self.who} that not all files have"
        )
        return f"{items} {which} {way}"


@dataclass(frozen=True, slots=True)
class Guessed:
    """The guessed format, what it was guessed from, and optionally a summary of the format."""

    looked_at: str
    format: str
    summary: str = ""

    def __str__(self) -> str:
        summary = f" ({self.summary})" if self.summary else ""
        return f"The format was guessed from {self.looked_at}: {self.format}{summary}."


@dataclass(frozen=True, slots=True)
class Remark:
    """A note about one role, system or task."""

    who: str
    text: str

    def __str__(self) -> str:
        return f"{self.who}: {self.text}"


Note = str | Read | LeftOut | Guessed | Remark


def sentences(notes: Iterable[Note]) -> tuple[str, ...]:
    """The notes in words."""
    return tuple(map(str, notes))
