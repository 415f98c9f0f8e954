"""Test routes of jobs without a worker: limits, hostile requests, other keys, expiry, and jobs that are off."""

import asyncio
import gc
import gzip
import json
import os
import random
import re
import sqlite3
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from exactperm.api.bodies import SLICE_BYTES
from exactperm.api.openapi_export import exported
from exactperm.execution.memory import resident_bytes
from exactperm.ops.keys import new_key
from exactperm.service.kinds import LISTED, OF_JOBS
from exactperm.settings import Settings
from tests.api.conftest import Service, error_of, errors_of, problem, running
from tests.api.test_hostile_corpus import TEXTS
from tests.settings_with import settings_with

TEST = {"kind": "scores", "request": {"u": [1, 0, 1, 2, 5], "v": [0, 0, 1, 1, 2]}}
KEYS = [new_key() for _ in range(3)]
OWNER = KEYS[0][1]
ANY = "j_" + "0" * 32


class Jobs:
    """A service with jobs but no worker, and its database."""

    def __init__(self, service: Service, file: Path) -> None:
        self.service = service
        self.file = file

    def ask(self, method: str, path: str, who: int = 0, **options: Any) -> httpx.Response:
        headers = {"authorization": f"Bearer {KEYS[who][0]}", **options.pop("headers", {})}
        return self.service.request(method, path, headers=headers, **options)

    def submit(self, who: int = 0, body: Any = TEST, **options: Any) -> str:
        answered = self.ask("POST", "/v1/jobs", who, json=body, **options)
        assert answered.status_code == 202, answered.text
        return str(answered.json()["id"])

    def write(self, statement: str, *values: Any) -> None:
        with sqlite3.connect(self.file, timeout=180) as connection:
            connection.execute(statement, values)

    def count(self, table: str) -> int:
        with sqlite3.connect(self.file, timeout=180) as connection:
            return int(connection.execute(f"select count(*) from {table}").fetchone()[0])


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Iterator[Jobs]]:
    def running_jobs(**settings: Any) -> Iterator[Jobs]:
        file = tmp_path_factory.mktemp("jobs") / "jobs.sqlite"
        digests = ",".join(digest for _, digest in KEYS)
        for service in running(
            settings_with(workers=1, jobs_url=f"sqlite:///{file}", api_key_digests=digests, **settings)
        ):
            yield Jobs(service, file)

    return running_jobs


@pytest.fixture(scope="module")
def jobs(made: Callable[..., Iterator[Jobs]]) -> Iterator[Jobs]:
    yield from made(job_streams=2, max_body_bytes=8_000_000)


IDS = {
    "nothing there": ANY,
    "a NUL": "j_%00" + "0" * 31,
    "only a NUL": "%00",
    "a quote": quote("j_' or '1'='1"),
    "a percent": "%25",
    "dots": "%2e%2e%2f%2e%2e",
    "long": "j_" + "0" * 20_000,
    "upper case": "J_" + "A" * 32,
    "no UTF-8": "%ff%fe",
    "a surrogate": "%ed%a0%80",
    "an answer": "r_" + "f" * 32,
    "a line": "j_" + "0" * 32 + "%0a",
    "no ASCII": quote("j_" + "٠" * 32),
}


@pytest.mark.parametrize("name", IDS.values(), ids=IDS)
def test_an_invalid_id_is_not_found(jobs: Jobs, name: str) -> None:
    for method, path in [
        ("GET", f"/v1/jobs/{name}"), ("DELETE", f"/v1/jobs/{name}"), ("POST", f"/v1/jobs/{name}/cancel"),
        ("GET", f"/v1/jobs/{name}/events"), ("GET", f"/v1/jobs/{name}/result"), ("GET", f"/v1/results/{name}"),
        ("GET", f"/v1/jobs?after={name}"),
    ]:  # fmt: skip
        assert jobs.ask(method, path).status_code == 404, (method, path)


