"""Test jobs in a SQLite file, computed by the service's worker: the same bytes under failures."""

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from exactperm.client import Client, GateResult, InvalidTest, NotFound, TestResult, gate, scores
from tests.process.conftest import ENDLESS, PATIENCE_S, ROOMY, ROOT, SMALL, until
from tests.process.job_servers import DIGESTS, KEYS, JobServer, lines, serving, without_runtime
from tests.process.test_compare_parts import board

pytestmark = pytest.mark.slow
# "dp" by name: each pair by itself, so that there are many chunks.
BOARD = board(14, 150, confidence_level=None)
SETS = {
    "kind": "scores",
    "datasets": {name: {"systems": board(6, 40, seed)["systems"]} for seed, name in enumerate("pq")},
    "adjust": "holm_discrete",
    "pairs": "significant",
}
GATE = {"kind": "scores", "request": {"u": [0] * 12, "v": [1] * 12}}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JobServer]:
    roomy: dict[str, Any] = {**ROOMY}
    with serving(tmp_path_factory.mktemp("jobs"), 0, api_key_digests=DIGESTS, **roomy) as started:
        yield started


@pytest.mark.parametrize(
    ("kind", "path", "request_of_it"),
    [
        ("scores", "/v1/tests/scores", SMALL),
        ("effects", "/v1/tests/effects", {"stay": [3, -1, 0, 2]}),
        ("gate", "/v1/gate", GATE),
        ("compare", "/v1/compare", BOARD),
        ("compare", "/v1/compare", SETS),
    ],
    ids=["scores", "effects", "a gate that fails", "a board in chunks", "data sets"],
)
def test_a_job_has_the_bytes_of_its_own_endpoint(
    server: JobServer, kind: str, path: str, request_of_it: Any
) -> None:
    at_once = server.ask("POST", path, "a", json=request_of_it)
    job = server.submit(kind, request_of_it, "a")
    ended = server.ended(job, "a")
    assert ended["state"] == "succeeded", ended
    assert ended["tests_done"] == ended["tests"]
    kept = server.ask("GET", ended["result"], "a")
    assert kept.status_code == at_once.status_code
    assert without_runtime(kept.content) == without_runtime(at_once.content)
    assert kept.headers["etag"] == at_once.headers["etag"]
    if request_of_it is BOARD:
        assert ended["chunks"] > 5
    again = server.ask("GET", ended["result"], "a", headers={"if-none-match": kept.headers["etag"]})
    assert again.status_code == 304
    assert again.headers["cache-control"] == kept.headers["cache-control"]
    state = server.ask("GET", f"/v1/jobs/{job}", "a")
    again = server.ask("GET", f"/v1/jobs/{job}", "a", headers={"if-none-match": state.headers["etag"]})
    assert (again.status_code, again.headers["cache-control"]) == (304, state.headers["cache-control"])


def test_a_list_is_answered_in_order_and_one_bad_test_spoils_no_other(server: JobServer) -> None:
    drawn = random.Random(3)
    requests = [
        {"u": [drawn.randrange(9) for _ in range(12)], "v": [drawn.randrange(9) for _ in range(12)]}
        for _ in range(120)
    ]
    requests[7] = {"u": [1, 2], "v": [1]}
    tests = [{"kind": "scores", "request": one} for one in requests]
    tests.append({"kind": "gate", "request": GATE})
    answers = lines(server.result(server.submit("batch", {"tests": tests}, "a"), "a"))
    assert len(answers) == len(tests)
    assert answers[7]["status"] == 422
    assert answers[7]["errors"][0]["pointer"] == "/v"
    assert answers[-1]["verdict"] == "fail"
    for at in (0, 6, 8, 60, 119):
        alone = server.ask("POST", "/v1/tests/scores", "a", json=requests[at]).json()
        assert {**answers[at], "runtime": None} == {**alone, "runtime": None}


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"kind": "scores", "request": {"u": [1], "v": [1, 2]}}, "/request/v"),
        ({"kind": "nothing", "request": {}}, "/kind"),
        ({"kind": "scores"}, "/request"),
        ({"kind": "scores", "request": SMALL, "more": 1}, "/more"),
        ({"kind": "batch", "request": {"tests": []}}, "/request/tests"),
        ({"kind": "batch", "request": {"tests": [{"kind": "batch", "request": {}}]}}, "/request/tests/0/kind"),
    ],
)  # fmt: skip
def test_invalid_jobs_are_refused_at_once(server: JobServer, body: Any, pointer: str) -> None:
    answered = server.ask("POST", "/v1/jobs", "a", json=body)
    assert answered.status_code == 422
    assert answered.json()["errors"][0]["pointer"] == pointer


