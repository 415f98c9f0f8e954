"""The check of the image imports every module of the service, with the libraries of either list of requirements.

The image itself is built where there is something to build it with; that it could not be built was noticed late.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# What importlib finds of these is nothing, as in an image without them.
WITHOUT = """
import importlib.abc, importlib.util, sys
class Absent(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {absent!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Absent())
sys.path[:0] = [".ci", "."]
import image_check
image_check.import_everything()
print("exactperm.jobs.store" in sys.modules)
"""
OF_TOOLS = {"pytest", "mcp", "mcp_types"}
OF_SERVE = {"dbos", "psycopg", "sqlalchemy", "jiwer", "sacrebleu", "pytrec_eval", "openpyxl", "pyarrow"}


@pytest.mark.parametrize("absent", [OF_TOOLS, OF_TOOLS | OF_SERVE], ids=["serve", "main"])
def test_every_module_is_imported_that_the_image_has_libraries_for(absent: set[str]) -> None:
    code = WITHOUT.format(absent=absent)
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr[-2000:]
    assert ran.stdout == f"{'dbos' not in absent}\n"


def test_a_library_that_should_be_there_is_missed() -> None:
    """One that was deleted from the image with what nothing needs."""
    code = WITHOUT.format(absent={"httpx"})
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == 1
    assert "No module named" in ran.stderr
