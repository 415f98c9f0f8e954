"""API keys, cross-origin requests (CORS) and HEAD, each as a middleware.

CORS is off without a list of origins. No wildcard, and no credentials: a key is sent in `Authorization`, which the page sets
itself.
"""

from __future__ import annotations

import re
from typing import Any

from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..errors import TooManyConnections, Unauthorized
from .edge.limits import CONNECTION
from .keys import Keys

HEALTH = frozenset({"/livez", "/readyz", "/healthz"})
WITHOUT_KEY = frozenset({"/", "/docs", "/openapi.json", "/v1/meta"})
BELOW_WITHOUT_KEY = ("/page/", "/docs/")
READING = frozenset({"GET", "HEAD"})


class AuthMiddleware:
    """Raises `TooManyConnections` and `Unauthorized`, before the body is read; `ErrorMiddleware`, outside it, renders them.

    The health routes are always open: an orchestrator that gets no answer would restart a busy service. The page and the
    documentation need no key: they contain no data, and a browser can send none before it has loaded them.
    """

    def __init__(self, app: ASGIApp, keys: Keys) -> None:
        self.app = app
        self._keys = keys

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        if scope["type"] == "http" and scope["path"] not in HEALTH:
            connection = scope.get(CONNECTION)
            if connection is not None and connection.crowded:
                raise TooManyConnections(
                    "More connections are open than this server serves. Try again a little later."
                )
            if self._keys.digests and not (_without_key(scope) or self._keys.admit(_authorization(scope))):
                raise Unauthorized(
                    "This service needs an API key: send Authorization: Bearer with a known key."
                )
        await self.app(scope, receive, send)


def _without_key(scope: Scope) -> bool:
    path = scope["path"]
    return scope["method"] in READING and (path in WITHOUT_KEY or path.startswith(BELOW_WITHOUT_KEY))


def _authorization(scope: Scope) -> bytes | None:
    values = [value for name, value in scope["headers"] if name == b"authorization"]
    return values[0] if len(values) == 1 else None


class HeadMiddleware:
    """Answers HEAD like GET, without the content."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self.app(scope, receive, send)
            return

        async def send_without_content(message: Message) -> None:
            if message["type"] == "http.response.body":
                message = {**message, "body": b""}
            await send(message)

        await self.app({**scope, "method": "GET"}, receive, send_without_content)


OPTIONS: dict[str, Any] = {
    "allow_methods": ["GET", "HEAD", "POST", "DELETE"],
    "allow_headers": [
        "Authorization",
        "Content-Encoding",
        "Idempotency-Key",
        "Last-Event-ID",
        "X-Request-Id",
        "traceparent",
    ],
    "expose_headers": [
        "X-Verdict",
        "X-P-Value",
        "Content-Location",
        "Location",
        "Idempotent-Replayed",
        "ETag",
        "Age",
        "Retry-After",
        "Server-Timing",
        "X-Request-Id",
    ],
}
SEPARATORS = re.compile(r"[\s,]+")


def origins_of(text: str) -> list[str]:
    """The origins in a list separated by commas or spaces; a trailing slash is ignored."""
    return [origin.rstrip("/").lower() for origin in SEPARATORS.split(text) if origin]


class ProblemCORSMiddleware(CORSMiddleware):
    """Starlette's middleware, but a refused preflight goes on to the application, which answers with a problem."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        if scope["type"] == "http" and scope["method"] == "OPTIONS":
            headers = Headers(scope=scope)
            preflight = "origin" in headers and "access-control-request-method" in headers
            if preflight and self.preflight_response(headers).status_code != 200:
                await self.simple_response(scope, receive, send, request_headers=headers)
                return
        await super().__call__(scope, receive, send)
