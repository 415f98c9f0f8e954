"""Statistics of one score or mean per item: differences of means, sums, medians and quantiles, signs, signed ranks."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from ..engine.lattice import MAX_TOTAL, Integers, Reals, Whole, exact_total
from ..errors import InvalidTest
from .columns import per_item, samples_of, scores_by_item
from .effects import (
    MAX_SHARES,
    Additive,
    Lattice,
    Rounding,
    clustered,
    effects_on,
    require_same_length,
    require_unweighted,
    single_items,
    times,
)
from .labels import items_right
from .paired import Column, Paired, Predictions, Repeated, Scores, StatisticSpec
from .runs import by_runs

# The possible scores of a right item; a wrong one scores 0.
_RIGHT = (1, 100)


def reduce_scores(data: Scores, spec: StatisticSpec) -> Additive:
    """Return the additive test behind a statistic of paired scores."""
    data = per_item(by_runs(data, spec) if "average" in spec.parameters else data, spec)
    ranked = spec.name in {"sign", "signed_rank"}
    lattice = scores_by_item(data, spec, exactly=ranked)
    u, v = lattice.columns
    if ranked and data.weights is not None:
        require_unweighted(spec.name)
    if ranked and lattice.error:
        detail = "The means of this many repeated samples cannot be ranked exactly: give one score per item."
        raise InvalidTest.at("/u", "not_ranked", detail)
    if not ranked:
        return _difference(lattice, data, spec)
    if spec.name == "sign":
        signed, unit, split = (u > v).astype(np.int64) - (u < v), Fraction(1), 0
    else:
        signed, split = signed_ranks(u - v, str(spec.parameters.get("zero_method") or "wilcox"))
        unit = Fraction(1, 2)
    # The part split between both sides is doubled like the ranks.
    won, lost = (int(signed[side].sum()) for side in (signed > 0, signed < 0))
    return Additive(
        name=spec.name,
        stay=clustered(signed, data.pairing),
        swap=None,
        unit=unit,
        items=len(u),
        clusters=data.pairing.n_clusters,
        score_u=unit * (won + Fraction(split, 2)),
        score_v=unit * (-lost + Fraction(split, 2)),
        samples=samples_of(data),
    )


def _difference(lattice: Lattice, data: Scores, spec: StatisticSpec) -> Additive:
    """Return the difference of means or sums, weighted or not, of scores with one number per item on a lattice."""
    (u, v), weights, pairing = lattice.columns, data.weights, data.pairing
    mean, sizes = spec.name == "mean_difference", None
    if weights is None:
        base = lattice.unit / (len(u) if mean else 1)
        sums, effects = (u, v), u - v
        if pairing.clusters is not None:
            sizes = clustered(np.ones(len(u), dtype=np.int64), pairing)
        most = 1 if sizes is None else int(sizes.max(initial=1))
    else:
        require_same_length(len(weights), len(u), "/weights", ("weights", "u"))
        base = lattice.unit / exact_total(weights.values) if mean else lattice.unit * weights.unit
        sums, effects = (times(weights.values, u), times(weights.values, v)), times(weights.values, u - v)
        shares = clustered(weights.values, pairing)
        sizes = np.asarray(shares, dtype=np.int64) if exact_total(shares) < MAX_SHARES else None
        most = max(shares.tolist(), default=1)
    # Each of the two columns has half the error of a difference.
    unit, (stay,), rounding = effects_on(base, clustered(effects, pairing), error=lattice.error * most)
    return Additive(
        name=spec.name,
        stay=stay,
        swap=None,
        unit=unit,
        items=len(u),
        clusters=pairing.n_clusters,
        score_u=exact_total(sums[0]) * base,
        score_v=exact_total(sums[1]) * base,
        samples=samples_of(data),
        sizes=sizes,
        shiftable=weights is None or sizes is not None,
        rounding=rounding,
        all_right=_all_right((u, v), lattice.unit, base)
        if weights is None and single_items(pairing)
        else None,
    )


def _all_right(columns: tuple[Whole, Whole], unit: Fraction, base: Fraction) -> Fraction | None:
    """Return `Additive.all_right` of single items scored 1 or 0, or 100 or 0; None for other scores."""
    most = max(int(column.max()) for column in columns) * unit.numerator
    if most and all(most != right * unit.denominator for right in _RIGHT):
        return None
    for right in _RIGHT:
        score = right / unit
        # Compare integers with an integer, because NumPy compares fractions one by one.
        steps = score.numerator if score.denominator == 1 else 0
        if all(bool(((column == 0) | (column == steps)).all()) for column in columns):
            return score * base * len(columns[0])
    return None


def signed_ranks(difference: Whole, zero_method: str) -> tuple[Integers, int]:
    """Return doubled, signed midranks of |difference|, shape (N,), and the part that `zsplit` splits in two.

    W+ - W- of Wilcoxon's signed ranks is half of their sum, exact with ties and zeros. `zero_method` has SciPy's meaning: `wilcox`
    leaves zero differences out of the ranking, `pratt` ranks them and drops their ranks, `zsplit` splits their ranks.
    """
    ranked = difference != 0 if zero_method == "wilcox" else np.ones(len(difference), dtype=bool)
    doubled = np.zeros(len(difference), dtype=np.int64)
    doubled[ranked] = doubled_midranks(np.abs(difference[ranked]))
    signed = ((difference > 0).astype(np.int64) - (difference < 0)) * doubled
    return signed, int(doubled[difference == 0].sum()) if zero_method == "zsplit" else 0


def doubled_midranks(values: Whole | Reals) -> Integers:
    """Return twice the average ranks (1-based) of `values`, equal for ties; shape (N,)."""
    _, where, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return np.asarray((2 * last - counts + 1)[where], dtype=np.int64)


# Right or wrong on every item: the counts of McNemar's, Tango's and Newcombe's methods


@dataclass(frozen=True, slots=True)
class PairedBinary:
    """The numbers of `items` on which only U, and only V, is right; on the rest both or neither are.

    `all_right` is the statistic if U were right on all of them and V on none: 1, or `items` for a sum.
    """

    items: int
    only_u: int
    only_v: int
    all_right: Fraction = Fraction(1)


def paired_binary(data: Paired, spec: StatisticSpec) -> PairedBinary | None:
    """Return the counts when every item is right or wrong; None for anything else, or with clusters."""
    if data.pairing.clusters is not None:
        return None
    if isinstance(data, Scores):
        data = per_item(data, spec)
        u, v = data.u, data.v
        if isinstance(u, Repeated) or isinstance(v, Repeated) or not (_is_binary(u) and _is_binary(v)):
            return None
        right_u, right_v = u == 1, v == 1
    elif isinstance(data, Predictions) and spec.name in {"accuracy", "exact_match"}:
        if spec.name == "accuracy" and any(isinstance(item, list | tuple) for item in data.gold):
            return None
        right_u, right_v = items_right(data.gold, data.u) == 1, items_right(data.gold, data.v) == 1
    else:
        return None
    return PairedBinary(len(right_u), int((right_u & ~right_v).sum()), int((right_v & ~right_u).sum()))


def binary_of(problem: Additive) -> PairedBinary | None:
    """Return the counts of an additive problem whose units are single items, right or wrong; None for any other."""
    if problem.all_right is None:
        return None
    stay = problem.stay
    return PairedBinary(len(stay), int((stay > 0).sum()), int((stay < 0).sum()), problem.all_right)


def _is_binary(column: Column) -> bool:
    return bool(((column == 0) | (column == 1)).all()) and np.asarray(column).ndim == 1


# Medians and quantiles


@dataclass(frozen=True, slots=True)
class Quantiles:
    """t = Q(U) - Q(V), Q = (1 - share) x_(place) + share x_(place + 1), the items of a cluster swapped together.

    `u` and `v`, shape (N,), are in `unit`; `place` counts from 1; `codes`, shape (N,), are clusters, None where every
    item swaps alone. `samples` as in `Additive`.
    """

    name: str
    u: Whole
    v: Whole
    unit: Fraction
    q: Fraction
    interpolation: str
    place: int
    share: Fraction
    score_u: Fraction
    score_v: Fraction
    codes: Integers | None = None
    clusters: int | None = None
    samples: tuple[int, int] | None = None

    @property
    def items(self) -> int:
        """N."""
        return len(self.u)


def reduce_quantiles(data: Scores, spec: StatisticSpec) -> Quantiles:
    """Return the test behind `median_difference` and `quantile_difference`; raises InvalidTest."""
    if data.weights is not None:
        require_unweighted(spec.name)
    q = Fraction(1, 2) if spec.name == "median_difference" else _q_of(spec.parameters)
    interpolation = str(spec.parameters.get("interpolation") or "linear")
    data = per_item(data, spec)
    lattice = scores_by_item(data, spec, exactly=True)
    if lattice.error:
        detail = "The means of this many repeated samples cannot be ordered exactly: give one score per item."
        raise InvalidTest.at("/u", "not_ranked", detail)
    u, v = lattice.columns
    codes = data.pairing.clusters
    if codes is not None:
        require_same_length(len(u), len(codes), "/clusters", ("The data", "clusters"))
    place, share = place_of(q, len(u), interpolation)
    return Quantiles(
        spec.name, u, v, lattice.unit, q, interpolation, place, share,
        quantile(u, place, share) * lattice.unit,
        quantile(v, place, share) * lattice.unit,
        codes, data.pairing.n_clusters, samples_of(data),
    )  # fmt: skip


def _q_of(parameters: Mapping[str, Any]) -> Fraction:
    """Read q as written: 0.95 is 19/20."""
    q = parameters.get("q")
    if q is None:
        detail = "The statistic quantile_difference needs the parameter q, such as 0.95."
        raise InvalidTest.at("/statistic/q", "missing", detail)
    if isinstance(q, bool) or not isinstance(q, int | float) or not 0.0 <= q <= 1.0:
        raise InvalidTest.at("/statistic/q", "out_of_range", "q must be a number from 0 to 1.")
    return Fraction(repr(q))


def place_of(q: Fraction, count: int, interpolation: str) -> tuple[int, Fraction]:
    """Return (place, share) of the q-th quantile of `count` values, as in `numpy.quantile`, with q as a fraction.

    inverted_cdf is the ceil(count q)-th smallest value; linear lies (count - 1) q steps above the smallest (Hyndman & Fan
    1996, *The American Statistician* 50, definitions 1 and 7).
    """
    if interpolation == "inverted_cdf":
        return max(math.ceil(count * q), 1), Fraction(0)
    above = (count - 1) * q
    return math.floor(above) + 1, above - math.floor(above)


def quantile(values: Whole, place: int, share: Fraction) -> Fraction:
    """Return the quantile of integers, shape (N,)."""
    ordered = np.sort(values)
    low = int(ordered[place - 1])
    return low + share * (int(ordered[place]) - low) if share else Fraction(low)


def quantile_signs(problem: Quantiles) -> Integers:
    """Return the sign of each unit's quantile of u less that of v, shape (M,)."""
    if problem.codes is None:
        return np.asarray((problem.u > problem.v).astype(np.int64) - (problem.u < problem.v))
    order = np.argsort(problem.codes, kind="stable")
    ends = np.cumsum(np.bincount(problem.codes, minlength=problem.clusters or 0))
    signs = []
    for at in np.split(order, ends[:-1]):
        place = place_of(problem.q, len(at), problem.interpolation)
        first, second = quantile(problem.u[at], *place), quantile(problem.v[at], *place)
        signs.append(int(first > second) - int(first < second))
    return np.array(signs, dtype=np.int64)