def test_a_stored_answer_has_a_permalink_for_its_key_alone(server: JobServer) -> None:
    answered = server.ask("POST", "/v1/tests/scores?store=1", "a", json=SMALL)
    place = answered.headers["content-location"]
    assert len(place.removeprefix("/v1/results/r_")) == 32
    kept = server.ask("GET", place, "a")
    assert (kept.status_code, kept.content) == (200, answered.content)
    assert kept.headers["etag"] == answered.headers["etag"]
    assert server.ask("GET", place, "b").status_code == 404
    assert "content-location" not in server.ask("POST", "/v1/tests/scores", "a", json=SMALL).headers
    assert server.ask("POST", "/v1/tests/scores?store=2", "a", json=SMALL).status_code == 422


def test_the_client_and_the_command_line(server: JobServer, tmp_path: Path) -> None:
    one = scores(SMALL["u"], SMALL["v"])
    with Client(server.url, api_key=KEYS["a"]) as client:
        job = client.jobs.submit([one, gate(one), scores([1, 2], [1])])
        seen: list[float] = []
        assert client.jobs.wait(job.id, lambda now: seen.append(now.progress)).state == "succeeded"
        answers = client.jobs.result(job.id)
        assert isinstance(answers, list)
        first, second, wrong = answers
        assert isinstance(first, TestResult)
        assert isinstance(second, GateResult)
        assert (first.p_value, second.verdict) == (0.0625, "pass")
        assert isinstance(wrong, InvalidTest)
        assert seen[-1] == 1.0
        again = client.jobs.submit(one, key="same")
        assert client.jobs.submit(one, key="same").id == again.id
    (tmp_path / "board.json").write_text(json.dumps(BOARD))
    command = [
        sys.executable,
        "-m",
        "exactperm",
        "jobs",
        "submit",
        str(tmp_path / "board.json"),
        "--kind",
        "compare",
        "--wait",
    ]
    environment = {**os.environ, "EXACTPERM_URL": server.url, "EXACTPERM_API_KEY": KEYS["a"]}
    ran = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, check=True, timeout=PATIENCE_S
    )
    at_once = server.ask("POST", "/v1/compare", "a", json=BOARD)
    assert without_runtime(ran.stdout) == without_runtime(at_once.content)
    assert ran.stderr.startswith(b"j_")


def listed(output: bytes) -> list[str]:
    """The ids in the list that the command line prints."""
    return [line.split()[0] for line in output.decode().splitlines()]


def test_lists_and_deletes_of_the_client_and_the_command_line(server: JobServer) -> None:
    environment = {**os.environ, "EXACTPERM_URL": server.url, "EXACTPERM_API_KEY": KEYS["b"]}

    def command(*words: str) -> subprocess.CompletedProcess[bytes]:
        asked = [sys.executable, "-m", "exactperm", "jobs", *words]
        return subprocess.run(
            asked, cwd=ROOT, env=environment, capture_output=True, check=False, timeout=PATIENCE_S
        )

    with Client(server.url, api_key=KEYS["b"]) as client:
        mine = [client.jobs.submit(scores([1, 0, 1], [0, 0, k])).id for k in range(3)]
        for job in mine:
            client.jobs.wait(job)
        newest = [job.id for job in client.jobs.list("succeeded")]
        assert [job for job in newest if job in mine] == mine[::-1]
        assert client.jobs.list("failed") == []
        assert [job.id for job in client.jobs.list(limit=1, after=mine[2])] == [mine[1]]
        assert listed(command("list", "--state", "succeeded", "--after", mine[2]).stdout)[:2] == mine[1::-1]
        assert command("delete", mine[0]).returncode == 0
        assert mine[0] not in listed(command("list").stdout)
        for job in mine[1:]:
            client.jobs.delete(job)
        with pytest.raises(NotFound):
            client.jobs.status(mine[1])
    again = command("delete", mine[0])
    assert (again.returncode, again.stdout) == (2, b"")
    assert b"no such job" in again.stderr


