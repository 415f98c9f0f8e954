"""A gate against several baselines: their columns beside the candidate's, or their files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .errors import InvalidData
from .frames import frame_of
from .indexed import by_index
from .requests import TestRequest, file_of

ROLE = "against"


def against_body(test: TestRequest, against: Mapping[str, Any]) -> dict[str, Any]:
    """The members `request`, without v, and `against`.

    Raises
    ------
        InvalidData: the test has its baseline already, or a column cannot be put into a request; or indexes of data
            frames name other items, or the same in another order.
    """
    if not isinstance(against, Mapping):
        raise InvalidData("Give the baselines by name: against={'main': …, 'v1.2': …}.", pointer=f"/{ROLE}")
    if "u" not in test.columns or test.columns.get("v") is not None:
        raise InvalidData(
            "The test has a baseline already: give scores(u), counts(u) or predictions(gold, u)."
        )
    if hasattr(test.columns["u"], "columns"):
        raise InvalidData("With against, the candidate is one column and not a data frame.", pointer="/u")
    tables = {name: frame_of(column, f"/{ROLE}/{name}") for name, column in against.items()}
    for name, table in tables.items():
        if table is not None and table.is_table:
            detail = "This baseline is a table and the candidate a column: give columns, or tables."
            raise InvalidData(detail, pointer=f"/{ROLE}/{name}")
    against = {
        name: column if (one := tables[name]) is None else one.as_columns()
        for name, column in against.items()
    }
    bodies = {name: _body(test, column, f"/{ROLE}/{name}") for name, column in against.items()}
    columns = {str(name): body.pop("v") for name, body in bodies.items()}
    shared = list(bodies.values())
    if any(body != shared[0] for body in shared):
        raise InvalidData(
            "These baselines have other indexes, so that the candidate is paired with them in different ways: give all "
            "columns the same index.",
            pointer=f"/{ROLE}",
        )
    return {"request": shared[0] if shared else test.body, ROLE: columns}


def _body(test: TestRequest, column: Any, at: str) -> dict[str, Any]:
    """The request of the test against one baseline, paired by indexes as that of two systems is."""
    if column is None:
        raise InvalidData("This baseline has no data.", pointer=at)
    try:
        columns, options = by_index(test.kind, {**test.columns, "v": column}, test.options)
        return TestRequest(test.kind, columns, options).body
    except InvalidData as error:
        if not error.pointer.startswith("/v"):
            raise
        raise InvalidData(error.detail, pointer=at + error.pointer.removeprefix("/v")) from None


def against_files(
    against: Mapping[str, Any] | Sequence[Any],
) -> tuple[list[tuple[str, tuple[str, bytes]]], list[str]]:
    """The baselines' files as parts of a form, and their names where they were given."""
    named = isinstance(against, Mapping)
    files = list(against.values()) if isinstance(against, Mapping) else list(against)
    if not files:
        raise InvalidData("Give at least one baseline.", pointer=f"/{ROLE}")
    return [(ROLE, file_of(ROLE, file)) for file in files], [str(name) for name in against] if named else []
