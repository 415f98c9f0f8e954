"""Parts of statistics of pairs against counting, and what small requests never reach: large common denominators."""

from __future__ import annotations

import itertools
import random
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from exactperm.engine.plan import Budget
from exactperm.inference.options import Options
from exactperm.inference.paired_test import run_test
from exactperm.statistics.additive_problem import Additive
from exactperm.statistics.paired import Pairing, Predictions, StatisticSpec
from exactperm.statistics.pairwise import blocks, reduce as module
from exactperm.statistics.pairwise.kernels import Gold, prefix_counts
from exactperm.statistics.pairwise.reduce import worth_of
from exactperm.statistics.pairwise.standardized import Placed, placed, sign_of
from exactperm.statistics.reducers import reduce
from tests.refusals import refused


def test_prefixes_are_counted() -> None:
    source = np.random.default_rng(0)
    for m, top in ((1, 1), (5, 3), (64, 1), (200, 37), (200, 1_000)):
        points, bounds = source.integers(0, top, m), source.integers(0, top, 50)
        prefixes = source.integers(0, m + 1, (3, 50))
        less, same = prefix_counts(points, prefixes, bounds)
        for row, column in itertools.product((1, 2), range(50)):
            first, other = (points[: prefixes[k, column]] for k in (0, row))
            wanted = (other < bounds[column]).sum() - (first < bounds[column]).sum()
            assert less[row, column] - less[0, column] == wanted
            wanted = (other == bounds[column]).sum() - (first == bounds[column]).sum()
            assert same[row, column] - same[0, column] == wanted


def test_signs_of_two_roots_are_decided() -> None:
    source = random.Random(0)
    with localcontext() as context:
        context.prec = 200
        for _ in range(3_000):
            x, y = (source.randint(-9, 9) for _ in range(2))
            p, q = (source.choice((1, 2, 4, 8, 9, 18, 50)) for _ in range(2))
            z = source.randint(-30, 30)
            value = x * Decimal(p).sqrt() + y * Decimal(q).sqrt() + z
            sign = 0 if abs(value) < Decimal(10) ** -150 else 1 if value > 0 else -1
            assert sign_of(x, p, y, q, z) == sign, (x, p, y, q, z)


def test_standardized_values_of_equal_shape_tie_and_their_neighbours_do_not() -> None:
    u = np.array([1.0, 2.0, 4.0, 7.0, 7.0])
    one, other = placed(u, u * 3.0 - 5.0, "standardized", Fraction(0))
    assert np.array_equal(one.code, other.code)
    # One part in 10^14 of one score: beyond what doubles of z-scores tell.
    near = (u * 3.0 - 5.0) + np.array([0.0, 0.0, 0.0, 0.0, 1e-14])
    one, other = placed(u, near, "standardized", Fraction(0))
    assert not np.array_equal(one.code, other.code)
    with localcontext() as context:
        context.prec = 100
        z = [_z(column) for column in (u, near)]
        for own, code in zip(z, (one.code, other.code), strict=True):
            for theirs, codes in zip(z, (one.code, other.code), strict=True):
                for (x, a), (y, b) in itertools.product(
                    zip(own, code, strict=True), zip(theirs, codes, strict=True)
                ):
                    assert (x > y) == (a > b)


def _z(column: Any) -> list[Decimal]:
    exact = [Fraction(repr(x)) for x in column.tolist()]
    mean = sum(exact, Fraction(0)) / len(exact)
    variance = sum(((x - mean) ** 2 for x in exact), Fraction(0)) / len(exact)
    root = (Decimal(variance.numerator) / variance.denominator).sqrt()
    return [Decimal((x - mean).numerator) / (x - mean).denominator / root for x in exact]


def many_sizes(seed: int, units: int) -> Predictions:
    """Groups of 2 to 45 items, whose numbers of pairs have a common denominator of more than 60 bits."""
    source = np.random.default_rng(seed)
    groups = np.repeat(np.arange(15), np.arange(2, 47, 3))
    n = len(groups)
    gold, u, v = (source.integers(0, 6, n) for _ in range(3))
    clusters = np.concatenate([np.arange(units), source.integers(0, units, n - units)])
    return Predictions(gold, u, v, Pairing(clusters=clusters, n_clusters=units), groups)  # type: ignore[arg-type]


def kendall_by_groups(data: Predictions, system: Any) -> Fraction:
    """The mean over groups of concordant less discordant pairs, over all of the group's pairs."""
    values = []
    for group in range(15):
        own = np.flatnonzero(np.asarray(data.groups) == group)
        x, g = system[own], np.asarray(data.gold)[own]
        if len(set(g.tolist())) > 1:
            signs = np.sign(x[:, None] - x[None]) * np.sign(g[:, None] - g[None])
            values.append(Fraction(int(signs.sum()), len(own) * (len(own) - 1)))
    return sum(values, Fraction(0)) / len(values)


