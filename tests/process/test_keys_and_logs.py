"""Keys, origins, log lines and spans of a real server."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Literal

import httpx
import pytest

from exactperm.ops.keys import new_key
from tests.process.conftest import NEEDS_PROC, PATIENCE_S, ROOT, Server, until
from tests.process.wires import head, sent

pytestmark = NEEDS_PROC

SMALL = {"u": [0.85, 0.90, 0.78, 0.92, 0.88], "v": [0.80, 0.85, 0.75, 0.88, 0.82]}
LARGE = {"stay": [1, -1, 2, 3] * 50_000}
SECRET = "s3cr3t-s3cr3t"
TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

Start = Callable[..., Server]


def lines(server: Server) -> list[dict[str, Any]]:
    """Every line of the log; each must be one JSON object."""
    return [json.loads(line) for line in server.log.read_text().splitlines()]


def started(**environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "exactperm"],
        cwd=ROOT,
        env={**os.environ, "EXACTPERM_PORT": "0", **environment},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org", ""])
def test_it_does_not_start_where_others_reach_it_without_keys_when_it_must_not(host: str) -> None:
    ended = started(EXACTPERM_HOST=host, EXACTPERM_ALLOW_ANONYMOUS="false")
    assert ended.returncode == 2
    assert "EXACTPERM_ALLOW_ANONYMOUS" in ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize("host", ["0.0.0.0", "127.0.0.1"])
@pytest.mark.parametrize("digests", ["", "ab" * 32])
def test_it_warns_where_others_reach_it_without_keys_and_only_there(
    start: Start, host: str, digests: str
) -> None:
    server = start(host=host, workers=1, api_key_digests=digests)
    assert httpx.get(f"{server.url}/livez").status_code == 200
    warnings = [line for line in lines(server) if line["level"] == "warning"]
    assert len(warnings) == (host == "0.0.0.0" and not digests)
    assert all("EXACTPERM_API_KEY_DIGESTS" in line["event"] for line in warnings)


def test_an_invalid_digest_is_refused_without_being_repeated() -> None:
    ended = started(EXACTPERM_API_KEY_DIGESTS=SECRET)
    assert ended.returncode != 0
    assert SECRET not in ended.stdout + ended.stderr


def test_a_key_is_made_and_opens_the_service_and_is_never_logged(start: Start) -> None:
    made = subprocess.run(
        [sys.executable, "-m", "exactperm.ops.keys"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    key = made.splitlines()[0].split()[-1]
    digest = made.splitlines()[1].partition("=")[2]
    server = start(workers=1, api_key_digests=f"{new_key()[1]},{digest}")
    refused = sent(server, head("GET /metrics HTTP/1.1"))
    refused.problem(401)
    assert refused.headers["www-authenticate"] == 'bearer realm="exactperm"'
    assert server.post("/v1/tests/scores", SMALL).status_code == 401
    bearer = {"authorization": f"Bearer {key}"}
    assert server.post("/v1/tests/scores", SMALL, headers=bearer).json()["p_value"] == 0.0625
    server.post("/v1/tests/scores", SMALL, headers={"authorization": f"Bearer {key}x"})
    server.stop()
    log = server.log.read_text()
    assert key not in log
    assert digest not in log


def test_every_request_is_one_line_without_its_data(start: Start) -> None:
    server = start(workers=1)
    marked = {"x-request-id": "mine-1", "traceparent": TRACE}
    server.post(f"/v1/tests/scores?name_u={SECRET}", SMALL, headers=marked)
    server.post(f"/v1/tests/scores?{SECRET}={SECRET}", {SECRET: [SECRET]})
    server.post("/v1/tests/effects", LARGE)
    httpx.get(
        f"{server.url}/{SECRET}/{SECRET}?{SECRET}", headers=[(b"x-request-id", f"{SECRET}\u00e9".encode())]
    )
    httpx.request(SECRET.upper(), f"{server.url}/livez")
    httpx.get(f"{server.url}/page/{SECRET}")
    sent(server, f"GET /{SECRET} NOHTTP\r\n\r\n".encode())
    server.stop()
    assert SECRET.lower() not in server.log.read_text().lower()
    said = lines(server)
    assert all({"time", "level", "event"} <= line.keys() for line in said)
    requests = [line for line in said if line["event"] == "request" and line["route"] != "/readyz"]
    assert [(line["http_method"], line["route"], line["status"]) for line in requests] == [
        ("POST", "/v1/tests/scores", requests[0]["status"]),
        ("POST", "/v1/tests/scores", 422),
        ("POST", "/v1/tests/effects", 200),
        ("GET", "unmatched", 404),
        ("other", "/livez", 405),
        ("GET", "/page", 404),
    ]
    first, _, third = requests[:3]
    assert (first["request_id"], first["trace_id"]) == ("mine-1", TRACE.split("-")[1])
    assert third["n"] == 200_000
    assert third["method"] in {"fft", "dp"}
    assert third["in_bytes"] == len(json.dumps(LARGE, separators=(",", ":")))
    assert third["total_ms"] >= third["queue_ms"] + third["compute_ms"] > 0
    (refusal,) = (line for line in said if line["event"] == "refused")
    assert (refusal["status"], refusal["reason"]) == (400, "framing")


def test_people_may_read_the_log_too(start: Start) -> None:
    server = start(workers=1, log_format="console")
    server.post("/v1/tests/scores", SMALL)
    until(lambda: "route=/v1/tests/scores" in server.log.read_text(), "the line is there")
    assert "\x1b" not in server.log.read_text()


def test_no_line_for_requests_when_none_is_wanted(start: Start) -> None:
    server = start(workers=1, access_log=False)
    server.post("/v1/tests/scores", SMALL)
    server.stop()
    assert not [line for line in lines(server) if line["event"] == "request"]


def of_a_failing_worker(**settings: object) -> str:
    """The log of a service with an unexpected failure in a worker; SECRET is in the exception."""
    script = f"""
