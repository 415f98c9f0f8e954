"""Serves with one web process and its workers until SIGTERM or SIGINT; a second signal exits at once."""

from __future__ import annotations

import os

from .execution.ipc import ONE_THREAD

os.environ.update(
    {name: os.environ.get(name, value) for name, value in ONE_THREAD.items()}
)  # before NumPy reads it

import asyncio
import gc
import logging
from functools import partial
from http import HTTPStatus

from .execution import malloc
from .execution.executor import Executor
from .jobs.embedded import embedded_worker
from .ops.edge import descriptors
from .ops.edge.limits import Edge, Limits
from .ops.keys import exposed
from .settings import Settings
from .workers import executor_of

log = logging.getLogger(__name__)


def serve(settings: Settings) -> None:
    """Serve until a signal; SystemExit without API keys on an exposed address if that is not allowed."""
    if (reason := exposed(settings)) and not settings.allow_anonymous:
        raise SystemExit(f"{reason}, or EXACTPERM_ALLOW_ANONYMOUS=true.")
    limits = affordable(settings)
    gc.disable()  # imports create no garbage
    executor = executor_of(settings)
    executor.begin()  # forks, so it comes before threads, event loops and the web framework
    malloc.keep(2**28)  # bodies, and the pieces in which they arrive
    with embedded_worker(settings):
        asyncio.run(_serve(settings, limits, executor))


def affordable(settings: Settings) -> Limits:
    """The connection limits that the file descriptors allow; SystemExit when there are too few."""
    limits = Limits.of(settings)
    try:
        return limits.within(descriptors.for_connections(limits.descriptors, max(2, settings.workers)))
    except ValueError as error:
        raise SystemExit(f"{error}: raise the limit of open files (ulimit -n).") from None


async def _serve(settings: Settings, limits: Limits, executor: Executor) -> None:
    # Imported while the fork server warms up.
    import uvicorn

    from .errors import TooManyConnections
    from .main import create_app
    from .ops.edge.server import Server
    from .ops.edge.uvicorn_protocol import EdgeProtocol
    from .ops.log_config import log_config
    from .ops.logs import request_line
    from .service.problems import of_error, of_status

    def problem(status: int, detail: str, request_id: str) -> tuple[tuple[tuple[str, str], ...], bytes]:
        if status == HTTPStatus.SERVICE_UNAVAILABLE:  # at the edge, only for too many connections
            error = TooManyConnections(detail)
            rendered = of_error(error, request_id, retry_after_s=settings.retry_after_s)
        else:
            rendered = of_status(status, detail, request_id)
        return rendered.headers, rendered.body

    app = create_app(settings, executor, request_line(settings.log_format) if settings.access_log else None)
    edge = Edge(limits, problem, app.state.metrics.refused)
    app.state.metrics.connections = lambda: len(edge.connections)
    config = uvicorn.Config(
        app,
        host=settings.host,
        port=settings.port,
        loop="asyncio",
        http=partial(EdgeProtocol, edge),  # type: ignore[arg-type]  # called like a class
        ws="none",
        lifespan="on",
        server_header=False,
        proxy_headers=False,
        access_log=False,  # the application logs requests itself
        log_config=log_config(settings.log_format, tracebacks=settings.log_tracebacks),
        backlog=limits.at_once,  # accepted per iteration by asyncio; see `Server.startup`
        timeout_keep_alive=settings.keep_alive_s,
        timeout_graceful_shutdown=settings.shutdown_grace_s,
    )
    if reason := exposed(settings):
        log.warning("%s.", reason)
    if limits.max_connections < settings.max_connections:
        log.warning(
            "only %d connections are served instead of %d: raise the limit of open files (ulimit -n).",
            limits.max_connections,
            settings.max_connections,
        )
    gc.freeze()
    gc.enable()
    await Server(config, app.state.drain, settings.shutdown_delay_s).serve()
