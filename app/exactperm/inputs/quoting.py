"""How messages quote what a caller sent."""

from __future__ import annotations

import json
from collections.abc import Sequence

from ..errors import pointer_token

QUOTED_CHARS = 40
NAMED = 5


def quoted(value: object) -> str:
    """An id, a name or a value in quotes: escaped, and cut at 40 characters, so that a message does not echo a body."""
    text = value if isinstance(value, str) else str(value)
    return json.dumps(text if len(text) <= QUOTED_CHARS else text[:QUOTED_CHARS] + "…")


def quoted_apart(one: str, other: str) -> tuple[str, str]:
    """Two texts that differ, in quotes; long ones are cut so that the first difference is seen."""
    if quoted(one) != quoted(other):
        return quoted(one), quoted(other)
    same = next((at for at, (mine, its) in enumerate(zip(one, other, strict=False)) if mine != its), None)
    first = min(len(one), len(other)) if same is None else same
    start = max(0, first - QUOTED_CHARS // 2)
    return _end(one, start), _end(other, start)


def _end(text: str, start: int) -> str:
    """A text from somewhere inside it on."""
    part = text[start : start + QUOTED_CHARS]
    return json.dumps(f"…{part}{'…' if len(text) > start + QUOTED_CHARS else ''}")


def some(names: Sequence[object], most: int = NAMED) -> str:
    """A few names in quotes, and how many more there are."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(map(quoted, names[:most])) + more


def escaped(name: object) -> str:
    """A name as one token of a JSON pointer (RFC 6901, section 3), cut to a length that does not echo."""
    return pointer_token(str(name)[:QUOTED_CHARS])
