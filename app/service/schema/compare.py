"""The request for a leaderboard: many systems on the same items, on one or several data sets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, get_args

from pydantic import ConfigDict, Field, GetJsonSchemaHandler, PlainValidator, WithJsonSchema
from pydantic_core import CoreSchema, PydanticCustomError

from ...inference.compare.record import MOST_LISTED, Adjust, Aggregate, Combine, Family, ListedPairs
from ...inference.options import Alternative, Method
from ...inputs.alignment import OnMissingOnBoard
from ...inputs.nested import MAX_DECIMALS
from .fields import LEAST_TIMEOUT_S, EventColumn, KeyColumn, KeyList, OutputColumn, Store, WeightColumn, Wire
from .requests import MAX_SEED
from .statistics import STATISTIC_MODELS, parameters_of_model, schema_of_names, schemas_of_parameters

CompareKind = Literal["scores", "counts", "predictions"]
DESIGNS = ("all_pairs", "baseline")


def _systems(value: Any) -> Any:
    """Names with columns, or names alone; the columns are checked when the kind of data is known."""
    if type(value) is dict or (type(value) is list and set(map(type, value)) <= {str}):
        return value
    raise PydanticCustomError(
        "systems",
        "Give an object with one column for each system, or, next to the matrix scores, a list of names",
    )


def _compare(value: Any) -> Any:
    if value in DESIGNS:
        return value
    if type(value) is list and all(
        type(pair) is list and len(pair) == 2 and set(map(type, pair)) == {str} for pair in value
    ):
        return value
    raise PydanticCustomError(
        "compare", "Give all_pairs, baseline, or a list of pairs of names such as [[A, B], [A, C]]"
    )


def _matrix(value: Any) -> Any:
    if type(value) is list:
        return value
    raise PydanticCustomError(
        "matrix", "Give a list with a row for each item, and in it a number for each system"
    )


def _statistic(value: Any) -> Any:
    if type(value) is dict:
        return value
    raise PydanticCustomError("model_type", "An object is needed here")


def _datasets(value: Any) -> Any:
    if type(value) is dict and value:
        return value
    raise PydanticCustomError("datasets", "Give an object with at least one data set by name")


_COLUMN = {
    "anyOf": [
        {"type": "array", "minItems": 1},
        {"type": "object", "minProperties": 1},
    ]
}
_SYSTEMS = {
    "anyOf": [
        {
            "type": "object",
            "description": "By name: a column each, as u of /v1/tests/<kind>: one value per item, or an object by id.",
            "additionalProperties": _COLUMN,
            "minProperties": 2,
        },
        {
            "type": "array",
            "description": "Names of the columns of the matrix `scores`.",
            "items": {"type": "string", "minLength": 1},
            "minItems": 2,
        },
    ]
}
_PAIRS = {
    "anyOf": [
        {"enum": list(DESIGNS)},
        {
            "type": "array",
            "items": {"type": "array", "items": {"type": "string"}, "minItems": 2, "maxItems": 2},
            "minItems": 1,
        },
    ]
}
_ROWS = {
    "type": "array",
    "items": {"type": "array", "items": {"type": "number"}, "minItems": 2},
    "minItems": 1,
}
_STATISTICS = {
    "anyOf": [
        *(
            {"$ref": f"#/components/schemas/{STATISTIC_MODELS[kind].__name__}"}
            for kind in get_args(CompareKind)
        ),
        schema_of_names(get_args(CompareKind)),
    ]
}

SystemColumns = Annotated[Any, PlainValidator(_systems), WithJsonSchema(_SYSTEMS)]
Matrix = Annotated[Any, PlainValidator(_matrix), WithJsonSchema(_ROWS)]
Datasets = Annotated[
    Any,
    PlainValidator(_datasets),
    WithJsonSchema(
        {
            "type": "object",
            "additionalProperties": {"$ref": "#/components/schemas/Dataset"},
            "minProperties": 1,
        }
    ),
]
Pairs = Annotated[Any, PlainValidator(_compare), WithJsonSchema(_PAIRS)]
AnyStatistic = Annotated[Any, PlainValidator(_statistic), WithJsonSchema(_STATISTICS)]

SMALL_BOARD: dict[str, Any] = {
    "kind": "scores",
    "systems": {
        "A": [1, 1, 1, 0, 1, 1, 1, 1],
        "B": [1, 0, 1, 0, 1, 0, 1, 0],
        "C": [0, 0, 1, 0, 0, 0, 1, 0],
    },
}
EXAMPLES: list[Any] = [
    SMALL_BOARD,
    {
        "kind": "scores",
        "systems": ["A", "B", "baseline"],
        "scores": [[0.5, 0.25, 0.25], [1.0, 0.75, 0.5], [0.25, 0.5, 0.0], [0.75, 0.5, 0.25]],
        "compare": "baseline",
        "baseline": "baseline",
        "alternative": "greater",
    },
    {
        "kind": "scores",
        "datasets": {
            "arc": {"systems": {"A": {"q1": 1, "q2": 0, "q3": 1}, "B": {"q1": 0, "q2": 0, "q3": 1}}},
            "gsm8k": {"systems": {"A": [1, 1, 0, 1], "B": [1, 0, 0, 0]}},
        },
        "aggregate": "macro",
    },
]


class Columns(Wire):
    """The systems' data on the items of one data set."""

    systems: Annotated[
        SystemColumns | None, Field(description="The systems by name, in any order: at least two.")
    ] = None
    scores: Annotated[
        Matrix | None,
        Field(
            description="Scores of the systems in the list `systems`: a row for each item, a column for each system."
        ),
    ] = None
    gold: Annotated[
        OutputColumn | None,
        Field(description="The gold standard, of predictions: labels, texts, human scores or times."),
    ] = None
    ids: Annotated[
        KeyList | None, Field(description="One unique id per item, for lists. Never reorders anything.")
    ] = None
    clusters: Annotated[
        KeyColumn | None, Field(description="One key per item; the items of a cluster swap together.")
    ] = None
    weights: Annotated[
        WeightColumn | None,
        Field(
            description='Of scores, what each item counts for, positive: a weighted mean or sum. Fractions as text ("1/3") are '
            "exact."
        ),
    ] = None
    groups: Annotated[
        KeyColumn | None,
        Field(description="Of statistics of pairs, one key per item: only pairs of the same group count."),
    ] = None
    event: Annotated[
        EventColumn | None,
        Field(
            description="Of concordance, 1 or true where gold is the time of an event, 0 or false if censored."
        ),
    ] = None


