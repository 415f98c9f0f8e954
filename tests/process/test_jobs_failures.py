"""Jobs where something is short, hangs or is other: a full disk, a read-only file, a stopped worker, memory, a key that takes all."""

import contextlib
import os
import random
import resource
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from exactperm.jobs.database import WRITABLE
from tests.process.conftest import PATIENCE_S, ROOMY, ROOT, SMALL, until
from tests.process.job_servers import DIGESTS, QUICK, JobServer, lines, serving, without_runtime
from tests.process.test_compare_parts import board

pytestmark = pytest.mark.slow
LATER = "select 1 from ep_hosts where algorithm = ? and seen > ? + 1.0"
BEATS = "select max(seen) from ep_hosts where algorithm = ?"
OTHER = """
from exactperm import serving as working
from exactperm.jobs import worker
from exactperm.settings import Settings
worker.ALGORITHM_VERSION = "another"
working.work(Settings(), with_parent=False)
"""


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="limits of another process need Linux")
def test_a_full_disk_is_a_503_and_the_file_stays_whole(tmp_path: Path) -> None:
    """No file of the service may grow, which SQLite sees as a full disk."""
    with serving(tmp_path, jobs_embedded_worker=False) as server:
        job = server.submit("scores", SMALL)
        body = {"kind": "effects", "request": {"stay": [1, 2] * 20_000, "swap": [0, 1] * 20_000}}
        with server.file.open("rb") as file:
            full = max(file.seek(0, os.SEEK_END), 4_096)
        soft, hard = resource.prlimit(
            server.process.pid, resource.RLIMIT_FSIZE, (full, resource.RLIM_INFINITY)
        )
        answers = [server.ask("POST", "/v1/jobs", json=body) for _ in range(20)]
        refused = [one for one in answers if one.status_code != 202]
        assert refused
        for one in refused:
            assert (one.status_code, one.json()["type"]) == (503, "/docs/problems#store-away")
            assert "retry-after" in one.headers
        assert server.post("/v1/tests/scores", SMALL).status_code == 200
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (soft, hard))
        until(lambda: server.ask("POST", "/v1/jobs", json=body).status_code == 202, "there is room again")
        assert server.rows("pragma integrity_check") == [("ok",)]
        accepted = sum(one.status_code == 202 for one in answers)
        assert server.rows("select count(*) from ep_jobs") == [(accepted + 2,)]
        assert server.rows("select count(distinct workflow_uuid) from workflow_status") == [(accepted + 2,)]
        assert server.state(job)["state"] == "queued"


def _moved(server: JobServer, folder: Path) -> None:
    """The file and its write-ahead log, as `mv` moves them."""
    for suffix in ("", "-wal", "-shm"):
        part = server.file.with_name(server.file.name + suffix)
        if part.exists():
            part.rename(folder / part.name)


def test_a_file_that_is_deleted_takes_no_jobs_until_it_is_back(tmp_path: Path) -> None:
    """An open file takes rows after its name is gone, so an accepted job would be lost."""
    (away := tmp_path / "away").mkdir()
    body = {"kind": "scores", "request": SMALL}
    with serving(tmp_path) as server:
        kept = server.submit("scores", SMALL)
        answer = server.result(kept)
        _moved(server, away)
        for path, json in [("/v1/jobs", body), ("/v1/tests/scores?store=1", SMALL)]:
            refused = server.ask("POST", path, json=json)
            assert (refused.status_code, refused.json()["type"]) == (503, "/docs/problems#store-away")
            assert "retry-after" in refused.headers
        assert not server.file.exists()
        assert server.ask("GET", f"/v1/jobs/{kept}").status_code == 503
        assert server.ask("GET", "/readyz").status_code == 200
        assert server.post("/v1/tests/scores", SMALL).status_code == 200
        # Of the web process, and of the heartbeat of its worker.
        until(
            lambda: server.log.read_text().count("was deleted while this process ran") >= 2,
            "the log says why",
        )
        for part in away.iterdir():
            part.rename(tmp_path / part.name)
        until(lambda: server.ask("POST", "/v1/jobs", json=body).status_code == 202, "the file is noticed")
        assert server.result(kept) == answer
        assert server.ended(server.submit("scores", SMALL))["state"] == "succeeded"


