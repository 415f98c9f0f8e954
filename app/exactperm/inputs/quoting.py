"""Quote parts of requests in messages."""

from __future__ import annotations

import json
from collections.abc import Sequence

from ..errors import pointer_token

QUOTED_CHARS = 40
NAMED = 5


def quoted(value: object) -> str:
    """Quote an id, a name or a value: escaped, and cut at 40 characters, so that a message does not echo a body."""
    text = value if isinstance(value, str) else str(value)
    return json.dumps(text if len(text) <= QUOTED_CHARS else text[:QUOTED_CHARS] + "…")


def quoted_apart(one: str, other: str) -> tuple[str, str]:
    """Quote two texts that differ; long ones are cut so that the first difference is visible."""
    if quoted(one) != quoted(other):
        return quoted(one), quoted(other)
    same = next((at for at, (mine, its) in enumerate(zip(one, other, strict=False)) if mine != its), None)
    first = min(len(one), len(other)) if same is None else same
    start = max(0, first - QUOTED_CHARS // 2)
    return _end(one, start), _end(other, start)


def _end(text: str, start: int) -> str:
    """Quote a text from `start` on."""
    part = text[start : start + QUOTED_CHARS]
    return json.dumps(f"…{part}{'…' if len(text) > start + QUOTED_CHARS else ''}")


def some(names: Sequence[object], most: int = NAMED) -> str:
    """Quote a few names, and count the rest."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(map(quoted, names[:most])) + more


def escaped(name: object) -> str:
    """Escape a name as a token of a JSON pointer (RFC 6901, section 3), cut to 40 characters."""
    return pointer_token(str(name)[:QUOTED_CHARS])
