"""Log lines: JSON for programs or text for people, the same for every logger, never with a payload or a key.

Libraries log through the standard library. The line of each request is written directly, for speed.
"""

from __future__ import annotations

import json
import logging
import sys
import time
import traceback
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Literal

from pydantic_core import PydanticSerializationError, to_json

if TYPE_CHECKING:
    from structlog.typing import EventDict, Processor


Format = Literal["json", "console"]
RequestLine = Callable[..., Any]  # keyword arguments are the members of the line

OURS = {"status", "reason", "request_id"}  # the extras of our own records
LEVEL = "info"  # of the line of a request
PLAIN = frozenset({str, int, float, bool, type(None)})
DELETE = b"\x7f"
MAX_FRAMES = 50  # the innermost ones of a stack


_process: dict[str, int] = {}


def name_process(number: int) -> None:
    """Add the number of the web process to all lines of this process and its forks."""
    _process["process"] = number


def add_process(_: Any, __: str, event: EventDict) -> EventDict:
    """The number of the web process, if there are several."""
    event.update(_process)
    return event


def formatter(form: Format, *, tracebacks: bool = False) -> logging.Formatter:
    """A formatter for records of the standard library."""
    import structlog

    before: list[Processor] = [
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.ExtraAdder(allow=OURS),
        structlog.processors.TimeStamper(fmt="iso", utc=True, key="time"),
        add_process,
        partial(describe_exception, tracebacks=tracebacks),
    ]
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=before,
        processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, rendered(form)],
    )


def request_line(form: Format) -> RequestLine:
    """A function that writes the line of a request: `line("request", route=…, status=…)`."""
    processor: Callable[..., Any] = rendered(form)
    text_of = json_line if form == "json" else partial(processor, None, LEVEL)
    out, stamp = sys.stdout, Stamp()

    def line(event: str, **members: Any) -> None:
        members["event"] = event
        members.update(_process)
        members["time"] = stamp()
        members["level"] = LEVEL
        out.write(text_of(members) + "\n")  # in one call, because other threads also write
        out.flush()

    return line


class Stamp:
    """The time as structlog's TimeStamper writes it; the part down to the second is kept while the second lasts."""

    def __init__(self) -> None:
        self._second, self._text = -1, ""

    def __call__(self) -> str:
        """Now."""
        second, nanoseconds = divmod(time.time_ns(), 1_000_000_000)
        if second != self._second:
            self._second, self._text = second, time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second))
        return f"{self._text}.{nanoseconds // 1000:06d}Z"


def json_line(members: EventDict) -> str:
    """The same as `compact`, three times as fast for numbers and plain texts."""
    if PLAIN.issuperset(map(type, members.values())):
        with suppress(PydanticSerializationError):  # half of a surrogate pair
            text = to_json(members, inf_nan_mode="constants")
            if text.isascii() and DELETE not in text:
                return text.decode()
    return compact(members)


def rendered(form: Format) -> Processor:
    """The last step: a line of text."""
    import structlog

    if form == "console":
        console = structlog.dev.ConsoleRenderer(
            colors=False, timestamp_key="time", exception_formatter=nothing
        )

        def render(logger: Any, name: str, event: EventDict) -> Any:
            lines = event.pop("traceback", "").splitlines()
            line = console(logger, name, printable(event))
            return "\n".join([str(line), *(escaped(text) for text in lines)])

        return render
    return structlog.processors.JSONRenderer(serializer=compact)


def compact(event: EventDict, **_: Any) -> str:
    """One line of ASCII, so that no value can begin another line."""
    return ENCODER.encode(event)


def printable(event: EventDict) -> EventDict:
    """Values that are safe on a terminal: none begins another line or moves the cursor."""
    return {
        name: value if isinstance(value, int | float | None) else escaped(value)
        for name, value in event.items()
    }


def escaped(value: object) -> str:
    """A value as printable ASCII on one line."""
    return str(value).encode("unicode_escape").decode()


def type_name(value: object) -> str:
    """Values that are not JSON are logged by type only; their text is untrusted."""
    return type(value).__name__


ENCODER = json.JSONEncoder(separators=(",", ":"), default=type_name)


def nothing(*_: object) -> None:
    """No traceback from structlog itself."""


def describe_exception(_: Any, __: str, event: EventDict, *, tracebacks: bool = False) -> EventDict:
    """An exception as its type and its stack of `file:line:function`, outermost first.

    Its message may quote the request, and so may the source lines of a traceback: they are logged only with
    `tracebacks`. The exception is that of `exc_info`, or the `extra` called "exception".
    """
    record: logging.LogRecord | None = event.get("_record")
    if record is None:
        return event
    info = record.exc_info if isinstance(record.exc_info, tuple) else (None, None, None)
    error = info[1] or getattr(record, "exception", None)
    record.exc_info = record.exc_text = record.stack_info = None
    event.pop("exc_info", None)
    if isinstance(error, BaseException):
        event["error"] = type(error).__qualname__
        frames = deque(traceback.walk_tb(error.__traceback__), MAX_FRAMES)
        codes = [(frame.f_code, line) for frame, line in frames]
        event["frames"] = [f"{code.co_filename}:{line}:{code.co_qualname}" for code, line in codes]
        if tracebacks:
            event["traceback"] = "".join(traceback.format_exception(error))
    return event


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
    """Drops lines of uvicorn that repeat ours: about invalid requests, and why the workers did not start."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether to keep a record."""
        return record.msg != INVALID and not (
            record.name == "uvicorn.error" and NOT_STARTED in str(record.msg)
        )


class FormatterOfFirstUse(logging.Formatter):
    """The formatter, made with the first record: a worker hardly ever logs, and starts without structlog."""

    def __init__(self, form: Format, tracebacks: bool) -> None:
        super().__init__()
        self._form = form
        self._tracebacks = tracebacks

    def format(self, record: logging.LogRecord) -> str:
        """The line of a record."""
        return self._formatter.format(record)

    @cached_property
    def _formatter(self) -> logging.Formatter:
        return formatter(self._form, tracebacks=self._tracebacks)
