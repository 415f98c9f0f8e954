"""Liveness and readiness: cheap routes."""

from __future__ import annotations

from collections.abc import Callable

from fastapi import APIRouter
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

OK = {"status": "ok"}

HealthCheck = Callable[[], str | None]  # a sentence that says what is wrong, or None


def health_router(not_alive: HealthCheck, not_ready: HealthCheck, retry_after_s: int) -> APIRouter:
    """`/livez`, `/readyz` and its alias `/healthz`."""
    router = APIRouter(tags=["health"])

    def respond(failure: str | None) -> Response:
        if failure is not None:
            raise HTTPException(503, failure, headers={"retry-after": str(retry_after_s)})
        return JSONResponse(OK)

    async def livez() -> Response:
        """Alive: the event loop responds and, if work is pending, a worker makes progress."""
        return respond(not_alive())

    async def readyz() -> Response:
        """Ready: a worker is warm, the self-test passed, and the service is not shutting down."""
        return respond(not_ready())

    router.add_api_route("/livez", livez, response_class=Response, summary="Alive?")
    router.add_api_route("/readyz", readyz, response_class=Response, summary="Ready for work?")
    router.add_api_route("/healthz", readyz, response_class=Response, summary="The same as /readyz")
    return router
