"""The application factory: the only place where the parts meet."""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI

from app import __version__
from app.api.desk import limits_of
from app.api.job import Body, Job
from app.api.last_resort import LastResortMiddleware
from app.api.openapi import TITLE, document
from app.api.pipeline import warm_up
from app.api.routes import add_routes
from app.api.self_test import KNOWN, self_test
from app.errors import ExactpermError
from app.execution.configured import executor_of
from app.execution.executor import Executor
from app.execution.frames import Unbounded
from app.ops.condition import Condition
from app.ops.drain import Drain, DrainMiddleware
from app.ops.head import HeadMiddleware
from app.ops.request_id import RequestIdMiddleware
from app.ops.security_headers import SecurityHeadersMiddleware
from app.settings import Settings

log = logging.getLogger(__name__)


def create_app(settings: Settings | None = None, executor: Executor | None = None) -> FastAPI:
    """An application with its own workers, which start and stop with its lifespan; `executor` if they began before."""
    settings = Settings() if settings is None else settings
    now = time.monotonic()
    first = Job("scores", Body("application/json"), (), "json", "warm-up", now, now, limits_of(settings))
    executor = executor_of(settings) if executor is None else executor
    executor.warm_up_with(warm_up, first)
    drain = Drain()
    condition = Condition(executor, drain)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        try:
            await executor.start()
            await _test(executor, condition, settings)
            warm_up(first, b"", Unbounded())  # small tests run here, too
            yield
        finally:
            await executor.stop()

    app = FastAPI(
        title=TITLE,
        version=__version__,
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
        redirect_slashes=False,
    )
    app.state.settings = settings
    app.state.executor = executor
    app.state.drain = drain
    add_routes(app, settings, executor, condition)
    # The last added is the outermost.
    app.add_middleware(HeadMiddleware)
    app.add_middleware(LastResortMiddleware)
    app.add_middleware(SecurityHeadersMiddleware)
    app.add_middleware(RequestIdMiddleware)
    app.add_middleware(DrainMiddleware, drain=drain)
    app.openapi = lambda: _remembered(app)  # type: ignore[method-assign]
    return app


async def _test(executor: Executor, condition: Condition, settings: Settings) -> None:
    """Compute what is known beforehand, in a warm worker; the service is not ready unless it comes out right."""
    try:
        wrong = await executor.run(self_test, KNOWN, b"", settings.worker_start_timeout_s)
    except (ExactpermError, RuntimeError, ArithmeticError) as error:
        wrong = [type(error).__name__]
    if wrong:
        log.error("the self-test failed, the service will not be ready: %s", ", ".join(wrong))
    condition.tested(wrong)


def _remembered(app: FastAPI) -> dict[str, object]:
    if app.openapi_schema is None:
        app.openapi_schema = document(app)
    return app.openapi_schema
