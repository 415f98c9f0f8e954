"""Run a real server for measurements: `python -m exactperm` in a separate process, on a free loopback port."""

import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import httpx

PROJECT_ROOT = Path(__file__).resolve().parent.parent
READY_WITHIN_S = 60.0
STOPPED_WITHIN_S = 15.0
POLL_S = 0.05
LOOPBACK = "127.0.0.1"


@contextmanager
def running_server() -> Iterator[str]:
    """Start the server, wait until it is ready, yield its base URL, and stop it with SIGTERM."""
    with running_process({}) as (url, _):
        yield url


@contextmanager
def running_process(settings: Mapping[str, object], root: Path = PROJECT_ROOT) -> Iterator[tuple[str, int]]:
    """Start a server with settings (`workers=2`); yield the URL and the id of the web process.

    `root` names another checkout, whose .venv is used if there is one. Raises RuntimeError with the end of the server's log if it dies
    or is not ready in time.
    """
    port = free_port()
    chosen = {f"EXACTPERM_{name.upper()}": str(value) for name, value in settings.items()}
    environment = {**os.environ, **chosen, "EXACTPERM_HOST": LOOPBACK, "EXACTPERM_PORT": str(port)}
    with tempfile.TemporaryFile() as log:
        interpreter = root / ".venv" / "bin" / "python"
        command = [str(interpreter) if interpreter.exists() else sys.executable, "-m", "exactperm"]
        process = subprocess.Popen(command, cwd=root, env=environment, stdout=log, stderr=subprocess.STDOUT)
        try:
            url = f"http://{LOOPBACK}:{port}"
            if not becomes_ready(url, process):
                log.seek(0)
                raise RuntimeError("the server did not become ready:\n" + log.read().decode()[-2000:])
            yield url, process.pid
        finally:
            stop(process)


def becomes_ready(url: str, process: subprocess.Popen[bytes]) -> bool:
    """Wait for a 200 of `/readyz`; False if the process ends or does not become ready in time."""
    deadline = time.monotonic() + READY_WITHIN_S
    while time.monotonic() < deadline and process.poll() is None:
        try:
            if httpx.get(f"{url}/readyz", timeout=1.0).status_code == httpx.codes.OK:
                return True
        except httpx.TransportError:
            pass
        time.sleep(POLL_S)
    return False


def stop(process: subprocess.Popen[bytes]) -> None:
    """Send SIGTERM, and SIGKILL if that fails."""
    process.terminate()
    try:
        process.wait(STOPPED_WITHIN_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def free_port() -> int:
    """A free port of the loopback."""
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def running_echo(processes: int = 1) -> Iterator[str]:
    """Run the echo application in separate processes, all on one port."""
    port = free_port()
    command = [sys.executable, "-m", "loadtest.echo", str(port), str(processes)]
    process = subprocess.Popen(command, cwd=PROJECT_ROOT, env=dict(os.environ))
    try:
        url = f"http://{LOOPBACK}:{port}"
        if not becomes_ready(url, process):
            raise RuntimeError("the echo did not become ready")
        yield url
    finally:
        stop(process)
