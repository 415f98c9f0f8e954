"""`python -m loadtest.hosts`: a large board as a job on PostgreSQL, computed by two hosts that are killed and cut off.

Each host is a worker in a separate network namespace with a separate wire to the database (needs root, and Debian's iproute2 and
postgresql). The first run is undisturbed, beside a plain process pool; the second has random failures of the service, a host, one of
its computing processes, or its wire, and the database is killed once. Times are printed; bytes and counts of chunks are asserted.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import pwd
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import httpx
import psycopg

from loadtest.jobs import ROOT, Service, board, in_a_pool, state_of

PLACES = ["/usr/local/bin", *sorted(map(str, Path("/usr/lib/postgresql").glob("*/bin")), reverse=True)]
HOSTS = 2
NET = "10.231.{number}.{end}"  # a wire for each host: the first end is here, the second in the namespace
CUT_OFF_S = 8.0  # longer than the silence after which a host counts as dead
CHUNKS = (
    "select count(*), count(distinct workflow_uuid) from dbos.workflow_status where workflow_uuid like %s"
)


class Postgres:
    """A server in a separate folder, as an unprivileged user, which the hosts can reach."""

    def __init__(self, folder: Path) -> None:
        found = shutil.which("postgres", path=os.pathsep.join([os.environ.get("PATH", ""), *PLACES]))
        if found is None:
            raise SystemExit("There is no PostgreSQL server here; on Debian: apt-get install postgresql")
        self.programs, self.folder = Path(found).resolve().parent, folder / "data"
        self.nobody = pwd.getpwnam("nobody").pw_uid
        folder.chmod(0o755)
        self.folder.mkdir()
        shutil.chown(self.folder, self.nobody)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        options = ["-D", str(self.folder), "-U", "postgres", "-A", "trust", "--no-sync"]
        subprocess.run(
            [str(self.programs / "initdb"), *options], check=True, stdout=subprocess.DEVNULL, cwd="/", user=self.nobody
        )  # fmt: skip
        with (self.folder / "pg_hba.conf").open("a") as rules:
            rules.write("host all all 10.231.0.0/16 trust\n")
        self.start()

    def url(self, host: str = "127.0.0.1") -> str:
        return f"postgresql://postgres@{host}:{self.port}/postgres"

    def start(self) -> None:
        ends = ",".join(["127.0.0.1", *(NET.format(number=number, end=1) for number in range(HOSTS))])
        command = [
            str(self.programs / "postgres"),
            "-D",
            str(self.folder),
            "-p",
            str(self.port),
            "-h",
            ends,
            "-k",
            "",
        ]
        # PostgreSQL does not start while processes of a killed server hold its shared memory.
        start = partial(subprocess.Popen, command, cwd="/", stderr=subprocess.DEVNULL, user=self.nobody)
        self.process = start()
        while True:
            with contextlib.suppress(psycopg.OperationalError):
                psycopg.connect(self.url(), connect_timeout=2).close()
                return
            if self.process.poll() is not None:
                self.process = start()
            time.sleep(0.1)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        (self.folder / "postmaster.pid").unlink(missing_ok=True)

    def chunks_of(self, job: str) -> tuple[int, int]:
        with psycopg.connect(self.url()) as connection:
            counted = connection.execute(CHUNKS, (f"{job}:%",)).fetchone()
        assert counted is not None
        return counted[0], counted[1]


def ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True)


class Host:
    """A worker in a network namespace, with one wire to the database."""

    def __init__(self, number: int, postgres: Postgres, folder: Path) -> None:
        self.name, self.wire = f"exactperm{number}", f"exactperm-w{number}"
        here, there = (NET.format(number=number, end=end) for end in (1, 2))
        ip("link", "set", "dev", self.wire, "up")
        ip("-n", self.name, "addr", "add", f"{there}/30", "dev", "eth0")
        ip("-n", self.name, "link", "set", "dev", "eth0", "up")
        ip("-n", self.name, "link", "set", "dev", "lo", "up")
        self.environment = {
            **os.environ, "EXACTPERM_JOBS_URL": postgres.url(here), "EXACTPERM_WORKERS": "1", "EXACTPERM_ACCESS_LOG": "false",
        }  # fmt: skip
        self.log = (folder / f"{self.name}.log").open("ab")
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(
            ["ip", "netns", "exec", self.name, sys.executable, "-m", "exactperm", "worker"],
            cwd=ROOT, env=self.environment, stdout=self.log, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip

    def kill(self) -> None:
        """Kill the host with all its processes, and start it again."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, 9)
        self.process.wait()
        self.start()

    def kill_computing(self) -> None:
        subprocess.run(["pkill", "-9", "-s", str(self.process.pid), "-x", "exactperm-work"], check=False)

    def cut_off(self) -> None:
        """Cut the wire for a while; results that the host computes meanwhile must not be stored afterwards."""
        ip("link", "set", "dev", self.wire, "down")
        time.sleep(CUT_OFF_S)
        ip("link", "set", "dev", self.wire, "up")


