"""The request for a leaderboard: many systems on the same items, on one or several data sets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, Field, GetJsonSchemaHandler, WithJsonSchema
from pydantic_core import CoreSchema

from ...answers.board import MOST_LISTED, Adjust, Aggregate, Combine, Family, ListedPairs
from ...answers.test import Alternative, Exchange, Method, SystemsStatistic as StatisticOfSystems
from ...inference.options import PmfDetail, Significance
from ...inputs.alignment import OnMissingOnBoard
from ...inputs.battles import WINNERS
from ...inputs.columns import MAX_DECIMALS
from ..kinds import ListedKind, PlannedKind, TestKind
from .fields import (
    STATISTIC_MODELS,
    EventColumn,
    KeyColumn,
    KeyList,
    OutputColumn,
    Range,
    Share,
    Store,
    Timeout,
    WeightColumn,
    Wire,
    examples,
    fitting,
    option,
    parameters_of_model,
    schema_of_names,
    schemas_of_parameters,
    union_schema,
)
from .requests import EXCHANGE, MAX_SEED, REQUEST_MODELS, SMALL_SCORES, Choices, GateRequest, PowerRequest

CompareKind = Literal["scores", "counts", "predictions"]
DESIGNS = ("all_pairs", "baseline")


def _of_pairs(value: Any) -> bool:
    return type(value) is list and all(
        type(pair) is list and len(pair) == 2 and set(map(type, pair)) == {str} for pair in value
    )


_COLUMN = {"anyOf": [{"type": "array", "minItems": 1}, {"type": "object", "minProperties": 1}]}
_SYSTEMS = [
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
_PAIR = {"type": "array", "items": {"type": "string"}, "minItems": 2, "maxItems": 2}
_ROW = {"type": "array", "items": {"type": "number"}, "minItems": 2}
_DATASETS = {
    "type": "object",
    "additionalProperties": {"$ref": "#/components/schemas/Dataset"},
    "minProperties": 1,
}

# Their contents are checked once the kind of data is known.
SystemColumns = Annotated[
    Any,
    fitting(
        lambda value: type(value) is dict or (type(value) is list and set(map(type, value)) <= {str}),
        "systems",
        "Give an object with one column for each system, or, next to the matrix scores, a list of names",
    ),
    WithJsonSchema({"anyOf": _SYSTEMS}),
]
Matrix = Annotated[
    Any,
    fitting(
        lambda value: type(value) is list,
        "matrix",
        "Give a list with a row for each item, with a number for each system",
    ),
    WithJsonSchema({"type": "array", "items": _ROW, "minItems": 1}),
]
Datasets = Annotated[
    Any,
    fitting(
        lambda value: type(value) is dict and bool(value),
        "datasets",
        "Give an object with at least one data set by name",
    ),
    WithJsonSchema(_DATASETS),
]
Pairs = Annotated[
    Any,
    fitting(
        lambda value: value in DESIGNS or _of_pairs(value),
        "compare",
        "Give all_pairs, baseline, or a list of pairs of names such as [[A, B], [A, C]]",
    ),
    WithJsonSchema({"anyOf": [{"enum": list(DESIGNS)}, {"type": "array", "items": _PAIR, "minItems": 1}]}),
]
AnyStatistic = Annotated[
    Any,
    fitting(lambda value: type(value) is dict, "model_type", "An object is needed here"),
    WithJsonSchema(
        union_schema(
            (STATISTIC_MODELS[kind].__name__ for kind in get_args(CompareKind)),
            schema_of_names(get_args(CompareKind)),
        )
    ),
]

_BATTLE = {
    "type": "object",
    "properties": {
        "id": {"type": ["string", "integer"], "description": "The question; also question_id, qid or uid."},
        "model_a": {"type": "string", "description": "The model that was shown first."},
        "model_b": {"type": "string", "description": "The model that was shown second."},
        "winner": {"enum": list(WINNERS), "description": "Which of them won; the last three are ties."},
    },
    "required": ["model_a", "model_b", "winner"],
}
# A model for each of a million battles would take seconds.
Battles = Annotated[
    Any,
    fitting(lambda value: type(value) is list and value, "not_a_list", "Give a list of at least one battle"),
    WithJsonSchema({"type": "array", "items": _BATTLE, "minItems": 1}),
]
SMALL_BATTLES: list[dict[str, Any]] = [
    {"id": "q1", "model_a": "new", "model_b": "old", "winner": "model_a"},
    {"id": "q1", "model_a": "old", "model_b": "new", "winner": "model_b"},
    {"id": "q2", "model_a": "old", "model_b": "new", "winner": "tie"},
]

SMALL_BOARD: dict[str, Any] = {
    "kind": "scores",
    "systems": {"A": [1, 1, 1, 0, 1, 1, 1, 1], "B": [1, 0, 1, 0, 1, 0, 1, 0], "C": [0, 0, 1, 0, 0, 0, 1, 0]},
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


_COSTS = {
    "type": "object",
    "properties": {"cost": {"type": "object", "additionalProperties": _COLUMN, "minProperties": 1}},
    "required": ["cost"],
    "additionalProperties": False,
}
Frontier = Annotated[
    Any,
    fitting(
        lambda value: (
            (type(value) is str and bool(value))
            or (type(value) is dict and set(value) == {"cost"} and type(value["cost"]) is dict)
        ),
        "frontier",
        'Give {"cost": an object with one column for each system}, or for files the name of the column of costs',
    ),
    WithJsonSchema({"anyOf": [_COSTS, {"type": "string", "minLength": 1}]}),
]


class Columns(Wire):
    """The systems' data on the items of one data set."""

    systems: SystemColumns | None = option(None, "The systems by name, in any order: at least two.")
    scores: Matrix | None = option(
        None, "Scores of the systems in the list `systems`: a row for each item, a column for each system."
    )
    gold: OutputColumn | None = option(
        None, "The gold standard, for predictions: labels, texts, human scores or times."
    )
    ids: KeyList | None = option(None, "One unique id per item, for lists. Never reorders anything.")
    clusters: KeyColumn | None = option(None, "One key per item; the items of a cluster swap together.")
    weights: WeightColumn | None = option(
        None,
        'Of scores, what each item counts for, positive: a weighted mean or sum. Fractions as text ("1/3") are '
        "exact.",
    )
    groups: KeyColumn | None = option(
        None, "For statistics of pairs: one key per item; only pairs of the same group count."
    )
    event: EventColumn | None = option(
        None, "For concordance: 1 or true if gold is the time of an event, 0 or false if censored."
    )


