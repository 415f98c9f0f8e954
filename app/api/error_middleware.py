"""Answers exceptions with a problem, and requests that are cancelled at the end of the grace period."""

from __future__ import annotations

import asyncio

from starlette.types import ASGIApp, Receive, Scope, Send

from ..errors import ExactpermError, Overloaded
from ..ops.drain import Drain
from ..ops.observability import RECORD, RequestRecord
from ..service import problems


class ErrorMiddleware:
    """Answers exceptions that the application raised before its response began; `ObservabilityMiddleware` is outside it."""

    def __init__(self, app: ASGIApp, drain: Drain) -> None:
        self.app = app
        self._drain = drain

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        record: RequestRecord = scope[RECORD]
        request_id = str(scope["request_id"])
        try:
            await self.app(scope, receive, send)
            return
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if record.begun or not self._drain.begun or task is None:
                raise
            task.uncancel()  # the 503 must still be sent
            shutting_down = Overloaded("The service is shutting down. Try again elsewhere or later.")
            rendered = problems.of_error(shutting_down, request_id)
        except ConnectionAbortedError:  # the endpoint cannot go on with its response, and knows why
            raise
        except ExactpermError as error:  # from a middleware: authentication, capacity
            rendered = problems.of_error(error, request_id)
        except Exception as error:  # noqa: BLE001  (the last handler)
            rendered = problems.of_bug(error, request_id)
        if record.begun:
            raise ConnectionAbortedError("the response had begun when the endpoint failed") from None
        headers = [(name.encode(), value.encode()) for name, value in rendered.headers]
        headers.append((b"content-length", str(len(rendered.body)).encode()))
        await send({"type": "http.response.start", "status": rendered.status, "headers": headers})
        await send({"type": "http.response.body", "body": rendered.body})
