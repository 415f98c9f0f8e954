"""Where a flaw stands in what the client sent: pointers into a request become pointers into its body or query.

Validation and statistics speak of a JSON request (`/u/17`, `/statistic/beta`). Whoever sent a table, lines or files
has no such places; there a line and a field is meant, or a query parameter, or a field of the form.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from ..errors import Flaw, InvalidTest, PlanTooLarge
from .query import NAMES
from .schema.fields import escape

Place = Callable[[str], str]
Refused = TypeVar("Refused", bound=InvalidTest | PlanTooLarge)
COLUMNS = frozenset({"stay", "swap", "gold", "u", "v", "ids", "clusters"})
FIELD = {"ids": "id", "clusters": "cluster"}
NAME_PARAMETERS = {role: name for name, role in NAMES.items()}


def moved(error: Refused, place: Place) -> Refused:
    """The same error with its pointers where the client will find them."""
    flaws = tuple(Flaw(place(flaw.pointer), flaw.code, flaw.detail) for flaw in error.flaws)
    detail = error.detail
    if error.flaws and detail.startswith(f"At {error.flaws[0].pointer}: "):
        detail = f"At {flaws[0].pointer}: {error.flaws[0].detail}"
    return type(error)(detail, flaws=flaws)


def below(prefix: str) -> Place:
    """A request that is wrapped."""
    return lambda pointer: prefix + pointer


def after(first: Place, then: Place) -> Place:
    """One place after the other."""
    return lambda pointer: then(first(pointer))


def option_of(pointer: str) -> str | None:
    """The parameter that says an option; None for a pointer to data."""
    first, *rest = pointer[1:].split("/")
    if not first or first in COLUMNS:
        return None
    if first == "statistic" and rest:
        return "statistic" if rest[0] == "name" else rest[0]
    if first == "names" and rest:
        return NAME_PARAMETERS.get(rest[0], first)
    return first


def in_query(pointer: str) -> str:
    """Options that came as query parameters."""
    option = option_of(pointer)
    return pointer if option is None else f"/?{option}"


def in_lines(lines: Sequence[int]) -> Place:
    """Items that came one a line, options in the query."""

    def place(pointer: str) -> str:
        found = item_of(pointer, len(lines))
        if found is None:
            return in_query(pointer)
        column, index, rest = found
        return "/".join(["/line", str(lines[index]), FIELD.get(column, column), *rest])

    return place


def by_id(ids: Mapping[str, Sequence[str]], *, item_first: bool) -> Place:
    """Columns keyed by id: an index into a column is the id there. Counts by item have their name behind it."""

    def place(pointer: str) -> str:
        found = item_of(pointer, max(map(len, ids.values()), default=0))
        if found is None or (found[0] not in ids and not item_first):
            return pointer
        column, index, rest = found
        key = ids[column][index] if column in ids and index < len(ids[column]) else str(index)
        return "/".join(["", column, escape(key), *rest])

    return place


def item_of(pointer: str, n: int) -> tuple[str, int, list[str]] | None:
    """Column, index of the item, and what is left, of `/u/17/…` or of a named count `/u/tp/17`."""
    column, *rest = pointer[1:].split("/")
    if column not in COLUMNS or not rest:
        return None
    for at in range(min(2, len(rest))):
        if rest[at].isdecimal() and rest[at].isascii() and len(rest[at]) < 10 and int(rest[at]) < n:
            return column, int(rest[at]), rest[:at] + rest[at + 1 :]
    return None
