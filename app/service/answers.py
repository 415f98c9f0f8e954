"""What JSON answers hold: a record each with its runtime, versions and signature.

Every field of a record is written by its name (`render_json`); `FORMS` lists the few exceptions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from flint import fmpz

from .. import __version__
from ..inference.compare.plan_record import BoardPlanRecord, ComparePlanRecord
from ..inference.compare.record import CompareRecord
from ..inference.gate.record import GateRecord, MetricRecord
from ..inference.options import Method
from ..inference.paired_test import ALGORITHM_VERSION
from ..inference.plan_record import PlannedMethod, PlanRecord
from ..inference.power.record import PowerRecord
from ..inference.reading import sentences
from ..inference.record import Fraction2, NullRecord, ReadingRecord, TestRecord
from .messages import TestKind

LARGEST_EXACT = 2**53
SHORT_BITS = 10_000
LARGEST_COST = 1e300


@dataclass(frozen=True, slots=True)
class Runtime:
    """Milliseconds: in the engine, since the request arrived, and waiting for a worker."""

    engine_ms: float
    total_ms: float
    queue_ms: float


@dataclass(frozen=True, slots=True)
class Versions:
    """The program, and the algorithms; equal algorithm versions give equal bytes."""

    service: str
    algorithm: str


VERSIONS = Versions(__version__, ALGORITHM_VERSION)


@dataclass(frozen=True, slots=True)
class TestAnswer:
    """The answer to a test. Everything but `runtime` is a function of the request."""

    __test__ = False  # pytest would collect it by its name

    record: TestRecord
    runtime: Runtime
    versions: Versions
    signature: str


@dataclass(frozen=True, slots=True)
class GateAnswer:
    """The answer of a gate. Policy, margin and so on are those of the metric that decided."""

    record: GateRecord
    runtime: Runtime
    versions: Versions
    signature: str


@dataclass(frozen=True, slots=True)
class CompareAnswer:
    """The answer to a comparison of many systems. Everything but `runtime` is a function of the request.

    One board has `systems`, `pairs`, `groups` and `family` here. Several data sets have each their own in `datasets`, and
    those four are null; `overall` is the board over all of them.
    """

    record: CompareRecord
    runtime: Runtime
    versions: Versions
    signature: str


@dataclass(frozen=True, slots=True)
class PowerAnswer:
    """The answer to a question about power. Everything but `runtime` is a function of the request."""

    record: PowerRecord
    runtime: Runtime
    versions: Versions
    signature: str


@dataclass(frozen=True, slots=True)
class PlanAnswer:
    """What a test would do and cost, and what the alternatives would."""

    kind: TestKind
    record: PlanRecord
    versions: Versions


@dataclass(frozen=True, slots=True)
class ComparePlanAnswer:
    """What a comparison would do and cost."""

    kind: Literal["compare"]
    record: ComparePlanRecord
    versions: Versions


@dataclass(frozen=True, slots=True)
class Mass:
    """The probability of one bin of the null distribution."""

    value: float
    probability: float


@dataclass(frozen=True, slots=True)
class Form:
    """A field that JSON has in another form than its record: under another name, or as another type."""

    name: str
    type: Any
    write: Callable[[Any], Any]


def decimal(number: int) -> str:
    """An integer of any length in decimal. Python's own conversion is quadratic, and refuses long ones."""
    return str(number) if number.bit_length() < SHORT_BITS else str(fmpz(number).str())


def bounded(cost: float) -> float:
    """A cost that JSON can hold: exact while small, a double after that, never infinite."""
    if cost <= LARGEST_EXACT:
        return cost
    return float(cost) if cost < LARGEST_COST else LARGEST_COST


def _masses(pmf: tuple[tuple[float, float], ...] | None) -> list[dict[str, float]] | None:
    return None if pmf is None else [{"value": value, "probability": p} for value, p in pmf]


def _quantiles(quantiles: tuple[tuple[str, float], ...] | None) -> dict[str, float] | None:
    return None if quantiles is None else dict(quantiles)


TestId = Annotated[str, {"pattern": "^t_[0-9a-f]{16}$"}, "From the canonical request and the algorithm."]
CompareId = Annotated[str, {"pattern": "^c_[0-9a-f]{16}$"}, "From the canonical request and the algorithm."]
PowerId = Annotated[str, {"pattern": "^w_[0-9a-f]{16}$"}, "From the canonical request and the algorithm."]
GateId = Annotated[str, {"pattern": "^g_[0-9a-f]{16}$"}]
Decimal = Annotated[str, {"pattern": r"^\d+$"}, "In decimal, as a string: it may have any length."]
COSTS = ("operations", "bytes", "seconds")
PLANS = (PlannedMethod, PlanRecord)
FORMS: dict[tuple[type, str], Form] = {
    (TestRecord, "digest"): Form("id", TestId, lambda digest: f"t_{digest[:16]}"),
    (GateRecord, "digest"): Form("id", GateId, lambda digest: f"g_{digest[:16]}"),
    (PowerRecord, "digest"): Form("id", PowerId, lambda digest: f"w_{digest[:16]}"),
    (CompareRecord, "digest"): Form("id", CompareId, lambda digest: f"c_{digest[:16]}"),
    (ReadingRecord, "facts"): Form("notes", tuple[str, ...], sentences),
    (Fraction2, "numerator"): Form("numerator", Decimal, decimal),
    (NullRecord, "quantiles"): Form("quantiles", dict[str, float] | None, _quantiles),
    (NullRecord, "pmf"): Form("pmf", tuple[Mass, ...] | None, _masses),
    **{(record, name): Form(name, float, bounded) for record in PLANS for name in COSTS},
    **{
        (record, "seconds"): Form("seconds", float, bounded)
        for record in (BoardPlanRecord, ComparePlanRecord)
    },
    **{(record, "method"): Form("method", Method, str) for record in PLANS},
}
# Records whose fields become members of the object around them.
INLINE: frozenset[tuple[type, str]] = frozenset(
    {
        (TestAnswer, "record"),
        (TestRecord, "sequential"),
        (GateAnswer, "record"),
        (PowerAnswer, "record"),
        (CompareAnswer, "record"),
        (CompareRecord, "board"),
        (PlanAnswer, "record"),
        (ComparePlanAnswer, "record"),
        (GateRecord, "terms"),
        (GateRecord, "sequential"),
        (MetricRecord, "sequential"),
        (MetricRecord, "terms"),
    }
)
