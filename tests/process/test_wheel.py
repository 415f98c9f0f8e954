"""Test the installed package: a wheel in a separate environment, used from another folder.

Everything runs in other processes. The environment has no network and sees the libraries of the tests, some of which a test can hide.
"""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from exactperm.extras import EXTRAS

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests" / "data"
PATIENCE_S = 180.0

pytestmark = pytest.mark.slow

# Imported by a .pth file when the interpreter starts; `sitecustomize` may be taken by the system.
HIDING = '''
import os, sys

class Hidden:
    """Finds no module that HIDDEN_MODULES lists, nor what is in it."""
    def find_spec(self, name, path=None, target=None):
        for hidden in filter(None, os.environ.get("HIDDEN_MODULES", "").split(",")):
            if name == hidden or name.startswith(hidden + "."):
                raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Hidden())
'''
# Everything that only the extras bring, or the tests.
NOT_BASE = [
    *(module for extra in EXTRAS.values() for module in extra.modules),
    *("starlette", "opentelemetry", "markupsafe", "PIL", "rapidfuzz", "pandas", "sklearn", "orjson"),
]
SCORES = "id,u,v\n" + "".join(f"i{n},{n + 1},{n}\n" for n in range(6))  # p is 2 / 2**6
LOCAL = """
import sys
import exactperm
assert not {"numpy", "httpx", "pydantic"} & set(sys.modules)
from exactperm import compare, gate, test
result = test([1, 2, 3, 4, 5, 6], {0})
verdict = gate([1, 2, 3, 4, 5, 6], {0}, policy="improve")
print(result.p_value, result.method.exact, verdict.verdict, verdict.p_value)
assert result._repr_html_().count("<svg") == verdict._repr_html_().count("<svg") == 1
board = compare({"A": [1, 2, 3, 4, 5, 6], "B": {0}, "C": {0}})
assert board.groups.best_set == ("A",) and board._repr_html_().count("<svg") == 1
assert not {"app", "fastapi", "starlette", "resvg_py"} & set(sys.modules)
""".replace("{0}", "[0, 1, 2, 3, 4, 5]")
FIXTURE = """
import sys
OURS = {name for name in sys.modules if name.startswith("exactperm")}
def test_start(): assert OURS == {"exactperm", "exactperm.pytest_plugin", "exactperm.version"}
def test_gate(exactperm): assert exactperm.gate([1, 2, 3, 4, 5, 6], [0, 1, 2, 3, 4, 5], policy="improve").passed
"""
CLIENT = """
import sys
from exactperm.client import Client, scores
with Client(sys.argv[1]) as client:
    request = scores([1, 2, 3, 4, 5, 6], [0, 1, 2, 3, 4, 5])
    print(client.test(request).p_value, client.gate(request, policy="improve").verdict)
    print(client.report(request, "svg")[:5].decode(), client.meta().raw["extras"]["otel"])
"""


@dataclass(frozen=True)
class Installed:
    """The environment, and a folder without the repository."""

    wheel: Path
    binaries: Path
    folder: Path

    def environment(self, hidden: list[str], settings: dict[str, str] | None = None) -> dict[str, str]:
        ours = ("EXACTPERM_", "PYTHON", "OTEL_")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
        return {**kept, "HIDDEN_MODULES": ",".join(hidden), **(settings or {})}

    def run(
        self, name: str, *arguments: str, hidden: tuple[str, ...] = ()
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.binaries / name, *arguments],
            cwd=self.folder,
            env=self.environment(list(hidden)),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )

    def python(self, code: str, *arguments: str, hidden: tuple[str, ...] = ()) -> str:
        result = self.run("python", "-c", code, *arguments, hidden=hidden)
        assert result.returncode == 0, result.stderr
        return result.stdout


