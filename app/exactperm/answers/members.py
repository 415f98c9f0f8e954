"""How a record becomes JSON: a member for each field, by its name, unless an `Annotated` type says otherwise.

In `Annotated`, a text describes the member in the OpenAPI document, a mapping holds its bounds, and a `Form` writes
it; pydantic calls the form through `__get_pydantic_core_schema__`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

ID_CHARS = 18
# Smaller integers use Python's conversion.
SHORT_BITS = 10_000
LARGEST_EXACT = 2**53
LARGEST_COST = 1e300


@dataclass(frozen=True, slots=True)
class Form:
    """A member of another type in JSON, converted by `write`."""

    type: Any
    write: Callable[[Any], Any]

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> dict[str, Any]:
        return {"type": "any", "serialization": {"type": "function-plain", "function": self.write}}


def identifier(letter: str, *notes: str) -> Form:
    """The id of an answer: a letter and 16 of the 64 digits of a hash of the question."""
    return Form(
        Annotated[str, {"pattern": f"^{letter}_[0-9a-f]{{16}}$"}, *notes], lambda whole: whole[:ID_CHARS]
    )


def decimal(number: int) -> str:
    """An integer of any length in decimal. Python's conversion is quadratic and refuses long ones."""
    if number.bit_length() < SHORT_BITS:
        return str(number)
    from flint import fmpz

    return str(fmpz(number).str())


def bounded(cost: float) -> float:
    """A cost as a JSON number: exact while small, then a double, never infinite."""
    if cost <= LARGEST_EXACT:
        return cost
    return float(cost) if cost < LARGEST_COST else LARGEST_COST


COST = Form(float, bounded)
FROM_REQUEST = "A hash of the canonical request and the algorithm version."
