"""The answer to a test, as plain data. The JSON answer, its OpenAPI schema and the reports all follow from it.

Fields are written by name in the order of this file, unless an `Annotated` type says otherwise.
Class docstrings become descriptions in OpenAPI.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from typing import Annotated, Any, Literal, NamedTuple

from .reading import Note, sentences

# How a record becomes JSON: a member for each field, by its name, unless an `Annotated` type says otherwise.
#
# In `Annotated`, a text describes the member in the OpenAPI document, a mapping holds its bounds, and a `Form` writes
# it; pydantic calls the form through `__get_pydantic_core_schema__`.


ID_CHARS = 18
# Smaller integers use Python's conversion.
SHORT_BITS = 10_000
LARGEST_EXACT = 2**53
LARGEST_COST = 1e300


@dataclass(frozen=True, slots=True)
class Form:
    """A member of another type in JSON, converted by `write`."""

    type: Any
    write: Callable[[Any], Any]

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> dict[str, Any]:
        return {"type": "any", "serialization": {"type": "function-plain", "function": self.write}}


def identifier(letter: str, *notes: str) -> Form:
    """The id of an answer: a letter and 16 of the 64 digits of a hash of the question."""
    return Form(
        Annotated[str, {"pattern": f"^{letter}_[0-9a-f]{{16}}$"}, *notes], lambda whole: whole[:ID_CHARS]
    )


def decimal(number: int) -> str:
    """An integer of any length in decimal. Python's conversion is quadratic and refuses long ones."""
    if number.bit_length() < SHORT_BITS:
        return str(number)
    from flint import fmpz

    return str(fmpz(number).str())


def bounded(cost: float) -> float:
    """A cost as a JSON number: exact while small, then a double, never infinite."""
    if cost <= LARGEST_EXACT:
        return cost
    return float(cost) if cost < LARGEST_COST else LARGEST_COST


COST = Form(float, bounded)
FROM_REQUEST = "A hash of the canonical request and the algorithm version."


# The answer


Alternative = Literal["two-sided", "greater", "less"]
Resampling = Literal["permutation", "bootstrap"]
Exchange = Literal["items", "runs", "both"]
GeneralisesTo = Literal["new items", "new runs of these items", "new runs and new items"]
NullModel = Literal["permutation", "bootstrap", "binomial", "convex_bound"]
Method = Literal[
    "auto", "fft", "dp", "rational", "grid", "enumeration", "meet_in_the_middle", "bounds", "monte_carlo"
]
# Statistics of several systems at once.
SystemsStatistic = Literal["contrast", "page", "cochran_q", "friedman", "interaction"]
# Of several systems at once: there are no U and V. The first two ask whether any of them differs.
OF_SEVERAL = {
    "cochran_q": "Cochran's Q",
    "friedman": "Friedman's chi-squared",
    "page": "Page's L",
    "contrast": "the contrast of means",
}
ANY_DIFFERS = ("cochran_q", "friedman")
BoundsKind = Literal["certified", "confidence"]
IntervalKind = Literal["exact", "bounded", "approximate", "sampled"]
PValue = Annotated[float, {"gt": 0, "le": 1}]
Log10PValue = Annotated[float, {"le": 0}]
EValue = Annotated[
    float | None, ("Significant at any look if at least 1 / alpha; null if too large for a double.")
]
PAnytime = Annotated[float | None, {"gt": 0, "le": 1}, "1 / e_value, at most 1: a p-value at any look."]
Log10PAnytime = Annotated[float | None, {"le": 0}]
Curtailed = Annotated[
    bool | None,
    (
        "Whether no completion to planned_n items can change the decision of the test of that size; null "
        "without planned_n and max_difference."
    ),
]


@dataclass(frozen=True, slots=True)
class PairingRecord:
    """Numbers of items that both systems have, or only one; null for items paired by order, since none can be
    missing.
    """

    matched: int
    only_u: int
    only_v: int


@dataclass(frozen=True, slots=True)
class SpreadRecord:
    """How one system's repeated samples vary within items; null if no item has two.

    `within_item_variance` is pooled over the items (ddof 1 in each); `flip_rate` is the share of items with differing
    samples, among those with at least two.
    """

    samples: int
    within_item_variance: float | None
    flip_rate: float | None
    between_item_variance: Annotated[
        float | None, "The variance of the items' true means (Searle, Casella & McCulloch 1992, chapter 3)."
    ] = None
    icc: Annotated[
        float | None, {"ge": 0, "le": 1}, "between_item_variance as a share of the variance of one sample."
    ] = None


