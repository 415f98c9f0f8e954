"""How messages quote what a caller sent."""

from __future__ import annotations

import json

from ..errors import pointer_token

QUOTED_CHARS = 40


def quoted(value: object) -> str:
    """An id, a name or a value in quotes: escaped, and cut at 40 characters, so that a message does not echo a body."""
    text = value if isinstance(value, str) else str(value)
    return json.dumps(text if len(text) <= QUOTED_CHARS else text[:QUOTED_CHARS] + "…")


def escaped(name: object) -> str:
    """A name as one token of a JSON pointer (RFC 6901, section 3), cut to a length that does not echo."""
    return pointer_token(str(name)[:QUOTED_CHARS])
