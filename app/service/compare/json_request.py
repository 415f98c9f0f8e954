"""A JSON request for a leaderboard: its columns, checked when the kind of data is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

from pydantic import TypeAdapter, ValidationError

from ...errors import Flaw, InvalidTest, pointer_token, relocated
from ...inputs import columns
from ...inputs.alignment import Given, system_pointer
from ..pointers import beside_statistic, prefixed
from ..schema.compare import Columns, CompareKind, CompareRequest, Dataset
from ..schema.fields import ON_MISSING, CountColumns, OutputColumn, SampleColumn
from ..validation import flaws_of, validated
from .board import DecodedCompare, GivenBoard, without_ids

ADAPTERS: Mapping[CompareKind, TypeAdapter[dict[str, Any]]] = {
    "scores": TypeAdapter(dict[str, SampleColumn]),
    "counts": TypeAdapter(dict[str, CountColumns]),
    "predictions": TypeAdapter(dict[str, OutputColumn]),
}
OF_A_DATASET = ("gold", "ids", "clusters", "weights", "groups", "event")


def decoded(value: Any, context: dict[str, Any]) -> DecodedCompare:
    """The request in a decoded JSON body, with the columns of its data sets by name in code-point order.

    Raises InvalidTest: it is not a valid request; pointers are into it.
    """
    context = {**context, ON_MISSING: value.get("on_missing") if type(value) is dict else None}
    request = validated(CompareRequest, value, context=context)
    if request.datasets is None:
        if request.systems is None:
            detail = "Give systems (a column for each, by name), or datasets with systems of their own."
            raise InvalidTest.at("/systems", "missing", detail)
        return DecodedCompare(
            request, {None: _board(request, request.kind, context)}, beside_statistic(value)
        )
    for name in ("systems", "scores"):
        if getattr(request, name) is not None:
            raise InvalidTest.at(f"/{name}", "redundant", "Give either systems or datasets, not both.")
    for name in OF_A_DATASET:
        if getattr(request, name) is not None:
            detail = (
                f"With datasets, {name} goes into each of them: items of two data sets are never the same."
            )
            raise InvalidTest.at(f"/{name}", "superfluous", detail)
    boards: dict[str | None, GivenBoard] = {}
    for name in sorted(request.datasets):
        prefix = f"/datasets/{pointer_token(name[:200])}"
        dataset = validated(Dataset, request.datasets[name], prefix=prefix, context=context)
        with relocated(prefixed(prefix)):
            if dataset.systems is None:
                raise InvalidTest.at("/systems", "missing", "Every data set needs systems of its own.")
            boards[name] = _board(dataset, request.kind, context)
    return DecodedCompare(request, boards, beside_statistic(value))


def _board(given: Columns, kind: CompareKind, context: dict[str, Any]) -> GivenBoard:
    if type(given.systems) is list:
        board, ids = _of_matrix(given, kind)
    else:
        if given.scores is not None:
            detail = "The matrix scores goes with a list of names in systems; these systems have columns of their own."
            raise InvalidTest.at("/scores", "redundant", detail)
        assert given.systems is not None
        systems, ids = without_ids(given.systems, given.model_fields_set)
        try:
            board = GivenBoard(ADAPTERS[kind].validate_python(systems, context=context))
        except ValidationError as error:
            flaws = tuple(
                flaw for detail in error.errors(include_url=False) for flaw in flaws_of(detail, "/systems")
            )
            raise InvalidTest(f"At {flaws[0].pointer}: {flaws[0].detail}", flaws=flaws) from None
    of_items = {name: getattr(given, name) for name in OF_A_DATASET}
    return replace(board, **of_items | {"ids": ids if given.ids is None else given.ids})


def _of_matrix(given: Columns, kind: CompareKind) -> tuple[GivenBoard, list[Any] | None]:
    """Names, and rows of scores in their order; and ids that are among the columns."""
    names: list[str] = list(given.systems or ())
    if kind != "scores":
        detail = f"A list of names goes with the matrix scores; {kind} need an object with a column for each system."
        raise InvalidTest.at("/systems", "matrix_of_scores_only", detail)
    if given.scores is None:
        detail = "A list of names needs the matrix scores: a row for each item, and in it a number for each system."
        raise InvalidTest.at("/scores", "missing", detail)
    positions: dict[str, int] = {}
    for position, name in enumerate(names):
        if positions.setdefault(system_pointer(name), position) != position:
            detail = "A system has the name of an earlier one: give each a name of its own."
            raise InvalidTest.at(f"/systems/{position}", "duplicate_name", detail)
    systems, ids = without_ids(_columns(given.scores, names), given.model_fields_set)

    def place(column: str, index: int | None, rest: Sequence[str]) -> str:
        position = positions.get(column)
        if index is None:
            return column if position is None else f"/systems/{position}"
        return f"{column}/{index}" if position is None else f"/scores/{index}/{position}"

    return GivenBoard(systems, place), ids


def _columns(rows: list[Any], names: list[str]) -> dict[str, Given]:
    """The columns of a matrix; raises InvalidTest at `/scores/<row>[/<column>]`."""
    if not rows:
        raise InvalidTest.at("/scores", "no_items", "There is no item to compare; give at least one row.")
    if set(map(type, rows)) != {list}:
        index = next(i for i, row in enumerate(rows) if type(row) is not list)
        detail = "A row is a list with a number for each system."
        raise InvalidTest.at(f"/scores/{index}", "not_a_row", detail)
    if set(map(len, rows)) != {len(names)}:
        index = next(i for i, row in enumerate(rows) if len(row) != len(names))
        detail = f"This row has {len(rows[index]):,} numbers and there are {len(names):,} systems: every row needs one for each."
        raise InvalidTest.at(f"/scores/{index}", "ragged", detail)
    promised = bool not in set(map(type, chain.from_iterable(rows)))
    by_name: dict[str, Given] = {}
    for position, (name, column) in enumerate(zip(names, zip(*rows, strict=True), strict=True)):
        try:
            by_name[name] = columns.numbers(list(column), may_hold_booleans=not promised)
        except InvalidTest as error:
            flaws = (
                Flaw(f"/scores{flaw.pointer}/{position}", flaw.code, flaw.detail) for flaw in error.flaws
            )
            raise InvalidTest(error.detail, flaws=tuple(flaws)) from None
    return by_name
