"""Step-down max T over a family: exact for up to three tests, else bounds, and samples where the bounds are wide."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy import special

from ..lattice import Integers, Reals
from ..one_sum.monte_carlo import CONFIDENCE
from ..plan import Budget
from ..probability import SMALLEST, UNIT_ROUNDOFF
from . import sampling
from .family import Family
from .unions import LAWS_SECONDS, deepen, marginals, pair_bounds, union

Flags = NDArray[np.bool_]

# Up to this many tests, families are exact where that fits the budget.
EXACT_TESTS = 3
# Limits on the laws of two tests: their number, the seconds of each, and the seconds in total.
_MOST_PAIRS, _PAIR_SECONDS, _PAIRS_SECONDS = 300, 0.1, 1.5
# Up to this many tests times steps, each small probability gets a transform.
_DEEP_CALLS = 500
# Up to _ALL_PAIRS tests, the laws of all pairs are used; beyond, those of a tree and of _SPREAD spread-out tests.
_ALL_PAIRS, _SPREAD = 15, 8
# In larger families, so few laws would not help.
_TIGHTENED = 1_000
# Seconds of a pair's form, and of a transform.
_PER_PAIR, _PER_CALL = 4e-3, 1e-3
# Nanoseconds of a threshold, one for each test and statistic.
_PER_THRESHOLD = 300.0
# Nanoseconds of the law of a single test, and for each unit.
_PER_TEST, _PER_UNIT = 2e6, 2e3
_BYTES_PER_THRESHOLD = 64


@dataclass(frozen=True, slots=True)
class MaxT:
    """The adjusted p-values by step, from the largest statistic down; shape (g,) each.

    Attributes
    ----------
    p, low, high
        Nondecreasing; exact values, or the best estimates inside their bounds.
    sampled
        Whether the bounds hold with 99 % confidence; otherwise they are certified.
    fractions
        The exact values, where all are known.
    """

    p: Reals
    low: Reals
    high: Reals
    sampled: Flags
    fractions: tuple[Fraction, ...] | None = None


def seconds(parts: Sequence[tuple[int, int, int]], samples: int) -> float:
    """Predict the time of `step_down`, without exact families, whose methods have the budget's limits.

    `parts` are tests, swapping units and columns (`SignedSums.base`) of each data set.
    """
    tests = sum(count for count, _, _ in parts)
    single = sum(1e-9 * count * (_PER_TEST + _PER_UNIT * units) for count, units, _ in parts)
    laws = min(single, LAWS_SECONDS)
    if tests * tests <= _DEEP_CALLS:
        laws += _PER_CALL * tests * tests
    if EXACT_TESTS < tests <= _TIGHTENED:
        pairs = min(_MOST_PAIRS, tests * (tests - 1) // 2)
        laws += min(_PER_PAIR * pairs + _PAIR_SECONDS * pairs, _PER_PAIR * pairs + _PAIRS_SECONDS)
    return 1e-9 * _PER_THRESHOLD * tests * tests + laws + sampling.seconds(parts, samples)


def bytes_held(parts: Sequence[tuple[int, int, int]]) -> int:
    """Predict the bytes of a family's thresholds, probabilities and data; `parts` as for `seconds`."""
    tests = sum(count for count, _, _ in parts)
    return _BYTES_PER_THRESHOLD * tests * tests + sum(24 * units * columns for _, units, columns in parts)


def step_down(
    family: Family,
    budget: Budget,
    *,
    alpha: Fraction,
    precision: float,
    samples: int,
    seed: int,
    raw_low: Reals | None = None,
) -> MaxT:
    """Return the adjusted p-value of every step (Westfall & Young 1993, algorithm 2.8).

    `raw_low`, shape (m,), are certified lower bounds of the raw p-values, where they are better than the marginal laws.
    Samples are drawn where bounds include `alpha` or are wider than `precision` of the p-value.
    """
    exact = _exactly(family, budget) if len(family) <= EXACT_TESTS else None
    if exact is not None:
        return exact
    low, high = marginals(family)
    if family.steps * len(family) <= _DEEP_CALLS:
        deepen(family, low, high)
    behind = family.step[None, :] >= np.arange(family.steps)[:, None]
    low, high = low * behind, high * behind
    bottom = low.max(axis=1)
    if raw_low is not None:
        np.maximum.at(bottom, family.step, raw_low)
    top = np.minimum(high.sum(axis=1) * (1.0 + len(family) * 2.0**-52), 1.0)
    np.minimum(bottom, top, out=bottom)
    steps = np.arange(family.steps) if len(family) <= _ALL_PAIRS else _open(bottom, top, alpha)
    if len(steps) and len(family) <= _TIGHTENED:
        _tighten(family, low, high, bottom, top, steps)
    bottom, top = np.maximum.accumulate(bottom), np.maximum.accumulate(top)
    if not (top - bottom > precision * top).any():
        return MaxT(np.maximum(top, SMALLEST), bottom, top, np.zeros(family.steps, bool))
    return _sampled(family, bottom, top, samples, seed)