@pytest.mark.parametrize("name", TEXTS)
def test_a_hostile_body_is_refused_and_leaves_nothing(jobs: Jobs, name: str) -> None:
    assert jobs.ask("GET", "/v1/jobs").status_code == 200  # which makes the tables
    before, accepted = jobs.count("ep_jobs"), 0
    headers = {"content-type": "application/json"}
    text = TEXTS[name]
    for around in (b"%b", b'{"kind": "scores", "request": %b}', b'{"kind": "batch", "request": %b}'):
        answered = jobs.ask("POST", "/v1/jobs", content=around % text, headers=headers)
        accepted += answered.status_code == 202
        if answered.status_code != 202:
            assert answered.status_code in {400, 413, 422}, answered.text[:500]
            problem(answered, answered.status_code)
    assert accepted == (name == "hostile names")  # which a test may have
    assert jobs.count("ep_jobs") == before + accepted


def test_a_bomb_is_too_large(jobs: Jobs) -> None:
    bomb = gzip.compress(b'{"kind": "batch", "request": {"tests": [' + b" " * 20_000_000)
    headers = {"content-type": "application/json", "content-encoding": "gzip"}
    problem(jobs.ask("POST", "/v1/jobs", content=bomb, headers=headers), 413)


def test_a_list_has_at_most_a_hundred_thousand_tests(jobs: Jobs) -> None:
    most = Settings().job_max_tests
    assert most == 100_000
    one = '{"kind":"effects","request":{"stay":[1]}}'
    headers = {"content-type": "application/json"}
    for tests, status in ((most, 202), (most + 1, 422)):
        body = f'{{"kind":"batch","request":{{"tests":[{",".join([one] * tests)}]}}}}'
        answered = jobs.ask("POST", "/v1/jobs", content=body.encode(), headers=headers)
        assert answered.status_code == status, answered.text[:300]
    assert [(one["pointer"], one["code"]) for one in answered.json()["errors"]] == [
        ("/request/tests", "too_many_tests")
    ]
    assert jobs.ask(
        "DELETE", f"/v1/jobs/{jobs.ask('GET', '/v1/jobs?limit=1').json()['jobs'][0]['id']}"
    ).is_success


@pytest.mark.parametrize(
    ("method", "query", "pointer", "code"),
    [
        ("POST", "store=1", "/?store", "unknown_parameter"),
        ("POST", "timeout_s=5", "/?timeout_s", "unknown_parameter"),
        ("POST", "format=json&format=text", "/?format", "duplicate_parameter"),
        ("POST", "format=nothing", "/?format", "unknown_format"),
        ("GET", "state=running,ended", "/?state", "unknown_state"),
        ("GET", "before=1", "/?before", "unknown_parameter"),
        ("GET", "limit=0", "/?limit", "invalid_number"),
        ("GET", "limit=1001", "/?limit", "invalid_number"),
        ("GET", "limit=²", "/?limit", "invalid_number"),
        ("GET", "limit=1&limit=2", "/?limit", "duplicate_parameter"),
    ],
)  # fmt: skip
def test_a_parameter_without_effect_is_refused(
    jobs: Jobs, method: str, query: str, pointer: str, code: str
) -> None:
    body = TEST if method == "POST" else None
    assert errors_of(jobs.ask(method, f"/v1/jobs?{query}", json=body)) == [(pointer, code)]


@pytest.mark.parametrize("key", ["", "x" * 256, "a\x7fb", "ä"], ids=repr)
def test_an_idempotency_key_is_short_and_printable(jobs: Jobs, key: str) -> None:
    headers = {"idempotency-key": key.encode("latin-1")}
    assert error_of(jobs.ask("POST", "/v1/jobs", json=TEST, headers=headers))[0] == "/?idempotency-key"


