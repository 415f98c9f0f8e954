"""The executor, and the first call of each of its processes.

Separate from `main`, so that workers start before the web process imports its framework; imports that only one side
needs are local.
"""

from __future__ import annotations

import time
from functools import partial
from logging.config import dictConfig
from typing import TYPE_CHECKING

from .ops.logs import Format, log_config, silence_libraries
from .settings import Settings

if TYPE_CHECKING:
    from .execution.executor import Executor
    from .execution.ipc import Control
    from .service.messages import Job

# By name: workers import it themselves, the web process later.
ANSWERING = f"{__package__}.service.pipeline"


def executor_of(settings: Settings) -> Executor:
    """The executor that the settings describe; its workers import the pipeline.

    It has at least two processes, so that one is always free for short calls.
    """
    from .execution.executor import Executor

    processes = max(2, settings.workers)
    return Executor(
        workers=processes,
        long_places=processes - 1,
        usual=settings.workers,
        long_s=settings.long_test_seconds,
        queue_depth=settings.queue_depth,
        queue_seconds=settings.queue_seconds,
        queue_bytes=settings.queue_bytes,
        memory_bytes=settings.worker_memory_bytes,
        start_timeout_s=settings.worker_start_timeout_s,
        stall_s=settings.liveness_stall_s,
        most_over_deadline=settings.most_over_deadline,
        least_retry_after_s=settings.retry_after_s,
        preload=ANSWERING,
    )


def first_job(settings: Settings) -> Job:
    """The request that warms up a process."""
    from .service.messages import Body, Job, limits_of

    now = time.monotonic()
    return Job("scores", Body("application/json"), (), "json", "warm-up", now, now, limits_of(settings))


def set_warm_up(executor: Executor, settings: Settings) -> None:
    """Make every worker of an executor begin with `start_worker`."""
    start = partial(start_worker, settings.log_format, settings.log_tracebacks)
    executor.warm_up_with(start, first_job(settings))


def start_worker(
    log_format: Format, tracebacks: bool, job: Job, body: bytes | bytearray, control: Control
) -> None:
    """Configure logging as in the web process, then warm up."""
    from .service.pipeline import warm_up

    dictConfig(log_config(log_format, tracebacks=tracebacks))
    silence_libraries()
    warm_up(job, body, control)