def done(*command: str | Path) -> None:
    result = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    folder = tmp_path_factory.mktemp("wheel")
    done(sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", folder / "dist")
    (wheel,) = (folder / "dist").glob("exactperm-*.whl")
    done(sys.executable, "-m", "venv", "--without-pip", folder / "venv")
    python = folder / "venv" / "bin" / "python"
    options = ("--no-deps", "--no-index", "--no-compile", "--quiet", "--disable-pip-version-check")
    done(sys.executable, "-m", "pip", "--python", python, "install", *options, wheel)
    (packages,) = (folder / "venv" / "lib").glob("python3*/site-packages")
    paths = sysconfig.get_paths()
    libraries = dict.fromkeys((paths["purelib"], paths["platlib"]))
    (packages / "hiding.py").write_text(HIDING)
    (packages / "libraries.pth").write_text("\n".join(["import hiding", *libraries]) + "\n")
    other = folder / "elsewhere"
    other.mkdir()
    (other / "scores.csv").write_text(SCORES)
    return Installed(wheel, python.parent, other)


@contextmanager
def server(installed: Installed, log: Path, *hidden: str, **settings: str) -> Iterator[str]:
    """`exactperm serve` until the end of the block; its URL."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    options = {"EXACTPERM_PORT": str(port), "EXACTPERM_WORKERS": "1", **settings}
    with (
        log.open("wb") as output,
        subprocess.Popen(
            [installed.binaries / "exactperm", "serve"],
            cwd=installed.folder,
            env=installed.environment(list(hidden), options),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        ) as process,
    ):
        try:
            until_listening(process, port, log)
            yield f"http://127.0.0.1:{port}"
            process.send_signal(signal.SIGTERM)
            assert process.wait(PATIENCE_S) == 0, log.read_text()
        finally:
            process.kill()


def until_listening(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    """It listens when it is ready."""
    end = time.monotonic() + PATIENCE_S
    while process.poll() is None and time.monotonic() < end:
        with socket.socket() as attempt:
            if attempt.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise AssertionError(log.read_text())


def test_the_wheel_holds_the_package_and_nothing_else(installed: Installed) -> None:
    with zipfile.ZipFile(installed.wheel) as wheel:
        names = set(wheel.namelist())
    assert {name.partition("/")[0].partition("-")[0] for name in names} == {"exactperm"}
    assert not [name for name in names if name.endswith(".pyc")]
    kept = {
        path.relative_to(ROOT / "app" / "exactperm").as_posix()
        for path in (ROOT / "app" / "exactperm").rglob("*")
        if path.is_file()
    }
    kept = {name for name in kept if "__pycache__" not in name}
    kept |= {path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*") if path.is_file()}
    assert {name.removeprefix("exactperm/") for name in names if name.startswith("exactperm/")} == kept


def test_the_wheel_does_not_import_the_repository(installed: Installed) -> None:
    where = "import exactperm.cli.commands as m, importlib.util as u; print(m.__file__, u.find_spec('app'))"
    file, spec = installed.python(where).split()
    assert Path(file).is_relative_to(installed.binaries.parent)
    assert spec == "None"


def test_the_command_line(installed: Installed) -> None:
    tested = installed.run("exactperm", "test", "scores.csv", "--format", "json", "--quiet")
    assert (tested.returncode, tested.stderr) == (0, "")
    assert json.loads(tested.stdout)["p_value"] == 2 / 2**6
    passed = installed.run("exactperm", "gate", "scores.csv", "--policy", "improve", "--quiet")
    assert (passed.returncode, passed.stdout[:5]) == (0, "PASS:")
    roles = ("--system-u", "v", "--system-v", "u")
    failed = installed.run("exactperm", "gate", "scores.csv", *roles, "--quiet")
    assert (failed.returncode, failed.stdout[:5]) == (1, "FAIL:")
    report = installed.run("exactperm", "test", "scores.csv", "-o", "report.html", "--quiet")
    assert (report.returncode, report.stderr) == (0, "exactperm: p = 0.03125; see report.html\n")
    assert "<svg" in (installed.folder / "report.html").read_text()
    assert installed.run("python", "-m", "exactperm", "version").stdout.startswith("exactperm ")
    assert json.loads(installed.run("exactperm", "openapi").stdout)["info"]["title"]


def test_the_functions_and_the_notebook(installed: Installed) -> None:
    assert installed.python(LOCAL).split() == ["0.03125", "True", "pass", "0.015625"]


def test_the_server_and_the_client(installed: Installed, tmp_path: Path) -> None:
    """Its workers also import it by name. Without the extra otel, spans cannot be sent, which the log reports."""
    log = tmp_path / "log"
    telemetry = {"EXACTPERM_OTLP_ENDPOINT": "http://127.0.0.1:9"}
    with server(installed, log, *EXTRAS["otel"].modules, **telemetry) as url:
        assert installed.python(CLIENT, url).split() == ["0.03125", "pass", "<?xml", "False"]
        remote = installed.run("exactperm", "test", "scores.csv", "--url", url, "--quiet")
        assert (remote.returncode, remote.stdout[:9]) == (0, "p=0.03125")
    assert 'pip install "exactperm[otel]"' in log.read_text().replace('\\"', '"')


def test_the_pytest_fixture_imports_nothing_until_used(installed: Installed) -> None:
    (installed.folder / "test_gate.py").write_text(FIXTURE)
    hidden = tuple(set(NOT_BASE) - {"pandas"})  # other plugins ask for it
    options = ("-q", "--strict-markers", "-p", "no:schemathesis", "-p", "no:cacheprovider", "test_gate.py")
    ran = installed.run("python", "-m", "pytest", *options, hidden=hidden)
    assert (ran.returncode, ran.stdout.splitlines()[-1].split(" in ")[0]) == (0, "2 passed"), ran.stdout


def test_without_extras_there_are_tests_gates_and_the_client(installed: Installed) -> None:
    hidden = tuple(NOT_BASE)
    assert installed.python(LOCAL, hidden=hidden).split() == ["0.03125", "True", "pass", "0.015625"]
    tested = installed.run("exactperm", "test", "scores.csv", "--quiet", hidden=hidden)
    assert (tested.returncode, tested.stdout[:9]) == (0, "p=0.03125")
    for format_ in ("json", "text", "markdown", "csv", "junit"):
        gated = installed.run("exactperm", "gate", "scores.csv", "-f", format_, "--quiet", hidden=hidden)
        assert gated.returncode == 0, gated.stderr
    assert installed.python("import exactperm.client as c; print(c.Client('localhost').url)", hidden=hidden)


@pytest.mark.parametrize(
    ("extra", "arguments"),
    [
        ("server", ["serve"]),
        ("server", ["openapi"]),
        ("mcp", ["mcp", "--root", "."]),
        ("pictures", ["test", "scores.csv", "-o", "picture.png"]),
        ("pictures", ["test", "scores.csv", "-f", "html"]),
        ("pictures", ["gate", "scores.csv", "-o", "report.html"]),
        ("asr", ["test", "asr/google.trn", "asr/amazon.trn", "--ref", "asr/ref.trn"]),
        ("trec", ["test", "trec/run.aplrob03a.txt", "trec/run.uic0301.txt", "--qrels", "trec/qrels.txt"]),
        ("mt", ["test", "new.txt", "old.txt", "--ref", "ref.txt", "--input-format", "mt"]),
    ],
)
def test_a_missing_extra_is_named_with_the_line_that_installs_it(
    installed: Installed, extra: str, arguments: list[str]
) -> None:
    for name in ("new.txt", "old.txt", "ref.txt"):
        (installed.folder / name).write_text("a b c\nd e f\n")
    for name in ("asr", "trec"):
        shutil.copytree(DATA / name, installed.folder / name, dirs_exist_ok=True)
    for module in EXTRAS[extra].modules:
        result = installed.run("exactperm", *arguments, hidden=(module,))
        assert (result.returncode, result.stdout) == (2, "")
        assert f'pip install "exactperm[{extra}]"' in result.stderr
        assert "Traceback" not in result.stderr