@dataclass(frozen=True, slots=True)
class RepeatsAdvice:
    """The standard error of the mean difference, and what it would be with twice the items or twice the runs.

    `say` is what to add next: the one that lowers the standard error clearly more, or either.
    """

    standard_error: float
    twice_the_items: float
    twice_the_runs: float
    say: Literal["items", "runs", "either"]


@dataclass(frozen=True, slots=True)
class RepeatsRecord:
    """Repeated samples: how they were used (`repeats`), and each system's spread; null for one score per item.

    `k` is that of pass@k (`any`) or pass^k (`all`), null for all samples of an item.
    """

    repeats: Literal["mean", "all", "any"]
    u: SpreadRecord | None
    v: SpreadRecord | None
    k: int | None = None
    advice: RepeatsAdvice | None = None


@dataclass(frozen=True, slots=True)
class ExchangedTest:
    """The test of one kind of exchange."""

    p_value: PValue
    log10_p_value: Log10PValue
    p_value_bounds: tuple[float, float]
    mid_p_value: float | None
    method: str


@dataclass(frozen=True, slots=True)
class ExchangesRecord:
    """With `exchange: both`: the test that exchanges items, and the one that exchanges runs."""

    items: ExchangedTest
    runs: ExchangedTest


SliceMethod = Literal["exact_minimum", "sidak", "holm_discrete", "holm"]


@dataclass(frozen=True, slots=True)
class SliceRecord:
    """The test of the items with one label; `p_adjusted` is adjusted over all slices, and decides `significant`."""

    slice: str
    n: int
    difference: float
    p_value: PValue
    p_value_bounds: tuple[float, float]
    p_adjusted: PValue
    p_adjusted_bounds: tuple[float, float]
    significant: bool


@dataclass(frozen=True, slots=True)
class SlicesRecord:
    """Tests of slices of the items, the smallest p-value first.

    `p_value` is the probability of a smallest p-value at most as large as that of the `worst` slice. `exact_minimum` is
    exact for disjoint slices; `holm_discrete` bounds it for slices that share items or clusters. `sidak` and `holm` bound
    them where the p-values that a slice can have are not known. Where p_value is not `exact` it is the upper end of
    `p_value_bounds`, or an estimate if a slice is sampled.
    """

    method: SliceMethod
    p_value: PValue
    p_value_bounds: tuple[float, float]
    p_value_bounds_kind: BoundsKind
    exact: Annotated[bool, "Whether p_value is what the method defines, but for rounding."]
    worst: str
    items: tuple[SliceRecord, ...]


@dataclass(frozen=True, slots=True)
class CorrectionRecord:
    """How a difference was corrected: a judge by people's labels, or scores by covariates. Members of the other kind are null."""

    kind: Literal["labels", "covariates"]
    lambda_: Annotated[float | None, "The weight of the judge's scores, from 0 to 1."] = None
    labelled: Annotated[int | None, "The number of items with labels."] = None
    judge_difference: Annotated[float | None, "By the judge's scores alone."] = None
    labelled_difference: Annotated[float | None, "By the labels alone."] = None
    coefficients: Annotated[Mapping[str, float] | None, "By covariate."] = None
    difference: Annotated[float | None, "Without covariates."] = None


@dataclass(frozen=True, slots=True)
class PositionBiasRecord:
    """How often the first and the second model of a battle won, and whether the place decides.

    p_value is two-sided and flips the sign of each id's sum of +1 (the first won) and -1 (the second won). It is valid where
    both orders were asked, or where the order was drawn.
    """

    first: int
    second: int
    ties: int
    p_value: PValue


def _correction(record: CorrectionRecord | None) -> dict[str, Any] | None:
    return None if record is None else {wire_name(name): value for name, value in asdict(record).items()}


def wire_name(field: str) -> str:
    """The name of a member in JSON; `lambda_` is none in Python.

    >>> wire_name("lambda_"), wire_name("labelled")
    ('lambda', 'labelled')
    """
    return field.removesuffix("_")


