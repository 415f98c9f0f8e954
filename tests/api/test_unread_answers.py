"""Answers that nobody reads are in the budget of bytes, and no more of them than a few slices is copied."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest

from exactperm.api.bodies import SENDING_BYTES, SLICE_BYTES
from exactperm.settings import Settings
from tests.api.conftest import Service, running

BODY = json.dumps({"stay": [index * 37 % 901 - 450 for index in range(1400)], "pmf": "full"}).encode()
LIMIT = 9_000_000


class Client:
    """Sends one request and takes no more than the head of its answer before it is told to."""

    def __init__(self, service: Service, body: bytes = BODY) -> None:
        self.sizes: list[int] = []
        self.content = b""
        self.status = 0
        self.headers: dict[bytes, bytes] = {}
        self.reads, self.stuck = asyncio.Event(), asyncio.Event()
        messages = [{"type": "http.request", "body": body}]
        scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "POST", "scheme": "http",
            "path": "/v1/tests/effects", "raw_path": b"/v1/tests/effects", "query_string": b"", "root_path": "",
            "headers": [(b"content-type", b"application/json")], "server": ("test", 80), "client": ("test", 1),
        }  # fmt: skip

        async def receive() -> Any:
            if not messages:
                await asyncio.Event().wait()
            return messages.pop()

        async def send(message: Any) -> None:
            if message["type"] == "http.response.start":
                self.status, self.headers = message["status"], dict(message["headers"])
                return
            self.stuck.set()
            await self.reads.wait()
            self.sizes.append(len(message.get("body", b"")))
            self.content += message.get("body", b"")

        self.task = asyncio.ensure_future(service.app(scope, receive, send))


@pytest.fixture(scope="module")
def small() -> Iterator[Service]:
    yield from running(Settings(workers=1, bodies_bytes=LIMIT, max_body_bytes=1_000_000))


def held(service: Service) -> int:
    return int(service.app.state.metrics.held_bytes())


@pytest.mark.slow
def test_an_answer_counts_until_it_is_written_and_comes_in_slices(small: Service) -> None:
    async def scenario() -> None:
        first = Client(small)
        await first.stuck.wait()
        alone = held(small)
        size = int(first.headers[b"content-length"])
        assert size > 2_000_000
        assert size - 1_000 <= alone <= size + SENDING_BYTES
        others = [Client(small) for _ in range(20)]  # the same answer, out of the cache
        for other in others:
            await other.stuck.wait()
        assert held(small) == alone + 20 * SENDING_BYTES
        for client in (first, *others):
            client.reads.set()
        await asyncio.gather(*(client.task for client in (first, *others)))
        assert held(small) == 0
        for client in (first, *others):
            assert client.status == 200
            assert max(client.sizes) <= SLICE_BYTES
            assert len(client.content) == int(client.headers[b"content-length"])
            assert json.loads(client.content)["id"] == json.loads(first.content)["id"]

    small._portal.call(scenario)


def test_an_answer_that_finds_no_room_is_503_with_a_time_and_small_ones_are_answered(small: Service) -> None:
    async def scenario() -> None:
        clients = []
        for number in range(6):  # all different, some 4 MB each
            body = json.dumps({**json.loads(BODY), "names": {"u": str(number), "v": "V"}}).encode()
            clients.append(Client(small, body))
            await clients[-1].stuck.wait()
        assert held(small) <= LIMIT
        refused = [client for client in clients if client.status == 503]
        assert refused
        assert all(int(client.headers[b"retry-after"]) >= 1 for client in refused)
        little = Client(small, b'{"stay": [1, 2, 3]}')
        little.reads.set()
        await little.task
        assert little.status == 200
        for client in clients:
            client.reads.set()
        await asyncio.gather(*(client.task for client in clients))
        assert held(small) == 0

    small._portal.call(scenario)


def test_a_client_that_goes_away_in_the_middle_holds_nothing(small: Service) -> None:
    async def scenario() -> None:
        client = Client(small)
        await client.stuck.wait()
        client.task.cancel()
        await asyncio.gather(client.task, return_exceptions=True)
        assert held(small) == 0

    small._portal.call(scenario)
