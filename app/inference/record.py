"""The answer to a test, as plain data: everything of the HTTP answer but what the service adds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from .options import Alternative, Resampling

BoundsKind = Literal["certified", "confidence"]
IntervalKind = Literal["exact", "bounded", "approximate", "sampled"]


def members(record: Any) -> dict[str, Any]:
    """The fields of a record by name, as they are: `dataclasses.asdict` copies everything below as well."""
    return {name: getattr(record, name) for name in record.__slots__}


@dataclass(frozen=True, slots=True)
class Fraction2:
    """numerator / 2**log2_denominator, exactly."""

    numerator: int
    log2_denominator: int


@dataclass(frozen=True, slots=True)
class StatisticRecord:
    """Which statistic, its value as observed, and each system's own score where there is one.

    `metric` is what was measured, where more is known of it than the statistic's name (wer, las, ndcg_cut_10).
    `higher_is_better` is None where that is not known.
    """

    name: str
    observed: float
    u: float | None
    v: float | None
    metric: str | None = None
    higher_is_better: bool | None = None


@dataclass(frozen=True, slots=True)
class ItemsRecord:
    """How many items there were; wins, ties and losses are U's, counted per swapping unit.

    A win is a larger share of the statistic, or a smaller one where lower is known to be better.
    """

    n: int
    nonzero: int
    clusters: int | None
    wins: int
    ties: int
    losses: int


@dataclass(frozen=True, slots=True)
class LatticeRecord:
    """The lattice the test was solved on: step in the statistic's units of effect."""

    unit: float
    weights: int
    range: int
    rank: int = 1


@dataclass(frozen=True, slots=True)
class MonteCarloRecord:
    """What was sampled: p = (exceedances + 1) / (samples + 1)."""

    samples: int
    seed: int
    exceedances: int
    standard_error: float


@dataclass(frozen=True, slots=True)
class MethodRecord:
    """Which method ran, whether it is exact, its certificate and why it was chosen."""

    name: str
    exact: bool
    relative_error_bound: float | None
    reason: str
    lattice: LatticeRecord | None
    monte_carlo: MonteCarloRecord | None


@dataclass(frozen=True, slots=True)
class NullRecord:
    """The null distribution of the statistic, summarised.

    `pmf` holds (value, probability) pairs; a value is the middle of its bin and `pmf_bin_width`
    is in the statistic's units (the lattice step when nothing was binned). None where not known.
    """

    mean: float
    sd: float
    min: float
    max: float
    quantiles: tuple[tuple[str, float], ...] | None
    pmf: tuple[tuple[float, float], ...] | None
    pmf_bin_width: float | None


@dataclass(frozen=True, slots=True)
class Caution:
    """Something the reader of a p-value should know."""

    code: str
    detail: str


@dataclass(frozen=True, slots=True)
class ItemLevel:
    """The p-value when every item swaps by itself, beside that of a clustered test."""

    p_value: float
    log10_p_value: float
    method: str
    exact: bool


@dataclass(frozen=True, slots=True)
class ConfidenceInterval:
    """An interval of the statistic's true value, in its units; None is an end that no data of this size can set.

    `method` is `test_inversion`, `tango_score` or `bootstrap_percentile`. `exact`: each end is where the p-value
    crosses; `bounded`: it is at most `resolution` further out, never further in; `approximate`: asymptotic;
    `sampled`: from resamples.
    """

    level: float
    low: float | None
    high: float | None
    method: str
    kind: IntervalKind
    resolution: float


@dataclass(frozen=True, slots=True)
class Discordant:
    """Items of which only one system was right; their odds with Clopper & Pearson's interval, None is infinity."""

    only_u: int
    only_v: int
    odds: float | None
    odds_low: float
    odds_high: float | None


@dataclass(frozen=True, slots=True)
class EffectSize:
    """How large the difference is, whatever its units. None where it is not defined.

    `cohens_d_z` is mean over sd (ddof 1) of the swapping units' differences (Lakens 2013, eq. 7); `cliffs_delta` is
    P(u > v) - P(u < v) over all pairs of items (Cliff 1993).
    """

    cohens_d_z: float | None
    cliffs_delta: float | None
    discordant: Discordant | None


@dataclass(frozen=True, slots=True)
class Moved:
    """The ids of the ten items that moved most, largest first, by the direction they moved in.

    Ids and nothing else; positions counted from 0 where the items have no ids.
    """

    toward_u: tuple[str, ...]
    toward_v: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TestRecord:
    """The answer to one test.

    `confidence_interval`, `effect_size` and `moved` are there when a `confidence_level` was asked for; `notes` say how
    files were read.
    """

    __test__ = False  # not a test class, whatever pytest thinks of its name

    digest: str
    p_value: float
    log10_p_value: float
    p_value_bounds: tuple[float, float]
    p_value_bounds_kind: BoundsKind
    p_value_fraction: Fraction2 | None
    significant: bool
    alpha: float
    min_attainable_p: float
    alternative: Alternative
    test: Resampling
    statistic: StatisticRecord
    items: ItemsRecord
    method: MethodRecord
    null: NullRecord
    warnings: tuple[Caution, ...]
    name_u: str
    name_v: str
    item_level: ItemLevel | None = None
    confidence_interval: ConfidenceInterval | None = None
    effect_size: EffectSize | None = None
    moved: Moved | None = None
    notes: tuple[str, ...] = ()


def reported(record: TestRecord, notes: Sequence[str], cautions: Sequence[Caution]) -> TestRecord:
    """The record with how its data was read, and with what to know of that before its other warnings."""
    return replace(record, notes=tuple(notes), warnings=(*cautions, *record.warnings))


@dataclass(frozen=True, slots=True)
class PlanRecord:
    """What a test would cost, predicted before any array of it exists."""

    method: str
    exact: bool
    operations: int
    bytes: int
    seconds: float
    reason: str
    alternatives: tuple[PlanAlternative, ...]


@dataclass(frozen=True, slots=True)
class PlanAlternative:
    """A method that was not chosen, its cost, and why not."""

    method: str
    exact: bool
    operations: int
    bytes: int
    seconds: float
    reason: str
