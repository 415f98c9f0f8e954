"""AUC, concordance, pairwise accuracy, rank correlations: one sum of effects, exactly, where no swap changes a denominator.

A statistic f(X) = sum over pairs i < j of h(x_i, x_j), where h may depend on the items' gold, is linear in the swaps.
Let item n have the sign s_n = +1 as observed and -1 swapped, and t(s) = f(U_s) - f(V_s). V_s is U with all signs
turned, so that a pair's part of t is odd in (s_i, s_j): with A = h(u_i, u_j) - h(v_i, v_j) for equal signs and
B = h(u_i, v_j) - h(v_i, u_j) for unlike ones it is s_i (A + B) / 2 + s_j (A - B) / 2, for all four signs. Summed over
the pairs, t(s) = sum s_n b_n with

    b_i = (H_i(u_i) - H_i(v_i)) / 2,   H_i(x) = sum over j != i of h(x, u_j) + h(x, v_j).

It holds for every s, thus also where items of a cluster have one sign: their b are added. Which pairs count, and for how
much, depends on gold, groups and events alone, which no swap changes. Spearman's rho and Kendall's tau-b divide by what the
ties of a system leave: where that changes with the swaps, they are a `Correlation`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...engine.lattice import Integers, Whole
from ...errors import InvalidTest
from ..effects import MAX_INTEGER, Additive, clustered, effects_on, require_items, require_same_length
from ..paired import Predictions, StatisticSpec
from . import blocks, kernels
from .correlation import Correlation
from .data import gold_of, measure_of, scores_of
from .kernels import Gold, Kernel
from .order import Placed, placed


class Worth(NamedTuple):
    """H_i(u_i) and H_i(v_i) over the values of both systems, and of each system over its own; shape (n,) each."""

    of_u: Integers
    of_v: Integers
    diagonal_u: Integers
    diagonal_v: Integers


def worth_of(kernel: Kernel, pairs_of: blocks.Worth, u: Placed, v: Placed, gold: Gold) -> Worth:
    """Compute the `Worth` of a statistic from its two forms, `kernel` and `pairs_of`."""
    sizes = np.bincount(gold.group, minlength=gold.n_groups)
    small = (sizes <= blocks.MOST)[gold.group]
    if small.all():
        return _in_blocks(pairs_of, u, v, gold)
    if not small.any():
        return _counted(kernel, u, v, gold)
    columns = [np.zeros(len(small), dtype=np.int64) for _ in range(4)]
    for at in (np.flatnonzero(small), np.flatnonzero(~small)):
        some = (u.take(at), v.take(at), gold.take(at))
        part = _in_blocks(pairs_of, *some) if small[at[0]] else _counted(kernel, *some)
        for column, values in zip(columns, part, strict=True):
            column[at] = values
    return Worth(*columns)


def _in_blocks(pairs_of: blocks.Worth, u: Placed, v: Placed, gold: Gold) -> Worth:
    against_u, against_v = blocks.worth(pairs_of, (u, v), (u, v), gold)
    both = against_u + against_v
    return Worth(both[0], both[1], against_u[0], against_v[1])


def _counted(kernel: Kernel, u: Placed, v: Placed, gold: Gold) -> Worth:
    (of_u, of_v), (own_u,), (own_v,) = (kernel(some, some, gold) for some in ((u, v), (u,), (v,)))
    return Worth(of_u, of_v, own_u, own_v)


# Bits of all effects over a common denominator, as Python integers: 50 MB.
_MOST_BITS = 400_000_000


@dataclass(frozen=True, slots=True)
class _Definition:
    """A statistic's kernel, and its form for blocks of small groups."""

    kernel: Kernel
    pairs: blocks.Worth
    scale: str = "ranks"
    self_pair: int = 0  # the contribution of an item's kernel with itself


_DEFINITIONS: Mapping[str, _Definition] = {
    "auc": _Definition(kernels.auc, blocks.auc),
    "concordance": _Definition(kernels.concordance, blocks.concordance),
    "kendall": _Definition(kernels.kendall, blocks.kendall),
    "pairwise_accuracy": _Definition(kernels.pairwise_accuracy, blocks.pairwise_accuracy, "raw", 1),
    "spearman": _Definition(kernels.spearman, blocks.spearman),
}


def reduce_pairwise(data: Predictions, spec: StatisticSpec) -> Additive | Correlation:
    """Return the test behind a statistic of pairs, as one sum of effects where possible; raises InvalidTest."""
    return _reduced(data, spec, as_sum=True)


def correlation_of(data: Predictions, spec: StatisticSpec) -> Correlation:
    """Return a rank correlation as a function of the swaps, even where it is one sum; raises InvalidTest."""
    problem = _reduced(data, spec, as_sum=False)
    assert isinstance(problem, Correlation)
    return problem


