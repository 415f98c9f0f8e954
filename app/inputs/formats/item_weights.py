"""The weights of items that files have in a column, beside the values of each system."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...errors import InvalidTest, relocated
from ...statistics.paired import Weights
from ...statistics.weights import weights_of
from ..quoting import quoted

if TYPE_CHECKING:
    from .outputs_by_id import SystemOutputs

# Of files with weights.
NOTE = "Items count by the column weight."


def written_weights(systems: Sequence[SystemOutputs]) -> dict[str, str] | None:
    """The weight of each item of the systems, as it is written; None where the files have none.

    Raises
    ------
    InvalidTest
        One is no weight, or only some files have them, or an item has two; pointers are those of the items.
    """
    if all(weight is None for system in systems for weight in system.weights):
        return None
    written: dict[str, str] = {}
    places: dict[str, str] = {}
    for system in systems:
        for key, weight, path in zip(system.ids, system.weights, system.paths, strict=True):
            pointer = f"{system.source.pointer}/{path}"
            if weight is None:
                detail = f"{system.source.label}: the item {quoted(key)} has no weight, and others have one."
                raise InvalidTest.at(pointer, "no_weight", detail)
            if written.setdefault(key, weight) != weight:
                detail = (
                    f"{system.source.label}: the item {quoted(key)} has the weight {quoted(weight)} here and "
                )
                detail += f"{quoted(written[key])} at {places[key]}: an item has one weight."
                raise InvalidTest.at(pointer, "weight_mismatch", detail)
            places.setdefault(key, pointer)
    keys = list(written)
    with relocated(lambda pointer: places[keys[int(pointer[1:])]]):
        weights_of(list(written.values()))
    return written


def item_weights(systems: Sequence[SystemOutputs], ids: Sequence[str]) -> Weights | None:
    """The weights of the items `ids`, in their order; None where the files have none. Raises as `written_weights`."""
    written = written_weights(systems)
    return None if written is None else weights_of([written[key] for key in ids])
