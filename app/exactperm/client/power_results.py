"""Results of questions about power; see `results`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..answers.power import PowerMethod, PowerPoint, Solution
from .plan_notebook import PowerInNotebook
from .results import ResultWarning, Runtime, Versions

# Classes of answers that the client reads as they are.


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerResult(PowerInNotebook):
    """Which true difference a test finds, how likely, and with how many items."""

    id: str
    solve: str
    solution: Solution
    wanted_power: float | None
    alpha: float
    comparisons: int
    alternative: str
    critical_difference: float | None
    actual_alpha: float | None
    curve: tuple[PowerPoint, ...]
    method: PowerMethod
    sentence: str
    warnings: tuple[ResultWarning, ...] = ()
    runtime: Runtime | None = None
    versions: Versions | None = None
    signature: str | None = None
    permalink: str | None = field(default=None, compare=False)
    raw: Mapping[str, Any] = field(repr=False, compare=False)
