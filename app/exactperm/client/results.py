"""Results: the frozen records of answers, with the field names of the HTTP answer, and methods.

`raw` holds the whole answer, including fields of newer servers; `permalink` is its stored address, or None.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..answers.board import (
    BoardRecord as Board,
    CompareRecord,
    PairRecord as PairResult,
    SystemRecord as SystemResult,
)
from ..answers.gate import GateRecord, MetricRecord
from ..answers.plan import ComparePlanRecord, PlanRecord
from ..answers.power import PowerRecord
from ..answers.test import ConfidenceInterval as Interval, Runtime, TestRecord, Versions
from ..presentation.escaping import single_line
from ..presentation.words import compare_sentence, test_sentence
from . import notebook

__all__ = [
    "Board",
    "ComparePlan",
    "CompareResult",
    "GateResult",
    "Interval",
    "Meta",
    "MetricResult",
    "PairResult",
    "Plan",
    "PowerResult",
    "SystemResult",
    "TestResult",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class TestResult(TestRecord):
    """The answer to a test; `runtime`, `versions` and `signature` are None for a test inside a gate."""

    runtime: Runtime | None = None
    versions: Versions | None = None
    signature: str | None = None
    permalink: str | None = field(default=None, compare=False)
    raw: Mapping[str, Any] = field(repr=False, compare=False)

    def __str__(self) -> str:
        return single_line(test_sentence(self))

    def _repr_html_(self) -> str:
        return notebook.test_html(self)

    def to_frame(self) -> Any:
        """A pandas.DataFrame of one row; its columns are those of the CSV report. Raises ImportError without pandas."""
        return notebook.test_frame(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricResult(MetricRecord):
    """One metric of a gate, or one metric against one of several baselines."""

    test: TestResult
    raw: Mapping[str, Any] = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class GateResult(GateRecord):
    """The answer of a gate; scripts should look at `passed`."""

    metrics: tuple[MetricResult, ...]
    runtime: Runtime | None = None
    versions: Versions | None = None
    signature: str | None = None
    permalink: str | None = field(default=None, compare=False)
    raw: Mapping[str, Any] = field(repr=False, compare=False)

    def __str__(self) -> str:
        return single_line(notebook.gate_sentence(self))

    def _repr_html_(self) -> str:
        return notebook.gate_html(self)

    def to_frame(self) -> Any:
        """A pandas.DataFrame with one row for each metric; its columns are those of the CSV report. Raises ImportError without pandas."""
        return notebook.gate_frame(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan(PlanRecord):
    """The method and cost of a test, and the alternatives."""

    kind: str
    versions: Versions
    raw: Mapping[str, Any] = field(repr=False, compare=False)

    def __str__(self) -> str:
        return notebook.plan_line(self)

    def _repr_html_(self) -> str:
        return notebook.plan_html(self)

    def to_frame(self) -> Any:
        """A pandas.DataFrame with a row for each method, the chosen one first. Raises ImportError without pandas."""
        return notebook.plan_frame(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Meta:
    """The features and limits of a server; `raw` also has statistics, formats and media types."""

    versions: Versions
    limits: Mapping[str, float]
    tests: tuple[str, ...]
    methods: tuple[str, ...]
    raw: Mapping[str, Any] = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareResult(CompareRecord):
    """The answer to a comparison: one board, or the boards of `datasets` and the `overall` board.

    With several data sets, `systems`, `pairs`, `groups` and `family` are None, and `board` is the overall one.
    """

    runtime: Runtime | None = None
    versions: Versions | None = None
    signature: str | None = None
    permalink: str | None = field(default=None, compare=False)
    raw: Mapping[str, Any] = field(repr=False, compare=False)

    @property
    def board(self) -> Board:
        """The only, the overall, or the first data set's board."""
        return self.main_board

    def __str__(self) -> str:
        return single_line(compare_sentence(self))

    def _repr_html_(self) -> str:
        return notebook.compare_html(self)

    def picture(self) -> str:
        """The main board as SVG: scores as dots, rank ranges as text. It is drawn without the server."""
        return notebook.board_picture(self)

    def systems_frame(self) -> Any:
        """A pandas.DataFrame with a row for each system of each board, best first; its columns are those of the CSV report.

        Raises ImportError without pandas.
        """
        return notebook.board_frame(self, "systems")

    def pairs_frame(self) -> Any:
        """A pandas.DataFrame with a row for each listed pair of each board; its columns are those of the CSV report.

        Raises ImportError without pandas.
        """
        return notebook.board_frame(self, "pairs")


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparePlan(ComparePlanRecord):
    """The methods and cost of a comparison on one processor; `longest_seconds` is None if unknown."""

    kind: str = "compare"
    versions: Versions
    raw: Mapping[str, Any] = field(repr=False, compare=False)

    def __str__(self) -> str:
        return notebook.compare_plan_line(self)

    def _repr_html_(self) -> str:
        return notebook.compare_plan_html(self)

    def to_frame(self) -> Any:
        """A pandas.DataFrame with a row for each board. Raises ImportError without pandas."""
        return notebook.compare_plan_frame(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerResult(PowerRecord):
    """The detectable difference, the power, and the number of items."""

    runtime: Runtime | None = None
    versions: Versions | None = None
    signature: str | None = None
    permalink: str | None = field(default=None, compare=False)
    raw: Mapping[str, Any] = field(repr=False, compare=False)

    def __str__(self) -> str:
        return single_line(self.sentence)

    def _repr_html_(self) -> str:
        return notebook.power_html(self)

    def to_frame(self) -> Any:
        """A pandas.DataFrame with a row for each point of the curve; its columns are those of the CSV report. Raises ImportError without pandas."""
        return notebook.power_frame(self)
