"""The result of a test as frozen data: the fields of the HTTP answer under their own names.

`raw` holds the whole answer, including fields that a newer server adds; `permalink` is where the server keeps it, or None.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar

from .notebook import TestInNotebook


@dataclass(frozen=True, slots=True, kw_only=True)
class BinaryFraction:
    """numerator / 2**log2_denominator; the numerator is decimal text, as it may have any length."""

    numerator: str
    log2_denominator: int

    @property
    def value(self) -> Fraction:
        """As a `Fraction`; raises ValueError beyond `sys.get_int_max_str_digits()` digits."""
        return Fraction(int(self.numerator), 2**self.log2_denominator)


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistic:
    """The statistic, the observed difference, and the score of each system where there is one."""

    name: str
    observed: float
    u: float | None
    v: float | None
    metric: str | None = None
    higher_is_better: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """What the systems are called."""

    u: str
    v: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Items:
    """How many items there were; wins, ties and losses are U's, counted by what swaps together.

    A win is more of the statistic, or less where `statistic.higher_is_better` is false.
    """

    n: int
    nonzero: int
    clusters: int | None
    wins: int
    ties: int
    losses: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairing:
    """How many items were paired by id, and how many only one system has."""

    matched: int
    only_u: int
    only_v: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """How one system's repeated samples vary within items."""

    samples: int
    within_item_variance: float | None
    flip_rate: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeats:
    """Repeated samples: what became of them, and each system's spread."""

    repeats: str
    u: Spread | None
    v: Spread | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """Missing outcomes, and what lies between their worst and their best filling."""

    n: int
    difference: tuple[float, float]
    p_value: tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemLevel:
    """The p-value if the items of a cluster swapped one by one, for comparison."""

    p_value: float
    log10_p_value: float
    method: str
    exact: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Lattice:
    """The lattice on which the test was computed."""

    unit: float
    weights: int
    range: int
    rank: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class MonteCarlo:
    """What was sampled: p = (exceedances + 1) / (samples + 1), or with a `control` variate an estimate of its own.

    With one, p = control_p_value + (gained - lost) / samples, kept inside its bounds; `p_value_plain` is p without it.
    """

    samples: int
    seed: int
    exceedances: int
    standard_error: float
    control: str | None = None
    control_p_value: float | None = None
    gained: int | None = None
    lost: int | None = None
    p_value_plain: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """The method that ran, whether it is exact, its error bound, and why it was chosen."""

    name: str
    exact: bool
    relative_error_bound: float | None
    reason: str
    lattice: Lattice | None = None
    monte_carlo: MonteCarlo | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Mass:
    """The probability of one value, or bin, of the null distribution."""

    value: float
    probability: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Null:
    """The null distribution of the statistic."""

    mean: float
    sd: float
    min: float
    max: float
    quantiles: Mapping[str, float] | None = None
    pmf: tuple[Mass, ...] | None = None
    pmf_bin_width: float | None = None
    range_exact: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A confidence interval of the difference; None is an end that no data of this size can set."""

    level: float
    low: float | None
    high: float | None
    method: str
    kind: str
    resolution: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Discordant:
    """Items that only one system got right, and their odds; None is infinity."""

    only_u: int
    only_v: int
    odds: float | None
    odds_low: float
    odds_high: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectSize:
    """How large the difference is, whatever its units; None where that is not defined."""

    cohens_d_z: float | None
    cliffs_delta: float | None
    discordant: Discordant | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sensitivity:
    """What a test could have found on its items, as sizes without a sign; None is what no outcome, no difference has."""

    power: float
    critical_difference: float | None
    minimum_detectable_effect: float | None
    method: str
    exact: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What holds however often one looks; None where `sequential` was not asked for."""

    e_value: float | None = None
    log10_e_value: float | None = None
    p_anytime: float | None = None
    log10_p_anytime: float | None = None
    curtailed: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """Ids of the items that moved most, largest first."""

    toward_u: tuple[str, ...]
    toward_v: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How files were read; the notes name every choice and everything that was skipped."""

    format: str
    guessed: bool
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultWarning:
    """Something to know before the p-value is quoted."""

    code: str
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Runtime:
    """Milliseconds: in the engine, since the request arrived, and waiting for a worker."""

    engine_ms: float
    total_ms: float
    queue_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Versions:
    """The server's version, and that of the algorithms."""

    service: str
    algorithm: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TestResult(TestInNotebook, Evidence):
    """The answer to a test; `runtime`, `versions` and `signature` are None for a test inside a gate."""

    __test__: ClassVar[bool] = False  # not a test class, whatever pytest thinks of its name

    id: str
    p_value: float
    log10_p_value: float
    p_value_bounds: tuple[float, float]
    p_value_bounds_kind: str
    p_value_fraction: BinaryFraction | None = None
    mid_p_value: float | None = None
    significant: bool
    alpha: float
    min_attainable_p: float | None
    alternative: str
    test: str
    names: Names | None = None
    statistic: Statistic
    items: Items
    pairing: Pairing | None = None
    item_level: ItemLevel | None = None
    repeats: Repeats | None = None
    missing: Missing | None = None
    method: Method
    null: Null
    confidence_interval: Interval | None = None
    effect_size: EffectSize | None = None
    moved: Moved | None = None
    sensitivity: Sensitivity | None = None
    reading: Reading | None = None
    warnings: tuple[ResultWarning, ...] = ()
    runtime: Runtime | None = None
    versions: Versions | None = None
    signature: str | None = None
    permalink: str | None = field(default=None, compare=False)
    raw: Mapping[str, Any] = field(repr=False, compare=False)
