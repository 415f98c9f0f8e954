"""The members that JSON has of a record: its fields by their names, but for what `Annotated` types say otherwise.

In an `Annotated` type a text describes the member in the OpenAPI document, a mapping holds its bounds, and a `Form` is how it
is written: pydantic, which this room does not know, asks it (`__get_pydantic_core_schema__`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

ID_CHARS = 18
# Integers of fewer bits are written as Python does.
SHORT_BITS = 10_000
LARGEST_EXACT = 2**53
LARGEST_COST = 1e300


@dataclass(frozen=True, slots=True)
class Form:
    """A member that JSON has as another type, which `write` makes."""

    type: Any
    write: Callable[[Any], Any]

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> dict[str, Any]:
        return {"type": "any", "serialization": {"type": "function-plain", "function": self.write}}


def identifier(letter: str, *notes: str) -> Form:
    """The id of an answer: its letter, and a hash of what it answers, of which it is written with 16 of 64 digits."""
    return Form(
        Annotated[str, {"pattern": f"^{letter}_[0-9a-f]{{16}}$"}, *notes], lambda whole: whole[:ID_CHARS]
    )


def decimal(number: int) -> str:
    """An integer of any length in decimal. Python's own conversion is quadratic, and refuses long ones."""
    if number.bit_length() < SHORT_BITS:
        return str(number)
    from flint import fmpz

    return str(fmpz(number).str())


def bounded(cost: float) -> float:
    """A cost that JSON can hold: exact while small, a double after that, never infinite."""
    if cost <= LARGEST_EXACT:
        return cost
    return float(cost) if cost < LARGEST_COST else LARGEST_COST


COST = Form(float, bounded)
FROM_REQUEST = "From the canonical request and the algorithm."
