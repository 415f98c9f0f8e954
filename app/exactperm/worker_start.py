"""The first call of every worker: configures its logs as in the web process, and warms it up."""

from __future__ import annotations

from logging.config import dictConfig

from .execution.ipc import Control
from .ops.logs import Format, log_config, silence_libraries
from .service.messages import Job
from .service.pipeline import warm_up


def start_worker(
    log_format: Format, tracebacks: bool, job: Job, body: bytes | bytearray, control: Control
) -> None:
    """Configure logging, then warm up."""
    dictConfig(log_config(log_format, tracebacks=tracebacks))
    silence_libraries()
    warm_up(job, body, control)
