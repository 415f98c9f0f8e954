"""Differences of medians and quantiles of one score per item."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from ..engine.lattice import Integers, Whole
from ..errors import InvalidTest
from .additive_problem import require_same_length
from .paired import Scores, StatisticSpec
from .repeats import item_scores, per_item, samples_of, unit_of
from .weights import require_unweighted


@dataclass(frozen=True, slots=True)
class Quantiles:
    """t = Q(U) - Q(V), Q = (1 - share) x_(place) + share x_(place + 1), the items of a cluster swapped together.

    `u` and `v`, shape (N,), are in `unit`; `place` counts from 1; `codes`, shape (N,), are clusters, None where every item
    swaps by itself. `samples` as in `Additive`.
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
    """The test behind `median_difference` and `quantile_difference`; raises InvalidTest."""
    if data.weights is not None:
        require_unweighted(spec.name)
    q = Fraction(1, 2) if spec.name == "median_difference" else _q_of(spec.parameters)
    interpolation = str(spec.parameters.get("interpolation") or "linear")
    data = per_item(data, spec)
    lattice = item_scores(data, unit_of(spec.parameters.get("unit")), exactly=True)
    if lattice.error:
        detail = "The means of so many repeated samples cannot be ordered exactly: give one score per item."
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
    """q as it was written: 0.95 is 19/20 here."""
    given = parameters.get("q")
    if given is None:
        detail = "The statistic quantile_difference needs the parameter q, such as 0.95."
        raise InvalidTest.at("/statistic/q", "missing", detail)
    if isinstance(given, bool) or not isinstance(given, int | float) or not 0.0 <= given <= 1.0:
        raise InvalidTest.at("/statistic/q", "out_of_range", "q must be a number from 0 to 1.")
    return Fraction(repr(given))


def place_of(q: Fraction, count: int, interpolation: str) -> tuple[int, Fraction]:
    """(place, share) of the q-th quantile of `count` values, as `numpy.quantile` has them, q taken as a fraction.

    inverted_cdf is the ceil(count q)-th smallest value; linear lies (count - 1) q steps above the smallest (Hyndman & Fan
    1996, *The American Statistician* 50, definitions 1 and 7).
    """
    if interpolation == "inverted_cdf":
        return max(math.ceil(count * q), 1), Fraction(0)
    above = (count - 1) * q
    return math.floor(above) + 1, above - math.floor(above)


def quantile(values: Whole, place: int, share: Fraction) -> Fraction:
    """The quantile of integers, shape (N,)."""
    ordered = np.sort(values)
    low = int(ordered[place - 1])
    return low + share * (int(ordered[place]) - low) if share else Fraction(low)


def own_differences(problem: Quantiles) -> Integers:
    """The sign of each unit's own quantile of u less that of v, shape (M,)."""
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
    """The test of the hypothesis that the difference is `difference`: U's values less it, as quantiles shift with all values.

    The shift model is that of `shift.shifted`.
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
