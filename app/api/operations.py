"""The OpenAPI side of the routes: they read their bodies themselves, so their contract is written down here."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel
from starlette.responses import Response

from app.api import negotiation, problems
from app.api.job import Kind
from app.api.models.requests import REQUEST_MODELS, PlanEnvelope
from app.api.models.responses import PlanAnswer, Problem, TestAnswer
from app.api.queries import LITERAL, NAMES, STATISTIC, TEXT

TABLE_EXAMPLES = {
    negotiation.CSV: {
        "two columns": {"summary": "correct_u,correct_v without a header", "value": "1,0\n1,1\n0,0\n1,0\n"},
        "header": {
            "summary": "ids and clusters",
            "value": "id,u,v,cluster\na,0.85,0.80,d1\nb,0.90,0.85,d1\n",
        },
    },
    negotiation.TSV: {"two columns": {"value": "1\t0\n1\t1\n0\t0\n"}},
}
LINE_EXAMPLE = (
    "p=0.0625 (exact, fft) two-sided mean_difference=0.056 U=0.866 V=0.81 n=5 not significant at 0.05 "
    "t_0123456789abcdef\n"
)
PROBLEM_STATUSES = (400, 406, 413, 415, 422, 500, 503)


def reference(model: type[BaseModel]) -> dict[str, str]:
    """A reference to a model among the components."""
    return {"$ref": f"#/components/schemas/{model.__name__}"}


def test_operation(kind: Kind, summary: str) -> dict[str, Any]:
    """Arguments of `add_api_route` for a test."""
    content: dict[str, Any] = {}
    for media in negotiation.CONSUMED[kind]:
        if media == negotiation.JSON:
            content[media] = {"schema": reference(REQUEST_MODELS[kind])}
        else:
            content[media] = {"schema": {"type": "string"}, "examples": TABLE_EXAMPLES[media]}
    answers: dict[str, Any] = {negotiation.JSON: {"schema": reference(TestAnswer)}}
    for name, media in negotiation.PRODUCED.items():
        if name != "json":
            answers[media] = {"schema": {"type": "string"}}
    answers["text/plain"]["example"] = LINE_EXAMPLE
    parameters = [FORMAT, TIMEOUT]
    if negotiation.CSV in content:
        parameters += _table_parameters(kind)
    return _operation(summary, "tests", content, answers, parameters)


test_operation.__test__ = False  # type: ignore[attr-defined]


def plan_operation() -> dict[str, Any]:
    """Arguments of `add_api_route` for the plan."""
    content = {negotiation.JSON: {"schema": reference(PlanEnvelope)}}
    return _operation(
        "Predict what a test costs",
        "tests",
        content,
        {negotiation.JSON: {"schema": reference(PlanAnswer)}},
        [TIMEOUT],
    )


def _operation(
    summary: str, tag: str, content: dict[str, Any], answers: dict[str, Any], parameters: list[dict[str, Any]]
) -> dict[str, Any]:
    return {
        "methods": ["POST"],
        "summary": summary,
        "tags": [tag],
        "response_class": Response,
        "response_model": None,
        "responses": {
            200: {"description": "The answer", "content": answers, "headers": ANSWER_HEADERS},
            **{status: problem_response(status) for status in PROBLEM_STATUSES},
        },
        "openapi_extra": {"parameters": parameters, "requestBody": {"required": True, "content": content}},
    }


def problem_response(status: int) -> dict[str, Any]:
    """How a status is described: the titles of its problem types."""
    kinds = [kind for kind in problems.all_types() if kind.status == status]
    response: dict[str, Any] = {
        "description": "; or ".join(kind.title for kind in kinds),
        "content": {problems.MEDIA_TYPE: {"schema": reference(Problem)}},
    }
    if status == 503:
        response["headers"] = {"Retry-After": {"description": "Seconds.", "schema": {"type": "integer"}}}
    return response


ANSWER_HEADERS = {
    "ETag": {"description": "The id of the answer.", "schema": {"type": "string"}},
    "Server-Timing": {"description": "queue and compute, in milliseconds.", "schema": {"type": "string"}},
    "X-Request-Id": {"description": "The client's, or a new one.", "schema": {"type": "string"}},
}
FORMAT = {
    "name": "format",
    "in": "query",
    "required": False,
    "description": "The representation of the answer; overrides Accept.",
    "schema": {"type": "string", "enum": list(negotiation.PRODUCED)},
}
TIMEOUT = {
    "name": "timeout_s",
    "in": "query",
    "required": False,
    "description": "Deadline in seconds, clamped by the server; here it counts before any body is read.",
    "schema": {"type": "number", "exclusiveMinimum": 0},
}


def _table_parameters(kind: Kind) -> list[dict[str, Any]]:
    """The options of a table body, with the schemas they have in a JSON body."""
    schema = REQUEST_MODELS[kind].model_json_schema()
    statistic = schema["$defs"][type(REQUEST_MODELS[kind].model_fields["statistic"].default).__name__][
        "properties"
    ]
    members: dict[str, Any] = {name: statistic[member] for name, member in STATISTIC.items()}
    members.update({name: schema["properties"][name] for name in (*TEXT, *LITERAL) if name != "timeout_s"})
    members.update({name: {"type": "string"} for name in NAMES})
    return [
        {
            "name": name,
            "in": "query",
            "required": False,
            "description": "For text/csv and text/tab-separated-values only; JSON bodies say it themselves.",
            "schema": {key: value for key, value in member.items() if key != "title"},
        }
        for name, member in members.items()
    ]
