"""The requests: effects, scores, predictions and the plan of one of them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from app.api.models.fields import KeyColumn, KeyList, LabelColumn, NumberArray, NumberColumn
from app.inference.options import Alternative, Method, PmfDetail, Resampling
from app.inputs.pairing import OnMissing

MAX_SEED = 2**53 - 1
SMALL_SCORES: dict[str, Any] = {"u": [0.85, 0.90, 0.78, 0.92, 0.88], "v": [0.80, 0.85, 0.75, 0.88, 0.82]}


class Wire(BaseModel):
    """Base of everything a client may send."""

    model_config = ConfigDict(
        strict=True,
        frozen=True,
        extra="forbid",
        allow_inf_nan=False,
        hide_input_in_errors=True,
        ser_json_inf_nan="constants",
    )


class Names(Wire):
    """What the systems are called in reports."""

    u: Annotated[str, Field(description="Name of system U, the candidate in a gate.")] = "U"
    v: Annotated[str, Field(description="Name of system V, the baseline in a gate.")] = "V"


class TestRequest(Wire):
    """What every test may choose. All optional."""

    __test__ = False

    alternative: Annotated[
        Alternative,
        Field(description="two-sided is P(|t| >= |observed|); greater means that U is greater than V."),
    ] = "two-sided"
    method: Annotated[
        Method,
        Field(description="How to compute; auto takes the cheapest exact method, and says which and why."),
    ] = "auto"
    test: Annotated[Resampling, Field(description="The null model. Only permutation is available yet.")] = (
        "permutation"
    )
    samples: Annotated[int, Field(ge=1, description="Monte Carlo samples (method monte_carlo).")] = 20_000
    seed: Annotated[
        int, Field(ge=0, le=MAX_SEED, description="Monte Carlo seed; fixed unless you choose one.")
    ] = 0
    precision: Annotated[
        float, Field(gt=0, lt=1, description="Relative width wanted of a p-value bracket (method bounds).")
    ] = 1e-3
    alpha: Annotated[
        float, Field(gt=0, lt=1, description="Significance level for `significant` and warnings.")
    ] = 0.05
    confidence_level: Annotated[
        float | None, Field(gt=0, lt=1, description="Asks for a confidence interval. Not available yet.")
    ] = None
    ids: Annotated[
        KeyList | None, Field(description="One unique id per item, for lists. Never reorders anything.")
    ] = None
    clusters: Annotated[
        KeyColumn | None, Field(description="One key per item; the items of a cluster swap together.")
    ] = None
    on_missing: Annotated[
        OnMissing,
        Field(description="What to do with ids that only some columns have (columns given as objects)."),
    ] = "error"
    pmf: Annotated[PmfDetail, Field(description="How much of the null distribution to return.")] = "summary"
    exact_fraction: Annotated[bool, Field(description="Also return the p-value as an exact fraction.")] = (
        False
    )
    names: Names = Names()
    timeout_s: Annotated[
        float | None, Field(gt=0, description="Deadline in seconds, clamped by the server.")
    ] = None


class EffectsStatistic(Wire):
    """h over the sum of the effects."""

    expression: Annotated[
        Literal["x1", "abs(x1)"], Field(description="The sum itself, or its absolute value.")
    ] = "x1"


class ScoresStatistic(Wire):
    """A statistic of one number per item and system."""

    name: Annotated[
        Literal["mean_difference", "sum_difference", "sign", "signed_rank"],
        Field(description="sign is the sign test (exact McNemar on 0/1 data), signed_rank is Wilcoxon's."),
    ] = "mean_difference"
    zero_method: Annotated[
        Literal["wilcox", "pratt", "zsplit"] | None,
        Field(description="What signed_rank does with zero differences; SciPy's meaning. Default wilcox."),
    ] = None


class PredictionsStatistic(Wire):
    """A statistic of raw outputs against gold."""

    name: Annotated[
        Literal["accuracy", "exact_match", "token_accuracy"],
        Field(
            description="accuracy per label; exact_match per item; token_accuracy per token of sequence items."
        ),
    ] = "accuracy"


class EffectsRequest(TestRequest):
    """The effects themselves: what each item contributes as observed, and with the systems exchanged."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"stay": [3, -1, 0, 2]}]})

    stay: Annotated[NumberArray, Field(description="g(u_n, v_n), one number per item.")]
    swap: Annotated[
        NumberArray | None, Field(description="g(v_n, u_n), one number per item; minus stay when left out.")
    ] = None
    statistic: EffectsStatistic = EffectsStatistic()


class ScoresRequest(TestRequest):
    """One number per item and system."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{**SMALL_SCORES, "statistic": {"name": "mean_difference"}}]}
    )

    u: Annotated[NumberColumn, Field(description="Scores of system U.")]
    v: Annotated[NumberColumn, Field(description="Scores of system V, on the same items.")]
    statistic: ScoresStatistic = ScoresStatistic()


class PredictionsRequest(TestRequest):
    """Raw outputs of two systems and the gold standard; an item is one label or a list of labels."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "gold": ["N", "V", "N"],
                    "u": ["N", "V", "V"],
                    "v": ["V", "V", "V"],
                    "statistic": {"name": "accuracy"},
                }
            ]
        }
    )

    gold: Annotated[LabelColumn, Field(description="What is right.")]
    u: Annotated[LabelColumn, Field(description="What system U said.")]
    v: Annotated[LabelColumn, Field(description="What system V said.")]
    statistic: PredictionsStatistic = PredictionsStatistic()


AnyRequest = EffectsRequest | ScoresRequest | PredictionsRequest

REQUEST_MODELS: dict[str, type[EffectsRequest | ScoresRequest | PredictionsRequest]] = {
    "effects": EffectsRequest,
    "scores": ScoresRequest,
    "predictions": PredictionsRequest,
}


class PlanEnvelope(Wire):
    """A request for a test, wrapped: the answer is only what it would cost."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"kind": "scores", "request": SMALL_SCORES}]})

    kind: Annotated[
        Literal["effects", "scores", "predictions"], Field(description="Which of the tests it is.")
    ]
    request: Annotated[
        dict[str, Any],
        Field(
            json_schema_extra={
                "anyOf": [
                    {"$ref": f"#/components/schemas/{model.__name__}"} for model in REQUEST_MODELS.values()
                ]
            }
        ),
    ]