@dataclass(frozen=True, slots=True)
class MissingRecord:
    """Missing outcomes (`on_missing` bounds).

    Whatever values in the range the `n` outcomes have, the difference over all items and its p-value lie between
    these ends.
    """

    n: Annotated[int, "Missing outcomes; an item that neither system has counts twice."]
    difference: Annotated[tuple[float, float], "Worst and best for U."]
    p_value: Annotated[tuple[float, float], "Least and greatest."]


@dataclass(frozen=True, slots=True)
class Fraction2:
    """An exact probability: numerator / 2**log2_denominator."""

    numerator: int
    log2_denominator: int

    @property
    def value(self) -> Fraction:
        """As a `Fraction`."""
        return Fraction(self.numerator, 1 << self.log2_denominator)

    def in_decimal(self) -> BinaryFraction:
        """The form of answers."""
        return BinaryFraction(decimal(self.numerator), self.log2_denominator)


@dataclass(frozen=True, slots=True)
class BinaryFraction:
    """An exact probability: numerator / 2**log2_denominator."""

    numerator: Annotated[str, {"pattern": r"^\d+$"}, "A decimal string of any length."]
    log2_denominator: int

    @property
    def value(self) -> Fraction:
        """As a `Fraction`; raises ValueError beyond `sys.get_int_max_str_digits()` digits."""
        return Fraction(int(self.numerator), 2**self.log2_denominator)


@dataclass(frozen=True, slots=True)
class Ratio:
    """An exact probability in lowest terms."""

    numerator: int
    denominator: int

    @property
    def value(self) -> Fraction:
        """As a `Fraction`."""
        return Fraction(self.numerator, self.denominator)

    def in_decimal(self) -> OtherFraction:
        """The form of answers."""
        return OtherFraction(decimal(self.numerator), decimal(self.denominator))


ExactFraction = Fraction2 | Ratio


@dataclass(frozen=True, slots=True)
class OtherFraction:
    """An exact probability in lowest terms whose denominator is not a power of two."""

    numerator: Annotated[str, {"pattern": r"^\d+$"}, "A decimal string of any length."]
    denominator: Annotated[str, {"pattern": r"^\d+$"}, "A decimal string of any length."]

    @property
    def value(self) -> Fraction:
        """As a `Fraction`; raises ValueError beyond `sys.get_int_max_str_digits()` digits."""
        return Fraction(int(self.numerator), int(self.denominator))


@dataclass(frozen=True, slots=True)
class Runtime:
    """Milliseconds in the engine, since the request arrived, and spent waiting for a worker."""

    engine_ms: float
    total_ms: float
    queue_ms: float


@dataclass(frozen=True, slots=True)
class Versions:
    """Versions of the program and of the algorithms; equal algorithm versions give equal bytes."""

    service: str
    algorithm: str


@dataclass(frozen=True, slots=True)
class NamesRecord:
    """The systems' names: as requested, else as in the files, else U and V (in a gate candidate and baseline)."""

    u: str
    v: str


@dataclass(frozen=True, slots=True)
class StatisticRecord:
    """The statistic as observed; `observed` is U's value minus V's, whichever direction is better.

    `u` and `v` are the systems' values, null if the statistic has none.
    """

    name: str
    observed: float
    u: float | None
    v: float | None
    metric: Annotated[
        str | None, "The metric in the files: wer, las, ndcg_cut_10; null if they do not name it."
    ] = None
    higher_is_better: Annotated[
        bool | None, "Follows from the metric or the statistic, or from a gate's request; null if unknown."
    ] = None


@dataclass(frozen=True, slots=True)
class ItemsRecord:
    """Numbers of items; wins, ties and losses are U's and count the units that swap together.

    U wins a unit with more of the statistic than V, or with less if `statistic.higher_is_better` is false.
    """

    n: int
    nonzero: int
    clusters: int | None
    wins: int
    ties: int
    losses: int


@dataclass(frozen=True, slots=True)
class ItemLevel:
    """The p-value if every item swapped by itself, beside that of the clustered test; null without clusters."""

    p_value: PValue
    log10_p_value: Log10PValue
    method: str
    exact: bool


