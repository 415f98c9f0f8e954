"""What makes data look like a mistake, though it is a valid test."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DataWarning:
    """A code and a sentence, and the pointer to the data.

    `undecidable` says that no gate should decide by such data; an ordinary test is answered with a warning.
    """

    pointer: str
    code: str
    detail: str
    undecidable: bool = True
