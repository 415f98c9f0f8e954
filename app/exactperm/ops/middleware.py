"""The middlewares around the application:

API keys, cross-origin requests (CORS), HEAD, and one for every request. The latter adds an id, security headers,
metrics, a span and a log line, and closes the connection during a shutdown; a single wrapper of `receive` and `send`,
for speed. CORS is off without a list of origins. There is no wildcard and there are no credentials: the page itself
sets the key in `Authorization`.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from secrets import token_hex
from typing import Any

from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..errors import BodyTooSlow, TooManyConnections, Unauthorized
from .edge.limits import CONNECTION, FIXED, NOTHING, POLICY
from .health import CLOSE, Drain
from .keys import Keys
from .logs import RequestLine
from .metrics import HTTP_METHODS, OTHER, Metrics
from .tracing import HEADER as TRACEPARENT, Parent, Spans, parent_of

UNMATCHED = "unmatched"


class Templates:
    """Route templates as labels of metrics, spans and log lines: few, whatever clients request.

    Looked up by path, because requests refused before routing (no key, too many connections) have no `scope["route"]`.
    A path without a route is `unmatched`.
    """

    def __init__(self, routes: Iterable[Any]) -> None:
        self._exact: dict[str, str] = {}
        self._prefixes: list[tuple[str, str]] = []
        self._add(routes)

    def _add(self, routes: Iterable[Any]) -> None:
        for route in routes:
            if not hasattr(route, "path"):  # FastAPI keeps included routers as one entry
                self._add(route.original_router.routes)
            elif hasattr(route, "methods") and "{" not in route.path:
                self._exact[route.path] = route.path
            else:  # with a parameter, or mounted
                self._prefixes.append((route.path.partition("{")[0].rstrip("/") + "/", route.path))

    def __iter__(self) -> Any:
        return iter([*self._exact.values(), *(template for _, template in self._prefixes), UNMATCHED])

    def of(self, path: str) -> str:
        """The template of a path."""
        exact = self._exact.get(path)
        if exact is not None:
            return exact
        return next((to for prefix, to in self._prefixes if path.startswith(prefix)), UNMATCHED)


REQUEST_ID = b"x-request-id"
ID_BYTES = 16  # of an id of ours
HARMLESS = re.compile(rb"[A-Za-z0-9._-]{1,64}\Z")
RECORD = "exactperm.record"  # the key of the RequestRecord in an ASGI scope
WORK = "exactperm.work"  # the key of the WorkStats in an ASGI scope
TOO_SLOW = "The body did not arrive in time, or arrived more slowly than this server allows."
ABORTED = 499  # no response: the client disconnected or was cut off


class RequestRecord:
    """A request and its response so far."""

    __slots__ = (
        "begun",
        "connection",
        "drain",
        "in_bytes",
        "out_bytes",
        "parent",
        "receive",
        "request_id",
        "send",
        "status",
    )

    def __init__(self, scope: Scope, receive: Receive, send: Send, drain: Drain) -> None:
        self.drain = drain
        self.receive = receive
        self.send = send
        self.connection = scope.get(CONNECTION)
        self.in_bytes = self.out_bytes = 0
        self.status = ABORTED
        self.begun = False  # whether the response has ended
        request_id = b""
        callers = []
        for name, value in scope["headers"]:
            if name == REQUEST_ID:
                request_id = value
            elif name == TRACEPARENT:
                callers.append(value)
        self.parent: Parent | None = parent_of(callers[0]) if len(callers) == 1 else None
        self.request_id = request_id if HARMLESS.match(request_id) else token_hex(ID_BYTES).encode()

    async def receiving(self) -> Message:
        """Receive and count a message; raise BodyTooSlow once the body is late."""
        message = await self.receive()
        if message["type"] == "http.request":
            self.in_bytes += len(message.get("body", b""))
            if self.connection is not None and self.connection.late:
                raise BodyTooSlow(TOO_SLOW)
        return message

    async def sending(self, message: Message) -> None:
        """Send and count a message; add the headers that all responses have."""
        if message["type"] == "http.response.start":
            self.begun, self.status = True, message["status"]
            headers = list(message.get("headers", ()))
            if POLICY not in dict(headers):
                headers.append((POLICY, NOTHING))
            headers += (*FIXED, (REQUEST_ID, self.request_id))
            if self.drain.begun:
                headers.append(CLOSE)
            message["headers"] = headers
        else:
            self.out_bytes += len(message.get("body", b""))
        await self.send(message)


class ObservabilityMiddleware:
    """The outermost middleware; sets `request_id` in the scope."""

    def __init__(
        self,
        app: ASGIApp,
        templates: Templates,
        metrics: Metrics,
        drain: Drain,
        line: RequestLine | None = None,
        spans: Spans | None = None,
    ) -> None:
        self.app = app
        self._templates = templates
        self._metrics = metrics
        self._drain = drain
        self._line = line
        self._spans = spans

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began = time.perf_counter()
        scope[RECORD] = record = RequestRecord(scope, receive, send, self._drain)
        scope["request_id"] = record.request_id.decode()
        span = None if self._spans is None else self._spans.begin(record.parent)
        self._metrics.in_flight += 1
        try:
            await self.app(scope, record.receiving, record.sending)
        finally:
            self._metrics.in_flight -= 1
            self._finish(scope, record, time.perf_counter() - began, span)

    def _finish(self, scope: Scope, record: RequestRecord, seconds: float, span: object) -> None:
        """Record the metrics and write the log line: times in milliseconds, sizes in bytes."""
        method = scope["method"] if scope["method"] in HTTP_METHODS else OTHER
        route = self._templates.of(scope["path"])
        sizes = (record.in_bytes, record.out_bytes)
        self._metrics.answered(method, route, record.status, seconds, sizes)
        facts: dict[str, object] = {}
        work = scope.get(WORK)
        if work is not None:
            self._metrics.computed(work.method, work.queue_s, work.compute_s, work.source)
            facts = {"n": work.n, "method": work.method, "queue_ms": round(work.queue_s * 1e3, 3)}
            if work.compute_s is not None:
                facts["compute_ms"] = round(work.compute_s * 1e3, 3)
        if self._spans is not None:
            self._spans.end(span, method, route, record.status, scope["request_id"], facts)
        if self._line is not None:
            self._line(
                "request",
                request_id=scope["request_id"],
                trace_id=self._trace_id(record.parent, span),
                http_method=method,
                route=route,
                status=record.status,
                total_ms=round(seconds * 1e3, 3),
                in_bytes=sizes[0],
                out_bytes=sizes[1],
                **facts,
            )

    def _trace_id(self, parent: Parent | None, span: object) -> str | None:
        """The caller's trace id, or that of our span, or None without tracing."""
        if parent is not None:
            return parent.trace_id
        return None if self._spans is None else self._spans.trace_of(span)


HEALTH = frozenset({"/livez", "/readyz", "/healthz"})
WITHOUT_KEY = frozenset({"/", "/docs", "/openapi.json", "/v1/meta"})
BELOW_WITHOUT_KEY = ("/page/", "/docs/")
READING = frozenset({"GET", "HEAD"})


class AuthMiddleware:
    """Raises `TooManyConnections` and `Unauthorized`, before the body is read; `ErrorMiddleware`, outside it, renders them.

    The health routes are always open: an orchestrator without an answer would restart a busy service. The page and the
    documentation need no key: they contain no data, and a browser can send none before it has loaded them.
    """

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


class HeadMiddleware:
    """Answers HEAD like GET, without the content."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self.app(scope, receive, send)
            return

        async def send_without_content(message: Message) -> None:
            if message["type"] == "http.response.body":
                message = {**message, "body": b""}
            await send(message)

        await self.app({**scope, "method": "GET"}, receive, send_without_content)


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
