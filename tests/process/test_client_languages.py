"""Test openapi/clients/r and typescript: their tests against a real server, and the same answers as the Python client."""

import itertools
import json
import re
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

import exactperm
from exactperm.client import Client
from tests.process.foreign import CLIENTS, SERVED, examples, node, r, run
from tests.process.job_servers import KEYS, JobServer, serving

FOLDER = CLIENTS / "r"
ANSWERS = """
library(exactperm)
sets <- jsonlite::read_json("sets.json", simplifyVector = TRUE, simplifyDataFrame = FALSE)
found <- lapply(sets, function(set) exactperm_test(set$u, set$v, conf.level = 0.95)$answer)
boards <- lapply(sets, function(set) exactperm_compare(list(A = set$u, B = set$v, C = rev(set$u)))$answer$id)
jsonlite::write_json(list(tests = found, boards = boards), "answers.json", auto_unbox = TRUE, digits = NA, null = "null")
"""


class R:
    """R with the package in a separate library, and a server."""

    def __init__(self, path: str, folder: Path, server: JobServer) -> None:
        self.path, self.folder, self.server = path, folder, server
        self.key = KEYS["a"]

    def __call__(self, *arguments: str, **variables: str) -> str:
        """The output of an R command, which must succeed."""
        own = {
            "R_LIBS": str(self.folder / "library"),
            "EXACTPERM_URL": self.server.url,
            "EXACTPERM_API_KEY": self.key,
            # Nothing is looked up on the network.
            "R_PROFILE_USER": str(self.folder / "profile.R"),
            "_R_CHECK_FORCE_SUGGESTS_": "false",
            "LC_ALL": "C.UTF-8",
        }
        result = run([self.path, *arguments], self.folder, {**own, **variables})
        log = self.folder / "exactperm.Rcheck/tests/server.Rout.fail"
        more = log.read_text(encoding="utf-8") if log.is_file() else ""
        assert result.returncode == 0, result.stdout + result.stderr + more
        return result.stdout

    def script(self, text: str) -> str:
        """The output of a script."""
        (self.folder / "script.R").write_text(text, encoding="utf-8")
        return self("-s", "--no-save", "-f", "script.R")


@pytest.fixture(scope="module")
def in_r(tmp_path_factory: pytest.TempPathFactory) -> Iterator[R]:
    path, folder = r(), tmp_path_factory.mktemp("r")
    (folder / "library").mkdir()
    (folder / "src/contrib").mkdir(parents=True)
    (folder / "src/contrib/PACKAGES").touch()
    (folder / "profile.R").write_text(f'options(repos = c(CRAN = "{folder.as_uri()}"))\n')
    with serving(folder, **SERVED) as server:
        called = R(path, folder, server)
        called("CMD", "build", str(FOLDER))
        called("CMD", "INSTALL", "--library=library", package())
        yield called


NO_BROOM = (
    "checking package dependencies ... NOTE\nPackage suggested but not available for checking: ‘broom’\n"
)


def package() -> str:
    return f"exactperm_{exactperm.__version__}.tar.gz"


def test_the_package_is_of_this_version_and_states_its_licence() -> None:
    description = (FOLDER / "DESCRIPTION").read_text(encoding="utf-8")
    assert f"\nVersion: {exactperm.__version__}\n" in description
    assert "\nLicense: MIT + file LICENSE\n" in description


def test_it_passes_the_check_of_r_with_its_tests_against_a_real_server(in_r: R) -> None:
    printed = in_r("CMD", "check", "--no-manual", package())
    without_broom = NO_BROOM in printed  # suggested, and 60 MB
    status = "Status: 1 NOTE" if without_broom else "Status: OK"
    assert re.search(rf"^{status}$", printed, re.MULTILINE), printed
    log = (in_r.folder / "exactperm.Rcheck/tests/server.Rout").read_text(encoding="utf-8")
    groups = (FOLDER / "tests/server.R").read_text(encoding="utf-8").count("<- function() {")
    assert f"\n{groups} groups of tests passed\n" in log
    assert groups >= 8


def test_its_answers_are_those_of_the_python_client(in_r: R) -> None:
    random = np.random.default_rng(15)
    sets = [
        {"u": random.random(n).round(digits).tolist(), "v": random.random(n).round(digits).tolist()}
        for n, digits in ((5, 2), (40, 3), (300, 1), (12, 17))
    ]
    (in_r.folder / "sets.json").write_text(json.dumps(sets), encoding="utf-8")
    in_r.script(ANSWERS)
    found = json.loads((in_r.folder / "answers.json").read_text(encoding="utf-8"))
    with Client(in_r.server.url, api_key=in_r.key) as client:
        for one, answer, board in zip(sets, found["tests"], found["boards"], strict=True):
            expected = client.scores(one["u"], one["v"], confidence_level=0.95)
            # The id is a digest of the data: every digit arrived.
            assert answer["id"] == expected.id
            assert answer["p_value"] == pytest.approx(expected.p_value, rel=1e-14)
            assert board == client.compare({"A": one["u"], "B": one["v"], "C": one["u"][::-1]}).id


class Scripted(BaseHTTPRequestHandler):
    """Answers with the next of `answers`: a status, headers and a body; the last again and again."""

    answers: ClassVar[list[tuple[int, dict[str, str], str]]] = []
    seen: ClassVar[list[tuple[float, str, str]]] = []

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"])).decode()
        self.seen.append((time.monotonic(), self.path, body))
        status, headers, text = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        self.send_response(status)
        for name, value in {"content-type": "application/problem+json", **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_: object) -> None:
        """Ignore output: pytest's output is for failures."""


