"""The application in process, counts of requests, and checks of every answer and refusal."""

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import Any, NamedTuple
from urllib.parse import unquote_to_bytes

import anyio
from anyio.from_thread import BlockingPortal, start_blocking_portal
from fastapi import FastAPI
from hypothesis import HealthCheck, settings
from pydantic import BaseModel

from exactperm.api.openapi.schemas import CompareAnswer, ComparePlanAnswer, GateAnswer, PlanAnswer, TestAnswer
from exactperm.errors import MAX_CHOICE_CHARS, MAX_CHOICES, MAX_FLAWS, ExactpermError
from exactperm.main import create_app
from exactperm.service.problems import (
    MAX_DETAIL_CHARS,
    MAX_POINTER_CHARS,
    MAX_PROBLEM_BYTES,
    MAX_TITLE_CHARS,
    of_error,
)
from exactperm.settings import Settings
from tests.fuzz.mutations import echoed
from tests.settings_with import settings_with
from tests.warm_start import lifespan

GENERATED: Counter[str] = Counter()
TIMES = int(os.environ.get("FUZZ_TIMES", "1"))
CHECKS = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture, HealthCheck.data_too_large]


def examples(count: int) -> Callable[[Any], Any]:
    """A third of `count` examples in the short form; in the long form `TIMES` times `count`."""
    return settings(
        max_examples=count * TIMES if TIMES > 1 else max(2, -(-count // 3)),
        derandomize=TIMES == 1,
        database=None,
        deadline=None,
        suppress_health_check=CHECKS,
    )


LONGEST_ECHO = 120  # an id is cut to 40 characters; a few may be named side by side with nothing between
MODELS: dict[str, type[BaseModel]] = {
    "plan": PlanAnswer,
    "plan of a comparison": ComparePlanAnswer,
    "gate": GateAnswer,
    "compare": CompareAnswer,
}
UNAVAILABLE = 503
NOT_IMPLEMENTED = 501


def judge_error(error: ExactpermError) -> None:
    """Check that a refusal names the error, is bounded, and echoes at most a few short ids."""
    assert error.detail
    assert len(error.flaws) <= MAX_FLAWS
    for text in (
        error.detail,
        *(flaw.detail for flaw in error.flaws),
        *(flaw.pointer for flaw in error.flaws),
    ):
        assert echoed(text) <= LONGEST_ECHO, text[:500]
    judge_problem(of_error(error, "x").body, None)


def judge_problem(body: bytes, status: int | None) -> None:
    """RFC 9457, within its limits."""
    assert len(body) <= MAX_PROBLEM_BYTES
    said = json.loads(body)
    assert said["type"].startswith("/docs/problems#")
    assert said["title"]
    assert said["detail"]
    assert said["instance"]
    assert status in {None, said["status"]}
    flaws = said.get("errors", [])
    assert len(flaws) <= MAX_FLAWS
    assert len(said["detail"]) <= MAX_DETAIL_CHARS
    for flaw in flaws:
        assert {"pointer", "code", "detail"} <= set(flaw) <= {"pointer", "code", "detail", "choices"}
        _judge_choices(flaw.pop("choices", None))
        assert len(flaw["pointer"]) <= MAX_POINTER_CHARS
        assert len(flaw["detail"]) <= MAX_DETAIL_CHARS
        assert flaw["pointer"] == "" or flaw["pointer"].startswith("/")
    assert echoed(json.dumps(said)) <= LONGEST_ECHO, body[:500]


def _judge_choices(choices: list[dict[str, Any]] | None) -> None:
    """Ways out: a few, each with a title that fits on a button and fields of the form."""
    if choices is None:
        return
    assert 0 < len(choices) <= MAX_CHOICES
    for choice in choices:
        assert set(choice) == {"title", "fields"}
        assert 0 < len(choice["title"]) <= MAX_TITLE_CHARS
        assert choice["fields"]
        # Values are whole: cut, they could not be sent.
        assert all(
            isinstance(value, str) and len(value) <= MAX_CHOICE_CHARS for value in choice["fields"].values()
        )


def judge_certified(answer: dict[str, Any], truth: Fraction, about: object) -> None:
    """Check that the bounds contain the true p-value, the p-value is within its stated error, and the fraction is exact."""
    low, high = map(Fraction, answer["p_value_bounds"])
    assert low <= truth <= high, (about, answer["p_value"], float(truth))
    bound = answer["method"]["relative_error_bound"]
    if bound is not None:
        assert abs(Fraction(answer["p_value"]) - truth) <= Fraction(bound) * truth + Fraction(1, 2**1074), (
            about
        )
    fraction = answer["p_value_fraction"]
    if fraction is not None:
        assert Fraction(int(fraction["numerator"]), 2 ** fraction["log2_denominator"]) == truth, about


def judge_answer(kind: str, status: int, media: str, body: bytes, *, unavailable: bool = False) -> None:
    """Check that an answer fits the document, and that anything else is a problem without a fault of the service; count both."""
    GENERATED[f"{kind}: {'answered' if status in {200, 409} else 'refused'}"] += 1
    if media == "application/problem+json":
        kept = status == NOT_IMPLEMENTED and b"#jobs-off" in body  # ?store=1, without a database
        assert 400 <= status < 500 or kept or (unavailable and status == UNAVAILABLE), body[:600]
        judge_problem(body, status)
        return
    assert status in ({200, 409} if kind == "gate" else {200})
    if media == "application/json":
        if kind == "plan" and json.loads(body)["kind"] == "compare":
            kind = "plan of a comparison"
        MODELS.get(kind, TestAnswer).model_validate_json(body)
    else:
        assert body


CHEAP = settings_with(
    workers=1,
    max_items=20_000,
    max_body_bytes=1_000_000,
    engine_budget_operations=20_000_000,
    engine_budget_bytes=20_000_000,
    inplace_engine_seconds=1.0,
    inplace_share=1.0,
    cache_bytes=0,
    max_timeout_s=60.0,
    access_log=False,
)
Header = tuple[bytes, bytes]
JSON: list[Header] = [(b"content-type", b"application/json")]


class Answered(NamedTuple):
    """The response."""

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

    def post(self, path: str, body: object) -> tuple[int, Any]:
        """Status and answer of a request in JSON."""
        answered = self.ask(
            "POST", path, b"", JSON, body if isinstance(body, bytes) else json.dumps(body).encode()
        )
        return answered.status, json.loads(answered.body)

    def judge(self, kind: str, query: bytes, headers: Iterable[Header], body: bytes) -> None:
        """Send a body to the route of its kind, and check the response: never a fault of the service. 503 is right for a short deadline
        of the request, and is counted.
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
    """Run with lifespan, metrics and logs as in the service."""
    app = create_app(settings)
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(lifespan(app)):
        yield InProcess(portal, app)
