"""The requests for a test: effects, scores, counts, predictions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import Field, GetJsonSchemaHandler
from pydantic_core import CoreSchema

from ...answers.test import Alternative, Method, Resampling
from ...inference.options import PmfDetail, SequentialMode, Significance
from ...inputs.alignment import OnMissing
from ...inputs.columns import MAX_DECIMALS
from ...inputs.outcomes import CELLS, columns_of
from ..messages import TestKind
from .fields import (
    CountColumns,
    EffectArray,
    EventColumn,
    KeyColumn,
    KeyList,
    OutputColumn,
    Range,
    SampleColumn,
    Share,
    Store,
    Timeout,
    WeightColumn,
    Wire,
    examples,
    option,
)
from .statistics import (
    CountsStatistic,
    EffectsStatistic,
    PredictionsStatistic,
    ScoresStatistic,
    parameters_of_model,
    schema_of_names,
    schemas_of_parameters,
)

MAX_SEED = 2**53 - 1
SMALL_SCORES: dict[str, Any] = {"u": [0.85, 0.90, 0.78, 0.92, 0.88], "v": [0.80, 0.85, 0.75, 0.88, 0.82]}
SMALL_SAMPLES: dict[str, Any] = {"u": [[0.8, 0.9], [1.0, 0.7], [0.5]], "v": [[0.7, 0.8], [0.9, 0.9], [0.4]]}
SMALL_TUPLES: dict[str, Any] = {
    "stay": [[8, 2, 6, 1], [3, 3, 5, 2], [7, 1, 7, 1]],
    "swap": [[6, 1, 8, 2], [5, 2, 3, 3], [7, 1, 7, 1]],
    "statistic": {"expression": "x1 / (x1 + x2 / 2) - x3 / (x3 + x4 / 2)"},
}
SMALL_COUNTS: list[Any] = [
    {
        "u": {"tp": [8, 3, 7], "incorrect": [2, 3, 1]},
        "v": {"tp": [6, 5, 7], "incorrect": [1, 2, 1]},
        "statistic": {"name": "f1"},
    },
    {
        "u": {"call-1": {"errors": 3, "words": 40}, "call-2": {"errors": 0, "words": 12}},
        "v": {"call-1": {"errors": 5, "words": 40}, "call-2": {"errors": 1, "words": 12}},
        "statistic": {"name": "ratio", "numerator": "errors", "denominator": "words"},
    },
]


class Names(Wire):
    """The names of the systems in reports."""

    u: str = option("U", "Name of system U, the candidate in a gate.")
    v: str = option("V", "Name of system V, the baseline in a gate.")


class SequentialChoice(Wire):
    """A test that is asked again as items come in: its e-value is evidence at every look."""

    mode: SequentialMode = option("anytime", "anytime: evidence holds at every look, planned or not.")
    scale: float | None = option(
        None,
        "What differences are measured in, chosen before there was any data; 1 if left out, where all lie in [-1, 1].",
        gt=0,
    )
    prior_log_e: float = option(
        0.0, "Natural logarithm of the e-value of earlier, independent batches.", ge=-1e6, le=1e6
    )
    planned_n: int | None = option(None, "How many items there will be at the most.", ge=1, le=10_000_000)
    max_difference: float | None = option(
        None, "How much an item can differ; with planned_n, for `curtailed`.", gt=0
    )


class Choices(Wire):
    """Options of every test, however its data is sent. All optional."""

    alternative: Alternative = option(
        "two-sided", "two-sided is P(|t| >= |observed|); greater means that U is greater than V."
    )
    method: Method = option(
        "auto",
        "How to compute; auto takes the cheapest exact method, and the answer names it with the reason.",
    )
    test: Resampling = option(
        "permutation", "The null model: systems exchanged at random, or items drawn with replacement."
    )
    samples: int = option(20_000, "Monte Carlo samples (method monte_carlo).", ge=1)
    seed: int = option(0, "Monte Carlo seed; the default is fixed.", ge=0, le=MAX_SEED)
    precision: Share = option(1e-3, "Requested relative width of a p-value bracket (method bounds).")
    alpha: Share = option(0.05, "Significance level for `significant` and warnings.")
    significance: Significance = option(
        "p", "Which p-value decides `significant`, and a gate: p, or mid_p (mid_p_value; less than p)."
    )
    confidence_level: Share | None = option(
        None, "Requests a confidence interval of the difference, effect sizes, and the ids that moved most."
    )
    power: Share | None = option(
        None,
        "Requests `sensitivity`: the difference that this test finds with this probability, such as 0.8.",
    )
    sequential: SequentialChoice | None = option(
        None, "Requests e-values, which may be looked at after every item, of all items so far."
    )
    pmf: PmfDetail = option("summary", "How much of the null distribution to return.")
    exact_fraction: bool = option(default=False, description="Also return the p-value as an exact fraction.")
    names: Names = Names()
    timeout_s: Timeout = None
    store: Store = False


class TestRequest(Choices):
    """Options of every test whose data is in the body. All optional."""

    __test__ = False

    ids: KeyList | None = option(None, "One unique id per item, for lists. Never reorders anything.")
    clusters: KeyColumn | None = option(None, "One key per item; the items of a cluster swap together.")
    on_missing: OnMissing = option(
        "error",
        "What to do with items that only some columns have: ids of objects, null in lists. drop leaves them "
        "out; bounds, of scores: a missing outcome may be anything in missing_range, and `missing` bounds the p-value.",
    )

    @classmethod
    def parameters(cls, value: Mapping[str, Any]) -> frozenset[str]:
        """The parameters of the statistics of its kind."""
        model: Any = cls.model_fields["statistic"].annotation
        return parameters_of_model(model)

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """A statistic may be a name alone, with its parameters beside it."""
        schema = handler.resolve_ref_schema(handler(core))
        kind = next((kind for kind, model in REQUEST_MODELS.items() if model is cls), None)
        if kind is not None:
            statistic = schema["properties"]["statistic"]
            statistic["anyOf"] = [{"$ref": statistic.pop("$ref")}, schema_of_names([kind])]
            schema["properties"] |= schemas_of_parameters([kind])
        return schema


class EffectsRequest(TestRequest):
    """The effects themselves: what each item contributes as observed, and with the systems exchanged."""

    model_config = examples({"stay": [3, -1, 0, 2]}, SMALL_TUPLES)

    stay: EffectArray = Field(description="g(u_n, v_n), one number or m numbers per item.")
    swap: EffectArray | None = option(None, "g(v_n, u_n), as many numbers; minus stay when left out.")
    statistic: EffectsStatistic = EffectsStatistic()


class ScoresRequest(TestRequest):
    """One number per item and system, or several, which are averaged.

    In place of u and v a request may have b and c, the numbers of items that only U, and only V, gets right; or all of a (both), b,
    c and d (none): {"b": 30, "c": 22}.
    """

    model_config = examples({**SMALL_SCORES, "statistic": {"name": "mean_difference"}}, SMALL_SAMPLES)

    u: SampleColumn = Field(description="Scores of system U.")
    v: SampleColumn = Field(description="Scores of system V, on the same items.")
    decimals: int | None = option(
        None,
        "Rounds scores to this many decimals first, as numpy.round does, to remove floating-point noise.",
        ge=0,
        le=MAX_DECIMALS,
    )
    missing_range: Range | None = option(
        None, "With on_missing bounds: the least and the largest score that there can be. Default [0, 1]."
    )
    weights: WeightColumn | None = option(
        None,
        "What each item counts for, positive: a weighted mean or sum. Numbers are taken as written, and "
        'fractions as text ("1/3") are exact.',
    )
    statistic: ScoresStatistic = ScoresStatistic()

    @classmethod
    def completed(cls, value: dict[str, Any]) -> dict[str, Any]:
        """u and v of `{"b": 30, "c": 22}`, or of all of a, b, c, d: how often which system was right. Raises InvalidTest."""
        if not {"b", "c"} <= value.keys() or not value.keys().isdisjoint(("u", "v")):
            return value
        return {name: one for name, one in value.items() if name not in CELLS} | columns_of(value)


class CountsRequest(TestRequest):
    """Named counts per item and system: by name, by item or by id."""

    model_config = examples(*SMALL_COUNTS)

    u: CountColumns = Field(description="Counts of system U.")
    v: CountColumns = Field(description="Counts of system V, on the same items and of the same names.")
    statistic: CountsStatistic = CountsStatistic()


class PredictionsRequest(TestRequest):
    """Raw outputs of two systems and the gold standard.

    An item is one label or a list of labels; for machine translation a text, and gold its reference or a list of
    references; for statistics of pairs (auc, concordance, kendall, pairwise_accuracy, spearman) u and v are scores.
    """

    model_config = examples(
        {
            "gold": ["N", "V", "N"],
            "u": ["N", "V", "V"],
            "v": ["V", "V", "V"],
            "statistic": {"name": "accuracy"},
        },
        {
            "gold": [["B-PER", "I-PER", "O"], ["O", "B-LOC"]],
            "u": [["B-PER", "I-PER", "O"], ["O", "B-LOC"]],
            "v": [["B-PER", "O", "O"], ["O", "B-LOC"]],
            "statistic": {"name": "span_f1", "scheme": "IOB2"},
        },
        {
            "gold": [1, 0, 1, 0],
            "u": [0.9, 0.2, 0.7, 0.4],
            "v": [0.6, 0.5, 0.8, 0.7],
            "statistic": {"name": "auc"},
        },
    )

    gold: OutputColumn = Field(description="The gold standard: labels, texts, human scores or times.")
    u: OutputColumn = Field(description="Outputs of system U: labels, texts or scores.")
    v: OutputColumn = Field(description="Outputs of system V.")
    groups: KeyColumn | None = option(
        None, "Of statistics of pairs, one key per item: only pairs of the same group count."
    )
    event: EventColumn | None = option(
        None,
        "Of concordance, 1 or true per item where gold is the time of an event, 0 or false where the item was "
        "censored then; all are events when left out.",
    )
    statistic: PredictionsStatistic = PredictionsStatistic()


AnyRequest = EffectsRequest | ScoresRequest | CountsRequest | PredictionsRequest

REQUEST_MODELS: dict[TestKind, type[AnyRequest]] = {
    "effects": EffectsRequest,
    "scores": ScoresRequest,
    "counts": CountsRequest,
    "predictions": PredictionsRequest,
}


class WrappedTest(Wire):
    """A request for a test and which one it is, as in a file."""

    kind: TestKind
    request: dict[str, Any]
