"""Answers unexpected exceptions with a problem."""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..errors import ExactpermError
from ..service import problems


class ErrorMiddleware:
    """Answers exceptions that the application raised before its response began."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        begun = False

        async def noting_send(message: Message) -> None:
            nonlocal begun
            begun = begun or message["type"] == "http.response.start"
            await send(message)

        try:
            await self.app(scope, receive, noting_send)
        except Exception as error:  # noqa: BLE001  (the last handler)
            request_id = str(scope.get("request_id", ""))
            if isinstance(error, ExactpermError):  # from a middleware: authentication, capacity
                rendered = problems.of_error(error, request_id)
            else:
                rendered = problems.of_bug(error, request_id)
            if begun:
                raise ConnectionAbortedError("the response had begun when the endpoint failed") from None
            headers = [(name.encode(), value.encode()) for name, value in rendered.headers]
            headers.append((b"content-length", str(len(rendered.body)).encode()))
            await send({"type": "http.response.start", "status": rendered.status, "headers": headers})
            await send({"type": "http.response.body", "body": rendered.body})
