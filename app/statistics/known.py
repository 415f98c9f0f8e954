"""Whether there is a statistic of this name, and whether it takes these parameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import InvalidTest
from .catalogue import STATISTICS
from .statistic import Kind, Statistic


def statistic_of(kind: Kind, name: str) -> Statistic | None:
    """The entry of a statistic; None where there is no such statistic of this kind of data."""
    return next((entry for entry in STATISTICS[kind] if entry.name == name), None)


def require_known(kind: Kind, name: str, parameters: Mapping[str, Any]) -> Statistic:
    """The entry of a statistic; refuses an unknown one, parameters of others, and what is none of the choices."""
    entry = statistic_of(kind, name)
    if entry is None:
        detail = f"The statistic must be one of: {', '.join(entry.name for entry in STATISTICS[kind])}."
        raise InvalidTest.at("/statistic/name", "unknown_statistic", detail)
    known = {parameter.name: parameter for parameter in entry.parameters}
    for key, value in parameters.items():
        if value is None:
            continue
        pointer = f"/statistic/{key}"
        if key not in known:
            takes = f"it takes {', '.join(sorted(known))}" if known else "it takes none"
            detail = f"{key} is no parameter of {name}: {takes}.{_of_others(kind, key)}"
            raise InvalidTest.at(pointer, "unknown_parameter", detail)
        choices = known[key].choices
        if choices and value not in choices:
            raise InvalidTest.at(pointer, f"unknown_{key}", f"{key} must be one of: {', '.join(choices)}.")
        if known[key].type == "boolean" and not isinstance(value, bool):
            raise InvalidTest.at(pointer, "not_a_boolean", f"{key} must be true or false.")
    return entry


def _of_others(kind: Kind, parameter: str) -> str:
    """Which statistics take a parameter; one without a name is the first of its kind."""
    names = [entry.name for entry in STATISTICS[kind] if any(p.name == parameter for p in entry.parameters)]
    return f" It is one of {', '.join(names)}: name the statistic that is meant." if names else ""
