"""The requests for a test (effects, scores, counts, predictions), for a gate and for power."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    Field,
    GetJsonSchemaHandler,
    PlainValidator,
    ValidationInfo,
    WithJsonSchema,
    create_model,
)
from pydantic_core import CoreSchema, PydanticCustomError

from ...answers.gate import OnInconclusive, Policy, SliceRule
from ...answers.power import MOST_RUNS, Solve
from ...answers.test import Alternative, Exchange, Method, Resampling
from ...inference.options import PmfDetail, SequentialMode, Significance
from ...inputs.alignment import OnMissing
from ...inputs.columns import MAX_DECIMALS, SKIPPED
from ...inputs.outcomes import CELLS, columns_of
from ..kinds import TestKind
from .fields import (
    RUNS_SCHEMA,
    CountColumns,
    CountsStatistic,
    EffectArray,
    EffectsStatistic,
    EventColumn,
    JudgedColumn,
    KeyColumn,
    KeyList,
    Lambda,
    OutputColumn,
    PredictionsStatistic,
    Range,
    SampleColumn,
    ScoresStatistic,
    Share,
    SliceColumn,
    Store,
    Timeout,
    WeightColumn,
    Wire,
    examples,
    option,
    parameters_of_model,
    samples,
    schema_of_names,
    schemas_of_parameters,
    union_schema,
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


EXCHANGE = (
    "What the null hypothesis exchanges between the systems. items: the means of their runs, for new items; runs: the runs of "
    "each item, for new runs of these items, with as many runs as there are; both: p is the larger one."
)


class Names(Wire):
    """The names of the systems in reports."""

    u: str = option("U", "Name of system U, the candidate in a gate.")
    v: str = option("V", "Name of system V, the baseline in a gate.")


class SequentialChoice(Wire):
    """A sequential test: its e-value is evidence at every look at growing data."""

    mode: SequentialMode = option("anytime", "anytime: evidence holds at every look, planned or not.")
    scale: float | None = option(
        None, "The scale of differences, chosen before seeing data; default 1 if all lie in [-1, 1].", gt=0
    )
    prior_log_e: float = option(
        0.0, "Natural logarithm of the e-value of earlier, independent batches.", ge=-1e6, le=1e6
    )
    planned_n: int | None = option(None, "The largest number of items to come.", ge=1, le=10_000_000)
    max_difference: float | None = option(
        None, "The largest difference of an item; with planned_n, for `curtailed`.", gt=0
    )


class Choices(Wire):
    """Options of every test. All optional."""

    alternative: Alternative = option(
        "two-sided", "two-sided is P(|t| >= |observed|); greater means that U is greater than V."
    )
    method: Method = option(
        "auto",
        "How to compute; auto takes the cheapest exact method; the answer has its name and the reason.",
    )
    test: Resampling = option(
        "permutation", "The null model: systems exchanged at random, or items drawn with replacement."
    )
    exchange: Exchange = option("items", EXCHANGE)
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
        None, "Requests e-values of all items so far, which may be looked at after every item."
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
    slices: SliceColumn | None = option(
        None,
        "The slice of each item (its language, its task), a list of slices, or null for none. Each slice is tested by itself, "
        "and the p-values are adjusted together: did any slice get worse?",
    )
    on_missing: OnMissing = option(
        "error",
        "Items that only some columns have (ids of objects, null in lists): error refuses them, drop "
        "leaves them out; bounds, for scores, lets a missing outcome be anything in missing_range, and "
        "`missing` bounds the p-value.",
    )

    @classmethod
    def parameters(cls, value: Mapping[str, Any]) -> frozenset[str]:
        """The parameters of the statistics of its kind."""
        model: Any = cls.model_fields["statistic"].annotation
        return parameters_of_model(model)

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """A statistic may be a name, with its parameters beside it."""
        schema = handler.resolve_ref_schema(handler(core))
        kind = next((kind for kind, model in REQUEST_MODELS.items() if model is cls), None)
        if kind is not None:
            statistic = schema["properties"]["statistic"]
            statistic["anyOf"] = [{"$ref": statistic.pop("$ref")}, schema_of_names([kind])]
            schema["properties"] |= schemas_of_parameters([kind])
        return schema


class Labels(Wire):
    """What people said of some items, in the units of the scores; null of the others."""

    u: JudgedColumn = Field(description="Of the outputs of system U.")
    v: JudgedColumn = Field(description="Of those of system V, on the same items.")


class Covariate(Wire):
    """One number per item and system that is not the score, such as the length of the output."""

    u: SampleColumn = Field(description="Of the outputs of system U.")
    v: SampleColumn = Field(description="Of those of system V.")


# `lambda` is a word of Python's.
_OF_LABELS: dict[str, Any] = {
    "lambda": (
        Lambda,
        option("auto", "The share of the judge's scores to use, from 0 to 1; auto: the least variance."),
    )
}
CorrectionChoice = create_model(
    "CorrectionChoice", __base__=Wire, __doc__="How labels correct a judge.", **_OF_LABELS
)


class EffectsRequest(TestRequest):
    """The effects: the contribution of each item as observed, and with the systems exchanged."""

    model_config = examples({"stay": [3, -1, 0, 2]}, SMALL_TUPLES)

    stay: EffectArray = Field(description="g(u_n, v_n), one number or m numbers per item.")
    swap: EffectArray | None = option(None, "g(v_n, u_n), as many numbers; default -stay.")
    statistic: EffectsStatistic = EffectsStatistic()


class ScoresRequest(TestRequest):
    """One number per item and system, or several, which are averaged.

    Instead of u and v, a request may have b and c, the numbers of items that only U and only V get right, or all of
    a (both), b, c and d (none): {"b": 30, "c": 22}.
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
        None, "With on_missing bounds: the least and the largest possible score. Default [0, 1]."
    )
    weights: WeightColumn | None = option(
        None,
        "What each item counts for, positive: a weighted mean or sum. Numbers are taken as written, and "
        'fractions as text ("1/3") are exact.',
    )
    labels: Labels | None = option(
        None,
        "u and v are a judge's scores, and these are people's of some items, drawn at random: they correct the difference.",
    )
    correction: CorrectionChoice | None = option(None, "How `labels` correct the judge.")
    covariates: dict[str, Covariate] | None = option(
        None, "Numbers by name, such as lengths, of which the difference is made independent.", min_length=1
    )
    statistic: ScoresStatistic = ScoresStatistic()

    @classmethod
    def completed(cls, value: dict[str, Any]) -> dict[str, Any]:
        """u and v of `{"b": 30, "c": 22}`, or of all of a, b, c, d. Raises InvalidTest."""
        if not {"b", "c"} <= value.keys() or not value.keys().isdisjoint(("u", "v")):
            return value
        return {name: one for name, one in value.items() if name not in CELLS} | columns_of(value)


