"""Results of questions about power; see `results`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape
from typing import Any

from .notebook import frame_of, one_line
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
class PowerResult:
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
    raw: Mapping[str, Any] = field(repr=False, compare=False)

    def __str__(self) -> str:
        return one_line(self.sentence)

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{point.n:,}</td><td>{point.effect:.6g}</td><td>{point.power:.4f}</td></tr>"
            for point in self.curve
        )
        warned = "".join(f"<p>{escape(warning.detail)}</p>" for warning in self.warnings)
        heads = "<tr><th>items</th><th>true difference</th><th>power</th></tr>"
        return (
            f'<div class="exactperm"><p>{escape(self.sentence)} {escape(self.method.given)}</p>{warned}'
            f"<table>{heads}{rows}</table></div>"
        )

    def to_frame(self) -> Any:
        """A pandas.DataFrame with a row for each point of the curve. Raises ImportError without pandas."""
        return frame_of([{"n": one.n, "effect": one.effect, "power": one.power} for one in self.curve])
