"""Cross-origin requests (CORS), from the origins that the operator lists only.

Off without a list. No wildcard, and no credentials: a key is sent in `Authorization`, which the page sets itself.
"""

from __future__ import annotations

import re
from typing import Any

from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.types import Receive, Scope, Send

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
