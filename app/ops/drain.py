"""Graceful shutdown.

After SIGTERM, `/readyz` is 503 at once. For `shutdown_delay_s` requests are still accepted, because a load balancer needs
a moment to notice, and every response closes its connection. Then the server stops listening and finishes the requests
in flight; those unfinished after `shutdown_grace_s` are cancelled and answered with 503.
"""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send

CLOSE = (b"connection", b"close")


class Drain:
    """Whether the service is shutting down."""

    def __init__(self) -> None:
        self.begun = False

    def begin(self) -> None:
        """Begin; safe in a signal handler."""
        self.begun = True


class DrainMiddleware:
    """Adds `Connection: close` to every response once the drain has begun."""

    def __init__(self, app: ASGIApp, drain: Drain) -> None:
        self.app = app
        self._drain = drain

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_and_close(message: Message) -> None:
            if self._drain.begun and message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), CLOSE]
            await send(message)

        await self.app(scope, receive, send_and_close)
