"""The statistics on the wire, one model per kind of data. What they mean is said once, in the catalogue.

A model names every parameter that some statistic of its kind takes; whether the one that was chosen takes it is
for the catalogue to say. Tests hold names, parameters and choices against it.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from ...statistics.catalogue import STATISTICS, Statistic
from ...statistics.paired import StatisticSpec
from ..messages import TestKind
from .fields import Label, Unit
from .wire import Wire

# Kinds whose statistics a request of another kind may name, too: texts of machine translation are predictions.
MERGED = {"predictions": ("predictions", "segments")}


def entries(kind: str) -> list[Statistic]:
    """The statistics that a request of this kind may name."""
    return [entry for part in MERGED.get(kind, (kind,)) for entry in STATISTICS.get(part, ())]


def _named(kind: str) -> Any:
    meanings = (f"{entry.name}: {entry.meaning}" for entry in entries(kind))
    return Field(description=";\n".join(meanings) + ".")


def _parameter(kind: str, name: str) -> Any:
    """What the catalogue says of a parameter, and which statistics take it."""
    said: dict[str, list[str]] = {}
    for entry in entries(kind):
        for parameter in entry.parameters:
            if parameter.name == name:
                default = "" if parameter.default is None else f" (default {parameter.default})"
                said.setdefault(parameter.meaning + default, []).append(entry.name)
    return Field(
        description="; ".join(f"Of {', '.join(names)}: {text}" for text, names in said.items()) + "."
    )


class EffectsStatistic(Wire):
    """h over the sums of the effects."""

    name: Annotated[Literal["expression"], _named("effects")] = "expression"
    expression: Annotated[str, _parameter("effects", "expression")] = "x1"


class ScoresStatistic(Wire):
    """A statistic of one number, or several, per item and system."""

    name: Annotated[Literal["mean_difference", "sum_difference", "sign", "signed_rank"], _named("scores")] = (
        "mean_difference"
    )
    zero_method: Annotated[
        Literal["wilcox", "pratt", "zsplit"] | None, _parameter("scores", "zero_method")
    ] = None
    unit: Annotated[Unit | None, _parameter("scores", "unit")] = None


class CountsStatistic(Wire):
    """A statistic of the sums of named counts: f(sums of U) - f(sums of V)."""

    name: Annotated[
        Literal[
            "f1",
            "fbeta",
            "precision",
            "recall",
            "accuracy",
            "jaccard",
            "ratio",
            "expression",
            "bleu",
            "chrf",
            "ter",
        ],
        _named("counts"),
    ] = "f1"
    beta: Annotated[float | None, _parameter("counts", "beta")] = None
    numerator: Annotated[str | None, _parameter("counts", "numerator")] = None
    denominator: Annotated[str | None, _parameter("counts", "denominator")] = None
    expression: Annotated[str | None, _parameter("counts", "expression")] = None


class PredictionsStatistic(Wire):
    """A statistic of raw outputs against gold."""

    name: Annotated[
        Literal[
            "accuracy",
            "exact_match",
            "token_accuracy",
            "f1",
            "precision",
            "recall",
            "mcc",
            "span_f1",
            "span_precision",
            "span_recall",
            "bleu",
            "chrf",
            "ter",
        ],
        _named("predictions"),
    ] = "accuracy"
    average: Annotated[Literal["binary", "micro", "macro"] | None, _parameter("predictions", "average")] = (
        None
    )
    positive: Annotated[Label | None, _parameter("predictions", "positive")] = None
    labels: Annotated[list[Label] | None, _parameter("predictions", "labels")] = None
    scheme: Annotated[Literal["BIO", "IOB2"] | None, _parameter("predictions", "scheme")] = None
    tokenize: Annotated[
        Literal["13a", "intl", "char", "none", "zh"] | None, _parameter("predictions", "tokenize")
    ] = None
    lowercase: Annotated[bool | None, _parameter("predictions", "lowercase")] = None
    word_order: Annotated[int | None, _parameter("predictions", "word_order")] = None
    beta: Annotated[float | None, _parameter("predictions", "beta")] = None
    normalized: Annotated[bool | None, _parameter("predictions", "normalized")] = None
    case_sensitive: Annotated[bool | None, _parameter("predictions", "case_sensitive")] = None


AnyStatistic = EffectsStatistic | ScoresStatistic | CountsStatistic | PredictionsStatistic

STATISTIC_MODELS: dict[TestKind, type[AnyStatistic]] = {
    "effects": EffectsStatistic,
    "scores": ScoresStatistic,
    "counts": CountsStatistic,
    "predictions": PredictionsStatistic,
}


def spec_of(statistic: AnyStatistic, kind: str) -> StatisticSpec:
    """The statistic as inference takes it; a choice that was left out is its default, so that ids agree."""
    given = {name: value for name, value in statistic if name != "name" and value is not None}
    defaults = {
        parameter.name: parameter.default
        for entry in entries(kind)
        if entry.name == statistic.name
        for parameter in entry.parameters
        if parameter.choices and parameter.default is not None
    }
    return StatisticSpec(statistic.name, {**defaults, **given})
