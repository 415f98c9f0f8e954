"""Options of a comparison as query parameters or fields of a form, for data that cannot hold them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

from ...errors import InvalidTest, marked
from ...inputs.quoting import quoted
from ..query import ELSEWHERE, OF_A_BOARD, literal, options_of, parameters_of
from ..schema.compare import CompareChoices, CompareKind

TEXTS = (
    "kind",
    "compare",
    "baseline",
    "adjust",
    "family",
    "aggregate",
    "combine",
    "on_missing",
    "alternative",
    "pairs",
    "method",
)
SYSTEMS = "systems"
NULL = frozenset(("null", "none"))
OF_QUERY = (*TEXTS, *(name for name in CompareChoices.model_fields if name not in (*TEXTS, "statistic")))


def options_of_board(
    given: Iterable[tuple[str, str]],
    pointer: Callable[[str], str],
    *,
    kinds: tuple[CompareKind, ...] = ("scores",),
    extra: tuple[str, ...] = (),
) -> tuple[dict[str, Any], list[str] | None]:
    """The members of `CompareChoices`, and the names in `systems` if it is there.

    Raises
    ------
    InvalidTest
        A name is unknown or given twice, or the kind is not one of `kinds`.
    """
    parameters = tuple(dict.fromkeys(name for kind in kinds for name in parameters_of(kind)))
    known = (*OF_QUERY, "statistic", *parameters, *extra)
    own: dict[str, Any] = {}
    others: list[tuple[str, str]] = []
    for name, text in given:
        if name not in (*OF_QUERY, SYSTEMS) or (name == SYSTEMS and SYSTEMS not in extra):
            others.append((name, text))
        elif name in own:
            raise InvalidTest.at(pointer(name), "duplicate_parameter", f"{marked(name)} is given twice.")
        else:
            own[name] = _value(name, text)
    rest = options_of(others, known, pointer)
    for name in (*ELSEWHERE, *OF_A_BOARD):
        if name != "timeout_s":
            rest.pop(name, None)
    if own.get("kind", kinds[0]) not in kinds:
        detail = f"Data of this media type holds {' or '.join(kinds)}; send {quoted(own['kind'])} as JSON."
        raise InvalidTest.at(pointer("kind"), "kind_not_here", detail)
    systems = own.pop(SYSTEMS, None)
    return {**own, **rest}, systems


def _value(name: str, text: str) -> Any:
    if name == SYSTEMS:
        return _names(text)
    if name == "compare":
        return _json_list(text) if text.startswith("[") else text
    if name in ("aggregate", "combine") and text in NULL:
        return None
    return text if name in TEXTS else literal(text)


def _names(text: str) -> list[str]:
    """A JSON list of names, or names between commas."""
    value = _json_list(text) if text.startswith("[") else [name.strip() for name in text.split(",")]
    if type(value) is not list or not all(type(name) is str for name in value):
        detail = 'systems is a list of names: A,B,C, or ["A", "B, the second"].'
        raise InvalidTest.at("/systems", "not_names", detail)
    for index, name in enumerate(value):
        if name in value[:index]:
            raise InvalidTest.at("/systems", "duplicate_name", f"systems has {quoted(name)} twice.")
    return value


def _json_list(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def in_query(pointer: str) -> str:
    """The map for options sent as query parameters, `systems` among them; other pointers stay."""
    return _option(pointer, "/?", "/?systems")


def in_form(pointer: str) -> str:
    """The map for options sent as fields of a form, `systems` among them; other pointers stay."""
    return _option(pointer, "/options/", "/options/systems")


def beside_body(pointer: str) -> str:
    """The map for options in the query and systems, of whatever data set, in the body."""
    return _option(pointer, "/?", "")


def beside_files(pointer: str) -> str:
    """The map for options in fields and systems in files."""
    return _option(pointer, "/options/", "/files")


def _option(pointer: str, prefix: str, systems: str) -> str:
    if pointer == "/systems" or pointer.startswith("/datasets"):
        return systems
    first, *rest = pointer[1:].split("/")
    if first == "statistic":
        return prefix + (rest[0] if rest and rest[0] != "name" else "statistic")
    return prefix + first if first in CompareChoices.model_fields else pointer
