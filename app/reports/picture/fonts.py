"""What matplotlib needs before it is imported, and what its one font can draw."""

from __future__ import annotations

import logging
import os
import stat
import tempfile
import time
from functools import cache
from pathlib import Path

SHARED_MEMORY = Path("/dev/shm")  # noqa: S108  (ours alone: checked below)
FAMILY = "DejaVu Sans"
# Longer than it takes to write a list of fonts: whoever locked it is gone.
STALE_SECONDS = 10.0


@cache
def prepare() -> None:
    """Let matplotlib be imported anywhere, silently: home may be absent or read-only, and so may all folders be.

    Its list of fonts is kept in a temporary folder of this user. Where there is none, it is made again in every
    process, in memory.
    """
    # Nobody's preferences are read: a picture is the same everywhere.
    os.environ.setdefault("MATPLOTLIBRC", os.devnull)
    if os.environ.get("MPLCONFIGDIR"):
        return
    folder = _folder()
    if folder is None:
        _do_without()
        return
    _unlock(folder)
    os.environ["MPLCONFIGDIR"] = str(folder)


def printable(text: str) -> str:
    """The text with what the font lacks replaced: there is no other font to be counted on."""
    from matplotlib.font_manager import FontProperties, findfont, get_font

    font = get_font(findfont(FontProperties(family=[FAMILY])))
    return "".join(char if font.get_char_index(ord(char)) else "\N{REPLACEMENT CHARACTER}" for char in text)


def _folder() -> Path | None:
    try:
        places = [Path(tempfile.gettempdir()), SHARED_MEMORY]
    except FileNotFoundError:
        places = [SHARED_MEMORY]
    for parent in places:
        folder = parent / f"exactperm-matplotlib-{os.getuid()}"
        try:
            folder.mkdir(mode=0o700, exist_ok=True)
        except OSError:
            continue
        if _is_ours(folder):
            return folder
    return None


def _is_ours(folder: Path) -> bool:
    """Whether it is a folder of this user that nobody else may write to: names in /tmp can be taken by others."""
    status = folder.lstat()
    return (
        stat.S_ISDIR(status.st_mode)
        and status.st_uid == os.getuid()
        and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
        and os.access(folder, os.W_OK)
    )


def _unlock(folder: Path) -> None:
    """A worker that was killed while it wrote leaves a lock, for which every later one would wait five seconds."""
    for lock in folder.glob("*.matplotlib-lock"):
        try:
            if time.time() - lock.stat().st_mtime > STALE_SECONDS:
                lock.unlink(missing_ok=True)
        except OSError:
            continue  # its owner has just removed it


def _do_without() -> None:
    """Import the list of fonts with a cache that is neither found nor written, without a word about it."""
    import matplotlib as mpl

    mpl.get_cachedir = mpl.get_configdir = lambda: os.devnull
    log = logging.getLogger("matplotlib.font_manager")
    before = log.level
    log.setLevel(logging.ERROR)
    try:
        import matplotlib.font_manager  # noqa: F401
    finally:
        log.setLevel(before)
