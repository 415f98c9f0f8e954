"""What a comparison would do and cost, as plain data; annotated as `app.inference.record` is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated


@dataclass(frozen=True, slots=True)
class ComparePlanRecord:
    """What a comparison would do and cost, predicted before any of its tests runs."""

    tests: Annotated[int, "Pairs of systems, on all data sets and overall."]
    seconds: Annotated[float, "Predicted time of all tests on one processor."]
