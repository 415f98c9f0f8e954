"""The font's widths are those that Pillow measures; pictures are drawn anywhere, also where nothing can be written."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import ImageFont

from exactperm.reports.picture.canvas import FOLDER, advance, printable

ROOT = Path(__file__).resolve().parents[3]
DRAW = """
import os, sys; sys.path.insert(0, {root!r})
from tests.unit.reports.test_picture import asked
from exactperm.reports.picture.pictures import png, svg
record = asked([1, 2], [0, 1])
{before}
import hashlib
print(hashlib.sha256(png(record) + svg(record)).hexdigest())
"""
REFUSE_WRITES = """
def refuse(event, arguments):
    written = event == "open" and (arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))
    if written or event in ("os.mkdir", "os.remove", "os.rename", "os.chmod"):
        raise OSError(30, "Read-only file system")
sys.addaudithook(refuse)
"""


def drawn(cwd: Path, before: str = "", **environment: str) -> str:
    """The digest of two pictures drawn by a process of its own, which says nothing else; there is no HOME."""
    done = subprocess.run(
        [sys.executable, "-B", "-W", "error", "-c", DRAW.format(root=str(ROOT), before=before)],
        cwd=cwd,
        env={"PATH": os.environ["PATH"], **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.strip()


def test_only_what_the_font_lacks_is_replaced() -> None:
    text = "\u03a9 \u2013 \u2265 \u2026 \u05e9 caf\u00e9"
    assert printable(text) == text
    assert printable("a\u0928\u0e20\u7cfb\ud55cz") == "a\ufffd\ufffd\ufffd\ufffdz"


def test_every_width_is_that_of_the_font() -> None:
    font = ImageFont.truetype(FOLDER / "DejaVuSans.ttf", 2048, layout_engine=ImageFont.Layout.BASIC)
    for code in (*range(0x20, 0x7F), *range(0xA0, 0x180), 0x3A9, 0x2212, 0x2026, 0x2265, 0x1D400):
        assert advance(chr(code)) == pytest.approx(font.getlength(chr(code)) / 2048, abs=1e-3), hex(code)


@pytest.mark.slow
def test_it_draws_where_nothing_can_be_written(tmp_path: Path) -> None:
    assert drawn(Path("/"), REFUSE_WRITES) == drawn(tmp_path, TMPDIR=str(tmp_path), HOME=str(tmp_path))
    assert [*tmp_path.iterdir()] == []
