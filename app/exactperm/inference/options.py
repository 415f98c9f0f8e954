"""What a caller may choose about a test, whatever its statistic."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ..answers.test import Alternative, Method, Resampling

Significance = Literal["p", "mid_p"]
SequentialMode = Literal["anytime"]
PmfDetail = Literal["none", "summary", "full"]


@dataclass(frozen=True, slots=True)
class Sequential:
    """How a test that is asked again and again is to be answered (`inference.sequential`).

    `scale` is what differences of swapping units are measured in, chosen before any data; None for 1 where they lie in
    [-1, 1]. `prior_log_e` is the natural logarithm of the e-value of earlier, independent batches. `planned_n` and
    `max_difference` say how many items there will be at the most, and how much one can differ.
    """

    mode: SequentialMode = "anytime"
    scale: float | None = None
    prior_log_e: float = 0.0
    planned_n: int | None = None
    max_difference: float | None = None


@dataclass(frozen=True, slots=True)
class Options:
    """Common options of every test; the defaults are those of the HTTP contract.

    `metric` is what was measured, for reports; `higher_is_better` says which system a difference favours, None where
    that is not known: then wins and items that moved go by the larger score.
    """

    alternative: Alternative = "two-sided"
    method: Method = "auto"
    test: Resampling = "permutation"
    samples: int = 20_000
    seed: int = 0
    precision: float = 1e-3
    alpha: float = 0.05
    significance: Significance = "p"
    confidence_level: float | None = None
    power: float | None = None
    sequential: Sequential | None = None
    pmf: PmfDetail = "summary"
    exact_fraction: bool = False
    name_u: str = "U"
    name_v: str = "V"
    metric: str | None = None
    higher_is_better: bool | None = None
