"""The OpenAPI operations of lists of small requests, of jobs and of stored answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from ...reports.representations import OF_A_COMPARISON, OF_A_GATE, OF_A_TEST
from ...service.kinds import JSON, KINDS, NDJSON, JobKind, ListedKind
from ...service.schema.compare import OF_A_KIND
from ...service.schema.fields import Store, Wire
from ...service.schema.requests import SMALL_SCORES
from .operations import (
    CODING,
    PROBLEM_STATUSES,
    STORE,
    TIMEOUT,
    Schema,
    format_parameter,
    header,
    json_content,
    operation,
    parameter,
    problem_response,
    reference,
    report_content,
)
from .schemas import Answer, CompareAnswer, GateAnswer, PowerAnswer, Problem, RuntimeAnswer, TestAnswer

# Lists of small requests


LIST_EXAMPLE: dict[str, Any] = {
    "tests": [
        {"kind": "scores", "request": SMALL_SCORES},
        {"kind": "effects", "request": {"stay": [3, -1, 0, 2]}},
    ]
}


def by_kind(models: Mapping[Any, type[BaseModel]]) -> Schema:
    """Match requests to kinds by chained conditions, which type generators ignore."""
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
    """One request of a list, answered as by its endpoint, in JSON."""

    model_config = ConfigDict(json_schema_extra=by_kind(OF_A_KIND))

    kind: Annotated[ListedKind, Field(description="The kind of the request.")]
    request: Annotated[
        dict[str, Any], Field(json_schema_extra={"anyOf": [*map(reference, OF_A_KIND.values())]})
    ]


class ListRequest(Wire):
    """Many small requests."""

    model_config = ConfigDict(json_schema_extra={"examples": [LIST_EXAMPLE]})

    tests: Annotated[tuple[ListedRequest, ...], Field(min_length=1)]
    store: Store = False


class BatchedAnswer(Answer):
    """The answer to one request of a list, with the status that its endpoint would have."""

    status: Annotated[int, Field(description="200, 409 for a failed gate, or the status of the problem.")]
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
            description="Instead of an answer. Its pointers start at this request.",
            json_schema_extra={"anyOf": [reference(Problem)]},
        ),
    ]


class BatchCounts(Answer):
    """The number of requests, and of those that were answered."""

    tests: int
    answered: int
    problems: int


class BatchAnswer(Answer):
    """The answers to a list, in order."""

    results: list[BatchedAnswer]
    counts: BatchCounts
    runtime: RuntimeAnswer  # type: ignore[valid-type]  # made from the record


LIST_REQUESTS = (ListRequest, ListedRequest)
LIST_ANSWERS = (BatchAnswer, BatchedAnswer, BatchCounts)


def batch_operation() -> dict[str, Any]:
    """Arguments of `add_api_route` for lists."""
    line = "One request per line: kind and request."
    content: dict[str, Any] = {
        JSON: json_content(ListRequest),
        NDJSON: {"schema": {"type": "string", "description": line}},
    }
    answers = {
        JSON: {"schema": reference(BatchAnswer)},
        NDJSON: {
            "schema": {
                "type": "string",
                "description": "One BatchedAnswer per line, in the order of the requests.",
            }
        },
    }
    parameters = [format_parameter(KINDS["batch"].offered), TIMEOUT, CODING, STORE]
    return operation("Answer many small requests", "tests", content, answers, parameters)


# Jobs and stored answers


STATE = Literal["queued", "running", "succeeded", "failed", "cancelled"]
STATES = "|".join(get_args(STATE))
SOME_STATES = f"^,*(({STATES})(,+({STATES}))*,*)?$"
OF_A_JOB_KIND: dict[Any, type[BaseModel]] = {**OF_A_KIND, "batch": ListRequest}
EXAMPLES: list[Any] = [
    {"kind": "scores", "request": SMALL_SCORES},
    {"kind": "batch", "request": LIST_EXAMPLE},
]


class JobRequest(Wire):
    """A request that outlives the connection."""

    model_config = ConfigDict(json_schema_extra={"examples": EXAMPLES, **by_kind(OF_A_JOB_KIND)})

    kind: Annotated[JobKind, Field(description="The kind of the request; batch is a list of requests.")]
    request: Annotated[
        dict[str, Any], Field(json_schema_extra={"anyOf": [*map(reference, OF_A_JOB_KIND.values())]})
    ]


class JobAnswer(Answer):
    """The current state of a job."""

    id: Annotated[str, Field(pattern="^j_[0-9a-f]{32}$", description="Random; cannot be guessed.")]
    kind: JobKind
    state: STATE
    progress: Annotated[float, Field(ge=0, le=1, description="tests_done / tests.")]
    tests: Annotated[int, Field(ge=0)]
    tests_done: Annotated[int, Field(ge=0)]
    chunks: Annotated[int, Field(ge=1, description="The number of parts that it is computed in.")]
    predicted_seconds: Annotated[float, Field(ge=0, description="Processor seconds of the whole job.")]
    algorithm: Annotated[str, Field(description="The version of the algorithm.")]
    created: Annotated[str, Field(description="RFC 3339, in UTC.")]
    ended: str | None
    expires: Annotated[str | None, Field(description="When the job and its result expire.")]
    result: Annotated[str | None, Field(description="The path of the result, once it has succeeded.")]
    problem: Annotated[
        dict[str, Any] | None,
        Field(
            description="Why it failed.", json_schema_extra={"anyOf": [reference(Problem), {"type": "null"}]}
        ),
    ]


class JobsAnswer(Answer):
    """The newest jobs of this API key, the newest first."""

    jobs: tuple[JobAnswer, ...]


REQUESTS = (JobRequest,)
ANSWERS = (JobAnswer, JobsAnswer)
KEY = parameter(
    "Idempotency-Key",
    (
        "Up to 255 characters of your choice. The same key and request return the same job, with "
        "Idempotent-Replayed: true."
    ),
    {"type": "string", "pattern": "^[!-~]([ -~]{0,253}[!-~])?$"},
    "header",
)
TAG = parameter("If-None-Match", "An ETag: 304 if it still matches.", {"type": "string"}, "header")
LAST = parameter("Last-Event-ID", "The id of the last event received.", {"type": "string"}, "header")
LISTING = (
    parameter(
        "state",
        "Only jobs in this state, or in several, separated by commas.",
        {"type": "string", "pattern": SOME_STATES},
    ),
    parameter("after", "The id of a job: list older ones.", {"type": "string"}),
    parameter(
        "limit",
        "The maximum number of jobs. Default 100.",
        {"type": "integer", "minimum": 1, "maximum": 1_000},
    ),
)
OF_A_JOB = (401, 404, 410, 431, 500, 501, 503)
REPRESENTATIONS = tuple(dict.fromkeys((*OF_A_TEST, *OF_A_GATE, *OF_A_COMPARISON)))
ANYTHING: dict[str, Any] = {
    JSON: {"schema": {"type": "object"}},
    NDJSON: {"schema": {"type": "string", "description": "The answers of a list, one per line."}},
    **report_content(REPRESENTATIONS),
}


def _described(
    summary: str,
    responses: dict[int, dict[str, Any]],
    parameters: tuple[Schema, ...] = (),
    statuses: tuple[int, ...] = OF_A_JOB,
    body: dict[str, Any] | None = None,
    path: str | None = "job",
) -> dict[str, Any]:
    known = [] if path is None else [_path(path)]
    extra: dict[str, Any] = {"parameters": [*known, *parameters]}
    if body is not None:
        extra["requestBody"] = {"required": True, "content": body}
    return {
        "summary": summary,
        "tags": ["jobs"],
        "response_class": Response,
        "response_model": None,
        "status_code": min(responses),
        "responses": {**{status: problem_response(status) for status in statuses}, **responses},
        "openapi_extra": extra,
    }


def _path(name: str) -> Schema:
    return {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}


def _answer(model: type[Answer], description: str, **headers: Any) -> dict[str, Any]:
    return {"description": description, "content": {JSON: {"schema": reference(model)}}, "headers": headers}


NOT_MODIFIED = {"description": "Not modified"}
STREAM = {"description": "Events", "content": {"text/event-stream": {"schema": {"type": "string"}}}}


def job_operations() -> dict[tuple[str, str], dict[str, Any]]:
    """Arguments of `add_api_route`, by path and method."""
    accepted = _answer(
        JobAnswer,
        "The job",
        Location=header("Its path."),
        **{
            "Retry-After": header("Seconds.", "integer"),
            "Idempotent-Replayed": header("true if the key already had this job."),
        },
    )
    submitting = tuple(sorted({*PROBLEM_STATUSES, 429, 501} - {406, 409, 410}))
    etag = {"ETag": header("Changes with the job.")}
    answer: dict[int, dict[str, Any]] = {
        200: {"description": "The answer", "content": ANYTHING},
        304: NOT_MODIFIED,
    }
    return {
        ("/v1/jobs", "POST"): _described(
            "Submit a job",
            {202: accepted},
            (format_parameter(REPRESENTATIONS), KEY, CODING),
            submitting,
            {JSON: json_content(JobRequest)},
            path=None,
        ),
        ("/v1/jobs", "GET"): _described(
            "List jobs", {200: _answer(JobsAnswer, "The jobs")}, LISTING, (*OF_A_JOB, 422), path=None
        ),
        ("/v1/jobs/{job}", "GET"): _described(
            "The state of a job", {200: _answer(JobAnswer, "The job", **etag), 304: NOT_MODIFIED}, (TAG,)
        ),
        ("/v1/jobs/{job}", "DELETE"): _described(
            "Cancel a job and forget it", {204: {"description": "It is gone"}}
        ),
        ("/v1/jobs/{job}/cancel", "POST"): _described("Cancel a job", {200: _answer(JobAnswer, "The job")}),
        ("/v1/jobs/{job}/events", "GET"): _described("Follow a job", {200: STREAM}, (LAST,)),
        ("/v1/jobs/{job}/result", "GET"): _described("The result of a job", answer, (TAG,), (*OF_A_JOB, 409)),
        ("/v1/results/{name}", "GET"): _described("A stored answer", answer, (TAG,), path="name"),
    }
