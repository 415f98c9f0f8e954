"""matplotlib's SVG made fit for pages: no dates, no styles for others, ids of its own, words for those who cannot see.

Only what stands inside a tag is edited, so that a label that looks like markup stays as it was written.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from html import escape

FONTS = "system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif"

_TAG = re.compile(r"<[^>]*>")
_NOT_OURS = re.compile(r"\s*<metadata>.*?</metadata>|\s*<style[^>]*>.*?</style>", re.DOTALL)
_FAMILY = re.compile(r"font(-family)?: ([^;\"]*?)'DejaVu Sans'[^;\"]*")
_ID = re.compile(r" id=\"([^\"]+)\"")
_LINK = re.compile(r"(url\(#|href=\"#)([^)\"]+)")


def finished(drawn: str, name: str, title: str, description: str, style: str = "") -> str:
    """The picture as one `svg` element whose id is `name`; all its other ids begin with that.

    `drawn` is what matplotlib wrote. Its style sheet, which would change all of a page's pictures, becomes
    attributes of the root; ids that nothing refers to go.
    """
    start = drawn.index("<svg")
    body = drawn[drawn.index(">", start) + 1 :].rstrip()
    size = re.search(r'viewBox="([^"]+)"', drawn[start:])
    assert size is not None
    body = re.sub(r"\s*<defs>\s*</defs>", "", _NOT_OURS.sub("", body))
    used = {link[2] for tag in _TAG.findall(body) for link in _LINK.finditer(tag)}

    def named(tag: str) -> str:
        tag = _FAMILY.sub(rf"font\1: \2{FONTS}", tag)
        tag = _ID.sub(lambda match: f' id="{name}-{match[1]}"' if match[1] in used else "", tag)
        return _LINK.sub(rf"\g<1>{name}-\g<2>", tag)

    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" id="{name}" '
        f'viewBox="{size[1]}" stroke-linejoin="round" stroke-linecap="butt" role="img" '
        f'aria-labelledby="{name}-title {name}-desc">{style}'
        f'<title id="{name}-title">{escape(title)}</title><desc id="{name}-desc">{escape(description)}</desc>'
        f"{in_tags(body, named)}"
    )


def in_tags(text: str, change: Callable[[str], str]) -> str:
    """The text with every tag changed, and nothing between them."""
    return _TAG.sub(lambda match: change(match[0]), text)