class Dataset(Columns):
    """One of several data sets."""


class CompareChoices(Wire):
    """The options of a comparison. All optional, except the kind of a JSON request."""

    kind: CompareKind = option("scores", "The kind of the systems' data.")
    statistic: AnyStatistic | None = option(
        None, "A statistic for this kind of data, as in /v1/tests/<kind>; by default that of the kind."
    )
    compare: Pairs = option(
        "all_pairs", "all_pairs; baseline: every system with the system `baseline`; or pairs [u, v] of names."
    )
    baseline: str | None = option(None, "The system that all others are compared with.")
    adjust: Adjust = option(
        "holm",
        "How p-values are adjusted over the pairs of a family. holm_discrete and max_t use the attainable "
        "values of the tests' distributions.",
    )
    family: Family | None = option(
        None, "With several data sets: each is a family (dataset, the default), or all are one."
    )
    aggregate: Aggregate | None = option(
        None,
        "The overall board over several data sets: equal weights for data sets (macro, the default) or for "
        "items (micro); null for none.",
    )
    combine: Combine | None = option(
        None,
        (
            "Combines one-sided p-values of the data sets into overall p-values, instead of testing "
            "their items."
        ),
    )
    on_missing: OnMissingOnBoard = option(
        "error",
        "Items that only some systems have: refuse them (error), compare each pair on common items "
        "(pairwise), or use the items that all systems have (complete).",
    )
    higher_is_better: bool | None = option(
        None,
        "Whether more is better. If left out, the statistic or the metric's name decides it, and scores without "
        "a name are better when higher.",
    )
    alternative: Alternative = option(
        "two-sided",
        "greater means that u is better than v, even if lower is better. All pairs need two-sided.",
    )
    alpha: Share = option(0.05, "Significance level of a family.")
    confidence_level: Share | None = option(
        None, "Requests a confidence interval of each difference, and of each system where that is a mean."
    )
    range: Range | None = option(
        None,
        "With confidence_level, for scores that are not right or wrong: the least and the largest possible score, for the "
        "interval of each system.",
    )
    frontier: Frontier | None = option(
        None,
        "Requests the frontier of cost and quality: which systems another one beats in both. The items' costs by system, "
        "less is better; for files the name of their column.",
    )
    pairs: ListedPairs = option(
        "auto",
        f"The pairs that the answer lists. auto: the first {MOST_LISTED:,} over all boards; a warning "
        "counts the others.",
    )
    method: Method = option("auto", "How to compute the p-values.")
    exchange: Exchange = option("items", EXCHANGE)
    samples: int = option(20_000, "Monte Carlo samples (method monte_carlo).", ge=1)
    seed: int = option(0, "Monte Carlo seed; the default is fixed.", ge=0, le=MAX_SEED)
    precision: Share = option(1e-3, "Requested relative width of a p-value bracket (method bounds).")
    decimals: int | None = option(
        None, "Rounds scores to this many decimals first, as numpy.round does.", ge=0, le=MAX_DECIMALS
    )
    timeout_s: Timeout = None
    store: Store = False

    @classmethod
    def parameters(cls, value: Mapping[str, Any]) -> frozenset[str]:
        """The parameters of the statistics of its kind of data."""
        kind = value.get("kind", "scores")
        return parameters_of_model(STATISTIC_MODELS[kind]) if kind in get_args(CompareKind) else frozenset()


