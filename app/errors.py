"""The exception tree of exactperm; `app.service.problems` alone turns it into HTTP.

ExactpermError
├── InputError                 the caller can mend it
│   ├── Unauthorized           no API key, or none we know
│   ├── BodyTooSlow            the body did not come in time
│   ├── MalformedBody          the bytes cannot be parsed at all
│   ├── UnsupportedMedia       media type or content coding not understood
│   ├── BodyTooLarge           more bytes or items than the server takes
│   ├── InvalidTest            parseable, but not a valid test
│   └── PlanTooLarge           valid, but its exact cost is over the budget
└── CapacityError              the caller can only try again
    ├── Overloaded             no room in the queue
    ├── TooManyConnections     no room for another connection
    ├── DeadlineExceeded       the time asked for, or allowed, is over
    ├── OutOfMemory            the process that computed it reached its memory limit
    └── WorkerLost             the process that computed it died
"""

from __future__ import annotations

from dataclasses import dataclass

MAX_FLAWS = 20


@dataclass(frozen=True, slots=True)
class Flaw:
    """One thing that is wrong, with an RFC 6901 pointer to where it stands."""

    pointer: str
    code: str
    detail: str


class ExactpermError(Exception):
    """Base of every error that exactperm raises on purpose."""

    code = "error"

    def __init__(self, detail: str, *, flaws: tuple[Flaw, ...] = ()) -> None:
        super().__init__(detail)
        self.detail = detail
        self.flaws = flaws[:MAX_FLAWS]

    def __reduce__(self) -> tuple[object, ...]:
        # Errors cross from worker processes to the web process by pickling.
        return (_rebuild, (type(self), self.detail, self.flaws))


def _rebuild(kind: type[ExactpermError], detail: str, flaws: tuple[Flaw, ...]) -> ExactpermError:
    return kind(detail, flaws=flaws)


class InputError(ExactpermError):
    """The request is at fault."""

    code = "invalid-request"


class Unauthorized(InputError):
    """The request brings no API key, or none that is known."""

    code = "unauthorized"


class BodyTooSlow(InputError):
    """The body did not come in the time, or at the rate, that it must."""

    code = "body-too-slow"


class MalformedBody(InputError):
    """The body cannot be parsed as what it says it is."""

    code = "malformed-body"


class UnsupportedMedia(InputError):
    """The media type or the content coding is not one we read."""

    code = "unsupported-media-type"


class BodyTooLarge(InputError):
    """The body, or the number of items in it, is over the limit."""

    code = "body-too-large"


class InvalidTest(InputError):
    """The body was read, but what it says is not a valid test."""

    code = "invalid-test"

    @classmethod
    def at(cls, pointer: str, code: str, detail: str) -> InvalidTest:
        """An error with a single flaw, whose detail is the whole story."""
        return cls(detail, flaws=(Flaw(pointer, code, detail),))


class PlanTooLarge(InputError):
    """The test is valid, but the method asked for would cost more than the budget."""

    code = "plan-too-large"


class CapacityError(ExactpermError):
    """The server cannot answer now."""

    code = "unavailable"

    def __init__(
        self, detail: str, *, flaws: tuple[Flaw, ...] = (), retry_after_s: int | None = None
    ) -> None:
        super().__init__(detail, flaws=flaws)
        self.retry_after_s = retry_after_s  # when to try again, if that was measured


class Overloaded(CapacityError):
    """The queue is full."""

    code = "overloaded"


class TooManyConnections(CapacityError):
    """More connections are open than the server serves."""

    code = "too-many-connections"


class DeadlineExceeded(CapacityError):
    """The deadline passed before the answer was ready."""

    code = "deadline-exceeded"


class OutOfMemory(CapacityError):
    """The worker process that computed the answer reached its memory limit."""

    code = "out-of-memory"


class WorkerLost(CapacityError):
    """The worker process died while it computed the answer."""

    code = "worker-lost"
