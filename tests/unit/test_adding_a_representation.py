"""A representation is a renderer and a row of the registry: in a copy of the program both are added, and nothing else.

(With this test's kind of check and a row of the documentation that is four files; see CONTRIBUTING.md.)
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

APP = Path(__file__).parents[2] / "app"
RENDERER = '''"""A test as one line of the Test Anything Protocol."""

from __future__ import annotations

from ..answers.test import TestRecord


def tap(record: TestRecord, test_id: str) -> bytes:
    """ok where the difference is significant."""
    return f"1..1\\n{'ok' if record.significant else 'not ok'} 1 - {test_id}\\n".encode()
'''
IMPORT = "from .tap import tap\n"
ROW = """    Representation("tap", "text/x-tap", "TAP", (".tap",), test=lambda record, context: tap(record, context.id)),
"""
SCRIPT = """
import asyncio, json, sys
import httpx
from click.testing import CliRunner
import exactperm
from exactperm.cli.commands import cli
from exactperm.client import Client, scores
from exactperm.cli.local_transport import InProcess
from exactperm.main import create_app
from exactperm.settings import Settings

BODY = {"u": [1, 1, 1, 1, 1, 1, 1], "v": [0, 0, 0, 0, 0, 0, 0]}

async def served():
    service = create_app(Settings(workers=1))
    async with service.router.lifespan_context(service):
        async with httpx.AsyncClient(transport=httpx.ASGITransport(service), base_url="http://test") as client:
            by_query = await client.post("/v1/tests/scores?format=tap", json=BODY)
            by_accept = await client.post("/v1/tests/scores", json=BODY, headers={"accept": "text/x-tap"})
            of_gate = await client.post("/v1/gate?format=tap", json={"kind": "scores", "request": BODY})
            meta = (await client.get("/v1/meta")).json()
            document = (await client.get("/openapi.json")).json()
    return by_query, by_accept, of_gate, meta, document

by_query, by_accept, of_gate, meta, document = asyncio.run(served())
run = CliRunner().invoke
with open("scores.csv", "w") as file:
    file.write("id,u,v\\n" + "".join(f"{n},1,0\\n" for n in range(7)))
saved = run(cli, ["test", "scores.csv", "-o", "answer.tap"], standalone_mode=False).return_value
operation = document["paths"]["/v1/tests/scores"]["post"]
print(json.dumps({
    "file": exactperm.__file__,
    "by_query": [by_query.status_code, by_query.headers["content-type"], by_query.text],
    "by_accept": by_accept.text,
    "of_gate": of_gate.status_code,
    "meta": [one for one in meta["representations"] if one["name"] == "tap"],
    "produces": meta["media_types"]["produces"].get("tap"),
    "enum": "tap" in next(one for one in operation["parameters"] if one["name"] == "format")["schema"]["enum"],
    "content": operation["responses"]["200"]["content"].get("text/x-tap"),
    "typed": run(cli, ["test", "scores.csv", "--format", "tap"]).stdout,
    "saved": [saved, open("answer.tap").read()],
    "help": "|tap" in run(cli, ["test", "--help"]).stdout.replace("\\n", "").replace(" ", ""),
    "client": Client("http://here", transport=InProcess(Settings())).report(scores(BODY["u"], BODY["v"]), "tap"),
}))
"""


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program with one representation more."""
    root = tmp_path_factory.mktemp("copy")
    shutil.copytree(APP, root / "app", ignore=shutil.ignore_patterns("__pycache__"))
    registry = root / "app" / "exactperm" / "reports" / "representations.py"
    text = registry.read_text(encoding="utf-8")
    last = text.index(")  # fmt: skip\nBY_NAME")
    text = text[:last] + ROW + text[last:]
    registry.write_text(
        text.replace(
            "from .text import gate_line, line\n", IMPORT + "from .text import gate_line, line\n", 1
        ),
        encoding="utf-8",
    )
    (root / "app" / "exactperm" / "reports" / "tap.py").write_text(RENDERER, encoding="utf-8")
    return root


@pytest.mark.slow
def test_a_renderer_and_a_row_are_all_that_a_representation_needs(copy: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        cwd=copy,
        env={**os.environ, "PYTHONPATH": str(copy / "app")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    result = json.loads(run.stdout.splitlines()[-1])
    assert Path(result["file"]).is_relative_to(copy)
    status, content_type, text = result["by_query"]
    assert (status, content_type) == (200, "text/x-tap; charset=utf-8")
    plan, line = text.splitlines()
    assert plan == "1..1"
    assert line.startswith("ok 1 - t_")
    assert result["by_accept"] == result["client"] == text
    assert result["of_gate"] == 422  # this one is of tests only
    assert result["meta"] == [
        {
            "name": "tap",
            "title": "TAP",
            "suffix": ".tap",
            "of_test": True,
            "of_gate": False,
            "of_compare": False,
            "of_power": False,
        }
    ]
    assert result["produces"] == "text/x-tap"
    assert result["enum"]
    assert result["content"] == {"schema": {"type": "string"}}
    assert result["typed"].startswith("1..1\nok 1 - t_")
    assert result["saved"] == [0, result["typed"]]
    assert result["help"]
