"""Options as query parameters, for bodies that are tables and have no room for them.

A parameter that is not known is refused, and so is one given twice: an option that silently did nothing would
be worse than an error.
"""

from __future__ import annotations

from typing import Any

from pydantic_core import from_json

from app.errors import Flaw, InvalidTest
from app.inputs.pairing import shown

TEXT = ("alternative", "method", "test", "on_missing", "pmf")
LITERAL = ("samples", "seed", "precision", "alpha", "confidence_level", "exact_fraction", "timeout_s")
STATISTIC = {"statistic": "name", "zero_method": "zero_method"}
NAMES = {"name_u": "u", "name_v": "v"}
ELSEWHERE = ("format",)
ALL = (*STATISTIC, *TEXT, *LITERAL, *NAMES, *ELSEWHERE)

Query = tuple[tuple[str, str], ...]


def options_of_query(query: Query, allowed: tuple[str, ...] = ALL) -> dict[str, Any]:
    """The query as the members that a JSON body would have.

    Raises
    ------
        InvalidTest: a parameter is unknown or given twice; pointers are `/?name`.
    """
    options: dict[str, Any] = {}
    seen: set[str] = set()
    flaws: list[Flaw] = []
    for name, value in query:
        if name not in allowed:
            detail = f"There is no query parameter {shown(name)} here; there are {', '.join(allowed)}."
            flaws.append(Flaw(f"/?{name[:40]}", "unknown_parameter", detail))
        elif name in seen:
            flaws.append(Flaw(f"/?{name}", "duplicate_parameter", f"{name} is given twice."))
        seen.add(name)
        _put(options, name, value)
    if flaws:
        raise InvalidTest(flaws[0].detail, flaws=tuple(flaws))
    return options


def _put(options: dict[str, Any], name: str, value: str) -> None:
    if name in STATISTIC:
        options.setdefault("statistic", {})[STATISTIC[name]] = value
    elif name in NAMES:
        options.setdefault("names", {})[NAMES[name]] = value
    elif name in TEXT:
        options[name] = value
    elif name in LITERAL:
        options[name] = _literal(value)


def _literal(value: str) -> Any:
    """A number or a boolean as JSON writes it; anything else stays text, for the model to refuse."""
    try:
        return from_json(value, allow_inf_nan=False)
    except ValueError:
        return value


def timeout_of_query(query: Query) -> float | None:
    """The deadline asked for by `?timeout_s=`, which works before any body is read.

    Raises
    ------
        InvalidTest: it is not a positive number.
    """
    given = [value for name, value in query if name == "timeout_s"]
    if not given:
        return None
    seconds = _literal(given[0])
    if type(seconds) not in (int, float) or not 0 < seconds < float("inf"):
        raise InvalidTest.at("/?timeout_s", "not_a_duration", "timeout_s is a positive number of seconds.")
    return float(min(seconds, 1e9))
