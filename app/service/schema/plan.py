"""The request for a plan: one of the others, wrapped."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from .compare import CompareRequest
from .fields import Store, Wire, one_of
from .requests import REQUEST_MODELS, SMALL_SCORES

COMPARE = "compare"
PLANNED: tuple[type[BaseModel], ...] = (*REQUEST_MODELS.values(), CompareRequest)
EXAMPLES: list[Any] = [
    {"kind": "scores", "request": SMALL_SCORES},
    {
        "kind": COMPARE,
        "request": {"kind": "scores", "systems": {"A": [1, 1, 1, 0], "B": [1, 0, 1, 0], "C": [0, 0, 1, 0]}},
    },
]


# One literal: a union of two has pointers into its parts.
PlannedKind = Literal["effects", "scores", "counts", "predictions", "compare"]


class PlanEnvelope(Wire):
    """A request for a test or a comparison, wrapped: the answer is only what it would cost."""

    model_config = ConfigDict(json_schema_extra={"examples": EXAMPLES})

    kind: PlannedKind = Field(description="Which of the tests it is, or a comparison.")
    request: Annotated[dict[str, Any], Field(json_schema_extra=one_of(model.__name__ for model in PLANNED))]
    store: Store = False
