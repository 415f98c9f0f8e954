"""Jobs in PostgreSQL: two services and two workers share one database, any of which may die, and so may the database."""

import os
import pwd
import random
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.process.conftest import IN_CI, PATIENCE_S, ROOT, SMALL, until
from tests.process.job_servers import QUICK, JobServer, serving, without_runtime
from tests.process.test_compare_parts import board

PLACES = ["/usr/local/bin", *sorted(map(str, Path("/usr/lib/postgresql").glob("*/bin")), reverse=True)]
POSTGRES = shutil.which("postgres", path=os.pathsep.join([os.environ.get("PATH", ""), *PLACES]))
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        POSTGRES is None and not IN_CI,
        reason="needs the server of PostgreSQL; as root, .ci/servers installs it",
    ),
]  # fmt: skip


class Postgres:
    """A server in a separate folder, as an unprivileged user: PostgreSQL refuses to run as root."""

    def __init__(self, folder: Path) -> None:
        assert POSTGRES is not None, "PostgreSQL is not installed: .ci/servers does that"
        self.programs = Path(POSTGRES).resolve().parent
        self.folder = folder / "data"
        self.options: dict[str, Any] = {}
        if os.geteuid() == 0:
            nobody = pwd.getpwnam("nobody")
            self.options = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
            self.folder.mkdir()
            shutil.chown(self.folder, nobody.pw_uid, nobody.pw_gid)
            for parent in (folder, *folder.parents):
                if parent.stat().st_uid == 0 and parent != Path("/") and parent != Path("/tmp"):
                    parent.chmod(parent.stat().st_mode | 0o011)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.url = f"postgresql://postgres@127.0.0.1:{self.port}/postgres"
        self.run("initdb", "-D", str(self.folder), "-U", "postgres", "-A", "trust", "--no-sync")
        self.process: subprocess.Popen[bytes] | None = None
        self.start()

    def run(self, program: str, *arguments: str) -> None:
        command = [str(self.programs / program), *arguments]
        subprocess.run(
            command, check=True, stdout=subprocess.DEVNULL, cwd="/", timeout=PATIENCE_S, **self.options
        )

    def start(self) -> None:
        command = [
            str(self.programs / "postgres"), "-D", str(self.folder), "-p", str(self.port), "-h", "127.0.0.1", "-k", "",
        ]  # fmt: skip

        def answers() -> bool:
            # It refuses to start while processes of a killed one still hold its shared memory.
            if self.process is None or self.process.poll() is not None:
                self.process = subprocess.Popen(command, cwd="/", stderr=subprocess.DEVNULL, **self.options)
            return self.answers()

        until(answers, "PostgreSQL answers")

    def answers(self) -> bool:
        import psycopg

        try:
            psycopg.connect(self.url, connect_timeout=2).close()
        except psycopg.OperationalError:
            return False
        return True

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait(PATIENCE_S)
        (self.folder / "postmaster.pid").unlink(missing_ok=True)

    def rows(self, statement: str) -> list[Any]:
        import psycopg

        with psycopg.connect(self.url) as connection:
            return connection.execute(statement).fetchall()


@pytest.fixture(scope="module")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Postgres]:
    server = Postgres(tmp_path_factory.mktemp("postgres"))
    yield server
    assert server.process is not None
    server.process.send_signal(signal.SIGINT)
    server.process.wait(PATIENCE_S)


@pytest.fixture
def worker(tmp_path: Path, postgres: Postgres) -> Iterator[Callable[[], subprocess.Popen[bytes]]]:
    """Starts worker hosts."""
    started: list[subprocess.Popen[bytes]] = []
    settings = {f"EXACTPERM_{name.upper()}": str(value) for name, value in QUICK.items()}
    environment = {**os.environ, **settings, "EXACTPERM_JOBS_URL": postgres.url, "EXACTPERM_WORKERS": "1",
                   "EXACTPERM_JOB_CHUNK_SECONDS": "0.02"}  # fmt: skip

    def start() -> subprocess.Popen[bytes]:
        with (tmp_path / f"worker{len(started)}.log").open("wb") as log:
            started.append(
                subprocess.Popen(
                    [sys.executable, "-m", "exactperm", "worker"],
                    cwd=ROOT,
                    env=environment,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
            )
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.wait(PATIENCE_S)


def test_two_workers_are_killed_and_the_database_restarted(
    tmp_path: Path, postgres: Postgres, worker: Callable[[], subprocess.Popen[bytes]]
) -> None:
    large = board(20, 400, seed=2, pairs="significant")
    drawn = random.Random(5)
    with (
        serving(
            tmp_path, 0, jobs_url=postgres.url, jobs_embedded_worker=False, job_chunk_seconds=0.02
        ) as first,
        serving(
            tmp_path, 1, jobs_url=postgres.url, jobs_embedded_worker=False, job_chunk_seconds=0.02
        ) as second,
    ):
        whole = without_runtime(first.post("/v1/compare", large).content)
        job = first.submit("compare", large, **{"idempotency-key": "once"})
        assert second.submit("compare", large, **{"idempotency-key": "once"}) == job
        hosts = [worker(), worker()]
        until(lambda: second.state(job)["tests_done"] > 0, "it begins")
        lost = hosts.pop(drawn.randrange(2))
        os.kill(lost.pid, signal.SIGKILL)
        postgres.kill()
        away = first.ask("POST", "/v1/jobs", json={"kind": "scores", "request": SMALL})
        assert away.status_code == 503
        assert away.json()["type"] == "/docs/problems#store-away"
        assert first.post("/v1/tests/scores", SMALL).status_code == 200
        assert first.ask("GET", "/readyz").status_code == 200
        postgres.start()
        hosts.append(worker())
        assert without_runtime(second.result(job)) == whole
        counted = "select count(*), count(distinct workflow_uuid) from dbos.workflow_status where workflow_uuid like '%:%'"
        chunks = second.state(job)["chunks"]
        assert postgres.rows(counted) == [(chunks, chunks)]
        scraped = second.ask("GET", "/metrics").text
        assert 'exactperm_jobs{state="succeeded"} 1.0' in scraped
        assert "exactperm_job_database_up 1.0" in scraped
        by_first: JobServer = first
        assert without_runtime(by_first.result(job)) == whole
