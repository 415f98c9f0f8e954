"""Test `exactperm mcp` in real sessions of the official client: answers to single and concurrent calls, and refusals."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import jsonschema_rs
import pytest
from click.testing import CliRunner
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp_types import CallToolResult, TextContent

from exactperm.cli.commands import cli
from tests.docs_pages import blocks

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-P", "-m", "exactperm.cli", "mcp", "--root"]
PATIENCE_S = 120.0


def environment(**settings: Any) -> dict[str, str]:
    given = {f"EXACTPERM_{name.upper()}": str(value) for name, value in settings.items()}
    return {**os.environ, "PYTHONPATH": str(ROOT / "app"), **given}


@asynccontextmanager
async def session(root: Path, log: Path, mode: str = "auto", **settings: Any) -> AsyncIterator[Client]:
    """A client whose server reads below `root` and writes standard error to `log`."""
    parameters = StdioServerParameters(
        command=COMMAND[0], args=[*COMMAND[1:], str(root)], env=environment(**settings)
    )
    with log.open("w") as errors:
        async with Client(stdio_client(parameters, errlog=errors), mode=mode) as client:
            yield client


def run(
    body: Callable[[Client], Awaitable[None]], root: Path, log: Path, mode: str = "auto", **settings: Any
) -> None:
    """Run `body` in a session, and check standard error afterwards."""

    async def main() -> None:
        with anyio.fail_after(PATIENCE_S):
            async with session(root, log, mode, **settings) as client:
                await body(client)

    anyio.run(main)
    assert "Traceback" not in log.read_text()


def text_of(result: CallToolResult) -> str:
    return "\n".join(part.text for part in result.content if isinstance(part, TextContent))


FILES = ROOT / "openapi" / "examples" / "files"
NEW, OLD = "gpt-3.5-turbo-0125.jsonl.gz", "gpt-4-0613.jsonl.gz"
TOOLS = ["test_files", "gate_files", "compare_files", "power"]
LONG: dict[str, Any] = {"method": "monte_carlo", "samples": 500_000_000, "timeout_s": 500}
ROOMY: dict[str, Any] = {
    "max_items": 10**9,
    "engine_budget_operations": 10**15,
    "worker_memory_bytes": 2**41,
}


def command_line(*arguments: str) -> str:
    """The output of the command line."""
    return CliRunner().invoke(cli, [*arguments, "-q"]).stdout.strip()


def scores(path: Path, wins: int) -> None:
    """U wins every one of so many items by the same: p is 2 / 2**wins."""
    path.write_text("id,u,v\n" + "".join(f"{item},1,0\n" for item in range(wins)))


def heavy(path: Path) -> None:
    """Scores of which half a milliard samples take minutes."""
    path.write_text("id,u,v\n" + "".join(f"{item},{item % 97},{item * 7 % 89}\n" for item in range(9000)))


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_answers_are_the_line_and_the_json_of_the_command_line(tmp_path: Path, mode: str) -> None:
    asked: list[tuple[str, dict[str, Any], list[str]]] = [
        ("test_files", {"file": "scores.csv"}, ["test", str(FILES / "scores.csv"), "-O", "pmf=none"]),
        (
            "gate_files",
            {"u": NEW, "v": OLD, "options": {"policy": "non_inferior", "margin": 0.02}},
            ["gate", str(FILES / NEW), str(FILES / OLD), "--policy=non_inferior", "--margin=0.02", "-Opmf=none"],
        ),
        ("gate_files", {"u": NEW, "against": [OLD], "options": {"pmf": "summary"}},
         ["gate", str(FILES / NEW), "--against", str(FILES / OLD)]),
        ("compare_files", {"files": [NEW, OLD]}, ["compare", str(FILES / NEW), str(FILES / OLD)]),
        ("power", {"solve": "n", "design": {"kind": "binary", "p10": 0.08, "p01": 0.05}},
         ["power", "--solve", "n", "--p10", "0.08", "--p01", "0.05"]),
        ("power", {"solve": "n", "effect": 0.02, "u": NEW, "v": OLD},
         ["power", "--solve", "n", "--effect", "0.02", str(FILES / NEW), str(FILES / OLD)]),
    ]  # fmt: skip

    async def body(client: Client) -> None:
        for tool, arguments, words in asked:
            result = await client.call_tool(tool, arguments)
            assert not result.is_error, text_of(result)
            assert text_of(result) == command_line(*words, "-f", "text")
            answer, same = result.structured_content, json.loads(command_line(*words, "-f", "json"))
            del answer["runtime"], same["runtime"]
            assert answer == same

    run(body, FILES, tmp_path / "log", mode)


def test_tools_are_described_and_a_failed_gate_is_an_answer(tmp_path: Path) -> None:
    async def body(client: Client) -> None:
        tools = (await client.list_tools()).tools
        assert [tool.name for tool in tools] == TOOLS
        for tool in tools:
            jsonschema_rs.meta.validate(tool.input_schema)  # raises
            assert tool.description
            assert tool.annotations is not None
            assert tool.annotations.read_only_hint
        assert client.server_info is not None
        assert client.server_info.name == "exactperm"
        failed = await client.call_tool("gate_files", {"u": NEW, "v": OLD})
        assert not failed.is_error
        assert text_of(failed).startswith(
            "FAIL: no_regression higher_is_better p=1.414e-50 (exact, permutation"
        )
        assert failed.structured_content["verdict"] == "fail"

    run(body, FILES, tmp_path / "log")


def test_many_calls_at_once_get_each_its_own_answer(tmp_path: Path) -> None:
    for wins in range(1, 25):
        scores(tmp_path / f"{wins}.csv", wins)

    async def body(client: Client) -> None:
        found: dict[int, float] = {}

        async def ask(wins: int) -> None:
            result = await client.call_tool("test_files", {"file": f"{wins}.csv"})
            found[wins] = result.structured_content["p_value"]

        async def ask_wrongly(number: int) -> None:
            result = await client.call_tool("test_files", {"file": f"no{number}.csv"})
            assert result.is_error

        async with anyio.create_task_group() as group:
            for wins in range(1, 25):
                group.start_soon(ask, wins)
                group.start_soon(ask_wrongly, wins)
        assert found == {wins: 2 / 2**wins for wins in range(1, 25)}

    run(body, tmp_path, tmp_path / "log")


def test_a_long_call_blocks_no_other_and_stops_when_cancelled(
    tmp_path: Path,
) -> None:
    heavy(tmp_path / "heavy.csv")
    scores(tmp_path / "5.csv", 5)

    async def body(client: Client) -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(client.call_tool, "test_files", {"file": "heavy.csv", "options": LONG})
            await anyio.sleep(1)
            assert len((await client.list_tools(cache_mode="refresh")).tools) == len(TOOLS)
            group.cancel_scope.cancel()
        short = await client.call_tool("test_files", {"file": "5.csv"})
        assert short.structured_content["p_value"] == 2 / 2**5
        began = time.monotonic()
        late = await client.call_tool(
            "test_files", {"file": "heavy.csv", "options": {**LONG, "timeout_s": 0.5}}
        )
        assert late.is_error
        assert "not ready in time" in text_of(late)
        assert time.monotonic() - began < 60  # minutes, if it had not been stopped

    run(body, tmp_path, tmp_path / "log", **ROOMY)


def test_without_a_deadline_of_its_own_a_call_has_that_of_the_settings(tmp_path: Path) -> None:
    heavy(tmp_path / "heavy.csv")

    async def body(client: Client) -> None:
        options = {name: value for name, value in LONG.items() if name != "timeout_s"}
        late = await client.call_tool("test_files", {"file": "heavy.csv", "options": options})
        assert late.is_error
        assert late.structured_content["type"].endswith("#deadline-exceeded")

    run(body, tmp_path, tmp_path / "log", default_timeout_s=0.5, **ROOMY)


def test_an_answer_that_is_too_long_is_left_out_with_a_sentence(tmp_path: Path) -> None:
    names = [f"system{number}" for number in range(40)]
    rows = [[item * 7 * number % 11 for number in range(40)] for item in range(30)]
    table = "\n".join(",".join(map(str, [item, *row])) for item, row in enumerate(rows))
    (tmp_path / "board.csv").write_text(",".join(["id", *names]) + "\n" + table + "\n")

    async def body(client: Client) -> None:
        whole = await client.call_tool("compare_files", {"file": "board.csv"})
        assert not whole.is_error
        assert whole.structured_content is None
        line, sentence = text_of(whole).split("\n")
        assert line.startswith("best of 40: system14, system25, ")
        assert " and 26 more (holm, 780 pairs, exact): " in line
        assert "left out" in sentence
        less = await client.call_tool("compare_files", {"file": "board.csv", "options": {"pairs": "none"}})
        assert len(less.structured_content["systems"]) == 40
        assert less.structured_content["pairs"] == []

    run(body, tmp_path, tmp_path / "log")


def started(root: Path, **settings: Any) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [*COMMAND, str(root)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(**settings),
    )


def message(number: int | None, method: str, **params: Any) -> bytes:
    numbered = {} if number is None else {"id": number}
    return json.dumps({"jsonrpc": "2.0", **numbered, "method": method, "params": params}).encode() + b"\n"


HELLO = message(
    0,
    "initialize",
    protocolVersion="2025-06-18",
    capabilities={},
    clientInfo={"name": "test", "version": "1"},
) + message(None, "notifications/initialized")


def test_only_the_protocol_is_on_standard_output_for_any_input(tmp_path: Path) -> None:
    scores(tmp_path / "5.csv", 5)
    call = message(7, "tools/call", name="test_files", arguments={"file": "5.csv"})
    rubbish = [
        b"\n",
        b"no JSON\n",
        b"\xff\xfe\n",
        b"[]\n",
        b"{}\n",
        b'{"jsonrpc": "2.0", "id": 1}\n',
        b"[" * 5000 + b"\n",
    ]
    rubbish += [
        call.replace(b'"5.csv"', b"NaN").replace(b"7", b"8", 1),
        message(9, "tools/call", name="test_files"),
    ]
    rubbish += [
        message(10, "tools/call", name=5),
        message(11, "no/such"),
        message(12, "tools/call", arguments=[]),
    ]
    with started(tmp_path) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(HELLO + b"".join(rubbish) + call)
        server.stdin.flush()
        lines: list[bytes] = []
        while not any(b'"id":7' in line for line in lines):  # it answers while its input is open
            lines.append(server.stdout.readline())
            assert lines[-1], "it ended"
        out, err = server.communicate(timeout=PATIENCE_S)
        out = b"".join(lines) + out
    answers = [json.loads(line) for line in out.splitlines()]
    assert {one["jsonrpc"] for one in answers} == {"2.0"}
    by_id = {one.get("id"): one for one in answers}
    assert by_id[7]["result"]["structuredContent"]["p_value"] == 2 / 2**5
    for number in (8, 9):
        assert by_id[number]["result"]["isError"]
    for number in (10, 11, 12):
        assert "error" in by_id[number]
    assert b"Traceback" not in out + err
    assert server.returncode == 0


def test_numbers_that_no_double_holds_are_refused_and_not_read_as_0(tmp_path: Path) -> None:
    asked = {
        1: ('{"solve": "n", "effect": 1e-400, "design": {"kind": "sd", "sd": 0.4}}', "/effect"),
        2: ('{"solve": "n", "effect": 0.1, "design": {"kind": "sd", "sd": 1e-400}}', "/design/sd"),
        3: ('{"solve": "n", "effect": 0.1, "design": {"kind": "sd", "sd": 0.4}}', None),
        4: ('{"solve": "n", "effect": 0.1, "design": {"kind": "sd", "sd": 0e-400}}', "/design/sd"),
    }
    calls = [
        f'{{"jsonrpc":"2.0","id":{number},"method":"tools/call","params":{{"name":"power","arguments":{arguments}}}}}\n'
        for number, (arguments, _) in asked.items()
    ]
    with started(tmp_path) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(HELLO + "".join(calls).encode())
        server.stdin.flush()
        answers = [json.loads(server.stdout.readline()) for _ in range(5)]
        server.communicate(timeout=PATIENCE_S)
    by_id = {one["id"]: one["result"] for one in answers}
    for number, (_, pointer) in asked.items():
        assert by_id[number]["isError"] == (pointer is not None)
        flaws = by_id[number]["structuredContent"].get("errors", [])
        assert [flaw["pointer"] for flaw in flaws] == ([] if pointer is None else [pointer])
        if flaws:
            assert (flaws[0]["code"] == "number_too_small") == (number < 4)


def ends_input(server: subprocess.Popen[bytes]) -> None:
    assert server.stdin is not None
    server.stdin.close()


@pytest.mark.parametrize(
    ("end", "status"),
    [(ends_input, 0), (lambda server: server.send_signal(signal.SIGINT), 130),
     (lambda server: server.terminate(), -signal.SIGTERM)],
    ids=["end-of-input", "SIGINT", "SIGTERM"],
)  # fmt: skip
def test_it_ends_with_its_client_in_the_middle_of_a_computation(
    tmp_path: Path, end: Callable[[subprocess.Popen[bytes]], None], status: int
) -> None:
    heavy(tmp_path / "heavy.csv")
    with started(tmp_path, **ROOMY) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(HELLO)
        server.stdin.write(
            message(1, "tools/call", name="test_files", arguments={"file": "heavy.csv", "options": LONG})
        )
        server.stdin.flush()
        assert b'"serverInfo"' in server.stdout.readline()
        time.sleep(1)  # it computes
        try:
            end(server)
            assert server.wait(PATIENCE_S) == status
        finally:
            server.kill()
        assert server.stderr is not None
        assert b"Traceback" not in server.stderr.read()


def test_the_page_of_assistants_matches_the_tools(tmp_path: Path) -> None:
    configured, asked = (json.loads(block) for block in blocks("docs/assistants.md", "json"))
    (line,) = blocks("docs/assistants.md", "text")
    (server,) = configured["mcpServers"].values()
    assert (server["command"], server["args"][:-1]) == ("exactperm", COMMAND[-2:])

    async def body(client: Client) -> None:
        result = await client.call_tool(asked["name"], asked["arguments"])
        assert text_of(result).startswith(line.strip())

    run(body, FILES, tmp_path / "log")


SECRET = "id,u,v\n1,4711,0\n"
FILE = {"file": "in.csv"}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder with hostile entries; the files outside would be a valid test."""
    root = tmp_path / "root"
    (root / "sub").mkdir(parents=True)
    (tmp_path / "secret.csv").write_text(SECRET)
    (tmp_path / "root2").mkdir()
    (tmp_path / "root2" / "secret.csv").write_text(SECRET)
    (root / "in.csv").write_text("id,u,v\n1,1,0\n2,1,0\n")
    (root / "sub" / "inner.csv").symlink_to("../in.csv")
    (root / "abroad").symlink_to("sub")
    (root / "out.csv").symlink_to(tmp_path / "secret.csv")
    (root / "nowhere.csv").symlink_to(tmp_path / "not there.csv")
    (root / "away").symlink_to(tmp_path)
    (root / "sibling").symlink_to(tmp_path / "root2")
    (root / "loop").symlink_to("loop")
    (root / "passwd").symlink_to("/etc/passwd")
    (root / "null").symlink_to("/dev/null")
    os.mkfifo(root / "pipe")
    os.truncate(os.open(root / "huge.csv", os.O_CREAT | os.O_WRONLY), 2**40)
    (root / "half.csv").write_bytes(b"#" * 600_000)
    return root