@dataclass(frozen=True, slots=True)
class LatticeRecord:
    """The lattice of the test: its step (`unit`) in the statistic's units, and the number (`rank`) of its sums."""

    unit: float
    weights: int
    range: int
    rank: int = 1


@dataclass(frozen=True, slots=True)
class MonteCarloRecord:
    """The samples: p = (exceedances + 1) / (samples + 1), or the control variate's estimate.

    `control` names the control variate: `midpoint` is the statistic's linear part about the mean of both systems, which
    has an exact p-value (`control_p_value`). Of the samples `gained` were extreme where the linear part was not, `lost`
    the reverse: p = control_p_value + (gained - lost) / samples, kept inside the bounds. `p_value_plain` is the
    estimate without it. All five are null without a control variate.
    """

    samples: int
    seed: int
    exceedances: int
    standard_error: float
    control: Literal["midpoint"] | None = None
    control_p_value: float | None = None
    gained: int | None = None
    lost: int | None = None
    p_value_plain: float | None = None


@dataclass(frozen=True, slots=True)
class MethodRecord:
    """The method that ran, whether it is exact, its certificate, and why it was chosen."""

    name: str
    exact: bool
    relative_error_bound: float | None
    reason: str
    lattice: LatticeRecord | None
    monte_carlo: MonteCarloRecord | None


class Mass(NamedTuple):
    """The probability of one bin of the null distribution."""

    value: float
    probability: float


def _masses(pmf: tuple[Mass, ...] | None) -> list[dict[str, float]] | None:
    return None if pmf is None else [{"value": value, "probability": p} for value, p in pmf]


@dataclass(frozen=True, slots=True)
class NullRecord:
    """The null distribution of the statistic; unknown fields are null.

    Each mass of `pmf` is a value, the middle of its bin, and its probability. `pmf_bin_width` is in the statistic's
    units (the lattice step when nothing was binned).
    """

    mean: float
    sd: float
    min: float
    max: float
    quantiles: Mapping[str, float] | None
    pmf: Annotated[tuple[Mass, ...] | None, Form(tuple[Mass, ...] | None, _masses)]
    pmf_bin_width: float | None
    range_exact: Annotated[
        bool,
        (
            "Whether min and max are over all swaps or resamples, or only over those examined and the observed "
            "value."
        ),
    ] = True


@dataclass(frozen=True, slots=True)
class ConfidenceInterval:
    """A two-sided confidence interval of the difference; an end is null if data of this size cannot bound it."""

    level: float
    low: float | None
    high: float | None
    method: Annotated[
        str,
        "test_inversion, tango_score, bootstrap_percentile, or for a threshold clopper_pearson or convex_bound.",
    ]
    kind: Annotated[
        IntervalKind,
        "exact: the p-value crosses 1 - level at the ends; bounded: the ends are at most `resolution` too far out, "
        "never too far in; approximate: asymptotic; sampled: from resamples.",
    ]
    resolution: float


@dataclass(frozen=True, slots=True)
class Discordant:
    """Items that only one system got right, and their odds with Clopper and Pearson's interval; null is infinity.

    Right is the score 1; 0 where `statistic.higher_is_better` is false.
    """

    only_u: int
    only_v: int
    odds: float | None
    odds_low: float
    odds_high: float | None


@dataclass(frozen=True, slots=True)
class EffectSize:
    """The size of the difference, independent of its units; null if not defined.

    `cohens_d_z` is mean over sd (ddof 1) of the swapping units' differences (Lakens 2013, eq. 7); `cliffs_delta` is
    P(u > v) - P(u < v) over all pairs of items (Cliff 1993).
    """

    cohens_d_z: float | None
    cliffs_delta: float | None
    discordant: Discordant | None


@dataclass(frozen=True, slots=True)
class Moved:
    """Ids of the ten items that moved most, largest first; without ids, their positions from zero.

    An item moves toward the system that did better on it.
    """

    toward_u: tuple[str, ...]
    toward_v: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ReadingRecord:
    """How files were read; the notes list every choice, and everything skipped or dropped."""

    format: Annotated[str, "The format of the files."]
    guessed: Annotated[bool, "Whether the format was guessed (format auto)."]
    notes: Annotated[tuple[Note, ...], Form(tuple[str, ...], sentences)]


