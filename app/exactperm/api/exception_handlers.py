"""Render the framework's own exceptions (404, 405, …) as problem details."""

from __future__ import annotations

import asyncio
import difflib
from collections.abc import Iterable
from typing import Any

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match
from starlette.types import ASGIApp, Receive, Scope, Send

from ..errors import ExactpermError, Overloaded
from ..ops.health import Drain
from ..ops.middleware import RECORD, RequestRecord, Templates
from ..service import problems
from .endpoint import sent


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
        except ConnectionAbortedError:  # the endpoint cannot finish its response, and knows why
            raise
        except ExactpermError as error:  # raised by a middleware: authentication, capacity
            rendered = problems.of_error(error, request_id)
        except Exception as error:  # noqa: BLE001  (the last handler)
            rendered = problems.of_bug(error, request_id)
        if record.begun:
            raise ConnectionAbortedError("the response had begun when the endpoint failed") from None
        headers = [(name.encode(), value.encode()) for name, value in rendered.headers]
        headers.append((b"content-length", str(len(rendered.body)).encode()))
        await send({"type": "http.response.start", "status": rendered.status, "headers": headers})
        await send({"type": "http.response.body", "body": rendered.body})


MAX_PATH_CHARS = 100
LIKENESS = 0.75
OF_FILES = frozenset({"GET", "HEAD"})  # of a mounted folder


def add_handlers(app: FastAPI) -> None:
    """Register the handlers."""
    paths = [
        template for template in Templates(app.routes) if template.startswith("/") and "{" not in template
    ]

    async def of_http(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        headers = [(name.lower(), value) for name, value in (error.headers or {}).items()]
        detail: str | None = error.detail
        if error.status_code == 404:
            detail = _meant(request.url.path, paths)
        elif error.status_code == 405:
            scope = request.scope
            if "app_root_path" in scope:  # before a mounted folder took its part of the path
                scope = {**scope, "root_path": scope["app_root_path"]}
            allow = ", ".join(sorted(_methods(app.routes, scope)))
            headers = [*(header for header in headers if header[0] != "allow"), ("allow", allow)]
            detail = _allowed(request.url.path, allow)
        return sent(problems.of_status(error.status_code, detail, _id(request), headers))

    async def of_ours(request: Request, error: Exception) -> Response:
        assert isinstance(error, ExactpermError)
        return sent(problems.of_error(error, _id(request)))

    app.add_exception_handler(HTTPException, of_http)
    app.add_exception_handler(ExactpermError, of_ours)


def _meant(path: str, paths: list[str]) -> str | None:
    """A detail that names the path that was probably meant, or None."""
    wanted = path[:MAX_PATH_CHARS].rstrip("/").lower()
    beginnings = ("", "/v1", "/v1/tests")
    near = [f"{beginning}{wanted}" for beginning in beginnings if f"{beginning}{wanted}" in paths]
    near = near or [known for known in paths if known.startswith("/v1/") and wanted.startswith(f"{known}/")]
    near = near or difflib.get_close_matches(wanted, paths, 1, LIKENESS)
    return f"There is no such path; did you mean {near[0]}? See /docs for all paths." if near else None


def _methods(routes: Iterable[Any], scope: Scope) -> set[str]:
    """The methods of all routes of a path; the framework's own 405 names those of the first route only.

    Routes of GET also answer HEAD (`ops.middleware`).
    """
    methods: set[str] = set()
    for route in routes:
        if not hasattr(route, "path"):  # FastAPI keeps included routers as one entry
            methods |= _methods(route.original_router.routes, scope)
        elif route.matches(scope)[0] is not Match.NONE:
            methods |= getattr(route, "methods", OF_FILES)
    return methods | OF_FILES if "GET" in methods else methods


def _allowed(path: str, allow: str) -> str:
    """What to do instead; browsers that follow a link to a POST route use GET."""
    example = (
        " A page for it is at /."
        if path.startswith("/v1/tests") or path in {"/v1/gate", "/v1/compare"}
        else ""
    )
    return f"Use {allow} for {path[:MAX_PATH_CHARS]}; see /docs.{example}"


def _id(request: Request) -> str:
    return str(request.scope.get("request_id", ""))
