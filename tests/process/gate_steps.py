"""The action and the GitLab job, run as a runner runs them; and the part of their APIs that holds comments."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import yaml

ROOT = Path(__file__).parents[2]
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
PATIENCE_S = 120.0
TOKEN = "a-token"


def checkout(folder: Path) -> Path:
    """A checkout as the runner has it, with an environment that sees the libraries of the tests: nothing is downloaded."""
    for name in (".ci", "requirements"):
        shutil.copytree(ROOT / name, folder / name)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / ".venv"], check=True)
    (packages,) = (folder / ".venv" / "lib").glob("python3*/site-packages")
    paths = sysconfig.get_paths()
    (packages / "libraries.pth").write_text(
        "\n".join(dict.fromkeys((str(ROOT / "app"), paths["purelib"], paths["platlib"]))) + "\n"
    )
    return folder


def bash(script: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """A script as GitHub's runners run `shell: bash`."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("GATE_", "EXACTPERM_"))}
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", script],
        cwd=folder,
        env={**kept, **variables},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


def given(text: str, inputs: dict[str, str]) -> str:
    """`${{ inputs.x }}` and the token, which is all that the action asks for."""

    def value(found: re.Match[str]) -> str:
        return TOKEN if found[1] == "github.token" else inputs[found[1].removeprefix("inputs.")]

    return re.sub(r"\$\{\{ ([\w.-]+) \}\}", value, text)


@dataclass(frozen=True)
class Ran:
    """A job: the last exit status, the summary, the outputs, and the log."""

    status: int
    summary: str
    outputs: dict[str, str]
    log: str


def run_action(checkout_: Path, folder: Path, event: Any, api: str, **inputs: str) -> Ran:
    """The steps of action.yml, one after the other, until one fails; what is installed is not installed again."""
    files = {name: folder / f"{name}.file" for name in ("summary", "output", "event")}
    files["event"].write_text(json.dumps(event), encoding="utf-8")
    for name in ("summary", "output"):
        files[name].write_text("", encoding="utf-8")
    runner = {
        "GITHUB_ACTION_PATH": str(checkout_),
        "GITHUB_API_URL": api,
        "GITHUB_EVENT_PATH": str(files["event"]),
        "GITHUB_OUTPUT": str(files["output"]),
        "GITHUB_REPOSITORY": "us/ours",
        "GITHUB_STEP_SUMMARY": str(files["summary"]),
        "RUNNER_TEMP": str(folder),
    }
    defaults = {name: given(one.get("default", ""), {}) for name, one in ACTION["inputs"].items()}
    values = defaults | {name.replace("_", "-"): value for name, value in inputs.items()}
    assert values.keys() == defaults.keys()
    log, status = "", 0
    there = (checkout_ / ".venv" / "bin" / "exactperm").exists()
    for step in ACTION["runs"]["steps"][int(there) :]:
        variables = {name: given(text, values) for name, text in step.get("env", {}).items()}
        done = bash(step["run"], folder, **runner, **variables)
        log += done.stdout + done.stderr
        status = done.returncode
        if status:
            break
    steps = dict(line.split("=", 1) for line in files["output"].read_text(encoding="utf-8").splitlines())
    outputs = {
        name: steps.get(one["value"].removeprefix("${{ steps.gate.outputs.").removesuffix(" }}"), "")
        for name, one in ACTION["outputs"].items()
    }
    return Ran(status, files["summary"].read_text(encoding="utf-8"), outputs, log)


@dataclass
class Comments:
    """Comments of one pull request, in pages; `refuses` is the status of every write."""

    kept: list[dict[str, Any]] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    refuses: int | None = None
    url: str = ""

    def answer(self, method: str, path: str, body: bytes, headers: Any) -> tuple[int, Any]:
        """The status and the body of one answer."""
        parts = urlsplit(path)
        self.asked.append(f"{method} {path}")
        if parts.path == "/user":
            return 200, {"id": 7}
        if TOKEN not in (headers["authorization"] or headers["private-token"] or ""):
            return 401, {}
        if method == "GET":
            query = {name: int(values[0]) for name, values in parse_qs(parts.query).items()}
            start = (query["page"] - 1) * query["per_page"]
            return 200, self.kept[start : start + query["per_page"]]
        if self.refuses is not None:
            return self.refuses, {"message": "Resource not accessible by integration"}
        if method == "POST":
            self.kept.append(self.written(len(self.kept) + 1, json.loads(body)["body"]))
            return 201, self.kept[-1]
        (one,) = (one for one in self.kept if one["id"] == int(parts.path.rpartition("/")[2]))
        one["body"] = json.loads(body)["body"]
        return 200, one

    @staticmethod
    def written(number: int, body: str, kind: str = "Bot", association: str = "NONE") -> dict[str, Any]:
        return {
            "id": number,
            "body": body,
            "user": {"type": kind},
            "author": {"id": 7},
            "author_association": association,
        }


def serving(comments: Comments) -> ThreadingHTTPServer:
    """A server of its own thread; to be shut down."""

    def answer(asked: BaseHTTPRequestHandler) -> None:
        body = asked.rfile.read(int(asked.headers["content-length"] or 0))
        status, content = comments.answer(asked.command, asked.path, body, asked.headers)
        asked.send_response(status)
        asked.end_headers()
        asked.wfile.write(json.dumps(content).encode())

    methods = {f"do_{method}": answer for method in ("GET", "POST", "PATCH", "PUT")}
    Handler = type("Handler", (BaseHTTPRequestHandler,), {**methods, "log_message": lambda *_: None})
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    comments.url = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    return server
