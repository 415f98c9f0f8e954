"""Test the GitHub action and the GitLab job: their steps in bash, with a recorded event and a fake API of comments."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit
from xml.etree import ElementTree as ET

import pytest
import yaml

from exactperm import gate
from tests.docs_pages import blocks
from tests.process.conftest import Server

ROOT = Path(__file__).parents[2]
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
PATIENCE_S = 120.0
TOKEN = "a-token"


def checkout(folder: Path) -> Path:
    """A checkout as on the runner, with an environment that sees the libraries of the tests, without downloads."""
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
    """Expand `${{ inputs.x }}` and the token, the only expressions of the action."""

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
    """Run the steps of action.yml until one fails; skip the installation if already done."""
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
    """A server in a thread, which the caller shuts down."""

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


pytestmark = pytest.mark.slow

OWN = {"full_name": "us/ours"}
BETTER, WORSE = [1, 1, 1, 1, 1, 1, 1, 1, 0], [0, 0, 0, 0, 0, 0, 0, 0, 0]
HOSTILE = "x'\"`touch pwned`$(touch pwned)\n::set-output name=verdict::pass\n<!-- --> @you.jsonl"


def event(head: Any = OWN) -> dict[str, Any]:
    """The event of a pull request, as far as it is read."""
    return {"pull_request": {"number": 12, "head": {"repo": head}, "base": {"repo": OWN}}}


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return checkout(tmp_path_factory.mktemp("action"))


@pytest.fixture
def comments() -> Iterator[Comments]:
    kept = Comments()
    server = serving(kept)
    yield kept
    server.shutdown()
    server.server_close()


@pytest.fixture
def act(installed: Path, tmp_path: Path, comments: Comments) -> Callable[..., Ran]:
    def run(
        candidate: list[int], baseline: list[int], pull: Any = None, file: str = "new.jsonl", **inputs: str
    ) -> Ran:
        names = {"candidate": file, "baseline": "old.jsonl"}
        for name, values in zip(names.values(), (candidate, baseline), strict=True):
            rows = [json.dumps({"id": n, "score": score}) + "\n" for n, score in enumerate(values)]
            (tmp_path / name).write_text("".join(rows))
        return run_action(
            installed, tmp_path, event() if pull is None else pull, comments.url, **names, **inputs
        )

    return run


def test_pass_fail_and_pass_again_are_one_comment(act: Callable[..., Ran], comments: Comments) -> None:
    passed = act(BETTER, WORSE, policy="improve")
    p = gate(BETTER, WORSE, policy="improve").p_value
    assert (passed.status, passed.outputs["verdict"], passed.outputs["exit-status"]) == (0, "pass", "0")
    assert float(passed.outputs["p-value"]) == p == 1 / 2**8
    (comment,) = comments.kept
    assert comment["body"] == "<!-- exactperm:exactperm -->\n" + passed.summary
    assert "✅ **PASS**" in passed.summary
    assert Path(passed.outputs["report"]).read_text(encoding="utf-8") == passed.summary
    failed = act(WORSE, BETTER)
    assert (failed.status, failed.outputs["verdict"], failed.outputs["exit-status"]) == (1, "fail", "1")
    assert "the candidate is significantly worse than the baseline" in failed.summary
    (comment,) = comments.kept
    assert comment["body"].endswith(failed.summary)
    assert [one.split()[0] for one in comments.asked] == ["GET", "POST", "GET", "PATCH"]


def test_incomparable_systems_exit_2_with_the_reason_in_summary_and_comment(
    act: Callable[..., Ran], comments: Comments
) -> None:
    other = act(BETTER, WORSE[1:])
    assert (other.status, other.outputs["verdict"], other.outputs["p-value"]) == (2, "error", "")
    assert "NOT COMPARED" in other.summary
    assert 'new.jsonl: Without a counterpart in v: "8".' in other.summary
    assert comments.kept[0]["body"].endswith(other.summary)


@pytest.mark.parametrize(
    "wrong",
    [
        {"candidate": "absent/../new.jsonl"},
        {"policy": "improved"},
        {"higher_is_better": "yes"},
        {"options": "fail_status=200"},
        {"candidate": ""},
    ],
)
def test_no_mistake_of_the_inputs_becomes_a_pass(
    installed: Path, tmp_path: Path, comments: Comments, wrong: dict[str, str]
) -> None:
    for name in ("new.jsonl", "old.jsonl"):
        (tmp_path / name).write_text('{"id": 1, "score": 1}\n')
    inputs = {"candidate": "new.jsonl", "baseline": "old.jsonl", "comment": "false", **wrong}
    ran = run_action(installed, tmp_path, {}, comments.url, **inputs)
    assert (ran.status, ran.outputs["verdict"], ran.outputs["exit-status"]) == (2, "error", "2")
    assert "<pre>exactperm: " in ran.summary or "<pre>Usage: " in ran.summary


def test_our_comment_is_found_on_a_later_page_and_a_strangers_is_not_touched(
    installed: Path, tmp_path: Path, comments: Comments
) -> None:
    sign = "<!-- exactperm:wer -->"
    comments.kept = [Comments.written(n, f"{n}") for n in range(1, 252)]
    comments.kept[3] = Comments.written(4, f"{sign} pass!", "User", "CONTRIBUTOR")
    comments.kept[240] = Comments.written(241, f"{sign}\nof yesterday")
    before = json.loads(json.dumps(comments.kept))
    (tmp_path / "report").write_text("today")
    urls = {"NOTES_URL": f"{comments.url}/issues/12/comments", "NOTE_URL": f"{comments.url}/issues/comments"}
    variables = {**urls, "NOTE_UPDATE": "PATCH", "NOTE_HEADER": f"authorization: Bearer {TOKEN}"}
    done = bash(shlex.join([f"{installed}/.ci/gate/sticky", "report", sign]), tmp_path, **variables)
    changed = [new["id"] for old, new in zip(before, comments.kept, strict=True) if old != new]
    assert (done.returncode, changed) == (0, [241]), done.stderr
    assert comments.kept[240]["body"] == f"{sign}\ntoday"
    pages = [re.search(r"&page=(\d)", one) for one in comments.asked if one.startswith("GET")]
    assert [page[1] for page in pages if page] == ["1", "2", "3"]


def test_forks_are_silent_missing_permission_warns_and_inconclusive_follows_its_option(
    act: Callable[..., Ran], comments: Comments
) -> None:
    comments.refuses = 403
    fork = act([0, 1], [1, 1], event({"full_name": "them/ours"}))
    assert (fork.status, fork.outputs["verdict"]) == (0, "inconclusive")
    assert ("::warning::" in fork.log, "no token" in fork.log) == (False, False)
    strict = act([0, 1], [1, 1], on_inconclusive="fail")
    assert (strict.status, strict.outputs["verdict"]) == (1, "inconclusive")
    assert (
        '::warning::exactperm may not comment here: the job needs "permissions: pull-requests: write".'
        in (strict.log)
    )


def noted(installed: Path, folder: Path, *words: str) -> str:
    """The output of .ci/gate/notes.py."""
    script = '"$CHECKOUT/.venv/bin/python" -I "$CHECKOUT/.ci/gate/notes.py" '
    done = bash(script + shlex.join(words), folder, CHECKOUT=str(installed))
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_push_is_not_a_pull_request_and_a_deleted_fork_is_a_fork(installed: Path, tmp_path: Path) -> None:
    for written, said in (({"ref": "refs/heads/main"}, ""), (event(None), "12 fork"), (event(), "12 own")):
        (tmp_path / "event").write_text(json.dumps(written))
        assert noted(installed, tmp_path, "pull", "event") == said + "\n"


def test_hostile_names_stay_names(act: Callable[..., Ran], comments: Comments, tmp_path: Path) -> None:
    (tmp_path / HOSTILE.rpartition("/")[0]).mkdir(parents=True, exist_ok=True)
    ran = act(WORSE, BETTER, file=HOSTILE, name=HOSTILE, options="name_u=$(touch pwned)`::error::`")
    assert (ran.status, ran.outputs["verdict"]) == (1, "fail"), ran.log
    assert not list(tmp_path.rglob("pwned"))
    sign, _, report = comments.kept[0]["body"].partition("\n")
    assert re.fullmatch(r"<!-- exactperm:[\w%.-]+ -->", sign)
    assert "--" not in sign[4:-3]
    assert report == ran.summary
    head = ran.summary.split("\n", 1)[0]
    assert re.fullmatch(r"### Gate `[^`\n]+`", head)
    assert ran.outputs["exit-status"] == "1"
    # The runner obeys no line of the report.
    stopped, _, rest = ran.log.partition("::stop-commands::")
    token = rest.split("\n", 1)[0]
    inside, _, after = rest.partition(f"\n::{token}::")
    assert "::set-output" not in stopped + after
    assert head in inside


def test_a_server_may_decide_and_a_wrong_url_never_passes(
    act: Callable[..., Ran], comments: Comments, start: Callable[..., Server]
) -> None:
    asked = act(WORSE, BETTER, url=start(workers=1).url, token="")
    assert (asked.status, "no token, no comment" in asked.log, comments.asked) == (1, True, [])
    comments.kept = [{}]
    said_yes = act(BETTER, WORSE, url=comments.url, comment="false")
    assert (said_yes.status, said_yes.outputs["verdict"]) == (2, "error")


def test_a_failed_installation_is_2_and_no_verdict(
    tmp_path: Path, comments: Comments, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "checkout"
    checkout(broken)
    (broken / "requirements" / "gate.txt").write_text("no-such-package==1 --hash=sha256:00\n")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    ran = run_action(broken, tmp_path, event(), comments.url, candidate="x", baseline="y")
    assert (ran.status, ran.outputs["verdict"], comments.asked) == (2, "", [])
    assert "could not be installed" in ran.summary


def test_inputs_travel_by_the_environment_alone() -> None:
    named = {name for step in ACTION["runs"]["steps"] for name in re.findall(r"inputs\.([\w-]+)", str(step))}
    assert named == ACTION["inputs"].keys()
    assert not [step for step in ACTION["runs"]["steps"] if "${{" in step["run"] or "uses" in step]


def test_a_long_report_is_cut_between_lines_and_folds_are_closed(installed: Path, tmp_path: Path) -> None:
    lines = ["<details><summary>s</summary>", *(f"line {n} " + "ü" * 50 for n in range(2_000)), "</details>"]
    (tmp_path / "report").write_text("\n".join(lines), encoding="utf-8")
    body = json.loads(noted(installed, tmp_path, "body", "report", "<!-- m -->"))["body"]
    assert 59_000 < len(body) < 65_536
    assert body.startswith("<!-- m -->\n<details>")
    assert re.search(r"line \d+ ü{50}\n\n</details>\n\n… The rest", body)


def test_the_yaml_of_the_pages_is_eight_lines_and_names_inputs_that_there_are() -> None:
    workflow, job = blocks("docs/pull-requests.md", "yaml")
    step = yaml.safe_load(workflow)
    assert len(workflow.splitlines()) <= 8
    assert step[-1]["with"].keys() <= ACTION["inputs"].keys()
    variables = {f"GATE_{name.upper().replace('-', '_')}" for name in ACTION["inputs"]} | {"GATE_VERSION"}
    (gated,) = (one for one in yaml.safe_load(job).values() if isinstance(one, dict))
    assert gated["variables"].keys() <= variables | {"GATE_SOURCE"}


@pytest.fixture
def gitlab(installed: Path, tmp_path: Path, comments: Comments) -> Callable[..., Any]:
    """The script of the job, as one; the clone is the checkout."""
    job = yaml.safe_load((ROOT / ".ci" / "gitlab.yml").read_text(encoding="utf-8"))[".exactperm"]
    project = tmp_path / "project"
    project.mkdir()
    (tmp_path / "git").write_text('#!/bin/sh\nln -s "$CHECKOUT" "$(eval echo \\${$#})"\n')
    (tmp_path / "git").chmod(0o755)

    def run(candidate: list[int], baseline: list[int], **variables: str) -> Any:
        for name, values in (("new.jsonl", candidate), ("old.jsonl", baseline)):
            rows = [json.dumps({"id": n, "score": score}) + "\n" for n, score in enumerate(values)]
            (project / name).write_text("".join(rows))
        (tmp_path / "project.exactperm").unlink(missing_ok=True)
        environment = {
            "PATH": f"{tmp_path}:/usr/bin:/bin",
            "CHECKOUT": str(installed),
            "CI_PROJECT_DIR": str(project),
            "CI_API_V4_URL": comments.url,
            "CI_MERGE_REQUEST_IID": "3",
            "CI_MERGE_REQUEST_PROJECT_ID": "5",
            "CI_MERGE_REQUEST_SOURCE_PROJECT_ID": "5",
            "GATE_CANDIDATE": "new.jsonl",
            "GATE_BASELINE": "old.jsonl",
            "GATE_TOKEN": TOKEN,
        }
        return bash("\n".join(job["script"]), project, **{**job["variables"], **environment, **variables})

    return run


def test_the_job_of_gitlab_leaves_its_artefacts_and_one_note(
    gitlab: Callable[..., Any], comments: Comments, tmp_path: Path
) -> None:
    folder = tmp_path / "project"
    for candidate, baseline, status, verdict in ((BETTER, WORSE, 0, "pass"), (WORSE, BETTER, 1, "fail")):
        done = gitlab(candidate, baseline)
        assert done.returncode == status, done.stderr
        suites = ET.parse(folder / "gate.xml").getroot()
        assert (suites.find(".//failure") is not None) == (status == 1)
        written = dict(line.split("=") for line in (folder / "gate.env").read_text().splitlines())
        assert (written["gate_verdict"], written["gate_exit_status"]) == (verdict, str(status))
        (note,) = comments.kept
        assert note["body"] == "<!-- exactperm:exactperm -->\n" + (folder / "gate.md").read_text(
            encoding="utf-8"
        )
    assert [one.split()[0] for one in comments.asked] == ["GET", "GET", "POST", "GET", "GET", "PUT"]


def test_the_gitlab_job_reports_incomparable_systems_and_exits_2(
    gitlab: Callable[..., Any], comments: Comments, tmp_path: Path
) -> None:
    done = gitlab(BETTER, WORSE[1:], GATE_TOKEN="")
    assert (done.returncode, comments.asked) == (2, [])
    assert "no GATE_TOKEN, no note" in done.stdout
    error = ET.parse(tmp_path / "project" / "gate.xml").getroot().find(".//error")
    assert error is not None
    assert 'new.jsonl: Without a counterpart in v: "8".' in (error.text or "")
    fork = gitlab(BETTER, WORSE[1:], CI_MERGE_REQUEST_SOURCE_PROJECT_ID="6")
    assert (fork.returncode, comments.asked, "note" in fork.stdout) == (2, [], False)
