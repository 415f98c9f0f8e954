"""Results of questions about power; see `results`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .plan_notebook import PowerInNotebook
from .results import ResultWarning, Runtime, Versions


@dataclass(frozen=True, slots=True, kw_only=True)
class Solution:
    """The four numbers, the one that was asked for among them; None is out of reach, or not asked for."""

    effect: float | None
    n: int | None
    n_always: int | None
    power: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerPoint:
    """A point of the curve."""

    n: int
    effect: float
    power: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerMethod:
    """How it was computed, and given what."""

    name: str
    exact: bool
    given: str


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
