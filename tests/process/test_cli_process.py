"""Test the command line in a separate process, from any folder, against a real server."""

import contextlib
import json
import os
import pty
import random
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests" / "data"
COMMAND = [sys.executable, "-P", "-m", "exactperm.cli"]
PATIENCE_S = 180.0
CONLLU = [
    DATA / "conllu/crf.conllu",
    DATA / "conllu/perceptron.conllu",
    "--gold",
    DATA / "conllu/gold.conllu",
]
TREC = [DATA / "trec/eval.aplrob03a.txt", DATA / "trec/eval.uic0301.txt", "--measure", "map"]


def environment(**more: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT / "app"), **more}


def run(*arguments: object, cwd: Path = ROOT, **more: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [*COMMAND, *map(str, arguments)],
        cwd=cwd,
        env=environment(**more),
        capture_output=True,
        timeout=PATIENCE_S,
        check=False,
    )


def launcher() -> str:
    """The launcher in .ci/venv."""
    text = (ROOT / ".ci" / "venv").read_text(encoding="utf-8")
    return text.partition("<<'LAUNCHER'\n")[2].partition("\nLAUNCHER\n")[0] + "\n"


def test_the_launcher_works_from_a_folder_that_holds_modules_of_the_same_names(tmp_path: Path) -> None:
    """.venv/bin/exactperm as .ci/venv writes it, through a link, in a folder with other modules."""
    folder = tmp_path / "root" / ".venv" / "bin"
    folder.mkdir(parents=True)
    (folder / "exactperm").write_text(launcher())
    (folder / "exactperm").chmod(0o755)
    (folder / "python").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    (folder / "python").chmod(0o755)
    (tmp_path / "link").symlink_to(folder / "exactperm")
    elsewhere = tmp_path / "else where"
    elsewhere.mkdir()
    for name in ("exactperm.py", "numpy.py", "json.py"):
        (elsewhere / name).write_text("raise SystemExit('the wrong module')")
    (elsewhere / "x.csv").write_text("1,0\n1,0\n")
    found = subprocess.run(
        [tmp_path / "link", "test", "x.csv", "-q"],
        cwd=elsewhere,
        capture_output=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert (found.returncode, found.stderr) == (0, b"")
    assert found.stdout.startswith(b"p=0.5 ")


def same(content: bytes) -> Any:
    """An answer without members that differ each time."""
    return {name: value for name, value in json.loads(content).items() if name != "runtime"}


def test_a_server_gives_the_same_answers_as_this_process(start: Callable[..., Any]) -> None:
    server = start(workers=1)
    for command in (
        ["test", "-q", *CONLLU, "--statistic", "las", "--clusters", "document"],
        ["gate", "-q", *TREC],
        ["gate", "-q", *CONLLU, "--metrics", "upos,las"],
        ["compare", "-q", *CONLLU, "--statistic", "las", "--clusters", "document"],
        ["compare", "-q", DATA / "mqm/newstest2020_ende.tsv", "--higher-is-better", "--adjust", "by"],
    ):
        here, there = run(*command, "-f", "json"), run(*command, "-f", "json", "--url", server.url)
        assert here.stderr == there.stderr == b""
        assert here.returncode == there.returncode
        assert same(here.stdout) == same(there.stdout)
    for format_ in ("text", "csv"):
        here, there = (
            run("test", *TREC, "-f", format_),
            run("test", *TREC, "-f", format_, EXACTPERM_URL=server.url),
        )
        assert (here.returncode, here.stdout) == (there.returncode, there.stdout)
    for options in ([], ["-f", "csv", "--table", "pairs"], ["-f", "svg", "--picture", "heatmap"]):
        board = ["compare", "-q", *TREC, *options]
        here, there = run(*board), run(*board, "--url", server.url)
        assert (here.returncode, here.stdout) == (there.returncode, there.stdout)
        assert here.returncode == 0
    wrong = ["gate", "-q", DATA / "asr/google.tsv", DATA / "conllu/gold.conllu"]
    here, there = run(*wrong), run(*wrong, "--url", server.url)
    assert (here.returncode, here.stdout) == (there.returncode, there.stdout) == (2, b"")
    assert here.stderr == there.stderr


def large(tmp_path: Path) -> Path:
    """A table that method dp needs several seconds for."""
    draw = random.Random(0)
    path = tmp_path / "large.csv"
    path.write_text("".join(f"{draw.randint(0, 2000)},{draw.randint(0, 2000)}\n" for _ in range(9000)))
    return path


def started(*arguments: object) -> subprocess.Popen[bytes]:
    """A process that an interrupt reaches, even where the tests run in the background and ignore it themselves."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return subprocess.Popen(
            [*COMMAND, *map(str, arguments)],
            cwd=ROOT,
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    finally:
        signal.signal(signal.SIGINT, before)


def test_an_interrupt_ends_it_at_once_with_status_130(tmp_path: Path) -> None:
    process = started("test", large(tmp_path), "--method", "dp")
    assert process.stderr is not None
    line = process.stderr.readline()
    assert b"computing" in line or b"reading" in line
    while b"computing" not in line:
        line = process.stderr.readline()
    assert b"planned about" in line
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, output) == (130, b"")
    assert b"Traceback" not in errors


def test_a_deadline_ends_it_with_status_two(tmp_path: Path) -> None:
    found = run("gate", large(tmp_path), "--method", "dp", "--timeout-s", "0.5", "--quiet")
    assert (found.returncode, found.stdout) == (2, b"")
    assert found.stderr.startswith(b"exactperm: The answer was not ready in time.")


def test_a_reader_that_leaves_early_is_not_complained_about() -> None:
    process = started("openapi")
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert process.wait(PATIENCE_S) == 0
    assert process.stderr.read() == b""
    process.stderr.close()


def test_a_closed_pipe_does_not_turn_a_failed_gate_into_a_pass(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("0,1\n" * 10)
    process = started("gate", tmp_path / "x.csv", "-f", "json", "-q")
    assert process.stdout is not None
    process.stdout.close()
    assert process.wait(PATIENCE_S) == 1
    assert process.stderr is not None
    assert process.stderr.read() == b""
    process.stderr.close()


def test_serve_takes_options_before_variables(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*COMMAND, "serve", "--port", "0", "--workers", "1"],
            cwd=tmp_path,
            env=environment(EXACTPERM_PORT="1"),
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        _until_it_says(log, "Uvicorn running on http://127.0.0.1:")
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_S) == 0
    finally:
        process.kill()
        process.wait(PATIENCE_S)
    assert "Traceback" not in log.read_text()
    assert "127.0.0.1:1 " not in log.read_text()


def _until_it_says(log: Path, words: str) -> None:
    end = time.monotonic() + PATIENCE_S
    while words not in log.read_text():
        assert time.monotonic() < end, log.read_text()
        time.sleep(0.05)


def test_python_m_app_with_arguments_is_the_command_line() -> None:
    found = subprocess.run(
        [sys.executable, "-m", "exactperm", "version"],
        cwd=ROOT,
        capture_output=True,
        timeout=PATIENCE_S,
        check=True,
    )
    assert found.stdout.startswith(b"exactperm ")


def test_a_wrong_setting_is_reported_in_one_line() -> None:
    found = subprocess.run(
        [sys.executable, "-m", "exactperm"],
        cwd=ROOT,
        env=environment(EXACTPERM_WORKERS="0"),
        capture_output=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert (found.returncode, found.stdout) == (2, b"")
    assert found.stderr.startswith(b"exactperm: EXACTPERM_WORKERS: ")
    assert found.stderr.count(b"\n") == 1


def test_a_used_port_is_reported_in_one_sentence_with_a_remedy() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        found = run("serve", "--port", port, "--workers", "1")
    assert found.returncode == 3  # uvicorn's, when it cannot start
    assert b"address already in use" in found.stdout
    assert found.stderr.startswith(b"exactperm: 127.0.0.1:%d is in use: stop " % port)
    assert b"EXACTPERM_PORT=" in found.stderr
    assert found.stderr.count(b"\n") == 1
    assert b"Traceback" not in found.stdout + found.stderr


def test_an_unknown_host_is_reported_in_one_sentence() -> None:
    found = run("serve", "--host", "192.0.2.1", "--port", "0", "--workers", "1")  # RFC 5737: nobody's address
    assert found.returncode == 3
    assert found.stderr.startswith(b"exactperm: cannot listen on 192.0.2.1:0: ")
    assert found.stderr.count(b"\n") == 1


@pytest.mark.parametrize("terminal", [True, False], ids=["terminal", "pipe"])
def test_a_terminal_shows_the_address_and_a_pipe_gets_only_the_log(terminal: bool) -> None:
    mine, theirs = pty.openpty() if terminal else os.pipe()
    command = [*COMMAND, "serve", "--port", "0", "--workers", "1"]
    with subprocess.Popen(
        command, cwd=ROOT, env=environment(), stdout=subprocess.PIPE, stderr=theirs
    ) as server:
        os.close(theirs)
        assert server.stdout is not None
        lines = iter(server.stdout.readline, b"")
        running = next(line for line in map(json.loads, lines) if "running on" in line["event"])
        url = re.search(r"http://127\.0\.0\.1:\d+", running["event"])
        assert url is not None
        server.terminate()
        assert server.wait(PATIENCE_S) == 0
        said = b""
        with contextlib.suppress(OSError):  # Linux ends a terminal without a writer with EIO
            while more := os.read(mine, 4096):
                said += more
    os.close(mine)
    if not terminal:
        assert said == b""
        return
    assert said.count(b"\n") == 1
    assert re.match(rb"exactperm [\d.]+\S* listens on %b \(page at /, " % url[0].encode(), said)


PASSED, FAILED, REFUSED = 0, 1, 2


def gate(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-P", "-m", "exactperm.cli", "gate", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT / "app")},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


def table(path: Path, *names: str) -> None:
    """The first column is right on 180 of 200 items, the second on 100."""
    rows = [f"q{n},{int(n % 10 > 0)},{n % 2}" for n in range(200)]
    path.write_text("\n".join([",".join(["id", *names]), *rows]) + "\n")


@pytest.mark.parametrize("policy", ["no_regression", "non_inferior", "improve"])
def test_a_baseline_in_the_first_column_is_not_the_candidate(tmp_path: Path, policy: str) -> None:
    table(tmp_path / "t.csv", "baseline", "candidate")
    found = gate(tmp_path, "t.csv", "--policy", policy)
    assert found.returncode == FAILED, found.stdout
    assert found.stdout.startswith("FAIL: ")
    assert " candidate=0.5 baseline=0.9 " in found.stdout
    assert "u is candidate and v is baseline, by their names." in found.stdout
    table(tmp_path / "t.csv", "candidate", "baseline")
    assert gate(tmp_path, "t.csv", "--policy", policy).returncode == PASSED


def test_unknown_roles_are_refused_and_the_choices_work(tmp_path: Path) -> None:
    table(tmp_path / "t.csv", "gpt-4", "llama")
    found = gate(tmp_path, "t.csv")
    assert (found.returncode, found.stdout) == (REFUSED, "")
    choices = ("--system-u gpt-4 and --system-v llama", "--system-u llama and --system-v gpt-4")
    for choice, status in zip(choices, (PASSED, FAILED), strict=True):
        assert choice in found.stderr
        words = choice.replace(" and ", " ").split()
        assert gate(tmp_path, "t.csv", *words).returncode == status


def test_fewer_errors_are_better_in_any_order_of_files(tmp_path: Path) -> None:
    for name, words in (("ref", "a b c d"), ("good", "a b c d"), ("bad", "a b x d")):
        (tmp_path / f"{name}.trn").write_text("".join(f"{words} (s-{n})\n" for n in range(10, 30)))
    for u, v, status in (("good", "bad", PASSED), ("bad", "good", FAILED)):
        found = gate(tmp_path, f"{u}.trn", f"{v}.trn", "--ref", "ref.trn")
        assert found.returncode == status, found.stdout
        assert " lower_is_better " in found.stdout
        assert " metric=wer " in found.stdout


def test_an_unknown_direction_is_asked_for_as_an_option(tmp_path: Path) -> None:
    for name, score in (("u", 2), ("v", 1)):
        (tmp_path / f"{name}.csv").write_text(
            "id,helpfulness\n" + "".join(f"{n},{score}\n" for n in range(9))
        )
    found = gate(tmp_path, "u.csv", "v.csv", "--input-format", "csv")
    assert found.returncode == REFUSED
    assert "set --higher-is-better, or --lower-is-better if lower is better" in found.stderr
    assert (
        gate(tmp_path, "u.csv", "v.csv", "--input-format", "csv", "--higher-is-better").returncode == PASSED
    )
    assert gate(tmp_path, "u.csv", "v.csv", "--input-format", "csv", "--lower-is-better").returncode == FAILED
