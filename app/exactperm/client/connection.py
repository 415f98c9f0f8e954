"""What the synchronous and the asynchronous client share: the address, requests and errors of httpx, and when to retry.

It only decides; the clients send and sleep. An answer is a function of the request, so that sending it twice costs time
and does no other harm.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import httpx

from .calls import Call
from .errors import NoAnswer
from .responses import retry_after

CONNECT_TIMEOUT_S = 5.0
MAX_PORT = 65_535
TIMEOUT_S = 75.0  # a server's own default deadline is 60 s
GRACE_S = 15.0  # beyond the deadline that a request asks for
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


def _address(url: str) -> httpx.URL:
    """The server's address; `localhost:8000` is `http://localhost:8000`."""
    try:
        address = httpx.URL((url if "://" in url else f"http://{url}").rstrip("/"))
    except httpx.InvalidURL as error:
        raise NoAnswer(f"{url!r} is not a URL: {error}.") from None
    if not address.host or (address.port or 0) > MAX_PORT:
        raise NoAnswer(f"{url!r} is not a URL: it needs a host, and a port of at most {MAX_PORT}.")
    return address


class Connection:
    """The address, the key, the timeout and the retries of a client."""

    def __init__(self, url: str, *, api_key: str | None, timeout: float, retries: Retries | int) -> None:
        self.url = _address(url)
        self.timeout = timeout
        self.retries = Retries(attempts=retries + 1) if isinstance(retries, int) else retries
        self._headers = {"user-agent": "exactperm-client/1"}
        if api_key is not None:
            self._headers["authorization"] = f"Bearer {api_key}"

    def _options(self) -> dict[str, Any]:
        return {"headers": self._headers, "follow_redirects": False}

    def _request(self, call: Call) -> httpx.Request:
        longest = self.timeout if call.timeout_s is None else max(self.timeout, call.timeout_s + GRACE_S)
        timeout = httpx.Timeout(longest, connect=min(CONNECT_TIMEOUT_S, longest))
        url = self.url.copy_with(path=self.url.path.rstrip("/") + call.path)
        headers = {**self._headers, **({"content-type": call.content_type} if call.content else {})}
        headers |= dict(call.headers)
        return httpx.Request(
            call.method,
            url,
            params=call.query or None,
            content=call.content or None,
            headers=headers,
            extensions={"timeout": timeout.as_dict()},
        )

    def _no_answer(self, error: httpx.RequestError) -> NoAnswer:
        where = f"{self.url.scheme}://{self.url.netloc.decode()}"
        if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout | httpx.UnsupportedProtocol):
            return NoAnswer(
                f"No connection to {where} ({error}). Is the server running, and is the URL right?"
            )
        if isinstance(error, httpx.TimeoutException):
            return NoAnswer(
                f"{where} took too long. Give the client a larger timeout, or ask for a cheaper method."
            )
        return NoAnswer(
            f"{where} broke off: {type(error).__name__}. Is it an HTTP server, and is it still running?"
        )
