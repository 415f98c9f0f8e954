"""The first call of every worker: it logs as the web process does, and is warm when it has answered."""

from __future__ import annotations

from logging.config import dictConfig

from .execution.ipc import Control
from .ops.logs import Format, log_config
from .service.messages import Job
from .service.pipeline import warm_up


def start_worker(log_format: Format, job: Job, body: bytes | bytearray, control: Control) -> None:
    """Set the form of log lines, then warm up."""
    dictConfig(log_config(log_format))
    warm_up(job, body, control)
