"""What a client sent for one data set, before items are aligned; and where each value stands in what it sent."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ...errors import pointer_token
from ...inputs.alignment import (
    GOLD,
    Aligned,
    ById,
    Gapped,
    Given,
    OnMissingOnBoard,
    align,
    system_pointer,
)
from ..pointers import PointerMap

# (column as `/systems/A` or `/gold`, position in the column as it was given, rest of the pointer) to a pointer.
Place = Callable[[str, int, Sequence[str]], str]


@dataclass(frozen=True, slots=True)
class GivenBoard:
    """The columns of one data set by system, in code-point order.

    `place` finds an item of a column, or of `/ids` or `/clusters`, in what was sent; `columns` where whole columns
    stand that have another place than in a JSON request.
    """

    systems: Mapping[str, Given]
    gold: Given | None = None
    ids: Sequence[Any] | None = None
    clusters: Sequence[Any] | Mapping[str, Any] | None = None
    place: Place | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    weights: Sequence[Any] | Mapping[str, Any] | None = None
    groups: Sequence[Any] | Mapping[str, Any] | None = None
    event: Sequence[Any] | Mapping[str, Any] | None = None

    def align(self, on_missing: OnMissingOnBoard) -> Aligned:
        """Bring the columns into one order; raises InvalidTest as `inputs.alignment.align` does."""
        columns = {system_pointer(name): column for name, column in self.systems.items()}
        gold = {} if self.gold is None else {GOLD: self.gold}
        return align(columns | gold, ids=self.ids, clusters=self.clusters, on_missing=on_missing)

    def column(self, pointer: str) -> Given | None:
        """The column at `/systems/A` or `/gold`."""
        if pointer == GOLD:
            return self.gold
        return next((own for name, own in self.systems.items() if system_pointer(name) == pointer), None)

    def whole(self, pointer: str) -> str:
        """The map for pointers to whole columns, and to ids and clusters, before items are aligned."""
        column, index, rest = split(pointer)
        if self.place is not None and index is not None and column in ("/ids", "/clusters"):
            return self.place(column, index, rest)
        return self.columns.get(pointer, pointer)

    def placed(self, column: str, index: int, rest: Sequence[str]) -> str:
        """The pointer to one item of a column; of a JSON request, unless `place` knows better."""
        if self.place is not None:
            return self.place(column, index, rest)
        given = self.column(column)
        if isinstance(given, Gapped):
            index = int(given.positions[index])
        key = pointer_token(given.ids[index]) if isinstance(given, ById) else str(index)
        return "/".join([column, key, *rest])

    def within(self, outer: PointerMap) -> GivenBoard:
        """The same board, whose places are inside of something else."""
        place = self.place
        assert place is not None
        return replace(
            self,
            place=lambda column, index, rest: outer(place(column, index, rest)),
            columns=_Mapped(self.columns, outer),
        )

    def pointer_map(self, aligned: Aligned) -> PointerMap:
        """The map for pointers to items in the common order."""

        def pointer_map(pointer: str) -> str:
            column, index, rest = split(pointer)
            if index is None:
                return self.whole(pointer)
            order = aligned.order.get(column)
            if order is not None:
                if index >= len(order):
                    return self.whole(column)
                index = int(order[index])
            given = self.column(column)
            if given is not None and index >= len(given):
                return self.whole(column)
            return self.placed(column, index, rest)

        return pointer_map


def split(pointer: str) -> tuple[str, int | None, list[str]]:
    """Column, item and rest of `/systems/A/17/…`, `/systems/A/tp/17` or `/gold/17`; an item of None for other pointers."""
    tokens = pointer[1:].split("/")
    head = 2 if tokens[0] == "systems" else 1 if tokens[0] in ("gold", "ids", "clusters") else 0
    column, rest = "/" + "/".join(tokens[:head]), tokens[head:]
    for at in range(min(2, len(rest)) if head else 0):
        if rest[at].isdecimal() and rest[at].isascii() and len(rest[at]) < 10:
            return column, int(rest[at]), rest[:at] + rest[at + 1 :]
    return pointer, None, []


class _Mapped(Mapping[str, str]):
    """Another mapping whose values are mapped when they are looked up."""

    def __init__(self, inner: Mapping[str, str], outer: Callable[[str], str]) -> None:
        self.inner, self.outer = inner, outer

    def __getitem__(self, key: str) -> str:
        return self.outer(self.inner[key])

    def __iter__(self) -> Iterator[str]:
        return iter(self.inner)

    def __len__(self) -> int:
        return len(self.inner)
