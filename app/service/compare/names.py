"""Names of systems and data sets: present, not too long, and not such that a reader takes one for another."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable

from ...errors import InvalidTest
from ...inputs.quoting import quoted
from ...statistics.label_match import UNSEEN


def require_names(names: Iterable[str], what: str, pointer: Callable[[str], str], most_chars: int) -> None:
    """Refuse names that cannot be told apart in a report; raises InvalidTest at `pointer(name)`."""
    seen: dict[str, str] = {}
    for name in names:
        shown = _shown(name)
        if not shown:
            detail = f"A {what} has an empty name: give each a name of its own."
            raise InvalidTest.at(pointer(name), "empty_name", detail)
        if len(name) > most_chars:
            detail = f"A name has at most {most_chars} characters; this one has {len(name):,}."
            raise InvalidTest.at(pointer(name[:40]), "name_too_long", detail)
        other = seen.setdefault(shown, name)
        if other is not name:
            if other == name:
                detail = f"Two {what}s are called {quoted(name)}: give each a name of its own."
                raise InvalidTest.at(pointer(name), "duplicate_name", detail)
            detail = (
                f"{quoted(name)} and {quoted(other)} look the same: they differ in blanks around them, in characters without "
                f"width or in their Unicode form only. If they are one {what}, write the name the same way; else rename one."
            )
            raise InvalidTest.at(pointer(name), "similar_names", detail)


def _shown(name: str) -> str:
    """What a reader sees of a name."""
    if name.isascii():
        return name.strip()
    return UNSEEN.sub("", unicodedata.normalize("NFC", name)).strip()
