"""Leaving without losing anybody: from the first signal on the service says so to all who ask, and takes its leave.

SIGTERM turns readiness to 503 at once. For `shutdown_delay_s` requests are still taken, because a load balancer needs a
moment to notice, and every response asks its client to close the connection. Then the server stops listening and
finishes what it has accepted; what is not finished after `shutdown_grace_s` is cancelled, and its clients are told.
"""

from __future__ import annotations

import asyncio

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..errors import Overloaded

CLOSE = (b"connection", b"close")


class Drain:
    """Whether the service is taking its leave."""

    def __init__(self) -> None:
        self.begun = False

    def begin(self) -> None:
        """From now on; safe in a signal handler."""
        self.begun = True


class DrainMiddleware:
    """Ends every connection with the response that is under way, once the drain has begun."""

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


class GraceMiddleware:
    """Raises `Overloaded` for a request that is cancelled because the grace period is over; what is outside renders it."""

    def __init__(self, app: ASGIApp, drain: Drain) -> None:
        self.app = app
        self._drain = drain

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        begun = False

        async def noting_send(message: Message) -> None:
            nonlocal begun
            begun = begun or message["type"] == "http.response.start"
            await send(message)

        try:
            await self.app(scope, receive, noting_send)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if begun or not self._drain.begun or scope["type"] != "http" or task is None:
                raise
            task.uncancel()  # there is an answer to send
            raise Overloaded("The service is shutting down. Try again elsewhere or later.") from None
