"""When to retry, and after how long. It only decides; the clients send and sleep.

An answer is a function of the request, so that sending it twice costs time and does no other harm.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import httpx

RETRIED_STATUSES = frozenset({429, 503})
# What a lost or refused connection looks like. Not a read that took too long: the server would compute it again.
RETRIED_ERRORS = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.ReadError,
    httpx.WriteError,
    httpx.CloseError,
    httpx.RemoteProtocolError,
    httpx.PoolTimeout,
)
OVER = b"#deadline-exceeded"  # the same test would take as long again


@dataclass(frozen=True, slots=True)
class Retries:
    """How often and for how long to retry.

    Attributes
    ----------
    attempts
        How often a request is sent at most; 1 means no retry.
    budget_s
        Seconds from the first attempt within which every wait must end.
    base_s, cap_s
        The wait where the server gives none: about `base_s`, doubled each time, at most `cap_s`.
    clock, today, chance
        A monotonic clock, the time of day (for HTTP dates), and a number from 0 to 1.
    """

    attempts: int = 5
    budget_s: float = 60.0
    base_s: float = 0.25
    cap_s: float = 8.0
    clock: Callable[[], float] = time.monotonic
    today: Callable[[], float] = time.time
    chance: Callable[[], float] = random.random

    def begin(self) -> Trial:
        """Begin the attempts at one request."""
        return Trial(self, self.clock())


@dataclass(slots=True)
class Trial:
    """The attempts at one request."""

    retries: Retries
    started: float
    made: int = 0

    def after_answer(self, response: httpx.Response) -> float | None:
        """Seconds to wait before sending it again; None when this is the answer. Its body must have been read."""
        self.made += 1
        if response.status_code not in RETRIED_STATUSES or OVER in response.content[:4096]:
            return None
        delay = retry_after(response.headers.get("retry-after"), self.retries.today)
        return self._within_budget(self._backoff() if delay is None else delay + self._jitter())

    def after_error(self, error: httpx.RequestError) -> float | None:
        """Seconds to wait before sending it again; None when that is no use."""
        self.made += 1
        return self._within_budget(self._backoff()) if isinstance(error, RETRIED_ERRORS) else None

    def _jitter(self) -> float:
        """A little more, so that clients with the same Retry-After do not all come at once."""
        return self.retries.base_s * self.retries.chance()

    def _backoff(self) -> float:
        longest = min(self.retries.cap_s, self.retries.base_s * 2.0 ** (self.made - 1))
        return longest * (0.5 + 0.5 * self.retries.chance())

    def _within_budget(self, wait: float) -> float | None:
        over = self.retries.clock() - self.started + wait > self.retries.budget_s
        return None if over or self.made >= self.retries.attempts else wait


def retry_after(value: str | None, today: Callable[[], float] = time.time) -> float | None:
    """Seconds that a Retry-After header asks for: a number of them, or a date (RFC 9110, section 10.2.3).

    >>> retry_after("2")
    2.0
    >>> retry_after("Sat, 01 Jan 2000 00:00:10 GMT", today=lambda: 946684800.0)
    10.0
    >>> retry_after("soon") is None
    True
    """
    if value is None:
        return None
    text = value.strip()
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        date: datetime = parsedate_to_datetime(text)
    except ValueError:
        return None
    return max(0.0, date.replace(tzinfo=date.tzinfo or UTC).timestamp() - today())
