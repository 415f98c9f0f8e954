"""The OpenAPI document: the routes with their operations, and the schemas that they refer to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, get_args

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute, RouteContext, iter_route_contexts
from pydantic.json_schema import models_json_schema

from ...service.kinds import KINDS, JsonTest, Kind
from ...service.schema.compare import OF_A_KIND, Dataset, PlanEnvelope
from ...version import __version__
from .job_operations import (
    ANSWERS as JOB_ANSWERS,
    LIST_ANSWERS,
    LIST_REQUESTS,
    REQUESTS as JOB_REQUESTS,
    batch_operation,
    job_operations,
)
from .operations import (
    REF,
    compare_operation,
    files_operation,
    gate_operation,
    plan_operation,
    power_operation,
    problem_response,
    reference,
    systems_operation,
    test_operation,
)
from .schemas import ANSWERS, Health

TITLE = "exactperm"
DESCRIPTION = """Exact paired-permutation tests: is system U really better than system V on these items?

Send two systems' results on the same items, and get an exact p-value with a certificate. Everything but
`runtime` in an answer is a function of the request. Errors are RFC 9457 problem details."""
TAGS = [
    {"name": "tests", "description": "Test, or plan a test."},
    {"name": "compare", "description": "Rank and group many systems."},
    {"name": "gate", "description": "Decide a pull request."},
    {"name": "power", "description": "Plan the number of items, and the differences they detect."},
    {"name": "jobs", "description": "Work that outlives a connection, and stored answers."},
    {"name": "meta", "description": "Describe this server."},
    {"name": "health", "description": "For load balancers and orchestrators."},
]
BEARER = {
    "type": "http",
    "scheme": "bearer",
    "description": "An API key, if the operator has set any; the health routes need none.",
}
GUARDED_STATUSES = (401, 431)  # every operation with a key has these; some have more
HEALTH_PATHS = ("/livez", "/readyz", "/healthz")
# Routes that read their bodies themselves; FastAPI describes the others.
OPERATIONS: Mapping[Kind, Callable[[], dict[str, Any]]] = {
    **{kind: partial(test_operation, kind) for kind in get_args(JsonTest)},
    "files": files_operation,
    "systems": systems_operation,
    "plan": plan_operation,
    "compare": compare_operation,
    "gate": gate_operation,
    "power": power_operation,
    "batch": batch_operation,
}
BY_PATH = {row.path: OPERATIONS[kind] for kind, row in KINDS.items()}
JOB_OPERATIONS = job_operations()


def document(app: FastAPI) -> dict[str, Any]:
    """The document of an application, complete and always the same."""
    routes = [_described(route) for route in iter_route_contexts(app.routes)]
    openapi = get_openapi(title=TITLE, version=__version__, description=DESCRIPTION, routes=routes, tags=TAGS)
    models = (*OF_A_KIND.values(), PlanEnvelope, Dataset, *JOB_REQUESTS, *LIST_REQUESTS)
    requests: list[Any] = [(model, "validation") for model in models]
    answers: list[Any] = [(model, "serialization") for model in (*ANSWERS, *JOB_ANSWERS, *LIST_ANSWERS)]
    _, schemas = models_json_schema([*requests, *answers], ref_template=REF)
    openapi.setdefault("components", {})["schemas"] = schemas["$defs"]
    openapi["components"]["securitySchemes"] = {"apiKey": BEARER}
    openapi["security"] = [{}, {"apiKey": []}]
    for path in HEALTH_PATHS:
        openapi["paths"][path]["get"]["security"] = []
        responses = openapi["paths"][path]["get"]["responses"]
        responses["200"] = {
            "description": "Yes",
            "content": {"application/json": {"schema": reference(Health)}},
        }
        if path != "/livez":
            responses["503"] = problem_response(503)
    described = {
        "/v1/meta": ("The description", "application/json", {"type": "object"}),
        "/metrics": ("The metrics", "text/plain", {"type": "string"}),
    }
    for path, (description, media, schema) in described.items():
        responses = openapi["paths"][path]["get"]["responses"]
        responses["200"] = {"description": description, "content": {media: {"schema": schema}}}
        responses.update({str(status): problem_response(status) for status in GUARDED_STATUSES})
    return openapi


def _described(route: RouteContext) -> RouteContext | APIRoute:
    """A route with its operation, if it has one."""
    path, endpoint = route.path, route.endpoint
    if path is None or endpoint is None:
        return route
    for method in route.methods or ():
        if (path, method) in JOB_OPERATIONS:
            return APIRoute(path, endpoint, methods=[method], **JOB_OPERATIONS[path, method])
    return APIRoute(path, endpoint, **BY_PATH[path]()) if path in BY_PATH else route
