"""The locked requirements: what each file is for, and that all have the same versions."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import pytest

from exactperm import __version__
from exactperm.extras import EXTRAS

ROOT = Path(__file__).resolve().parents[2]
READERS = {"asr": "jiwer", "mt": "sacrebleu", "trec": "pytrec-eval-terrier"}
PIN = re.compile(r"^([A-Za-z0-9._-]+)==(\S+)", re.MULTILINE)


def pins(name: str) -> dict[str, str]:
    """Packages and versions; every one of them with hashes."""
    text = (ROOT / "requirements" / f"{name}.txt").read_text(encoding="utf-8")
    found = dict(PIN.findall(text))
    assert len(found) > 20
    for block in re.split(r"^(?=[A-Za-z0-9])", text, flags=re.MULTILINE)[1:]:
        assert "--hash=sha256:" in block
    return found


def test_main_is_part_of_serve_and_that_of_dev() -> None:
    assert pins("main").items() < pins("serve").items() < pins("dev").items()


def test_a_gate_in_a_pull_request_needs_the_readers_and_no_server() -> None:
    gate = pins("gate")
    assert gate.items() < pins("serve").items()
    assert set(READERS.values()) < gate.keys()
    assert not {"fastapi", "uvicorn", "resvg-py"} & gate.keys()


def test_serve_has_the_readers_of_files_and_main_has_none() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "optional-dependencies"
    ]
    for extra, package in READERS.items():
        assert re.match(r"[A-Za-z-]+", extras[extra][0])[0] == package  # type: ignore[index]
        assert package in pins("serve")
        assert package not in pins("main")


def test_the_version_is_the_same_everywhere() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["version"] == __version__
    assert f'image.version="{__version__}"' in (ROOT / "Dockerfile").read_text(encoding="utf-8")


def test_the_program_knows_every_extra() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "optional-dependencies"
    ]
    (everything,) = extras.pop("all")
    assert sorted(extras) == sorted(EXTRAS)
    assert everything == f"exactperm[{','.join(sorted(extras))}]"


def test_make_serve_installs_what_the_readme_says() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert re.search(r"^serve: \.venv/\.serve\b", makefile, re.MULTILINE)
    assert re.search(r"^\.venv/\.serve: requirements/serve\.txt\b", makefile, re.MULTILINE)
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").split("\n")
    assert {"!requirements/main.txt", "!requirements/serve.txt"} <= set(ignored)


@pytest.mark.slow
def test_no_more_of_scipy_is_used_than_the_image_keeps() -> None:
    """The Dockerfile deletes the rest: another import would break the image and nothing else."""
    kept = set(re.findall(r"! -name (\w+)", (ROOT / "Dockerfile").read_text(encoding="utf-8")))
    for path in (ROOT / "app" / "exactperm").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module == "scipy":
                assert {name.name for name in node.names} <= kept, path
            elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("scipy."):
                assert (node.module or "").split(".")[1] in kept, path
            elif isinstance(node, ast.Import):
                assert not [name for name in node.names if name.name.startswith("scipy")], path