def shifted_quantiles(problem: Quantiles, difference: Fraction) -> Quantiles:
    """Return the test of the difference `difference`: U's values less it, as quantiles shift with all values.

    The shift model is that of `shifted`.
    """
    steps = Fraction(difference) / problem.unit
    u, v = (column.astype(object) * steps.denominator for column in (problem.u, problem.v))
    u = u - steps.numerator
    largest = max(abs(int(value)) for value in (*u, *v))
    kind = np.int64 if largest < 1 << 59 else object
    return replace(
        problem,
        u=u.astype(kind),
        v=v.astype(kind),
        unit=problem.unit / steps.denominator,
        score_u=problem.score_u - difference,
    )


# A hypothesised difference other than zero, subtracted from the units' effects in shares


class NotShiftableError(ValueError):
    """The statistic cannot be shifted: its effects are not differences of means or sums."""


def shifted(problem: Additive, difference: Fraction) -> Additive:
    """Return the test of the hypothesis that the statistic's true value is `difference`.

    Under the shift model U = V + constant, the effects less their shares of the constant are exchangeable in
    sign, so that the paired-permutation test of them is exact (Lehmann 1975, *Nonparametrics*, section 2.5 on
    the shift model; Tritchler 1984 inverts it). A unit of `sizes[i]` items has the share sizes[i] / sum(sizes).
    The lattice becomes finer by the denominator of the shift.

    Raises
    ------
        NotShiftableError: effects that are not symmetric (`swap` is given, or |S| is tested), or that are signs or
            ranks; or the finer lattice overflows 2**62.
    """
    if problem.swap is not None or problem.absolute or not problem.shiftable:
        raise NotShiftableError(f"{problem.name} has no shift")
    sizes = np.ones(len(problem.stay), dtype=np.int64) if problem.sizes is None else problem.sizes
    if problem.rounding is not None:
        return _shifted_exactly(problem, problem.rounding, sizes, Fraction(difference))
    step = Fraction(difference) / (problem.unit * exact_total(sizes))
    most = int(np.abs(problem.stay).max(initial=0)) * step.denominator + int(sizes.max()) * abs(
        step.numerator
    )
    if most * len(sizes) >= MAX_TOTAL:
        raise NotShiftableError("the shifted effects cannot be summed exactly")
    stay: Integers = problem.stay * step.denominator - sizes * step.numerator
    return replace(problem, stay=stay, unit=problem.unit / step.denominator)


def _shifted_exactly(
    problem: Additive, rounding: Rounding, sizes: Integers, difference: Fraction
) -> Additive:
    """Shift effects that outgrow 60 bits; the shifted ones may fit."""
    if rounding.exact is None:
        raise NotShiftableError("the shifted effects cannot be summed exactly")
    step = difference / (rounding.exact_unit * exact_total(sizes))
    wide = rounding.exact[0] * step.denominator - sizes.astype(object) * step.numerator
    unit, (stay,), left = effects_on(rounding.exact_unit / step.denominator, wide)
    return replace(problem, stay=stay, unit=unit, rounding=left)
