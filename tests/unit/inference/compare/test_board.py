"""A board's records: order, sides, lists, families, warnings."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import combinations
from typing import Any

import networkx as nx
import numpy as np
import pytest

from exactperm.answers.board import BoardRecord, PairRecord
from exactperm.answers.test import ConfidenceInterval
from exactperm.inference.compare.adjustment import adjust_boards
from exactperm.inference.compare.board import CONTROLS, LETTERS, board_record, letter_groups
from exactperm.inference.compare.pair_tests import PairTests
from tests.unit.inference.compare import definitions

from .compare_shorthands import (
    all_pairs,
    board,
    comparison,
    of_counts,
    of_fractions,
    random_scores,
    sign_test,
)
from .definitions import Board
from .test_adjustment import BY_RANK, adjust, recorded

ALPHA = Fraction(1, 20)


def turned(tests: PairTests) -> PairTests:
    """The same tests with u and v exchanged in every other one."""
    other = np.arange(len(tests)) % 2 == 1

    def side(mine: Any, theirs: Any) -> Any:
        return np.where(other, theirs, mine)

    return replace(
        tests,
        u=side(tests.u, tests.v), v=side(tests.v, tests.u),
        wins=side(tests.wins, tests.losses), losses=side(tests.losses, tests.wins),
        difference=side(tests.difference, -tests.difference), sign=side(tests.sign, -tests.sign),
    )  # fmt: skip


def shuffled(tests: PairTests, rng: np.random.Generator) -> PairTests:
    """The same tests in another order."""
    at = rng.permutation(len(tests))
    columns = {
        name: getattr(tests, name)[at]
        for name in tests.__slots__
        if isinstance(getattr(tests, name), np.ndarray)
    }
    asked = {
        name: partial(_at, getattr(tests, name), at)
        for name in ("fraction", "attained", "null_key", "support")
    }
    changes: dict[str, Any] = columns | asked
    return replace(tests, **changes)


def _at(call: Any, at: Any, i: int, *rest: Any) -> Any:
    return call(int(at[i]), *rest)


@pytest.mark.parametrize("how", ["holm", "by", "holm_discrete"])
def test_neither_order_nor_sides_of_the_tests_matter(how: Any) -> None:
    rng = np.random.default_rng(6)
    for _ in range(8):
        scores = random_scores(rng, 7, 50)
        tests = all_pairs(scores)
        found = board(scores, tests=tests, adjust=how)
        assert board(scores, tests=turned(tests), adjust=how) == found
        assert board(scores, tests=shuffled(tests, rng), adjust=how) == found


def test_pairs_are_listed_by_rank_and_u_is_the_better_ranked() -> None:
    scores = random_scores(np.random.default_rng(12), 8, 60)
    found = board(scores)
    names = [system.name for system in found.systems]
    assert [(pair.u, pair.v) for pair in found.pairs] == list(combinations(names, 2))
    for pair in found.pairs:
        u, v = scores[int(pair.u[1:])], scores[int(pair.v[1:])]
        assert (pair.wins, pair.ties, pair.losses) == ((u > v).sum(), (u == v).sum(), (u < v).sum())
        assert pair.difference == pytest.approx(u.mean() - v.mean(), abs=1e-12)
        assert pair.difference >= 0
        assert pair.p_value == float(sign_test(pair.wins, pair.losses))
        assert str(pair.difference) != "-0.0"


def test_lower_is_better() -> None:
    scores = random_scores(np.random.default_rng(13), 5, 60)
    up = board(scores)
    tests = all_pairs(scores)
    # sign, wins and losses are those of the better system; the difference keeps the statistic's own sign
    errors = replace(tests, sign=-tests.sign, wins=tests.losses, losses=tests.wins)
    down = board(scores, tests=errors, higher_is_better=False)
    assert [system.score for system in down.systems] == sorted(system.score for system in up.systems)
    assert [system.rank_low for system in down.systems] == sorted(6 - (s.rank_high or 0) for s in up.systems)
    assert all(pair.difference <= 0 for pair in down.pairs)
    assert {pair.relation for pair in down.pairs} <= {"better", "tied", "untestable"}


def test_equal_scores_share_a_rank_and_are_listed_by_name() -> None:
    rows = np.array([[1, 0, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 1, 1, 0]])
    found = board(rows)
    assert [(system.name, system.rank) for system in found.systems] == [
        ("s001", 1), ("s003", 1), ("s000", 3), ("s002", 3),
    ]  # fmt: skip
    assert [system.score for system in found.systems] == [0.5, 0.5, 0.25, 0.25]


def test_against_a_baseline() -> None:
    scores = random_scores(np.random.default_rng(14), 6, 80)
    middle = sorted(range(6), key=lambda k: scores[k].sum())[3]
    name_of = f"s{middle:03d}"
    order = [k for k in (3, 0, 5, 2, 1, 4) if k != middle]
    counts = [
        (int((scores[k] > scores[middle]).sum()), int((scores[k] == scores[middle]).sum()), int((scores[k] < scores[middle]).sum()))
        for k in order
    ]  # fmt: skip
    found = board(
        scores, tests=of_counts([(k, middle) for k in order], counts), design="baseline", baseline=name_of
    )
    ranked = [system.name for system in found.systems if system.name != name_of]
    assert [(pair.u, pair.v) for pair in found.pairs] == [(name, name_of) for name in ranked]
    assert any(pair.difference < 0 for pair in found.pairs)
    assert found.groups is None
    assert found.family.size == 5
    assert found.family.controls == CONTROLS["holm"]
    for system in found.systems:
        rest = (system.rank_low, system.rank_high, system.cluster, system.tier, system.letters)
        assert {*rest, system.in_best_set, system.better_than, system.worse_than} == {None}


def test_given_pairs_keep_their_order_and_sides() -> None:
    scores = random_scores(np.random.default_rng(15), 4, 50)
    pairs = [(3, 1), (0, 2), (1, 0)]
    found = board(scores, tests=of_counts(pairs, [(5, 40, 5), (1, 40, 9), (9, 40, 1)]), design="pairs")
    assert [(pair.u, pair.v) for pair in found.pairs] == [
        ("s003", "s001"),
        ("s000", "s002"),
        ("s001", "s000"),
    ]
    assert [pair.wins for pair in found.pairs] == [5, 1, 9]


def test_listed_pairs() -> None:
    scores = random_scores(np.random.default_rng(21), 9, 90)
    every = board(scores)
    significant = tuple(pair for pair in every.pairs if pair.relation in {"better", "worse"})
    assert 0 < len(significant) < len(every.pairs)
    assert board(scores, listed="significant") == replace(every, pairs=significant)
    assert board(scores, listed="none") == replace(every, pairs=())


def _attained(boards: list[PairTests], k: int, x: Fraction) -> Fraction:
    for tests in boards:
        if k < len(tests):
            assert tests.attained is not None
            return tests.attained(k, x)
        k -= len(tests)
    raise IndexError(k)


def test_a_family_over_boards() -> None:
    rng = np.random.default_rng(17)
    boards = [random_scores(rng, size, 40) for size in (3, 5, 4)]
    tests = [all_pairs(scores) for scores in boards]
    p = [test.fraction(i) or Fraction(0) for test in tests for i in range(len(test))]
    for how in (*BY_RANK, "holm_discrete"):
        adjusted = adjust_boards(tests, how, ALPHA)
        if how == "holm_discrete":
            expected = definitions.holm_discrete(p, partial(_attained, tests))
        else:
            expected = definitions.adjusted(p, how)
        assert [float(value) for value in expected] == [
            value for part in adjusted for value in part.p.tolist()
        ]
        assert {part.size for part in adjusted} == {len(p)} == {3 + 10 + 6}
        alone = board(boards[1], tests=tests[1], adjust=how)
        names = [system.name for system in sorted(alone.systems, key=lambda system: system.name)]
        scores = [Fraction(int(row.sum()), 40) for row in boards[1]]
        joint = board_record(names, scores, [40] * 5, tests[1], comparison(adjust=how), adjusted[1])
        assert joint.family.size == 19
        assert [(s.rank_low, s.rank_high, s.in_best_set) for s in joint.systems] == [
            (s.rank_low, s.rank_high, s.in_best_set) for s in alone.systems
        ]


def test_confidence_intervals_are_turned_with_their_pair() -> None:
    rows = np.array([[0, 0, 0, 1], [1, 1, 1, 0]])
    interval = ConfidenceInterval(0.95, -0.75, None, "test_inversion", "exact", 0.0)
    found = board_record(
        ["a", "b"],
        [Fraction(1, 4), Fraction(3, 4)],
        [4, 4],
        all_pairs(rows),
        comparison(),
        None,
        lambda i: interval,
    )
    assert found.pairs[0].u == "b"
    assert found.pairs[0].confidence_interval == replace(interval, low=None, high=0.75)
    kept = board_record(
        ["a", "b"],
        [Fraction(3, 4), Fraction(1, 4)],
        [4, 4],
        all_pairs(rows),
        comparison(),
        None,
        lambda i: interval,
    )
    assert kept.pairs[0].confidence_interval == interval


@pytest.mark.parametrize("how", [*BY_RANK, "holm_discrete"])
def test_hopeless_tests_are_those_above_alpha_with_all_at_their_smallest(how: Any) -> None:
    rng = np.random.default_rng(18)
    counted = 0
    for _ in range(40):
        tests = all_pairs(random_scores(rng, int(rng.integers(2, 7)), int(rng.integers(3, 25))))
        lookup = tests.attained
        assert lookup is not None
        smallest = [Fraction(2) ** round(float(log) / float(np.log10(2))) for log in tests.attainable]
        at_best = (
            definitions.holm_discrete(smallest, lookup)
            if how == "holm_discrete"
            else definitions.adjusted(smallest, how)
        )
        hopeless = adjust(tests, how).hopeless
        assert hopeless.tolist() == [value > ALPHA for value in at_best]
        counted += int(hopeless.sum())
    assert counted > 20


def test_the_family_counts_pairs_that_could_not_be_significant() -> None:
    tests = of_counts([(0, 1), (0, 2), (1, 2)], [(6, 0, 0), (3, 0, 3), (2, 0, 1)])
    found = board(np.array([[1] * 6, [0] * 6, [0] * 6]), tests=tests)
    (warning,) = found.warnings
    assert warning.code == "family_untestable"
    # 6 discordant items: p >= 1/32; three tests of which one has p >= 1/4: 3/32 > 1/20.
    assert warning.detail.startswith("3 of 3 pairs could not have become significant at alpha = 0.05")
    assert [pair.relation for pair in found.pairs] == ["tied", "tied", "untestable"]
    assert codes(board(np.array([[1] * 20, [0] * 20]))) == []


def codes(found: BoardRecord) -> list[str]:
    return [warning.code for warning in found.warnings]


def test_more_groups_than_letters() -> None:
    size = 159  # triples that differ among themselves alone
    pairs = list(combinations(range(size), 2))
    p = [Fraction(1, 10**9) if u // 3 == v // 3 else Fraction(1) for u, v in pairs]
    counts = [(30, 0, 1) if u // 3 == v // 3 else (5, 0, 5) for u, v in pairs]
    tests = of_fractions(p, pairs=pairs, counts=counts)
    found: Any = board(
        np.array([[1] * (size - k) + [0] * k for k in range(size)]), tests=tests, listed="none"
    )
    assert codes(found) == ["letters_too_many"]
    assert found.groups.letters is None
    assert {system.letters for system in found.systems} == {None}


@pytest.mark.parametrize("how", CONTROLS)
def test_the_guarantee_of_a_family_is_stated_correctly(how: Any) -> None:
    said = CONTROLS[how]
    assert ("positive dependence" in said) == (how in {"bh", "hochberg"})
    assert ("familywise" in said) == (how in {"bonferroni", "holm", "hochberg", "holm_discrete", "max_t"})
    assert ("false discovery" in said) == (how in {"bh", "by"})


def test_every_field_of_a_pair_is_filled() -> None:
    pair = board(np.array([[1, 1, 0], [0, 1, 0]])).pairs[0]
    assert pair == PairRecord(
        "s000", "s001", 3, 1 / 3, 1.0, 0.0, (1.0 - 2**-53, 1.0), "certified", 1.0, 0.0, (1.0, 1.0),
        "certified", "exact", "untestable", 1.0, 1, 2, 0, "fft", True,
    )  # fmt: skip
    assert hash(pair) == hash(replace(pair))


# A thousand boards against the definitions: relations, ranks, their ranges, letters, clusters, tiers, best set.


ADJUSTMENTS = ("holm", "bonferroni", "hochberg", "bh", "by", "none", "holm_discrete")


def by_definition(scores: Sequence[Fraction], tests: PairTests, how: str, alpha: Fraction) -> Board:
    pairs = list(zip(tests.u.tolist(), tests.v.tolist(), strict=True))
    p = {pair: tests.fraction(i) or Fraction(0) for i, pair in enumerate(pairs)}
    adjusting: Callable[[list[Fraction]], list[Fraction]] = lambda p: definitions.adjusted(p, how)  # noqa: E731  (one type for both)
    if how == "holm_discrete":
        places = {pair: i for i, pair in enumerate(pairs)}
        attained = tests.attained
        assert attained is not None
        order = [places[pair] for pair in sorted(p)]
        adjusting = lambda p: definitions.holm_discrete(p, lambda k, x: attained(order[k], x))  # noqa: E731  (one type for both)
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
        found: Any = board(
            np.array([[1] * int(60 * s) + [0] * (60 - int(60 * s)) for s in scores]), tests=tests
        )
        expected = by_definition(scores, tests, "holm", Fraction(1, 20))
        agree(found, expected)
        against = sum(pair.relation == "worse" for pair in found.pairs)
        warned = [warning for warning in found.warnings if warning.code == "pairwise_circular"]
        assert bool(warned) == bool(against)
        if warned:
            assert ("cycles" in warned[0].detail) == _circular(expected)
            codes.add("circle" if _circular(expected) else "against")
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


# Letters are all maximal cliques of the pairs that do not differ: networkx and R's multcompView say the same.


def significant(size: int, pairs: Any) -> Any:
    table = np.zeros((size, size), bool)
    for a, b in pairs:
        table[a, b] = table[b, a] = True
    return table


def test_as_networkx_has_it() -> None:
    rng = np.random.default_rng(1)
    many = 0
    for _ in range(400):
        size = int(rng.integers(1, 22))
        upper = np.triu(rng.random((size, size)) < rng.random(), 1)
        differ = upper | upper.T
        graph = nx.from_numpy_array(~differ & ~np.eye(size, dtype=bool))
        cliques = sorted(tuple(sorted(clique)) for clique in nx.find_cliques(graph))
        if len(cliques) > len(LETTERS):
            assert letter_groups(differ) is None
            many += 1
        else:
            assert letter_groups(differ) == cliques
    assert 5 < many < 200


def test_as_r_has_it() -> None:
    for graph in recorded()["graphs"]:
        places = [["ABCDEFGHIJ".index(name) for name in pair.split("-")] for pair in graph["different"]]
        expected = sorted(tuple(sorted("ABCDEFGHIJ".index(name) for name in of)) for of in graph["groups"])
        assert letter_groups(significant(graph["size"], places)) == expected
    assert len(recorded()["graphs"]) == 60


def test_fifty_two_groups_have_letters_and_fifty_three_do_not() -> None:
    def strangers(size: int) -> Any:
        return ~np.eye(size, dtype=bool)

    assert letter_groups(strangers(52)) == [(k,) for k in range(52)]
    assert letter_groups(strangers(53)) is None
    assert len(set(LETTERS)) == 52


@pytest.mark.parametrize("size", [60, 300])
def test_three_to_the_k_over_three_groups_are_noticed_at_once(size: int) -> None:
    """Moon & Moser (1965): triples that differ among themselves alone, 3**20 and 3**100 maximal cliques."""
    differ = significant(
        size, ((a, b) for a in range(size) for b in range(size) if a != b and a // 3 == b // 3)
    )
    assert letter_groups(differ) is None
