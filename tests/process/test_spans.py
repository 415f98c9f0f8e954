"""Spans as a collector gets them, from a real server."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.process.conftest import PROC, Server

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(not PROC.is_dir(), reason="the states of processes are read in /proc"),
]

SMALL = {"u": [0.85, 0.90, 0.78, 0.92, 0.88], "v": [0.80, 0.85, 0.75, 0.88, 0.82]}
SECRET = "s3cr3t-s3cr3t"
TRACE_ID = "0af7651916cd43dd8448eb211c80319c"


@pytest.fixture
def collector() -> Iterator[tuple[str, list[tuple[str, bytes]]]]:
    """An OTLP collector that keeps what it is sent."""
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
def test_a_collector_is_told_what_was_asked_and_nothing_of_what_was_in_it(
    start: Callable[..., Server],
    collector: tuple[str, list[tuple[str, bytes]]],
    monkeypatch: pytest.MonkeyPatch,
    by: str,
) -> None:
    pytest.importorskip("opentelemetry.sdk.trace", reason="the extra otel is not installed")
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
