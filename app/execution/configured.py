"""The executor that the settings describe."""

from __future__ import annotations

from app.execution.executor import Executor
from app.settings import Settings

# By name: the arrows of the imports point the other way.
ANSWERING = "app.api.pipeline"


def executor_of(settings: Settings) -> Executor:
    """Its workers import what answers requests. One that has nothing long to do must always be there: two at least."""
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
        least_retry_after_s=settings.retry_after_s,
        preload=ANSWERING,
    )
