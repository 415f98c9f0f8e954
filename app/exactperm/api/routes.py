"""The routes: five kinds of tests, plan, comparison, gate, power, batch, and the description of the service."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, FastAPI
from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from ..execution.executor import Executor
from ..execution.shared_answers import Cache
from ..ops.health import Drain, HealthChecks, health_router
from ..ops.metrics import Metrics, metrics_router
from ..ops.shared_counters import Together
from ..service.kinds import KINDS, Kind
from ..service.messages import RenderedResponse, limits_of
from ..settings import Settings
from .bodies import ByteBudget, Turns
from .endpoint import InPlace, TestEndpoint
from .exception_handlers import add_handlers
from .jobs import JobEndpoint, Results, jobs_router
from .meta import meta_router
from .pages import add_docs, add_document, add_page

if TYPE_CHECKING:
    from ..jobs.gateway import Jobs


Handler = Callable[[Request], Awaitable[Response]]


class Direct:
    """The innermost application of POSTs to the paths of `handlers`."""

    def __init__(self, handlers: Mapping[str, Handler]) -> None:
        self._handlers = handlers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        response = await self._handlers[scope["path"]](Request(scope, receive, send))
        await response(scope, receive, send)


class Application(FastAPI):
    """A FastAPI application that answers POSTs to some paths past the framework, within the same middlewares.

    The framework's work around an endpoint costs more than a small test. The routes are registered all the same,
    for OpenAPI and for other methods of their paths.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._handlers: Mapping[str, Handler] = {}
        self._direct: ASGIApp = Direct({})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        if scope["type"] == "http" and scope["method"] == "POST" and scope["path"] in self._handlers:
            await self._direct(scope, receive, send)
        else:
            await super().__call__(scope, receive, send)

    def answer_directly(self, handlers: Mapping[str, Handler]) -> None:
        """Answer POSTs to these paths by these handlers; before any `add_layer`."""
        self._handlers, self._direct = handlers, Direct(handlers)

    def add_layer(self, layer: Callable[..., ASGIApp], **options: Any) -> None:
        """Put a middleware around everything, including the direct way; the last added is the outermost."""
        self.add_middleware(layer, **options)
        self._direct = layer(self._direct, **options)


def add_routes(
    app: FastAPI,
    settings: Settings,
    executor: Executor,
    health: HealthChecks,
    metrics: Metrics,
    drain: Drain,
    jobs: Jobs | None,
    held_together: Together | None = None,
) -> Mapping[str, Handler]:
    """Add all routes and exception handlers; return the handlers of direct POSTs by path."""
    cache: Cache[RenderedResponse] = Cache(settings.cache_bytes, settings.cache_entries)
    most = max(settings.bodies_bytes, settings.max_body_bytes)
    budget = ByteBudget(most, partial(metrics.refused, "bodies_bytes"), together=held_together)
    in_place = InPlace(settings)
    metrics.held_bytes = lambda: budget.held
    if jobs is not None:
        metrics.look_at_jobs = jobs.counts
    metrics.in_place_seconds = lambda: in_place.seconds
    turns = Turns()
    limits = limits_of(settings)
    router = test_router(TestEndpoint(settings, executor, limits, cache, budget, in_place, jobs, turns))
    app.include_router(router)
    results = Results(settings, budget, turns)
    app.include_router(jobs_router(JobEndpoint(settings, executor, budget, drain, jobs, results)))
    app.include_router(meta_router(settings))
    app.include_router(health_router(health, settings.retry_after_s))
    app.include_router(metrics_router(metrics))
    add_page(app)
    add_docs(app)
    add_document(app)
    add_handlers(app)
    return {route.path: route.endpoint for route in router.routes if isinstance(route, APIRoute)}


def test_router(endpoint: TestEndpoint) -> APIRouter:
    """A POST for each kind of request."""
    router = APIRouter()

    def answering(kind: Kind, sentence: str) -> Handler:
        async def answer(request: Request) -> Response:
            return await endpoint.answer(request, kind)

        answer.__name__, answer.__doc__ = kind, sentence
        return answer

    # described further by `openapi.document`
    for kind, row in KINDS.items():
        router.add_api_route(row.path, answering(kind, row.purpose), methods=["POST"], response_model=None)
    return router
