"""How messages quote what a caller sent."""

from __future__ import annotations

import json

QUOTED_CHARS = 40


def quoted(value: object) -> str:
    """An id, a name or a value in quotes: escaped, and cut at 40 characters, so that a message does not echo a body."""
    text = value if isinstance(value, str) else str(value)
    return json.dumps(text if len(text) <= QUOTED_CHARS else text[:QUOTED_CHARS] + "…")
