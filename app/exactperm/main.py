"""The application factory."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from fastapi import FastAPI
from fastapi.telemetry import TelemetryConfig
from prometheus_client import disable_created_metrics

from .api.exception_handlers import ErrorMiddleware
from .api.routes import Application, add_routes
from .errors import DeadlineExceeded, ExactpermError, WorkerLost
from .execution.executor import Executor
from .execution.ipc import Unbounded
from .execution.memory import give_back_after_peaks
from .execution.pool import NotStarted
from .extras import is_installed, missing
from .ops.health import Drain, HealthChecks
from .ops.keys import Keys
from .ops.logs import RequestLine, silence_libraries
from .ops.metrics import Metrics
from .ops.middleware import (
    OPTIONS,
    AuthMiddleware,
    HeadMiddleware,
    ObservabilityMiddleware,
    ProblemCORSMiddleware,
    Templates,
    origins_of,
)
from .ops.shared_counters import Together
from .ops.tracing import spans_to
from .service import pipeline
from .service.answers import versions
from .service.pipeline import KNOWN, self_test
from .settings import Settings
from .version import __version__
from .workers import executor_of, first_job, set_warm_up

if TYPE_CHECKING:
    from .jobs.gateway import Jobs

log = logging.getLogger(__name__)

SELF_TESTS = 5

# FastAPI's spans would contain query strings; ours are in ops.tracing.
NO_TELEMETRY: TelemetryConfig = {"tracing": False, "metrics": False, "logs": False, "auto_configure": False}


def create_app(
    settings: Settings | None = None,
    executor: Executor | None = None,
    line: RequestLine | None = None,
    held_together: Together | None = None,
) -> FastAPI:
    """Create the application. Its workers start and stop with its lifespan, unless it is given a running `executor`.

    `line` writes the log line of each request; without it nothing is logged. `held_together` counts the bytes that this
    process holds together with those of other web processes.
    """
    settings = Settings() if settings is None else settings
    silence_libraries()
    disable_created_metrics()  # they double the number of series, unused
    executor = executor_of(settings) if executor is None else executor
    set_warm_up(executor, settings)
    drain = Drain()
    health = HealthChecks(executor, drain)
    metrics = Metrics(executor, versions())
    spans = spans_to(settings.otlp_endpoint, __version__)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        try:
            await executor.start()
            await _test(executor, health, settings)
            pipeline.warm_up(first_job(settings), b"", Unbounded())  # small tests also run in this process
            watching = asyncio.create_task(give_back_after_peaks(metrics.held_bytes))
            yield
            watching.cancel()
        except NotStarted as error:
            log.error("%s", error)  # noqa: TRY400  (it is not raised by a mistake in the code)
            raise
        finally:
            await executor.stop()
            if spans is not None:
                spans.close()

    app = Application(
        openapi_url=None,  # see `api.pages`
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
        redirect_slashes=False,
        telemetry=NO_TELEMETRY,
    )
    app.state.settings = settings
    app.state.executor = executor
    app.state.drain = drain
    app.state.metrics = metrics
    direct = add_routes(app, settings, executor, health, metrics, drain, jobs_of(settings), held_together)
    app.answer_directly(direct)
    app.add_middleware(HeadMiddleware)
    # The last middleware added is the outermost.
    app.add_layer(AuthMiddleware, keys=Keys.of(settings.api_key_digests))
    app.add_layer(ErrorMiddleware, drain=drain)
    if origins := origins_of(settings.cors_origins):
        app.add_layer(ProblemCORSMiddleware, allow_origins=origins, **OPTIONS)
    templates = Templates(app.routes)
    app.add_layer(
        ObservabilityMiddleware, templates=templates, metrics=metrics, drain=drain, line=line, spans=spans
    )
    return app


def jobs_of(settings: Settings) -> Jobs | None:
    """The job database, which may not be up yet; None if jobs are off. SystemExit if it can never be reached."""
    if not settings.jobs_url:
        return None
    if not is_installed("jobs"):
        raise SystemExit(f"{missing('jobs')}.")
    from .jobs.gateway import Jobs

    try:
        return Jobs(settings)
    except ValueError as error:
        raise SystemExit(f"EXACTPERM_JOBS_URL: {error}.") from None


def warm_up(settings: Settings) -> None:
    """Use everything once, so that forked processes start warm."""
    pipeline.warm_up(first_job(settings), b"", Unbounded())


async def _test(executor: Executor, health: HealthChecks, settings: Settings) -> None:
    """Run the self-test in a worker; unless it passes, the service is not ready."""
    try:
        wrong = await _tested(executor, settings.worker_start_timeout_s)
    except (ExactpermError, RuntimeError, ArithmeticError) as error:
        wrong = [type(error).__name__]
    if wrong:
        log.error("the self-test failed, the service will not be ready: %s", ", ".join(wrong))
    health.tested(wrong)


async def _tested(executor: Executor, timeout_s: float) -> list[str]:
    """The failed cases. A run without an answer is repeated: a dead or late worker says nothing about numbers."""
    for _ in range(SELF_TESTS - 1):
        try:
            wrong: list[str] = await executor.run(self_test, KNOWN, b"", timeout_s)
        except (WorkerLost, DeadlineExceeded) as error:
            log.warning("the self-test gave no answer and runs again: %s", type(error).__name__)
        else:
            return wrong
    return list(await executor.run(self_test, KNOWN, b"", timeout_s))
