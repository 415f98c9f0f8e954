"""The request for power: what is known before a test, and which of the four numbers is asked for."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, PlainValidator, WithJsonSchema
from pydantic_core import PydanticCustomError

from ...answers.power import Solve
from ...answers.test import Alternative
from ..messages import TestKind
from .fields import Share, Store, Timeout, Wire, examples, one_of, option
from .requests import REQUEST_MODELS, SMALL_SCORES

MOST_NUMBERS = 50
MOST_N = 10_000_000
# Sizes up to this leave room for what they are multiplied by.
LARGEST = 1e300
DesignKind = Literal["binary", "pilot", "sd"]
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
            "Power at the observed difference says nothing that its p-value does not say already (Hoenig & Heisey 2001): give the "
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


class Design(Wire):
    """What is known before the test; the fields depend on the kind."""

    kind: Annotated[
        DesignKind,
        Field(
            description="binary: items are right or wrong; pilot: a test whose data is there; sd: only the standard deviation of "
            "an item's difference is known (normal approximation)."
        ),
    ]
    p10: Chance = option(None, "binary: the probability that U alone is right on an item.")
    p01: Chance = option(None, "binary: the probability that V alone is right.")
    u: Chance = option(None, "binary: U's accuracy, with v, and discordance or correlation.")
    v: Chance = option(None, "binary: V's accuracy.")
    discordance: Chance = option(None, "binary: the probability that exactly one system is right: p10 + p01.")
    correlation: float | None = option(
        None, "binary: the correlation of being right, instead of discordance.", ge=-1, le=1
    )
    request_kind: TestKind | None = option(None, "pilot: which of the tests the request is.")
    request: dict[str, Any] | None = option(
        None,
        "pilot: the body of a test.",
        json_schema_extra=one_of((model.__name__ for model in REQUEST_MODELS.values()), {"type": "null"}),
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
]


class PowerFields(Wire):
    """What is asked of a design: two of power, n and effect give the third."""

    solve: Solve = option(
        "effect", "Which number is asked for: power, n (items) or effect (the true difference)."
    )
    n: Numbers | None = option(
        None, "Numbers of items; of a pilot its own if left out. `solution` is of the first, `curve` has all."
    )
    power: Share | None = option(
        None, "The probability with which the difference is to be found. Default 0.8."
    )
    effect: Effect | None = option(
        None, "The true difference U - V, in the statistic's units; of binary designs theirs if left out."
    )
    alpha: float = option(0.05, "Significance level of all comparisons together.", gt=0, le=0.5)
    alternative: Alternative = option("two-sided", "As in the test.")
    comparisons: int = option(1, "How many tests share alpha (Bonferroni).", ge=1, le=1_000_000)
    timeout_s: Timeout = None
    store: Store = False


class PowerRequest(PowerFields):
    """Which true difference a test finds, with which probability, with how many items: two of the three give the third."""

    model_config = examples(*EXAMPLES)

    design: Design = Field(description="What is known before the test.")


FIELDS = tuple(PowerFields.model_fields)
