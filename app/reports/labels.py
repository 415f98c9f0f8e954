"""Labels come from strangers; here they are made harmless for the place they go to.

Control characters (line ends and the bidirectional overrides among them) never get through, so that a label
cannot start a line of a log, a header or a table of its own.
"""

from __future__ import annotations

import json
import re
import unicodedata

BARE = re.compile(r"[A-Za-z0-9._+/:-]+\Z")
FORMULA = ("=", "+", "-", "@")


def single_line(text: str) -> str:
    """A label without control, format, surrogate and separator characters; runs of white space are one space."""
    kept = (" " if unicodedata.category(char)[0] in "CZ" else char for char in text)
    return " ".join("".join(kept).split())


def for_line(text: str) -> str:
    """As it is when it is one plain word, else quoted and escaped to ASCII."""
    label = single_line(text)
    return label if BARE.match(label) else json.dumps(label)


def for_markdown(text: str) -> str:
    """A code span: no markup, HTML, link or mention is read inside one; a pipe would end the table's cell."""
    label = single_line(text).replace("`", "'").replace("|", "¦")
    return f"`{label}`" if label else "` `"


def for_csv(text: str) -> str:
    """Spreadsheets run what starts like a formula; an apostrophe makes it text."""
    label = single_line(text)
    return "'" + label if label.startswith(FORMULA) else label
