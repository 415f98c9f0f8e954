"""openapi/clients/typescript: its own tests against a real server, its types, and what it is packed from."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import exactperm
from tests.process.foreign import CLIENTS, SERVED, node, run
from tests.process.job_servers import KEYS, serving

pytestmark = pytest.mark.process
FOLDER = CLIENTS / "typescript"
COUNT = re.compile(r"^# (tests|pass|skipped) (\d+)$", re.MULTILINE)


def counts(output: str) -> dict[str, int]:
    return {name: int(number) for name, number in COUNT.findall(output)}


def test_its_tests_pass_against_a_real_server(tmp_path: Path) -> None:
    files = [f"test/{name}.test.js" for name in ("client", "transport")]
    own = sum(len(re.findall(r"^(?:test|on)\(", (FOLDER / one).read_text(), re.MULTILINE)) for one in files)
    command = [node(), "--test", "--test-reporter=tap", *files]
    with serving(tmp_path, **SERVED) as server:
        result = run(command, FOLDER, {"EXACTPERM_URL": server.url, "EXACTPERM_KEY": KEYS["a"]})
    assert result.returncode == 0, result.stdout + result.stderr
    found = counts(result.stdout)
    assert (found["pass"], found["skipped"]) == (own, 0), result.stdout
    assert own > 20


def test_the_compiler_accepts_it_and_refuses_what_the_api_would() -> None:
    tsc = FOLDER / "node_modules/typescript/bin/tsc"
    if not tsc.is_file():
        pytest.skip(
            "the tools of the TypeScript client are not installed (`make clients` installs them with npm)"
        )
    result = run([node(), str(tsc), "--project", "."], FOLDER)
    assert (result.stdout, result.returncode) == ("", 0)


def test_its_package_has_every_file_no_dependency_and_no_address_of_a_download() -> None:
    package = json.loads((FOLDER / "package.json").read_text())
    assert package["version"] == exactperm.__version__
    assert "dependencies" not in package
    modules = {one.name for one in FOLDER.glob("*.js")}
    assert set(package["files"]) == modules | {f"{Path(one).stem}.d.ts" for one in modules} | {"schema.d.ts"}
    assert all((FOLDER / one).is_file() for one in package["files"])
    lock = json.loads((FOLDER / "package-lock.json").read_text())
    tools = {name: one for name, one in lock["packages"].items() if name}
    assert all("resolved" not in one and one["integrity"].startswith("sha512-") for one in tools.values())
    assert lock["packages"][""]["devDependencies"] == package["devDependencies"]


def test_nothing_but_its_own_files_is_imported() -> None:
    for path in FOLDER.glob("*.js"):
        imported = re.findall(r"""(?:from|import\()\s*["']([^"']+)""", path.read_text(encoding="utf-8"))
        assert set(imported) <= {"./transport.js", "./schema.js"}