def _open(low: Reals, high: Reals, alpha: Fraction) -> Integers:
    """Return the steps whose running maximum may be on either side of alpha."""
    low, high = np.maximum.accumulate(low), np.maximum.accumulate(high)
    ends = zip(low.tolist(), high.tolist(), strict=True)
    return np.array([step for step, (a, b) in enumerate(ends) if a <= alpha < b], dtype=np.int64)


def _exactly(family: Family, budget: Budget) -> MaxT | None:
    unions = []
    for step in range(family.steps):
        tests = np.flatnonzero(family.step >= step).tolist()
        value = union(family, step, tests, budget)
        if value is None:
            return None
        unions.append(value)
    low = np.maximum.accumulate([value.low for value in unions])
    high = np.maximum.accumulate([value.high for value in unions])
    fractions = [value.fraction for value in unions if value.fraction is not None]
    sampled = np.zeros(family.steps, bool)
    if len(fractions) < len(unions):
        return MaxT(np.maximum(0.5 * (low + high), SMALLEST).clip(low, high), low, high, sampled)
    for step in range(1, len(fractions)):
        fractions[step] = max(fractions[step], fractions[step - 1])
    p = np.maximum([float(value) for value in fractions], SMALLEST)
    return MaxT(p, low, high, sampled, tuple(fractions))


def _tighten(family: Family, low: Reals, high: Reals, bottom: Reals, top: Reals, steps: Integers) -> None:
    """Tighten the bounds of the union at some steps by the laws of some pairs of tests."""
    groups, candidates = _candidates(family)
    edges, lows, highs = _laws(family, high, candidates)
    if not len(edges):
        return
    known = {(j, k): at for at, (j, k) in enumerate(edges.tolist())}
    for i in steps.tolist():
        inside = (family.step[edges] >= i).all(axis=1)
        top[i] = min(top[i], hunter_worsley(high[i], edges[inside], lows[inside, i]))
        for group in groups:
            tests = group[family.step[group] >= i]
            # An unknown joint probability of two tests is at most the smaller of their probabilities.
            joint = np.minimum.outer(high[i][tests], high[i][tests])
            for (a, j), (b, k) in combinations(enumerate(tests.tolist()), 2):
                at = known.get((j, k))
                if at is not None:
                    joint[a, b] = joint[b, a] = highs[at, i]
            chosen = _hardly_joint(low[i][tests], joint)
            bottom[i] = max(bottom[i], dawson_sankoff(low[i][tests][chosen], joint[np.ix_(chosen, chosen)]))
    np.minimum(bottom, top, out=bottom)


def _hardly_joint(single: Reals, joint: Reals) -> Integers:
    """Choose tests in turn that add more than they share with those before; any are valid, these give a large bound."""
    if not len(single):
        return np.zeros(0, dtype=np.int64)
    chosen = [int(single.argmax())]
    while True:
        gain = single - joint[chosen].sum(axis=0)
        gain[chosen] = -1.0
        best = int(gain.argmax())
        if gain[best] <= 0.0:
            return np.array(chosen, dtype=np.int64)
        chosen.append(best)


def _laws(
    family: Family, high: Reals, candidates: Sequence[tuple[int, int]]
) -> tuple[Integers, Reals, Reals]:
    """Return the pairs of tests whose laws are used, shape (E, 2), and bounds of P(both) at every step, (E, g)."""
    edges: list[tuple[int, int]] = []
    lows, highs = [], []
    left = _PAIRS_SECONDS
    for j, k in candidates[:_MOST_PAIRS]:
        law = pair_bounds(family, j, k, min(left, _PAIR_SECONDS))
        if law is not None:
            seconds, (low, top) = law
            left -= seconds
            edges.append((j, k))
            lows.append(low)
            highs.append(np.minimum(top, np.minimum(high[:, j], high[:, k])))
    return np.array(edges, dtype=np.int64).reshape(-1, 2), np.array(lows), np.array(highs)


def _candidates(family: Family) -> tuple[list[Integers], list[tuple[int, int]]]:
    """Return groups of tests for lower bounds, and pairs (j, k), j < k, with useful laws, the most useful first.

    A data set with few tests has all pairs; others have a weakly correlated group and the heaviest tree.
    """
    groups, chosen = [], dict[tuple[int, int], None]()
    for start, part in family.places:
        moving = np.array([k for k in range(len(part)) if part.squares[k]], dtype=np.int64)
        if len(moving) < 2:
            continue
        edges: list[tuple[int, int]] = []
        if len(moving) <= _ALL_PAIRS:
            group = moving
        else:
            size = np.sqrt(np.diag(part.products)[moving])
            related = np.abs(part.products[np.ix_(moving, moving)] / np.multiply.outer(size, size))
            group = np.sort(moving[_apart(related)])
            edges = [(int(moving[j]), int(moving[k])) for j, k in _tree(related)]
        groups.append(start + group)
        for j, k in (*combinations(group.tolist(), 2), *edges):
            chosen[start + min(j, k), start + max(j, k)] = None
    return groups, list(chosen)


