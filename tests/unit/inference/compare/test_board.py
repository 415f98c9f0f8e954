"""A board's records: order, sides, lists, families, warnings."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from exactperm.answers.board import BoardRecord, PairRecord
from exactperm.answers.test import ConfidenceInterval
from exactperm.inference.compare.adjustment import adjust_boards
from exactperm.inference.compare.board import CONTROLS, board_record
from exactperm.inference.compare.pair_tests import PairTests
from tests.unit.inference.compare import definitions
from tests.unit.inference.compare.compare_shorthands import (
    all_pairs,
    board,
    comparison,
    of_counts,
    of_fractions,
    random_scores,
    sign_test,
)
from tests.unit.inference.compare.test_adjustment import BY_RANK, adjust

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


def test_the_family_says_what_it_could_not_have_found() -> None:
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
    found = board(np.array([[1] * (size - k) + [0] * k for k in range(size)]), tests=tests, listed="none")
    assert codes(found) == ["letters_too_many"]
    assert found.groups is not None
    assert found.groups.letters is None
    assert {system.letters for system in found.systems} == {None}


@pytest.mark.parametrize("how", CONTROLS)
def test_what_a_family_controls_is_said_without_promising_too_much(how: Any) -> None:
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
