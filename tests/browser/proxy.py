"""A proxy that serves the service below a path that the service does not know."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx

from tests.process.conftest import PATIENCE_S

PREFIX = "/tools/exactperm"
ASKED = ("content-type", "accept", "authorization")
ANSWERED = ("content-type", "content-security-policy", "content-location")


@contextmanager
def proxied(url: str) -> Iterator[str]:
    """The address of the page behind such a proxy."""

    class Proxy(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._forward(None)

        def do_POST(self) -> None:
            self._forward(self.rfile.read(int(self.headers["content-length"])))

        def _forward(self, body: bytes | None) -> None:
            if not self.path.startswith(f"{PREFIX}/"):
                self.send_error(404)
                return
            kept = {name: self.headers[name] for name in ASKED if name in self.headers}
            answer = httpx.request(
                self.command,
                url + self.path.removeprefix(PREFIX),
                content=body,
                headers=kept,
                timeout=PATIENCE_S,
            )
            self.send_response(answer.status_code)
            for name in ANSWERED:
                if name in answer.headers:
                    self.send_header(name, answer.headers[name])
            self.send_header("content-length", str(len(answer.content)))
            self.end_headers()
            self.wfile.write(answer.content)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # the base class's name
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Proxy) as proxy:
        threading.Thread(target=proxy.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{proxy.server_port}{PREFIX}/"
        proxy.shutdown()
