"""The executor that the settings describe.

Apart from `main`, so that workers start before the web process has imported its framework.
"""

from __future__ import annotations

from .execution.executor import Executor
from .settings import Settings

# By name: workers import it themselves, the web process later.
ANSWERING = f"{__package__}.service.pipeline"


def executor_of(settings: Settings) -> Executor:
    """The executor that the settings describe; its workers import the pipeline.

    At least two processes, so that one is always free for short calls.
    """
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
