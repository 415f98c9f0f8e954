"""The answer to a comparison of many systems, as plain data; annotated as `exactperm.answers.test` is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Literal

from .test import (
    FROM_REQUEST,
    BoundsKind,
    ConfidenceInterval,
    Log10PValue,
    PValue,
    ReadingRecord,
    WarningRecord,
    identifier,
)

Adjust = Literal["bonferroni", "holm", "hochberg", "bh", "by", "holm_discrete", "max_t", "none"]
Design = Literal["all_pairs", "baseline", "pairs"]
Family = Literal["dataset", "all"]
Aggregate = Literal["macro", "micro"]
Combine = Literal["fisher", "stouffer"]
ListedPairs = Literal["auto", "all", "significant", "none"]
# Most pairs that an answer lists over all its boards by default: some 4 MB of JSON.
MOST_LISTED = 10_000
LEFT_OUT = "pairs_left_out"
Certainty = Literal["exact", "bracketed", "sampled"]
CERTAINTIES: tuple[Certainty, ...] = ("exact", "bracketed", "sampled")
Relation = Literal["better", "worse", "tied", "undecided", "untestable"]


@dataclass(frozen=True, slots=True)
class SystemInterval:
    """A confidence interval of one system's true mean, not simultaneous with others; see `SystemRecord`."""

    low: float
    high: float
    method: Annotated[
        Literal["clopper_pearson", "convex_bound"],
        "clopper_pearson: of right-or-wrong items; convex_bound: of other scores in the requested range.",
    ]


@dataclass(frozen=True, slots=True)
class SystemRecord:
    """One system of a board. Members that follow from the tests of all pairs are null if not all were compared.

    `score` is over the system's own `n` items. `rank` is the competition rank of `score` (1, 2, 2, 4). With confidence
    1 - alpha, the true ranks of all systems are from `rank_low` to `rank_high`. `better_than` and `worse_than` count
    systems by `relation`.
    """

    name: str
    score: float
    n: int
    rank: int
    rank_low: int | None
    rank_high: int | None
    cluster: int | None
    tier: int | None
    letters: Annotated[str | None, "Systems that share a letter are not significantly different."]
    in_best_set: bool | None
    better_than: int | None
    worse_than: int | None
    interval: Annotated[
        SystemInterval | None,
        "At confidence_level, of means of independent items that are right or wrong, or lie in `range`; else null.",
    ] = None


@dataclass(frozen=True, slots=True)
class PairRecord:
    """The test of one pair of systems.

    `difference` is U's score minus V's on the `n` items of the pair, whichever direction is better; `wins` counts the
    swapping units on which U is better. `relation` compares U with V.
    """

    u: str
    v: str
    n: int
    difference: float
    p_value: PValue
    log10_p_value: Log10PValue
    p_value_bounds: tuple[float, float]
    p_value_bounds_kind: BoundsKind
    p_adjusted: PValue
    log10_p_adjusted: Log10PValue
    p_adjusted_bounds: tuple[float, float]
    p_adjusted_bounds_kind: BoundsKind
    p_adjusted_certainty: Annotated[Certainty, "An exact test has bracketed or sampled if its adjustment is."]
    relation: Annotated[
        Relation,
        "better or worse: p_adjusted <= alpha for certain; undecided: alpha lies within its bounds; "
        "untestable: no outcome of this pair could be significant, min_attainable_p > alpha; tied: "
        "otherwise, and if min_attainable_p is null.",
    ]
    min_attainable_p: Annotated[float | None, "Null if unknown."]
    wins: int
    ties: int
    losses: int
    method: str
    exact: bool
    confidence_interval: ConfidenceInterval | None = None


@dataclass(frozen=True, slots=True)
class FrontierSystem:
    """Whether another system is better and cheaper: `p_value` is the smallest one of that, `dominated_by` has it if `excluded`.

    `cost` is the mean cost of an item. A system is `excluded` where p_adjusted <= alpha for certain.
    """

    name: str
    cost: float
    excluded: bool
    dominated_by: str | None
    p_value: PValue
    p_adjusted: PValue


@dataclass(frozen=True, slots=True)
class FrontierPair:
    """Whether u is better and cheaper than v: the larger one of two one-sided p-values; adjusted by Holm over all pairs."""

    u: str
    v: str
    p_value: PValue
    p_quality: PValue
    p_cost: PValue
    p_adjusted: PValue


