"""Two instances behind a real HAProxy with the example's configuration: one is killed under load, and no request is lost."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import threading
from collections.abc import Callable

import httpx
import pytest

from tests.process.conftest import PATIENCE_S, ROOT, SMALL, Server, until

HAPROXY = shutil.which("haproxy", path=f"{os.environ.get('PATH', '')}:/usr/sbin")

pytestmark = [
    pytest.mark.process,
    pytest.mark.slow,
    pytest.mark.skipif(HAPROXY is None, reason="HAProxy is not installed"),
]


def test_a_killed_instance_loses_no_request(start: Callable[..., Server]) -> None:
    assert HAPROXY is not None
    replicas = [start(workers=1, cache_bytes=0) for _ in range(2)]
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    places = {"PROXY_ADDRESS": port, "INSTANCE_A": replicas[0].port, "INSTANCE_B": replicas[1].port}
    environment = {name: f"127.0.0.1:{number}" for name, number in places.items()}
    proxy = subprocess.Popen(
        [HAPROXY, "-db", "-f", "loadtest/deploy/haproxy.cfg"], cwd=ROOT, env={**os.environ, **environment}
    )
    statuses: list[int] = []
    over = threading.Event()

    def client() -> None:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=PATIENCE_S) as session:
            while not over.is_set():
                try:
                    statuses.append(session.post("/v1/tests/scores", json=SMALL).status_code)
                except httpx.TransportError:
                    statuses.append(0)

    def answers() -> bool:
        try:
            return httpx.get(f"http://127.0.0.1:{port}/readyz").status_code == 200
        except httpx.TransportError:
            return False

    threads = [threading.Thread(target=client) for _ in range(6)]
    try:
        until(answers, "the proxy answers")
        for thread in threads:
            thread.start()
        until(lambda: len(statuses) > 60, "answers come")
        os.kill(replicas[0].process.pid, signal.SIGKILL)
        killed = len(statuses)
        until(lambda: len(statuses) > killed + 100, "answers come")
    finally:
        over.set()
        for thread in threads:
            if thread.ident:
                thread.join(PATIENCE_S)
        proxy.kill()
        proxy.wait(PATIENCE_S)
    assert set(statuses) == {200}
    seen = [replica.log.read_text().count('"route":"/v1/tests/scores"') for replica in replicas]
    assert min(seen) > 0
