"""The members that JSON has of a record: its fields by their names, but for what `Annotated` types say otherwise.

In an `Annotated` type a text describes the member in the OpenAPI document, a mapping holds its bounds, a `Form` is how it
is written, and `INLINE` makes the members of a record inside members of the object around it. Pydantic, which this room does
not know, asks the classes for how they are written (`__get_pydantic_core_schema__`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

INLINE = object()
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


@dataclass(frozen=True, slots=True)
class Member:
    """A member of a JSON object: where a record has it, and its annotated type."""

    path: tuple[str, ...]
    type: Any


class Flattened:
    """Base of records with members that are not where their fields are."""

    __slots__ = ()

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> dict[str, Any]:
        record: type = cls  # mypy takes the class of instances with a hash for one without
        members = members_of(record)
        fields = {
            name: {"type": "typed-dict-field", "schema": handler.generate_schema(member.type)}
            for name, member in members.items()
        }
        paths = tuple((name, member.path) for name, member in members.items())
        written = {
            "function": partial(_flat, paths),
            "return_schema": {"type": "typed-dict", "fields": fields},
        }
        return {"type": "any", "serialization": {"type": "function-plain", **written}}


@cache
def members_of(record: type) -> dict[str, Member]:
    """The members of a record's JSON object in their order.

    Those of a record inside may be null if it may be None; where both have a member of one name, the outer one is written.
    """
    members: dict[str, Member] = {}
    hints = get_type_hints(record, include_extras=True)
    for name, annotated in hints.items():
        kind, *notes = get_args(annotated) if get_origin(annotated) is Annotated else (annotated,)
        if INLINE in notes:
            optional = get_origin(kind) in {Union, UnionType}
            inside = next(part for part in get_args(kind) if part is not type(None)) if optional else kind
            for inner, member in members_of(inside).items():
                if inner not in hints:
                    of = _or_null(member.type) if optional else member.type
                    members[inner] = Member((name, *member.path), of)
        else:
            members[name] = Member((name,), annotated)
    return members


def _or_null(kind: Any) -> Any:
    """The type, or null; what is said of it stays outside, as bounds cannot be hashed."""
    if get_origin(kind) is not Annotated:
        return kind | None
    own, *notes = get_args(kind)
    return Annotated[own | None, *notes]


def _flat(paths: tuple[tuple[str, tuple[str, ...]], ...], record: Any) -> dict[str, Any]:
    members: dict[str, Any] = {}
    for name, path in paths:
        value = record
        for part in path:
            value = None if value is None else getattr(value, part)
        members[name] = value
    return members
