"""Cross-origin requests (the Fetch standard): from the origins that the operator lists, and from no other.

Off without a list. Never a wildcard, and never with credentials: a key travels in `Authorization`, which the page has
to send itself.
"""

from __future__ import annotations

import re

from starlette.types import ASGIApp, Message, Receive, Scope, Send

EXPOSED = b"X-Verdict, X-P-Value, ETag, Age, Retry-After, Server-Timing, X-Request-Id"
ALLOWED_METHODS = b"GET, HEAD, POST"
ALLOWED_HEADERS = b"Authorization, Content-Type, Content-Encoding, If-None-Match, X-Request-Id, traceparent"
MAX_AGE_S = b"600"
SEPARATORS = re.compile(r"[\s,]+")
VARY = (b"vary", b"Origin")


def origins_of(text: str) -> frozenset[bytes]:
    """The origins in a list with commas or spaces between; a slash at the end does not count."""
    return frozenset(one.rstrip("/").lower().encode() for one in SEPARATORS.split(text) if one)


class CorsMiddleware:
    """Answers preflights, and lets pages of these origins read the answers."""

    def __init__(self, app: ASGIApp, origins: frozenset[bytes]) -> None:
        self.app = app
        self._origins = origins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        origin = headers.get(b"origin")
        known = origin is not None and origin in self._origins
        if known and scope["method"] == "OPTIONS" and b"access-control-request-method" in headers:
            assert origin is not None
            await send({"type": "http.response.start", "status": 204, "headers": _preflight(origin)})
            await send({"type": "http.response.body", "body": b""})
            return

        async def send_with_origin(message: Message) -> None:
            if message["type"] == "http.response.start":
                said = [*message.get("headers", ()), VARY]
                if known:
                    said += [
                        (b"access-control-allow-origin", origin),
                        (b"access-control-expose-headers", EXPOSED),
                    ]
                message["headers"] = said
            await send(message)

        await self.app(scope, receive, send_with_origin)


def _preflight(origin: bytes) -> list[tuple[bytes, bytes]]:
    return [
        (b"access-control-allow-origin", origin),
        (b"access-control-allow-methods", ALLOWED_METHODS),
        (b"access-control-allow-headers", ALLOWED_HEADERS),
        (b"access-control-max-age", MAX_AGE_S),
        VARY,
    ]
