"""Test representations: negotiation, bodies of requests, cached and direct answers."""

import asyncio
import hashlib
import json
import time
from dataclasses import replace
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from hypothesis import given, strategies as st
from starlette.types import Receive, Scope, Send

from exactperm.api.bodies import SENDING_BYTES, SMALL_BYTES, ByteBudget, receive_body
from exactperm.api.endpoint import cache_key, cached_answer, shared_answer
from exactperm.api.negotiation import body_of, representation
from exactperm.errors import MalformedBody, NotAcceptable, Overloaded, UnsupportedMedia
from exactperm.execution.ipc import Unbounded
from exactperm.main import create_app
from exactperm.service.messages import Body, Job, RenderedResponse, limits_of
from exactperm.service.pipeline import handle
from exactperm.settings import Settings
from tests.refusals import refused

OFFERED = ("json", "text", "markdown", "csv")


@pytest.mark.parametrize(
    ("accept", "wanted"),
    [
        (None, "json"),
        ("", "json"),
        ("*/*", "json"),
        ("application/json", "json"),
        ("text/plain", "text"),
        ("text/*", "text"),
        ("text/markdown, */*;q=0.1", "markdown"),
        ("application/json;q=0.1, TEXT/CSV;q=0.9", "csv"),
        ("text/html,application/xhtml+xml,*/*;q=0.8", "json"),
        ("application/json;q=0, */*", "text"),
        ("text/plain;q=x, text/csv;q=0.1", "csv"),
        ("text/plain;version=1", "text"),
        (";;,,text/csv", "csv"),
    ],
)
def test_the_most_wanted_representation_is_chosen(accept: str | None, wanted: str) -> None:
    assert representation(accept, None, OFFERED) == wanted


@pytest.mark.parametrize("accept", ["image/png", "text/html", "application/json;q=0", "nonsense"])
def test_an_unacceptable_format_is_refused_by_name(accept: str) -> None:
    with pytest.raises(NotAcceptable):
        representation(accept, None, OFFERED)


def test_format_overrides_accept_and_is_checked() -> None:
    assert representation("image/png", "csv", OFFERED) == "csv"
    with refused(None, "/?format"):
        representation(None, "pdf", OFFERED)


@pytest.mark.parametrize(
    "header", ["application/json", "Application/JSON; charset=UTF-8", 'application/json;charset="utf-8"']
)
def test_json_is_read_with_or_without_its_charset(header: str) -> None:
    assert body_of(header, None, "scores").media_type == "application/json"


@pytest.mark.parametrize(
    ("header", "coding"),
    [
        (None, None),
        ("", None),
        ("text/html", None),
        ("application/json; charset=latin-1", None),
        ("application/json", "br"),
        ("multipart/form-data; boundary=x", None),
        ("application/json", "gzip, gzip"),
        ("application/jsonx", None),
    ],
)
def test_unreadable_files_are_refused(header: str | None, coding: str | None) -> None:
    with pytest.raises(UnsupportedMedia):
        body_of(header, coding, "scores")


@pytest.mark.parametrize(
    ("coding", "wanted"),
    [(None, None), ("identity", None), ("GZIP", "gzip"), ("x-gzip", "gzip"), ("zstd, identity", "zstd")],
)
def test_one_content_coding_is_undone(coding: str | None, wanted: str | None) -> None:
    assert body_of("text/csv", coding, "scores").coding == wanted


@pytest.mark.parametrize(
    "header", ["multipart/form-data; boundary=a-b", 'multipart/form-data;boundary="a-b"']
)
def test_the_boundary_of_a_form_is_in_its_type(header: str) -> None:
    assert body_of(header, None, "files").boundary == "a-b"


@pytest.mark.parametrize("header", ["multipart/form-data", "multipart/form-data; boundary=" + "x" * 71])
def test_a_form_without_a_usable_boundary_cannot_be_parsed(header: str) -> None:
    with pytest.raises(MalformedBody):
        body_of(header, None, "files")


LARGE = SMALL_BYTES + 1


