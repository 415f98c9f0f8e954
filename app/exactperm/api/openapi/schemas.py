"""OpenAPI schemas of the answers, derived from their records: a new field of a record is in the document at once,
with its type, description and bounds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import is_dataclass
from functools import cache, reduce
from operator import or_
from types import GenericAlias, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, create_model

from ...answers.board import CompareRecord
from ...answers.gate import GateRecord
from ...answers.plan import ComparePlanRecord, PlannedMethod, PlanRecord
from ...answers.power import PowerRecord
from ...answers.test import (
    BinaryFraction,
    ConfidenceInterval,
    Form,
    Mass,
    Runtime,
    TestRecord,
    Versions,
    WarningRecord,
    wire_name,
)
from ...errors import Flaw
from ...service.kinds import JsonTest
from ...service.problems import Problem as ProblemRecord

# Components that are not named after their records.
NAMES: dict[type, str] = {
    WarningRecord: "WarningAnswer",
    ConfidenceInterval: "IntervalAnswer",
    Flaw: "ProblemError",
    BinaryFraction: "FractionAnswer",
    TestRecord: "TestResult",
    **{record: record.__name__ for record in (Mass, PlannedMethod, ProblemRecord, Runtime, Versions)},
}


class Answer(BaseModel):
    """Base of all answers."""

    __test__ = False  # TestAnswer is not a test for pytest
    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")


class Health(Answer):
    """Alive, or ready."""

    status: Literal["ok"]


@cache
def model_of(record: type) -> type[BaseModel]:
    """The model of a record's JSON object."""
    name = NAMES.get(record) or record.__name__.removesuffix("Record") + "Answer"
    return create_model(name, __base__=Answer, __doc__=record.__doc__, **_members(record))


def _members(record: type) -> dict[str, Any]:
    return {
        wire_name(name): _member(kind) for name, kind in get_type_hints(record, include_extras=True).items()
    }


def _member(annotation: Any) -> tuple[Any, Any]:
    """The type of a member, with its description and bounds from `Annotated`."""
    kind, *notes = get_args(annotation) if get_origin(annotation) is Annotated else (annotation,)
    for note in notes:
        if isinstance(note, Form):
            kind, *more = get_args(note.type) if get_origin(note.type) is Annotated else (note.type,)
            notes = [*more, *notes]
    texts = [note for note in notes if isinstance(note, str)]
    bounds = {name: value for note in notes if isinstance(note, dict) for name, value in note.items()}
    return _json_type(kind), Field(description=texts[-1] if texts else None, **bounds)


def _json_type(kind: Any) -> Any:
    """The type of a field's JSON value: records become models, tuples of any length become lists."""
    if isinstance(kind, type) and (is_dataclass(kind) or kind is Mass):
        return model_of(kind)
    origin, parts = get_origin(kind), get_args(kind)
    if origin in {Union, UnionType}:
        return reduce(or_, map(_json_type, parts))
    if origin is Mapping:
        return GenericAlias(dict, (str, _json_type(parts[1])))
    if origin is tuple and parts[-1] is Ellipsis:
        return GenericAlias(list, (_json_type(parts[0]),))
    return kind


RuntimeAnswer = model_of(Runtime)
Problem = model_of(ProblemRecord)
_VERSIONS: dict[str, Any] = {"versions": (model_of(Versions), ...)}
_COMPUTED: dict[str, Any] = {"runtime": (RuntimeAnswer, ...), **_VERSIONS, "signature": (str, ...)}
_FUNCTION = "Everything but `runtime` is a function of the request."


def _answer(record: type, meaning: str, kind: Any = None) -> type[BaseModel]:
    """The model of a whole answer: the record with runtime and versions; for a plan, its kind and versions."""
    name = record.__name__.replace("Record", "Answer")
    head, tail = ({}, _COMPUTED) if kind is None else ({"kind": (kind, ...)}, _VERSIONS)
    members: Any = {**head, **_members(record), **tail}
    return create_model(name, __base__=Answer, __doc__=meaning, **members)


TestAnswer = _answer(TestRecord, f"The answer to a test. {_FUNCTION}")
GateAnswer = _answer(
    GateRecord, "The answer of a gate. Policy, margin and so on are those of the deciding metric."
)
CompareAnswer = _answer(
    CompareRecord,
    f"The answer to a comparison of many systems. {_FUNCTION}\n\nA single board has `systems`, `pairs`, "
    "`groups` and `family` here. Several data sets have a board each in `datasets`,\nand those four are "
    "null; `overall` is the board over all data sets.",
)
PlanAnswer = _answer(
    PlanRecord,
    "The method and cost of a test, and the alternatives.",
    JsonTest,
)
PowerAnswer = _answer(PowerRecord, f"The answer to a question about power. {_FUNCTION}")
ComparePlanAnswer = _answer(ComparePlanRecord, "The methods and cost of a comparison.", Literal["compare"])
ANSWERS = (TestAnswer, PlanAnswer, GateAnswer, CompareAnswer, PowerAnswer, ComparePlanAnswer, Problem, Health)
