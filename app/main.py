"""The application factory: the only place where the parts meet."""

from __future__ import annotations

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
from app.execution.executor import Executor, executor_of
from app.execution.frames import Unbounded
from app.ops.head import HeadMiddleware
from app.ops.request_id import RequestIdMiddleware
from app.ops.security_headers import SecurityHeadersMiddleware
from app.settings import Settings


def create_app(settings: Settings | None = None, executor: Executor | None = None) -> FastAPI:
    """An application with its own workers, which start and stop with its lifespan; `executor` if they began before."""
    settings = Settings() if settings is None else settings
    limits = limits_of(settings)
    now = time.monotonic()
    first = Job("scores", Body("application/json"), (), "json", "warm-up", now, now, limits)
    executor = executor_of(settings) if executor is None else executor
    executor.warm_up = (warm_up, first)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        try:
            await executor.start()
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
    add_routes(app, settings, executor)
    # The last added is the outermost.
    app.add_middleware(HeadMiddleware)
    app.add_middleware(LastResortMiddleware)
    app.add_middleware(SecurityHeadersMiddleware)
    app.add_middleware(RequestIdMiddleware)
    app.openapi = lambda: _remembered(app)  # type: ignore[method-assign]
    return app


def _remembered(app: FastAPI) -> dict[str, object]:
    if app.openapi_schema is None:
        app.openapi_schema = document(app)
    return app.openapi_schema
