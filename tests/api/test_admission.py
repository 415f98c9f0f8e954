"""Test admission: the share of the web process's time, a full queue, and unread answers."""

import asyncio
import json
import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from exactperm.api import endpoint
from exactperm.api.bodies import SENDING_BYTES, SLICE_BYTES, Turns
from exactperm.execution.executor import Executor
from exactperm.main import create_app
from exactperm.settings import Settings
from tests.api.conftest import Service, running
from tests.settings_with import settings_with

SMALL = {"stay": [5, -3, 2, 7, 1, 4]}
LONG_ENOUGH = 400


def counter(service: Service, name: str) -> float:
    found = re.search(rf"^{name} (\S+)$", service.get("/metrics").text, re.MULTILINE)
    assert found is not None
    return float(found[1])


def together(service: Service, bodies: list[dict[str, Any]]) -> list[str]:
    """Send all bodies and then a probe; return the requests in the order of their answers."""

    async def scenario() -> list[str]:
        order: list[str] = []
        transport = httpx.ASGITransport(service.app)
        async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:

            async def test(body: dict[str, Any]) -> None:
                assert (await client.post("/v1/tests/effects", json=body)).status_code == 200
                order.append("test")

            async def probe() -> None:
                assert (await client.get("/livez")).status_code == 200
                order.append("livez")

            await asyncio.gather(*(test(body) for body in bodies), probe())
        return order

    return service._portal.call(scenario)


@pytest.fixture(scope="module")
def alone() -> Iterator[Service]:
    yield from running(Settings(workers=1, inplace_share=1.0))


@pytest.mark.parametrize("distinct", [True, False])
def test_a_probe_is_answered_while_small_tests_take_turns(alone: Service, *, distinct: bool) -> None:
    bodies = [{"stay": [*SMALL["stay"], number if distinct else 0]} for number in range(60)]
    order = together(alone, bodies)
    assert len(order) == 61
    assert order.index("livez") < 10


@pytest.mark.slow
def test_beyond_its_share_small_tests_go_to_workers_and_are_answered_all_the_same() -> None:
    for service in running(Settings(workers=1, inplace_share=1e-9)):
        answers = [
            service.post("/v1/tests/effects", {"stay": [*SMALL["stay"], number]})
            for number in range(LONG_ENOUGH)
        ]
        assert {answer.status_code for answer in answers} == {200}
        spent = counter(service, "exactperm_inplace_seconds_total")
        service.post("/v1/tests/effects", {"stay": [1, 2, 3]})
        assert 0 < spent == counter(service, "exactperm_inplace_seconds_total")


def test_an_answer_that_is_kept_is_found_before_its_request_is_decoded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    body = {"stay": list(range(1, 400)), "pmf": "full"}  # computed by a worker, and kept
    for service in running(Settings(workers=1)):
        first = service.post("/v1/tests/effects", body)
        assert first.status_code == 200

        def never(*_: object) -> None:
            raise AssertionError("decoded")

        monkeypatch.setattr("exactperm.api.endpoint.handle_in_place", never)
        second = service.post("/v1/tests/effects", body)
        assert "hit" in second.headers["server-timing"]
        assert second.json()["id"] == first.json()["id"]


DEPTH = 2
SCORES = {"u": [1, 0, 1, 2, 5], "v": [0, 0, 1, 1, 2]}
PATH = "/v1/tests/scores"


def endless(seed: int) -> dict[str, Any]:
    """A test that takes a worker's time for longer than this file."""
    return {
        "u": [0.1, 0.7, 0.4] * 100,
        "v": [0.3, 0.2, 0.6] * 100,
        "method": "monte_carlo",
        "samples": 10_000_000,
        "seed": seed,
        "timeout_s": 60,
    }


async def fill(client: httpx.AsyncClient, executor: Executor) -> list[asyncio.Task[httpx.Response]]:
    """Send endless tests until one runs and the queue is full."""
    asked: list[asyncio.Task[httpx.Response]] = []
    async with asyncio.timeout(180.0):
        while executor.running < 1 or executor.queued < DEPTH:
            if sum(not task.done() for task in asked) < 1 + DEPTH:
                asked.append(asyncio.create_task(client.post(PATH, json=endless(len(asked)))))
            await asyncio.sleep(0.01)
    return asked


async def while_full(monkeypatch: pytest.MonkeyPatch) -> None:
    # A ration of next to nothing: one look in vain, and there is none for years.
    monkeypatch.setattr(endpoint, "INSPECTION_SHARE", 1e-9)
    monkeypatch.setattr(endpoint, "INSPECTION_SAVED_S", 1e-9)
    taken, mine = 0, Turns.mine

    async def counted(turns: Turns, number: int = 0) -> int:
        nonlocal taken
        taken += 1
        return await mine(turns, number)

    monkeypatch.setattr(Turns, "mine", counted)
    # Every test runs in the one worker that there is, and none counts as long.
    app = create_app(settings_with(workers=1, queue_depth=DEPTH, long_test_seconds=1e6, cache_bytes=0))
    executor: Executor = app.state.executor
    transport = httpx.ASGITransport(app)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://test") as client,
    ):
        assert not executor.full
        asked = await fill(client, executor)
        assert executor.full
        taken = 0
        twin = asyncio.create_task(client.post(PATH, json=endless(0)))  # shares what is computed already
        async with asyncio.timeout(180.0):
            while taken < 2:  # noqa: ASYNC110 (it has had its turns, which are not those that are counted below)
                await asyncio.sleep(0.01)
        refusals = executor.rejections["queue_depth"]
        assert (
            await client.post(PATH, json=SCORES)
        ).status_code == 200  # what is answered in place costs nothing
        assert (await client.post(PATH, json=SCORES)).status_code == 200
        # The first is looked into in vain, the second not at all, and has no need of a second turn of the loop.
        for body in (endless(1000), SCORES):
            taken = 0
            refused = await client.post(PATH, json=body)
            assert refused.status_code == 503
            assert refused.headers["content-type"] == "application/problem+json"
            assert int(refused.headers["retry-after"]) >= 1
        assert taken == 1
        assert executor.rejections["queue_depth"] == refusals + 2
        assert not twin.done()
        for task in (*asked, twin):
            task.cancel()
        await asyncio.gather(*asked, twin, return_exceptions=True)
        async with asyncio.timeout(180.0):
            while executor.full:  # noqa: ASYNC110 (nothing to wait for but a property)
                await asyncio.sleep(0.01)
        assert (await client.post(PATH, json=SCORES)).status_code == 200


def test_looks_into_bodies_are_rationed_while_the_queue_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    asyncio.run(while_full(monkeypatch))


BODY = json.dumps({"stay": [index * 37 % 901 - 450 for index in range(1400)], "pmf": "full"}).encode()
LIMIT = 9_000_000


class Client:
    """A client that sends one request and reads only the head of the answer until allowed."""

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
    yield from running(settings_with(workers=1, bodies_bytes=LIMIT, max_body_bytes=1_000_000))


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
