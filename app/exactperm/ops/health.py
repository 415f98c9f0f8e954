"""Whether the service is alive, ready, or shutting down.

After SIGTERM, `/readyz` is 503 at once. For `shutdown_delay_s` requests are still accepted, because a load balancer needs
a moment to notice, and every response closes its connection. Then the server stops listening and finishes the requests
in flight; those unfinished after `shutdown_grace_s` are cancelled and answered with 503.
"""

from __future__ import annotations

from fastapi import APIRouter
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from ..execution.executor import Executor

CLOSE = (b"connection", b"close")


class Drain:
    """Whether the service is shutting down."""

    def __init__(self) -> None:
        self.begun = False

    def begin(self) -> None:
        """Begin; safe in a signal handler."""
        self.begun = True


class HealthChecks:
    """Reads the executor, the drain and the result of the self-test."""

    def __init__(self, executor: Executor, drain: Drain) -> None:
        self._executor = executor
        self._drain = drain
        self._wrong: list[str] | None = None

    def tested(self, wrong: list[str]) -> None:
        """Record the self-test; `wrong` names the failed cases."""
        self._wrong = wrong

    def not_alive(self) -> str | None:
        """Why the service should be restarted: work is pending and no worker makes progress. A busy service is alive."""
        return "Work is pending and no worker makes progress." if self._executor.stalled else None

    def not_ready(self) -> str | None:
        """Why no requests should be sent to this service."""
        if self._drain.begun:
            return "The service is shutting down."
        if self._wrong is None:
            return "The self-test has not run yet."
        if self._wrong:
            return f"The self-test failed: {', '.join(self._wrong)}."
        return None if self._executor.ready else "No worker is ready."


OK = {"status": "ok"}


def health_router(health: HealthChecks, retry_after_s: int) -> APIRouter:
    """`/livez`, `/readyz` and its alias `/healthz`."""
    router = APIRouter(tags=["health"])

    def respond(failure: str | None) -> Response:
        if failure is not None:
            raise HTTPException(503, failure, headers={"retry-after": str(retry_after_s)})
        return JSONResponse(OK)

    async def livez() -> Response:
        """Alive: the event loop responds and, if work is pending, a worker makes progress."""
        return respond(health.not_alive())

    async def readyz() -> Response:
        """Ready: a worker is warm, the self-test passed, and the service is not shutting down."""
        return respond(health.not_ready())

    router.add_api_route("/livez", livez, response_class=Response, summary="Alive?")
    router.add_api_route("/readyz", readyz, response_class=Response, summary="Report readiness")
    router.add_api_route(
        "/healthz", readyz, response_class=Response, summary="Report readiness, as /readyz does"
    )
    return router
