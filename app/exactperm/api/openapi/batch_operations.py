"""The OpenAPI operation of lists of small requests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from ...service import messages
from ...service.batch import OfAList
from ...service.schema.compare import CompareRequest
from ...service.schema.fields import Store, Wire
from ...service.schema.requests import REQUEST_MODELS, SMALL_SCORES, GateRequest, PowerRequest
from .operations import json_content, operation, reference
from .parameters import CODING, STORE, TIMEOUT, Schema, format_parameter
from .schemas import Answer, CompareAnswer, GateAnswer, PowerAnswer, Problem, RuntimeAnswer, TestAnswer

OF_A_KIND: dict[str, type[BaseModel]] = dict(REQUEST_MODELS.items())
OF_A_KIND |= {"gate": GateRequest, "compare": CompareRequest, "power": PowerRequest}
LIST_EXAMPLE: dict[str, Any] = {
    "tests": [
        {"kind": "scores", "request": SMALL_SCORES},
        {"kind": "effects", "request": {"stay": [3, -1, 0, 2]}},
    ]
}


def by_kind(models: Mapping[str, type[BaseModel]]) -> Schema:
    """Which request goes with a kind: conditions in a chain, which generators of types leave alone."""
    schema: Schema = {}
    for kind, model in models.items():
        condition = {"properties": {"kind": {"const": kind}}}
        schema = {
            "if": condition,
            "then": {"properties": {"request": reference(model)}},
            **({"else": schema} if schema else {}),
        }
    return schema


class ListedRequest(Wire):
    """One request of a list; it is answered as by its own endpoint, in JSON."""

    model_config = ConfigDict(json_schema_extra=by_kind(OF_A_KIND))

    kind: Annotated[OfAList, Field(description="Which request it is.")]
    request: Annotated[
        dict[str, Any], Field(json_schema_extra={"anyOf": [*map(reference, OF_A_KIND.values())]})
    ]


class ListRequest(Wire):
    """Many small requests."""

    model_config = ConfigDict(json_schema_extra={"examples": [LIST_EXAMPLE]})

    tests: Annotated[tuple[ListedRequest, ...], Field(min_length=1)]
    store: Store = False


class BatchedAnswer(Answer):
    """What one request of a list was answered with, by the status that its own endpoint would have."""

    status: Annotated[int, Field(description="200; 409 for a gate that failed; else that of the problem.")]
    answer: Annotated[
        dict[str, Any],
        Field(
            default_factory=dict,
            json_schema_extra={
                "anyOf": [reference(one) for one in (TestAnswer, GateAnswer, CompareAnswer, PowerAnswer)]
            },
        ),
    ]
    problem: Annotated[
        dict[str, Any],
        Field(
            default_factory=dict,
            description="In the place of an answer. Its pointers begin at this request.",
            json_schema_extra={"anyOf": [reference(Problem)]},
        ),
    ]


class BatchCounts(Answer):
    """How many requests there were, and how many of them were answered."""

    tests: int
    answered: int
    problems: int


class BatchAnswer(Answer):
    """The answers to a list, in its order."""

    results: list[BatchedAnswer]
    counts: BatchCounts
    runtime: RuntimeAnswer  # type: ignore[valid-type]  # made from the record


REQUESTS = (ListRequest, ListedRequest)
ANSWERS = (BatchAnswer, BatchedAnswer, BatchCounts)


def batch_operation() -> dict[str, Any]:
    """Arguments of `add_api_route` for lists."""
    line = "One request a line: kind and request."
    content: dict[str, Any] = {
        messages.JSON: json_content(ListRequest),
        messages.NDJSON: {"schema": {"type": "string", "description": line}},
    }
    answers = {
        messages.JSON: {"schema": reference(BatchAnswer)},
        messages.NDJSON: {
            "schema": {
                "type": "string",
                "description": "One BatchedAnswer a line, in the order of the requests.",
            }
        },
    }
    parameters = [format_parameter(messages.OF_A_LIST), TIMEOUT, CODING, STORE]
    return operation("Answer many small requests", "tests", content, answers, parameters)
