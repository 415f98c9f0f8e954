"""`GET /v1/meta`: what this server can do and how far it goes."""

from __future__ import annotations

from typing import Any, get_args

from fastapi import APIRouter
from starlette.responses import JSONResponse, Response

from app.api import negotiation, problems
from app.api.answer import versions
from app.inference.options import Alternative, Method, PmfDetail
from app.settings import Settings

STATISTICS: dict[str, list[dict[str, Any]]] = {
    "effects": [{"name": "expression", "parameters": {"expression": ["x1", "abs(x1)"]}}],
    "scores": [
        {"name": "mean_difference", "parameters": {}},
        {"name": "sum_difference", "parameters": {}},
        {"name": "sign", "parameters": {}},
        {"name": "signed_rank", "parameters": {"zero_method": ["wilcox", "pratt", "zsplit"]}},
    ],
    "predictions": [
        {"name": "accuracy", "parameters": {}},
        {"name": "exact_match", "parameters": {}},
        {"name": "token_accuracy", "parameters": {}},
    ],
}
PUBLIC_LIMITS = (
    "max_body_bytes",
    "max_items",
    "max_name_chars",
    "max_samples",
    "default_timeout_s",
    "max_timeout_s",
    "engine_budget_operations",
    "engine_budget_bytes",
    "inplace_body_bytes",
    "workers",
    "queue_depth",
)


def meta_of(settings: Settings) -> dict[str, Any]:
    """The description of a server with these settings."""
    return {
        "versions": versions(),
        "limits": {name: getattr(settings, name) for name in PUBLIC_LIMITS},
        "tests": ["permutation"],
        "methods": list(get_args(Method)),
        "alternatives": list(get_args(Alternative)),
        "pmf": list(get_args(PmfDetail)),
        "statistics": STATISTICS,
        "media_types": {
            "consumes": {kind: list(types) for kind, types in negotiation.CONSUMED.items()},
            "produces": dict(negotiation.PRODUCED),
        },
        "problems": [
            {"type": problems.TYPE_PREFIX + kind.code, "status": kind.status, "title": kind.title}
            for kind in problems.all_types()
        ],
    }


def meta_router(settings: Settings) -> APIRouter:
    """The route; its answer never changes while the server runs."""
    router = APIRouter(prefix="/v1", tags=["meta"])
    said = meta_of(settings)

    async def meta() -> Response:
        """Versions, limits, methods, statistics with their parameters, media types and problem types."""
        return JSONResponse(said)

    router.add_api_route("/meta", meta, response_class=Response, summary="What this server can do")
    return router
