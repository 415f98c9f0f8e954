"""Is the process alive, and can it take work? Plain routes that touch nothing heavy."""

from __future__ import annotations

from collections.abc import Callable

from fastapi import APIRouter
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

OK = {"status": "ok"}


def health_router(ready: Callable[[], bool], retry_after_s: int) -> APIRouter:
    """`/livez`, `/readyz` and its alias `/healthz`."""
    router = APIRouter(tags=["health"])

    async def livez() -> Response:
        """Alive: the event loop turns."""
        return JSONResponse(OK)

    async def readyz() -> Response:
        """Ready: at least one worker is warm, and the service is not shutting down."""
        if not ready():
            raise HTTPException(503, "No worker is ready.", headers={"retry-after": str(retry_after_s)})
        return JSONResponse(OK)

    router.add_api_route("/livez", livez, response_class=Response, summary="Alive?")
    router.add_api_route("/readyz", readyz, response_class=Response, summary="Ready for work?")
    router.add_api_route("/healthz", readyz, response_class=Response, summary="The same as /readyz")
    return router
