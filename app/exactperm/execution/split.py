"""An answer that several workers compute: a first call divides it into parts, and a last one joins their results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .ipc import Function


@dataclass(frozen=True, slots=True)
class Part:
    """The job of one part, and its predicted seconds."""

    job: Any
    seconds: float


@dataclass(frozen=True, slots=True)
class Split:
    """What a function returns instead of its result when other workers should help.

    Attributes
    ----------
    function, parts, body
        Called with the job of each part, and with `body`, which all parts need; at most `at_once` run at the same time.
    join, job
        Called at last with `(job, results)`, the results in the order of the parts, and the body of the first call.
    seconds, join_seconds
        Predicted for all parts together, and for what comes after them, on one worker.
    """

    function: Function
    parts: tuple[Part, ...]
    body: bytes
    join: Function
    job: Any
    at_once: int
    seconds: float
    join_seconds: float = 0.0
