"""Serve with one or more web processes and their workers, or compute jobs, until SIGTERM or SIGINT.

A second signal exits at once.
"""

from __future__ import annotations

import os

from .execution.ipc import SINGLE_THREAD_ENV

os.environ.update(
    {name: os.environ.get(name, value) for name, value in SINGLE_THREAD_ENV.items()}
)  # before NumPy reads it

import asyncio
import contextlib
import gc
import logging
import logging.config
import socket
import sys
from dataclasses import dataclass, replace
from functools import partial
from http import HTTPStatus

from .execution.executor import Executor
from .execution.memory import keep_freed
from .execution.process import keep_from_children
from .jobs.embedded_worker import embedded_worker
from .ops.edge.limits import Edge, Limits, possible_connections
from .ops.keys import exposed
from .ops.shared_counters import Counts
from .settings import Settings
from .web_processes.channel import ToParent
from .workers import executor_of

log = logging.getLogger(__name__)

STARTUP_FAILURE = 3  # the exit status, as uvicorn's


def serve(settings: Settings) -> None:
    """Serve until a signal; SystemExit on an exposed address without API keys, unless that is allowed."""
    if (reason := exposed(settings)) and not settings.allow_anonymous:
        raise SystemExit(f"{reason}, or EXACTPERM_ALLOW_ANONYMOUS=true.")
    limits = affordable(settings)
    gc.disable()  # imports leave no garbage to collect
    if settings.web_processes > 1 and _can_be_many():
        raise SystemExit(_serve_with_many(settings, limits))
    wanted, settings = settings.web_processes, settings.model_copy(update={"web_processes": 1})
    executor = executor_of(settings)
    executor.begin()  # forks: must precede threads, event loops and the web framework
    keep_freed(2**28)  # bodies and the chunks they arrive in
    with embedded_worker(settings):
        asyncio.run(_serve(settings, limits, executor, wanted=wanted))


def work(settings: Settings, *, with_parent: bool) -> None:
    """Compute jobs until a signal or the end of the parent; SystemExit if the database is impossible."""
    from .jobs.database import engine_of
    from .jobs.worker import run
    from .ops.logs import log_config

    try:
        engine_of(settings.jobs_url).dispose()
    except ValueError as error:
        raise SystemExit(f"EXACTPERM_JOBS_URL: {error}.") from None
    logging.config.dictConfig(log_config(settings.log_format, tracebacks=settings.log_tracebacks))
    run(settings, with_parent=with_parent)


def _can_be_many() -> bool:
    return sys.platform.startswith("linux")


def _serve_with_many(settings: Settings, limits: Limits) -> int:
    """Import and warm up once, fork the web processes, and watch them; return the exit status."""
    from .ops.edge.server import cannot_listen, sockets_of
    from .ops.logs import log_config

    try:
        sockets = sockets_of(settings.host, settings.port, settings.web_processes)
    except OSError as error:
        sys.stderr.write(f"exactperm: {cannot_listen(settings.host, settings.port, error)}\n")
        return STARTUP_FAILURE
    logging.config.dictConfig(log_config(settings.log_format, tracebacks=settings.log_tracebacks))
    if reason := exposed(settings):
        log.warning("%s.", reason)
    _warn_of_fewer(limits, settings)
    from . import main
    from .ops.edge import protocol  # noqa: F401  # forked with it
    from .web_processes.parent import Parent

    main.warm_up(settings)
    gc.freeze()
    return Parent(settings, sockets, partial(_run_forked, settings, limits)).start()


def _run_forked(
    settings: Settings,
    limits: Limits,
    number: int,
    sockets: list[socket.socket],
    connection: socket.socket,
    counts: Counts,
) -> None:
    """Run a forked web process until its parent tells it to end."""
    from .ops.logs import name_process
    from .web_processes.parent import share_of

    share = share_of(settings, number, settings.web_processes)
    name_process(number)
    keep_from_children(*sockets, connection)
    executor = executor_of(share)
    executor.begin()
    keep_freed(2**28)
    limits = replace(limits, max_connections_per_address=share.max_connections_per_address)
    # Only the first process runs a job worker; its successor starts another.
    worker = embedded_worker(settings) if number == 0 else contextlib.nullcontext()
    with worker:
        asyncio.run(_serve(share, limits, executor, Place(number, sockets, connection, counts)))