class CompareRequest(CompareChoices, Columns):
    """Many systems on the same items: exact tests of their pairs, adjusted p-values, ranks and groups.

    Give `systems`, or `datasets` that have systems.
    """

    model_config = examples(*EXAMPLES)

    kind: Literal["scores", "counts", "predictions", "preferences"] = Field(  # type: ignore[assignment]  # one kind more
        description="The kind of the systems' data; preferences are battles."
    )
    battles: Battles | None = option(
        None,
        "Of preferences: every pair of models is tested on its own battles, and a model's score is its share of wins.",
    )
    datasets: Datasets | None = option(None, "Several data sets by name.")

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """Parameters may stand beside the statistic."""
        schema = handler.resolve_ref_schema(handler(core))
        schema["properties"] |= schemas_of_parameters(get_args(CompareKind))
        return schema


# Several systems in one test


class SystemsStatistic(Wire):
    """A statistic of several systems.

    contrast is the sum of weight times mean; page is Page's L, a trend over the order; cochran_q (of right and wrong) and
    friedman (of ranks) ask whether any system differs; interaction is the mean of (A1 - A0) - (B1 - B0).
    """

    name: StatisticOfSystems = Field(description="Its name.")
    weights: dict[str, float] | None = option(
        None, "contrast: weights by system, which sum to 0; others have weight 0.", min_length=2
    )
    order: list[str] | None = option(
        None, "page: all systems, the one with the lowest scores first.", min_length=2
    )
    pairs: list[Annotated[list[str], Field(min_length=2, max_length=2)]] | None = option(
        None, "interaction: [[A1, A0], [B1, B0]].", min_length=2, max_length=2
    )


PARAMETER_OF: Mapping[str, str] = {"contrast": "weights", "page": "order", "interaction": "pairs"}
_SHARED: Mapping[str, Any] = Choices.model_fields


