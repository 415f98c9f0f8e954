"""How files were read, as data: who was read, how many items, what was left out and chosen.

Sentences are made where they are shown, by `str`; what is known only as a sentence is one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Read:
    """So many items of a role, or of a system, are in a file; `source` calls it, `file` is its name, if it has one."""

    who: str
    n: int
    source: str
    file: str = ""

    def __str__(self) -> str:
        return f"{self.who}: {self.n:,} items read from {self.source}."


@dataclass(frozen=True, slots=True)
class LeftOut:
    """So many items of a role were left out: without a value, a counterpart in the other system or in all files, or described differently."""

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
    """The format that was guessed, from what; and what it is, where there is room for that."""

    looked_at: str
    format: str
    summary: str = ""

    def __str__(self) -> str:
        summary = f" ({self.summary})" if self.summary else ""
        return f"The format was guessed from {self.looked_at}: {self.format}{summary}."


@dataclass(frozen=True, slots=True)
class Remark:
    """What is said of one role, system or task."""

    who: str
    text: str

    def __str__(self) -> str:
        return f"{self.who}: {self.text}"


Note = str | Read | LeftOut | Guessed | Remark


def sentences(notes: Iterable[Note]) -> tuple[str, ...]:
    """The notes in words."""
    return tuple(map(str, notes))
