"""Count the files of exactperm that a request passes through in the pipeline, by a profiler:

`python -m loadtest.hops`. Files outside the pipeline (connection, middleware, endpoint, worker) are not counted: about 18 in place,
about 30 with a worker.
"""

import json
import sys
import time
from pathlib import Path
from types import FrameType
from typing import Any

from exactperm.execution.ipc import Unbounded
from exactperm.service.kinds import JSON, MULTIPART, Kind
from exactperm.service.messages import Body, Job, limits_of
from exactperm.service.pipeline import handle
from exactperm.settings import Settings
from loadtest.table import Table

ROOT = Path(__file__).parents[1]
APP = str(ROOT / "app" / "exactperm")
BOUNDARY = "boundary"
SMALL = {"u": [1, 0, 1, 2, 5], "v": [0, 0, 1, 1, 2]}


def form(parts: dict[str, bytes]) -> bytes:
    """A multipart body of files."""
    pieces = [
        f'--{BOUNDARY}\r\ncontent-disposition: form-data; name="{name}"; filename="{name}"\r\n\r\n'.encode()
        + content
        + b"\r\n"
        for name, content in parts.items()
    ]
    return b"".join(pieces) + f"--{BOUNDARY}--\r\n".encode()


def requests() -> dict[str, tuple[Kind, str, bytes]]:
    """The requests of the table, by name."""
    files = ROOT / "openapi" / "examples" / "files"
    pair = {name: (files / f"{name}.jsonl").read_bytes() for name in ("u", "v")}
    large = {"u": [1, 0] * 500_000, "v": [0, 1] * 500_000}
    gate = {"kind": "scores", "request": SMALL, "higher_is_better": True}
    return {
        "scores, 5 items": ("scores", JSON, json.dumps(SMALL).encode()),
        "scores, 1,000,000 items": ("scores", JSON, json.dumps(large).encode()),
        "files, csv": ("files", MULTIPART, form({"file": (files / "scores.csv").read_bytes()})),
        "gate, JSON": ("gate", JSON, json.dumps(gate).encode()),
        "gate, files": ("gate", MULTIPART, form(pair)),
    }


def passed(kind: Kind, media_type: str, body: bytes) -> tuple[set[str], int, int]:
    """Count the files, the changes of file, and the calls of one request whose kind has run before."""
    now = time.monotonic()
    boundary = BOUNDARY if media_type == MULTIPART else ""
    job = Job(kind, Body(media_type, boundary=boundary), (), "json", "hops", now, now, limits_of(Settings()))
    first = handle(job, body, Unbounded())
    assert first.status in {200, 409}, first.body
    files: set[str] = set()
    changes = calls = 0
    last = ""

    def note(frame: FrameType, event: str, _: Any) -> None:
        nonlocal changes, calls, last
        name = frame.f_code.co_filename
        if event == "call" and name.startswith(APP):
            files.add(name)
            calls += 1
            changes += name != last
            last = name

    sys.setprofile(note)
    try:
        handle(job, body, Unbounded())
    finally:
        sys.setprofile(None)
    return files, changes, calls


def main() -> None:
    """Print the table."""
    rows = []
    for name, (kind, media_type, body) in requests().items():
        files, changes, calls = passed(kind, media_type, body)
        rows.append((name, str(len(files)), str(changes), str(calls)))
    header = ("request", "files", "changes of file", "calls")
    print(Table("Files that a request passes through in the pipeline", header, rows).text())


if __name__ == "__main__":
    main()
