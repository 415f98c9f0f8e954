"""One web process with its workers, until SIGTERM or SIGINT; a second signal exits at once."""

from __future__ import annotations

import os

from app.execution.frames import ONE_THREAD

os.environ.update(
    {name: os.environ.get(name, value) for name, value in ONE_THREAD.items()}
)  # before NumPy looks

import asyncio
import logging
import math
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import uvicorn

from app.execution.configured import executor_of
from app.ops.drain import Drain
from app.settings import Settings

LOG_FORMAT = "%(asctime)s %(levelname)s %(name)s %(message)s"


class Server(uvicorn.Server):
    """Exits with status 0 after a clean stop, where uvicorn's own would die of the signal once more.

    On the first signal `drain` begins; for `delay_s` after SIGTERM requests are still taken.
    """

    def __init__(self, config: uvicorn.Config, drain: Drain, delay_s: float) -> None:
        super().__init__(config)
        self._drain = drain
        self._delay_s = delay_s
        self._leaves_at = math.inf

    async def on_tick(self, counter: int) -> bool:
        """Whether to stop serving; asked ten times a second."""
        self.should_exit = self.should_exit or time.monotonic() >= self._leaves_at
        return await super().on_tick(counter)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Take SIGINT and SIGTERM while serving."""
        before = {
            number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)
        }
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """The first signal stops gracefully, the second at once.

        From Python 3.12.1 on, closing a server waits for its connections, so that only leaving is at once;
        workers end when their parent has gone.
        """
        if self._drain.begun:
            logging.shutdown()
            os._exit(0)
        self._drain.begin()
        delay_s = self._delay_s if sig == signal.SIGTERM else 0.0
        self._leaves_at = time.monotonic() + delay_s
        self.should_exit = not delay_s


class WithoutQuery(logging.Filter):
    """Keeps query strings out of the access log: the systems' names may stand in them."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Cut the path of uvicorn's access records at the question mark; pass everything on."""
        if record.name == "uvicorn.access" and isinstance(record.args, tuple) and len(record.args) > 2:
            client, method, path, *rest = record.args
            record.args = (client, method, str(path).partition("?")[0], *rest)
        return True


def log_config(*, access_log: bool) -> dict[str, Any]:
    """Everything to standard output, one line each."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"plain": {"format": LOG_FORMAT}},
        "filters": {"no_query": {"()": WithoutQuery}},
        "handlers": {
            "out": {
                "class": "logging.StreamHandler",
                "formatter": "plain",
                "filters": ["no_query"],
                "stream": "ext://sys.stdout",
            }
        },
        "root": {"handlers": ["out"], "level": "INFO"},
        "loggers": {"uvicorn.access": {"level": "INFO" if access_log else "WARNING"}},
    }


def serve(settings: Settings) -> None:
    """Serve until a signal comes."""
    asyncio.run(_serve(settings))


async def _serve(settings: Settings) -> None:
    executor = executor_of(settings)
    await executor.begin()
    from app.main import create_app  # takes as long as the workers take to import their part: side by side

    app = create_app(settings, executor)
    config = uvicorn.Config(
        app,
        host=settings.host,
        port=settings.port,
        loop="asyncio",
        http="h11",
        ws="none",
        lifespan="on",
        server_header=False,
        proxy_headers=False,
        access_log=settings.access_log,
        log_config=log_config(access_log=settings.access_log),
        timeout_keep_alive=settings.keep_alive_s,
        timeout_graceful_shutdown=settings.shutdown_grace_s,
    )
    await Server(config, app.state.drain, settings.shutdown_delay_s).serve()