def test_keys_see_their_own_jobs_only(server: JobServer) -> None:
    job = server.submit("scores", SMALL, "a")
    server.ended(job, "a")
    assert len(job.removeprefix("j_")) == 32
    for method, path in [
        ("GET", ""),
        ("GET", "/result"),
        ("GET", "/events"),
        ("POST", "/cancel"),
        ("DELETE", ""),
    ]:
        assert server.ask(method, f"/v1/jobs/{job}{path}", "b").status_code == 404
        assert server.ask(method, f"/v1/jobs/{job}{path}").status_code == 401
    assert server.ask("GET", "/v1/jobs", "b").json() == {"jobs": []}
    assert job in [one["id"] for one in server.ask("GET", "/v1/jobs?state=succeeded", "a").json()["jobs"]]
    assert server.ask("DELETE", f"/v1/jobs/{job}", "a").status_code == 204
    assert server.ask("GET", f"/v1/jobs/{job}", "a").status_code == 404


def test_eight_posts_with_one_key_are_one_job(server: JobServer) -> None:
    def post(request: Any) -> httpx.Response:
        body = {"kind": "scores", "request": request}
        return server.ask("POST", "/v1/jobs", "a", json=body, headers={"idempotency-key": "k1"})

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(post, [SMALL] * 8))
    assert {answered.status_code for answered in answers} == {202}
    assert len({answered.json()["id"] for answered in answers}) == 1
    assert sum(answered.headers.get("idempotent-replayed") == "true" for answered in answers) == 7
    other = post({"u": [1, 2], "v": [2, 2]})
    assert other.status_code == 422
    assert other.json()["type"] == "/docs/problems#idempotency-conflict"
    of_another_key = server.submit("scores", SMALL, "b", **{"idempotency-key": "k1"})
    assert of_another_key != answers[0].json()["id"]


def test_events_tell_the_progress_and_go_on_after_the_last(server: JobServer) -> None:
    job = server.submit("compare", BOARD, "a")

    def events(**headers: str) -> list[tuple[int, str]]:
        content = server.ask("GET", f"/v1/jobs/{job}/events", "a", headers=headers).text
        seen = []
        for event in content.split("\n\n")[:-1]:
            if not event.startswith(":"):
                number, name, data = event.split("\n")
                assert json.loads(data.removeprefix("data: "))["id"] == job
                seen.append((int(number.removeprefix("id: ")), name.removeprefix("event: ")))
        return seen

    seen = events()
    assert seen[-1] == (91, "succeeded")
    # All of it may be done a while before it is joined: then the last two have one number.
    progress = [number for number, _ in seen[:-1]]
    assert progress == sorted(set(progress))
    assert {name for _, name in seen[:-1]} <= {"progress"}
    assert events(**{"last-event-id": "91"}) == [(91, "succeeded")]


def test_cancel_stops_computing(server: JobServer) -> None:
    until(server.computing_jobs, "the worker is warm")
    job = server.submit("effects", ENDLESS, "a")
    until(lambda: server.state(job, "a")["state"] == "running", "it runs")
    before = server.computing_jobs()
    assert server.ask("GET", f"/v1/jobs/{job}/result", "a").status_code == 409
    assert server.ask("POST", f"/v1/jobs/{job}/cancel", "a").json()["state"] == "cancelled"
    until(lambda: before - server.computing_jobs(), "its process is killed")
    assert server.ask("POST", f"/v1/jobs/{job}/cancel", "a").json()["state"] == "cancelled"
    assert server.rows("select count(*) from ep_inputs where job = ?", job) == [(0,)]


def test_a_poisonous_chunk_fails_its_job_only(server: JobServer) -> None:
    job = server.submit("effects", ENDLESS, "a")
    for _ in range(2):
        pid = until(lambda: busy(server.computing_jobs()), "it computes")
        os.kill(pid, signal.SIGKILL)
    failed = server.ended(job, "a")
    assert failed["state"] == "failed"
    assert failed["problem"]["type"] == "/docs/problems#worker-lost"
    assert server.result(server.submit("scores", SMALL, "a"), "a")