def _reduced(data: Predictions, spec: StatisticSpec, *, as_sum: bool) -> Additive | Correlation:
    definition, parameters = _DEFINITIONS[spec.name], spec.parameters
    require_items(len(data.gold), "/gold")
    for pointer, column in (("/u", data.u), ("/v", data.v)):
        require_same_length(len(data.gold), len(column), pointer, ("gold", pointer[1:]))
    gold = gold_of(data, spec)
    scale = str(parameters.get("scale") or definition.scale)
    u, v = placed(*scores_of(data), scale, epsilon_of(parameters.get("epsilon")))
    sizes = _whole(spec.name, gold)
    counted = np.array([size > 0 for size in sizes], dtype=bool)
    if not counted.any():
        raise InvalidTest.at("/gold", "no_comparable_pair", _NO_PAIR[spec.name])
    average = str(parameters.get("group_average") or "mean")
    measure = measure_of(spec)
    of_u, of_v, *diagonals = worth_of(definition.kernel, definition.pairs, u, v, gold)
    effects = np.where(counted[gold.group], of_u - of_v, 0)
    totals = [_by_group(column - definition.self_pair, gold) for column in diagonals]
    moved = zip(_by_group(effects, gold), *totals, sizes, strict=True)
    if any(effect != first - second for effect, first, second, size in moved if size):
        raise ArithmeticError("the effects of pairs do not add up to the difference of the scores")
    whole, factor = [Fraction(size) for size in sizes], Fraction(1)
    if measure is not None:
        if measure == "tau_c" and average == "sum":
            detail = (
                "Variant c divides by the classes of each group, so groups have no common sum: set "
                "`group_average=mean`."
            )
            raise InvalidTest.at("/statistic/group_average", "not_available", detail)
        fixed = str(parameters.get("scale") or definition.scale) == "ranks" and _untied(u) and _untied(v)
        problem = _correlation(data, spec, measure, (u, v), gold, effects, counted, average, fixed=fixed)
        divisors_and_factor = problem.constant_divisors() if as_sum else None
        if divisors_and_factor is None:
            return problem
        divisors, factor = divisors_and_factor
        at = iter(divisors)
        whole = [next(at) if size else Fraction(0) for size in sizes]
    weights, unit = _weights(whole, average, len(effects))
    unit *= factor
    scores = [sum(t * w for t, w in zip(total, weights, strict=True)) * unit for total in totals]
    fine, (stay,), rounding = effects_on(
        unit, clustered(_weighted(effects, weights, gold.group), data.pairing)
    )
    return Additive(
        name=spec.name,
        stay=stay,
        swap=None,
        unit=fine,
        items=len(effects),
        clusters=data.pairing.n_clusters,
        score_u=scores[0],
        score_v=scores[1],
        rounding=rounding,
        pairwise=True,
    )


def _untied(system: Placed) -> bool:
    """Return whether no two of a system's mid-ranks are equal."""
    return len(np.unique(system.code)) == len(system.code)


def _correlation(
    data: Predictions,
    spec: StatisticSpec,
    measure: str,
    systems: tuple[Placed, Placed],
    gold: Gold,
    effects: Integers,
    counted: NDArray[np.bool_],
    average: str,
    *,
    fixed: bool,
) -> Correlation:
    """Build the problem of the `counted` groups. `fixed`: ranks tie only because they were exchanged, which does not
    count as a tie.
    """
    n, clusters = len(effects), data.pairing.clusters
    if clusters is not None:
        require_same_length(n, len(clusters), "/clusters", ("The data", "clusters"))
    kept = np.flatnonzero(counted[gold.group])
    kept = kept[np.argsort(gold.group[kept], kind="stable")]
    groups, group = np.unique(gold.group[kept], return_inverse=True)
    group = group.reshape(-1)
    width = max(int(system.code.max()) for system in systems) + 1
    keys, where = np.unique(
        np.concatenate([group * width + system.code[kept] for system in systems]), return_inverse=True
    )
    where = where.reshape(-1).astype(np.int64)
    k = len(groups)
    edges = np.arange(k + 1)
    summed = average == "sum"
    return Correlation(
        name=spec.name,
        measure=measure,
        u=where[: len(kept)],
        v=where[len(kept) :],
        cells=np.searchsorted(keys, edges * width),
        starts=np.searchsorted(group, edges),
        gold=Gold(group, k, gold.rank[kept]),
        effects=effects[kept],
        unit=(np.arange(n) if clusters is None else clusters)[kept],
        fixed=np.full(k, fixed),
        term=np.zeros(k, dtype=np.int64) if summed else np.arange(k),
        weights=(Fraction(1),) if summed else (Fraction(1, k),) * k,
        items=n,
        clusters=None if clusters is None else data.pairing.n_clusters,
    )


