"""The parts of a test's record: its null distribution, the statistic, the items, on which units U won or lost, and by how much."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import cast

import numpy as np

from ..answers.test import Discordant, EffectSize, ItemsRecord, Mass, Moved, NullRecord, StatisticRecord
from ..engine.finite_laws.form import FiniteLaws
from ..engine.finite_laws.methods import (
    fft_cost,
    is_dense,
    law as law_of_laws,
    masses_operations,
    rounded,
    window_length,
)
from ..engine.lattice import EXACT_DOUBLE, MAX_TOTAL, CanonicalForm, Integers, Reals, Whole
from ..engine.one_sum.enumeration import subset_sums
from ..engine.one_sum.summary import (
    FEW,
    MAX_BINS,
    STEPS_PER_SD,
    Law,
    binned,
    law_of_sum,
    points_listed,
    predicted_nanoseconds,
    spacing_of,
    trimmed,
)
from ..engine.paired_proportions import clopper_pearson
from ..engine.probability import SMALLEST, Alternative
from ..errors import InvalidTest
from ..statistics.columns import per_item, scores_by_item
from ..statistics.effects import Additive, Joint, clustered
from ..statistics.paired import Column, Effects, Paired, Pairing, Repeated, Scores, StatisticSpec
from ..statistics.pairwise.correlation import Correlation
from ..statistics.reducers import Problem
from ..statistics.runs import Runs
from ..statistics.scores import PairedBinary, Quantiles, paired_binary, quantile_signs
from ..statistics.sum_function import values_of
from .options import PmfDetail
from .warnings import ULPS

# The null distribution of the statistic, summarised in the statistic's own units


QUANTILES = (0.005, 0.025, 0.05, 0.25, 0.5, 0.75, 0.95, 0.975, 0.995)
_NAMES = tuple(map(str, QUANTILES))
MAX_FULL_PMF = 200_000
# Windows of finite laws that are longer are drawn from rounded laws, in about this time.
_MOST_SHOWN, _ROUNDED_S = 1 << 20, 0.05
# Windows of rounded laws that are longer still: hundreds of standard deviations.
_MOST_SHOWN_ROUNDED = 1 << 21
# A full null distribution is listed at about this rate.
_SECONDS_PER_MASS = 2e-6
# Slower pictures are drawn from weights rounded to 1/2048 of a standard deviation.
MAX_PICTURE_NANOSECONDS = 50_000_000


def null_seconds(form: CanonicalForm, detail: PmfDetail) -> float:
    """Predicted time of `null_record`."""
    if detail == "none":
        return 0.0
    listed = (points_listed(form) or 0) * _SECONDS_PER_MASS if detail == "full" else 0.0
    return listed + min(predicted_nanoseconds(form), MAX_PICTURE_NANOSECONDS) * 1e-9


def require_listable(form: CanonicalForm) -> None:
    """Refuse a full null distribution with too many values; raises InvalidTest at /pmf."""
    if points_listed(form) is None:
        raise _too_many()


def _too_many() -> InvalidTest:
    return InvalidTest.at(
        "/pmf",
        "pmf_too_large",
        f"The full null distribution has more than {MAX_FULL_PMF} points: set `pmf=summary`.",
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
    # Which sums next to zero can be reached is read off the law, in which what has no mass may have noise.
    certain = not (absolute and crosses and form.nonzero > FEW)
    if detail == "none" or law is None:
        return NullRecord(mean, sd, times(low, unit), times(high, unit), None, None, None, certain)
    spacing = spacing_of(form, law, absolute=absolute)
    ends = times(low, unit), times(high, unit)
    quantiles, pmf, width = _pictured(law, spacing, unit, detail, symmetric=not absolute)
    return NullRecord(mean, sd, *ends, quantiles, pmf, width, certain)


def null_of_laws(form: FiniteLaws, unit: Fraction, detail: PmfDetail) -> NullRecord:
    """The same of t = unit * S, S a sum of finite laws; no quantiles and masses where nearly all ways are within a tiny part of its range."""
    low, high = form.offset, form.offset + form.step * form.range
    mean = float(unit * (form.offset + form.step * form.mean))
    sd = times_double(form.step * math.sqrt(form.variance), unit)
    ends = times(low, unit), times(high, unit)
    if detail == "none":
        return NullRecord(mean, sd, *ends, None, None, None)
    if window_length(form) > _MOST_SHOWN:
        form = rounded(form, STEPS_PER_SD).form
        if window_length(form) > _MOST_SHOWN_ROUNDED:
            return NullRecord(mean, sd, *ends, None, None, None)
    if abs(form.offset) + form.step * form.range >= MAX_TOTAL:
        # For the picture, of rounded laws: within half a step.
        unit, form = unit * form.step, replace(form, offset=round(Fraction(form.offset, form.step)), step=1)
    law = law_of_laws(form)
    symmetric = form.reflected.laws == form.laws and len(law.values) * law.width == form.range + 1
    if symmetric:
        law = law.mirrored()
    spacing = form.step * law.width
    law = Law(form.offset + form.step * law.values, law.masses, form.step * (law.width - 1) + 1)
    quantiles, pmf, width = _pictured(law, spacing, unit, detail, symmetric=symmetric)
    return NullRecord(mean, sd, *ends, quantiles, pmf, width)


def laws_seconds(form: FiniteLaws, detail: PmfDetail) -> float:
    """Predicted time of `null_of_laws`; refuses a full null distribution with too many values."""
    if detail == "none" or form.range == 0:
        return 0.0
    points = window_length(form)
    if detail == "full" and points > MAX_FULL_PMF:
        raise _too_many()
    if points > _MOST_SHOWN:
        return _ROUNDED_S
    listed = 1e-9 * masses_operations(form) if is_dense(form) else 0.5 * fft_cost(form).seconds
    return listed + (points * _SECONDS_PER_MASS if detail == "full" else 0.0)


def _pictured(
    law: Law, spacing: int, unit: Fraction, detail: PmfDetail, *, symmetric: bool
) -> tuple[dict[str, float], tuple[Mass, ...], float]:
    """Quantiles, probabilities and the width of their bins, of a law of S."""
    doubled, top, below = law.doubled_quantiles(QUANTILES), unit.numerator, 2 * unit.denominator
    if detail == "full":
        if law.width > 1 or len(law.values) > MAX_FULL_PMF:
            raise _too_many()
        listed, width = law.masses > 0.0, spacing
        # Integers divide with one rounding.
        points = [value * top / unit.denominator for value in law.values[listed].tolist()]
        pmf = _masses(points, law.masses[listed])
    else:
        bins = binned(trimmed(law), spacing)
        # A value is the middle of its bin, twice of which is an integer.
        values = _divided(2 * bins.first + bins.width - spacing + law.width - 1, top, below)
        # Added from the left, the masses of a bin round otherwise than those of its mirror image.
        pmf = _masses(values, (bins.masses + bins.masses[::-1]) / 2.0 if symmetric else bins.masses)
        width = bins.width
    quantiles = {name: twice * top / below for name, twice in zip(_NAMES, doubled, strict=True)}
    return quantiles, pmf, times(width, unit)


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

    `min` and `max` are those of the values with mass, as nothing else is known without a lattice. `symmetric` says that it is known to be
    symmetric about zero, whatever was sampled or rounded.
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
    """The record with a range that includes the observed value, which sampled swaps may lack."""
    low, high = (-abs(observed), abs(observed)) if symmetric else (observed, observed)
    if null.min <= low and high <= null.max:
        return null
    return replace(null, min=min(null.min, low), max=max(null.max, high))


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


# Effect sizes: Cohen's d_z, Cliff's delta, the odds of a discordant item


def effect_size(
    data: Paired,
    spec: StatisticSpec,
    problem: Problem | Runs,
    scores: tuple[Whole, Whole] | None,
    level: Fraction,
    *,
    lower_is_better: bool = False,
) -> EffectSize:
    """The effect sizes that are defined for this data; `level` is that of the odds' interval.

    Only one system got an item right if its score, 0 or 1, is the better of the two.
    """
    if scores is not None:
        units = clustered(scores[0] - scores[1], data.pairing)
        d_z, delta = cohens_d_z(units, _dust(data, scores)), cliffs_delta(*scores)
    else:
        delta = None
        d_z = None
        # Effects of pairs depend on each other.
        if isinstance(problem, Additive) and not problem.pairwise:
            units = additive_differences(problem)
            d_z = cohens_d_z(units, _dust(data, [units]))
    seen = paired_binary(data, spec)
    if seen is not None and lower_is_better:
        seen = replace(seen, only_u=seen.only_v, only_v=seen.only_u)
    return EffectSize(d_z, delta, None if seen is None else discordant(seen, level))


def cohens_d_z(units: Whole, dust: int = 0) -> float | None:
    """Mean over standard deviation (ddof 1) of the units' differences, shape (M,); Lakens 2013, eq. 7.

    The ratio has no unit. None for a single unit, or where all differences are within `dust` of each other.
    """
    n = len(units)
    if n < 2 or int(units.max()) - int(units.min()) <= dust:
        return None
    # M times each difference less the mean: integers, so that a zero spread is exactly zero.
    total: int = sum(units.tolist())
    if n * int(np.abs(units).max()) > MAX_TOTAL // 2:
        units = units.astype(object)
    centred = n * units - total
    largest = int(np.abs(centred).max())
    shares = (centred / largest).astype(np.float64)
    variance = math.fsum((shares * shares).tolist()) / (n - 1)
    return total / largest / math.sqrt(variance)


def _dust(data: Paired, sizes: Sequence[Whole]) -> int:
    """How far apart rounding alone may leave sums of fractions as large as `sizes`, which are in lattice units."""
    columns = _columns(data)
    if all(_is_whole(column) for column in columns):
        return 0
    largest = max(int(np.abs(each).max(initial=0)) for each in sizes)
    clusters = data.pairing.clusters
    together = 1 if clusters is None else int(np.bincount(clusters).max())
    return largest * together * ULPS >> sys.float_info.mant_dig - 1


def _columns(data: Paired) -> list[Column]:
    """The numbers that may have dust."""
    if isinstance(data, Scores):
        return [side.values if isinstance(side, Repeated) else side for side in (data.u, data.v)]
    if isinstance(data, Effects):
        return [data.stay] if data.swap is None else [data.stay, data.swap]
    return []


def _is_whole(column: Column) -> bool:
    """Whether these are whole numbers, which have no dust."""
    return column.dtype == np.int64 or bool((column == np.rint(column)).all())


def cliffs_delta(u: Whole, v: Whole) -> float:
    """P(u > v) - P(u < v) over all N**2 pairs of items, exactly counted; Cliff 1993, *Psychological Bulletin* 114."""
    ordered, queries = np.sort(v), np.sort(u)  # bisection is quicker in order
    below = int(np.searchsorted(ordered, queries, side="left").sum())
    not_above = int(np.searchsorted(ordered, queries, side="right").sum())
    pairs = len(u) * len(v)
    return (below - (pairs - not_above)) / pairs


def discordant(seen: PairedBinary, level: Fraction) -> Discordant | None:
    """The odds that an item that only one system got right was U's; None if there is no such item.

    b / c for b and c such items, an interval through Clopper & Pearson's of b / (b + c).
    """
    b, c = seen.only_u, seen.only_v
    if b + c == 0:
        return None
    low, high = clopper_pearson(b, b + c, float(level))
    odds_high = None if high >= 1.0 else high / (1.0 - high)
    return Discordant(b, c, b / c if c else None, low / (1.0 - low), odds_high)


# Values of a unit that are so much alike may differ by rounding alone: of the first of them it is decided exactly.
_NEARLY, _MOST_NEAR = 1e-12, 200
_BOTH: tuple[Alternative, ...] = ("greater", "less")


def statistic_record(problem: Problem | Runs, observed: float) -> StatisticRecord:
    """The observed value of the statistic, and each system's score where there are scores."""
    u, v = (None if score is None else float(score) for score in (problem.score_u, problem.score_v))
    return StatisticRecord(problem.name, observed, u, v)