@dataclass(frozen=True, slots=True)
class WarningRecord:
    """A caution about the p-value."""

    code: str
    detail: str


@dataclass(frozen=True, slots=True)
class SensitivityRecord:
    """The differences that the test could have found on these items, without signs; null if there is none."""

    power: Annotated[float, {"gt": 0, "lt": 1}, "The requested power."]
    critical_difference: Annotated[float | None, "The least |difference| that is significant."]
    minimum_detectable_effect: Annotated[
        float | None,
        "The true difference that the test finds with this power, given the sizes of the differences.",
    ]
    method: Annotated[
        str, "tilted_sum, tilted_sum_rounded or midpoint, as in /v1/power; tango_score for a gate's margin."
    ]
    exact: bool


@dataclass(frozen=True, slots=True)
class SequentialRecord:
    """The evidence of a sequential test, which may be looked at after every item; members of the answer."""

    e_value: float | None
    log10_e_value: float
    p_anytime: float
    log10_p_anytime: float
    curtailed: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TestRecord:
    """The result of a test: a function of the request alone.

    A `confidence_level` adds `confidence_interval`, `effect_size` and `moved`; a `power` adds `sensitivity`;
    `sequential` adds e-values, which then decide `significant`.
    """

    __test__ = False  # not a test for pytest

    id: Annotated[str, identifier("t", FROM_REQUEST)]
    p_value: PValue
    log10_p_value: Annotated[Log10PValue, "Accurate even if p_value underflows."]
    p_value_bounds: Annotated[tuple[float, float], "The true p-value lies between them."]
    p_value_bounds_kind: Annotated[BoundsKind, "certified: always; confidence: with probability 99 %."]
    p_value_fraction: BinaryFraction | OtherFraction | None
    mid_p_value: Annotated[
        float | None,
        "p_value less half the probability of a tie with the observed value, and as exact; null if p_value "
        "is not exact, and for the bootstrap, medians, quantiles and statistics of several sums.",
    ] = None
    significant: bool
    alpha: float
    min_attainable_p: Annotated[
        float | None,
        "The smallest p-value that any outcome on these items could have had: exact, or null if unknown.",
    ]
    alternative: Alternative
    test: Annotated[NullModel, "binomial and convex_bound: of a gate's threshold."]
    exchange: Annotated[
        Exchange | None, "What the test exchanges between the systems; null for one score per item."
    ] = None
    generalises_to: Annotated[
        GeneralisesTo | None, "The population that a small p-value is about; null where `exchange` is."
    ] = None
    names: NamesRecord
    statistic: StatisticRecord
    items: ItemsRecord
    pairing: PairingRecord | None = None
    item_level: ItemLevel | None = None
    exchanges: ExchangesRecord | None = None
    repeats: RepeatsRecord | None = None
    missing: MissingRecord | None = None
    slices: Annotated[SlicesRecord | None, "The tests of slices of the items, if requested."] = None
    correction: Annotated[
        CorrectionRecord | None, Form(CorrectionRecord | None, _correction), "Null for scores as they are."
    ] = None
    position_bias: Annotated[
        PositionBiasRecord | None, "Of the battles between both models; null for other data."
    ] = None
    method: MethodRecord
    null: NullRecord
    confidence_interval: ConfidenceInterval | None = None
    effect_size: EffectSize | None = None
    moved: Moved | None = None
    sensitivity: SensitivityRecord | None = None
    e_value: EValue = None
    log10_e_value: float | None = None
    p_anytime: PAnytime = None
    log10_p_anytime: Log10PAnytime = None
    curtailed: Curtailed = None
    reading: ReadingRecord | None = None
    warnings: tuple[WarningRecord, ...]

    @property
    def name_u(self) -> str:
        """The name of system U."""
        return self.names.u

    @property
    def name_v(self) -> str:
        """The name of system V."""
        return self.names.v

    @property
    def notes(self) -> tuple[Note, ...]:
        """How files were read."""
        return () if self.reading is None else self.reading.notes


def reported(
    record: TestRecord, reading: ReadingRecord | None, warnings: Sequence[WarningRecord]
) -> TestRecord:
    """The record with how its data was read, and the warnings about that first."""
    if reading is None and not warnings:
        return record
    return replace(record, reading=reading, warnings=(*warnings, *record.warnings))
