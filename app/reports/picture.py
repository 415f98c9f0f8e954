"""The null distribution with the observed value and the shaded tail, as SVG and PNG (the paper's Figure 2).

matplotlib is imported when the first picture is asked for, in a worker, and never in the web process.
"""

from __future__ import annotations

import io
import re
import threading
from dataclasses import replace
from html import escape
from typing import Any

from app.inference.record import TestRecord
from app.reports.picture_scene import scene
from app.reports.picture_style import PALETTES, PARTS, STAND_INS, Palette, Theme, prepare, settings

DOTS_PER_INCH = 160
FONTS = "system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif"
_ONE_AT_A_TIME = threading.Lock()  # rcParams are global


def svg(record: TestRecord, theme: Theme = "light", note: str = "") -> bytes:
    """A picture as a file of its own; the same record gives the same bytes."""
    text = _svg(record, PALETTES[theme], note)
    head = '<?xml version="1.0" encoding="utf-8"?>\n'
    return (head + text + "\n").encode()


def png(record: TestRecord, theme: Theme = "light", note: str = "") -> bytes:
    """A picture at twice the usual resolution."""
    return _saved(record, PALETTES[theme], note, "png")


def inline_svg(record: TestRecord, note: str = "") -> str:
    """A picture for a page: it follows the page's light or dark, and several of them do not get in each other's way."""
    name = "n" + record.digest[:12]
    text = _svg(record, STAND_INS, note, name)
    for part in PARTS:
        text = text.replace(getattr(STAND_INS, part), f"var(--{name}-{part})")
    light, dark = (
        _variables(name, replace(PALETTES[theme], paper="transparent")) for theme in ("light", "dark")
    )
    style = f"#{name}{{{light}}}@media (prefers-color-scheme:dark){{#{name}{{{dark}}}}}"
    return text.replace("<title", f"<style>{style}</style><title", 1)


def _variables(name: str, palette: Palette) -> str:
    return "".join(f"--{name}-{part}:{getattr(palette, part)};" for part in PARTS)


def _svg(record: TestRecord, palette: Palette, note: str, name: str = "null") -> str:
    """matplotlib's SVG without its prologue and dates, with a title and a description, and ids of its own."""
    drawn = _saved(record, palette, note, "svg").decode()
    drawn = drawn[drawn.index("<svg") :].rstrip()
    body = drawn[drawn.index(">") + 1 :]
    body = re.sub(r"\s*<metadata>.*?</metadata>", "", body, flags=re.DOTALL)
    body = re.sub(r"font(-family)?: ([^;\"]*?)'DejaVu Sans'[^;\"]*", rf"font\1: \2{FONTS}", body)
    used = set(re.findall(r"url\(#([^)]+)\)|href=\"#([^\"]+)\"", body))
    kept = {one or other for one, other in used}
    body = re.sub(
        r" id=\"([^\"]+)\"", lambda found: f' id="{name}-{found[1]}"' if found[1] in kept else "", body
    )
    body = re.sub(r"url\(#([^)]+)\)", rf"url(#{name}-\1)", body)
    body = re.sub(r"href=\"#([^\"]+)\"", rf'href="#{name}-\1"', body)
    size = re.search(r'viewBox="([^"]+)"', drawn)
    assert size is not None
    told = scene(record, note)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" id="{name}" '
        f'viewBox="{size[1]}" role="img" aria-labelledby="{name}-title {name}-desc">'
        f'<title id="{name}-title">{escape(told.title)}</title>'
        f'<desc id="{name}-desc">{escape(told.description)}</desc>'
    )
    return head + body


def _saved(record: TestRecord, palette: Palette, note: str, kind: str) -> bytes:
    prepare()
    import matplotlib as mpl

    from app.reports.picture_drawing import draw

    told = scene(record, note)
    if kind == "png":
        told = replace(told, statistic=_printable(told.statistic))
    out = io.BytesIO()
    metadata = {"Date": None, "Creator": None} if kind == "svg" else {"Software": None}
    looks: Any = settings(record.digest)
    with _ONE_AT_A_TIME, mpl.rc_context(looks):
        draw(told, palette).savefig(out, format=kind, dpi=DOTS_PER_INCH, metadata=metadata)
    return out.getvalue()


def _printable(text: str) -> str:
    """What the one font that is there can draw."""
    return "".join(char if ord(char) < 0x2000 else "\N{REPLACEMENT CHARACTER}" for char in text)
