"""A thousand boards against the definitions: relations, ranks, their ranges, letters, clusters, tiers, best set."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from exactperm.answers.board import BoardRecord
from exactperm.inference.compare.pair_tests import PairTests
from tests.unit.inference.compare import definitions
from tests.unit.inference.compare.compare_shorthands import all_pairs, board, of_counts, random_scores
from tests.unit.inference.compare.definitions import Board

ADJUSTMENTS = ("holm", "bonferroni", "hochberg", "bh", "by", "none", "holm_discrete")


def by_definition(scores: Sequence[Fraction], tests: PairTests, how: str, alpha: Fraction) -> Board:
    pairs = list(zip(tests.u.tolist(), tests.v.tolist(), strict=True))
    p = {pair: tests.fraction(i) or Fraction(0) for i, pair in enumerate(pairs)}
    adjusting: Callable[[list[Fraction]], list[Fraction]] = lambda p: definitions.adjusted(p, how)  # noqa: E731
    if how == "holm_discrete":
        places = {pair: i for i, pair in enumerate(pairs)}
        attained = tests.attained
        assert attained is not None
        order = [places[pair] for pair in sorted(p)]
        adjusting = lambda p: definitions.holm_discrete(p, lambda k, x: attained(order[k], x))  # noqa: E731
    return Board(scores, p, dict(zip(pairs, tests.sign.tolist(), strict=True)), adjusting, alpha)


def agree(found: BoardRecord, expected: Board) -> None:
    names = [f"s{k:03d}" for k in range(expected.size)]
    order = [names.index(system.name) for system in found.systems]
    assert order == expected.order
    ranges = expected.rank_range()
    best = expected.best_set()
    letters = dict.fromkeys(range(expected.size), "")
    groups, clusters, tiers = expected.maximal_groups(), expected.clusters(), expected.tiers()
    for letter, group in zip("abcdefghijklmnopqrstuvwxyz", groups, strict=False):
        for place in group:
            letters[order[place]] += letter
    for k, system in zip(order, found.systems, strict=True):
        everyone = range(expected.size)
        assert system.rank == expected.rank(k)
        assert (system.rank_low, system.rank_high) == ranges[k]
        assert system.letters == letters[k]
        assert system.in_best_set == (k in best)
        assert system.better_than == sum(expected.better(k, other) for other in everyone if other != k)
        assert system.worse_than == sum(expected.better(other, k) for other in everyone if other != k)
        assert system.cluster is not None
        assert system.tier is not None
        assert k in clusters[system.cluster - 1]
        assert k in tiers[system.tier - 1]
    assert found.groups is not None
    assert [list(group) for group in found.groups.clusters] == named(names, clusters)
    assert [list(group) for group in found.groups.tiers] == named(names, tiers)
    assert list(found.groups.best_set) == [names[k] for k in order if k in best]
    assert found.groups.letters is not None
    assert [list(group) for group in found.groups.letters.values()] == [
        [names[order[place]] for place in group] for group in groups
    ]
    for pair in found.pairs:
        u, v = names.index(pair.u), names.index(pair.v)
        expected_relation = (
            "better"
            if expected.better(u, v)
            else "worse"
            if expected.better(v, u)
            else {"tied", "untestable"}
        )
        assert (
            pair.relation in expected_relation
            if isinstance(expected_relation, set)
            else pair.relation == expected_relation
        )


def named(names: Sequence[str], groups: list[list[int]]) -> list[list[str]]:
    return [[names[k] for k in group] for group in groups]


@pytest.mark.parametrize("seed", range(10))
def test_boards_of_two_to_twelve_systems(seed: int) -> None:
    rng = np.random.default_rng(seed)
    significant = 0
    for round_ in range(100):
        size = int(rng.integers(2, 13)) if round_ % 10 == 0 else int(rng.integers(2, 8))
        scores = random_scores(rng, size, int(rng.integers(4, 80)))
        how = ADJUSTMENTS[round_ % len(ADJUSTMENTS)]
        alpha = (0.05, 0.0625, 0.25, 0.01)[round_ % 4]
        found = board(scores, adjust=how, alpha=alpha)
        means = [Fraction(int(row.sum()), scores.shape[1]) for row in scores]
        expected = by_definition(means, all_pairs(scores), how, Fraction(repr(alpha)))
        agree(found, expected)
        significant += len(expected.significant)
    assert significant > 50


@pytest.mark.parametrize("seed", range(4))
def test_boards_whose_pairs_have_items_of_their_own(seed: int) -> None:
    """`on_missing: pairwise`: tests may go against the scores, and in circles."""
    rng = np.random.default_rng(seed)
    codes: set[str] = set()
    empty = 0
    for _ in range(40):
        size = int(rng.integers(3, 7))
        tests = all_pairs(random_scores(rng, size, 60))
        turned = rng.random(len(tests)) < 0.3
        strong = [(25, 30, 5), (18, 30, 12), (30, 20, 0)]
        counts = [strong[int(k)] for k in rng.integers(0, 3, len(tests))]
        counts = [(l, t, w) if turn else (w, t, l) for (w, t, l), turn in zip(counts, turned, strict=True)]
        tests = of_counts(list(zip(tests.u.tolist(), tests.v.tolist(), strict=True)), counts)
        scores = [Fraction(int(value), 60) for value in rng.integers(20, 26, size)]
        found = board(np.array([[1] * int(60 * s) + [0] * (60 - int(60 * s)) for s in scores]), tests=tests)
        expected = by_definition(scores, tests, "holm", Fraction(1, 20))
        agree(found, expected)
        against = sum(pair.relation == "worse" for pair in found.pairs)
        warned = [warning for warning in found.warnings if warning.code == "pairwise_circular"]
        assert bool(warned) == bool(against)
        if warned:
            assert ("circles" in warned[0].detail) == _circular(expected)
            codes.add("circle" if _circular(expected) else "against")
        assert found.groups is not None
        empty += not found.groups.best_set
    assert codes == {"circle", "against"}
    assert empty > 0


def _circular(expected: Board) -> bool:
    """Whether a walk along `better` comes back: by the closure of the relation."""
    everyone = range(expected.size)
    reach: Any = [[a != b and expected.better(a, b) for b in everyone] for a in everyone]
    for k in everyone:
        for a in everyone:
            for b in everyone:
                reach[a][b] = reach[a][b] or (reach[a][k] and reach[k][b])
    return any(reach[a][a] for a in everyone)