def additive_items(problem: Additive, form: CanonicalForm) -> ItemsRecord:
    """Units whose effect is larger as observed than with the systems swapped, as large, or smaller."""
    return items_record(problem, problem.stay, problem.swap, form.nonzero)


def joint_items(problem: Joint) -> ItemsRecord:
    """Units whose own counts give the statistic more with the systems as observed, the same, or less."""
    stay = values_of(problem.function, list(problem.stay.T))
    swap = values_of(problem.function, list(problem.swap.T)).copy()
    near = (stay != swap) & (np.abs(stay - swap) <= _NEARLY * np.maximum(np.abs(stay), np.abs(swap)))
    for at in np.flatnonzero(near)[:_MOST_NEAR].tolist():
        one, other = list(problem.stay[at][:, None]), problem.swap[at]
        if all(problem.function.extreme(one, other, side).all() for side in _BOTH):
            swap[at] = stay[at]
    differ = int((problem.stay != problem.swap).any(axis=1).sum())
    return items_record(problem, stay, swap, differ)


def items_record(
    problem: Problem | Runs, stay: Whole | Reals, swap: Whole | Reals | None, nonzero: int | None = None
) -> ItemsRecord:
    """The record from each unit's two values, shape (M,) each; `swap` None means -stay.

    `nonzero` counts the units that a swap changes: those that win or lose unless it is given.
    """
    other = 0 if swap is None else swap
    wins, losses = int(np.count_nonzero(stay > other)), int(np.count_nonzero(stay < other))
    differ = wins + losses if nonzero is None else nonzero
    return ItemsRecord(problem.items, differ, problem.clusters, wins, len(stay) - wins - losses, losses)