class Dataset(Columns):
    """One of several data sets."""


class CompareChoices(Wire):
    """What to compare and how, however the data is sent. All optional but the kind of a JSON request."""

    kind: Annotated[CompareKind, Field(description="What the data of one system is.")] = "scores"
    statistic: Annotated[
        AnyStatistic | None,
        Field(
            description="A statistic of this kind of data, as in /v1/tests/<kind>; its default if left out."
        ),
    ] = None
    compare: Annotated[
        Pairs,
        Field(
            description="all_pairs; baseline: every system with the one that `baseline` names; or pairs [u, v] of names."
        ),
    ] = "all_pairs"
    baseline: Annotated[str | None, Field(description="The system that all others are compared to.")] = None
    adjust: Annotated[
        Adjust,
        Field(
            description="How p-values are adjusted over the pairs of a family. holm_discrete and max_t use what the tests' "
            "own distributions can attain."
        ),
    ] = "holm"
    family: Annotated[
        Family | None,
        Field(
            description="Of several data sets: each is a family of its own (dataset, the default), or all are one."
        ),
    ] = None
    aggregate: Annotated[
        Aggregate | None,
        Field(
            description="The overall board over several data sets: each weighs the same (macro, the default), or each item "
            "does (micro); null for none."
        ),
    ] = None
    combine: Annotated[
        Combine | None,
        Field(
            description="Makes the overall p-values from one-sided p-values of the data sets, not from their items."
        ),
    ] = None
    on_missing: Annotated[
        OnMissingOnBoard,
        Field(
            description="What to do with items that only some systems have: refuse, compare each pair on the items that both "
            "have (pairwise), or all on the items that all have (complete)."
        ),
    ] = "error"
    higher_is_better: Annotated[
        bool | None,
        Field(
            description="Whether more is better. If left out, the statistic or the metric's name decides it, and scores without "
            "a name are better when higher."
        ),
    ] = None
    alternative: Annotated[
        Alternative,
        Field(
            description="greater means that u is better than v, also where lower is better. All pairs need two-sided."
        ),
    ] = "two-sided"
    alpha: Annotated[float, Field(gt=0, lt=1, description="Level of significance, of a family.")] = 0.05
    confidence_level: Annotated[
        float | None, Field(gt=0, lt=1, description="Requests a confidence interval of each difference.")
    ] = None
    pairs: Annotated[
        ListedPairs,
        Field(
            description=f"Which pairs the answer lists. auto: of all pairs the first {MOST_LISTED:,}, shared by its boards; a warning counts "
            "the others."
        ),
    ] = "auto"
    method: Annotated[Method, Field(description="How to compute the p-values.")] = "auto"
    samples: Annotated[int, Field(ge=1, description="Monte Carlo samples (method monte_carlo).")] = 20_000
    seed: Annotated[int, Field(ge=0, le=MAX_SEED, description="Monte Carlo seed; the default is fixed.")] = 0
    precision: Annotated[
        float, Field(gt=0, lt=1, description="Requested relative width of a p-value bracket (method bounds).")
    ] = 1e-3
    decimals: Annotated[
        int | None,
        Field(
            ge=0,
            le=MAX_DECIMALS,
            description="Rounds scores to this many decimals first, as numpy.round does.",
        ),
    ] = None
    timeout_s: Annotated[
        float | None, Field(gt=LEAST_TIMEOUT_S, description="Deadline in seconds, clamped by the server.")
    ] = None
    store: Store = False

    @classmethod
    def parameters(cls, value: Mapping[str, Any]) -> frozenset[str]:
        """The parameters of the statistics of its kind of data."""
        kind = value.get("kind", "scores")
        return parameters_of_model(STATISTIC_MODELS[kind]) if kind in get_args(CompareKind) else frozenset()


class CompareRequest(CompareChoices, Columns):
    """Many systems on the same items: exact tests of their pairs, adjusted p-values, ranks and groups.

    Give `systems`, or `datasets` with systems of their own.
    """

    model_config = ConfigDict(json_schema_extra={"examples": EXAMPLES})

    kind: Annotated[CompareKind, Field(description="What the data of one system is.")]
    datasets: Annotated[Datasets | None, Field(description="Several data sets by name.")] = None

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """Parameters may stand beside the statistic."""
        schema = handler.resolve_ref_schema(handler(core))
        schema["properties"] |= schemas_of_parameters(get_args(CompareKind))
        return schema