@dataclass(frozen=True, slots=True)
class FrontierRecord:
    """Cost against quality. The systems that are not excluded hold the true frontier with confidence 1 - alpha."""

    systems: tuple[FrontierSystem, ...]
    pairs: tuple[FrontierPair, ...]


@dataclass(frozen=True, slots=True)
class GroupsRecord:
    """Systems that belong together, best first.

    `letters`: maximal sets without a significant difference (Piepho 2004); null if there are more than 52. `clusters`:
    a line is drawn where all above are significantly different from all below (WMT). `tiers`: a tier ends before the
    first system that one of its members is significantly better than. `best_set` holds the best system with confidence
    1 - alpha (Hsu).
    """

    letters: Mapping[str, tuple[str, ...]] | None
    clusters: tuple[tuple[str, ...], ...]
    tiers: tuple[tuple[str, ...], ...]
    best_set: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CertaintyRecord:
    """How many adjusted p-values of a board are exact, bracketed by certified bounds, or sampled, listed or not.

    An exact test's adjusted p-value is `bracketed` or `sampled` if its adjustment, or another test of its family,
    is.
    """

    exact: int
    bracketed: int
    sampled: int


@dataclass(frozen=True, slots=True)
class FamilyRecord:
    """The tests that are adjusted together: their number, the method, and the error rate that it controls.

    `certainty` counts the tests of this board only, even if the family has several boards.
    """

    adjust: Adjust
    size: int
    alpha: float
    controls: str
    certainty: CertaintyRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class BoardRecord:
    """One board: the systems, best first, and the tests of their pairs."""

    systems: tuple[SystemRecord, ...]
    pairs: tuple[PairRecord, ...]
    groups: GroupsRecord | None
    family: FamilyRecord
    warnings: tuple[WarningRecord, ...] = ()


@dataclass(frozen=True, kw_only=True)  # no slots: `cached_property` needs a `__dict__`
class CompareRecord:
    """The answer to a comparison: one board, or for several data sets one board each and an overall board."""

    id: Annotated[str, identifier("c", FROM_REQUEST)]
    statistic: str
    metric: str | None
    higher_is_better: bool
    compare: Design
    baseline: str | None
    systems: tuple[SystemRecord, ...] | None = None
    pairs: tuple[PairRecord, ...] | None = None
    groups: GroupsRecord | None = None
    family: FamilyRecord | None = None
    datasets: Mapping[str, BoardRecord] | None
    overall: BoardRecord | None
    frontier: Annotated[FrontierRecord | None, "With costs; null without."] = None
    bradley_terry: Annotated[
        Mapping[str, float] | None,
        "Of preferences, beside the tests and none itself: log-odds strengths of the Bradley-Terry model (maximum likelihood, "
        "ties as half a win, mean 0). Null where there is none (warning no_bradley_terry), and for other data.",
    ] = None
    reading: ReadingRecord | None = None
    warnings: tuple[WarningRecord, ...] = ()

    @cached_property
    def boards(self) -> Mapping[str | None, BoardRecord]:
        """All boards by data set; the overall or only board has the key None. An only board has the answer's
        warnings.
        """
        of_all = self.overall
        if self.systems is not None and self.family is not None:
            of_all = BoardRecord(
                systems=self.systems,
                pairs=self.pairs or (),
                groups=self.groups,
                family=self.family,
                warnings=self.warnings,
            )
        by_name: dict[str | None, BoardRecord] = {} if of_all is None else {None: of_all}
        return by_name | dict(self.datasets or {})

    def with_board(self, board: BoardRecord) -> CompareRecord:
        """A copy with this as its only board."""
        return replace(
            self, systems=board.systems, pairs=board.pairs, groups=board.groups, family=board.family
        )

    def as_listed(self) -> CompareRecord:
        """A copy with the pairs that JSON and CSV list: the first ones of long boards."""

        def cut(board: BoardRecord) -> BoardRecord:
            fewer = any(warning.code == LEFT_OUT for warning in board.warnings)
            return replace(board, pairs=board.pairs[: most_of(len(self.boards))]) if fewer else board

        if self.systems is not None:
            return self.with_board(cut(self.main_board))
        return replace(
            self,
            datasets=self.datasets and {name: cut(board) for name, board in self.datasets.items()},
            overall=self.overall and cut(self.overall),
        )

    @property
    def main_board(self) -> BoardRecord:
        """The board that reports and pictures show first: the only, the overall, or the first data set's."""
        return next(iter(self.boards.values()))


def most_of(boards: int) -> int:
    """How many pairs each of this many boards lists by default."""
    return MOST_LISTED // boards
