"""Copies of the code to which a test adds something, as a contributor would, and runs it in a process of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def copied(folder: Path, edits: dict[str, list[tuple[str, str]]]) -> Path:
    """A copy of `app` with some texts replaced; each must be in its file once."""
    shutil.copytree(ROOT / "app", folder / "app", ignore=shutil.ignore_patterns("__pycache__"))
    for name, replacements in edits.items():
        path = folder / name
        text = path.read_text(encoding="utf-8")
        for old, new in replacements:
            assert text.count(old) == 1, (name, old)
            text = text.replace(old, new)
        path.write_text(text, encoding="utf-8")
    return folder


def run(folder: Path, code: str, **environment: str) -> str:
    """What a program prints, run with the copy as its code."""
    done = subprocess.run(
        [sys.executable, "-B", "-c", code],
        cwd=folder,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(folder / "app"), **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
