"""Figures as bytes of a file, the same for the same record; and as an element that follows a page's light or dark.

matplotlib is imported for the first picture, in a worker, and never in the web process.
"""

from __future__ import annotations

import io
import re
import threading
import warnings
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal

from .fonts import prepare
from .markup import finished, in_tags
from .style import settings

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Kind = Literal["svg", "png"]
Colours = Mapping[str, str]  # by their part of a picture

DOTS_PER_INCH = 160
_ONE_AT_A_TIME = threading.Lock()  # rcParams and warning filters are global


def saved(
    draw: Callable[[], Figure], salt: str, kind: Kind, words: Callable[[], tuple[str, str]] = lambda: ("", "")
) -> bytes:
    """The figure that `draw` makes, in our settings; a PNG has title and description, its `words`, as texts inside it."""
    prepare()
    import matplotlib as mpl

    out = io.BytesIO()
    parameters: Any = {**mpl.rcParamsDefault, **settings(salt)}
    with _ONE_AT_A_TIME, mpl.rc_context(parameters), warnings.catch_warnings():
        # The reader's fonts draw an SVG; that ours lacks a character says nothing about them.
        warnings.filterwarnings("ignore", r"Glyph \d+ .* missing from font")
        figure = draw()
        metadata: dict[str, str | None] = {"Date": None, "Creator": None}
        if kind == "png":
            title, description = words()
            metadata = {"Software": None, "Title": title or None, "Description": description or None}
        figure.savefig(out, format=kind, dpi=DOTS_PER_INCH, metadata=metadata)
    return out.getvalue()


def svg_file(drawn: str, name: str, title: str, description: str) -> bytes:
    """A picture as a file of its own."""
    text = finished(drawn, name, title, description)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{text}\n'.encode()


def themed_svg(
    drawn: str, name: str, title: str, description: str, *, stand_ins: Colours, light: Colours, dark: Colours
) -> str:
    """A picture for a page: it was drawn in `stand_ins`, which become variables that follow the page's theme."""
    style = (
        f"<style>#{name}{{{_variables(name, light)}}}"
        f"@media (prefers-color-scheme:dark){{#{name}{{{_variables(name, dark)}}}}}</style>"
    )
    variables = {colour: f"var(--{name}-{part})" for part, colour in stand_ins.items()}
    stand_in = re.compile("|".join(variables))
    return in_tags(
        finished(drawn, name, title, description, style),
        lambda tag: stand_in.sub(lambda match: variables[match[0]], tag),
    )


def _variables(name: str, colours: Colours) -> str:
    return "".join(f"--{name}-{part}:{colour};" for part, colour in colours.items())
