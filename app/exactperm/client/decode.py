"""JSON objects to the dataclasses of `results` and `gate_results`, by their annotations; nothing is converted."""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import MISSING, fields
from functools import cache
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from .errors import UnreadableAnswer

Answer = TypeVar("Answer")
RAW = "raw"


def decode(kind: type[Answer], value: Any, *, at: str = "") -> Answer:
    """An answer of this kind; fields that it does not know are passed over.

    Raises
    ------
        UnreadableAnswer: a field is missing, or is not of its type.

    >>> from exactperm.client.results import Interval
    >>> decode(Interval, {"level": 0.9, "low": -1, "high": None, "method": "test_inversion", "kind": "exact", "resolution": 0}).low
    -1.0
    """
    if not isinstance(value, Mapping):
        raise UnreadableAnswer(
            f"The answer has no object at {at or '/'}. Is this the URL of an exactperm server?"
        )
    hints = _hints(cast("Any", kind))
    values: dict[str, Any] = {}
    for part in fields(kind):  # type: ignore[arg-type]  # a dataclass by contract
        if part.name == RAW:
            values[RAW] = value
        elif part.name in value:
            values[part.name] = _converted(hints[part.name], value[part.name], f"{at}/{part.name}")
        elif part.default is MISSING and part.default_factory is MISSING:
            raise UnreadableAnswer(
                f"The answer lacks {at}/{part.name}. Is the server of another version than this client?"
            )
    return kind(**values)


@cache
def _hints(kind: type[Any]) -> dict[str, Any]:
    return get_type_hints(kind)


def _converted(hint: Any, value: Any, at: str) -> Any:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in {types.UnionType, Union}:
        if value is None and type(None) in arguments:
            return None
        return _converted(next(one for one in arguments if one is not type(None)), value, at)
    if origin is tuple and isinstance(value, list):
        if len(arguments) == 2 and arguments[1] is not Ellipsis and len(value) != 2:
            raise UnreadableAnswer(f"The answer has {len(value)} values at {at}, where two are needed.")
        return tuple(_converted(arguments[0], one, f"{at}/{index}") for index, one in enumerate(value))
    if origin in {Mapping, dict} or (isinstance(origin, type) and issubclass(origin, Mapping)):
        if isinstance(value, Mapping):
            return {key: _converted(arguments[1], one, f"{at}/{key}") for key, one in value.items()}
    elif origin is Literal:
        if isinstance(value, str):
            return value  # a newer server may have more of them
    elif hint is float:
        if type(value) in {int, float}:
            return float(value)
    elif hint in {int, str, bool}:
        if type(value) is hint:
            return value
    elif hint is Any:
        return value
    elif isinstance(hint, type):
        return decode(hint, value, at=at)
    raise UnreadableAnswer(f"The answer has {type(value).__name__} at {at}, which is not what belongs there.")
