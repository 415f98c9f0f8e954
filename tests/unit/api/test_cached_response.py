"""An answer computed for another becomes this request's own: runtime, timing, instance. The rest are the same bytes."""

from __future__ import annotations

import hashlib
import json
import time
from dataclasses import replace

from hypothesis import given, strategies as st

from exactperm.api.endpoint import cache_key, cached_answer, shared_answer
from exactperm.execution.ipc import Unbounded
from exactperm.service.messages import Body, Job, RenderedResponse, limits_of
from exactperm.service.pipeline import handle
from exactperm.settings import Settings

LIMITS = limits_of(Settings(workers=1))
BODY = b'{"u": [1, 0, 1, 2, 5], "v": [0, 0, 1, 1, 2], "names": {"u": "\\"runtime\\":{", "v": "V"}}'


def key(job: Job, body: bytes) -> bytes:
    return cache_key(job, hashlib.sha256(body))


def job_of(request_id: str = "first", **fields: object) -> Job:
    now = time.monotonic()
    job = Job("scores", Body("application/json"), (), "json", request_id, now, now, LIMITS)
    return replace(job, **fields)  # type: ignore[arg-type]


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
