"""What the web process computes itself: one at a time, others in between, and a share of its time for all of it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from exactperm.settings import Settings
from tests.api.conftest import Service, running

SMALL = {"stay": [5, -3, 2, 7, 1, 4]}
LONG_ENOUGH = 400


def counter(service: Service, name: str) -> float:
    found = re.search(rf"^{name} (\S+)$", service.get("/metrics").text, re.MULTILINE)
    assert found is not None
    return float(found[1])


def together(service: Service, bodies: list[dict[str, Any]]) -> list[str]:
    """Send all bodies and, last, a probe; who was answered, in the order of the answers."""

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
