"""The exception tree of exactperm; `exactperm.service.problems` alone turns it into HTTP.

An `InputError` is for the caller to fix; after a `CapacityError` it can only try again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Annotated, ParamSpec, TypeVar

PointerMap = Callable[[str], str]
P = ParamSpec("P")
Made = TypeVar("Made")
Error = TypeVar("Error", bound="ExactpermError")
MAX_FLAWS = 20
MAX_CHOICES = 20
MARKED_CHARS = 80  # longest value quoted in a sentence
MAX_CHOICE_CHARS = 400  # of a value; longer ones are not offered: cut, they would be another value


@dataclass(frozen=True, slots=True)
class Choice:
    """One way to mend a request: the `fields` to send with it, and a short title."""

    title: str
    fields: Annotated[Mapping[str, str], "Options by name, as text: form fields or query parameters."]


@dataclass(frozen=True, slots=True)
class Flaw:
    """One fault of a request, with an RFC 6901 pointer to it."""

    pointer: Annotated[
        str,
        "RFC 6901; `/?name` is a query parameter, `/line/3/2` a field of a table, `/files/u/line/3` one of a file, "
        "`/options/name` a field of the form.",
    ]
    code: str
    detail: str
    choices: Annotated[
        tuple[Choice, ...],
        "Choices that fix the error; absent if there are none.",
        {"max_length": MAX_CHOICES, "default": []},
    ] = field(default=(), hash=False)


def choices_of(option: str, values: Mapping[str, str]) -> tuple[Choice, ...]:
    """One choice for each value of an option, with its title; those that cannot be sent back whole are left out."""
    usable = ((value, title) for value, title in values.items() if value and len(value) <= MAX_CHOICE_CHARS)
    return tuple(Choice(title, {option: value}) for value, title in usable)[:MAX_CHOICES]


def marked(option: str, value: object = None) -> str:
    """An option marked in a sentence, `id_column=q` or `id_column` alone, so that each interface can spell it its way.

    Problems spell it as a form, a query or JSON; the client, the command line and assistants respell it
    (`client/spelling.py`).
    """
    if value is None:
        return f"`{option}`"
    text = str(value).replace("`", "'")
    return f"`{option}={text if len(text) <= MARKED_CHARS else text[:MARKED_CHARS] + '…'}`"


def pointer_token(key: object) -> str:
    """A key as one token of a JSON pointer (RFC 6901, section 3)."""
    return str(key).replace("~", "~0").replace("/", "~1")


def place_of(pointer: str, files: Mapping[str, str] = MappingProxyType({})) -> str:
    """A pointer in words; `files` are the names of files by role. Empty for the whole request.

    >>> place_of("/u/17"), place_of("/u/q~13"), place_of("/line/3/2"), place_of("/options/alpha")
    ('u[17]', 'u["q/3"]', 'line 3, field 2', '`alpha`')
    >>> place_of("/files/u/line/3/score", {"u": "new.csv"}), place_of("/files/gold"), place_of("/?alpha")
    ('new.csv, line 3, score', 'file gold', '`alpha`')
    >>> place_of("/files/v/run2.csv/line/3", {"v": "runs"})
    'runs, run2.csv, line 3'
    """
    if pointer.startswith("/?"):
        pointer = f"/options/{pointer[2:]}"
    first, *rest = [part.replace("~1", "/").replace("~0", "~") for part in pointer[1:].split("/")]
    if first == "options" and rest:
        inside = [f"metric {int(part) + 1}" if part.isdecimal() else part for part in rest[1:]]
        return ", ".join([marked(rest[0]), *inside])
    words = []
    if first == "files" and rest:
        role = next((role for role in ("/".join(rest[:2]), rest[0]) if role in files), rest[0])
        words, rest = [files.get(role, f"file {role}")], rest[1 + role.count("/") :]
        if rest[1:2] == ["line"]:  # one of several files
            words.append(rest.pop(0))
        first = rest.pop(0) if rest else ""
    if first == "line" and rest:
        words.append(f"line {rest[0]}")
        words += [
            f"field {part}" if at == 0 and part.isdecimal() else part for at, part in enumerate(rest[1:])
        ]
    elif first:
        inside = [f"[{part}]" if part.isdecimal() else f"[{json.dumps(part)}]" for part in rest]
        words.append("".join([first if not first.isdecimal() else f"[{first}]", *inside]))
    return ", ".join(words)


class ExactpermError(Exception):
    """Base of every error that exactperm raises on purpose; `code` names its problem type."""

    code = "error"

    def __init_subclass__(cls, code: str = "") -> None:
        if code:
            cls.code = code

    def __init__(self, detail: str, *, flaws: tuple[Flaw, ...] = ()) -> None:
        super().__init__(detail)
        self.detail = detail
        self.flaws = flaws[:MAX_FLAWS]

    def __reduce__(self) -> tuple[object, ...]:
        # Errors cross from worker processes to the web process by pickling.
        return (_rebuild, (type(self), self.detail, self.flaws))


def located(error: Error, pointer_map: PointerMap) -> Error:
    """The error with its pointers mapped, for a caller that knows where the part of a request came from."""
    flaws = tuple(replace(flaw, pointer=pointer_map(flaw.pointer)) for flaw in error.flaws)
    detail = error.detail
    if flaws and detail.startswith(f"At {error.flaws[0].pointer}: "):
        detail = f"At {flaws[0].pointer}: {flaws[0].detail}"
    return type(error)(detail, flaws=flaws)


def mapped(pointer_map: PointerMap, read: Callable[P, Made], *args: P.args, **options: P.kwargs) -> Made:
    """What a function makes of a part of a request; the pointers of its refusals are mapped to the whole.

    A request as a whole has one map, which its parser hands on with what it read.
    """
    try:
        return read(*args, **options)
    except REFUSALS as error:
        raise located(error, pointer_map) from None


def _rebuild(kind: type[ExactpermError], detail: str, flaws: tuple[Flaw, ...]) -> ExactpermError:
    return kind(detail, flaws=flaws)


class InputError(ExactpermError, code="invalid-request"):
    """The request is wrong."""


class Unauthorized(InputError, code="unauthorized"):
    """The request has no API key, or an unknown one."""


class BodyTooSlow(InputError, code="body-too-slow"):
    """The body did not arrive in time, or not fast enough."""


class MalformedBody(InputError, code="malformed-body"):
    """The body cannot be parsed as its declared media type."""


class UnsupportedMedia(InputError, code="unsupported-media-type"):
    """The media type or the content coding is not supported."""


class NotAcceptable(InputError, code="not-acceptable"):
    """The client accepts none of the representations."""


class BodyTooLarge(InputError, code="body-too-large"):
    """The body, or the number of items in it, is over the limit."""


class InvalidTest(InputError, code="invalid-test"):
    """The body was read, but it does not describe a valid test."""

    @classmethod
    def at(cls, pointer: str, code: str, detail: str, choices: tuple[Choice, ...] = ()) -> InvalidTest:
        """An error with a single flaw, and the same detail."""
        return cls(detail, flaws=(Flaw(pointer, code, detail, choices),))


class PlanTooLarge(InputError, code="plan-too-large"):
    """The test is valid, but the requested method would cost more than the budget."""


REFUSALS = (InvalidTest, PlanTooLarge)  # of a request that was read: they point into what was read


class NotThere(InputError, code="not-found"):
    """There is no such job or stored answer for this key."""


class JobExpired(InputError, code="expired"):
    """The job and its result have expired."""


class KeyConflict(InputError, code="idempotency-conflict"):
    """The idempotency key was used for another request."""


class JobsOff(InputError, code="jobs-off"):
    """The service has no database for jobs and stored answers."""


class CapacityError(ExactpermError, code="unavailable"):
    """The server cannot answer now."""

    def __init__(
        self, detail: str, *, flaws: tuple[Flaw, ...] = (), retry_after_s: int | None = None
    ) -> None:
        super().__init__(detail, flaws=flaws)
        self.retry_after_s = retry_after_s  # None if not measured


class Overloaded(CapacityError, code="overloaded"):
    """The queue is full."""


class TooManyJobs(CapacityError, code="too-many-requests"):
    """Too much work of this API key is queued."""


class JobNotFinished(CapacityError, code="job-not-finished"):
    """The job has no result yet, or ended without one."""


class StoreUnreachable(CapacityError, code="store-away"):
    """The database of jobs cannot be reached."""


class TooManyConnections(CapacityError, code="too-many-connections"):
    """More connections are open than the server accepts."""


class DeadlineExceeded(CapacityError, code="deadline-exceeded"):
    """The deadline passed before the answer was ready."""


class OutOfMemory(CapacityError, code="out-of-memory"):
    """The worker process that computed the answer reached its memory limit."""


class WorkerLost(CapacityError, code="worker-lost"):
    """The worker process died while it computed the answer."""
