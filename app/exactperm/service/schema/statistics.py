"""The statistics on the wire: one model per kind of data, made from the registry.

A model has every parameter that some statistic of its kind takes; whether the one that was chosen takes it,
`statistics.known.require_known` decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from pydantic import create_model

from ...statistics.catalogue import STATISTICS
from ...statistics.paired import StatisticSpec
from ...statistics.statistic import Kind, Parameter, Statistic
from ..messages import TestKind
from .fields import Label, Unit, Wire, option

# Kinds whose statistics a request of another kind may name, too: texts of machine translation are predictions.
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
    "effects": "h over the sums of the effects.",
    "scores": "A statistic of one number, or several, per item and system.",
    "counts": "A statistic of the sums of named counts: f(sums of U) - f(sums of V).",
    "predictions": "A statistic of raw outputs against gold.",
}


class NamedStatistic(Wire):
    """A statistic by name; the models below say which names there are, and add the parameters of their kind."""

    name: str = ""


def entries(kind: Kind) -> list[Statistic]:
    """The statistics that a request of this kind may name."""
    return [entry for part in _MERGED.get(kind, (kind,)) for entry in STATISTICS[part]]


def _model(kind: TestKind) -> type[NamedStatistic]:
    """Names, and every parameter that one of them takes, which says of which."""
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
        alone = len(known) == 1 and first.default is not None
        fields[named] = (
            (type_, option(first.default, description))
            if alone
            else (type_ | None, option(None, description))
        )
    model: type[NamedStatistic] = create_model(
        f"{kind.capitalize()}Statistic", __base__=NamedStatistic, __doc__=_DESCRIPTIONS[kind], **fields
    )
    return model


STATISTIC_MODELS: dict[TestKind, type[NamedStatistic]] = {kind: _model(kind) for kind in _DESCRIPTIONS}
if TYPE_CHECKING:  # what the registry holds is beyond mypy
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
    """The schema of a statistic that is a name alone."""
    fields = [STATISTIC_MODELS[kind].model_fields["name"] for kind in kinds]
    names = dict.fromkeys(name for field in fields for name in get_args(field.annotation))
    return {"type": "string", "enum": list(names)}


def schemas_of_parameters(kinds: Sequence[TestKind]) -> dict[str, Any]:
    """The schemas of the parameters that may stand beside `statistic`, by name."""
    members = [STATISTIC_MODELS[kind].model_json_schema()["properties"] for kind in kinds]
    named = {name: schema for own in members for name, schema in own.items() if name != "name"}
    return {
        name: {**schema, "description": f"As in statistic. {schema['description']}"}
        for name, schema in named.items()
    }


def spec_of(statistic: NamedStatistic, kind: TestKind) -> StatisticSpec:
    """The statistic as inference takes it; a choice that was left out is its default, so that ids agree."""
    given = {name: value for name, value in statistic if name != "name" and value is not None}
    return StatisticSpec(statistic.name, {**_default_choices(kind, statistic.name), **given})


@cache
def _default_choices(kind: TestKind, name: str) -> dict[str, Any]:
    """What the choices of a statistic are where they are left out."""
    return {
        parameter.name: parameter.default
        for entry in entries(kind)
        if entry.name == name
        for parameter in entry.parameters
        if parameter.choices and parameter.default is not None
    }
