"""Requests for tests go straight to their endpoint: what the framework does around and before it costs more than a small test.

Their routes are registered all the same, for what describes them, and for other methods of their paths.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

Handler = Callable[[Request], Awaitable[Response]]


class Direct:
    """The innermost application of POSTs to the paths of `handlers`."""

    def __init__(self, handlers: Mapping[str, Handler]) -> None:
        self._handlers = handlers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        response = await self._handlers[scope["path"]](Request(scope, receive, send))
        await response(scope, receive, send)


class Application(FastAPI):
    """A FastAPI application that answers POSTs to some paths past the framework, within the same layers of our own."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._handlers: Mapping[str, Handler] = {}
        self._direct: ASGIApp = Direct({})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        if scope["type"] == "http" and scope["method"] == "POST" and scope["path"] in self._handlers:
            await self._direct(scope, receive, send)
        else:
            await super().__call__(scope, receive, send)

    def answer_directly(self, handlers: Mapping[str, Handler]) -> None:
        """Answer POSTs to these paths by these handlers; before any `add_layer`."""
        self._handlers, self._direct = handlers, Direct(handlers)

    def add_layer(self, layer: Callable[..., ASGIApp], **options: Any) -> None:
        """Put a middleware around everything, the direct way as well; the last added is the outermost."""
        self.add_middleware(layer, **options)
        self._direct = layer(self._direct, **options)
