from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import httpx
import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from fastapi import FastAPI

from exactperm.main import create_app
from exactperm.settings import Settings
from tests.warm_start import lifespan

MAX_PROBLEM_BYTES = 16_384


class Service:
    """An application in this process, its lifespan running, and plain calls to it."""

    def __init__(self, portal: BlockingPortal, app: FastAPI) -> None:
        self._portal = portal
        self.app = app

    def request(self, method: str, path: str, **options: Any) -> httpx.Response:
        async def send() -> httpx.Response:
            transport = httpx.ASGITransport(self.app)
            async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
                return await client.request(method, path, **options)

        return self._portal.call(send)

    def run(self, call: Callable[[], Awaitable[None]]) -> None:
        """Run a call in the loop of the application."""
        self._portal.call(call)

    def get(self, path: str, **options: Any) -> httpx.Response:
        return self.request("GET", path, **options)

    def post(self, path: str, json: Any = None, **options: Any) -> httpx.Response:
        return self.request("POST", path, **({"json": json} if json is not None else {}), **options)

    def body(
        self, path: str, content: bytes, media: str = "application/json", **options: Any
    ) -> httpx.Response:
        headers = {"content-type": media, **options.pop("headers", {})}
        return self.request("POST", path, content=content, headers=headers, **options)


def running(settings: Settings) -> Iterator[Service]:
    app = create_app(settings)
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(lifespan(app)):
        yield Service(portal, app)


@pytest.fixture(scope="session")
def service() -> Iterator[Service]:
    """The service with default settings, but one worker."""
    yield from running(Settings(workers=1, max_items=50_000, max_body_bytes=2_000_000))


@pytest.fixture(scope="session")
def worker_service() -> Iterator[Service]:
    """A service that computes nothing in place."""
    yield from running(Settings(workers=1, inplace_share=0))


def problem(response: httpx.Response, status: int) -> dict[str, Any]:
    """The problem a response is, after checking that it is one."""
    assert response.status_code == status, response.text[:1000]
    assert response.headers["content-type"] == "application/problem+json"
    assert len(response.content) <= MAX_PROBLEM_BYTES
    said: dict[str, Any] = response.json()
    assert said["status"] == status
    assert said["type"].startswith("/docs/problems#")
    assert said["title"]
    assert said["detail"]
    assert said["instance"] == response.headers["x-request-id"]
    assert len(said.get("errors", [])) <= 20
    return said


def answer_to(response: httpx.Response) -> dict[str, Any]:
    """The JSON of an answer."""
    assert response.status_code == 200, response.text[:1000]
    answer: dict[str, Any] = response.json()
    return answer


def errors_of(response: httpx.Response, status: int = 422) -> list[tuple[str, str]]:
    """The pointers and the codes of the errors of a problem."""
    return [(error["pointer"], error["code"]) for error in problem(response, status)["errors"]]


def error_of(response: httpx.Response, status: int = 422) -> tuple[str, str]:
    """The pointer and the code of its first error."""
    return errors_of(response, status)[0]


def codes_of(response: httpx.Response, status: int = 422) -> list[str]:
    """The codes of its errors."""
    return [code for _, code in errors_of(response, status)]