def received(budget: ByteBudget, size: int) -> int:
    """Receive a body of so many bytes; how much the room held when it was there."""

    async def receive() -> Any:
        return {"type": "http.request", "body": b"x" * size}

    with budget.reserve() as reservation:
        assert len(asyncio.run(receive_body(receive, None, 10**9, reservation))) == size
        return budget.held


def test_a_large_body_beside_others_is_refused_when_there_is_no_room_and_a_small_one_never() -> None:
    refusals: list[str] = []
    budget = ByteBudget(2 * LARGE, lambda: refusals.append("bodies_bytes"))
    with budget.reserve() as other:
        budget.take(other, LARGE + 1)
        with pytest.raises(Overloaded):
            received(budget, LARGE)
        assert refusals == ["bodies_bytes"]
        assert budget.held == LARGE + 1  # what was refused is held no more
        assert received(budget, SMALL_BYTES) == LARGE + 1 + SMALL_BYTES
    assert budget.held == 0
    assert received(budget, LARGE) == LARGE
    assert budget.held == 0


def test_a_body_that_is_alone_has_all_the_room_it_needs() -> None:
    assert received(ByteBudget(1), 10 * LARGE) == 10 * LARGE


def answer_of(size: int) -> RenderedResponse:
    return RenderedResponse(200, (), bytes(size - 10), own=b"x" * 5, after=b"y" * 5)


def test_an_answer_takes_the_place_of_its_body_until_it_is_written() -> None:
    budget = ByteBudget(10**9)
    with budget.reserve() as reservation:
        budget.take(reservation, 7 * LARGE)
        budget.answer(reservation, answer_of(1_000))
        assert budget.held == 1_000
        reservation.leave()
        assert budget.held == 0
    assert budget.held == 0


def test_an_answer_that_many_are_sent_is_there_once_and_a_few_slices_of_it_for_each() -> None:
    budget, answer = ByteBudget(10**9), answer_of(40 * SENDING_BYTES)
    reservations = [budget.reserve() for _ in range(5)]
    for number, reservation in enumerate(reservations, 1):
        budget.answer(reservation, answer)
        assert budget.held == len(answer.before) + number * SENDING_BYTES
    other = budget.reserve()
    budget.answer(other, answer_of(40 * SENDING_BYTES))  # equal, and yet another one
    assert budget.held == 2 * len(answer.before) + 6 * SENDING_BYTES
    for reservation in (*reservations, other, *reservations):
        reservation.leave()
    assert budget.held == 0


def test_a_large_answer_that_finds_no_room_is_refused_with_a_time_and_a_small_one_never() -> None:
    refusals: list[str] = []
    budget = ByteBudget(50 * SENDING_BYTES, lambda: refusals.append("bodies_bytes"))
    first, second, third = budget.reserve(), budget.reserve(), budget.reserve()
    budget.answer(first, answer_of(40 * SENDING_BYTES))
    budget.take(second, SMALL_BYTES)
    with pytest.raises(Overloaded) as caught:
        budget.answer(second, answer_of(40 * SENDING_BYTES))
    assert refusals == ["bodies_bytes"]
    assert caught.value.retry_after_s is not None
    assert budget.held == len(answer_of(40 * SENDING_BYTES).before) + SENDING_BYTES  # its body has left
    budget.answer(third, answer_of(SMALL_BYTES))
    for reservation in (first, second, third):
        reservation.leave()
    assert budget.held == 0


def test_retry_after_is_as_long_as_large_ones_stay_and_not_the_same_for_all() -> None:
    now = [0.0]
    budget = ByteBudget(1, clock=lambda: now[0])

    def waits(many: int) -> list[int]:
        found = []
        for _ in range(many):
            with pytest.raises(Overloaded) as caught, budget.reserve() as reservation:
                budget.take(reservation, LARGE)
            found.append(int(caught.value.retry_after_s or 0))
        return found

    with budget.reserve() as slow:
        budget.take(slow, LARGE)
        assert waits(3) == [1, 1, 1]  # it has just come
        now[0] = 20.0
        told = waits(50)
        assert min(told) >= 10
        assert max(told) <= 30
        assert len(set(told)) >= 15
        now[0] = 10_000.0
        assert max(waits(50)) == 60
    with budget.reserve() as quick:
        budget.take(quick, LARGE)
        assert min(waits(20)) > 1  # the last one stayed long


