"""Two instances behind a real HAProxy with the example's configuration: one is killed under load, and no request is lost."""

import os
import shutil
import signal
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.process.conftest import IN_CI, PATIENCE_S, ROOT, SMALL, Server, until
from tests.process.job_servers import without_runtime

HAPROXY = shutil.which("haproxy", path=f"{os.environ.get('PATH', '')}:/usr/sbin")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        HAPROXY is None and not IN_CI, reason="HAProxy is not installed; as root, .ci/servers does that"
    ),
]
# Several seconds of a worker: to find that one of two computes takes up to two.
LONG = {"stay": [2**k for k in range(20)], "method": "monte_carlo", "samples": 80_000_000}


@contextmanager
def proxy(folder: Path, instance_a: str, instance_b: str) -> Iterator[str]:
    """HAProxy before two instances; its address, once it answers."""
    assert HAPROXY is not None, "HAProxy is not installed: .ci/servers does that"
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    environment = {"PROXY_ADDRESS": address, "INSTANCE_A": instance_a, "INSTANCE_B": instance_b}
    command = [HAPROXY, "-db", "-f", "loadtest/deploy/haproxy.cfg"]
    with (folder / "haproxy.log").open("wb") as log:
        running = subprocess.Popen(
            command, cwd=ROOT, env={**os.environ, **environment}, stdout=log, stderr=subprocess.STDOUT
        )
    url = f"http://{address}"

    def answers() -> bool:
        assert running.poll() is None, (folder / "haproxy.log").read_text()
        try:
            return httpx.get(f"{url}/readyz").status_code == 200
        except httpx.TransportError:
            return False

    try:
        until(answers, "the proxy answers")
        yield url
    finally:
        running.kill()
        running.wait(PATIENCE_S)


def at(server: Server) -> str:
    return f"127.0.0.1:{server.port}"


def answered(server: Server) -> int:
    """The number of tests it has answered, by its log."""
    return server.log.read_text().count('"route":"/v1/tests/effects"')


def test_a_killed_instance_loses_no_request(start: Callable[..., Server], tmp_path: Path) -> None:
    replicas = [start(workers=1, cache_bytes=0) for _ in range(2)]
    statuses: list[int] = []
    over = threading.Event()

    def client(url: str) -> None:
        with httpx.Client(base_url=url, timeout=PATIENCE_S) as session:
            while not over.is_set():
                try:
                    statuses.append(session.post("/v1/tests/scores", json=SMALL).status_code)
                except httpx.TransportError:
                    statuses.append(0)

    with proxy(tmp_path, at(replicas[0]), at(replicas[1])) as url, ThreadPoolExecutor(6) as clients:
        try:
            for _ in range(6):
                clients.submit(client, url)
            until(lambda: len(statuses) > 60, "answers come")
            os.kill(replicas[0].process.pid, signal.SIGKILL)
            killed = len(statuses)
            until(lambda: len(statuses) > killed + 100, "answers come")
        finally:
            over.set()
    assert set(statuses) == {200}
    seen = [replica.log.read_text().count('"route":"/v1/tests/scores"') for replica in replicas]
    assert min(seen) > 0


def test_requests_of_a_killed_instance_are_answered_by_the_other(
    start: Callable[..., Server], tmp_path: Path
) -> None:
    """The request was sent, and no byte of an answer came: it is sent again, and the answer is the same."""
    replicas = [start(workers=1, cache_bytes=0, max_items=10**9, most_over_deadline=1e9) for _ in range(2)]
    expected = without_runtime(replicas[0].post("/v1/tests/effects", LONG).content)
    until(lambda: answered(replicas[0]) == 1, "its log says so")
    before = {replica: answered(replica) for replica in replicas}
    answers: list[httpx.Response] = []

    def ask(url: str) -> None:
        answers.append(httpx.post(f"{url}/v1/tests/effects", json=LONG, timeout=PATIENCE_S))

    def computing() -> Any:
        return [replica for replica in replicas if replica.computing()]

    with proxy(tmp_path, at(replicas[0]), at(replicas[1])) as url:
        asking = threading.Thread(target=ask, args=(url,))
        asking.start()
        (killed,) = until(computing, "one of them computes")
        os.kill(killed.process.pid, signal.SIGKILL)
        asking.join(PATIENCE_S)
    (survivor,) = (replica for replica in replicas if replica is not killed)
    assert answers[0].status_code == 200
    assert without_runtime(answers[0].content) == expected
    assert answered(killed) == before[killed]
    until(lambda: answered(survivor) == before[survivor] + 1, "the other has answered it")


def test_an_instance_that_has_no_name_yet_does_not_keep_the_proxy_from_starting(
    start: Callable[..., Server], tmp_path: Path
) -> None:
    """Containers start in any order, and come back with another address."""
    with proxy(tmp_path, "instance-a.invalid:8000", at(start(workers=1))) as url:
        assert httpx.post(f"{url}/v1/tests/scores", json=SMALL).status_code == 200
