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

    Raises InvalidTest: an item is not a text, or has no reference; pointers are `/u/17` or `/gold/17/1`.
    """
    u, v = (texts(column, f"/{role}") for role, column in (("u", data.u), ("v", data.v)))
    return Segments(u, v, references(data.gold), data.pairing)


def texts(column: Sequence[Any], pointer: str) -> list[str]:
    """The outputs of one system; raises InvalidTest at the first that is no text."""
    for index, item in enumerate(column):
        if not isinstance(item, str):
            raise _not_a_text(f"{pointer}/{index}", item, "a text")
    return list(column)


def references(gold: Sequence[Any]) -> list[list[str]]:
    """One or more references of every item; raises InvalidTest, pointers `/gold/17/1`."""
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
    return references


def as_gold(pointer: str) -> str:
    """The map for texts: references are `gold` in a request."""
    return "/gold" + pointer.removeprefix("/references") if pointer.startswith("/references") else pointer


def _not_a_text(pointer: str, item: object, needed: str) -> InvalidTest:
    detail = f"This is {NAMES.get(type(item), 'something else')}; {needed} is needed here."
    return InvalidTest.at(pointer, "not_a_text", detail)
