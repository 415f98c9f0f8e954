"""The null distribution of the statistic, summarised in the statistic's own units."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from typing import cast

import numpy as np

from ..answers.test import Mass, NullRecord
from ..engine.lattice import EXACT_DOUBLE, CanonicalForm, Integers, Reals
from ..engine.one_sum.enumeration import subset_sums
from ..engine.one_sum.summary import (
    FEW,
    MAX_BINS,
    Law,
    binned,
    law_of_sum,
    points_listed,
    predicted_nanoseconds,
    spacing_of,
    trimmed,
)
from ..engine.probability import SMALLEST
from ..errors import InvalidTest
from .options import PmfDetail

QUANTILES = (0.005, 0.025, 0.05, 0.25, 0.5, 0.75, 0.95, 0.975, 0.995)
_NAMES = tuple(map(str, QUANTILES))
MAX_FULL_PMF = 200_000
# A full null distribution is listed at about this rate.
_SECONDS_PER_MASS = 2e-6
# A picture that would take longer is drawn from weights rounded to 1/2048 of a standard deviation.
MAX_PICTURE_NANOSECONDS = 50_000_000


def null_seconds(form: CanonicalForm, detail: PmfDetail) -> float:
    """Predicted time of `null_record`."""
    if detail == "none":
        return 0.0
    listed = (points_listed(form) or 0) * _SECONDS_PER_MASS if detail == "full" else 0.0
    return listed + min(predicted_nanoseconds(form), MAX_PICTURE_NANOSECONDS) * 1e-9


def require_listable(form: CanonicalForm, detail: PmfDetail) -> None:
    """Refuse a full null distribution that has too many values to be listed; raises InvalidTest at /pmf."""
    if detail == "full" and points_listed(form) is None:
        raise _too_many()


def _too_many() -> InvalidTest:
    return InvalidTest.at(
        "/pmf",
        "pmf_too_large",
        f"The full null distribution has more than {MAX_FULL_PMF} points: ask for pmf 'summary'.",
    )


def null_record(form: CanonicalForm, unit: Fraction, detail: PmfDetail, *, absolute: bool) -> NullRecord:
    """Moments, range, quantiles and probabilities of t = unit * S, or of unit * |S|."""
    low, high = form.offset, form.offset + form.step * form.range
    mean = times(low + high, unit, 2)
    sd = times_double(form.step * math.sqrt(form.variance), unit)
    if detail == "none" and not absolute:
        return NullRecord(mean, sd, times(low, unit), times(high, unit), None, None, None)
    rounded = detail != "full" and predicted_nanoseconds(form) > MAX_PICTURE_NANOSECONDS
    law = law_of_sum(form, absolute=absolute, rounded=rounded, listed=detail == "full")
    if absolute:
        crosses = low <= 0 <= high
        low, high = (0 if crosses else min(abs(low), abs(high))), max(abs(low), abs(high))
        if law is not None:
            middle = law.mean()
            mean, sd = times_double(middle, unit), law.sd(middle) * float(unit)
            low = int(law.values[(law.masses > 0.0).argmax()])
        if crosses and form.nonzero <= FEW:
            low = int(
                np.abs(form.offset + form.step * subset_sums(np.repeat(form.weights, form.counts))).min()
            )
    moments = (mean, sd, times(low, unit), times(high, unit))
    # Which sums next to zero can be reached is read off the law, in which what has no mass may have noise.
    certain = not (absolute and crosses and form.nonzero > FEW)
    if detail == "none" or law is None:
        return NullRecord(*moments, None, None, None, certain)
    doubled = law.doubled_quantiles(QUANTILES)
    top, below = unit.numerator, 2 * unit.denominator
    quantiles = {name: twice * top / below for name, twice in zip(_NAMES, doubled, strict=True)}
    spacing = spacing_of(form, law, absolute=absolute)
    pmf, width = _pmf(law, spacing, unit, detail, symmetric=not absolute)
    return NullRecord(*moments, quantiles, pmf, width, certain)


def _pmf(
    law: Law, spacing: int, unit: Fraction, detail: PmfDetail, *, symmetric: bool
) -> tuple[tuple[Mass, ...], float]:
    """(value, probability) pairs and the width of a bin; a value is the middle of its bin."""
    top, bottom = unit.numerator, unit.denominator
    if detail == "full":
        if law.width > 1 or len(law.values) > MAX_FULL_PMF:
            raise _too_many()
        listed = law.masses > 0.0
        # Integers divide with one rounding.
        points = [value * top / bottom for value in law.values[listed].tolist()]
        return _masses(points, law.masses[listed]), times(spacing, unit)
    bins = binned(trimmed(law), spacing)
    # Twice the middle of a bin is an integer.
    beyond = bins.width - spacing + law.width - 1
    values = _divided(2 * bins.first + beyond, top, 2 * bottom)
    # Added from the left, the masses of a bin round otherwise than those of its mirror image.
    masses = (bins.masses + bins.masses[::-1]) / 2.0 if symmetric else bins.masses
    return _masses(values, masses), times(bins.width, unit)


def _masses(values: Iterable[float], probabilities: Reals) -> tuple[Mass, ...]:
    # Plain pairs, which are written as a Mass is: a hundred thousand named ones take as long as the rest of the answer.
    return cast("tuple[Mass, ...]", tuple(zip(values, probabilities.tolist(), strict=True)))


def _divided(numbers: Integers, top: int, bottom: int) -> list[float]:
    """numbers * top / bottom, ascending, each rounded once."""
    largest = max(-int(numbers[0]), int(numbers[-1]), 1)  # of zeros `top` alone says what fits
    if bottom < EXACT_DOUBLE and largest * top < EXACT_DOUBLE:
        quotients: list[float] = (numbers * top / bottom).tolist()  # of integers that doubles hold
        return quotients
    return [number * top / bottom for number in numbers.tolist()]


def times(number: int, unit: Fraction, divisor: int = 1) -> float:
    """number * unit / divisor, rounded once: integers divide like that, and a fraction would be reduced first."""
    return number * unit.numerator / (divisor * unit.denominator)


def times_double(number: float, unit: Fraction) -> float:
    """The same of a double; the unit alone may underflow."""
    top, bottom = number.as_integer_ratio()
    return times(top, unit, bottom)


def sampled_null_record(
    values: Reals, masses: Reals, detail: PmfDetail, *, symmetric: bool = False
) -> NullRecord:
    """The null of any statistic from its values and their probabilities (listed or sampled), shape (P,).

    `min` and `max` are those of the values that have mass, which is all there is to know without a lattice.
    `symmetric` says that it is known to be symmetric about zero, whatever was sampled or rounded.
    """
    total = float(masses.sum())
    mean = float((values * masses).sum()) / total
    centred = values - mean
    scale = float(np.abs(centred).max()) or 1.0  # squares of values near the largest double overflow
    sd = scale * math.sqrt(float((np.square(centred / scale) * masses).sum()) / total)
    low, high = float(values.min()), float(values.max())
    if symmetric:
        mean, high = 0.0, max(-low, high)
        low = -high
    if detail == "none":
        return NullRecord(mean, sd, low, high, None, None, None)
    order = np.argsort(values, kind="stable")
    cumulative = np.cumsum(masses[order]) / total
    levels = np.zeros(len(QUANTILES))
    for slack in (-1e-12, 1e-12):  # half way to the next value where one is just reached
        positions = np.minimum(np.searchsorted(cumulative, np.array(QUANTILES) + slack), len(values) - 1)
        levels += values[order[positions]] / 2.0
    if symmetric:
        levels = (levels - levels[::-1]) / 2.0
    quantiles = dict(zip(_NAMES, levels.tolist(), strict=True))
    pmf, width = _histogram(values, masses / total, (low, high), symmetric=symmetric)
    return NullRecord(mean, sd, low, high, quantiles, pmf, width)


def holding(null: NullRecord, observed: float, *, symmetric: bool) -> NullRecord:
    """The record with a range that holds what was observed, which the swaps that were looked at may not have."""
    values = (observed, -observed) if symmetric else (observed,)
    return replace(null, min=min(null.min, *values), max=max(null.max, *values))


def _histogram(
    values: Reals, masses: Reals, span: tuple[float, float], *, symmetric: bool
) -> tuple[tuple[Mass, ...], float]:
    """At most MAX_BINS bins of equal width; the middle of each with its probability."""
    low, high = span
    if high == low:
        return (Mass(low, 1.0),), 0.0
    half, centre = MAX_BINS // 2, low + (high - low) / 2.0
    # Of the least doubles a bin would have no width: their bins are as wide as doubles are apart.
    width = max((high - low) / (MAX_BINS - 1), SMALLEST)
    # Where the ends are neighbouring doubles the centre is one of them, and the other half a span too far from it.
    index = np.clip(np.rint((values - centre) / width).astype(np.int64) + half, 0, MAX_BINS - 1)
    binned_masses: Reals = np.bincount(index, weights=masses, minlength=MAX_BINS).astype(np.float64)
    if symmetric:
        binned_masses = (binned_masses + binned_masses[::-1]) / 2.0
    filled = np.flatnonzero(binned_masses > 0.0)
    centres = (centre + (filled - half) * width).tolist()
    return _masses(centres, binned_masses[filled]), width
