"""What `exactperm mcp` refuses: files that are not below its root, and arguments that make no request."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason="the extra mcp is not installed")

from mcp import Client

from .assistants import run, text_of

pytestmark = pytest.mark.process
SECRET = "id,u,v\n1,4711,0\n"
FILE = {"file": "in.csv"}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder with everything that somebody might put there; what is outside would be a fine test."""
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