def test_a_list_of_jobs_goes_on_where_it_was_even_among_those_of_one_moment(jobs: Jobs) -> None:
    made = [jobs.submit(1) for _ in range(5)]
    jobs.write("update ep_jobs set created = 1e9 where id in (?, ?, ?)", *made[1:4])
    listed: list[str] = []
    while True:
        after = f"&after={listed[-1]}" if listed else ""
        page = [one["id"] for one in jobs.ask("GET", f"/v1/jobs?limit=2{after}", 1).json()["jobs"]]
        listed += page
        if len(page) < 2:
            break
    assert sorted(listed) == sorted(made)
    assert listed[:2] == [made[4], made[0]]
    states = "&state=" + ",".join(["queued", "running"] * 2_000)
    assert len(jobs.ask("GET", f"/v1/jobs?limit=9{states}", 1).json()["jobs"]) == 5


def test_expired_jobs_are_gone_for_their_key_and_unknown_to_others(jobs: Jobs) -> None:
    job = jobs.submit(2)
    assert jobs.ask("POST", f"/v1/jobs/{job}/cancel", 2).json()["state"] == "cancelled"
    jobs.write("update ep_jobs set expires = 1e9 where id = ?", job)
    for path in ("", "/result", "/events"):
        said = problem(jobs.ask("GET", f"/v1/jobs/{job}{path}", 2), 410)
        assert said["type"] == "/docs/problems#expired"
        assert jobs.ask("GET", f"/v1/jobs/{job}{path}", 1).status_code == 404
    assert jobs.ask("GET", "/v1/jobs", 2).json() == {"jobs": []}


def test_more_streams_than_the_limit_are_refused_and_those_that_end_make_room(jobs: Jobs) -> None:
    """Ten requests at once, through ASGI, since the client of these tests waits for the end."""
    job = jobs.submit()
    statuses: list[int] = []

    async def ten() -> None:
        ended, begun = asyncio.Event(), asyncio.Semaphore(0)

        async def one() -> None:
            async def receive() -> dict[str, Any]:
                await ended.wait()
                return {"type": "http.disconnect"}

            async def send(message: Any) -> None:
                if message["type"] == "http.response.start":
                    statuses.append(message["status"])
                    begun.release()

            await jobs.service.app(scope_of(f"/v1/jobs/{job}/events"), receive, send)

        for _ in range(2):  # those of the first turn must not count in the second
            statuses.clear()
            ended.clear()
            streams = [asyncio.ensure_future(one()) for _ in range(10)]
            for _ in streams:
                await begun.acquire()
            assert sorted(statuses) == [200] * 2 + [503] * 8
            ended.set()
            await asyncio.gather(*streams)

    jobs.service.run(ten)


@pytest.mark.parametrize(
    ("extra", "code"), [({"a/b": 1}, "unknown_field"), ({"timeout_s": 1}, "unknown_field"), ({"store": 1}, "bool_type")]
)  # fmt: skip
def test_a_list_has_the_members_of_its_own_endpoint(jobs: Jobs, extra: dict[str, Any], code: str) -> None:
    request = {"tests": [TEST], **extra}
    of_a_job = problem(jobs.ask("POST", "/v1/jobs", json={"kind": "batch", "request": request}), 422)
    at_once = problem(jobs.ask("POST", "/v1/batch", json=request), 422)
    assert of_a_job["errors"] == [
        {**one, "pointer": f"/request{one['pointer']}"} for one in at_once["errors"]
    ]
    assert [one["code"] for one in of_a_job["errors"]] == [code]
    jobs.submit(body={"kind": "batch", "request": {"tests": [TEST], "store": False}})


def test_unequal_numbers_of_runs_are_refused_as_jobs(jobs: Jobs) -> None:
    request = {"u": [[1, 0], [1]], "v": [[1], [1]]}
    refused = problem(jobs.ask("POST", "/v1/jobs", json={"kind": "scores", "request": request}), 422)
    assert [(flaw["pointer"], flaw["code"]) for flaw in refused["errors"]] == [
        ("/request/v/0", "unequal_repeats")
    ]
    board = {"kind": "scores", "systems": {"A": [[1, 0], [1]], "B": [[1], [1]]}}
    refused = problem(jobs.ask("POST", "/v1/jobs", json={"kind": "compare", "request": board}), 422)
    assert [flaw["code"] for flaw in refused["errors"]] == ["unequal_repeats"]


