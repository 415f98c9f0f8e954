"""The answer of a comparison as frozen data: the fields of the HTTP answer under their own names; see `results`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from .compare_notebook import CompareInNotebook
from .plan_notebook import ComparePlanInNotebook
from .results import Interval, Reading, ResultWarning, Runtime, Versions

Relation = Literal["better", "worse", "tied", "undecided", "untestable"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemResult:
    """One system of a board; what follows from the tests of all pairs is None where not all were compared.

    With confidence 1 - alpha, the true ranks of all systems are from `rank_low` to `rank_high`.
    """

    name: str
    score: float
    n: int
    rank: int
    rank_low: int | None
    rank_high: int | None
    cluster: int | None
    tier: int | None
    letters: str | None
    in_best_set: bool | None
    better_than: int | None
    worse_than: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PairResult:
    """The test of one pair of systems; `difference` is U's score minus V's, `relation` U's to V.

    `relation` is better or worse when `p_adjusted` is at most alpha for certain.
    """

    u: str
    v: str
    n: int
    difference: float
    p_value: float
    log10_p_value: float
    p_value_bounds: tuple[float, float]
    p_value_bounds_kind: str
    p_adjusted: float
    log10_p_adjusted: float
    p_adjusted_bounds: tuple[float, float]
    p_adjusted_bounds_kind: str
    p_adjusted_certainty: str
    relation: Relation
    min_attainable_p: float | None
    wins: int
    ties: int
    losses: int
    method: str
    exact: bool
    confidence_interval: Interval | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Groups:
    """Systems that belong together, best first; letters are None beyond 52 groups."""

    letters: Mapping[str, tuple[str, ...]] | None
    clusters: tuple[tuple[str, ...], ...]
    tiers: tuple[tuple[str, ...], ...]
    best_set: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Certainty:
    """How many adjusted p-values of a board are exact, between two certified bounds, and sampled; listed or not."""

    exact: int
    bracketed: int
    sampled: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FamilyOfTests:
    """The tests that are adjusted together: how many, how, and what that controls; how the board's are known."""

    adjust: str
    size: int
    alpha: float
    controls: str
    certainty: Certainty


@dataclass(frozen=True, slots=True, kw_only=True)
class Board:
    """The systems best first, and the tests of their pairs."""

    systems: tuple[SystemResult, ...]
    pairs: tuple[PairResult, ...]
    groups: Groups | None = None
    family: FamilyOfTests
    warnings: tuple[ResultWarning, ...] = ()


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
class BoardPlan:
    """The tests of one board: of a data set, or of all (None)."""

    dataset: str | None = None
    systems: int
    tests: int
    methods: tuple[str, ...]
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparePlan(ComparePlanInNotebook):
    """What a comparison would do and cost on one processor; `longest_seconds` is None where that is not known."""

    tests: int
    seconds: float
    longest_seconds: float | None = None
    boards: tuple[BoardPlan, ...]
    versions: Versions
    raw: Mapping[str, Any] = field(repr=False, compare=False)
