"""Numbers that an axis can hold: a statistic of 1e308 or 1e-320 is drawn in units of a power of ten."""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Decimal

from ...inference.record import TestRecord

LARGEST_EXPONENT = 100


def scaled(record: TestRecord) -> tuple[TestRecord, int]:
    """The record with its values over 10**exponent, and the exponent: zero except for extreme magnitudes.

    Moments that have left the range of doubles are taken from the probabilities again, or are zero where there
    are none.
    """
    null, observed = record.null, record.statistic.observed
    largest = max(abs(null.min), abs(null.max)) or abs(observed)
    exponent = math.floor(math.log10(largest)) if largest > 0.0 else 0
    if abs(exponent) <= LARGEST_EXPONENT:
        return record, 0

    def over(value: float) -> float:
        return float(Decimal(value).scaleb(-exponent))

    pmf = None if null.pmf is None else tuple((over(value), mass) for value, mass in null.pmf)
    mean, sd = _moments(pmf) if pmf else (over(null.mean), over(null.sd))
    small = replace(
        null,
        mean=mean if math.isfinite(mean) else 0.0,
        sd=sd if math.isfinite(sd) else 0.0,
        min=over(null.min),
        max=over(null.max),
        pmf=pmf,
        pmf_bin_width=None if null.pmf_bin_width is None else over(null.pmf_bin_width),
    )
    lattice = record.method.lattice
    method = replace(record.method, lattice=lattice and replace(lattice, unit=over(lattice.unit)))
    statistic = replace(record.statistic, observed=over(observed))
    return replace(record, null=small, method=method, statistic=statistic), exponent


def _moments(pmf: tuple[tuple[float, float], ...]) -> tuple[float, float]:
    total = math.fsum(mass for _, mass in pmf) or 1.0
    mean = math.fsum(value * mass for value, mass in pmf) / total
    variance = math.fsum((value - mean) ** 2 * mass for value, mass in pmf) / total
    return mean, math.sqrt(variance)
