"""The base of all request models, and field types of large values: checked at C speed, never copied, never echoed."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Annotated, Any, Literal, LiteralString, TypeAlias, cast, get_args

import numpy as np
from numpy.typing import NDArray
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PlainValidator,
    ValidationInfo,
    WithJsonSchema,
    create_model,
)
from pydantic_core import PydanticCustomError

from ...errors import Flaw, InvalidTest, pointer_token
from ...inputs import columns
from ...inputs.alignment import ById, Gapped, RawColumn
from ...statistics.catalogue import STATISTICS, Kind, Parameter, Statistic
from ...statistics.paired import NamedCounts, StatisticSpec
from ..kinds import TestKind

# Set in the validation context if the decoder knows that the body has no true or false.
NO_BOOLEANS = "no_booleans"
# `on_missing` of a board, whose columns are validated separately.
ON_MISSING = "on_missing"
LEAST_TIMEOUT_S = 1e-3  # no answer is faster
COUNTS_NEEDED = (
    "Give counts as {name: [one per item]}, as a list of {name: count}, or as {id: {name: count}}."
)


class Wire(BaseModel):
    """Base of all request models."""

    model_config = ConfigDict(
        strict=True,
        frozen=True,
        extra="forbid",
        allow_inf_nan=False,
        hide_input_in_errors=True,
        ser_json_inf_nan="constants",
    )

    @classmethod
    def completed(cls, value: dict[str, Any]) -> dict[str, Any]:
        """A request in another form than its fields; unchanged except for scores."""
        return value

    @classmethod
    def parameters(cls, value: Mapping[str, Any]) -> frozenset[str]:
        """Parameters of the statistic that a test's request may hold beside it, as a query does."""
        return frozenset()


def option(default: Any, description: str, **bounds: Any) -> Any:
    """An optional field: its default, description and bounds."""
    return Field(default, description=description, **bounds)


def examples(*values: Any) -> ConfigDict:
    """The configuration of a model with examples in the documentation."""
    return ConfigDict(json_schema_extra={"examples": list(values)})


def fitting(fits: Callable[[Any], bool], code: LiteralString, sentence: LiteralString) -> PlainValidator:
    """A valid value, unchanged; others are refused with a sentence."""

    def check(value: Any) -> Any:
        if fits(value):
            return value
        raise PydanticCustomError(code, sentence)

    return PlainValidator(check)


def union_schema(names: Iterable[str], *others: Any) -> dict[str, Any]:
    """The schema of a union of these models and other types."""
    return {"anyOf": [*({"$ref": f"#/components/schemas/{name}"} for name in names), *others]}


Share = Annotated[float, Field(gt=0, lt=1)]
Store = Annotated[
    bool,
    Field(description="true stores the answer for a while, like ?store=1; Content-Location is its path."),
]
Timeout = Annotated[
    float | None, Field(gt=LEAST_TIMEOUT_S, description="Deadline in seconds, clamped by the server.")
]


def _refusal(code: str, detail: str, flaws: tuple[Flaw, ...] = ()) -> PydanticCustomError:
    """An error that pydantic collects with the others; flaws have pointers relative to the field."""
    return PydanticCustomError("column", "{detail}", {"detail": detail, "code": code, "flaws": flaws})


def _checked(check: Callable[[Any], Any], values: Any, keys: list[str] | None = None) -> Any:
    """The checked values; pointers of flaws use the items' keys, if any."""
    try:
        return check(values)
    except InvalidTest as error:
        flaws = error.flaws
        if keys is not None and flaws[0].pointer:
            flaws = tuple(Flaw(_by_key(flaw.pointer, keys), flaw.code, flaw.detail) for flaw in flaws)
        raise _refusal(flaws[0].code, error.detail, flaws) from None


def _by_key(pointer: str, keys: list[str]) -> str:
    """`/17/2` as `/<the 18th key>/2`."""
    index, *rest = pointer[1:].split("/")
    return "/".join(["", pointer_token(keys[int(index)]), *rest])


def _may_hold_booleans(info: ValidationInfo) -> bool:
    return not (info.context and info.context.get(NO_BOOLEANS))


def _may_be_missing(info: ValidationInfo) -> bool:
    """Whether nulls are missing values, by the request, or by the context for a board."""
    chosen = (info.context or {}).get(ON_MISSING) or (info.data or {}).get("on_missing")
    return chosen not in (None, "error")


