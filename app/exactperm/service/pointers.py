"""Pointers into a request become pointers into what the client sent: its body, its query or its form.

Validation and statistics report pointers into a JSON request (`/u/17`, `/statistic/beta`). A client that sent a table,
lines or files needs another pointer: to a line and its field, a query parameter, or a field of the form.
`exactperm.errors.relocated` applies such a map to an error. Maps are partial functions: what is prepared has them, and goes to other processes.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any

from ..errors import pointer_token
from .query import NAMES

PointerMap = Callable[[str], str]
COLUMNS = frozenset({"stay", "swap", "gold", "u", "v", "ids", "clusters", "weights", "groups", "event"})
FIELD = {"ids": "id", "clusters": "cluster", "weights": "weight", "groups": "group"}
# Options that are JSON objects in one parameter.
OBJECTS = frozenset({"sequential"})
NAME_PARAMETERS = {role: name for name, role in NAMES.items()}


def prefixed(prefix: str) -> PointerMap:
    """The map for a request that stands inside another document."""
    return partial(operator.add, prefix)


def chained(first: PointerMap, second: PointerMap) -> PointerMap:
    """Both maps, one after the other."""
    return partial(_in_turn, first, second)


def _in_turn(first: PointerMap, second: PointerMap, pointer: str) -> str:
    return second(first(pointer))


def beside_statistic(value: Any, prefix: str = "") -> PointerMap:
    """The map for a request that names its statistic by a text, or has parameters of it beside it."""
    if not isinstance(value, Mapping):
        return str
    name_alone = isinstance(value.get("statistic"), str)
    return partial(_beside_statistic, f"{prefix}/statistic/", prefix, name_alone, frozenset(value))


def _beside_statistic(
    inside: str, prefix: str, name_alone: bool, members: Collection[str], pointer: str
) -> str:
    name, _, rest = pointer.removeprefix(inside).partition("/")
    if not pointer.startswith(inside):
        return pointer
    if name == "name" and name_alone:
        return inside[:-1]
    return "/".join([prefix, name, *([rest] if rest else [])]) if name in members else pointer


def option_of(pointer: str) -> str | None:
    """The parameter that holds an option; None for a pointer to data."""
    first, *rest = pointer[1:].split("/")
    if not first or first in COLUMNS:
        return None
    if first == "statistic" and rest:
        return "statistic" if rest[0] == "name" else rest[0]
    if first == "names" and rest:
        return NAME_PARAMETERS.get(rest[0], first)
    return first


def part_of_option(pointer: str) -> str | None:
    """The parameter that holds an option, and the part of it where the parameter is a JSON object: `sequential/scale`."""
    option = option_of(pointer)
    if option not in OBJECTS:
        return option
    return pointer[1:]


def in_query(pointer: str) -> str:
    """The map for options sent as query parameters."""
    option = part_of_option(pointer)
    return pointer if option is None else f"/?{option}"


def in_line(lines: Sequence[int], pointer: str) -> str:
    """The map for items sent one per line, with options in the query; `lines` are the items' line numbers."""
    item = item_of(pointer, len(lines))
    if item is None:
        return in_query(pointer)
    column, index, rest = item
    return "/".join(["/line", str(lines[index]), FIELD.get(column, column), *rest])


def by_id(ids: Mapping[str, Sequence[str]], item_first: bool, pointer: str) -> str:
    """The map for columns keyed by id: an index becomes the id. Counts by item (`item_first`) have their name after it."""
    item = item_of(pointer, max(map(len, ids.values()), default=0))
    if item is None or (item[0] not in ids and not item_first):
        return pointer
    column, index, rest = item
    key = ids[column][index] if column in ids and index < len(ids[column]) else str(index)
    return "/".join(["", column, pointer_token(key), *rest])


def item_of(pointer: str, n: int = 10**9) -> tuple[str, int, list[str]] | None:
    """Column, index of the item, and the rest of `/u/17/…`, `/systems/A/17`, or a named count `/u/tp/17`; None for other pointers."""
    tokens = pointer[1:].split("/")
    head = 2 if tokens[0] == "systems" else int(tokens[0] in COLUMNS)
    column, rest = "/".join(tokens[:head]), tokens[head:]
    for at in range(min(2, len(rest)) if head else 0):
        if rest[at].isdecimal() and rest[at].isascii() and len(rest[at]) < 10 and int(rest[at]) < n:
            return column, int(rest[at]), rest[:at] + rest[at + 1 :]
    return None
