"""The OpenAPI document: the routes with their operations, and the schemas that they refer to."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic.json_schema import models_json_schema

from ... import __version__
from ...service.schema.compare import CompareRequest, Dataset
from ...service.schema.gate import GateRequest
from ...service.schema.plan import PlanEnvelope
from ...service.schema.requests import REQUEST_MODELS
from .operations import REF, problem_response, reference
from .schemas import ANSWERS, Health

TITLE = "exactperm"
DESCRIPTION = """Exact paired-permutation tests: is system U really better than system V on these items?

Hand over two systems' results on the same items and get an exact p-value with a certificate. Everything but
`runtime` in an answer is a function of the request. Errors are RFC 9457 problem details."""
TAGS = [
    {"name": "tests", "description": "Test, or plan a test."},
    {"name": "compare", "description": "Rank and group many systems."},
    {"name": "gate", "description": "Decide a pull request."},
    {"name": "meta", "description": "What this server can do."},
    {"name": "health", "description": "For load balancers and orchestrators."},
]
BEARER = {
    "type": "http",
    "scheme": "bearer",
    "description": "An API key, where the operator has set any; the health routes need none.",
}
GUARDED_STATUSES = (401, 431)  # wherever a key may be needed; operations have more of their own
HEALTH_PATHS = ("/livez", "/readyz", "/healthz")


def document(app: FastAPI) -> dict[str, Any]:
    """The document of an application, complete and always the same."""
    openapi = get_openapi(
        title=TITLE, version=__version__, description=DESCRIPTION, routes=app.routes, tags=TAGS
    )
    models = (*REQUEST_MODELS.values(), PlanEnvelope, GateRequest, CompareRequest, Dataset)
    requests = [(model, "validation") for model in models]
    answers = [(model, "serialization") for model in ANSWERS]
    _, schemas = models_json_schema([*requests, *answers], ref_template=REF)  # type: ignore[list-item]
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
