"""Does the process get on with its work, and can it take more? Plain routes that touch nothing heavy."""

from __future__ import annotations

from collections.abc import Callable

from fastapi import APIRouter
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

OK = {"status": "ok"}

Ailment = Callable[[], str | None]  # what is wrong, in a sentence; None when nothing is


def health_router(not_alive: Ailment, not_ready: Ailment, retry_after_s: int) -> APIRouter:
    """`/livez`, `/readyz` and its alias `/healthz`."""
    router = APIRouter(tags=["health"])

    def said(ailment: str | None) -> Response:
        if ailment is not None:
            raise HTTPException(503, ailment, headers={"retry-after": str(retry_after_s)})
        return JSONResponse(OK)

    async def livez() -> Response:
        """Alive: the event loop turns and, when there is work, some worker gets on with it."""
        return said(not_alive())

    async def readyz() -> Response:
        """Ready: a worker is warm, the self-test gave what it should, and the service is not shutting down."""
        return said(not_ready())

    router.add_api_route("/livez", livez, response_class=Response, summary="Alive?")
    router.add_api_route("/readyz", readyz, response_class=Response, summary="Ready for work?")
    router.add_api_route("/healthz", readyz, response_class=Response, summary="The same as /readyz")
    return router