@pytest.mark.parametrize("unseen", [False, True], ids=["the worker looks", "the worker comes late"])
def test_a_file_that_replaces_another_has_the_jobs_from_then_on(tmp_path: Path, *, unseen: bool) -> None:
    (away := tmp_path / "away").mkdir()
    with serving(tmp_path, liveness_stall_s=PATIENCE_S) as server:
        lost = server.submit("scores", SMALL)
        server.result(lost)
        worker = server.job_worker()
        if unseen:  # the service has made the tables of the new file before its worker looks at them
            os.kill(worker, signal.SIGSTOP)
        _moved(server, away)
        server.file.touch(mode=0o600)
        body = {"kind": "scores", "request": SMALL}
        until(lambda: server.ask("POST", "/v1/jobs", json=body).status_code == 202, "the file is noticed")
        job = server.submit("scores", SMALL)
        if unseen:
            os.kill(worker, signal.SIGCONT)
            for _ in range(3):  # one more look at a queue is made with what it was
                server.result(server.submit("scores", SMALL))
        assert server.ended(job)["state"] == "succeeded"
        assert server.ask("GET", f"/v1/jobs/{lost}").status_code == 404
        assert server.rows("select count(*) from ep_jobs where id = ?", job) == [(1,)]


@pytest.mark.parametrize("whole", [True, False], ids=["the worker", "its processes"])
def test_a_worker_that_hangs_is_replaced_and_its_job_ends(tmp_path: Path, *, whole: bool) -> None:
    """All its processes are stopped while heartbeats continue, or its event loop is stopped."""
    request = {"kind": "scores", "request": {**SMALL, "method": "monte_carlo", "samples": 3_000_000}}
    with serving(tmp_path, liveness_stall_s=5.0, job_chunk_seconds=1e-4) as server:
        until(lambda: len(server.computing_jobs()) == 2, "both processes are warm")
        hung = server.job_worker()
        processes = [hung] if whole else server.computing_jobs()
        job = server.submit("batch", {"tests": [request] * 40})
        until(lambda: server.state(job)["tests_done"] > 0, "it has begun")
        for process in processes:
            os.kill(process, signal.SIGSTOP)
        assert server.state(job)["tests_done"] < 40, "it was over before anything stood still"
        answers = lines(server.result(job))
        assert len(answers) == 40
        assert len({answer["p_value"] for answer in answers}) == 1
        assert server.rows("select count(*), sum(tests) from ep_parts") == [(40, 40)]
        assert server.job_worker() != hung


@pytest.mark.parametrize("listed", [True, False])
def test_results_beyond_their_limit_fail_their_job_only(tmp_path: Path, *, listed: bool) -> None:
    """A list with many answers, and a single large answer."""
    one = {
        "stay": [k % 997 + 1 for k in range(300)],
        "pmf": "full",
    }  # 1.1 MB, of which compression leaves a quarter
    tests = [{"kind": "effects", "request": {**one, "alpha": 0.01 * n}} for n in range(1, 13)]
    with serving(tmp_path, jobs_key_bytes=2**24) as server:
        job = server.submit("batch", {"tests": tests}) if listed else server.submit("effects", one)
        ended = server.ended(job)
        assert ended["state"] == "failed"
        problem = ended["problem"]
        assert problem["type"].endswith("#plan-too-large")
        assert [(flaw["pointer"], flaw["code"]) for flaw in problem["errors"]] == [
            ("/request", "result_too_large")
        ]
        assert "1,048,576" in problem["detail"]
        assert server.rows("select count(*) from ep_parts") == [(0,)]
        assert server.ended(server.submit("batch", {"tests": tests[:1]}))["state"] == "succeeded"