import asyncio
from exactperm.main import create_app
from exactperm.settings import Settings
from tests.process import executors

async def main():
    app = create_app(Settings(workers=1, **{settings!r}))
    async with app.router.lifespan_context(app):
        await app.state.executor.run(executors.fail_unforeseen, "{SECRET}", b"", 60.0)

if __name__ == "__main__":
    asyncio.run(main())
"""
    ended = subprocess.run(
        [sys.executable, "-c", script],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=2 * PATIENCE_S,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr == ""
    return ended.stdout


@pytest.mark.parametrize("form", ["json", "console"])
def test_a_worker_logs_as_the_web_process_does(form: Literal["json", "console"]) -> None:
    """An unexpected failure in a worker is logged on the same stream, in the same form, with its stack and no values."""
    log = of_a_failing_worker(log_format=form)
    (line,) = (line for line in log.splitlines() if "unexpected" in line)
    assert "ValueError" in line
    assert "executors.py:" in line
    assert ":fail_unforeseen" in line
    assert SECRET not in log
    if form == "json":
        said = json.loads(line)
        assert said["level"] == "error"
        assert [frame.rpartition(":")[2] for frame in said["frames"]] == [
            "fail_unforeseen",
            "raise_value_error",
        ]


def test_tracebacks_are_logged_by_workers_too_where_they_are_wanted() -> None:
    (line,) = (line for line in of_a_failing_worker(log_tracebacks=True).splitlines() if "unexpected" in line)
    said = json.loads(line)
    assert said["traceback"].startswith("Traceback (most recent call last)")
    assert SECRET in said["traceback"]


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "example.org", ""])
def test_tracebacks_are_refused_where_others_reach_the_service(host: str) -> None:
    ended = started(EXACTPERM_HOST=host, EXACTPERM_LOG_TRACEBACKS="true", EXACTPERM_API_KEY_DIGESTS="ab" * 32)
    assert ended.returncode == 2
    assert "EXACTPERM_LOG_TRACEBACKS" in ended.stderr
    assert "EXACTPERM_HOST" in ended.stderr


@pytest.mark.parametrize("closed", ["1>&-", "2>&-", "0<&- 1>&- 2>&-"])
def test_it_serves_though_its_streams_are_closed(closed: str, tmp_path: Path) -> None:
    server = Server(tmp_path / "log", before=["sh", "-c", f'exec "$@" {closed}', "sh"], workers=1)
    try:
        until(server.ready, "the server is ready")
        assert server.post("/v1/tests/effects", LARGE).status_code == 200
        assert server.stop() == 0
    finally:
        server.process.kill()
        server.process.wait()
    assert "Traceback" not in server.log.read_text()


TRACE_ID = "0af7651916cd43dd8448eb211c80319c"


@pytest.fixture
def collector() -> Iterator[tuple[str, list[tuple[str, bytes]]]]:
    """An OTLP collector that records its input."""
    kept: list[tuple[str, bytes]] = []

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            kept.append((self.path, self.rfile.read(int(self.headers["content-length"]))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Collector) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", kept
        server.shutdown()


@pytest.mark.parametrize("by", ["EXACTPERM_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"])
def test_a_collector_gets_spans_without_request_data(
    start: Callable[..., Server],
    collector: tuple[str, list[tuple[str, bytes]]],
    monkeypatch: pytest.MonkeyPatch,
    by: str,
) -> None:
    endpoint, kept = collector
    monkeypatch.setenv(by, endpoint)
    monkeypatch.setenv("FASTAPI_OTEL_AUTO_CONFIGURE", "true")  # FastAPI's own would tell query strings
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "none")
    server = start(workers=1)
    traced = {"traceparent": f"00-{TRACE_ID}-b7ad6b7169203331-01"}
    server.post(f"/v1/tests/scores?name_u={SECRET}", SMALL, headers=traced)
    server.post("/v1/tests/scores", SMALL, headers=traced)
    server.stop()
    assert {path for path, _ in kept} == {"/v1/traces"}
    sent = b"".join(body for _, body in kept)
    assert b"POST /v1/tests/scores" in sent
    assert bytes.fromhex(TRACE_ID) in sent
    assert b"enumeration" in sent
    assert SECRET.encode() not in sent