# An answer computed for another becomes this request's own: runtime, timing, instance. The rest are the same bytes.


LIMITS = limits_of(Settings(workers=1))
BODY = b'{"u": [1, 0, 1, 2, 5], "v": [0, 0, 1, 1, 2], "names": {"u": "\\"runtime\\":{", "v": "V"}}'


def key(job: Job, body: bytes) -> bytes:
    return cache_key(job, hashlib.sha256(body))


def job_of(request_id: str = "first", **fields: Any) -> Job:
    now = time.monotonic()
    job = Job("scores", Body("application/json"), (), "json", request_id, now, now, LIMITS)
    return replace(job, **fields)


def computed(job: Job, body: bytes = BODY) -> RenderedResponse:
    return handle(job, body, Unbounded())


def without_runtime(body: bytes) -> bytes:
    said = json.loads(body)
    start = body.rfind(b'"runtime":')
    end = body.index(b"}", start)
    assert json.loads(body[start + len(b'"runtime":') : end + 1]) == said["runtime"]
    return body[:start] + body[end:]


def test_a_kept_answer_says_that_it_is_one_and_nothing_of_its_first_runtime() -> None:
    first = computed(job_of())
    again = cached_answer(first, job_of("second"), age_s=7.9)
    said = json.loads(again.body)["runtime"]
    assert said["engine_ms"] == 0.0
    assert said["queue_ms"] == 0.0
    assert 0 <= said["total_ms"] < 10_000
    headers = dict(again.headers)
    assert headers["age"] == "7"
    assert headers["server-timing"].startswith("cache;desc=hit, total;dur=")
    assert [name for name, _ in again.headers].count("server-timing") == 1
    assert headers["etag"] == dict(first.headers)["etag"]
    assert without_runtime(again.body) == without_runtime(first.body)


def test_a_shared_answer_has_the_engine_time_it_took_and_its_own_waiting() -> None:
    first = computed(job_of())
    again = shared_answer(first, job_of("second"))
    said, before = json.loads(again.body)["runtime"], json.loads(first.body)["runtime"]
    assert said["engine_ms"] == before["engine_ms"]
    assert said["queue_ms"] == 0.0  # it came when the computation was under way
    assert dict(again.headers)["server-timing"].startswith("cache;desc=shared, queue;dur=0.0, compute;dur=")
    assert without_runtime(again.body) == without_runtime(first.body)


@given(st.text(alphabet="abc._-0123456789", min_size=1, max_size=64))
def test_a_shared_problem_names_the_request_it_answers(request_id: str) -> None:
    first = computed(job_of(), b'{"u": [1], "v": []}')
    assert first.status == 422
    again = shared_answer(first, job_of(request_id))
    assert json.loads(again.body) == {**json.loads(first.body), "instance": request_id}


def test_reports_without_a_runtime_stay_as_they_are() -> None:
    first = computed(job_of(representation="text"))
    assert cached_answer(first, job_of(), 1.0).body == first.body


def test_the_key_is_of_everything_an_answer_depends_on_and_of_nothing_else() -> None:
    plain = job_of()
    same = [
        plain,
        job_of("another"),
        job_of(submitted_at=0.0, received_at=0.0),
        job_of(query=(("timeout_s", "3"),)),
    ]
    assert len({key(job, BODY) for job in same}) == 1
    others = [
        job_of(kind="counts"),
        job_of(body=Body("text/csv")),
        job_of(body=Body("application/json", "gzip")),
        job_of(body=Body("application/json", None, "b")),
        job_of(query=(("alpha", "0.1"),)),
        job_of(representation="text"),
        job_of(representation="svg"),
        job_of(representation="svg", theme="dark"),
    ]
    keys = {key(job, BODY) for job in (plain, *others)} | {key(plain, BODY + b" ")}
    assert len(keys) == len(others) + 2


# What is answered past the framework is answered as by it: the same headers, the same log line, the same metrics.


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
