"""OpenAPI schemas of the answers, derived from the records that they are written from.

A field added to a record is in the document at once; its type, its description and its bounds are the record's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import is_dataclass
from functools import cache, reduce
from operator import or_
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, create_model

from ...answers.plan import PlannedMethod
from ...answers.test import ConfidenceInterval, Fraction2, TestRecord, WarningRecord
from ...errors import Flaw
from ...service.answers import (
    CompareAnswer as CompareRecords,
    ComparePlanAnswer as ComparePlanRecords,
    GateAnswer as GateRecords,
    Mass,
    PlanAnswer as PlanRecords,
    PowerAnswer as PowerRecords,
    Runtime,
    TestAnswer as TestRecords,
    Versions,
    json_types,
)
from ...service.problems import Problem as ProblemRecord

# Components whose names do not follow from those of their records.
NAMES: dict[type, str] = {
    WarningRecord: "WarningAnswer",
    ConfidenceInterval: "IntervalAnswer",
    Flaw: "ProblemError",
    Fraction2: "FractionAnswer",
    TestRecord: "TestResult",
    **{record: record.__name__ for record in (Mass, PlannedMethod, ProblemRecord, Runtime, Versions)},
}


class Answer(BaseModel):
    """Base of all answers."""

    __test__ = False  # pytest would collect TestAnswer by its name
    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")


class Health(Answer):
    """Alive, or ready."""

    status: Literal["ok"]


@cache
def model_of(record: type) -> type[BaseModel]:
    """The model of the JSON object that a record is written as."""
    name = NAMES.get(record) or record.__name__.removesuffix("Record").removesuffix("Answer") + "Answer"
    members: Any = {member: _member(kind) for member, kind in json_types(record).items()}
    return create_model(name, __base__=Answer, __doc__=record.__doc__, **members)


def _member(annotation: Any) -> tuple[Any, Any]:
    """The type of a member, and its description and bounds out of `Annotated`."""
    kind, *notes = get_args(annotation) if get_origin(annotation) is Annotated else (annotation,)
    texts = [note for note in notes if isinstance(note, str)]
    bounds = {name: value for note in notes if isinstance(note, dict) for name, value in note.items()}
    return _json_type(kind), Field(description=texts[-1] if texts else None, **bounds)


def _json_type(kind: Any) -> Any:
    """A type of a record's field as the type of its JSON value: records as models, tuples of any length as lists."""
    if is_dataclass(kind) and isinstance(kind, type):
        return model_of(kind)
    origin, parts = get_origin(kind), get_args(kind)
    if origin in {Union, UnionType}:
        return reduce(or_, map(_json_type, parts))
    if origin is Mapping:
        return dict[str, _json_type(parts[1])]  # type: ignore[misc]
    if origin is tuple and parts[-1] is Ellipsis:
        return list[_json_type(parts[0])]  # type: ignore[misc]
    return kind


TestAnswer = model_of(TestRecords)
GateAnswer = model_of(GateRecords)
CompareAnswer = model_of(CompareRecords)
PlanAnswer = model_of(PlanRecords)
PowerAnswer = model_of(PowerRecords)
ComparePlanAnswer = model_of(ComparePlanRecords)
RuntimeAnswer = model_of(Runtime)
Problem = model_of(ProblemRecord)
ANSWERS = (TestAnswer, PlanAnswer, GateAnswer, CompareAnswer, PowerAnswer, ComparePlanAnswer, Problem, Health)
