"""The result of a test as frozen data: the fields of the HTTP answer under their own names.

`raw` holds the whole answer, including fields that a newer server adds; `permalink` is where the server keeps it, or None.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar

from ..answers.test import (
    ConfidenceInterval,
    EffectSize,
    ItemLevel,
    ItemsRecord,
    LatticeRecord,
    MethodRecord,
    MissingRecord,
    MonteCarloRecord,
    Moved,
    NamesRecord,
    PairingRecord,
    RepeatsRecord,
    SensitivityRecord,
    SpreadRecord,
    StatisticRecord,
    WarningRecord,
)
from .notebook import TestInNotebook

# Classes of answers that the client reads as they are.
Statistic = StatisticRecord
Names = NamesRecord
Items = ItemsRecord
Pairing = PairingRecord
Spread = SpreadRecord
Repeats = RepeatsRecord
Missing = MissingRecord
Lattice = LatticeRecord
MonteCarlo = MonteCarloRecord
Method = MethodRecord
Interval = ConfidenceInterval
Sensitivity = SensitivityRecord
ResultWarning = WarningRecord


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
class Evidence:
    """What holds however often one looks; None where `sequential` was not asked for."""

    e_value: float | None = None
    log10_e_value: float | None = None
    p_anytime: float | None = None
    log10_p_anytime: float | None = None
    curtailed: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How files were read; the notes name every choice and everything that was skipped."""

    format: str
    guessed: bool
    notes: tuple[str, ...]


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
