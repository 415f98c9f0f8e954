"""Computes jobs, in a process of its own, until SIGTERM or SIGINT."""

from __future__ import annotations

import os

from .execution.ipc import ONE_THREAD

os.environ.update(
    {name: os.environ.get(name, value) for name, value in ONE_THREAD.items()}
)  # before NumPy reads it

from logging.config import dictConfig

from .jobs.database import engine_of
from .jobs.worker import run
from .ops.logs import log_config
from .settings import Settings


def work(settings: Settings, *, with_parent: bool) -> None:
    """Work until a signal, or until the parent ends; SystemExit if there can be no database as the settings name it."""
    try:
        engine_of(settings.jobs_url).dispose()
    except ValueError as error:
        raise SystemExit(f"EXACTPERM_JOBS_URL: {error}.") from None
    dictConfig(log_config(settings.log_format, tracebacks=settings.log_tracebacks))
    run(settings, with_parent=with_parent)
