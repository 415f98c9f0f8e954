"""One score or mean per item and system: differences of means and sums, the sign test, signed ranks."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from app.engine.lattice import Integers, exact_total
from app.errors import InvalidTest
from app.statistics.paired import Scores, StatisticSpec
from app.statistics.problem import Additive, clustered
from app.statistics.repeated import item_scores, samples_of, unit_of

ZERO_METHODS = ("wilcox", "pratt", "zsplit")


def reduce_scores(data: Scores, spec: StatisticSpec) -> Additive:
    """The additive test behind a statistic of paired scores."""
    unit, (u, v) = item_scores(data, unit_of(spec.parameters.get("unit")))
    if spec.name == "sign":
        return _sign(u, v, data)
    if spec.name == "signed_rank":
        return _signed_rank(u, v, data, str(spec.parameters.get("zero_method") or "wilcox"))
    divisor = len(u) if spec.name == "mean_difference" else 1
    return Additive(
        name=spec.name,
        stay=clustered(u - v, data.pairing),
        swap=None,
        unit=unit / divisor,
        items=len(u),
        clusters=data.pairing.n_clusters,
        score_u=exact_total(u) * unit / divisor,
        score_v=exact_total(v) * unit / divisor,
        samples=samples_of(data),
        sizes=None if data.pairing.clusters is None else clustered(np.ones_like(u), data.pairing),
        shiftable=True,
    )


def _sign(u: Integers, v: Integers, data: Scores) -> Additive:
    """Wins minus losses of U: the sign test, and McNemar's exact test for 0/1 scores."""
    signs = (u > v).astype(np.int64) - (u < v)
    return Additive(
        name="sign",
        stay=clustered(signs, data.pairing),
        swap=None,
        unit=Fraction(1),
        items=len(u),
        clusters=data.pairing.n_clusters,
        score_u=Fraction(int((signs > 0).sum())),
        score_v=Fraction(int((signs < 0).sum())),
        samples=samples_of(data),
    )


def _signed_rank(u: Integers, v: Integers, data: Scores, zero_method: str) -> Additive:
    """W+ - W- of Wilcoxon's signed ranks, midranks doubled to stay integers; exact with ties and zeros.

    `zero_method` has SciPy's meaning: `wilcox` leaves zero differences out of the ranking, `pratt` ranks
    them and drops their ranks, `zsplit` splits their ranks between both sides.
    """
    if zero_method not in ZERO_METHODS:
        raise InvalidTest.at(
            "/statistic/zero_method",
            "unknown_zero_method",
            f"zero_method must be one of: {', '.join(ZERO_METHODS)}.",
        )
    difference = u - v
    ranked = difference != 0 if zero_method == "wilcox" else np.ones(len(u), dtype=bool)
    doubled = np.zeros(len(u), dtype=np.int64)
    doubled[ranked] = doubled_midranks(np.abs(difference[ranked]))
    signed = np.sign(difference) * doubled
    split = int(doubled[difference == 0].sum()) if zero_method == "zsplit" else 0
    return Additive(
        name="signed_rank",
        stay=clustered(signed, data.pairing),
        swap=None,
        unit=Fraction(1, 2),
        items=len(u),
        clusters=data.pairing.n_clusters,
        score_u=Fraction(2 * int(signed[signed > 0].sum()) + split, 4),
        score_v=Fraction(-2 * int(signed[signed < 0].sum()) + split, 4),
        samples=samples_of(data),
    )


def doubled_midranks(values: Integers) -> Integers:
    """Twice the average ranks (1-based) of `values`, ties sharing theirs; shape (N,)."""
    _, where, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return np.asarray((2 * last - counts + 1)[where], dtype=np.int64)
