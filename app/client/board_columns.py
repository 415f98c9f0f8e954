"""The columns of one board, of whatever Python has them in: by system, paired by their indexes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from .data import array_of, escaped
from .errors import InvalidData
from .frames import frame_of
from .indexed import BESIDE, by_index

Columns = Mapping[str, Any]
MEMBERS = ("systems", "scores", "gold", *BESIDE)


def at_dataset(dataset: str | None) -> str:
    """The pointer of a data set; "" for the only one."""
    return "" if dataset is None else f"/datasets/{escaped(dataset)}"


def of_dataset(value: Any) -> Columns:
    """A data set's members: as they are named, or its systems alone."""
    named = isinstance(value, Mapping) and "systems" in value and set(value) <= set(MEMBERS)
    return cast("Columns", value) if named else {"systems": value}


def board_columns(given: Columns, kind: str | None, at: str) -> Columns:
    """The members of one data set, paired by their indexes where they have any; pointers of errors begin with `at`."""
    try:
        systems = _named(given.get("systems"), given.get("scores"))
        if systems is None:
            return {name: value for name, value in given.items() if value is not None}
        columns = {f"systems/{escaped(name)}": _counted(column, kind) for name, column in systems.items()}
        if given.get("gold") is not None:
            columns["gold"] = given["gold"]
        beside = {name: given[name] for name in BESIDE if given.get(name) is not None}
        paired, beside = by_index("counts" if kind == "counts" else "scores", columns, beside)
    except InvalidData as error:
        raise InvalidData(error.detail, pointer=at + error.pointer) from None
    own = {name: paired[f"systems/{escaped(name)}"] for name in systems}
    return {"systems": own, **({"gold": paired["gold"]} if "gold" in paired else {}), **beside}


def _named(systems: Any, scores: Any) -> dict[str, Any] | None:
    """Every system's column by its name; None for names and rows that the server reads as they are."""
    if scores is not None:
        return _of_matrix(systems, scores)
    if (frame := frame_of(systems, "/systems")) is not None:
        return frame.by_name()
    if not isinstance(systems, Mapping):
        detail = "Give {name: column}, a data frame with a column for each system, or names and a matrix."
        raise InvalidData(detail, pointer="/systems")
    _require_distinct([str(name) for name in systems])
    return {str(name): column for name, column in systems.items()}


def _of_matrix(systems: Any, scores: Any) -> dict[str, Any] | None:
    if systems is None or isinstance(systems, str | Mapping):
        raise InvalidData("Give a list of names, one for each column of scores.", pointer="/systems")
    names = [str(name) for name in systems]
    matrix = array_of(scores)
    if matrix is None:
        return None
    if matrix.ndim != 2 or matrix.shape[1] != len(names):
        detail = f"Give scores of N x {len(names)}: a row for each item, a column for each of the names."
        raise InvalidData(detail, pointer="/scores")
    _require_distinct(names)
    if (frame := frame_of(scores, "/scores")) is not None:
        return dict(zip(names, frame.columns.values(), strict=True))
    return {name: matrix[:, column] for column, name in enumerate(names)}


def _require_distinct(names: Sequence[str]) -> None:
    if len(set(names)) != len(names):
        twice = next(name for index, name in enumerate(names) if name in names[:index])
        raise InvalidData(f"Two systems are called {twice!r}.", pointer="/systems")


def _counted(column: Any, kind: str | None) -> Any:
    """A table of one system's counts as columns by name."""
    frame = frame_of(column) if kind == "counts" else None
    return column if frame is None else frame.as_columns(counts=True)
