"""The answers, as the OpenAPI document describes them. Answers are written by `app.service.render_json`, not by these."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from ...inference.options import Alternative, Method, Resampling
from ...inference.record import BoundsKind, IntervalKind
from ...service.messages import TestKind


class Said(BaseModel):
    """Base of everything the service says."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")


class FractionAnswer(Said):
    """An exact probability: numerator / 2**log2_denominator."""

    numerator: Annotated[
        str, Field(pattern=r"^\d+$", description="In decimal, as a string: it may have any length.")
    ]
    log2_denominator: int


class NamesAnswer(Said):
    """What the systems are called: as asked, else as the files say, else U and V (in a gate candidate and baseline)."""

    u: str
    v: str


class StatisticAnswer(Said):
    """The statistic as observed; `observed` is U's less V's, whichever direction is better."""

    name: str
    observed: float
    u: float | None
    v: float | None
    metric: Annotated[
        str | None,
        Field(description="What files say was measured: wer, las, ndcg_cut_10; null where they do not."),
    ]
    higher_is_better: Annotated[
        bool | None,
        Field(
            description="By the metric's name or the statistic, or as asked of a gate; null where nobody said."
        ),
    ]


class ItemsAnswer(Said):
    """How many items there were; wins, ties and losses are U's, by swapping unit.

    A win of U is a unit with more of the statistic than V; with less where `statistic.higher_is_better` is false.
    """

    n: int
    nonzero: int
    clusters: int | None
    wins: int
    ties: int
    losses: int


class PairingAnswer(Said):
    """What pairing by id found; None when items were paired by their order."""

    matched: int
    only_u: int
    only_v: int


class ItemLevelAnswer(Said):
    """The p-value when every item swaps by itself; None when there are no clusters."""

    p_value: Annotated[float, Field(gt=0, le=1)]
    log10_p_value: Annotated[float, Field(le=0)]
    method: str
    exact: bool


class ReadingAnswer(Said):
    """How files were read: nothing was chosen, skipped or dropped that the notes do not tell."""

    format: Annotated[str, Field(description="The format that was read.")]
    guessed: Annotated[bool, Field(description="Whether the format was guessed (format auto).")]
    notes: list[str]


class LatticeAnswer(Said):
    """The lattice the test was solved on; of `rank` independent sums."""

    unit: float
    weights: int
    range: int
    rank: int


class MonteCarloAnswer(Said):
    """What was sampled: p = (exceedances + 1) / (samples + 1)."""

    samples: int
    seed: int
    exceedances: int
    standard_error: float


class MethodAnswer(Said):
    """Which method ran, its certificate, and why it was chosen."""

    name: str
    exact: bool
    relative_error_bound: float | None
    reason: str
    lattice: LatticeAnswer | None
    monte_carlo: MonteCarloAnswer | None


class Mass(Said):
    """The probability of one bin of the null distribution."""

    value: float
    probability: float


class NullAnswer(Said):
    """The null distribution of the statistic."""

    mean: float
    sd: float
    min: float
    max: float
    quantiles: dict[str, float] | None
    pmf: list[Mass] | None
    pmf_bin_width: float | None


class WarningAnswer(Said):
    """Something the reader of a p-value should know."""

    code: str
    detail: str


class Runtime(Said):
    """Milliseconds: in the engine, since the request arrived, and waiting for a worker."""

    engine_ms: float
    total_ms: float
    queue_ms: float


class Versions(Said):
    """The program, and the algorithms; equal algorithm versions give equal bytes."""

    service: str
    algorithm: str


class IntervalAnswer(Said):
    """A two-sided confidence interval of the difference; null is an end that no data of this size can set."""

    level: float
    low: float | None
    high: float | None
    method: Annotated[str, Field(description="test_inversion, tango_score or bootstrap_percentile.")]
    kind: Annotated[
        IntervalKind,
        Field(
            description="exact: the ends are where the p-value crosses 1 - level; bounded: they are at most "
            "`resolution` too far out; approximate: asymptotic; sampled: from resamples."
        ),
    ]
    resolution: float


class DiscordantAnswer(Said):
    """Items that only one system got right, and their odds with Clopper and Pearson's interval; null is infinity.

    Right is the score 1; 0 where `statistic.higher_is_better` is false.
    """

    only_u: int
    only_v: int
    odds: float | None
    odds_low: float
    odds_high: float | None


class EffectSizeAnswer(Said):
    """How large the difference is, whatever its units; null where it is not defined."""

    cohens_d_z: float | None
    cliffs_delta: float | None
    discordant: DiscordantAnswer | None


class MovedAnswer(Said):
    """Ids of the ten items that moved most, largest first; positions from nought where there are no ids.

    They moved toward the system that did better on them: with more, or with less where lower is better.
    """

    toward_u: list[str]
    toward_v: list[str]


class TestSaid(Said):
    """What is found of a test: a function of the request alone."""

    __test__ = False

    id: Annotated[
        str, Field(pattern="^t_[0-9a-f]{16}$", description="From the canonical request and the algorithm.")
    ]
    p_value: Annotated[float, Field(gt=0, le=1)]
    log10_p_value: Annotated[float, Field(le=0, description="Right where p_value underflows.")]
    p_value_bounds: Annotated[tuple[float, float], Field(description="The truth lies inside.")]
    p_value_bounds_kind: Annotated[BoundsKind, Field(description="certified: always; confidence: at 99 %.")]
    p_value_fraction: FractionAnswer | None
    significant: bool
    alpha: float
    min_attainable_p: float
    alternative: Alternative
    test: Resampling
    names: NamesAnswer
    statistic: StatisticAnswer
    items: ItemsAnswer
    pairing: PairingAnswer | None
    item_level: ItemLevelAnswer | None
    method: MethodAnswer
    null: NullAnswer
    confidence_interval: IntervalAnswer | None
    effect_size: EffectSizeAnswer | None
    moved: MovedAnswer | None
    reading: ReadingAnswer | None
    warnings: list[WarningAnswer]


class TestAnswer(TestSaid):
    """The answer to a test. Everything but `runtime` is a function of the request."""

    runtime: Runtime
    versions: Versions
    signature: str


class PlannedMethod(Said):
    """A method and what it is predicted to cost."""

    method: Method
    exact: bool
    operations: float
    bytes: float
    seconds: float
    reason: str


class PlanAnswer(PlannedMethod):
    """What a test would do and cost, and what else could."""

    kind: TestKind
    alternatives: list[PlannedMethod]
    versions: Versions


class ProblemError(Said):
    """One thing that is wrong."""

    pointer: Annotated[
        str,
        Field(
            description="RFC 6901; `/?name` is a query parameter, `/line/3/2` a field of a table, `/files/u/line/3` "
            "one of a file, `/options/name` a field of the form."
        ),
    ]
    code: str
    detail: str


class Problem(Said):
    """RFC 9457 problem details; at most 16 KB, and never an echo of the input."""

    type: str
    title: str
    status: int
    detail: str
    instance: Annotated[str, Field(description="The request id.")]
    errors: Annotated[list[ProblemError], Field(max_length=20)] = []


class Health(Said):
    """Alive, or ready."""

    status: Literal["ok"]
