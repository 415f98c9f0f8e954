"""The colours of pictures, and what matplotlib needs before it is imported."""

from __future__ import annotations

import os
import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

Theme = Literal["light", "dark"]
SHARED_MEMORY = Path("/dev/shm")  # noqa: S108  (ours alone: checked below)


@dataclass(frozen=True, slots=True)
class Palette:
    """Colours by their part. Tails differ from the rest in lightness and by hatching, not in hue alone."""

    paper: str
    ink: str
    faint: str
    bar: str
    tail: str
    hatch: str
    observed: str


# The tail's vermilion is that of Okabe & Ito's palette for colour-blind readers.
PALETTES: dict[Theme, Palette] = {
    "light": Palette("#ffffff", "#1b1f24", "#d5dae1", "#b4c4d6", "#d55e00", "#7a3600", "#1b1f24"),
    "dark": Palette("#14181d", "#e8ecf1", "#3a424c", "#5b7088", "#ff8f3f", "#ffd9b8", "#ffffff"),
}
# Never drawn: stand-ins that become CSS variables.
STAND_INS = Palette("#010101", "#010102", "#010103", "#010104", "#010105", "#010106", "#010107")
PARTS = ("paper", "ink", "faint", "bar", "tail", "hatch", "observed")


def settings(salt: str) -> dict[str, Any]:
    """rcParams: the same record gives the same bytes, text stays text, and no label is read as mathematics."""
    return {
        "svg.hashsalt": salt,
        "svg.fonttype": "none",
        "text.parse_math": False,
        "text.usetex": False,
        "font.family": ["DejaVu Sans"],
        "font.size": 10.0,
        "axes.unicode_minus": True,
        "hatch.linewidth": 0.7,
        "path.simplify": True,
    }


def prepare() -> None:
    """Give matplotlib a folder for its list of fonts where it has none of its own: home may be read-only or absent.

    Raises
    ------
        OSError: nowhere can be written to; pictures need a temporary folder.
    """
    if os.environ.get("MPLCONFIGDIR"):
        return
    places = [Path(tempfile.gettempdir())] if _has_temporary_folder() else []
    for place in (*places, SHARED_MEMORY):
        folder = place / f"exactperm-matplotlib-{os.getuid()}"
        try:
            folder.mkdir(mode=0o700, exist_ok=True)
        except OSError:
            continue
        if _is_ours(folder):
            os.environ["MPLCONFIGDIR"] = str(folder)
            return
    raise OSError("Pictures need a temporary folder that can be written to.")


def _has_temporary_folder() -> bool:
    try:
        tempfile.gettempdir()
    except FileNotFoundError:
        return False
    return True


def _is_ours(folder: Path) -> bool:
    """Whether it is a folder of this user that nobody else may write to: names in /tmp can be taken by others."""
    found = folder.lstat()
    return (
        stat.S_ISDIR(found.st_mode)
        and found.st_uid == os.getuid()
        and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
        and os.access(folder, os.W_OK)
    )
