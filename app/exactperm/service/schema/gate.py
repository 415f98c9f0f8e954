"""The gate's request: one test, or several metrics, and the terms of the decision."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

from ...answers.gate import OnInconclusive, Policy
from ..messages import TestKind
from .fields import Share, Store, Wire, examples, one_of, option
from .requests import REQUEST_MODELS, SMALL_SCORES, SequentialChoice

POLICY = (
    "no_regression: fail only when the candidate U is significantly worse than the baseline V by more than margin; "
    "non_inferior: pass only when U is shown not to be worse by more than margin; improve: pass only when U is "
    "significantly better, by more than margin; equivalent: pass only when U is shown to differ by less than margin, fail "
    "only when it is shown to differ by at least that."
)
MARGIN = "In the statistic's units. Exact for differences of means and sums; Tango's score test for single 0/1 items."
HIGHER = (
    "Whether more is better. If left out, the metric's name or the statistic decides it (wer, ter, loss, latency: less; "
    "accuracy, f1, bleu, map: more); scores without a name are better when higher; anything else (a ratio, an "
    "expression, an unknown metric) is refused without it."
)

AGAINST = (
    "Several baselines: the name of each and its column, as v of the request, which then has no v. The candidate u is "
    "compared with every one of them; p-values are adjusted by Holm's method over all comparisons."
)
# A request of any kind, or with `against` one without v; `kind` beside it says which.
CandidateRequest = Annotated[
    dict[str, Any],
    Field(
        json_schema_extra=one_of(
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
    """The terms of the decision: of one metric, or of all that have none of their own."""

    policy: Policy | None = option(None, f"{POLICY} Default no_regression.")
    margin: float | None = option(None, f"{MARGIN} Default 0.", ge=0)
    higher_is_better: bool | None = option(None, HIGHER)


class GateFields(Terms):
    """The gate's fields of a form."""

    name: str | None = None
    on_inconclusive: OnInconclusive | None = None
    fail_status: Status | None = None
    store: Store = False


class GateMetric(Terms):
    """One of several metrics."""

    name: str | None = option(None, "The name of the metric in reports; the statistic's name if left out.")
    kind: TestKind = Field(description="Which of the tests it is.")
    request: CandidateRequest
    against: Against = None


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

    kind: TestKind | None = option(None, "Which of the tests it is.")
    request: CandidateRequest | None = None
    against: Against = None
    metrics: list[GateMetric] | None = option(
        None, "Several metrics; p-values are adjusted by Holm's method over them.", min_length=1
    )
    alpha: Share | None = option(None, "One-sided level. The requests' own (0.05) if left out.")
    sequential: SequentialChoice | None = option(
        None,
        "A gate that is asked again as items come in; of all metrics. The verdict may be continue (200).",
    )
    on_inconclusive: OnInconclusive | None = option(None, INCONCLUSIVE)
    fail_status: Status | None = option(None, FAIL)
    store: Store = False
