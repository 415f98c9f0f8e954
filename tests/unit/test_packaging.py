"""Imports, requirements, and the check of the image."""

import ast
import datetime as dt
import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from exactperm import __version__
from exactperm.extras import EXTRAS

# No file of exactperm imports itself in a circle; import-linter looks at the rooms, this at the files.


ROOT = Path(__file__).resolve().parents[2]
APP = ROOT / "app" / "exactperm"


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(APP.parent).with_suffix("").parts).removesuffix(".__init__")


MODULES = {module_of(path): path for path in APP.rglob("*.py")}


def imports(path: Path) -> Iterator[str]:
    """The modules of exactperm that a file imports anywhere, but for type checkers only."""
    package = list(path.relative_to(APP.parent).parts[:-1])
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for_types = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level and id(node) not in for_types:
            parent = package[: len(package) - node.level + 1] + (
                node.module.split(".") if node.module else []
            )
            base = ".".join(parent)
            for name in node.names:
                full = f"{base}.{name.name}"
                yield full if full in MODULES else base


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """The remaining files after repeatedly removing those without imports of remaining files."""
    left = {name: set(targets) & set(graph) for name, targets in graph.items()}
    while free := [name for name, targets in left.items() if not targets]:
        for name in free:
            del left[name]
        left = {name: targets - set(free) for name, targets in left.items()}
    while free := [name for name in left if not any(name in targets for targets in left.values())]:
        for name in free:
            del left[name]
    return [sorted(left)] if left else []


@pytest.mark.slow
def test_no_circle_of_files() -> None:
    graph = {name: set(imports(path)) - {name} for name, path in MODULES.items()}
    assert sum(map(len, graph.values())) > 1_000  # it does see the imports
    assert circles(graph) == []


def test_a_circle_would_be_seen() -> None:
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}}) == [["b", "c"]]


# The locked requirements: what each file is for, and that all have the same versions.


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
        assert re.findall(r"^[A-Za-z-]+", extras[extra][0]) == [package]
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


def test_make_serve_installs_the_packages_of_the_readme() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert re.search(r"^serve: \.venv/\.serve\b", makefile, re.MULTILINE)
    assert re.search(r"^\.venv/\.serve: requirements/serve\.txt\b", makefile, re.MULTILINE)
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").split("\n")
    assert {"!requirements/main.txt", "!requirements/serve.txt"} <= set(ignored)


@pytest.mark.slow
def test_no_more_of_scipy_is_used_than_the_image_keeps() -> None:
    """The Dockerfile deletes the rest: another import would only break the image."""
    kept = set(re.findall(r"! -name (\w+)", (ROOT / "Dockerfile").read_text(encoding="utf-8")))
    for path in (ROOT / "app" / "exactperm").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module == "scipy":
                assert {name.name for name in node.names} <= kept, path
            elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("scipy."):
                assert (node.module or "").split(".")[1] in kept, path
            elif isinstance(node, ast.Import):
                assert not [name for name in node.names if name.name.startswith("scipy")], path


# The check of the image imports every module of the service, with the libraries of either list of requirements.


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
    """A module that the image deletes as unused."""
    code = WITHOUT.format(absent={"httpx"})
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == 1
    assert "No module named" in ran.stderr


# A package that is installed beside this one adds a format, as docs/formats.md says it.


GUIDE = ROOT / "docs" / "formats.md"


def installed(folder: Path, *, entry: str = "acme_exactperm:SHAPE", name: str = "acme") -> dict[str, str]:
    """The environment of a process with the guide's package: its module, and its installed metadata."""
    (code,) = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    code = code.replace('Shape("acme"', f'Shape("{name}"')
    (folder / "acme_exactperm.py").write_text(code)
    about = folder / "acme_exactperm-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-exactperm\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[exactperm.formats]\nacme = {entry}\n")
    return {**os.environ, "PYTHONPATH": os.pathsep.join((str(folder), str(ROOT / "app")))}


def answered(folder: Path, environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    files = []
    for role, scores in (("new", (0.75, 0.5, 1.0, 0.5)), ("old", (0.5, 0.5, 0.25, 0.25))):
        cases = [{"case": f"q{n}", "result": {"quality": one}} for n, one in enumerate(scores)]
        files.append(folder / f"{role}.json")
        files[-1].write_text(json.dumps({"acme": 1, "run": role, "cases": cases}))
    command = [sys.executable, "-m", "exactperm", "test", *map(str, files), "--format", "json", *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


def test_the_format_of_an_installed_package_is_guessed_and_read(tmp_path: Path) -> None:
    done = answered(tmp_path, installed(tmp_path))
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["p_value"] == 0.25  # three of four differences, all of one sign
    assert said["reading"]["format"] == "acme"
    assert said["names"] == {"u": "new", "v": "old"}
    assert said["statistic"]["metric"] == "quality"


@pytest.mark.parametrize(
    ("entry", "name", "word"),
    [("acme_exactperm:marks", "acme", "is not a Shape"), ("acme_exactperm:SHAPE", "comet", "called comet")],
)
def test_invalid_formats_and_used_names_stop_the_start(
    entry: str, name: str, word: str, tmp_path: Path
) -> None:
    done = answered(tmp_path, installed(tmp_path, entry=entry, name=name))
    assert done.returncode != 0
    assert word in done.stderr


# Only tests that tests/quarantine.txt names are repeated in continuous integration, and none is named for long.


TODAY = dt.datetime.now(tz=dt.UTC).date()
LOG = "...F.\nFAILED tests/a.py::test_x[1-a b] - AssertionError: no\nERROR tests/a.py::test_y\n= 2 failed =\n"


def test_a_test_is_in_quarantine_with_a_reason_and_for_at_most_fourteen_days() -> None:
    lines = (ROOT / "tests" / "quarantine.txt").read_text("utf-8").splitlines()
    for line in (line for line in lines if not line.startswith("#")):
        name, date, reason = line.split(" | ")
        file, _, test = name.partition("::")
        assert f"def {test}(" in (ROOT / file).read_text("utf-8")
        assert TODAY - dt.date.fromisoformat(date) <= dt.timedelta(days=14), line
        assert reason


@pytest.mark.parametrize(
    ("log", "named", "repeated"),
    [
        (LOG, ["x", "y", "z"], True),
        (LOG, ["x"], False),
        (LOG, [], False),
        (LOG + "Interrupted", ["x", "y"], False),
        ("= 3 passed =\n", ["x"], False),
    ],
)
def test_failures_outside_the_quarantine_are_failures(
    tmp_path: Path, log: str, named: list[str], repeated: bool
) -> None:
    (tmp_path / "log").write_text(log)
    (tmp_path / "list").write_text(
        "".join(f"tests/a.py::test_{one} | 2026-11-28 | a race\n" for one in named)
    )
    command = [ROOT / ".ci" / "quarantined", tmp_path / "log"]
    environment = {**os.environ, "QUARANTINE": str(tmp_path / "list")}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode == 0) == repeated
    if log.startswith(LOG):
        assert done.stdout == "tests/a.py::test_x\ntests/a.py::test_y\n"
