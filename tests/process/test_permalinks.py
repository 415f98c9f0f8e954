"""Permalinks of a real server: by the command line and the Python client, with a key that others do not have."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from exactperm.client import Client, NotFound, scores
from tests.process.conftest import PATIENCE_S, ROOT
from tests.process.job_servers import DIGESTS, KEYS, JobServer, serving

pytestmark = pytest.mark.process
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


def test_what_is_printed_is_kept_for_the_key_that_asked(tmp_path: Path) -> None:
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
