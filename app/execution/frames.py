"""What crosses the socket between the web process and a worker: one request, some notices, one reply.

Request: `REQUEST_HEADER` (lengths of call and body), the pickled `(function, job)`, the raw body.
Reply:   `REPLY_HEADER` (kind, length of what follows), then that many bytes. Any number of `DEADLINE`
notices may come before the one `RESULT` or `FAILURE`.

Pickle is safe here: both ends are this program, and the body, which is not, is never unpickled.
"""

from __future__ import annotations

import struct
from typing import Protocol

REQUEST_HEADER = struct.Struct("<QQ")
REPLY_HEADER = struct.Struct("<BQ")
SECONDS = struct.Struct("<d")

READY = 0
DEADLINE = 1
RESULT = 2
FAILURE = 3

# A worker computes alone on its core: threads inside BLAS or OpenMP would only fight for it.
ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "VECLIB_MAXIMUM_THREADS": "1",
    "NUMEXPR_NUM_THREADS": "1",
}


class Deadline(Protocol):
    """What a running function may do about its own deadline."""

    def set(self, seconds: float) -> None:
        """End this call `seconds` after it was submitted, within what the caller allows."""


class Unbounded:
    """The deadline of a call that runs in place and is too short to be worth ending."""

    def set(self, seconds: float) -> None:
        """Nothing to do."""