def _tree(related: Reals) -> list[tuple[int, int]]:
    """Return the spanning tree with the largest correlations, which are not negative."""
    edges = np.column_stack(np.triu_indices(len(related), 1))
    weights = related[edges[:, 0], edges[:, 1]] + 1e-9  # a forest omits edges without weight
    return [(int(edges[at, 0]), int(edges[at, 1])) for at in heaviest_forest(len(related), edges, weights)]


def _apart(related: Reals) -> list[int]:
    """Select a few tests with little correlation."""
    chosen = [int(related.sum(axis=0).argmin())]
    while len(chosen) < min(_SPREAD, len(related)):
        worst = related[chosen].max(axis=0)
        worst[chosen] = np.inf
        chosen.append(int(worst.argmin()))
    return chosen


def _sampled(family: Family, bottom: Reals, top: Reals, samples: int, seed: int) -> MaxT:
    """Estimate (1 + b) / (1 + samples), with Clopper & Pearson's intervals cut by the certified bounds.

    The largest of several upper ends covers the largest probability as often as its own end does. Lower ends would
    not: a step has its lower end, or that of a later step if lower.
    """
    b = sampling.exceedances(family, samples, seed)
    half = 0.5 * (1.0 - CONFIDENCE)
    low = np.where(b > 0, special.betaincinv(np.maximum(b, 1), samples - b + 1, half), 0.0)
    high = np.where(b < samples, special.betaincinv(b + 1, np.maximum(samples - b, 1), 1.0 - half), 1.0)
    low = np.minimum.accumulate(low[::-1])[::-1]
    high = np.maximum.accumulate(high)
    # An interval that misses the certified bounds, as one in a hundred may, carries no information.
    misses = (low > top) | (high < bottom)
    low, high = (
        np.where(misses, bottom, np.maximum(low, bottom)),
        np.where(misses, top, np.minimum(high, top)),
    )
    estimate = np.maximum.accumulate((b + 1.0) / (samples + 1.0)).clip(low, high)
    sampled = (low > bottom) | (high < top)
    return MaxT(np.maximum(estimate, SMALLEST), low, high, sampled)


# Bounds of the probability of a union from the probabilities of its events and of pairs of events. Of events a and b,
# p_a is the probability of a and p_ab that of both. Upper: Hunter 1976, *Journal of Applied Probability* 13:597-603,
# and Worsley 1982, *Biometrika* 69:297-302: the sum of p_a less that of p_ab over the edges of any forest. Lower:
# Dawson & Sankoff 1967, *Proceedings of the AMS* 18:504-507.


def hunter_worsley(single: Reals, edges: Integers, joint: Reals) -> float:
    """Return an upper bound, with `single` (m,) at least p_a, `edges` (E, 2), and `joint` (E,) at most p_ab.

    It uses the heaviest spanning forest of the edges; any forest bounds the union.
    """
    total = math.fsum(single.tolist())
    forest = heaviest_forest(len(single), edges, joint)
    total = math.fsum([total, *(-joint[forest]).tolist()])
    return min(max(total, float(single.max(initial=0.0))) * (1.0 + 4.0 * UNIT_ROUNDOFF), 1.0)


def dawson_sankoff(single: Reals, joint: Reals) -> float:
    """Return a lower bound, with `single` (m,) at most p_a, and `joint` (m, m) at least p_ab, its diagonal unused.

    2 S_1 / (h + 1) - 2 S_2 / (h (h + 1)) is a bound for every h = 1, 2, ...; the best is h = 1 + floor(2 S_2 / S_1).
    """
    first = math.fsum(single.tolist())
    second = math.fsum(joint[np.triu_indices(len(single), 1)].tolist())
    if first <= 0.0:
        return 0.0
    h = 1 + math.floor(min(2.0 * second / first, float(len(single))))
    bound = 2.0 * first / (h + 1) - 2.0 * second / (h * (h + 1))
    return max(bound - 16.0 * UNIT_ROUNDOFF * (first + second), 0.0)


# The heaviest spanning forest of a graph (Kruskal 1956, *Proceedings of the AMS* 7:48-50). SciPy's is in
# `scipy.sparse`, whose 14 MB the image omits.


def heaviest_forest(nodes: int, edges: Integers, weights: Reals) -> list[int]:
    """Return the forest's edges, heaviest first, as indices of `edges` (E, 2); `weights` (E,) <= 0 are omitted."""
    parent = list(range(nodes))

    def root(node: int) -> int:
        while parent[node] != node:
            parent[node] = parent[parent[node]]
            node = parent[node]
        return node

    order = np.argsort(-weights, kind="stable")
    order = order[weights[order] > 0.0]
    forest: list[int] = []
    for edge, (first, second) in zip(order.tolist(), edges[order].tolist(), strict=True):
        a, b = root(first), root(second)
        if a != b:
            parent[a] = b
            forest.append(edge)
            if len(forest) == nodes - 1:
                break
    return forest
