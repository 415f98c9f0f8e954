"""Several web processes under a parent: one service in answers, limits and metrics; deaths, hangs and ends."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families as families

from tests.process.conftest import (
    LARGE,
    PATIENCE_S,
    ROOT,
    SMALL,
    Server,
    children,
    lives,
    name_of,
    until,
)
from tests.process.wires import answer, head

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="several web processes need Linux"),
]

Start = Callable[..., Server]


def webs(server: Server) -> set[int]:
    return {pid for pid in children(server.process.pid) if name_of(pid) == "exactperm-web"}


def everything(server: Server) -> set[int]:
    """The parent, its web processes, and the processes of each."""
    return {server.process.pid, *webs(server), *(pid for web in webs(server) for pid in children(web))}


def both(server: Server) -> bool:
    """Whether both web processes listen."""
    return server.log.read_text().count("Application startup complete") >= 2


def count(server: Server, sample: str, **labels: str) -> float:
    """The sum of the samples with this name and these labels, from any process."""
    text = httpx.get(f"{server.url}/metrics", timeout=PATIENCE_S).text
    found = [one for family in families(text) for one in family.samples if one.name == sample]
    return sum(one.value for one in found if labels.items() <= one.labels.items())


def requests(server: Server) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in server.log.read_text().splitlines() if line.startswith("{")]
    return [line for line in lines if line.get("route") == "/v1/tests/scores"]


@contextmanager
def load(server: Server, clients: int = 6) -> Iterator[tuple[list[int], list[str]]]:
    """Clients with a new connection for each request: the statuses and failures."""
    statuses: list[int] = []
    broken: list[str] = []
    over = threading.Event()

    def client() -> None:
        while not over.is_set():
            try:
                statuses.append(server.post("/v1/tests/scores", SMALL).status_code)
            except httpx.ConnectError:
                return
            except httpx.TransportError as error:
                broken.append(type(error).__name__)

    threads = [threading.Thread(target=client) for _ in range(clients)]
    for thread in threads:
        thread.start()
    until(lambda: len(statuses) >= 30, "answers come")
    try:
        yield statuses, broken
    finally:
        over.set()
        for thread in threads:
            thread.join(PATIENCE_S)


@pytest.fixture
def two(start: Start) -> Server:
    server = start(web_processes=2, workers=2, cache_bytes=0)
    until(lambda: both(server), "both listen")
    return server


def test_two_processes_give_the_same_bytes_and_the_metrics_of_both(two: Server) -> None:
    bodies = []
    for _ in range(30):
        found = two.post("/v1/tests/scores", SMALL).json()
        del found["runtime"]
        bodies.append(json.dumps(found))
    assert len(set(bodies)) == 1
    assert {line["process"] for line in requests(two)} == {0, 1}
    for _ in range(6):  # whoever is asked
        assert count(two, "exactperm_answers_total") == 30
        assert count(two, "exactperm_web_processes") == 2
        assert count(two, "exactperm_workers") == 4
        assert count(two, "exactperm_build_info") == 1


def test_a_killed_web_process_costs_its_own_connections_only(two: Server) -> None:
    victim = min(webs(two))
    orphans = children(victim)
    with load(two) as (statuses, broken):
        counted = count(two, "exactperm_answers_total")
        os.kill(victim, signal.SIGKILL)
        until(lambda: len(webs(two) - {victim}) == 2, "it is replaced")
        before = len(statuses)
        until(lambda: len(statuses) > before + 60, "answers come")
        assert len(broken) <= 6  # one for each client: what the dead one was answering
        assert set(statuses) == {200}
        assert count(two, "exactperm_answers_total") >= counted
    assert count(two, "exactperm_web_process_restarts_total", reason="died") == 1
    until(lambda: not any(map(lives, orphans)), "its workers have ended")


def test_a_hung_web_process_is_replaced(start: Start) -> None:
    server = start(web_processes=2, workers=2, liveness_stall_s=5)
    until(lambda: both(server), "both listen")
    hung = min(webs(server))
    os.kill(hung, signal.SIGSTOP)
    until(lambda: hung not in webs(server) and len(webs(server)) == 2, "it is replaced")
    assert server.post("/v1/tests/scores", SMALL).status_code == 200
    assert count(server, "exactperm_web_process_restarts_total", reason="hung") == 1


def test_a_drain_under_load_loses_no_request_and_leaves_no_process(two: Server) -> None:
    family = everything(two)
    assert len(family) == 1 + 2 * (1 + 1 + 2)
    with load(two) as (statuses, broken):
        os.killpg(two.process.pid, signal.SIGTERM)  # to the parent, and to all others besides
        assert two.process.wait(PATIENCE_S) == 0
    assert broken == []
    assert set(statuses) == {200}
    until(lambda: not any(map(lives, family)), "all have ended")


@pytest.mark.parametrize("signals", [(signal.SIGKILL,), (signal.SIGTERM, signal.SIGTERM)])
def test_all_end_with_the_parent_and_at_a_second_signal(
    start: Start, signals: tuple[signal.Signals, ...]
) -> None:
    server = start(web_processes=2, workers=2, shutdown_delay_s=600)
    until(lambda: both(server), "both listen")
    family = everything(server)
    *first, last = signals
    for one in first:
        server.process.send_signal(one)
        until(lambda: httpx.get(f"{server.url}/readyz").status_code == 503, "it drains")
    server.process.send_signal(last)
    server.process.wait(PATIENCE_S)
    until(lambda: not any(map(lives, family)), "all have ended")


def test_open_connections_are_counted_together(start: Start) -> None:
    server = start(web_processes=2, workers=2, max_connections=12, max_connections_per_address=24)
    until(lambda: both(server), "both listen")
    with ExitStack() as held:
        for _ in range(12):
            connection = held.enter_context(socket.create_connection(("127.0.0.1", server.port)))
            connection.sendall(head("GET /livez HTTP/1.1"))
            assert answer(connection).status == 200
        late = held.enter_context(socket.create_connection(("127.0.0.1", server.port)))
        late.sendall(head("GET /v1/meta HTTP/1.1"))
        assert answer(late).problem(503)["type"] == "/docs/problems#too-many-connections"
    until(lambda: httpx.get(f"{server.url}/v1/meta").status_code == 200, "there is room again")


def test_a_port_in_use_is_one_sentence(two: Server) -> None:
    environment = {**os.environ, "EXACTPERM_PORT": str(two.port), "EXACTPERM_WEB_PROCESSES": "2"}
    second = subprocess.run(
        [sys.executable, "-m", "exactperm"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert second.returncode == 3
    assert second.stderr.startswith(f"exactperm: 127.0.0.1:{two.port} is in use: ")
    assert second.stderr.count("\n") == 1
    assert two.post("/v1/tests/effects", LARGE).status_code == 200
