"""Messages between the web process and a worker: one request, some notices, one reply.

Request: `REQUEST_HEADER` (lengths of call and body, and the predicted seconds above which the worker must ask
before it runs), the pickled `(function, job)`, the raw body.
Reply:   `REPLY_HEADER` (kind, length of what follows), then that many bytes. Any number of `DEADLINE` notices
and questions (`PLAN`) may come before the one `RESULT`, `FAILURE`, `PARKED` or `OUT_OF_MEMORY`. A question is
answered by one byte: `GO` or `PARK`.

The fork server is also a worker: it runs one call, the warm-up; a request of no call and no body, with the worker's end of
a socket as ancillary data, makes it fork: the reply is `FORKED` with the process id.

Pickle is safe here: both ends are this program. The body of a request is never unpickled; that of a part of a split
call (`Split`) was written by a worker.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

REQUEST_HEADER = struct.Struct("<QQd")
REPLY_HEADER = struct.Struct("<BQ")
SECONDS = struct.Struct("<d")
PROCESS_ID = struct.Struct("<q")

READY = 0
DEADLINE = 1
RESULT = 2
FAILURE = 3
PLAN = 4
PARKED = 5
OUT_OF_MEMORY = 6
FORKED = 7

FORK = REQUEST_HEADER.pack(0, 0, 0.0)
FORK_SERVER, WORKER = "fork server", "worker"  # the roles of a started process

GO = b"g"
PARK = b"p"

# Each worker has a core, for which threads inside BLAS or OpenMP would only compete.
SINGLE_THREAD_ENV = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "VECLIB_MAXIMUM_THREADS": "1",
    "NUMEXPR_NUM_THREADS": "1",
}


class TooLong(Exception):
    """A call is predicted to take `seconds`, far more than its deadline of `deadline_s`."""

    def __init__(self, seconds: float, deadline_s: float) -> None:
        super().__init__(seconds, deadline_s)
        self.seconds = seconds
        self.deadline_s = deadline_s


class Control(Protocol):
    """The notices of a running function to the process that watches it."""

    def deadline(self, seconds: float) -> None:
        """Set the deadline to `seconds` after the call was submitted, within what the caller allows."""

    def plan(self, seconds: float) -> None:
        """Predict that the rest of this call takes `seconds`. The call may be parked here, and start again later."""


Function = Callable[[Any, bytes | bytearray, Control], Any]  # of a job and the body of its request


class Unbounded:
    """The control of a short call in the same process: no limits."""

    def deadline(self, seconds: float) -> None:
        """Do nothing."""

    def plan(self, seconds: float) -> None:
        """Do nothing."""


UNBOUNDED = Unbounded()


@dataclass(frozen=True, slots=True)
class Part:
    """The job of one part of an answer that several workers compute, and its predicted seconds."""

    job: Any
    seconds: float


@dataclass(frozen=True, slots=True)
class Split:
    """A result that other workers should help to compute: a last call joins the parts' results.

    Attributes
    ----------
    function, parts, body
        Called with the job of each part, and with `body`, which all parts need; at most `at_once` run at the same time.
    join, job
        Called at last with `(job, results)`, the results in the order of the parts, and the body of the first call.
    seconds, join_seconds
        Predicted for all parts together, and for the last call, on one worker.
    """

    function: Function
    parts: tuple[Part, ...]
    body: bytes
    join: Function
    job: Any
    at_once: int
    seconds: float
    join_seconds: float = 0.0
