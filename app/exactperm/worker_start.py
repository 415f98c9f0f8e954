"""The first call of every worker: configures its logs as in the web process, and warms it up."""

from __future__ import annotations

import time
from functools import partial
from logging.config import dictConfig
from typing import TYPE_CHECKING

from .execution.ipc import Control
from .ops.logs import Format, log_config, silence_libraries
from .service.messages import Body, Job, limits_of
from .service.pipeline import warm_up
from .settings import Settings

if TYPE_CHECKING:
    from .execution.executor import Executor


def first_job(settings: Settings) -> Job:
    """A test that warms up a process."""
    now = time.monotonic()
    return Job("scores", Body("application/json"), (), "json", "warm-up", now, now, limits_of(settings))


def set_warm_up(executor: Executor, settings: Settings) -> None:
    """Have every worker of an executor begin with `start_worker`."""
    start = partial(start_worker, settings.log_format, settings.log_tracebacks)
    executor.warm_up_with(start, first_job(settings))


def start_worker(
    log_format: Format, tracebacks: bool, job: Job, body: bytes | bytearray, control: Control
) -> None:
    """Configure logging, then warm up."""
    dictConfig(log_config(log_format, tracebacks=tracebacks))
    silence_libraries()
    warm_up(job, body, control)