OUTSIDE: list[Any] = [
    "../secret.csv", "sub/../../secret.csv", "sub/../in.csv", "..", "/etc/passwd", "//etc/passwd", "out.csv", "nowhere.csv", "away/secret.csv",
    "away/root/in.csv/../../secret.csv", "sibling/secret.csv", "passwd", "null", "loop", "in.csv\0", "/", "/dev/stdin",
]  # fmt: skip
UNREADABLE = [
    "none.csv",
    "~/secret.csv",
    "$HOME",
    "in.csv/x",
    "a" * 5000,
    "sub/" * 2000 + "x",
    "file:///etc/passwd",
]
NOT_FILES = ["sub", ".", "./", "pipe", "abroad"]
NOT_PATHS: list[Any] = ["", 5, True, ["in.csv"], {"path": "in.csv"}, 1.5, []]
CASES = [
    *((path, "outside") for path in OUTSIDE),
    *((path, "unreadable") for path in UNREADABLE),
    *((path, "not_a_file") for path in NOT_FILES),
    *((path, "not_a_path") for path in NOT_PATHS),
]


def test_only_regular_files_below_the_root_are_read(root: Path, tmp_path: Path) -> None:
    async def body(client: Client) -> None:
        sentences = {}
        for path, code in CASES:
            result = await client.call_tool("test_files", {"file": path})
            assert result.is_error, path
            (flaw,) = result.structured_content["errors"]
            assert (flaw["code"], flaw["pointer"]) == (code, "/file"), path
            assert f"at /file ({code})" in text_of(result)
            assert "4711" not in text_of(result)
            sentences[str(path)] = text_of(result)
        assert sentences["out.csv"] == sentences["nowhere.csv"]  # what is outside cannot be found out
        for path in ("in.csv", "sub/inner.csv", "abroad/inner.csv", "./sub//inner.csv"):
            found = await client.call_tool("test_files", {"file": path})
            assert not found.is_error, path
            assert found.structured_content["p_value"] == 0.5

    run(body, root, tmp_path / "log")


