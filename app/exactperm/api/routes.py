"""The routes: five kinds of tests, plan, comparison, gate, and what describes the service."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from fastapi import APIRouter, FastAPI
from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import Response

from ..execution.executor import Executor
from ..execution.shared_answers import Cache
from ..ops.health import Drain, HealthChecks, health_router
from ..ops.metrics import Metrics, metrics_router
from ..ops.shared_counters import Together
from ..service.limits import limits_of
from ..service.messages import RenderedResponse
from ..settings import Settings
from .admission import InPlace
from .direct import Handler
from .docs import add_docs
from .endpoint import TestEndpoint
from .exception_handlers import add_handlers
from .job_results import Results
from .jobs import JobEndpoint, jobs_router
from .meta import meta_router
from .openapi_document import add_document
from .page import add_page
from .request_body import ByteBudget
from .turns import Turns

if TYPE_CHECKING:
    from ..jobs.gateway import Jobs


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
    """Add all routes and exception handlers; return what answers a POST without the framework's help, by path."""
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
    """`POST /v1/tests/{effects,scores,counts,predictions,files}`, `/v1/plan`, `/v1/compare`, `/v1/gate`, `/v1/power` and `/v1/batch`."""
    router = APIRouter(prefix="/v1")

    async def effects(request: Request) -> Response:
        """The effect of each item as observed, and with the systems exchanged."""
        return await endpoint.answer(request, "effects")

    async def scores(request: Request) -> Response:
        """One number per item and system: mean or sum of differences, sign test, signed ranks."""
        return await endpoint.answer(request, "scores")

    async def counts(request: Request) -> Response:
        """Named counts per item and system: F1 and related scores, ratios such as WER, and any expression of the sums."""
        return await endpoint.answer(request, "counts")

    async def predictions(request: Request) -> Response:
        """Raw outputs of both systems and gold: accuracy, classes, entities, translations."""
        return await endpoint.answer(request, "predictions")

    async def files(request: Request) -> Response:
        """Evaluation files: the format determines what they contain, and the kind of test."""
        return await endpoint.answer(request, "files")

    async def plan(request: Request) -> Response:
        """The method and cost of a test without running it: operations, bytes, seconds, and the reasons."""
        return await endpoint.answer(request, "plan")

    async def gate(request: Request) -> Response:
        """Decide a pull request: 200 when the candidate U passes against the baseline V, 409 when not."""
        return await endpoint.answer(request, "gate")

    async def compare(request: Request) -> Response:
        """Compare many systems: an exact test of each pair, adjusted p-values, rank ranges, groups, the best set."""
        return await endpoint.answer(request, "compare")

    async def power(request: Request) -> Response:
        """Which true difference a test finds, how likely, and how many items that takes."""
        return await endpoint.answer(request, "power")

    async def batch(request: Request) -> Response:
        """Many small tests in one request, answered in order; a bad one has its problem in its place."""
        return await endpoint.answer(request, "batch")

    # `openapi.document` describes them.
    for test in (effects, scores, counts, predictions, files):
        router.add_api_route(f"/tests/{test.__name__}", test, methods=["POST"], response_model=None)
    for other in (plan, compare, gate, power, batch):
        router.add_api_route(f"/{other.__name__}", other, methods=["POST"], response_model=None)
    return router