def busy(pids: set[int]) -> int | None:
    from tests.process.conftest import ticks

    before = {pid: ticks(pid) for pid in pids}
    time.sleep(1.0)
    return next((pid for pid, used in before.items() if ticks(pid) - used >= 5), None)


def test_no_row_of_the_database_is_code(server: JobServer, tmp_path: Path) -> None:
    import base64
    import pickle

    written = tmp_path / "written"

    class Hostile:
        def __reduce__(self) -> Any:
            return os.mkdir, (str(written),)

    text = base64.b64encode(pickle.dumps(Hostile())).decode()
    job = server.submit("effects", ENDLESS, "a")
    until(lambda: server.state(job, "a")["state"] == "running", "it runs")
    with sqlite3.connect(server.file, timeout=PATIENCE_S) as connection:
        for name in ("hostile", f"{job}:77"):
            (columns,) = [[row[1] for row in connection.execute("pragma table_info(workflow_status)")]]
            fields = ", ".join(
                "?" if name_ in {"workflow_uuid", "inputs", "serialization", "status"} else name_
                for name_ in columns
            )
            values = {
                "workflow_uuid": name, "inputs": text, "serialization": "py_pickle", "status": "ENQUEUED",
            }  # fmt: skip
            given = [values[name_] for name_ in columns if name_ in values]
            connection.execute(
                f"insert into workflow_status ({', '.join(columns)}) select {fields} from workflow_status "
                "where workflow_uuid = ?",
                [*given, f"{job}:0"],
            )
    assert server.ask("POST", f"/v1/jobs/{job}/cancel", "a").json()["state"] == "cancelled"
    until(
        lambda: server.rows("select status from workflow_status where workflow_uuid = 'hostile'") != [("ENQUEUED",)],
        "the row is claimed",
    )  # fmt: skip
    assert server.result(server.submit("scores", SMALL, "a"), "a")
    assert not written.exists()


def test_the_file_is_in_wal_mode_and_ours_alone(server: JobServer) -> None:
    assert server.rows("pragma journal_mode") == [("wal",)]
    assert server.file.stat().st_mode & 0o077 == 0


def test_killed_at_random_the_board_has_the_same_bytes(tmp_path: Path) -> None:
    """The worker, its processes, then all of the service; started again, it goes on where it was."""
    large = board(20, 400, seed=2, pairs="significant")
    drawn = random.Random(11)
    with serving(tmp_path, job_chunk_seconds=0.02) as server:
        whole = without_runtime(server.post("/v1/compare", large).content)
        until(server.computing_jobs, "the worker is warm")
        job = server.submit("compare", large)
        chunks = server.state(job)["chunks"]
        assert chunks >= 20
        until(lambda: server.state(job)["tests_done"] > 0, "it begins")
        os.kill(drawn.choice(sorted(server.computing_jobs())), signal.SIGKILL)
        first = server.job_worker()
        os.kill(first, signal.SIGKILL)
        until(lambda: server.job_worker() != first, "there is another worker")
        server.process.kill()
        server.process.wait(PATIENCE_S)
    with serving(tmp_path, 1, job_chunk_seconds=0.02) as again:
        assert without_runtime(again.result(job)) == whole
        assert again.rows("select state, tests from ep_jobs") == [("succeeded", 190)]


def test_back_pressure(tmp_path: Path) -> None:
    limits: dict[str, Any] = {"jobs_key_jobs": 2, "jobs_embedded_worker": False}
    with serving(tmp_path, 0, api_key_digests=DIGESTS, **limits) as server:
        body = {"kind": "scores", "request": SMALL}
        for _ in range(2):
            server.submit("scores", SMALL, "a")
        refused = server.ask("POST", "/v1/jobs", "a", json=body)
        assert refused.status_code == 429
        assert int(refused.headers["retry-after"]) >= 1
        server.submit("scores", SMALL, "b")
        assert server.rows("select count(*) from ep_jobs") == [(3,)]
        assert server.rows("select count(*) from workflow_status") == [(3,)]
        assert len(KEYS) == 2