def test_pointers_say_which_of_many_paths_leads_out(root: Path, tmp_path: Path) -> None:
    asked: list[tuple[str, dict[str, Any], str]] = [
        ("test_files", {"u": "in.csv", "v": "../secret.csv"}, "/v"),
        ("test_files", {**FILE, "gold": "out.csv"}, "/gold"),
        ("gate_files", {"u": "in.csv", "against": ["in.csv", "out.csv"]}, "/against/1"),
        ("gate_files", {"u": "in.csv", "against": {"a/b": "out.csv"}}, "/against/a~1b"),
        ("compare_files", {"files": ["in.csv", "away/secret.csv"]}, "/files/1"),
        ("compare_files", {"files": {"x": "in.csv", "y": "/etc/passwd"}}, "/files/y"),
        ("compare_files", {**FILE, "qrels": "/etc/passwd"}, "/qrels"),
        ("power", {"solve": "n", "effect": 0.1, "file": "passwd"}, "/file"),
    ]

    async def body(client: Client) -> None:
        for tool, arguments, pointer in asked:
            result = await client.call_tool(tool, arguments)
            assert result.is_error, arguments
            (flaw,) = result.structured_content["errors"]
            assert (flaw["code"], flaw["pointer"]) == ("outside", pointer)

    run(body, root, tmp_path / "log")


