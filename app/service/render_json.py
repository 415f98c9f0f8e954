"""A test record becomes the HTTP answer: one function for JSON, and the same record for the reports."""

from __future__ import annotations

from typing import Any

from flint import fmpz

from .. import __version__
from ..inference.paired_test import ALGORITHM_VERSION
from ..inference.record import EffectSize, MethodRecord, PlanAlternative, PlanRecord, TestRecord, members
from ..inputs.formats.reader import Reading
from ..statistics.paired import Pairing

LARGEST_EXACT = 2**53
SHORT_BITS = 10_000
LARGEST_SAID = 1e300


def versions() -> dict[str, str]:
    """The program's version, and that of what decides the bytes of an answer."""
    return {"service": __version__, "algorithm": ALGORITHM_VERSION}


def answer_id(record: TestRecord) -> str:
    """Equal for equal requests under the same algorithm version."""
    return "t_" + record.digest[:16]


def signature(record: TestRecord) -> str:
    """What was done, in the one line that a paper's appendix can carry."""
    parts = (
        "exactperm",
        f"alg:{ALGORITHM_VERSION}",
        record.test,
        record.statistic.name,
        record.alternative,
        record.method.name,
        f"n:{record.items.n}",
        f"sha:{record.digest[:8]}",
    )
    return "|".join(parts)


def answer(
    record: TestRecord, pairing: Pairing, runtime: dict[str, float], reading: Reading | None = None
) -> dict[str, Any]:
    """Every field of the contract's answer, in its order; `reading` is there for files."""
    return {
        **said_of(record, pairing, reading),
        "runtime": runtime,
        "versions": versions(),
        "signature": signature(record),
    }


def said_of(record: TestRecord, pairing: Pairing, reading: Reading | None) -> dict[str, Any]:
    """What is a function of the request alone."""
    fraction = record.p_value_fraction
    return {
        "id": answer_id(record),
        "p_value": record.p_value,
        "log10_p_value": record.log10_p_value,
        "p_value_bounds": list(record.p_value_bounds),
        "p_value_bounds_kind": record.p_value_bounds_kind,
        "p_value_fraction": None
        if fraction is None
        else {"numerator": decimal(fraction.numerator), "log2_denominator": fraction.log2_denominator},
        "significant": record.significant,
        "alpha": record.alpha,
        "min_attainable_p": record.min_attainable_p,
        "alternative": record.alternative,
        "test": record.test,
        "names": {"u": record.name_u, "v": record.name_v},
        "statistic": members(record.statistic),
        "items": members(record.items),
        "pairing": None
        if pairing.matched is None
        else {"matched": pairing.matched, "only_u": pairing.only_u, "only_v": pairing.only_v},
        "item_level": None if record.item_level is None else members(record.item_level),
        "method": _method(record.method),
        "null": null(record),
        "confidence_interval": None
        if record.confidence_interval is None
        else members(record.confidence_interval),
        "effect_size": None if record.effect_size is None else _effect_size(record.effect_size),
        "moved": None
        if record.moved is None
        else {"toward_u": list(record.moved.toward_u), "toward_v": list(record.moved.toward_v)},
        "reading": None
        if reading is None
        else {"format": reading.format, "guessed": reading.guessed, "notes": list(reading.notes)},
        "warnings": [members(caution) for caution in record.warnings],
    }


def _method(method: MethodRecord) -> dict[str, Any]:
    lattice, sampled = method.lattice, method.monte_carlo
    return {
        **members(method),
        "lattice": None if lattice is None else members(lattice),
        "monte_carlo": None if sampled is None else members(sampled),
    }


def _effect_size(sizes: EffectSize) -> dict[str, Any]:
    discordant = sizes.discordant
    return {**members(sizes), "discordant": None if discordant is None else members(discordant)}


def null(record: TestRecord) -> dict[str, Any]:
    """The null distribution; quantiles as an object, masses as objects."""
    said = record.null
    return {
        "mean": said.mean,
        "sd": said.sd,
        "min": said.min,
        "max": said.max,
        "quantiles": None if said.quantiles is None else dict(said.quantiles),
        "pmf": None if said.pmf is None else [{"value": value, "probability": p} for value, p in said.pmf],
        "pmf_bin_width": said.pmf_bin_width,
    }


def decimal(number: int) -> str:
    """An integer of any length in decimal. Python's own conversion is quadratic, and refuses long ones."""
    return str(number) if number.bit_length() < SHORT_BITS else str(fmpz(number).str())


def plan_answer(kind: str, plan: PlanRecord) -> dict[str, Any]:
    """The plan of a test; costs too large for a double are said to be very large."""
    return {
        "kind": kind,
        **_cost(plan),
        "alternatives": [_cost(alternative) for alternative in plan.alternatives],
        "versions": versions(),
    }


def _cost(plan: PlanRecord | PlanAlternative) -> dict[str, Any]:
    return {
        "method": plan.method,
        "exact": plan.exact,
        "operations": _bounded(plan.operations),
        "bytes": _bounded(plan.bytes),
        "seconds": _bounded(plan.seconds),
        "reason": plan.reason,
    }


def _bounded(cost: float) -> float:
    """A cost as JSON can say it: exact while small, a double after that, never infinite."""
    if cost <= LARGEST_EXACT:
        return cost
    return float(cost) if cost < LARGEST_SAID else LARGEST_SAID
