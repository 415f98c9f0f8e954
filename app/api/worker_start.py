"""The first call of every worker: it logs as the web process does, and is warm when it has answered."""

from __future__ import annotations

from logging.config import dictConfig

from app.api.job import Job
from app.api.pipeline import warm_up
from app.execution.frames import Control
from app.ops.logs import Format, log_config


def start_worker(log_format: Format, job: Job, body: bytes | bytearray, control: Control) -> None:
    """Set the form of log lines, then warm up."""
    dictConfig(log_config(log_format))
    warm_up(job, body, control)