def _column(
    check: Callable[[Any], Any], value: Any, info: ValidationInfo, *, gaps: bool = False
) -> RawColumn:
    """The checked values of a list, or of an object by id, without missing values."""
    gaps = gaps or _may_be_missing(info)
    if type(value) is dict:
        absent = [key for key, one in value.items() if one is None] if gaps else []
        there = {key: one for key, one in value.items() if one is not None} if absent else value
        ids = list(there)
        return ById(ids, _checked(check, _lists(there), ids), absent)
    if gaps and type(None) in set(map(type, value)):
        positions = [index for index, one in enumerate(value) if one is not None]
        there = _checked(check, [value[index] for index in positions], list(map(str, positions)))
        return Gapped(there, np.array(positions, dtype=np.int64), len(value))
    checked: RawColumn = _checked(check, value)
    return checked


def _array(value: NDArray[Any], *, gaps: bool) -> RawColumn:
    """Numbers of an array; NaN is missing if nulls are."""
    if value.ndim == 1 and value.dtype.kind == "f" and gaps:
        gone = np.isnan(value)
        if gone.any():
            return Gapped(value[~gone], np.flatnonzero(~gone), len(value))
    return value


def _number_column(
    check: Callable[..., Any], forms: Collection[type], needed: str, *, gaps: bool = False
) -> Callable[[Any, ValidationInfo], RawColumn]:
    """Numbers of an array, or checked ones of a list or another of these forms; with `gaps` null is always a missing one."""

    def read(value: Any, info: ValidationInfo) -> RawColumn:
        if type(value) is np.ndarray:
            return _array(value, gaps=gaps or _may_be_missing(info))
        if type(value) in forms:
            numbers = partial(check, may_hold_booleans=_may_hold_booleans(info))
            return _column(numbers, value, info, gaps=gaps)
        raise _refusal("not_a_column", f"Give {needed}.")

    return read


def _lists(value: dict[str, Any]) -> list[Any]:
    """The members of an object; a long list of integers may have been decoded to an array."""
    values = list(value.values())
    if np.ndarray in set(map(type, values)):
        return [member.tolist() if type(member) is np.ndarray else member for member in values]
    return values


def _count_columns(value: Any, info: ValidationInfo) -> RawColumn | NamedCounts:
    promised = _may_hold_booleans(info)
    if type(value) not in {dict, list}:
        raise _refusal("not_a_column", COUNTS_NEEDED)
    if type(value) is list or dict in set(map(type, value.values())):
        return _column(partial(columns.counts_by_item, may_hold_booleans=promised), value, info)
    counts: NamedCounts = _checked(partial(columns.named_counts, may_hold_booleans=promised), value)
    return counts


def _output_column(value: Any, info: ValidationInfo) -> RawColumn:
    """Labels, or numbers, which `service.parse` checks for the statistic."""
    if type(value) is np.ndarray:  # a long list of integers
        return cast("list[Any]", value.tolist())
    if type(value) not in {dict, list}:
        raise _refusal(
            "not_a_column", "Give a list with one item per element, or an object with one item per id."
        )
    items = value.values() if type(value) is dict else value
    return _column(list if float in set(map(type, items)) else columns.labels, value, info)


def _keyed_column(what: LiteralString) -> PlainValidator:
    """A column that `service.parse` or `statistics.weights` checks once the items are known."""
    sentence = "Give a list with " + what + " per item, or an object with one per id"
    return fitting(
        lambda value: type(value) is np.ndarray or (type(value) in {list, dict} and value),
        "not_a_column",
        sentence,
    )


def _one_of(types: Collection[type], code: str, needed: str) -> PlainValidator:
    def check(value: Any) -> Any:
        if type(value) in types:
            return value
        raise _refusal(code, f"This is {columns.NAMES.get(type(value), 'something else')}; {needed}.")

    return PlainValidator(check)


def _key_list(value: Any) -> Any:
    if type(value) is np.ndarray:  # a long list of integers
        return value.tolist()
    if type(value) is list:
        return _checked(columns.keys, value)
    raise _refusal("not_a_column", "Give a list with one string or integer per item.")


def _key_column(value: Any) -> Any:
    if type(value) is not dict:
        return _key_list(value)
    _checked(columns.keys, list(value.values()), list(value))
    return value


def _range(value: Any) -> tuple[float, float]:
    ends = value.tolist() if type(value) is np.ndarray else value
    pair = type(ends) is list and len(ends) == 2 and all(type(end) in {int, float} for end in ends)
    numbers = pair and all(abs(end) <= sys.float_info.max for end in ends)
    if not numbers or not 0 < float(ends[1]) - float(ends[0]) < math.inf:
        raise _refusal("not_a_range", "Give two numbers, the smaller one first, such as [0, 100].")
    return ends[0], ends[1]


