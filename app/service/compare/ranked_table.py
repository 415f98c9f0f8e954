"""One file with gold and the scores of many systems becomes the columns of a board."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...inputs.alignment import GOLD, ById, Given, system_pointer
from ...inputs.formats.ranking_systems import SystemsBesideGold
from .given import GivenBoard


def board_beside_gold(found: SystemsBesideGold) -> GivenBoard:
    """The columns of the systems, with gold, groups, events and clusters beside them.

    By position where every system has a score of every item; else by id, for which the number of an item's row stands
    where there are no ids.
    """
    top = found.data.top
    names = {system_pointer(name): name for name in found.columns}
    fields = {GOLD: found.gold_name, "/ids": found.roles.id, "/clusters": found.roles.cluster}
    whole = dict.fromkeys((*names, *fields, "/groups", "/event"), top)

    def place(column: str, index: int, rest: Sequence[str]) -> str:
        name = names.get(column)
        if name is None:
            return found.place(index, fields.get(column))
        return found.place(found.present[name][index], name)

    if found.complete:
        columns: dict[str, Given] = {name: found.columns[name] for name in sorted(found.columns)}
        return GivenBoard(
            columns, found.gold, found.ids, found.clusters, place, whole, groups=found.groups, event=found.events,
        )  # fmt: skip
    keys = found.ids or [str(row + 1) for row in found.rows]

    def by_id(values: list[Any] | None) -> Mapping[str, Any] | None:
        return None if values is None else dict(zip(keys, values, strict=True))

    keyed: dict[str, Given] = {
        name: ById([keys[at] for at in found.present[name]], found.columns[name])
        for name in sorted(found.columns)
    }
    return GivenBoard(
        keyed, ById(keys, found.gold), None, by_id(found.clusters), place, whole,
        groups=by_id(found.groups), event=by_id(found.events),
    )  # fmt: skip