@dataclass(frozen=True, slots=True)
class Place:
    """What a web process inherits: its number, listening sockets, a socket to its parent, and shared counters."""

    number: int
    sockets: list[socket.socket]
    connection: socket.socket
    counts: Counts


def affordable(settings: Settings) -> Limits:
    """The connection limits that the file descriptors allow; SystemExit if they are too few."""
    limits = Limits.of(settings)
    try:
        return limits.within(possible_connections(limits.descriptors, max(2, settings.workers)))
    except ValueError as error:
        raise SystemExit(f"{error}: raise the limit of open files (ulimit -n).") from None


async def _serve(
    settings: Settings, limits: Limits, executor: Executor, place: Place | None = None, wanted: int = 1
) -> None:
    # Imported while the fork server warms up.
    import uvicorn

    from .errors import TooManyConnections
    from .main import create_app
    from .ops.edge.protocol import HTTPProtocol
    from .ops.edge.server import Server
    from .ops.logs import log_config, request_line
    from .service.problems import of_error, of_status

    def problem(status: int, detail: str, request_id: str) -> tuple[tuple[tuple[str, str], ...], bytes]:
        if status == HTTPStatus.SERVICE_UNAVAILABLE:  # only when the edge has too many connections
            error = TooManyConnections(detail)
            rendered = of_error(error, request_id, retry_after_s=settings.retry_after_s)
        else:
            rendered = of_status(status, detail, request_id)
        return rendered.headers, rendered.body

    line = request_line(settings.log_format) if settings.access_log else None
    held = place.counts.held_bytes(place.number) if place else None
    app = create_app(settings, executor, line, held)
    connections = place.counts.connections(place.number) if place else None
    edge = Edge(limits, problem, app.state.metrics.refused, connections)
    app.state.metrics.connections = lambda: len(edge.connections)
    config = uvicorn.Config(
        app,
        host=settings.host,
        port=settings.port,
        loop="asyncio",
        http=partial(HTTPProtocol, edge),  # type: ignore[arg-type]  # called like a class
        ws="none",
        lifespan="on",
        server_header=False,
        proxy_headers=False,
        access_log=False,  # the application logs requests itself
        log_config=log_config(settings.log_format, tracebacks=settings.log_tracebacks),
        backlog=limits.at_once,  # accepted per iteration by asyncio; see `Server.startup`
        timeout_graceful_shutdown=settings.shutdown_grace_s,
    )
    if place is None:
        if reason := exposed(settings):
            log.warning("%s.", reason)
        _warn_of_fewer(limits, settings)
        if wanted > 1:
            log.warning("one web process serves instead of %d: several need Linux.", wanted)
    gc.freeze()
    gc.enable()
    if place is None:
        alone = Server(config, app.state.drain, settings.shutdown_delay_s)
        await alone.serve()
        if not alone.started:
            raise SystemExit(STARTUP_FAILURE)
        return
    parent = ToParent(lambda: not executor.stalled, app.state.metrics.snapshot)
    app.state.metrics.of_all = parent.all_metrics
    server = Server(config, app.state.drain, settings.shutdown_delay_s, parent)
    parent.told = server.handle_exit
    await parent.connect(place.connection)
    await server.serve(place.sockets)
    if not server.started:
        raise SystemExit(STARTUP_FAILURE)


def _warn_of_fewer(limits: Limits, settings: Settings) -> None:
    if limits.max_connections < settings.max_connections:
        log.warning(
            "only %d connections are served instead of %d: raise the limit of open files (ulimit -n).",
            limits.max_connections,
            settings.max_connections,
        )
