"""A request to the application in this process, without a client library: its own work would take most of the time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple
from urllib.parse import unquote_to_bytes

import anyio
from anyio.from_thread import BlockingPortal, start_blocking_portal
from fastapi import FastAPI

from exactperm.main import create_app
from exactperm.settings import Settings
from tests.fuzz.amount import GENERATED
from tests.fuzz.verdict import judge_answer
from tests.settings_with import settings_with
from tests.warm_start import lifespan

CHEAP = settings_with(
    workers=1,
    max_items=20_000,
    max_body_bytes=1_000_000,
    max_samples=20_000,
    engine_budget_operations=20_000_000,
    engine_budget_bytes=20_000_000,
    inplace_engine_seconds=1.0,
    inplace_share=1.0,
    cache_bytes=0,
    max_timeout_s=60.0,
    access_log=False,
)
Header = tuple[bytes, bytes]


class Answered(NamedTuple):
    """What came back."""

    status: int
    media: str
    body: bytes


class InProcess:
    """A service whose tests take milliseconds, nearly all of them in place; files and pictures go to a worker."""

    def __init__(self, portal: BlockingPortal, app: FastAPI) -> None:
        self._portal = portal
        self.app = app

    def ask(
        self, method: str, path: str, query: bytes, headers: Iterable[Header], body: bytes = b""
    ) -> Answered:
        """One request, counted."""
        GENERATED["requests through ASGI"] += 1
        scope = {
            "type": "http", "asgi": {"version": "3.0", "spec_version": "2.4"}, "http_version": "1.1", "scheme": "http",
            "method": method, "path": unquote_to_bytes(path).decode(errors="replace"), "raw_path": path.encode(),
            "query_string": query, "root_path": "", "client": ("127.0.0.1", 1), "server": ("test", 80), "state": {},
            "headers": [(b"host", b"test"), (b"content-length", b"%d" % len(body)), *headers],
        }  # fmt: skip
        answered: Answered = self._portal.call(_one, self.app, scope, body)
        return answered

    def judge(self, kind: str, query: bytes, headers: Iterable[Header], body: bytes) -> None:
        """Send it to the route of that kind, and judge what comes back: never a fault of the service.

        503 is right for who asks for a deadline of his own that cannot be kept, and is counted.
        """
        answered = self.ask("POST", path_of(kind), query, headers, body)
        hasty = b"timeout_s" in query + body and b"#deadline-exceeded" in answered.body
        GENERATED["of them late by their own deadline (503)"] += hasty
        judge_answer(kind, *answered, unavailable=hasty)


def path_of(kind: str) -> str:
    """The route of a kind of request."""
    return f"/v1/{kind}" if kind in {"plan", "gate", "compare"} else f"/v1/tests/{kind}"


async def _one(app: FastAPI, scope: dict[str, Any], body: bytes) -> Answered:
    waiting = [{"type": "http.request", "body": body, "more_body": False}]
    status, media, sent = 0, "", bytearray()

    async def receive() -> dict[str, Any]:
        if waiting:
            return waiting.pop()
        await anyio.sleep_forever()  # this client never leaves
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        nonlocal status, media
        if message["type"] == "http.response.start":
            status = message["status"]
            media = dict(message["headers"]).get(b"content-type", b"").decode().partition(";")[0]
        else:
            sent.extend(message.get("body", b""))

    await app(scope, receive, send)
    return Answered(status, media, bytes(sent))


@contextmanager
def in_process(settings: Settings = CHEAP) -> Iterator[InProcess]:
    """Its lifespan runs; what is measured or logged is as in the service."""
    app = create_app(settings)
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(lifespan(app)):
        yield InProcess(portal, app)
