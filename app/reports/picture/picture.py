"""The null distribution with the observed value and the shaded tail, as SVG and PNG (the paper's Figure 2).

matplotlib is imported for the first picture, in a worker, and never in the web process.
"""

from __future__ import annotations

import io
import re
import threading
import warnings
from dataclasses import replace
from typing import Any

from ...inference.record import TestRecord
from .fonts import prepare, printable
from .markup import finished, in_tags
from .scene import Scene, scene
from .style import PALETTES, PARTS, STAND_INS, Palette, Theme, settings

DOTS_PER_INCH = 160
_ONE_AT_A_TIME = threading.Lock()  # rcParams and warning filters are global
_STAND_IN = re.compile("|".join(getattr(STAND_INS, part) for part in PARTS))


def svg(record: TestRecord, theme: Theme = "light", note: str = "") -> bytes:
    """A picture as a file of its own; the same record gives the same bytes."""
    content = scene(record, note)
    drawn = _saved(content, PALETTES[theme], record.digest, "svg").decode()
    text = finished(drawn, "null", content.title, content.description)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{text}\n'.encode()


def png(record: TestRecord, theme: Theme = "light", note: str = "") -> bytes:
    """A picture at twice the usual resolution."""
    return _saved(scene(record, note), PALETTES[theme], record.digest, "png")


def inline_svg(record: TestRecord, note: str = "", number: int = 0) -> str:
    """A picture for a page: it follows the page's light or dark, and several of them do not get in each other's way.

    `number` tells pictures of one record on one page apart.
    """
    name = f"n{record.digest[:12]}" + (f"-{number}" if number else "")
    content = scene(record, note)
    drawn = _saved(content, STAND_INS, record.digest, "svg").decode()
    light, dark = (
        _variables(name, replace(PALETTES[theme], paper="transparent")) for theme in ("light", "dark")
    )
    style = f"<style>#{name}{{{light}}}@media (prefers-color-scheme:dark){{#{name}{{{dark}}}}}</style>"
    parts = {getattr(STAND_INS, part): f"var(--{name}-{part})" for part in PARTS}
    return in_tags(
        finished(drawn, name, content.title, content.description, style),
        lambda tag: _STAND_IN.sub(lambda match: parts[match[0]], tag),
    )


def _variables(name: str, palette: Palette) -> str:
    return "".join(f"--{name}-{part}:{getattr(palette, part)};" for part in PARTS)


def _saved(content: Scene, palette: Palette, salt: str, kind: str) -> bytes:
    prepare()
    import matplotlib as mpl

    from .drawing import draw

    if kind == "png":
        content = replace(content, statistic=printable(content.statistic))
    out = io.BytesIO()
    metadata = {"Date": None, "Creator": None} if kind == "svg" else {"Software": None}
    parameters: Any = {**mpl.rcParamsDefault, **settings(salt)}
    with _ONE_AT_A_TIME, mpl.rc_context(parameters), warnings.catch_warnings():
        # The reader's fonts draw an SVG; that ours lacks a character says nothing about them.
        warnings.filterwarnings("ignore", r"Glyph \d+ .* missing from font")
        draw(content, palette).savefig(out, format=kind, dpi=DOTS_PER_INCH, metadata=metadata)
    return out.getvalue()
