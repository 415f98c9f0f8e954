"""Records become the JSON answer. Every field of a record is written by its name; `FORMS` lists the few exceptions.

The OpenAPI schemas are derived from the same records and the same exceptions (`app.api.openapi.schemas`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cache
from typing import Annotated, Any, get_type_hints

from flint import fmpz

from .. import __version__
from ..inference.gate.record import GateRecord, MetricRecord
from ..inference.options import Method
from ..inference.paired_test import ALGORITHM_VERSION
from ..inference.record import Fraction2, NullRecord, PlannedMethod, PlanRecord, TestRecord
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
class PlanAnswer:
    """What a test would do and cost, and what the alternatives would."""

    kind: TestKind
    record: PlanRecord
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
GateId = Annotated[str, {"pattern": "^g_[0-9a-f]{16}$"}]
Decimal = Annotated[str, {"pattern": r"^\d+$"}, "In decimal, as a string: it may have any length."]
COSTS = ("operations", "bytes", "seconds")
PLANS = (PlannedMethod, PlanRecord)
FORMS: dict[tuple[type, str], Form] = {
    (TestRecord, "digest"): Form("id", TestId, lambda digest: f"t_{digest[:16]}"),
    (GateRecord, "digest"): Form("id", GateId, lambda digest: f"g_{digest[:16]}"),
    (Fraction2, "numerator"): Form("numerator", Decimal, decimal),
    (NullRecord, "quantiles"): Form("quantiles", dict[str, float] | None, _quantiles),
    (NullRecord, "pmf"): Form("pmf", tuple[Mass, ...] | None, _masses),
    **{(record, name): Form(name, float, bounded) for record in PLANS for name in COSTS},
    **{(record, "method"): Form("method", Method, str) for record in PLANS},
}
# Records whose fields become members of the object around them.
INLINE: frozenset[tuple[type, str]] = frozenset(
    {
        (TestAnswer, "record"),
        (GateAnswer, "record"),
        (PlanAnswer, "record"),
        (GateRecord, "terms"),
        (MetricRecord, "terms"),
    }
)


def json_types(record: type) -> dict[str, Any]:
    """The members of a record's JSON object in their order, with their annotated types."""
    types: dict[str, Any] = {}
    for name, kind in get_type_hints(record, include_extras=True).items():
        if (record, name) in INLINE:
            types |= json_types(kind)
        elif (record, name) in FORMS:
            types[FORMS[record, name].name] = FORMS[record, name].type
        else:
            types[name] = kind
    return types


@cache
def _fields(record: type) -> tuple[tuple[str, Form | None, bool], ...]:
    """Each field with its form, and whether it is inline."""
    names = [field.name for field in fields(record)]
    return tuple((name, FORMS.get((record, name)), (record, name) in INLINE) for name in names)


def as_json(value: Any) -> Any:
    """A value of a record as JSON types: records as objects, tuples as lists."""
    kind = type(value)
    if kind is tuple:
        return [as_json(item) for item in value]
    if not hasattr(kind, "__dataclass_fields__"):
        return value
    members: dict[str, Any] = {}
    for name, form, inline in _fields(kind):  # type: ignore[arg-type]  # a class is hashable
        member = getattr(value, name)
        if form is not None:
            members[form.name] = form.write(member)
        elif inline:
            members |= as_json(member)
        else:
            members[name] = as_json(member)
    return members


def versions() -> dict[str, str]:
    """The version of the program, and of the algorithms."""
    return dict(as_json(VERSIONS))


def answer_id(record: TestRecord | GateRecord) -> str:
    """Equal for equal requests under the same algorithm version."""
    return str(FORMS[type(record), "digest"].write(record.digest))


def signature(record: TestRecord | GateRecord) -> str:
    """What was done, in one line for a paper's appendix."""
    if isinstance(record, GateRecord):
        parts = ["gate", record.verdict, f"metrics:{len(record.metrics)}"]
    else:
        parts = [
            record.test,
            record.statistic.name,
            record.alternative,
            record.method.name,
            f"n:{record.items.n}",
        ]
    return "|".join(["exactperm", f"alg:{ALGORITHM_VERSION}", *parts, f"sha:{record.digest[:8]}"])


def render_test(record: TestRecord, runtime: Runtime) -> dict[str, Any]:
    """The JSON answer to a test."""
    return dict(as_json(TestAnswer(record, runtime, VERSIONS, signature(record))))


def render_gate(record: GateRecord, runtime: Runtime) -> dict[str, Any]:
    """The JSON answer of a gate."""
    return dict(as_json(GateAnswer(record, runtime, VERSIONS, signature(record))))


def render_plan(kind: TestKind, plan: PlanRecord) -> dict[str, Any]:
    """The JSON plan of a test."""
    return dict(as_json(PlanAnswer(kind, plan, VERSIONS)))
