"""One side of a reading, and what several of them say of the same items: gold, events and weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...errors import InvalidTest, pointer_token
from ...inputs.formats.reader import Reading
from ...inputs.nested import NamedCounts
from ...inputs.quoting import quoted
from ...statistics.paired import Counts, Pairing, Predictions, Scores, Segments, Weights


@dataclass(frozen=True, slots=True)
class Side:
    """One system of a reading: its values in the order of the pairing, gold, and the items' weights."""

    values: Any
    gold: Any
    pairing: Pairing
    weights: Weights | None = None
    groups: Any = None
    event: Any = None


def side_of(reading: Reading, role: str) -> Side:
    """The side of the system in a role."""
    data = reading.data
    assert isinstance(data, Scores | Counts | Predictions | Segments)
    values = getattr(data, role)
    if isinstance(data, Counts):
        values = NamedCounts(values)
    if isinstance(data, Predictions):
        return Side(values, data.gold, data.pairing, None, data.groups, data.event)
    gold = data.references if isinstance(data, Segments) else None
    return Side(values, gold, data.pairing, data.weights if isinstance(data, Scores) else None)


def keys_of(side: Side) -> list[str]:
    """The ids of its items as text; none without ids."""
    return [str(key) for key in side.pairing.ids or ()]


def listed(column: Any) -> list[Any] | None:
    """A column as a list, if there is one."""
    return None if column is None else column.tolist()


def written(side: Side) -> list[str] | None:
    """The weights of the items as text."""
    own = side.weights
    return None if own is None else [str(own.unit * value) for value in own.values.tolist()]


def weights_of(own: Mapping[str, Side]) -> dict[str, str] | None:
    """The weights by id, which all files must agree about: with items missing, each was read by itself."""
    weights: dict[str, str] = {}
    some = any(side.weights is not None for side in own.values())
    for name, side in own.items() if some else ():
        texts = written(side)
        if texts is None:
            detail = f"The file of {quoted(name)} has no column weight, and others have one."
            raise InvalidTest.at(f"/files/{pointer_token(name)}", "no_weight", detail)
        for key, weight in zip(keys_of(side), texts, strict=True):
            if weights.setdefault(key, weight) != weight:
                detail = f"The item {quoted(key)} has the weight {weight} in the file of {quoted(name)} and {weights[key]} in another."
                raise InvalidTest.at(f"/files/{pointer_token(name)}", "weight_mismatch", detail)
    return weights if some else None


def of_all_items(own: Mapping[str, Side], what: str) -> dict[str, Any] | None:
    """Gold, groups or events by id, of the items that any system has: with items missing, each was read by itself.

    Raises
    ------
    InvalidTest
        Two files, each with gold of its own, disagree about an item.
    """
    known: dict[str, Any] = {}
    for name, side in own.items():
        column = getattr(side, what)
        if column is None:
            return None
        values = column if isinstance(column, list) else column.tolist()
        for key, value in zip(keys_of(side), values, strict=True):
            if known.setdefault(key, value) != value and what == "gold":
                detail = f"Gold of the item {quoted(key)} is {quoted(value)} in the file of {quoted(name)} and {quoted(known[key])} in another."
                raise InvalidTest.at(f"/files/{pointer_token(name)}", "gold_mismatch", detail)
    return known
