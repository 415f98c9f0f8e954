"""Every request has an id: the client's own when it is harmless, else a new one. It is in every response."""

from __future__ import annotations

import re
import uuid

from starlette.types import ASGIApp, Message, Receive, Scope, Send

HEADER = b"x-request-id"
HARMLESS = re.compile(rb"[A-Za-z0-9._-]{1,64}\Z")


class RequestIdMiddleware:
    """Puts `scope["request_id"]` in place and the header on the response."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        given = next((value for name, value in scope["headers"] if name == HEADER), b"")
        request_id = given if HARMLESS.match(given) else uuid.uuid4().hex.encode()
        scope["request_id"] = request_id.decode()

        async def send_with_id(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), (HEADER, request_id)]
            await send(message)

        await self.app(scope, receive, send_with_id)
