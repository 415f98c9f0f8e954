"""Pictures are drawn by workers: the web process never loads what draws."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.process.conftest import Server

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="needs /proc"),
]


def has_loaded(pid: int, library: str) -> bool:
    return f"/{library}/" in Path(f"/proc/{pid}/maps").read_text()


def test_the_web_process_never_loads_what_draws(start: Callable[..., Server]) -> None:
    server = start(workers=1)
    for query in ("?format=svg", "?format=png&theme=dark", "?format=html"):
        body = {"u": [1, 2, 3], "v": [0, 2, 1]}
        assert server.post(f"/v1/tests/scores{query}", body).status_code == 200
        assert server.post(f"/v1/gate{query}", {"kind": "scores", "request": body}).status_code == 200
    assert any(has_loaded(worker, "resvg_py") for worker in server.workers())
    assert not has_loaded(server.process.pid, "resvg_py")
    assert has_loaded(server.process.pid, "numpy")
