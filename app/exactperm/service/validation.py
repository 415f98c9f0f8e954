"""A decoded value becomes a wire model, or an `InvalidTest` with pointers to what is wrong."""

from __future__ import annotations

import re
from collections.abc import Collection
from decimal import Decimal
from functools import cache
from typing import Any, Literal, TypeVar, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from ..errors import MAX_FLAWS, Flaw, InvalidTest, pointer_token, relocated
from .near_names import elsewhere, no_such
from .pointers import beside_statistic
from .schema.fields import Wire

Model = TypeVar("Model", bound=Wire)

SENTENCES = {
    "missing": "This is needed.",
    "extra_forbidden": "There is no such field.",
    "dict_type": "An object is needed here.",
    "model_type": "An object is needed here.",
    "model_attributes_type": "An object is needed here.",
}
MOST_CHARS = 20  # of a number that may have been written for people
PERCENT = re.compile(r"([+-]?\d+(?:[.,]\d+)?)\s*%")
THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(?:,\d{3})+")
COMMA = re.compile(r"[+-]?\d+,\d+")
POINT = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,2})?")
# What objects look like, by the field.
OBJECTS = {"statistic": '{"name": "sign"}', "sequential": '{"mode": "anytime"}', "names": '{"u": "new"}'}


def validated(
    model: type[Model], value: Any, *, prefix: str = "", context: dict[str, Any] | None = None
) -> Model:
    """Validate a decoded value; pointers get `prefix`.

    Raises InvalidTest: the value does not fit the model.
    """
    if type(value) is not dict:
        raise InvalidTest.at(prefix, "not_an_object", "A request is a JSON object.")
    with relocated(lambda pointer: prefix + pointer):
        value = model.completed(value)
    parameters = model.parameters(value)
    if type(value.get("statistic")) is str or not parameters.isdisjoint(value):
        with relocated(beside_statistic(value, prefix)):
            return validated(model, with_statistic(value, parameters, prefix), prefix=prefix, context=context)
    unknown = list(_unknown(model, value, prefix))
    if unknown:
        raise InvalidTest(unknown[0].detail, flaws=tuple(unknown))
    try:
        return model.model_validate(value, context=context)
    except ValidationError as error:
        details = error.errors(include_url=False)
        flaws = [flaw for detail in details for flaw in flaws_of(detail, prefix, _choices(model, detail))]
        where = flaws[0].pointer or "the body"
        raise InvalidTest(f"At {where}: {flaws[0].detail}", flaws=tuple(flaws)) from None


def with_statistic(value: dict[str, Any], parameters: Collection[str], prefix: str = "") -> dict[str, Any]:
    """A request whose statistic is an object: a name alone becomes one, and parameters beside it become its members.

    Raises InvalidTest: a parameter stands in both places, with different values; its pointer is that inside.
    """
    statistic = value.get("statistic", {})
    beside = {name: one for name, one in value.items() if name in parameters}
    inside = {"name": statistic} if type(statistic) is str else statistic
    if type(inside) is not dict:
        return {name: one for name, one in value.items() if name not in beside}
    if inside is statistic and not beside:
        return dict(value)
    for name, one in beside.items():
        if name in inside and inside[name] != one:
            detail = f"{name} stands in statistic and beside it, with different values: give it once."
            raise InvalidTest.at(f"{prefix}/statistic/{name}", "given_twice", detail)
    return {name: one for name, one in value.items() if name not in beside} | {"statistic": inside | beside}


def _unknown(model: type[BaseModel], value: dict[str, Any], prefix: str) -> list[Flaw]:
    """Unknown fields, found before pydantic sees them: it would write an error for each of a million."""
    flaws: list[Flaw] = []
    fields = model.model_fields
    for key in value:
        if key not in fields:
            flaws.append(Flaw(f"{prefix}/{_short(key)}", "unknown_field", no_such(key, fields)))
            if len(flaws) == MAX_FLAWS:
                return flaws
    for name, part in _parts(model):
        inner = value.get(name)
        if type(inner) is dict:
            flaws += _unknown(part, inner, f"{prefix}/{name}")
    return flaws[:MAX_FLAWS]