PIECES = [random.Random(number).randbytes(1_000_000) for number in range(3)]


def done(jobs: Jobs) -> str:
    """A list that has succeeded with a few large results."""
    job = jobs.submit(body={"kind": "batch", "request": {"tests": [TEST] * len(PIECES)}})
    for number, piece in enumerate(PIECES):
        row = (job, number, zlib.compress(piece), 1, "host", 0.0)
        jobs.write("insert into ep_parts values (?, ?, ?, ?, ?, ?)", *row)
    jobs.write("update ep_jobs set state = 'succeeded', chunks = ? where id = ?", len(PIECES), job)
    return job


def test_a_result_comes_in_slices_that_count_until_it_is_read(jobs: Jobs) -> None:
    job = done(jobs)

    async def scenario() -> None:
        readers = [Reader(jobs, job) for _ in range(5)]
        for reader in readers:
            await reader.stuck.wait()
        assert jobs.service.app.state.metrics.held_bytes() >= 5 * SLICE_BYTES
        for reader in readers:
            reader.reads.set()
        await asyncio.gather(*(reader.task for reader in readers))
        for reader in readers:
            assert reader.content == b"".join(PIECES)
            assert max(reader.sizes) <= SLICE_BYTES
            assert not reader.more
        assert jobs.service.app.state.metrics.held_bytes() == 0

    jobs.service.run(scenario)


def test_a_result_that_is_deleted_while_it_is_read_does_not_look_whole(jobs: Jobs) -> None:
    job = done(jobs)

    async def scenario() -> None:
        reader = Reader(jobs, job)
        await reader.stuck.wait()
        await asyncio.to_thread(jobs.write, "delete from ep_parts where job = ? and chunk > 0", job)
        reader.reads.set()
        with pytest.raises(ConnectionAbortedError):
            await reader.task
        assert reader.more
        assert len(reader.content) < sum(map(len, PIECES))

    jobs.service.run(scenario)
    problem(jobs.ask("GET", f"/v1/jobs/{job}/result"), 404)


def test_requests_that_take_long_to_plan_can_be_jobs(made: Callable[..., Iterator[Jobs]]) -> None:
    """The deadline of tests, which cannot be raised here, ended it with useless advice."""
    for hasty in made(default_timeout_s=0.02):
        assert hasty.submit(body={"kind": "batch", "request": {"tests": [TEST] * 20_000}})


def test_the_answer_of_a_job_is_at_the_job_alone(jobs: Jobs) -> None:
    """Its status shows the expiry; it used to remain readable until the next purge."""
    job = jobs.submit()
    headers = '[["content-type", "application/json"]]'
    jobs.write("insert into ep_results values (?, ?, 200, ?, x'31', x'', x'', 1, null)", job, OWNER, headers)
    jobs.write("update ep_jobs set state = 'succeeded', ended = 1, expires = 4e9 where id = ?", job)
    assert jobs.ask("GET", f"/v1/jobs/{job}/result").content == b"1"
    problem(jobs.ask("GET", f"/v1/results/{job}"), 404)
    jobs.write("update ep_jobs set expires = 1 where id = ?", job)
    problem(jobs.ask("GET", f"/v1/jobs/{job}/result"), 410)
    problem(jobs.ask("GET", f"/v1/results/{job}"), 404)


class Reader:
    """A client that reads only the head of a result until allowed."""

    def __init__(self, jobs: Jobs, job: str) -> None:
        self.sizes: list[int] = []
        self.content = b""
        self.more = True
        self.reads, self.stuck = asyncio.Event(), asyncio.Event()

        async def receive() -> dict[str, Any]:
            await asyncio.Event().wait()
            return {}

        async def send(message: Any) -> None:
            if message["type"] == "http.response.start":
                assert message["status"] == 200
                return
            self.stuck.set()
            await self.reads.wait()
            self.sizes.append(len(message.get("body", b"")))
            self.content += message.get("body", b"")
            self.more = message.get("more_body", False)

        self.task = asyncio.ensure_future(jobs.service.app(scope_of(f"/v1/jobs/{job}/result"), receive, send))


