"""What the synchronous and the asynchronous client share: the address, and requests and errors of httpx."""

from __future__ import annotations

from typing import Any

import httpx

from .calls import Call
from .errors import NoAnswer
from .retries import Retries

CONNECT_TIMEOUT_S = 5.0
MAX_PORT = 65_535
TIMEOUT_S = 75.0  # a server's own default deadline is 60 s
GRACE_S = 15.0  # beyond the deadline that a request asks for


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