def refusal(kind: str, status: int, **headers: str) -> tuple[int, dict[str, str], str]:
    problem = {
        "type": f"/docs/problems#{kind}",
        "title": kind,
        "status": status,
        "detail": "d",
        "instance": "i",
    }
    return status, headers, json.dumps(problem)


FULL = refusal("queue-full", 503, **{"retry-after": "1"})
ANSWERED = (200, {"content-type": "application/json"}, '{"id": "g_1", "verdict": "pass", "passed": true}')


@pytest.mark.parametrize(
    ("answers", "said", "sent"),
    [
        ([FULL, ANSWERED], "pass", 2),
        ([FULL], "exactperm_queue_full", 3),
        ([refusal("deadline-exceeded", 503)], "exactperm_deadline_exceeded", 1),
        ([refusal("plan-too-large", 422)], "exactperm_plan_too_large", 1),
        ([(307, {"location": "/elsewhere"}, "")], "exactperm_unreadable", 1),
        ([(200, {"content-type": "text/html"}, "<p>Log in")], "exactperm_unreadable", 1),
        ([(200, {"content-type": "application/json"}, '"http://127.0.0.1/"')], "exactperm_unreadable", 1),
        ([(502, {"content-type": "text/html"}, "")], "exactperm_unreadable", 1),
    ],
    ids=["later", "never", "too slow", "too large", "redirect", "page", "address", "proxy"],
)
def test_a_call_is_repeated_where_that_helps_and_only_answers_are_believed(
    in_r: R, answers: list[tuple[int, dict[str, str], str]], said: str, sent: int
) -> None:
    Scripted.answers, Scripted.seen = list(answers), []
    with ThreadingHTTPServer(("127.0.0.1", 0), Scripted) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_address[1]}"
        printed = in_r.script(
            f'library(exactperm); at <- exactperm_server("{url}", tries = 3)\n'
            "refused <- function(error) class(error)[1]\n"
            "cat(tryCatch(exactperm_gate(1, 0, server = at)$verdict, exactperm_error = refused))"
        )
        server.shutdown()
    assert printed == said
    assert len(Scripted.seen) == sent
    times = [at for at, _, _ in Scripted.seen]
    assert all(after - before >= 0.99 for before, after in itertools.pairwise(times))
    assert {(path, body) for _, path, body in Scripted.seen} == {
        ("/v1/gate?fail_status=200", Scripted.seen[0][2])
    }
    assert '"request":{"u":[1],"v":[0]}' in Scripted.seen[0][2]


def test_the_lines_of_the_guide_print_the_shown_output(in_r: R) -> None:
    shown_below = examples("r")
    assert shown_below
    for script, output in shown_below:
        assert in_r.script(script).split() == output.split()


FOLDER_OF_CLIENT_TYPESCRIPT = CLIENTS / "typescript"
COUNT = re.compile(r"^# (tests|pass|skipped) (\d+)$", re.MULTILINE)


def counts(output: str) -> dict[str, int]:
    return {name: int(number) for name, number in COUNT.findall(output)}


def test_its_tests_pass_against_a_real_server(tmp_path: Path) -> None:
    files = [f"test/{name}.test.js" for name in ("client", "transport")]
    own = sum(
        len(re.findall(r"^(?:test|on)\(", (FOLDER_OF_CLIENT_TYPESCRIPT / one).read_text(), re.MULTILINE))
        for one in files
    )
    command = [node(), "--test", "--test-reporter=tap", *files]
    with serving(tmp_path, **SERVED) as server:
        result = run(
            command, FOLDER_OF_CLIENT_TYPESCRIPT, {"EXACTPERM_URL": server.url, "EXACTPERM_KEY": KEYS["a"]}
        )
    assert result.returncode == 0, result.stdout + result.stderr
    found = counts(result.stdout)
    assert (found["pass"], found["skipped"]) == (own, 0), result.stdout
    assert own > 20


def test_the_compiler_accepts_and_refuses_as_the_api_does() -> None:
    tsc = FOLDER_OF_CLIENT_TYPESCRIPT / "node_modules/typescript/bin/tsc"
    if not tsc.is_file():
        pytest.skip(
            "the tools of the TypeScript client are not installed (`make clients` installs them with npm)"
        )
    result = run([node(), str(tsc), "--project", "."], FOLDER_OF_CLIENT_TYPESCRIPT)
    assert (result.stdout, result.returncode) == ("", 0)


def test_its_package_has_every_file_no_dependency_and_no_address_of_a_download() -> None:
    package = json.loads((FOLDER_OF_CLIENT_TYPESCRIPT / "package.json").read_text())
    assert package["version"] == exactperm.__version__
    assert "dependencies" not in package
    modules = {one.name for one in FOLDER_OF_CLIENT_TYPESCRIPT.glob("*.js")}
    assert set(package["files"]) == modules | {f"{Path(one).stem}.d.ts" for one in modules} | {"schema.d.ts"}
    assert all((FOLDER_OF_CLIENT_TYPESCRIPT / one).is_file() for one in package["files"])
    lock = json.loads((FOLDER_OF_CLIENT_TYPESCRIPT / "package-lock.json").read_text())
    tools = {name: one for name, one in lock["packages"].items() if name}
    assert all("resolved" not in one and one["integrity"].startswith("sha512-") for one in tools.values())
    assert lock["packages"][""]["devDependencies"] == package["devDependencies"]


def test_the_client_imports_only_its_files() -> None:
    for path in FOLDER_OF_CLIENT_TYPESCRIPT.glob("*.js"):
        imported = re.findall(r"""(?:from|import\()\s*["']([^"']+)""", path.read_text(encoding="utf-8"))
        assert set(imported) <= {"./transport.js", "./schema.js"}
