"""Options in the sentences of problems, spelt as an entrance writes them; and the places of pointers in words.

A problem marks options as a form or a query has them, `id_column=q`, or as members of JSON, `"id_column": "q"`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable

Spelling = Callable[[str, str | None], str]
"""How an entrance writes an option, by its name and its value as text; without a value it is only mentioned."""

# What is in quotes is the caller's, and holds no marks.
MARKED = re.compile(r'"(?:[^"\\]|\\.)*"|`"?([a-z]\w*)"?(?:(=|: )([^`]*))?`')
WORDS = {"true": "True", "false": "False", "null": "None"}
LITERAL = re.compile(r"true|false|null|-?\d+(\.\d+)?|[\[{].*")


def spelt(sentence: str, spelling: Spelling) -> str:
    """A sentence whose marked options are spelt by `spelling`.

    >>> spelt('Give `id_column=q`, or `"on_missing": "drop"`; not "`x`".', keyword)
    'Give id_column="q", or on_missing="drop"; not "`x`".'
    """
    return MARKED.sub(
        lambda found: found[0] if found[1] is None else spelling(found[1], _value(found)), sentence
    )


def _value(found: re.Match[str]) -> str | None:
    """The value of a marked option as text."""
    if found[2] == ": " and found[3].startswith('"'):
        try:
            return str(json.loads(found[3]))
        except ValueError:
            return found[3]
    return found[3]


def keyword(name: str, value: str | None) -> str:
    """As an argument in Python: `id_column="q"`."""
    if value is None:
        return name
    is_text = LITERAL.fullmatch(value) is None
    return f"{name}={json.dumps(value, ensure_ascii=False) if is_text else WORDS.get(value, value)}"


def member(name: str, value: str | None) -> str:
    """As a member of an object in JSON: `"id_column": "q"`."""
    if value is None:
        return f'"{name}"'
    return f'"{name}": {value if LITERAL.fullmatch(value) else json.dumps(value, ensure_ascii=False)}'


def place_of(pointer: str) -> str:
    """What a pointer names in Python: `u["q3"]`, `u[17]`, `alpha`; empty for the whole.

    >>> place_of("/u/q~13"), place_of("/u/17"), place_of("/?alpha"), place_of("/files/u/line/7")
    ('u["q/3"]', 'u[17]', 'alpha', 'u, line 7')
    """
    parts = [part.replace("~1", "/").replace("~0", "~") for part in pointer.removeprefix("/").split("/")]
    if parts[0] in {"files", "options"} and len(parts) > 1:
        del parts[0]
    if parts[0] == "request" and len(parts) > 1:  # of a gate, whose arguments are those of its test
        del parts[0]
    words = [parts.pop(0).removeprefix("?")]
    if len(parts) > 1 and parts[0] == "line":
        return ", ".join([*words, f"line {parts[1]}", *parts[2:]])
    if words == ["line"] and parts:
        return ", ".join([f"line {parts[0]}", *parts[1:]])
    return words[0] + "".join(f"[{part}]" if part.isdecimal() else f"[{json.dumps(part)}]" for part in parts)
