"""Where log lines go, for `logging.config`. What is in a line is written by `logs`."""

from __future__ import annotations

import logging
from functools import cached_property
from typing import Any, Literal

Format = Literal["json", "console"]

QUOTING = ("python_multipart.multipart",)
INVALID = "Invalid HTTP request received."
NOT_STARTED = "NotStarted: "  # of the last line of a traceback


def log_config(form: Format, *, tracebacks: bool = False) -> dict[str, Any]:
    """For `logging.config.dictConfig`: everything goes to standard output, one line each."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"ours": {"()": FormatterOfFirstUse, "form": form, "tracebacks": tracebacks}},
        "filters": {"once": {"()": Once}},
        "handlers": {
            "out": {
                "class": "logging.StreamHandler",
                "formatter": "ours",
                "filters": ["once"],
                "stream": "ext://sys.stdout",
            }
        },
        "root": {"handlers": ["out"], "level": "INFO"},
    }


def silence_libraries() -> None:
    """Disable the loggers of libraries that would quote a request's bytes."""
    for name in QUOTING:
        logging.getLogger(name).disabled = True


class Once(logging.Filter):
    """Drops lines of uvicorn that say again what ours say: about invalid requests, and why the workers did not start."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether to keep a record."""
        return record.msg != INVALID and not (
            record.name == "uvicorn.error" and NOT_STARTED in str(record.msg)
        )


class FormatterOfFirstUse(logging.Formatter):
    """The formatter of `logs`, imported with the first record: a worker hardly ever logs, and starts without structlog."""

    def __init__(self, form: Format, tracebacks: bool) -> None:
        super().__init__()
        self._form = form
        self._tracebacks = tracebacks

    def format(self, record: logging.LogRecord) -> str:
        """The line of a record."""
        return self._formatter.format(record)

    @cached_property
    def _formatter(self) -> logging.Formatter:
        from .logs import formatter

        return formatter(self._form, tracebacks=self._tracebacks)
