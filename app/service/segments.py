"""Predictions that are texts, scored against references: machine translation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..errors import InvalidTest
from ..inputs.columns import NAMES
from ..statistics.catalogue import STATISTICS
from ..statistics.paired import Predictions, Segments

TEXT_STATISTICS = frozenset(entry.name for entry in STATISTICS["segments"])


def segments(data: Predictions) -> Segments:
    """Texts of both systems, and gold as one or more references each; their number may differ.

    Raises
    ------
        InvalidTest: an item is not a text, or has no reference; pointers are `/u/17` or `/gold/17/1`.
    """
    u: Sequence[Any] = data.u
    v: Sequence[Any] = data.v
    gold: Sequence[Any] = data.gold
    for role, column in (("u", u), ("v", v)):
        for index, item in enumerate(column):
            if not isinstance(item, str):
                raise _not_a_text(f"/{role}/{index}", item, "a text")
    references: list[list[str]] = []
    for index, item in enumerate(gold):
        given = item if isinstance(item, list) else [item]
        if not given:
            raise InvalidTest.at(f"/gold/{index}", "no_reference", "Every item needs at least one reference.")
        for number, text in enumerate(given):
            if not isinstance(text, str):
                below = f"/{number}" if isinstance(item, list) else ""
                raise _not_a_text(f"/gold/{index}{below}", text, "a text or a list of texts")
        references.append(given)
    return Segments(list(u), list(v), references, data.pairing)


def as_gold(pointer: str) -> str:
    """The map for texts: references are `gold` in a request."""
    return "/gold" + pointer.removeprefix("/references") if pointer.startswith("/references") else pointer


def _not_a_text(pointer: str, item: object, needed: str) -> InvalidTest:
    detail = f"This is {NAMES.get(type(item), 'something else')}; {needed} is needed here."
    return InvalidTest.at(pointer, "not_a_text", detail)
