"""Pictures are drawn anywhere: no home, nothing that can be written to, somebody's preferences, a lock left behind."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from app.reports.picture.fonts import _is_ours, prepare, printable

ROOT = Path(__file__).resolve().parents[3]
DRAW = """
import sys; sys.path.insert(0, {root!r})
from tests.unit.reports.test_picture import asked
{before}
import hashlib
from app.reports.picture.picture import png, svg
record = asked([1, 2], [0, 1])
print(hashlib.sha256(png(record) + svg(record)).hexdigest())
{after}
"""
REFUSE_WRITES = """
import os
tried = []
def refuse(event, arguments):
    if event == "open" and (arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)):
        tried.append(arguments[0])
        raise OSError(30, "Read-only file system")
    if event in ("os.mkdir", "os.remove", "os.rename", "os.chmod"):
        tried.append(arguments[0])
        raise OSError(30, "Read-only file system")
sys.addaudithook(refuse)
"""
pytestmark = pytest.mark.skipif(os.name != "posix", reason="folders and permissions of POSIX")


def drawn(cwd: Path, before: str = "", after: str = "", **environment: str) -> str:
    """The digest of two pictures drawn by a process of its own, which says nothing else; there is no HOME."""
    done = subprocess.run(
        [sys.executable, "-B", "-W", "error", "-c", DRAW.format(root=str(ROOT), before=before, after=after)],
        cwd=cwd,
        env={"PATH": os.environ["PATH"], **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.strip()


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("usual")
    return drawn(folder, TMPDIR=str(folder))


def test_only_what_the_font_lacks_is_replaced() -> None:
    prepare()
    assert (
        printable("\u03a9 \u2013 \u2265 \u2026 \u05e9 caf\u00e9")
        == "\u03a9 \u2013 \u2265 \u2026 \u05e9 caf\u00e9"
    )
    assert printable("a\u0928\u0e20\u7cfb\ud55cz") == "a\ufffd\ufffd\ufffd\ufffdz"


@pytest.mark.slow
def test_it_writes_a_list_of_fonts_to_a_folder_of_its_own_and_nothing_else(
    tmp_path: Path, usual: str
) -> None:
    cwd, home = tmp_path / "cwd", tmp_path / "home"
    temporary = tmp_path / "tmp"
    for folder in (cwd, home, temporary):
        folder.mkdir()
    cwd.chmod(0o500)
    assert drawn(cwd, TMPDIR=str(temporary), HOME=str(home)) == usual
    assert [*cwd.iterdir(), *home.iterdir()] == []
    (folder,) = temporary.iterdir()
    assert folder.name == f"exactperm-matplotlib-{os.getuid()}"
    assert [path.name.split("-")[0] for path in folder.iterdir()] == ["fontlist"]


@pytest.mark.slow
def test_it_draws_where_nothing_can_be_written(usual: str) -> None:
    assert drawn(Path("/"), REFUSE_WRITES, "assert tried, 'the hook saw nothing'") == usual


@pytest.mark.slow
def test_nobodys_preferences_change_a_picture(tmp_path: Path, usual: str) -> None:
    home = tmp_path / ".config" / "matplotlib"
    home.mkdir(parents=True)
    for folder in (home, tmp_path):
        (folder / "matplotlibrc").write_text("axes.facecolor: yellow\nfont.size: 30\nsavefig.bbox: tight\n")
    assert drawn(tmp_path, TMPDIR=str(tmp_path), HOME=str(tmp_path)) == usual


@pytest.mark.slow
def test_the_lock_of_a_worker_that_was_killed_is_removed(tmp_path: Path, usual: str) -> None:
    folder = tmp_path / f"exactperm-matplotlib-{os.getuid()}"
    folder.mkdir(mode=0o700)
    drawn(tmp_path, TMPDIR=str(tmp_path))
    (fonts,) = folder.iterdir()
    lock = folder / f"{fonts.name}.matplotlib-lock"
    fonts.unlink()
    lock.touch()
    an_hour_ago = time.time() - 3600.0
    os.utime(lock, (an_hour_ago, an_hour_ago))
    assert drawn(tmp_path, TMPDIR=str(tmp_path)) == usual
    assert [path.name for path in folder.iterdir()] == [fonts.name]


def test_a_folder_that_others_may_write_to_is_not_trusted(tmp_path: Path) -> None:
    private, shared, link = tmp_path / "private", tmp_path / "shared", tmp_path / "link"
    private.mkdir(mode=0o700)
    shared.mkdir()
    shared.chmod(0o777)
    link.symlink_to(private)
    assert [_is_ours(folder) for folder in (private, shared, link)] == [True, False, False]
