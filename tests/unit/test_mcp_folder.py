"""Test files below one folder under concurrent changes."""

import os
from pathlib import Path
from typing import Any

import pytest

from exactperm.errors import BodyTooLarge, InvalidTest
from exactperm.mcp_server.server import Folder


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "root" / "sub").mkdir(parents=True)
    (tmp_path / "root" / "sub" / "a.csv").write_bytes(b"inside")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "a.csv").write_bytes(b"secret")
    return tmp_path / "root"


def swap_for_links(root: Path, what: str) -> None:
    """The folder, or the file, is now a link to the one outside."""
    (root / what).rename(root / "gone")
    (root / what).symlink_to(root.parent / "outside" / what.removeprefix("sub").removeprefix("/"))


@pytest.mark.parametrize("what", ["sub", "sub/a.csv"])
def test_a_link_that_is_put_there_after_the_path_was_resolved_is_not_followed(
    root: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    folder, real = Folder(root, 100), os.open
    opened: list[Any] = []

    def swapping(path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if not opened:
            swap_for_links(root, what)
        opened.append(path)
        return real(path, flags, mode, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", swapping)
    with pytest.raises(InvalidTest) as caught:
        folder.read("sub/a.csv", "/u")
    assert opened
    assert caught.value.flaws[0].code == "unreadable"


def test_no_descriptor_is_left_open_for_any_input(root: Path) -> None:
    os.mkfifo(root / "pipe")
    before = len(list(Path("/proc/self/fd").iterdir()))
    for path in ("sub/a.csv", "sub", "none", "pipe", "sub/a.csv/b", "../outside/a.csv"):
        try:
            Folder(root, 100).read(path, "/u")
        except InvalidTest:
            assert path != "sub/a.csv"
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_the_bytes_of_one_call_are_counted_together(root: Path) -> None:
    folder = Folder(root, 12)
    assert folder.read("sub/a.csv", "/u") == ("a.csv", b"inside")
    assert folder.read("sub/a.csv", "/v") == ("a.csv", b"inside")
    with pytest.raises(BodyTooLarge, match="12 bytes"):
        folder.read("sub/a.csv", "/gold")
    with pytest.raises(BodyTooLarge):
        Folder(root, 5).read("sub/a.csv", "/u")


def test_a_file_without_a_size_is_counted_while_it_is_read() -> None:
    """Files of /proc report no size."""
    assert (Path("/proc/self") / "status").stat().st_size == 0
    with pytest.raises(BodyTooLarge):
        Folder(Path("/proc"), 100).read(f"{os.getpid()}/status", "/u")


def test_a_root_that_is_a_link_is_where_it_leads(root: Path) -> None:
    (root.parent / "link").symlink_to(root)
    assert Folder(root.parent / "link", 100).read("sub/a.csv", "/u")[1] == b"inside"
