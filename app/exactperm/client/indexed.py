"""Columns of data frames are paired by their index, as pandas itself does, and not by their order.

An index that is not 0, 1, 2, … names the items: columns in one order are sent as lists with `ids`, others as
`{id: value}`, which the server pairs. Arrays, lists and polars have no index, and are paired by order.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .data import plain
from .errors import InvalidData

Columns = Mapping[str, Any]
Labels = list[str]
# The columns of one frame with both systems, when it has these names: whatever their order.
WHOLE = {"scores": ("u", "v"), "counts": ("tp_u", "incorrect_u", "tp_v", "incorrect_v")}
# One value per item beside the columns, by order or by id.
BY_ITEM = ("clusters", "weights", "groups", "event")
BESIDE = ("ids", *BY_ITEM)
BY_ORDER = "use .reset_index(drop=True) or .to_numpy() to pair by order."


def by_index(kind: str, columns: Columns, options: Columns) -> tuple[dict[str, Any], dict[str, Any]]:
    """Columns and options as they are; or with ids, or keyed by id, where an index says so.

    Raises
    ------
        InvalidData: an index has a label twice; or only some columns have one; or indexes differ where nothing can be
            paired by id.
    """
    leaves = _leaves(kind, columns)
    beside = {f"/{name}": options[name] for name in BESIDE if options.get(name) is not None}
    if all(map(_is_counting, (*leaves.values(), *beside.values()))):
        return dict(columns), dict(options)
    labels = {at: _labels(at, value) for at, value in leaves.items() if has_index(value)}
    keyed = kind != "counts" and any(isinstance(value, Mapping) for value in leaves.values())
    if not labels:
        return dict(columns), dict(options)
    beside_labels = {at: _labels(at, value) for at, value in beside.items() if has_index(value)}
    if not keyed and all(map(_counts_rows, (*labels.values(), *beside_labels.values()))):
        return dict(columns), dict(options)
    for at, value in leaves.items():
        if at not in labels and not (keyed and isinstance(value, Mapping)):
            raise InvalidData(f"This has no index, and another column has one: {BY_ORDER}", pointer=at)
    first = next(iter(labels.values()))
    if not keyed and all(one == first for one in (*labels.values(), *beside_labels.values())):
        return dict(columns), {**options, "ids": first if options.get("ids") is None else options["ids"]}
    _require_ids(kind, options, {**labels, **beside_labels}, first)
    return _by_id(kind, columns, labels), _beside_by_id(options, beside_labels)


def has_index(value: Any) -> bool:
    """Whether it is a Series or a data frame, by what it can do; a list's `index` is a method."""
    index = getattr(value, "index", None)
    return hasattr(value, "__array__") and index is not None and not callable(index)


def _is_counting(value: Any) -> bool:
    """Whether a column has no index, or one of pandas that says itself that it counts the rows; dicts have keys."""
    if isinstance(value, Mapping) or not has_index(value):
        return not isinstance(value, Mapping)
    index = value.index
    return type(index).__name__ == "RangeIndex" and bool(index.start == 0 and index.step == 1)


def _leaves(kind: str, columns: Columns) -> dict[str, Any]:
    """Every column under its pointer; counts by name are a column each."""
    leaves: dict[str, Any] = {}
    for name, value in columns.items():
        if kind == "counts" and isinstance(value, Mapping):
            leaves.update({f"/{name}/{inner}": one for inner, one in value.items()})
        elif value is not None:
            leaves[f"/{name}"] = value
    return leaves


def _labels(at: str, value: Any) -> Labels:
    """The labels of an index as text; raises InvalidData where one stands twice."""
    labels = [str(label) for label in value.index]
    if len(set(labels)) != len(labels):
        raise InvalidData(f"Its index, by which items are paired, has a label twice: {BY_ORDER}", pointer=at)
    return labels


def _counts_rows(labels: Labels) -> bool:
    """Whether an index only counts the rows, so that it and the order say the same."""
    return all(label == str(row) for row, label in enumerate(labels))


def _require_ids(kind: str, options: Columns, labels: Mapping[str, Labels], first: Labels) -> None:
    """Refuse what cannot be paired by id."""
    if kind == "effects":
        other = next((at for at, one in labels.items() if one != first), "/swap")
        raise InvalidData(f"Effects are paired by order, and these indexes differ: {BY_ORDER}", pointer=other)
    if options.get("ids") is not None:
        raise InvalidData(
            f"The columns are paired by their indexes, which differ: leave ids out; or {BY_ORDER}",
            pointer="/ids",
        )
    for name in BY_ITEM:
        column = options.get(name)
        if column is not None and f"/{name}" not in labels and not isinstance(column, Mapping):
            detail = f"The columns are paired by their indexes, which differ; this has none: {BY_ORDER}"
            raise InvalidData(detail, pointer=f"/{name}")


def _by_id(kind: str, columns: Columns, labels: Mapping[str, Labels]) -> dict[str, Any]:
    """Every column as `{id: value}`, or `{id: {name: count}}`."""
    keyed: dict[str, Any] = {}
    for name, value in columns.items():
        if kind != "counts":
            keyed[name] = (
                value if isinstance(value, Mapping) else _keyed(value, labels[f"/{name}"], f"/{name}")
            )
            continue
        counts = {
            inner: _keyed(one, labels[f"/{name}/{inner}"], f"/{name}/{inner}") for inner, one in value.items()
        }
        first = next(iter(counts.values()))
        for inner, one in counts.items():
            if one.keys() != first.keys():
                raise InvalidData(
                    "Its index has other labels than that of the first count.", pointer=f"/{name}/{inner}"
                )
        keyed[name] = {key: {inner: one[key] for inner, one in counts.items()} for key in first}
    return keyed


def _keyed(value: Any, labels: Labels, at: str) -> dict[str, Any]:
    return dict(zip(labels, plain(value, at), strict=True))


def _beside_by_id(options: Columns, labels: Mapping[str, Labels]) -> dict[str, Any]:
    """Clusters, weights, groups and events by id, where they have an index."""
    own = {at[1:]: _keyed(options[at[1:]], index, at) for at, index in labels.items() if at != "/ids"}
    return {**options, **own}
