"""Columns that must be ids although nobody said so: two files are not paired by order where one shows another order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ...errors import InvalidTest
from ..quoting import quoted

Column = Sequence[object]


def refuse_hidden_ids(u: Mapping[str, Column], v: Mapping[str, Column], pointer: str) -> None:
    """Refuse pairing by order where a column says that the same items stand in other places.

    Raises
    ------
    InvalidTest
        A column of both files has another value in every row, most of these in both files, and not in the same order.
    """
    for name in u:
        if name in v and _are_ids_in_another_order(u[name], v[name]):
            detail = (
                f"No column is known to hold ids, and in {quoted(name)} the same values stand in another order in u and in "
                f"v: by their order, wrong items would be paired. Say id_column={name[:40]}, or leave it out of the files."
            )
            raise InvalidTest.at(pointer, "choose_id_column", detail)


def _are_ids_in_another_order(u: Column, v: Column) -> bool:
    if not (_may_be_keys(u) and _may_be_keys(v)) or list(u) == list(v):
        return False
    places = {value: place for place, value in enumerate(u)}
    there = [(place, places[value]) for place, value in enumerate(v) if value in places]
    return 2 * len(there) > min(len(u), len(v)) and any(mine != other for mine, other in there)


def _may_be_keys(values: Iterable[object]) -> bool:
    """Texts or integers, each once."""
    found = list(values)
    return all(type(value) in (str, int) for value in found) and len(set(found)) == len(found) > 1
