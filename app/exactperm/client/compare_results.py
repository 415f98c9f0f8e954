"""The answer of a comparison as frozen data: the fields of the HTTP answer under their own names; see `results`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from ..answers.board import BoardRecord, CertaintyRecord, FamilyRecord, GroupsRecord, PairRecord, SystemRecord
from ..answers.plan import BoardPlanRecord
from .compare_notebook import CompareInNotebook
from .plan_notebook import ComparePlanInNotebook
from .results import Reading, ResultWarning, Runtime, Versions

Relation = Literal["better", "worse", "tied", "undecided", "untestable"]

# Classes of answers that the client reads as they are.
SystemResult = SystemRecord
PairResult = PairRecord
Groups = GroupsRecord
Certainty = CertaintyRecord
FamilyOfTests = FamilyRecord
Board = BoardRecord
BoardPlan = BoardPlanRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareResult(CompareInNotebook):
    """The answer of a comparison: one board, or those of `datasets` and the `overall` one over them.

    Of several data sets, `systems`, `pairs`, `groups` and `family` are None: `board` is the overall one then.
    """

    id: str
    statistic: str
    metric: str | None = None
    higher_is_better: bool
    compare: str
    baseline: str | None = None
    systems: tuple[SystemResult, ...] | None = None
    pairs: tuple[PairResult, ...] | None = None
    groups: Groups | None = None
    family: FamilyOfTests | None = None
    datasets: Mapping[str, Board] | None = None
    overall: Board | None = None
    reading: Reading | None = None
    warnings: tuple[ResultWarning, ...] = ()
    runtime: Runtime | None = None
    versions: Versions | None = None
    signature: str | None = None
    permalink: str | None = field(default=None, compare=False)
    raw: Mapping[str, Any] = field(repr=False, compare=False)

    @property
    def boards(self) -> Mapping[str | None, Board]:
        """All boards by data set; the only one, or the overall one, first, under None."""
        only: Board | None = self.overall
        if self.systems is not None and self.family is not None:
            only = Board(systems=self.systems, pairs=self.pairs or (), groups=self.groups, family=self.family)
        own: dict[str | None, Board] = {} if only is None else {None: only}
        return own | dict(self.datasets or {})

    @property
    def board(self) -> Board:
        """The only board, else the overall one, else that of the first data set."""
        return next(iter(self.boards.values()))


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparePlan(ComparePlanInNotebook):
    """What a comparison would do and cost on one processor; `longest_seconds` is None where that is not known."""

    tests: int
    seconds: float
    longest_seconds: float | None = None
    boards: tuple[BoardPlan, ...]
    versions: Versions
    raw: Mapping[str, Any] = field(repr=False, compare=False)
