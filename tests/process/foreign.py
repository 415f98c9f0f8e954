"""Clients in other languages: where their interpreters are, servers that they may ask, and examples of the guide."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.docs_pages import ROOT, read
from tests.process.conftest import ROOMY
from tests.process.job_servers import DIGESTS

CLIENTS = ROOT / "openapi/clients"
PATIENCE_S = 180.0
# Jobs and keys; a limit of requests would be tested elsewhere.
SERVED: dict[str, Any] = {**ROOMY, "api_key_digests": DIGESTS}


def node() -> str:
    """The path of node, which .ci/clients may have put into the virtual environment; else the test is skipped."""
    found = shutil.which("node", path=f"{os.environ['PATH']}:{Path(sys.executable).parent}")
    if found is None:
        pytest.skip("node is not installed (.ci/clients installs it)")
    return found


def r() -> str:
    """The path of R, with the packages that the client needs; else the test is skipped."""
    found = shutil.which("R")
    needed = "library(httr2); library(jsonlite)"
    if found is None or run([found, "-s", "--vanilla", "-e", needed], ROOT).returncode:
        pytest.skip("R with httr2 and jsonlite is not installed (.ci/clients installs it)")
    return found


def run(
    command: Sequence[str], folder: Path, variables: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, **(variables or {})},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


def examples(language: str, page: str = "docs/clients.md") -> list[tuple[str, str]]:
    """Blocks of a language and the text that is shown right below each."""
    lines = r"((?:(?!```).*\n)+)```"
    return re.findall(rf"^```{language}\n{lines}\n\n```text\n{lines}$", read(page), re.MULTILINE)