@pytest.mark.parametrize("seed", range(3))
def test_the_mean_over_groups_of_many_sizes_is_exact(seed: int) -> None:
    data, units = many_sizes(seed, 8), 8
    problem = reduce(data, StatisticSpec("kendall", {"scale": "raw", "variant": "a"}))
    assert isinstance(problem, Additive)
    assert problem.unit.denominator > 2**58
    u, v, clusters = np.asarray(data.u), np.asarray(data.v), data.pairing.clusters
    values = {}
    for swaps in itertools.product((False, True), repeat=units):
        swapped = np.array(swaps)[clusters]
        values[swaps] = kendall_by_groups(data, np.where(swapped, v, u))
    differences = [value - values[tuple(not s for s in swaps)] for swaps, value in values.items()]
    reached = sum(abs(t) >= abs(differences[0]) for t in differences)
    record = run_test(
        data,
        StatisticSpec("kendall", {"scale": "raw", "variant": "a"}),
        Options(exact_fraction=False),
        Budget(10**10, 2**30),
    )
    assert record.p_value_bounds[0] <= reached / 2**units <= record.p_value_bounds[1] * (1 + 1e-15)
    assert record.p_value == pytest.approx(reached / 2**units, rel=1e-9)
    assert record.statistic.observed == pytest.approx(float(differences[0]), rel=1e-12)


def test_denominators_beyond_memory_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_BITS", 10_000)
    with refused("too_many_group_sizes", "/groups"):
        reduce(many_sizes(0, 8), StatisticSpec("kendall", {"variant": "a"}))
    summed = reduce(many_sizes(0, 8), StatisticSpec("kendall", {"group_average": "sum", "variant": "a"}))
    assert summed.clusters == 8


def test_decimals_compare_as_written_beside_longer_ones() -> None:
    """0.3 and 0.2 are 0.1 apart as decimals, and not as doubles; 1/3 has 16 digits."""
    u, v = np.array([0.1, 0.2, 0.3, 1 / 3]), np.array([0.2, 0.3, 0.4, 0.9])
    one, _ = placed(u, v, "raw", Fraction("0.1"))
    assert one.upto[0] > one.code[1]
    assert one.upto[1] > one.code[2]
    assert one.upto[0] <= one.code[2]


def _worth_of_pair(name: str, signs: Any, gold: Gold) -> Any:
    """What each item i of a row is worth against each y of a column, by the kernel's definition; shape (n, n)."""
    rank, event = gold.rank, np.zeros(len(gold.rank), dtype=bool) if gold.event is None else gold.event
    order = np.sign(rank[:, None] - rank[None])
    if name == "kendall":
        return signs * order
    if name == "pairwise_accuracy":
        return (signs == order).astype(int)
    if name == "spearman":
        twice = np.array([2 * (rank < own).sum() + (rank == own).sum() + 1 for own in rank])
        return (twice[:, None] - twice[None]) * signs
    if name == "auc":
        better, worse = event[:, None] & ~event[None], ~event[:, None] & event[None]
    else:
        better, worse = (order > 0) & event[None], (order < 0) & event[:, None]
    return better * (signs + 1) + worse * (1 - signs)


@pytest.mark.parametrize("most", [0, 20, blocks.MOST])
@pytest.mark.parametrize("within", [0, 3])
def test_items_are_worth_what_pairs_of_their_group_say(
    monkeypatch: pytest.MonkeyPatch, most: int, within: int
) -> None:
    """Groups of 1 to 70 items in blocks, by counting, and each where it is meant."""
    monkeypatch.setattr(blocks, "MOST", most)
    source = np.random.default_rng(most + within)
    sizes = np.concatenate([np.arange(1, 71, 3), [64, 2, 2]])
    group = source.permutation(np.repeat(np.arange(len(sizes)), sizes))
    n = len(group)
    codes = source.integers(0, n // 4, (2, n))
    u, v = (Placed(code, np.maximum(code - within, 0), code + within + 1) for code in codes)
    rank = np.zeros(n, dtype=np.int64)
    for own in range(len(sizes)):
        at = np.flatnonzero(group == own)
        rank[at] = np.unique(source.integers(0, len(at), len(at)), return_inverse=True)[1]
    gold = Gold(group, len(sizes), rank, source.random(n) < 0.5)
    for name, definition in module._DEFINITIONS.items():
        found = worth_of(definition.kernel, definition.pairs, u, v, gold)
        for own in range(len(sizes)):
            at = np.flatnonzero(group == own)
            some = gold.take(at)
            wanted = []
            for system in codes[:, at]:
                against = []
                for other in codes[:, at]:
                    apart = system[:, None] - other[None]
                    signs = np.where(np.abs(apart) <= within, 0, np.sign(apart))
                    against.append(_worth_of_pair(name, signs, some).sum(axis=1))
                wanted.append(against)
            assert np.array_equal(found.of_u[at], wanted[0][0] + wanted[0][1]), name
            assert np.array_equal(found.of_v[at], wanted[1][0] + wanted[1][1]), name
            assert np.array_equal(found.own_u[at], wanted[0][0]), name
            assert np.array_equal(found.own_v[at], wanted[1][1]), name
