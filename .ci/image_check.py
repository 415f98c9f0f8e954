"""Check that the trimmed image still works: `python image_check.py EXAMPLES` starts the service, sends requests of every
kind, requests every representation, and runs the command line.

It runs while the image is built, after unused parts of libraries have been deleted: if something needs
them, the build fails. Warnings are failures, including logged ones.
"""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import httpx

import exactperm
from exactperm.extras import EXTRAS, is_installed
from exactperm.reports.picture.canvas import Theme
from exactperm.reports.representations import BY_NAME
from exactperm.service.kinds import KINDS, Kind

START_S = 60.0
SCORES = {
    "u": [0.85, 0.90, 0.78, 0.92, 0.88],
    "v": [0.80, 0.85, 0.75, 0.88, 0.82],
    "confidence_level": 0.95,
}
FILES = {
    "csv": {"file": "scores.csv"},
    "jsonl": {"u": "u.jsonl", "v": "v.jsonl"},
    "evalsig": {"u": "u.runframe.json", "v": "v.runframe.json"},
    "every-eval-ever": {"u": "u.eee.jsonl", "v": "v.eee.jsonl"},
}
WARNINGS = ('"level":"warning"', '"level":"error"', '"level":"critical"', "Traceback", "Warning")
NEVER = {"pytest", "mcp_types"}  # requirements of tools outside the image; mcp includes the second
OPTIONAL = "not_installed"  # the code of a statistic whose library is not in the image


def import_everything() -> None:
    """Import every module of the service, except the one that starts it and those with missing extras."""
    absent = NEVER | {
        module.partition(".")[0]
        for name, extra in EXTRAS.items()
        if not is_installed(name)
        for module in extra.modules
    }
    for module in pkgutil.walk_packages(exactperm.__path__, "exactperm."):
        if module.name.endswith("__main__"):
            continue
        try:
            importlib.import_module(module.name)
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] not in absent:
                raise


def examples(folder: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the path and content of a request for each example, and for each format of files."""
    for path in sorted(folder.glob("*.json")) + sorted(folder.glob("small/*.json")):
        yield f"/v1/tests/{path.name.partition('-')[0]}", {"json": json.loads(path.read_bytes())}
    for path in sorted(folder.glob("*.csv")):
        yield "/v1/tests/scores", {"content": path.read_bytes(), "headers": {"content-type": "text/csv"}}
    for name, files in FILES.items():
        parts = {part: (file, (folder / "files" / file).read_bytes()) for part, file in files.items()}
        yield "/v1/tests/files", {"files": parts, "data": {"format": name}}


def representations() -> Iterator[tuple[str, dict[str, Any], str]]:
    """Yield path, content and expected media type of requests for every representation of a test, a plan and a gate."""
    request = {"kind": "scores", "request": SCORES}
    kinds: tuple[tuple[Kind, str, dict[str, Any]], ...] = (
        ("scores", "tests/scores", SCORES),
        ("plan", "plan", request),
        ("gate", "gate", {**request, "margin": 0.01}),
    )
    for kind, path, body in kinds:
        for name in KINDS[kind].offered:
            for theme in get_args(Theme) if BY_NAME[name].is_themed else ("",):
                query = f"format={name}" + (f"&theme={theme}" if theme else "")
                yield f"/v1/{path}?{query}", {"json": body}, BY_NAME[name].media_type


def ask(client: httpx.Client, folder: Path) -> int:
    """Send all requests; return the number of answers."""
    answered = 0
    for path in ("/readyz", "/v1/meta", "/openapi.json", "/docs", "/docs/guide"):
        client.get(path).raise_for_status()
    for path, content in examples(folder):
        answer = client.post(path, **content)
        if answer.status_code != httpx.codes.OK and OPTIONAL not in answer.text:
            raise SystemExit(f"{path}: {answer.status_code} {answer.text}")
        answered += 1
    for path, content, media in representations():
        answer = client.post(path, **content)
        if answer.status_code != httpx.codes.OK or not answer.headers["content-type"].startswith(media):
            raise SystemExit(f"{path}: {answer.status_code} {answer.text}")
        answered += 1
    return answered


def run(folder: Path) -> None:
    """Run the command line in another folder."""
    for arguments in (["version"], ["test", "files/scores.csv", "--format", "text"]):
        subprocess.run(["exactperm", *arguments], cwd=folder, check=True)  # noqa: S603, S607  (the image's)


def wait(port: int, service: subprocess.Popen[str]) -> None:
    """Wait until the service listens."""
    end = time.monotonic() + START_S
    while time.monotonic() < end and service.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return


def main() -> None:
    """Import modules, start the service, send requests, stop, and check the log."""
    import_everything()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    os.environ |= {"EXACTPERM_PORT": str(port), "PYTHONWARNINGS": "error"}
    service = subprocess.Popen(
        [sys.executable, "-m", "exactperm"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        wait(port, service)
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=START_S, trust_env=False) as client:
            answered = ask(client, Path(sys.argv[1]))
    finally:
        service.terminate()
        log = service.communicate(timeout=START_S)[0]
    run(Path(sys.argv[1]))
    if service.returncode or any(word in log for word in WARNINGS):
        raise SystemExit(log)
    print(f"{answered} requests answered")


if __name__ == "__main__":
    main()
