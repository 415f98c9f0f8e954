"""Field types of the requests whose values are large: checked at C speed, never copied, never echoed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any

import numpy as np
from pydantic import PlainValidator, ValidationInfo, WithJsonSchema
from pydantic_core import PydanticCustomError

from app.errors import Flaw, InvalidTest
from app.inputs import columns
from app.inputs.pairing import ById, Given

# Set in the validation context when the reader knows that no true or false stands in the body.
NO_BOOLEANS = "no_booleans"


def escape(key: object) -> str:
    """A key as a segment of a JSON pointer (RFC 6901, section 3)."""
    return str(key).replace("~", "~0").replace("/", "~1")


def _refusal(code: str, detail: str, flaws: tuple[Flaw, ...] = ()) -> PydanticCustomError:
    """An error that pydantic collects with the others; flaws have pointers relative to the field."""
    return PydanticCustomError("column", "{detail}", {"detail": detail, "code": code, "flaws": flaws})


def _checked(check: Callable[[list[Any]], Any], values: list[Any], keys: list[str] | None = None) -> Any:
    try:
        return check(values)
    except InvalidTest as error:
        flaws = error.flaws
        if keys is not None:
            flaws = tuple(Flaw(_by_key(flaw.pointer, keys), flaw.code, flaw.detail) for flaw in flaws)
        raise _refusal(flaws[0].code, error.detail, flaws) from None


def _by_key(pointer: str, keys: list[str]) -> str:
    """`/17/2` as `/<the 18th key>/2`."""
    index, *rest = pointer[1:].split("/")
    return "/".join(["", escape(keys[int(index)]), *rest])


def _numbers(info: ValidationInfo) -> Callable[[list[Any]], Any]:
    promised = bool(info.context and info.context.get(NO_BOOLEANS))
    return lambda values: columns.numbers(values, may_hold_booleans=not promised)


def _number_array(value: Any, info: ValidationInfo) -> Any:
    if type(value) is np.ndarray:
        return value
    if type(value) is list:
        return _checked(_numbers(info), value)
    raise _refusal("not_a_column", "Give a list with one number per item.")


def _number_column(value: Any, info: ValidationInfo) -> Given:
    if type(value) is dict:
        ids = list(value)
        return ById(ids, _checked(_numbers(info), list(value.values()), ids))
    if type(value) is np.ndarray or type(value) is list:
        return _number_array(value, info)  # type: ignore[no-any-return]
    raise _refusal(
        "not_a_column", "Give a list with one number per item, or an object with one number per id."
    )


def _label_column(value: Any) -> Given:
    if type(value) is dict:
        ids = list(value)
        return ById(ids, _checked(columns.labels, list(value.values()), ids))
    if type(value) is np.ndarray:  # a long list of integers
        return value.tolist()  # type: ignore[no-any-return]
    if type(value) is list:
        return _checked(columns.labels, value)  # type: ignore[no-any-return]
    raise _refusal(
        "not_a_column", "Give a list with one item per element, or an object with one item per id."
    )


def _key_list(value: Any) -> list[Any]:
    if type(value) is np.ndarray:  # a long list of integers
        return value.tolist()  # type: ignore[no-any-return]
    if type(value) is list:
        return _checked(columns.keys, value)  # type: ignore[no-any-return]
    raise _refusal("not_a_column", "Give a list with one string or integer per item.")


def _key_column(value: Any) -> list[Any] | Mapping[str, Any]:
    if type(value) is dict:
        _checked(columns.keys, list(value.values()), list(value))
        return value
    return _key_list(value)


_NUMBERS = {"type": "array", "items": {"type": "number"}, "minItems": 1}
_LABEL = {"type": ["string", "integer"]}
_ITEM = {"anyOf": [_LABEL, {"type": "array", "items": _LABEL}]}
_KEYS = {"type": "array", "items": _LABEL}

NumberArray = Annotated[Any, PlainValidator(_number_array), WithJsonSchema(_NUMBERS)]
NumberColumn = Annotated[
    Any,
    PlainValidator(_number_column),
    WithJsonSchema({"anyOf": [_NUMBERS, {"type": "object", "additionalProperties": {"type": "number"}}]}),
]
LabelColumn = Annotated[
    Any,
    PlainValidator(_label_column),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "array", "items": _ITEM, "minItems": 1},
                {"type": "object", "additionalProperties": _ITEM},
            ]
        }
    ),
]
KeyList = Annotated[Any, PlainValidator(_key_list), WithJsonSchema(_KEYS)]
KeyColumn = Annotated[
    Any,
    PlainValidator(_key_column),
    WithJsonSchema({"anyOf": [_KEYS, {"type": "object", "additionalProperties": _LABEL}]}),
]