class CountsRequest(TestRequest):
    """Named counts per item and system: by name, by item or by id."""

    model_config = examples(*SMALL_COUNTS)

    u: CountColumns = Field(description="Counts of system U.")
    v: CountColumns = Field(description="Counts of system V, on the same items and with the same names.")
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
        None, "For statistics of pairs: one key per item; only pairs of the same group count."
    )
    event: EventColumn | None = option(
        None,
        "For concordance: 1 or true per item if gold is the time of an event, 0 or false if the item was "
        "censored then; by default all are events.",
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
    """A request for a test and its kind, as in a file."""

    kind: TestKind
    request: dict[str, Any]


# The gate's request: one test, or several metrics, and the terms of the decision


POLICY = (
    "no_regression: fail only when the candidate U is significantly worse than the baseline V by more than margin; "
    "non_inferior: pass only when U is shown not to be worse by more than margin; improve: pass only when U is "
    "significantly better, by more than margin; equivalent: pass only when U is shown to differ by less than margin, fail "
    "only when it is shown to differ by at least that; at_least and not_below have a `threshold` and no baseline: pass only when U is shown "
    "to be better than it, or fail only when U is shown to be worse."
)
MARGIN = "In the statistic's units. Exact for differences of means and sums; Tango's score test for single 0/1 items."
HIGHER = (
    "Whether more is better. If left out, the metric's name or the statistic decides it (wer, ter, loss, latency: less; "
    "accuracy, f1, bleu, map: more); scores without a name are better when higher; anything else (a ratio, an "
    "expression, an unknown metric) is refused without it."
)

AGAINST = (
    "Several baselines: a column by name, as v of the request, which then has no v. The candidate u is "
    "compared with each; p-values are adjusted by Holm's method over all comparisons."
)
# A request of the kind in `kind`; with `against`, one without v.
CandidateRequest = Annotated[
    dict[str, Any],
    Field(
        json_schema_extra=union_schema(
            (model.__name__ for model in REQUEST_MODELS.values()),
            {
                "type": "object",
                "description": "With against: a request for scores, counts or predictions without v.",
                "required": ["u"],
                "not": {"required": ["v"]},
            },
        )
    ),
]
Against = Annotated[
    dict[str, Any] | None,
    Field(
        min_length=1,
        description=AGAINST,
        json_schema_extra={"additionalProperties": {"type": ["array", "object"]}},
    ),
]

SLICES = (
    "With slices in the request: report tests each; fail_if_any also fails the gate where any slice became worse (policy "
    "no_regression), by Holm's method over all items and the smallest p-value of the slices. Default report."
)
INCONCLUSIVE = "Whether an inconclusive gate passes. Default pass."
FAIL = "The HTTP status of a failed gate: 200, or 400 to 499."


def _status(value: int) -> int:
    if value == 200 or 400 <= value <= 499:
        return value
    raise PydanticCustomError("status", "This must be 200, or from 400 to 499")


Status = Annotated[
    int, AfterValidator(_status), WithJsonSchema({"type": "integer", "minimum": 200, "maximum": 499})
]


class Terms(Wire):
    """The terms of the decision: of one metric, or of all without terms."""

    policy: Policy | None = option(None, f"{POLICY} Default no_regression.")
    margin: float | None = option(None, f"{MARGIN} Default 0.", ge=0)
    higher_is_better: bool | None = option(None, HIGHER)
    threshold: float | None = option(
        None,
        "For at_least and not_below: the score to compare with, in the statistic's units; there is no v then.",
    )
    range: Range | None = option(
        None,
        "With a threshold, for scores that are not right or wrong: the least and the largest possible score.",
    )


class GateFields(Terms):
    """The gate's fields of a form."""

    name: str | None = None
    fail_if_any_slice: bool | None = option(None, "Whether a slice that became worse fails the gate.")
    on_inconclusive: OnInconclusive | None = None
    store: Store = False

    @property
    def slices(self) -> SliceRule | None:
        """The rule as in JSON; a form's `slices` is a column."""
        rules: dict[bool | None, SliceRule] = {True: "fail_if_any", False: "report"}
        return rules.get(self.fail_if_any_slice)


class GateQuery(Wire):
    """The gate's own parameters of a query."""

    fail_status: Status = 409


class GateMetric(Terms):
    """One of several metrics."""

    name: str | None = option(None, "The name of the metric in reports; default: the statistic's name.")
    kind: TestKind = Field(description="The kind of test.")
    request: CandidateRequest
    against: Against = None
    slices: SliceRule | None = option(None, SLICES)


class GateRequest(Terms):
    """U is the candidate, V the baseline; or `against` has the baselines. Give `kind` and `request`, or `metrics`."""

    model_config = examples(
        {"kind": "scores", "request": SMALL_SCORES},
        {
            "kind": "scores",
            "request": {"u": [0.85, 0.90, 0.78, 0.92, 0.88]},
            "against": {"main": [0.80, 0.85, 0.75, 0.88, 0.82], "v1.2": [0.81, 0.90, 0.75, 0.90, 0.88]},
        },
        {
            "metrics": [
                {"name": "accuracy", "kind": "scores", "request": SMALL_SCORES},
                {
                    "name": "seconds",
                    "kind": "scores",
                    "request": {"u": [1.5, 2.0, 1.25], "v": [1.5, 1.75, 1.0]},
                    "higher_is_better": False,
                    "margin": 0.5,
                },
            ],
            "policy": "no_regression",
            "alpha": 0.01,
        },
    )

    kind: TestKind | None = option(None, "The kind of test.")
    request: CandidateRequest | None = None
    against: Against = None
    slices: SliceRule | None = option(None, SLICES)
    metrics: list[GateMetric] | None = option(
        None, "Several metrics; p-values are adjusted by Holm's method over them.", min_length=1
    )
    alpha: Share | None = option(None, "One-sided level. Default: that of the requests (0.05).")
    sequential: SequentialChoice | None = option(
        None, "A sequential gate, for all metrics. The verdict may be continue (200)."
    )
    on_inconclusive: OnInconclusive | None = option(None, INCONCLUSIVE)
    store: Store = False


# The request for power: a design, and the number to solve for


MOST_NUMBERS = 50
MOST_N = 10_000_000
# Sizes up to this leave room for their factors.
LARGEST = 1e300
DesignKind = Literal["binary", "pilot", "sd", "runs"]
Chance = Annotated[float | None, Field(ge=0, le=1)]


def _numbers(value: Any) -> Any:
    values = value if type(value) is list else [value]
    if (
        not values
        or len(values) > MOST_NUMBERS
        or not all(type(n) is int and 1 <= n <= MOST_N for n in values)
    ):
        raise PydanticCustomError(
            "numbers_of_items",
            f"Give a whole number from 1 to {MOST_N:,}, or a list of at most {MOST_NUMBERS} of them",
        )
    return tuple(values)


def _effect(value: Any) -> Any:
    if value == "observed":
        raise PydanticCustomError(
            "observed_effect",
            "Power at the observed difference only restates its p-value (Hoenig & Heisey 2001): give the "
            "least difference that would matter to you",
        )
    if type(value) not in {int, float}:
        raise PydanticCustomError("float_type", "This must be a number")
    if not abs(value) <= LARGEST:
        raise PydanticCustomError("out_of_range", f"This must be a number from -{LARGEST:g} to {LARGEST:g}")
    return float(value)


_N = {"type": "integer", "minimum": 1, "maximum": MOST_N}
Numbers = Annotated[
    Any,
    PlainValidator(_numbers),
    WithJsonSchema({"anyOf": [_N, {"type": "array", "items": _N, "minItems": 1, "maxItems": MOST_NUMBERS}]}),
]
Effect = Annotated[
    Any, PlainValidator(_effect), WithJsonSchema({"type": "number", "minimum": -LARGEST, "maximum": LARGEST})
]


def _chance_or_runs(value: Any, info: ValidationInfo) -> Any:
    if type(value) not in {int, float, str, bool, type(None)}:
        try:
            return samples(value, info)
        except PydanticCustomError as error:  # no run can be left out
            context = error.context or {}
            flaws = [replace(flaw, detail=flaw.detail.removesuffix(SKIPPED)) for flaw in context["flaws"]]
            raise PydanticCustomError("column", "{detail}", {**context, "flaws": tuple(flaws)}) from None
    if type(value) not in {int, float} or not 0 <= value <= 1:
        raise PydanticCustomError(
            "chance_or_runs", "Give a number from 0 to 1, or for runs a list with the runs of each item"
        )
    return float(value)


ChanceOrRuns = Annotated[
    Any,
    PlainValidator(_chance_or_runs),
    WithJsonSchema({"anyOf": [{"type": "number", "minimum": 0, "maximum": 1}, RUNS_SCHEMA]}),
]


class Design(Wire):
    """The design of the test; the fields depend on the kind."""

    kind: Annotated[
        DesignKind,
        Field(
            description="binary: items are right or wrong; pilot: a test with its data; sd: the standard "
            "deviation of an item's difference (normal approximation); runs: one system's runs, for a floor."
        ),
    ]
    p10: Chance = option(None, "binary: the probability that U alone is right on an item.")
    p01: Chance = option(None, "binary: the probability that V alone is right.")
    u: Chance = option(None, "binary: U's accuracy, with v, and discordance or correlation.")
    v: ChanceOrRuns | None = option(None, "binary: V's accuracy. runs: the 0/1 scores of every item's runs.")
    discordance: Chance = option(None, "binary: the probability that exactly one system is right: p10 + p01.")
    correlation: float | None = option(
        None, "binary: the correlation of being right, instead of discordance.", ge=-1, le=1
    )
    request_kind: TestKind | None = option(None, "pilot: the kind of test.")
    request: dict[str, Any] | None = option(
        None,
        "pilot: the body of a test.",
        json_schema_extra=union_schema(
            (model.__name__ for model in REQUEST_MODELS.values()), {"type": "null"}
        ),
    )
    sd: float | None = option(None, "sd: the standard deviation of one item's difference.", gt=0, le=LARGEST)


EXAMPLES: list[Any] = [
    {
        "design": {"kind": "binary", "p10": 0.08, "p01": 0.05},
        "solve": "effect",
        "n": [100, 300, 1000],
        "power": 0.8,
    },
    {"design": {"kind": "binary", "u": 0.83, "v": 0.8, "discordance": 0.13}, "solve": "n"},
    {
        "design": {"kind": "pilot", "request_kind": "scores", "request": SMALL_SCORES},
        "solve": "power",
        "n": 50,
        "effect": 0.02,
    },
    {"design": {"kind": "sd", "sd": 0.3}, "solve": "n", "effect": 0.05, "comparisons": 3},
    {"design": {"kind": "runs", "v": [[1, 1, 1], [1, 0, 1], [0, 1, 1], [1, 1, 1]]}, "solve": "floor"},
]


class PowerFields(Wire):
    """The question: two of power, n and effect give the third."""

    solve: Solve = option(
        "effect",
        "The number to solve for: power, n (items) or effect (the true difference); for runs floor or false_alarm.",
    )
    n: Numbers | None = option(
        None, "Numbers of items; default: the pilot's. `solution` is for the first, `curve` has all."
    )
    power: Share | None = option(None, "The probability of finding the difference. Default 0.8.")
    effect: Effect | None = option(
        None, "The true difference U - V, in the statistic's units; default: that of a binary design."
    )
    alpha: float = option(0.05, "Significance level of all comparisons together.", gt=0, le=0.5)
    alternative: Alternative = option("two-sided", "As in the test.")
    floor: float | None = option(
        None, "With solve false_alarm: the accuracy that is an alarm when a new run is below it.", ge=0, le=1
    )
    comparisons: int = option(1, "How many tests share alpha (Bonferroni).", ge=1, le=1_000_000)
    runs_per_item: int | None = option(
        None,
        "Of a pilot with runs: the runs of each item by each system that are planned.",
        ge=1,
        le=MOST_RUNS,
    )
    item_cost: float | None = option(
        None,
        "Instead of runs_per_item: what a new item costs, in runs of it, for the best number of runs.",
        gt=0,
        le=LARGEST,
    )
    timeout_s: Timeout = None
    store: Store = False


class PowerRequest(PowerFields):
    """The true difference that a test detects, its power, and the number of items: two of the three give the third."""

    model_config = examples(*EXAMPLES)

    design: Design = Field(description="The design of the test.")


FIELDS = tuple(PowerFields.model_fields)
