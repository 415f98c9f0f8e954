"""The boards of docs/real-boards.md and the recipes of docs/gates.md, run as they stand with real evaluation logs."""

import json
import os
import re
import subprocess
import textwrap
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from tests.docs_pages import ROOT, blocks, read
from tests.process.conftest import Server
from tests.process.test_docs_console import run as run_block

PAGE, PICTURE = "docs/real-boards.md", "docs/leaderboard-wmt20.svg"
PACK = ROOT.parent / "shared" / "data"
COMMANDS = blocks(PAGE, "bash")
MOST_BYTES = 60_000

pytestmark = pytest.mark.pack


@pytest.mark.parametrize("command", [command for command in COMMANDS if "-f markdown" in command])
def test_boards_of_the_page_match_the_output_of_their_commands(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATA", str(PACK))
    result = run_block(f"set -e; {command.rstrip()} --quiet", ROOT, tmp_path)
    assert result.returncode == 0, result.stdout
    printed = result.stdout.partition("\n\nRank ranges hold")[0]
    shown = read(PAGE).partition(command)[2].removeprefix("```\n\n")
    assert printed.count("\n| ") >= 4
    assert shown.startswith(f"{printed}\n\n")


def test_the_picture_of_the_page_is_the_one_that_its_command_draws(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (command,) = [command for command in COMMANDS if "-o leaderboard-wmt20.svg" in command]
    monkeypatch.setenv("DATA", str(PACK))
    result = run_block(command, tmp_path, tmp_path)
    assert result.returncode == 0, result.stdout
    drawn, kept = tmp_path / "leaderboard-wmt20.svg", ROOT / PICTURE
    assert texts(drawn) == texts(kept)
    assert "10 systems" in " ".join(texts(kept))
    assert "45 exact" in " ".join(texts(kept))
    assert kept.stat().st_size < MOST_BYTES


def texts(picture: Path) -> list[str]:
    """Every text of a picture, its description among them."""
    return [text.strip() for text in ET.parse(picture).getroot().itertext() if text.strip()]


def test_the_data_sets_of_the_page_print_the_shown_output(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ((script, output),) = re.findall(
        r"^```python\n(.*?)```\n\n```text\n(.*?)```$", read(PAGE), re.MULTILINE | re.DOTALL
    )
    exec(compile(script, PAGE, "exec"), {"DATA": PACK})
    assert capsys.readouterr().out == output
    assert [line.split(",")[0].split()[-1] for line in output.splitlines()].count("tied") == 3
    alone = [float(p) for p in re.findall(r", p ([\d.e-]+)", output)][1:]
    assert sum(p > 0.05 for p in alone) == 2  # the largest of three is not adjusted by a family of its own


BETTER = PACK / "llm_jsonl" / "eus_trivia" / "gpt-4-0613.jsonl"
WORSE = PACK / "llm_jsonl" / "eus_trivia" / "gpt-3.5-turbo-0125.jsonl"
CATEGORY = "Hizkuntza eta Literatura"  # 293 questions
CURL_HTTP_ERROR = 22


def block(language: str, holding: str) -> str:
    (text,) = [text for text in blocks("docs/gates.md", language) if holding in text]
    return text


def github_script() -> str:
    text = block("yaml", "GITHUB_STEP_SUMMARY")
    assert "shell: bash\n" in text
    return textwrap.dedent(re.split(r"^ +run: \|\n", text, flags=re.MULTILINE)[1])


def gitlab_script() -> str:
    lines = re.findall(r"^    - (.+)$", block("yaml", "artifacts:"), flags=re.MULTILINE)
    assert lines
    return "\n".join(lines)


@pytest.fixture
def live(start: Callable[..., Server]) -> Server:
    return start(workers=1)


def run(
    folder: Path, server: Server, script: str, candidate: Path, baseline: Path, *, arguments: bool = False
) -> subprocess.CompletedProcess[str]:
    """Run a script as GitHub's runners do: bash that stops at the first error, in a pipe, too."""
    for name, source in (("candidate.jsonl", candidate), ("baseline.jsonl", baseline)):
        (folder / name).write_bytes(source.read_bytes())
    path = folder / "script.sh"
    path.write_text(script)
    shell = ["bash", "--noprofile", "--norc", "-eo", "pipefail"] if not arguments else ["bash"]
    return subprocess.run(
        [*shell, str(path), *(["candidate.jsonl", "baseline.jsonl"] if arguments else [])],
        cwd=folder,
        env={**os.environ, "EXACTPERM_URL": server.url, "GITHUB_STEP_SUMMARY": str(folder / "summary.md")},
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )


def of_category(source: Path, folder: Path, *, more: int = 0) -> Path:
    """The questions of one category, and some of the others."""
    lines = [(json.loads(line), line) for line in source.read_text(encoding="utf-8").splitlines()]
    kept = [line for row, line in lines if row["category"] == CATEGORY]
    kept += [line for row, line in lines if row["category"] != CATEGORY][:more]
    path = folder / f"{source.stem}-{len(kept)}.jsonl"
    path.write_text("\n".join(kept) + "\n", encoding="utf-8")
    return path


def test_the_shell_script_passes_the_same_fails_the_worse_and_cannot_compare_293_with_294(
    tmp_path: Path, live: Server
) -> None:
    script = block("bash", "gate.sh CANDIDATE BASELINE")
    same = run(tmp_path, live, script, BETTER, BETTER, arguments=True)
    assert (same.returncode, same.stdout[:4].lower()) == (0, "pass"), same
    worse = run(tmp_path, live, script, WORSE, BETTER, arguments=True)
    assert (worse.returncode, worse.stdout[:4].lower()) == (1, "fail"), worse
    fewer, more = of_category(BETTER, tmp_path), of_category(WORSE, tmp_path, more=1)
    assert [len(path.read_text(encoding="utf-8").splitlines()) for path in (fewer, more)] == [293, 294]
    unpaired = run(tmp_path, live, script, fewer, more, arguments=True)
    assert unpaired.returncode == 2
    assert json.loads(unpaired.stdout)["status"] == 422


def test_the_step_of_github_actions_stops_the_job_and_keeps_the_report(tmp_path: Path, live: Server) -> None:
    script = github_script()
    assert run(tmp_path, live, script, BETTER, WORSE).returncode == 0
    (tmp_path / "summary.md").unlink()
    failed = run(tmp_path, live, script, WORSE, BETTER)
    assert failed.returncode == CURL_HTTP_ERROR
    summary = (tmp_path / "summary.md").read_text(encoding="utf-8")
    assert summary == failed.stdout
    assert "fail" in summary.lower()
    assert "1,715" in summary


def test_the_job_of_gitlab_stops_and_keeps_the_test_results(tmp_path: Path, live: Server) -> None:
    script = gitlab_script()
    assert run(tmp_path, live, script, BETTER, WORSE).returncode == 0
    assert ET.parse(tmp_path / "gate.xml").getroot().find(".//failure") is None
    assert run(tmp_path, live, script, WORSE, BETTER).returncode == CURL_HTTP_ERROR
    assert ET.parse(tmp_path / "gate.xml").getroot().find(".//failure") is not None


def test_a_server_that_is_not_there_is_not_a_pass(tmp_path: Path, live: Server) -> None:
    live.stop()
    assert run(tmp_path, live, block("bash", "gate.sh"), BETTER, BETTER, arguments=True).returncode == 2
    assert run(tmp_path, live, github_script(), BETTER, BETTER).returncode != 0