def test_a_small_key_is_not_behind_a_large_one(tmp_path: Path) -> None:
    """Chunks of all keys take turns: the last job ends while most of the first is waiting."""
    request = {"kind": "scores", "request": {**SMALL, "method": "monte_carlo", "samples": 300_000}}
    many = {"tests": [request] * 120}
    with serving(tmp_path, api_key_digests=DIGESTS, job_chunk_seconds=1e-4) as server:
        until(server.computing_jobs, "the worker is warm")
        large = server.submit("batch", many, "a")
        until(lambda: server.state(large, "a")["tests_done"] > 0, "the large one has begun")
        before = server.state(large, "a")["tests_done"]
        small = server.submit("batch", {"tests": [request] * 5}, "b")
        assert len(lines(server.result(small, "b"))) == 5
        meanwhile = server.state(large, "a")["tests_done"] - before
        assert server.state(large, "a")["chunks"] == 120
        assert meanwhile <= 40  # 120 in the order of arrival; 5 at best
        assert server.ask("POST", f"/v1/jobs/{large}/cancel", "a").json()["state"] == "cancelled"


def test_a_worker_of_another_algorithm_leaves_a_job_alone(tmp_path: Path) -> None:
    with serving(tmp_path, jobs_embedded_worker=False) as server:
        job = server.submit("scores", SMALL)
        settings = {f"EXACTPERM_{name.upper()}": str(value) for name, value in QUICK.items()}
        environment = {
            **os.environ,
            **settings,
            "EXACTPERM_JOBS_URL": f"sqlite:///{server.file}",
            "EXACTPERM_WORKERS": "1",
        }
        commands = {
            "another": [sys.executable, "-c", OTHER],
            "3": [sys.executable, "-m", "exactperm", "worker"],
        }
        started = []
        try:
            for algorithm, command in commands.items():
                assert server.state(job)["state"] == "queued"
                with (tmp_path / f"worker-{algorithm}.log").open("wb") as log:
                    started.append(
                        subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=log)
                    )
                until(
                    partial(server.rows, "select 1 from ep_hosts where algorithm = ?", algorithm),
                    "the worker has a heartbeat",
                )
                first = server.rows(BEATS, algorithm)[0][0]
                until(partial(server.rows, LATER, algorithm, first), "it has asked for work")
            assert server.ended(job)["state"] == "succeeded"
        finally:
            for process in started:
                process.kill()
                process.wait(PATIENCE_S)


READ_ONLY = {
    "a file in a folder": (0o400, 0o700),
    "a file in a folder that is read-only, too": (0o400, 0o500),
    "a new file in a folder that is read-only": (None, 0o500),
}
# Root may write anything. Without these capabilities it may do what the mode of a file says, as everybody else.
AS_OTHERS = [
    "setpriv",
    "--bounding-set=-dac_override,-dac_read_search",
    "--inh-caps=-dac_override,-dac_read_search",
]


def obeying_modes(file: Path) -> list[str]:
    """A prefix that starts a program so that file modes apply to it; skips the test if there is none."""
    file.touch(mode=0o400)
    nothing = [sys.executable, "-c", ""]
    append = [sys.executable, "-c", "import sys; open(sys.argv[1], 'a')", str(file)]
    for before in ([], AS_OTHERS):
        with contextlib.suppress(FileNotFoundError):
            runs = [
                subprocess.run([*before, *one], capture_output=True, check=False) for one in (nothing, append)
            ]
            if runs[0].returncode == 0 != runs[1].returncode:
                return before
    pytest.skip("this user may write every file, and setpriv cannot take that from a child")


@pytest.mark.parametrize("what", READ_ONLY)
def test_a_database_that_cannot_be_written_costs_jobs_only(tmp_path: Path, what: str) -> None:
    of_file, of_folder = READ_ONLY[what]
    before = obeying_modes(tmp_path / "probe")
    folder = tmp_path / "state"
    folder.mkdir()
    if of_file is not None:
        with serving(folder, jobs_embedded_worker=False) as server:
            kept = server.submit("scores", SMALL)
        server.file.chmod(of_file)
    folder.chmod(of_folder)
    body = {"kind": "scores", "request": SMALL}
    try:
        with serving(tmp_path, 1, before=before, jobs_url=f"sqlite:///{folder}/jobs.sqlite") as server:
            asked = [
                server.ask("POST", "/v1/jobs", json=body),
                server.ask("POST", "/v1/tests/scores?store=1", json=SMALL),
            ]
            for one in asked:
                assert (one.status_code, one.json()["type"]) == (503, "/docs/problems#store-away")
                assert "retry-after" in one.headers
            assert server.post("/v1/tests/scores", SMALL).status_code == 200
            assert server.ask("GET", "/readyz").status_code == 200
            listed = server.ask("GET", "/v1/jobs")  # what can be read is told
            assert listed.status_code == (503 if of_file is None else 200)
            worker = server.job_worker()
            until(
                lambda: server.log.read_text().count(WRITABLE) >= 2,
                "the service and its worker say what to do",
            )
            assert server.log.read_text().count("Traceback") == 0
            folder.chmod(0o700)
            if of_file is not None:
                (folder / "jobs.sqlite").chmod(0o600)
            until(lambda: server.ask("POST", "/v1/jobs", json=body).status_code == 202, "it can be written")
            server.file = folder / "jobs.sqlite"
            if of_file is not None:
                assert server.ended(kept)["state"] == "succeeded"
            assert server.result(server.submit("scores", SMALL))
            assert server.job_worker() == worker
            assert server.rows("pragma integrity_check") == [("ok",)]
    finally:
        folder.chmod(0o700)


