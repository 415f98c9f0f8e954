"""Names of systems and data sets: present, not too long, and not such that a reader takes one for another."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

import numpy as np

from ...errors import InvalidTest
from ...inputs.alignment import system_pointer
from ...inputs.names import CLUSTER, INDEX, RUN, WEIGHT, find, gold_among, is_key, is_one_of
from ...inputs.quoting import quoted
from ...statistics.label_match import UNSEEN


def require_names(names: Iterable[str], what: str, pointer: Callable[[str], str], most_chars: int) -> None:
    """Refuse names that cannot be told apart in a report; raises InvalidTest at `pointer(name)`."""
    seen: dict[str, str] = {}
    for name in names:
        shown = _shown(name)
        if not shown:
            detail = f"A {what} has an empty name: give each a name of its own."
            raise InvalidTest.at(pointer(name), "empty_name", detail)
        if len(name) > most_chars:
            detail = f"A name has at most {most_chars} characters; this one has {len(name):,}."
            raise InvalidTest.at(pointer(name[:40]), "name_too_long", detail)
        other = seen.setdefault(shown, name)
        if other is not name:
            if other == name:
                detail = f"Two {what}s are called {quoted(name)}: give each a name of its own."
                raise InvalidTest.at(pointer(name), "duplicate_name", detail)
            detail = (
                f"{quoted(name)} and {quoted(other)} look the same: they differ in blanks around them, in characters without "
                f"width or in their Unicode form only. If they are one {what}, write the name the same way; else rename one."
            )
            raise InvalidTest.at(pointer(name), "similar_names", detail)


def without_ids(
    systems: Mapping[str, Any], others: Collection[str]
) -> tuple[dict[str, Any], list[Any] | None]:
    """The columns of systems by name, and that of ids, which is none: its values are all different, and it is called so.

    `others` are the members that the request has beside its systems.

    Raises
    ------
        InvalidTest: a column is called what clusters, weights or gold are, which the request does not have; or ids are missing.
    """
    if len(systems) < 3 or any(isinstance(column, Mapping) for column in systems.values()):
        return dict(systems), None
    found = {
        "clusters": find(systems, CLUSTER),
        "weights": find(systems, WEIGHT),
        "gold": gold_among(systems),
    }
    for member, name in found.items():
        if name is not None and member not in others:
            detail = f"{quoted(name)} is called as {member} would be, which is no system: give it as {member}, or rename it."
            raise InvalidTest.at(system_pointer(name), "no_system", detail)
    keys = [name for name in systems if _called_as_ids(name) and _are_ids(systems[name])]
    if not keys:
        return dict(systems), None
    key = keys[0]
    if any(value is None for value in systems[key]):
        detail = (
            f"{quoted(key)} is called as ids are, and lacks some: give every item one, as ids, or rename it."
        )
        raise InvalidTest.at(system_pointer(key), "no_system", detail)
    return {name: column for name, column in systems.items() if name != key}, list(systems[key])


def _called_as_ids(name: str) -> bool:
    return is_key(name) or is_one_of(name, (*INDEX, *RUN))


def _are_ids(column: Any) -> bool:
    """Whether values are texts or whole numbers, and all different; nulls are no values."""
    values = column.tolist() if isinstance(column, np.ndarray) else [one for one in column if one is not None]
    return set(map(type, values)) <= {str, int} and len(set(values)) == len(values)


def _shown(name: str) -> str:
    """What a reader sees of a name."""
    if name.isascii():
        return name.strip()
    return UNSEEN.sub("", unicodedata.normalize("NFC", name)).strip()