_NO_PAIR: Mapping[str, str] = {
    "auc": (
        "There is no pair of a positive and a negative item (in the same group, where there are groups) "
        "to compare."
    ),
    "concordance": (
        "No pair of items is comparable: one item must have an event before the other's time "
        "(in the same group, where there are groups)."
    ),
    "kendall": (
        "No two items (in the same group, where there are groups) have different gold scores: there "
        "is no order to agree with."
    ),
    "pairwise_accuracy": "There are no two items (in the same group, where there are groups) to compare.",
    "spearman": (
        "No two items (in the same group, where there are groups) have different gold scores: "
        "there is no order to agree with."
    ),
}


def epsilon_of(epsilon: object) -> Fraction:
    """Return the difference up to which scores tie, as written; raises InvalidTest at /statistic/epsilon."""
    if epsilon is None:
        return Fraction(0)
    if isinstance(epsilon, bool) or not isinstance(epsilon, int | float) or not 0 <= epsilon < float("inf"):
        detail = "epsilon must be a number of at least 0, the largest difference that counts as a tie."
        raise InvalidTest.at("/statistic/epsilon", "out_of_range", detail)
    return Fraction(repr(epsilon))


def _by_group(values: Integers, gold: Gold) -> list[int]:
    """Sum exactly in each group, in halves, which cannot overflow."""
    high, low = (np.zeros(gold.n_groups, dtype=np.int64) for _ in range(2))
    np.add.at(high, gold.group, values >> 32)
    np.add.at(low, gold.group, values & 0xFFFFFFFF)
    return [(top << 32) + rest for top, rest in zip(high.tolist(), low.tolist(), strict=True)]


def _whole(name: str, gold: Gold) -> list[int]:
    """Return the divisor of a system's kernel sums in each group; 0 where no pair counts."""
    sizes = np.bincount(gold.group, minlength=gold.n_groups).tolist()
    if name == "auc":
        assert gold.event is not None
        positive = np.bincount(gold.group[gold.event], minlength=gold.n_groups).tolist()
        return [4 * count * (size - count) for count, size in zip(positive, sizes, strict=True)]
    if name == "concordance":
        return [4 * pairs for pairs in _comparable(gold)]
    if name == "pairwise_accuracy":
        return [size * (size - 1) for size in sizes]
    varied = np.zeros(gold.n_groups, dtype=bool)
    varied[gold.group[gold.rank > 0]] = True
    if name == "kendall":
        whole = [size * (size - 1) for size in sizes]
    else:
        whole = [2 * (size**3 - size) // 3 for size in sizes]
    return [size if any_order else 0 for size, any_order in zip(whole, varied.tolist(), strict=True)]


def _comparable(gold: Gold) -> list[int]:
    """Count the pairs of a concordance in each group: each event with all after it."""
    assert gold.event is not None
    width = len(gold.rank) + 1
    order = np.sort(gold.group * width + gold.rank)
    at = np.flatnonzero(gold.event)
    start = gold.group[at] * width
    last = np.searchsorted(order, start + width, side="left")
    after = last - np.searchsorted(order, start + gold.rank[at], side="right")
    pairs = np.zeros(gold.n_groups, dtype=np.int64)
    np.add.at(pairs, gold.group[at], after)
    counted: list[int] = pairs.tolist()
    return counted


def _weights(divisors: list[Fraction], average: str, items: int) -> tuple[list[int], Fraction]:
    """Return (the factor of each group's numbers, the unit of the products); 0 for groups without a pair.

    Raises InvalidTest at /groups where the common denominator is too large.
    """
    if average == "sum":
        return [int(divisor > 0) for divisor in divisors], 1 / sum(divisors, Fraction(0))
    fine = lcm(*(divisor.denominator for divisor in divisors))
    sizes = [int(divisor * fine) for divisor in divisors]
    common = 1
    for size in sorted(set(sizes) - {0}):
        common = lcm(common, size)
        if common.bit_length() * items > _MOST_BITS:
            detail = (
                "The groups have too many different numbers of pairs: a common denominator of their "
                "average does not fit into memory. Set `group_average=sum`, or give fewer items."
            )
            raise InvalidTest.at("/groups", "too_many_group_sizes", detail)
    groups = sum(size > 0 for size in sizes)
    return [common // size if size else 0 for size in sizes], Fraction(fine, common * groups)


def _weighted(effects: Integers, weights: list[int], group: Integers) -> Whole:
    """Multiply effects by the weights of their groups: in 64 bits where the sum fits, else in Python integers."""
    total = int(np.abs(effects).sum(dtype=np.float64)) + 1
    if max(weights) * total < MAX_INTEGER:
        return np.asarray(effects * np.array(weights, dtype=np.int64)[group])
    return np.asarray(effects.astype(object) * np.array(weights, dtype=object)[group], dtype=object)
