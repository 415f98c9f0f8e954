"""The client against a real server: over a socket, with many threads, when it is full or gone; and permalinks."""

import asyncio
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from exactperm.client import (
    AsyncClient,
    Client,
    DeadlineExceeded,
    NoAnswer,
    NotFound,
    Retries,
    Unavailable,
    scores,
)
from tests.process.conftest import PATIENCE_S, ROOT
from tests.process.job_servers import DIGESTS, KEYS, JobServer, serving

DATA = Path(__file__).parents[1] / "data"
U, V = np.array([0.85, 0.90, 0.78, 0.92, 0.88]), np.array([0.80, 0.85, 0.75, 0.88, 0.82])
FILES: dict[str, Any] = {
    "u": DATA / "conllu/crf.conllu",
    "v": DATA / "conllu/perceptron.conllu",
    "gold": DATA / "conllu/gold.conllu",
}


def slow(client: Client, **options: Any) -> None:
    """A test that takes several seconds of one worker."""
    numbers = np.random.default_rng(0).integers(0, 2000, (9000, 2))
    client.scores(numbers, method="dp", **options)


def until_full(client: Client) -> Unavailable:
    """Ask for long tests, no two of them the same, until the one place for them is taken."""
    for number in range(1, 1000):
        try:
            slow(client, alpha=number / 1000, timeout_s=0.3)
        except DeadlineExceeded:
            continue
        except Unavailable as error:
            return error
    raise AssertionError("the worker was never busy")


def test_a_real_server_is_asked_and_answers(start: Callable[..., Any]) -> None:
    server = start(workers=1)
    with Client(server.url, retries=0) as client:
        assert client.scores(U, V).p_value == 0.0625
        found = client.files(**FILES, statistic="las", clusters="document")
        assert found.reading is not None
        assert (found.reading.format, found.items.clusters) == ("conllu", 3)
        assert client.gate(scores(U, V)).passed
        assert client.meta().limits["workers"] == 1
        with ThreadPoolExecutor(8) as threads:
            many = list(threads.map(lambda seed: client.scores(U, V, seed=seed).p_value, range(40)))
    assert many == [0.0625] * 40

    async def ask() -> float:
        async with AsyncClient(server.url, retries=0) as client:
            return (await client.scores(U, V)).p_value

    assert asyncio.run(ask()) == 0.0625


def test_a_server_that_was_down_is_reached_when_it_is_back(start: Callable[..., Any]) -> None:
    server = start(workers=1)
    waits: list[float] = []
    with Client(
        "http://127.0.0.1:9", retries=Retries(attempts=3, chance=lambda: 0.0), sleep=waits.append
    ) as client:
        client.url = client.url.copy_with(port=server.port)
        assert client.scores(U, V).p_value == 0.0625
        server.stop()
        with pytest.raises(NoAnswer, match="Is the server running"):
            client.scores(U, V)
    assert waits == [0.125, 0.25]


def test_a_full_server_is_asked_again_after_the_time_that_it_says(start: Callable[..., Any]) -> None:
    server = start(workers=1, queue_depth=0, inplace_share=0, most_over_deadline=1e9)
    waits: list[float] = []
    with (
        Client(server.url, retries=100, sleep=lambda _: time.sleep(0.01)) as busy,
        Client(server.url, retries=0) as impatient,
        Client(server.url, retries=Retries(attempts=3, chance=lambda: 0.0), sleep=waits.append) as client,
        ThreadPoolExecutor(1) as thread,
    ):
        running = thread.submit(slow, busy, timeout_s=4.0)
        said = until_full(impatient).retry_after_s
        assert said is not None
        assert said >= 1.0
        with pytest.raises(Unavailable, match="Try again in "):
            slow(client, alpha=0.9999)
        assert len(waits) == 2
        assert min(waits) >= 1.0
        with pytest.raises(DeadlineExceeded, match="larger timeout_s"):
            running.result()


TABLE = "id,A,B\n" + "".join(f"i{n},{1 - n % 3 // 2},{n % 2}\n" for n in range(12))
COMMANDS: dict[str, tuple[list[str], int]] = {
    "test": (["test", "-", "-q"], 0),
    "page": (["test", "-", "-q", "-f", "html"], 0),
    "failed gate": (["gate", "-", "-q", "--system-u", "B", "--system-v", "A", "--alpha", "0.5"], 1),
    "board": (["compare", "-", "-q", "-f", "csv"], 0),
    "power": (["power", "-q", "-f", "json", "--solve", "n", "--effect", "0.05", "--sd", "0.3"], 0),
    "batch": (["batch", "-"], 0),
}
LINE = '{"kind": "effects", "request": {"stay": [3, -1, 0, 2]}}\n'


def typed(server: JobServer, *command: str) -> subprocess.CompletedProcess[bytes]:
    arguments = [*command, "--url", server.url, "--api-key", KEYS["a"], "--store"]
    text = LINE if command[0] == "batch" else TABLE
    return subprocess.run(
        [sys.executable, "-m", "exactperm", *arguments],
        cwd=ROOT,
        input=text.encode(),
        capture_output=True,
        timeout=PATIENCE_S,
        check=False,
    )


def get(place: str, key: str) -> httpx.Response:
    return httpx.get(place, headers={"authorization": f"Bearer {KEYS[key]}"}, timeout=PATIENCE_S)


def test_printed_permalinks_open_with_the_same_key(tmp_path: Path) -> None:
    with serving(tmp_path, api_key_digests=DIGESTS, jobs_embedded_worker=False) as server:
        places = set()
        for name, (command, status) in COMMANDS.items():
            said = typed(server, *command)
            assert said.returncode == status, (name, said.stderr)
            place = said.stderr.decode().splitlines()[-1].removeprefix("exactperm: kept at ")
            assert place.startswith(f"{server.url}/v1/results/r_"), (name, said.stderr)
            assert get(place, "a").content == said.stdout, name
            assert get(place, "b").status_code == 404, name
            places.add(place)
        assert len(places) == len(COMMANDS)
        with Client(server.url, api_key=KEYS["a"], retries=0) as client:
            result = client.scores([1, 0, 1, 1], [0, 0, 1, 0], store=True)
            again: Any = client.stored(str(result.permalink))
            assert (again.raw, again.permalink) == (result.raw, result.permalink)
            page = client.keep(scores([1, 0, 1, 1], [0, 0, 1, 0]), "html")
            assert get(page, "a").headers["content-type"].startswith("text/html")
        with (
            Client(server.url, api_key=KEYS["b"], retries=0) as other,
            pytest.raises(NotFound, match="another API key"),
        ):
            other.stored(str(result.permalink))