def _items(one: dict[str, Any], least: int = 1) -> dict[str, Any]:
    return {"type": "array", "items": one, **({"minItems": least} if least else {})}


def _by_id(one: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": one}


def _column_of(one: dict[str, Any], least: int = 1) -> WithJsonSchema:
    return WithJsonSchema({"anyOf": [_items(one, least), _by_id(one)]})


_NUMBER = {"type": "number"}
_SAMPLE = {"anyOf": [_NUMBER, _items(_NUMBER)]}
_COUNT = {"type": "integer", "minimum": 0}
_COUNTS = _by_id(_COUNT) | {"minProperties": 1}
_LABEL = {"type": ["string", "integer"]}
_LABELS = _items(_LABEL, 0)
_COUNT_COLUMNS = [
    {
        "type": "object",
        "description": "By name: one list of counts each.",
        "additionalProperties": _items(_COUNT),
        "minProperties": 1,
    },
    {"type": "array", "description": "By item.", "items": _COUNTS, "minItems": 1},
    {"type": "object", "description": "By id.", "additionalProperties": _COUNTS},
]

Label = Annotated[
    Any, _one_of({str, int}, "not_a_label", "a label is a string or an integer"), WithJsonSchema(_LABEL)
]
Unit = Annotated[
    Any,
    _one_of({str, int, float}, "not_a_unit", 'a unit is a number or a fraction such as "1/30"'),
    WithJsonSchema({"type": ["string", "number"]}),
]
Range = Annotated[Any, PlainValidator(_range), WithJsonSchema(_items(_NUMBER, 2) | {"maxItems": 2})]
_effects = _number_column(columns.tuples, {list}, "a list with one number, or m numbers, per item")
_samples = _number_column(
    columns.samples, {list, dict}, "a list with one number per item, or an object with one per id"
)
samples = _samples
_judged = _number_column(
    columns.samples,
    {list, dict},
    "a list with one number or null per item, or an object with one number per id",
    gaps=True,
)
EffectArray = Annotated[Any, PlainValidator(_effects), WithJsonSchema(_items(_SAMPLE))]
SampleColumn = Annotated[Any, PlainValidator(_samples), _column_of(_SAMPLE)]
RUNS_SCHEMA = {"anyOf": [_items(_SAMPLE), _by_id(_SAMPLE)]}
# What people said of some items; null of the others.
JudgedColumn = Annotated[
    Any, PlainValidator(_judged), _column_of({"anyOf": [*_SAMPLE["anyOf"], {"type": "null"}]})
]
CountColumns = Annotated[Any, PlainValidator(_count_columns), WithJsonSchema({"anyOf": _COUNT_COLUMNS})]
OutputColumn = Annotated[
    Any, PlainValidator(_output_column), _column_of({"anyOf": [_LABEL, _NUMBER, _LABELS]})
]
WeightColumn = Annotated[
    Any, _keyed_column("one positive number"), _column_of({"type": ["number", "string"]})
]
SliceColumn = Annotated[
    Any,
    _keyed_column("one label, a list of labels, or null,"),
    _column_of({"type": ["string", "integer", "boolean", "array", "null"], "items": _LABEL}),
]
EventColumn = Annotated[
    Any, _keyed_column("1 (event) or 0 (censored)"), _column_of({"enum": [0, 1, False, True]})
]


def _lambda(value: Any) -> Any:
    if value == "auto" or (type(value) in {int, float} and 0 <= value <= 1):
        return value
    raise _refusal("out_of_range", 'Give a number from 0 to 1, or "auto".')


Lambda = Annotated[
    Any,
    PlainValidator(_lambda),
    WithJsonSchema({"anyOf": [{"type": "number", "minimum": 0, "maximum": 1}, {"const": "auto"}]}),
]
KeyList = Annotated[Any, PlainValidator(_key_list), WithJsonSchema(_LABELS)]
KeyColumn = Annotated[Any, PlainValidator(_key_column), _column_of(_LABEL, 0)]


# The statistics in requests: one model per kind of data, made from the catalogue


# Kinds whose statistics a request of another kind may also name: texts of machine translation are predictions.
_MERGED: dict[Kind, tuple[Kind, ...]] = {"predictions": ("predictions", "segments")}
_TYPES: dict[str, Any] = {
    "text": str,
    "formula": str,
    "number": float,
    "integer": int,
    "boolean": bool,
    "unit": Unit,
    "label": Label,
    "labels": list[Label],
}
_DESCRIPTIONS: dict[TestKind, str] = {
    "effects": "h of the sums of effects.",
    "scores": "A statistic of one number, or several, per item and system.",
    "counts": "A statistic of the sums of named counts: f(sums of U) - f(sums of V).",
    "predictions": "A statistic of raw outputs against gold.",
}


class NamedStatistic(Wire):
    """A statistic by name; the models below define the names and parameters of their kind."""

    name: str = ""


def entries(kind: Kind) -> list[Statistic]:
    """The statistics for requests of this kind."""
    return [entry for part in _MERGED.get(kind, (kind,)) for entry in STATISTICS[part]]


def _model(kind: TestKind) -> type[NamedStatistic]:
    """The names, and all their parameters, each with its statistics."""
    known = entries(kind)
    meanings = ";\n".join(f"{entry.name}: {entry.meaning}" for entry in known)
    name = option(known[0].name, f"{meanings}.")
    fields: dict[str, Any] = {"name": (Literal[tuple(entry.name for entry in known)], name)}
    taken: dict[str, list[tuple[Statistic, Parameter]]] = {}
    for entry in known:
        for parameter in entry.parameters:
            taken.setdefault(parameter.name, []).append((entry, parameter))
    for named, takers in taken.items():
        of: dict[str, list[str]] = {}
        for entry, parameter in takers:
            default = "" if parameter.default is None else f" (default {parameter.default})"
            of.setdefault(parameter.meaning + default, []).append(entry.name)
        description = "; ".join(f"Of {', '.join(names)}: {text}" for text, names in of.items()) + "."
        first = takers[0][1]
        type_ = Literal[first.choices] if first.choices else _TYPES[first.type]
        usual = first.default if len(known) == 1 else None
        fields[named] = (type_ if usual is not None else type_ | None, option(usual, description))
    return create_model(
        f"{kind.capitalize()}Statistic", __base__=NamedStatistic, __doc__=_DESCRIPTIONS[kind], **fields
    )


STATISTIC_MODELS: dict[TestKind, type[NamedStatistic]] = {kind: _model(kind) for kind in _DESCRIPTIONS}
if TYPE_CHECKING:  # mypy cannot see the catalogue
    EffectsStatistic: TypeAlias = NamedStatistic
    ScoresStatistic: TypeAlias = NamedStatistic
    CountsStatistic: TypeAlias = NamedStatistic
    PredictionsStatistic: TypeAlias = NamedStatistic
else:
    EffectsStatistic, ScoresStatistic, CountsStatistic, PredictionsStatistic = STATISTIC_MODELS.values()


@cache
def parameters_of_model(model: Any) -> frozenset[str]:
    """The parameters in a model of a statistic."""
    return frozenset(model.model_fields) - {"name"}


def schema_of_names(kinds: Sequence[TestKind]) -> dict[str, Any]:
    """The schema of a statistic given by name."""
    fields = [STATISTIC_MODELS[kind].model_fields["name"] for kind in kinds]
    names = dict.fromkeys(name for field in fields for name in get_args(field.annotation))
    return {"type": "string", "enum": list(names)}


def schemas_of_parameters(kinds: Sequence[TestKind]) -> dict[str, Any]:
    """The schemas of the parameters beside `statistic`, by name."""
    members = [STATISTIC_MODELS[kind].model_json_schema()["properties"] for kind in kinds]
    named = {name: schema for of_model in members for name, schema in of_model.items() if name != "name"}
    return {
        name: {**schema, "description": f"As in statistic. {schema['description']}"}
        for name, schema in named.items()
    }


def spec_of(statistic: NamedStatistic, kind: TestKind) -> StatisticSpec:
    """The statistic for inference; omitted choices have their defaults, so that ids agree."""
    parameters = {name: value for name, value in statistic if name != "name" and value is not None}
    defaults, later = _default_choices(kind, statistic.name)
    kept = {name: value for name, value in parameters.items() if later.get(name) != value}
    return StatisticSpec(statistic.name, {**defaults, **kept})


@cache
def _default_choices(kind: TestKind, name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The default choices of a statistic: those in every id, and those in none."""
    of = [parameter for entry in entries(kind) if entry.name == name for parameter in entry.parameters]
    listed = [parameter for parameter in of if parameter.choices and parameter.default is not None]
    early, late = ({one.name: one.default for one in listed if one.later == later} for later in (False, True))
    return early, late
