"""One score or mean per item and system: differences of means and sums, the sign test, signed ranks."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from ..engine.lattice import Integers, Reals, Whole
from ..errors import InvalidTest
from .additive_problem import Additive, clustered, single_items
from .numbers import effects_on, total_of
from .paired import Scores, StatisticSpec
from .repeats import item_scores, per_item, samples_of, unit_of
from .weights import require_unweighted, weighted

# What a right item scores; a wrong one has 0.
_RIGHT = (Fraction(1), Fraction(100))


def reduce_scores(data: Scores, spec: StatisticSpec) -> Additive:
    """The additive test behind a statistic of paired scores."""
    data = per_item(data, spec)
    ranked = spec.name in {"sign", "signed_rank"}
    lattice = item_scores(data, unit_of(spec.parameters.get("unit")), exactly=ranked)
    u, v = lattice.columns
    if ranked and data.weights is not None:
        require_unweighted(spec.name)
    if ranked and lattice.error:
        detail = "The means of so many repeated samples cannot be ranked exactly: give one score per item."
        raise InvalidTest.at("/u", "not_ranked", detail)
    if spec.name == "sign":
        return _sign(u, v, data)
    if spec.name == "signed_rank":
        return _signed_rank(u, v, data, str(spec.parameters.get("zero_method") or "wilcox"))
    if data.weights is not None:
        return weighted(lattice, data, data.weights, spec)
    base = lattice.unit / (len(u) if spec.name == "mean_difference" else 1)
    sizes = None
    if data.pairing.clusters is not None:
        sizes = clustered(np.ones(len(u), dtype=np.int64), data.pairing)
    most = 1 if sizes is None else int(sizes.max(initial=1))
    # Two columns, each off by half of what a difference is.
    unit, (stay,), rounding = effects_on(base, clustered(u - v, data.pairing), error=lattice.error * most)
    return Additive(
        name=spec.name,
        stay=stay,
        swap=None,
        unit=unit,
        items=len(u),
        clusters=data.pairing.n_clusters,
        score_u=total_of(u) * base,
        score_v=total_of(v) * base,
        samples=samples_of(data),
        sizes=sizes,
        shiftable=True,
        rounding=rounding,
        all_right=_all_right((u, v), lattice.unit, base) if single_items(data.pairing) else None,
    )


def _all_right(columns: tuple[Whole, Whole], unit: Fraction, base: Fraction) -> Fraction | None:
    """`Additive.all_right` of single items scored 1 or 0, or 100 or 0; None for any other scores."""
    most = max(int(column.max()) for column in columns) * unit.numerator
    if most and all(most != right * unit.denominator for right in _RIGHT):
        return None
    for right in _RIGHT:
        score = right / unit
        # Integers are compared with an integer: with a fraction, NumPy would compare one by one.
        steps = score.numerator if score.denominator == 1 else 0
        if all(bool(((column == 0) | (column == steps)).all()) for column in columns):
            return score * base * len(columns[0])
    return None


def _sign(u: Whole, v: Whole, data: Scores) -> Additive:
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


def _signed_rank(u: Whole, v: Whole, data: Scores, zero_method: str) -> Additive:
    """W+ - W- of Wilcoxon's signed ranks, midranks doubled to stay integers; exact with ties and zeros.

    `zero_method` has SciPy's meaning: `wilcox` leaves zero differences out of the ranking, `pratt` ranks
    them and drops their ranks, `zsplit` splits their ranks between both sides.
    """
    signed, split = signed_ranks(u - v, zero_method)
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


def signed_ranks(difference: Whole, zero_method: str) -> tuple[Integers, int]:
    """Doubled midranks of |difference| with its signs, shape (N,); and what `zsplit` splits between both sides."""
    ranked = difference != 0 if zero_method == "wilcox" else np.ones(len(difference), dtype=bool)
    doubled = np.zeros(len(difference), dtype=np.int64)
    doubled[ranked] = doubled_midranks(np.abs(difference[ranked]))
    signed = ((difference > 0).astype(np.int64) - (difference < 0)) * doubled
    return signed, int(doubled[difference == 0].sum()) if zero_method == "zsplit" else 0


def doubled_midranks(values: Whole | Reals) -> Integers:
    """Twice the average ranks (1-based) of `values`, ties sharing theirs; shape (N,)."""
    _, where, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return np.asarray((2 * last - counts + 1)[where], dtype=np.int64)