@cache
def _parts(model: type[BaseModel]) -> tuple[tuple[str, type[BaseModel]], ...]:
    """The fields of a model that are models themselves."""
    return tuple(
        (name, part)
        for name, field in model.model_fields.items()
        for part in (field.annotation, *get_args(field.annotation))
        if isinstance(part, type) and issubclass(part, BaseModel)
    )


def _short(key: str) -> str:
    return pointer_token(key if len(key) <= 40 else key[:40] + "…")


def _choices(model: type[BaseModel], detail: ErrorDetails) -> tuple[Any, ...]:
    """What a missing field of the model itself may be, if it is one of a few words."""
    if detail["type"] != "missing" or len(detail["loc"]) != 1:
        return ()
    field = model.model_fields.get(str(detail["loc"][0]))
    return get_args(field.annotation) if field is not None and get_origin(field.annotation) is Literal else ()


def flaws_of(detail: ErrorDetails, prefix: str, choices: tuple[Any, ...] = ()) -> list[Flaw]:
    """The flaws of one of pydantic's errors; `choices` are what a missing field may be."""
    pointer = prefix + "".join(f"/{_short(str(part))}" for part in detail["loc"])
    context = detail.get("ctx", {})
    if detail["type"] == "column":
        inner = context["flaws"] or (Flaw("", context["code"], context["detail"]),)
        return [Flaw(pointer + flaw.pointer, flaw.code, flaw.detail) for flaw in inner]
    code = detail["type"]
    sentence = SENTENCES.get(code) or detail["msg"].replace("Input should", "This must") + "."
    if code in {"model_type", "model_attributes_type"} and detail["loc"] and detail["loc"][-1] in OBJECTS:
        sentence = f"An object is needed here, such as {OBJECTS[str(detail['loc'][-1])]}."
    if code.startswith(("int_", "float_")):
        sentence += number_hint(detail["input"], whole=code.startswith("int_"))
    if code == "literal_error" and pointer.endswith("/statistic/name"):
        sentence += elsewhere(detail["input"], re.findall(r"'(\w+)'", context["expected"]))
    if choices:
        sentence = f"{sentence[:-1]}: one of {', '.join(map(str, choices))}."
    return [Flaw(pointer, code, sentence)]


def number_hint(value: object, *, whole: bool) -> str:
    """A sentence after " " that says what to write instead; empty where that is not certain.

    >>> number_hint("2%", whole=False), number_hint("0,05", whole=False), number_hint("1e4", whole=True)
    (' Write 0.02.', ' Write 0.05, with a point.', ' Write 10000.')
    """
    text = str(value).strip() if isinstance(value, str | float) else ""
    if len(text) > MOST_CHARS or not text.isascii():
        return ""
    if whole:
        number = text.replace(",", "") if THOUSANDS.fullmatch(text) else text
        exact = Decimal(number) if POINT.fullmatch(number) else None
        return "" if exact is None or exact != int(exact) else f" Write {int(exact)}{_quotes(value, text)}."
    if percent := PERCENT.fullmatch(text):
        return f" Write {_plain(Decimal(percent[1].replace(',', '.')) / 100)}."
    if THOUSANDS.fullmatch(text):
        return " Write decimals with a point, and nothing between thousands."
    if COMMA.fullmatch(text):
        return f" Write {text.replace(',', '.')}, with a point."
    return f" Write {text}{_quotes(value, text)}." if POINT.fullmatch(text) else ""


def _quotes(value: object, text: str) -> str:
    """Only JSON has quotes: a field or a parameter that is a number as it stands is read as one."""
    return ", without quotes" if isinstance(value, str) and re.fullmatch(r"[+-]?\d+(?:\.\d+)?", text) else ""


def _plain(number: Decimal) -> str:
    return f"{number.normalize():f}"