MOST = 48 * 2**20
ITEMS, WIDEST = 100, 1_000_000
OUT_OF_MEMORY = "/docs/problems#out-of-memory"


def drawn(seed: int) -> list[int]:
    """Effects whose sum takes about fifty million values, for which method dp holds arrays of doubles for seconds."""
    numbers = random.Random(seed)
    return [numbers.randrange(-WIDEST, WIDEST) for _ in range(ITEMS)]


TOO_LARGE = {"stay": drawn(1), "method": "dp"}
# Only the tests of one data set are too large: chunks of the other are computed first.
TOO_LARGE_AT_LAST = {
    "kind": "scores",
    "method": "dp",
    "aggregate": None,
    "datasets": {
        "a": {"systems": board(10, 300, 1)["systems"]},
        "b": {"systems": {name: drawn(seed) for seed, name in enumerate("ABC")}},
    },
}


def test_a_chunk_that_takes_too_much_memory_fails_its_job_only(tmp_path: Path) -> None:
    settings: dict[str, Any] = {**ROOMY, "worker_memory_bytes": MOST, "api_key_digests": DIGESTS}
    other_board = board(14, 150, confidence_level=None)
    test = {"kind": "scores", "request": {**SMALL, "method": "monte_carlo", "samples": 200_000}}
    with serving(tmp_path, **settings) as server:
        until(server.computing_jobs, "the worker is warm")
        worker = server.job_worker()
        others = [
            server.submit("compare", other_board, "a"),
            server.submit("batch", {"tests": [test] * 40}, "b"),
        ]
        large = [
            server.submit("effects", TOO_LARGE, "a"),
            server.submit("compare", TOO_LARGE_AT_LAST, "b"),
            server.submit("batch", {"tests": [test, {"kind": "effects", "request": TOO_LARGE}]}, "a"),
        ]
        for job, key in zip(large, "aba", strict=True):
            ended = server.ended(job, key)
            assert (ended["state"], ended["result"]) == ("failed", None), ended
            problem = ended["problem"]
            assert (problem["type"], problem["status"]) == (OUT_OF_MEMORY, 503)
            assert "more memory than a worker may use" in problem["detail"]
            assert problem["instance"] == job
            asked = server.ask("GET", f"/v1/jobs/{job}/result", key)
            assert (asked.status_code, asked.json()["type"]) == (409, "/docs/problems#job-not-finished")
        assert server.state(large[1], "b")["chunks"] > 1
        at_once = server.ask("POST", "/v1/compare", "a", json=other_board).content
        assert without_runtime(server.result(others[0], "a")) == without_runtime(at_once)
        assert [one["p_value"] for one in lines(server.result(others[1], "b"))] == [
            server.ask("POST", "/v1/tests/scores", "b", json=test["request"]).json()["p_value"]
        ] * 40
        # A job after them, by the same worker host: only processes of it were killed. Nothing is kept of what failed.
        assert server.result(server.submit("scores", SMALL, "a"), "a")
        assert server.job_worker() == worker
        kept = "select count(*) from {} where job in (?, ?, ?)"
        for table in ("ep_parts", "ep_inputs"):
            assert server.rows(kept.format(table), *large) == [(0,)]
        assert 'exactperm_jobs{state="failed"} 3.0' in server.ask("GET", "/metrics", "a").text
        assert "Traceback" not in server.log.read_text()
