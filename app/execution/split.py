"""An answer that several workers compute: a first call divides it into parts, and a last one joins their results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .pool import Function


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
    function, parts
        Called with the job of each part; `at_once` parts run at the same time, each in a queue of its own length's.
    join, job
        Called at last with `(job, results)`, the results in the order of the parts.
    seconds
        Predicted for all parts together, on one worker.

    All are called with the body of the first call.
    """

    function: Function
    parts: tuple[Part, ...]
    join: Function
    job: Any
    at_once: int
    seconds: float
    join_seconds: float = 0.0