def test_files_of_too_many_bytes_are_refused_before_they_are_read(root: Path, tmp_path: Path) -> None:
    async def body(client: Client) -> None:
        for arguments in (
            {"file": "huge.csv"},
            {"u": "in.csv", "v": "huge.csv"},
            {"u": "half.csv", "v": "half.csv"},  # together
        ):
            result = await client.call_tool("test_files", arguments)
            assert result.is_error
            assert result.structured_content["type"].endswith("#body-too-large")
            assert "1,000,000 bytes" in text_of(result)

    run(body, root, tmp_path / "log", max_body_bytes=1_000_000)


HOSTILE: list[tuple[str, dict[str, Any], str, str]] = [
    ("no_such_tool", {}, "", "unknown_tool"),
    ("test_files", {}, "", "missing"),
    ("gate_files", {"gold": "in.csv"}, "", "missing"),
    ("compare_files", {}, "", "missing"),
    ("compare_files", {"files": []}, "/files", "not_paths"),
    ("compare_files", {"files": {}}, "/files", "not_paths"),
    ("compare_files", {"files": "in.csv"}, "/files", "not_paths"),
    ("gate_files", {"u": "in.csv", "against": 5}, "/against", "not_paths"),
    ("test_files", {**FILE, "statistic": "sign"}, "/statistic", "unknown_argument"),
    ("test_files", {**FILE, "a/b": 1}, "/a~1b", "unknown_argument"),
    ("test_files", {**FILE, "options": "alpha=0.1"}, "/options", "not_an_object"),
    ("test_files", {**FILE, "options": [1]}, "/options", "not_an_object"),
    ("test_files", {**FILE, "options": {"u": "in.csv"}}, "/options/u", "a_file"),
    ("gate_files", {**FILE, "options": {"against": "/etc/passwd"}}, "/options/against", "a_file"),
    ("compare_files", {**FILE, "options": {"system": "/etc/passwd"}}, "/options/system", "a_file"),
    ("test_files", {**FILE, "options": {"no": 1}}, "/options/no", "unknown_parameter"),
    ("test_files", {**FILE, "options": {"alpha": [[]]}}, "/options/alpha", "float_type"),
    ("test_files", {**FILE, "options": {"statistic": {"name": "sign"}}}, "/options/statistic", "unknown_statistic"),
    ("compare_files", {"files": {"a": "in.csv"}, "options": {"names": "b"}}, "/options/names", "duplicate_parameter"),
    ("gate_files", {"u": "in.csv", "against": {"a": "in.csv"}, "options": {"names": "b"}}, "/options/names", "duplicate_parameter"),
    ("power", {"solve": "n", "alpha": 0.1, "options": {"alpha": 0.2}}, "/options/alpha", "duplicate_parameter"),
    ("power", {}, "/design", "missing"),
    ("power", {"solve": "n", "design": {"kind": "binary", "p10": 2}}, "/design/p10", "less_than_equal"),
    ("power", {"solve": "n", "design": "in.csv"}, "/design", "model_type"),
]  # fmt: skip


def test_every_wrong_argument_is_a_sentence_with_a_pointer(root: Path, tmp_path: Path) -> None:
    async def body(client: Client) -> None:
        for tool, arguments, pointer, code in HOSTILE:
            result = await client.call_tool(tool, arguments)
            assert result.is_error, arguments
            flaws = [(flaw["pointer"], flaw["code"]) for flaw in result.structured_content["errors"]]
            assert (pointer, code) in flaws, (arguments, flaws)
            assert f"at {pointer or '/'} ({code})" in text_of(result)
            assert "instance" not in result.structured_content
        nothing = await client.call_tool("test_files", {**FILE, "gold": None, "options": {"alpha": None}})
        assert nothing.structured_content["p_value"] == 0.5  # null is what was not given

    run(body, root, tmp_path / "log")