def scope_of(path: str) -> dict[str, Any]:
    """A GET as a server passes it on."""
    authorization = (b"authorization", f"Bearer {KEYS[0][0]}".encode())
    return {
        "type": "http", "method": "GET", "path": path, "query_string": b"", "raw_path": path.encode(), "root_path": "",
        "scheme": "http", "http_version": "1.1", "headers": [authorization], "client": ("t", 1), "server": ("t", 80),
        "asgi": {"version": "3.0", "spec_version": "2.3"},
    }  # fmt: skip


@pytest.mark.slow
def test_a_thousand_jobs_wait_and_a_thousand_and_first_is_refused(
    made: Callable[..., Iterator[Jobs]],
) -> None:
    """At the real limit tests are answered meanwhile, and memory does not grow with the jobs."""
    most = Settings().jobs_key_jobs
    assert most == 1_000
    for jobs in made():

        def submit(_: int, jobs: Jobs = jobs) -> int:
            return jobs.ask("POST", "/v1/jobs", json=TEST).status_code

        with ThreadPoolExecutor(8) as pool:
            assert set(pool.map(submit, range(100))) == {202}
            first = held_bytes()
            assert set(pool.map(submit, range(most - 100))) == {202}
        refused = jobs.ask("POST", "/v1/jobs", json=TEST)
        assert problem(refused, 429)["type"] == "/docs/problems#too-many-requests"
        assert int(refused.headers["retry-after"]) >= 1
        assert held_bytes() - first < 20_000_000
        assert jobs.submit(1)  # another key has room
        assert jobs.service.get("/livez").status_code == 200
        assert jobs.ask("POST", "/v1/tests/scores", json=TEST["request"]).status_code == 200
        counted = re.search(r'exactperm_jobs\{state="queued"\} (\S+)', jobs.ask("GET", "/metrics").text)
        assert counted is not None
        assert float(counted[1]) == most + 1
        assert (jobs.count("ep_jobs"), jobs.count("workflow_status")) == (most + 1, most + 1)
        assert len(jobs.ask("GET", "/v1/jobs?limit=1000").json()["jobs"]) == most


def held_bytes() -> int:
    gc.collect()
    held = resident_bytes(os.getpid())
    assert held is not None
    return held


ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/v1/jobs"), ("GET", "/v1/jobs"), ("GET", "/v1/jobs/j_1"), ("DELETE", "/v1/jobs/j_1"),
        ("POST", "/v1/jobs/j_1/cancel"), ("GET", "/v1/jobs/j_1/events"), ("GET", "/v1/jobs/j_1/result"),
        ("GET", "/v1/results/r_1"),
    ],
)  # fmt: skip
def test_jobs_are_off_without_a_database(service: Any, method: str, path: str) -> None:
    said = problem(service.request(method, path, json={} if method == "POST" else None), 501)
    assert said["type"] == "/docs/problems#jobs-off"
    assert "EXACTPERM_JOBS_URL" in said["detail"]


def test_the_document_names_the_kinds_that_there_are() -> None:
    schemas = json.loads(exported())["components"]["schemas"]
    assert schemas["JobRequest"]["properties"]["kind"]["enum"] == list(OF_JOBS)
    assert schemas["ListedRequest"]["properties"]["kind"]["enum"] == list(LISTED)


@pytest.mark.slow
def test_the_service_does_not_load_the_engine_of_jobs() -> None:
    code = (
        "import sys; from exactperm.main import create_app; from exactperm.settings import Settings; "
        "create_app(Settings(workers=1)); "
        "sys.exit(bool({'dbos', 'sqlalchemy', 'psycopg', 'exactperm.jobs.queue'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0