MOST = 10


def item_scores_of(data: Paired, spec: StatisticSpec) -> tuple[Whole, Whole] | None:
    """One number per item and system, shape (N,) each, on a common lattice; None for data other than scores."""
    if not isinstance(data, Scores):
        return None
    data = per_item(data, spec)
    u, v = scores_by_item(data, spec).columns
    return u, v


def differences_of(problem: Problem | Runs) -> Whole | Reals:
    """The statistic of every unit by itself less that with the systems swapped, shape (M,).

    For a joint statistic that is its value at the unit's own counts, twice, for a quantile its sign there, and for a rank
    correlation its part of the numerator's: it ranks, and says no more.
    """
    if isinstance(problem, Additive):
        return additive_differences(problem)
    if isinstance(problem, Runs):
        return problem.ahead
    if isinstance(problem, Quantiles):
        return quantile_signs(problem)
    if isinstance(problem, Correlation):
        return problem.by_unit
    stay = values_of(problem.function, list(problem.stay.T))
    swap = values_of(problem.function, list(problem.swap.T))
    difference = stay - swap
    return np.where(np.isfinite(difference), difference, 0.0)


def additive_differences(problem: Additive) -> Whole:
    """The same of a sum of effects: whole numbers, shape (M,)."""
    if problem.rounding is not None and problem.rounding.exact is not None:
        stay, *swapped = problem.rounding.exact
        return np.asarray(stay - swapped[0] if swapped else 2 * stay, dtype=object)
    return 2 * problem.stay if problem.swap is None else problem.stay - problem.swap


def most_moved(differences: Whole | Reals, pairing: Pairing, *, lower_is_better: bool = False) -> Moved:
    """The ten largest of `differences`, shape (N,), by size, then in their order; zeros are left out.

    An item moved toward the system that it favours: the one with more, or with less if lower is better.
    """
    sizes = np.abs(differences)
    order = _largest(sizes, min(MOST, int(np.count_nonzero(sizes))))
    names = [str(index) if pairing.ids is None else str(pairing.ids[index]) for index in order]
    upwards = [bool(differences[index] > 0) != lower_is_better for index in order]
    return Moved(
        toward_u=tuple(name for name, up in zip(names, upwards, strict=True) if up),
        toward_v=tuple(name for name, up in zip(names, upwards, strict=True) if not up),
    )


def _largest(sizes: Whole | Reals, most: int) -> list[int]:
    """Where the largest are, largest first, the first ones of equal size first."""
    if most == 0:
        return []
    least = np.partition(sizes, len(sizes) - most)[len(sizes) - most]
    above = np.flatnonzero(sizes > least)
    above = above[np.argsort(-sizes[above], kind="stable")]
    level = np.flatnonzero(sizes == least)[: most - len(above)]
    return [*above.tolist(), *level.tolist()]