@contextlib.contextmanager
def wires() -> Iterator[None]:
    """A namespace and a wire for each host."""
    try:
        for number in range(HOSTS):
            name, wire = f"exactperm{number}", f"exactperm-w{number}"
            ip("netns", "add", name)
            ip("link", "add", wire, "type", "veth", "peer", "name", "eth0", "netns", name)
            ip("addr", "add", f"{NET.format(number=number, end=1)}/30", "dev", wire)
            ip("link", "set", "dev", wire, "up")
        yield
    finally:
        for number in range(HOSTS):
            subprocess.run(["ip", "netns", "delete", f"exactperm{number}"], check=False)


def disturbed(
    options: argparse.Namespace, service: Service, hosts: list[Host], postgres: Postgres, job: str
) -> list[str]:
    """Cause random failures until there are enough, or the job has ended; return them."""
    drawn, done = random.Random(options.seed), list[str]()
    at_database = drawn.randrange(max(options.kills, 1))
    while len(done) < options.kills and not state_of(service, job).get("ended"):
        time.sleep(drawn.uniform(0.5, 3.0))
        host = drawn.choice(hosts)
        kinds = ("service", "host", "process", "wire")
        what = "database" if len(done) == at_database else drawn.choice(kinds)
        if what == "database":
            postgres.kill()
            time.sleep(2.0)
            postgres.start()
        elif what == "service":
            service.process.kill()
            service.process.wait()
            service.start()
        elif what == "host":
            host.kill()
        elif what == "process":
            host.kill_computing()
        else:
            host.cut_off()
        done.append(what)
    return done


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m loadtest.hosts", description=__doc__)
    parser.add_argument("--systems", type=int, default=100)
    parser.add_argument("--datasets", type=int, default=50)
    parser.add_argument("--items", type=int, default=100)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    request = board(options.systems, options.datasets, options.items)
    with tempfile.TemporaryDirectory() as name, wires():
        folder = Path(name)
        postgres = Postgres(folder)
        hosts = [Host(number, postgres, folder) for number in range(HOSTS)]
        service = Service(folder, postgres.url(), jobs_embedded_worker=False, workers=1)
        try:
            time.sleep(10)  # the hosts are warm
            began = time.perf_counter()
            job = service.submit("compare", request)
            state = service.ended(job)
            job_s = time.perf_counter() - began
            assert state["state"] == "succeeded", state
            whole = service.result(job)
            chunks = state["chunks"]
            assert postgres.chunks_of(job) == (chunks, chunks)
            print(f"two hosts: {state['tests']} tests in {chunks} chunks, {job_s:.1f} s", flush=True)
            pool_s = in_a_pool(request, HOSTS)
            print(f"pool of {HOSTS}: {pool_s:.1f} s; ratio {job_s / pool_s:.2f}", flush=True)
            began = time.perf_counter()
            job = service.submit("compare", request)
            done = disturbed(options, service, hosts, postgres, job)
            state = service.ended(job)
            assert state["state"] == "succeeded", state
            assert service.result(job) == whole
            assert postgres.chunks_of(job) == (state["chunks"], state["chunks"])
            took = time.perf_counter() - began
            print(
                f"{len(done)} failures ({', '.join(done)}): the same bytes, {state['chunks']} chunks, {took:.1f} s"
            )
            began = time.perf_counter()
            job = service.submit("compare", request)
            while state_of(service, job).get("tests_done", 0) == 0:
                time.sleep(0.05)
            began = time.perf_counter()
            httpx.post(f"{service.url}/v1/jobs/{job}/cancel", timeout=60).raise_for_status()
            print(f"cancel: answered after {time.perf_counter() - began:.2f} s")
        finally:
            service.stop()
            for host in hosts:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(host.process.pid, 9)
                host.process.wait()
            postgres.kill()


if __name__ == "__main__":
    main()