class SystemsRequest(Wire):
    """Several systems on the same items in one test: on each item their scores are exchanged in all ways."""

    model_config = examples(
        {
            "systems": {"Q4": [0, 1, 0, 1, 0, 1], "Q6": [0, 1, 1, 1, 0, 1], "Q8": [1, 1, 1, 1, 0, 1]},
            "statistic": {"name": "page", "order": ["Q4", "Q6", "Q8"]},
            "alternative": "greater",
        },
        {
            "systems": {"A": [1, 1, 1, 0, 1], "B": [1, 0, 1, 0, 1], "C": [0, 0, 1, 0, 0]},
            "statistic": {"name": "cochran_q"},
        },
    )

    systems: SystemColumns = Field(description="The systems by name, in any order: at least two.")
    scores: Matrix | None = option(
        None, "Scores of the systems in the list `systems`: a row for each item, a column for each system."
    )
    ids: KeyList | None = option(None, "One unique id per item, for lists. Never reorders anything.")
    on_missing: Literal["error", "complete"] = option(
        "error", "Items that only some systems have: error refuses them, complete leaves them out."
    )
    decimals: int | None = option(
        None, "Rounds scores to this many decimals first, as numpy.round does.", ge=0, le=MAX_DECIMALS
    )
    statistic: SystemsStatistic = Field(description="What is tested.")
    alternative: Alternative = _SHARED["alternative"]
    method: Method = _SHARED["method"]
    samples: int = _SHARED["samples"]
    seed: int = _SHARED["seed"]
    alpha: Share = _SHARED["alpha"]
    significance: Significance = _SHARED["significance"]
    pmf: PmfDetail = _SHARED["pmf"]
    exact_fraction: bool = _SHARED["exact_fraction"]
    timeout_s: Timeout = None
    store: Store = False

    @classmethod
    def parameters(cls, value: Mapping[str, Any]) -> frozenset[str]:
        """The parameters of its statistics."""
        return frozenset(PARAMETER_OF.values())

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """A statistic may be a name, with its parameter beside it."""
        schema = handler.resolve_ref_schema(handler(core))
        inside = SystemsStatistic.model_json_schema()["properties"]
        statistic = schema["properties"]["statistic"]
        statistic["anyOf"] = [
            {"$ref": statistic.pop("$ref")},
            {"type": "string", "enum": inside["name"]["enum"]},
        ]
        schema["properties"] |= {name: inside[name] for name in PARAMETER_OF.values()}
        return schema


class PreferencesRequest(Choices):
    """Battles of two models: on each question the share that each won, and all of it swaps."""

    model_config = examples({"battles": SMALL_BATTLES, "u": "new", "v": "old"})

    battles: Battles = Field(description="The battles; those of other models are left out.")
    u: str | None = option(None, "The model U; of two models, two-sided, it may be left out.")
    v: str | None = option(None, "The model V; of two models it may be left out.")
    exchange: Literal["items"] = option("items", "Questions swap.")


OF_A_KIND: Mapping[ListedKind, type[BaseModel]] = {
    **{kind: REQUEST_MODELS[kind] for kind in get_args(TestKind)},
    "systems": SystemsRequest,
    "preferences": PreferencesRequest,
    "gate": GateRequest,
    "compare": CompareRequest,
    "power": PowerRequest,
}
PLANS: list[Any] = [
    {"kind": "scores", "request": SMALL_SCORES},
    {
        "kind": "compare",
        "request": {"kind": "scores", "systems": {"A": [1, 1, 1, 0], "B": [1, 0, 1, 0], "C": [0, 0, 1, 0]}},
    },
]


class PlanEnvelope(Wire):
    """A request for the plan of a test or a comparison."""

    model_config = examples(*PLANS)

    kind: PlannedKind = Field(description="The kind of test, or a comparison.")
    request: Annotated[
        dict[str, Any],
        Field(json_schema_extra=union_schema(OF_A_KIND[kind].__name__ for kind in get_args(PlannedKind))),
    ]
    store: Store = False
