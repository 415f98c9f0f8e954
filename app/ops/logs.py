"""Log lines: JSON for programs or text for people, all alike, whoever wrote them. Never a payload, a key or a traceback.

Lines of libraries come by way of the standard library. The one line that every request gets is written directly,
because it is on the path of every request.
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable
from typing import Any, Literal

import structlog
from structlog.typing import EventDict, Processor

Format = Literal["json", "console"]
RequestLine = Callable[..., Any]  # keyword arguments are the members of the line

STAMP = structlog.processors.TimeStamper(fmt="iso", utc=True, key="time")
OURS = {"status", "reason", "request_id"}  # what our own records may carry besides their sentence
INVALID = "Invalid HTTP request received."  # the edge says more, with a request id


def log_config(form: Format) -> dict[str, Any]:
    """For `logging.config.dictConfig`: everything to standard output, one line each."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"ours": {"()": formatter, "form": form}},
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


class Once(logging.Filter):
    """Drops what is said better elsewhere."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether to keep a record."""
        return record.msg != INVALID


def formatter(form: Format) -> logging.Formatter:
    """For records of the standard library."""
    before: list[Processor] = [
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.ExtraAdder(allow=OURS),
        STAMP,
        without_traceback,
    ]
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=before,
        processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, rendered(form)],
    )


def request_line(form: Format) -> RequestLine:
    """What writes the line of a request: `line("request", route=…, status=…)`."""
    logger = structlog.wrap_logger(
        structlog.WriteLogger(sys.stdout),  # a line and its end in one call: other threads write lines, too
        processors=[STAMP, structlog.processors.add_log_level, rendered(form)],
    )
    write: RequestLine = logger.bind().info
    return write


def rendered(form: Format) -> Processor:
    """The last step: a line of text."""
    if form == "console":
        console = structlog.dev.ConsoleRenderer(
            colors=False, timestamp_key="time", exception_formatter=nothing
        )
        return lambda logger, name, event: console(logger, name, printable(event))
    return structlog.processors.JSONRenderer(serializer=compact)


def compact(event: EventDict, **_: Any) -> str:
    """One line of ASCII: no label can begin another."""
    return ENCODER.encode(event)


def printable(event: EventDict) -> EventDict:
    """What a terminal may be shown: no value begins another line, or moves the cursor."""
    return {
        name: value if isinstance(value, int | float | None) else str(value).encode("unicode_escape").decode()
        for name, value in event.items()
    }


def type_name(value: object) -> str:
    """Of what is no JSON only the kind is said: its text could be anything."""
    return type(value).__name__


ENCODER = json.JSONEncoder(separators=(",", ":"), default=type_name)


def nothing(*_: object) -> None:
    """No traceback, in any form."""


def without_traceback(_: Any, __: str, event: EventDict) -> EventDict:
    """An exception as its type and place. What it says may quote the request, and so may the lines of a traceback."""
    record: logging.LogRecord | None = event.get("_record")
    found = record.exc_info if record is not None else event.pop("exc_info", None)
    if record is not None:
        record.exc_info = record.exc_text = record.stack_info = None
        event.pop("exc_info", None)
    if isinstance(found, tuple) and found[0] is not None:
        trace = found[2]
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        event["error"] = found[0].__qualname__
        event["place"] = f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}" if trace else "?"
    return event
