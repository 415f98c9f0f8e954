"""`--store`: the command line has a server keep an answer, and says where; without a server it says what to do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest

from exactperm import client as clients
from exactperm.cli import run as asking
from exactperm.cli.local_transport import InProcess
from exactperm.client import Client
from exactperm.settings import Settings
from tests.unit.cli_asking import run, scores, turned

__all__ = ["scores", "turned"]  # fixtures
NAME = "r_0123456789abcdef0123456789abcdef"
PLACE = f"https://there/v1/results/{NAME}"
BATCH = b'{"kind": "effects", "request": {"stay": [3, -1, 0, 2]}}\n'
COMMANDS = [
    ["test"],
    ["gate"],
    ["compare", "--systems", "u,v"],
    ["power", "--solve", "n", "--effect", "0.05", "--sd", "0.3"],
    ["batch"],
]


class Keeping(InProcess):
    """A server that says that it keeps what is to be kept, as the service does (tests/api/test_store.py)."""

    def __init__(self, *, tells: bool) -> None:
        super().__init__(Settings())
        self.tells = tells
        self.asked: list[str] = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        query = httpx.QueryParams(request.url.query)
        self.asked += query.get_list("store")
        request.url = request.url.copy_with(params=query.remove("store"))
        response = super().handle_request(request)
        if self.tells and self.asked:
            response.headers["content-location"] = f"/v1/results/{NAME}"
        return response


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Keeping:
    keeping = Keeping(tells=True)

    def client(url: str, **_: Any) -> Client:
        return Client(url, transport=keeping, retries=0)

    monkeypatch.setattr(asking, "Client", client)
    monkeypatch.setattr(clients, "Client", client)
    return keeping


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_an_answer_is_kept_where_the_last_line_of_standard_error_says(
    server: Keeping, scores: str, command: list[str]
) -> None:
    files = [] if command[0] == "power" else ["-"] if command[0] == "batch" else [scores]
    kept = run(*command, *files, "--url", "https://there", "--store", stdin=BATCH)
    assert kept.exit_code == 0, kept.stderr
    assert kept.stderr.splitlines()[-1] == f"exactperm: kept at {PLACE}"
    assert server.asked == ["1"]
    plain = run(*command, *files, "--url", "https://there", stdin=BATCH)
    assert server.asked == ["1"]
    assert len(plain.stdout.splitlines()) == len(kept.stdout.splitlines())


def test_a_failed_gate_and_a_report_in_a_file_are_kept(server: Keeping, turned: str, tmp_path: Path) -> None:
    report = str(tmp_path / "gate.html")
    failed = run("gate", turned, "-o", report, "--store", "--url", "https://there")
    assert (failed.exit_code, failed.stdout) == (1, "")
    verdict, kept = failed.stderr.splitlines()
    assert verdict.endswith(f"; see {report}")
    assert kept == f"exactperm: kept at {PLACE}"
    assert server.asked == ["1"]


def test_a_server_that_does_not_say_where_is_told_of(server: Keeping, scores: str) -> None:
    server.tells = False
    said = run("test", scores, "--store", "--url", "https://there")
    assert said.exit_code == 0
    assert "does not say where" in said.stderr
    assert "does not say" not in run("test", scores, "--url", "https://there").stderr


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_nothing_is_kept_without_a_server(scores: str, command: list[str]) -> None:
    files = [] if command[0] == "power" else [scores]
    refused = run(*command, *files, "--store")
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "--store is for a server: name it with --url, or in EXACTPERM_URL" in refused.stderr


def test_a_plan_is_not_kept(scores: str) -> None:
    refused = run("plan", scores, "--store")
    assert refused.exit_code == 2
    assert "--store" in refused.stderr
