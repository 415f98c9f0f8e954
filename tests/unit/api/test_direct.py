"""What is answered past the framework is answered as by it: the same headers, the same log line, the same metrics."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from starlette.types import Receive, Scope, Send

from exactperm.main import create_app
from exactperm.settings import Settings

PATH = "/v1/tests/effects"
DIGEST = "0" * 64
ID = {"x-request-id": "same"}
REQUESTS: dict[str, dict[str, Any]] = {
    "a test": {"json": {"stay": [1, 2, 3], "swap": [-1, -2, -3]}},
    "a report": {"json": {"stay": [1, 2, 3], "swap": [-1, -2, -3]}, "headers": {"accept": "text/plain"}},
    "no test": {"json": {"stay": [1]}},
    "no JSON": {"content": b"{"},
    "a type that is not read": {"content": b"{}", "headers": {"content-type": "text/html"}},
    "an answer that there is not": {"json": {}, "headers": {"accept": "image/gif"}},
    "a query": {"json": {}, "params": {"format": "nonsense"}},
    "an origin": {"json": {}, "headers": {"origin": "https://known.example"}},
    "another origin": {"json": {}, "headers": {"origin": "https://unknown.example"}},
}
SETTINGS: list[dict[str, Any]] = [
    {},
    {"cors_origins": "https://known.example"},
    {"api_key_digests": DIGEST, "cors_origins": "https://known.example"},
]
OF_THE_CLOCK = {"server-timing", "content-length"}


async def told(settings: dict[str, Any], given: dict[str, Any], *, directly: bool, drain: bool) -> Any:
    """Status, headers without times, and log line without times."""
    lines: list[dict[str, Any]] = []
    app = create_app(Settings(workers=1, **settings), line=lambda event, **members: lines.append(members))
    if drain:
        app.state.drain.begin()

    async def framework(scope: Scope, receive: Receive, send: Send) -> None:
        await FastAPI.__call__(app, scope, receive, send)

    headers = {"content-type": "application/json", **given.get("headers", {}), **ID}
    transport = httpx.ASGITransport(app if directly else framework)
    async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
        answer = await client.post(PATH, **{**given, "headers": headers})
    of_answer = [item for item in answer.headers.multi_items() if item[0] not in OF_THE_CLOCK]
    (line,) = lines
    sizes = {name: value for name, value in line.items() if not name.endswith("_ms") and name != "out_bytes"}
    counted = [
        text for text in app.state.metrics.text().decode().splitlines() if PATH in text and "count" in text
    ]
    return answer.status_code, of_answer, sizes, sorted(line), counted


@pytest.mark.parametrize("given", REQUESTS.values(), ids=REQUESTS.keys())
@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("drain", [False, True])
def test_both_ways_say_the_same(settings: dict[str, Any], given: dict[str, Any], drain: bool) -> None:
    direct, indirect = (
        asyncio.run(told(settings, given, directly=way, drain=drain)) for way in (True, False)
    )
    assert direct == indirect
    assert (("connection", "close") in direct[1]) is drain


def test_other_methods_and_paths_are_the_frameworks() -> None:
    async def ask() -> list[int]:
        transport = httpx.ASGITransport(create_app(Settings(workers=1)))
        async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
            return [
                (await client.get(PATH)).status_code,
                (await client.post(PATH + "/")).status_code,
                (await client.post("/livez")).status_code,
                (await client.get("/livez")).status_code,
            ]

    assert asyncio.run(ask()) == [405, 404, 405, 200]
