"""Refuses connections beyond the limit, and requests without a known API key, before the body is read.

The health routes are always open: an orchestrator that gets no answer would restart a busy service. The page and the
documentation need no key: they contain no data, and a browser can send none before it has loaded them.
"""

from __future__ import annotations

from starlette.types import ASGIApp, Receive, Scope, Send

from ..errors import TooManyConnections, Unauthorized
from .edge.scope import CONNECTION
from .keys import Keys

HEALTH = frozenset({"/livez", "/readyz", "/healthz"})
WITHOUT_KEY = frozenset({"/", "/docs", "/openapi.json", "/v1/meta"})
BELOW_WITHOUT_KEY = ("/page/", "/docs/")
READING = frozenset({"GET", "HEAD"})


class AuthMiddleware:
    """Raises `TooManyConnections` and `Unauthorized`; `ErrorMiddleware`, outside it, renders them."""

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
