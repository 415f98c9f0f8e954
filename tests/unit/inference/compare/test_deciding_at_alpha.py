"""p_adjusted <= alpha is decided as the exact numbers are, at equality and next to it; what cannot be told stays open."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest

from exactperm.inference.compare.pair_tests import PairTests
from exactperm.inference.compare.rounding import exact_alpha
from tests.unit.inference.compare import definitions
from tests.unit.inference.compare.compare_shorthands import board, of_counts, of_fractions
from tests.unit.inference.compare.test_adjustment import BY_RANK, adjust

TINY = Fraction(1, 2**90)


def wide(tests: PairTests, factor: float) -> PairTests:
    """The same tests with bounds that are wider."""
    return replace(
        tests,
        p_low=tests.p_low / factor,
        p_high=np.minimum(tests.p_high * factor, 1.0),
        log10_low=tests.log10_low - np.log10(factor),
    )


def at_the_edge(rng: np.random.Generator, m: int, how: str) -> list[Fraction]:
    """p-values whose terms are at alpha = 1/20, or one part in 2**90 next to it, where any rounding would decide."""
    factors: Any = {
        "none": [1], "bonferroni": [m], "holm": range(1, m + 1), "hochberg": range(1, m + 1),
        "bh": [Fraction(m, k) for k in range(1, m + 1)], "by": [1],
    }[how]  # fmt: skip
    edge = [Fraction(1, 20) / factor for factor in factors]
    p = [edge[int(rng.integers(len(edge)))] * (1 + int(rng.integers(-1, 2)) * TINY) for _ in range(m)]
    for i in range(m):
        if rng.random() < 0.3:
            p[i] = Fraction(int(rng.integers(1, 1000)), 1000)
    return p


@pytest.mark.parametrize("how", [how for how in BY_RANK if how != "by"])
def test_decisions_at_the_edge_are_those_of_the_fractions(how: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("exactperm.inference.compare.adjustment.FEW", 0)  # the way of large families
    rng = np.random.default_rng(5)
    decided = 0
    for _ in range(150):
        p = at_the_edge(rng, int(rng.integers(1, 14)), how)
        truth = [value <= Fraction(1, 20) for value in definitions.adjusted(p, how)]
        tests = wide(of_fractions(p), 1.0 + 1e-9) if rng.random() < 0.3 else of_fractions(p)
        found = adjust(tests, how)
        assert found.rejected.tolist() == truth
        assert not found.open.any()
        blind = adjust(of_fractions(p, know="bounds"), how)
        assert (~blind.rejected | np.array(truth)).all()
        assert (blind.rejected | blind.open | ~np.array(truth)).all()
        decided += int(blind.open.sum())
    assert decided > 50  # or this test does not get to the edge


def test_the_harmonic_sum_is_exact_at_the_edge(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("exactperm.inference.compare.adjustment.FEW", 0)
    every = sum((Fraction(1, k) for k in range(1, 8)), Fraction(0))
    for side in (-1, 0, 1):
        p = [Fraction(1, 20) / (every * 7) * (1 + side * TINY)] + [Fraction(1)] * 6
        assert adjust(of_fractions(p), "by").rejected.tolist() == [side <= 0] + [False] * 6


def test_only_fractions_that_matter_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("exactperm.inference.compare.adjustment.FEW", 0)
    asked: list[int] = []
    p = [Fraction(k, 40_000) for k in range(1, 401)] + [
        Fraction(1, 20) / Fraction(3),
        Fraction(1, 2),
        Fraction(3, 4),
    ]
    # Holm: 403 tests; the terms of the first are far from alpha.
    tests = of_fractions(p)
    exact = tests.fraction

    def fraction(i: int) -> Fraction | None:
        asked.append(i)
        return exact(i)

    adjust(replace(tests, fraction=fraction), "none")
    assert not asked
    adjust(replace(tests, fraction=fraction), "bonferroni", Fraction(403, 40_000) * 7)
    assert asked == [6]


def _if_known(p: list[Fraction], known: list[bool], i: int) -> Fraction | None:
    return p[i] if known[i] else None


def test_a_family_with_brackets_and_fractions_claims_nothing_it_does_not_know() -> None:
    """By brute force over where the true p-values may be."""
    rng = np.random.default_rng(9)
    seen = set()
    for _ in range(200):
        m = int(rng.integers(2, 5))
        p = [Fraction(int(value), 200) for value in rng.integers(1, 12, m)]
        known = rng.random(m) < 0.5
        tests = of_fractions(p)
        low, high = np.where(known, tests.p_low, 0.8 * tests.p), np.where(known, tests.p_high, 1.25 * tests.p)
        tests = replace(
            tests, p_low=low, p_high=high, log10_low=np.log10(low),
            fraction=partial(_if_known, p, known.tolist()),
        )  # fmt: skip
        found = adjust(tests, "holm")
        ends = [
            (p[i],) if known[i] else (Fraction(float(low[i])), Fraction(float(high[i]))) for i in range(m)
        ]
        worlds = [definitions.adjusted(world, "holm") for world in product(*ends)]
        for i in range(m):
            outcomes = {world[i] <= Fraction(1, 20) for world in worlds}
            assert (bool(found.rejected[i]), bool(found.open[i])) == (
                outcomes == {True},
                outcomes == {True, False},
            )
            seen.add((bool(found.rejected[i]), bool(found.open[i])))
    assert len(seen) == 3


def relation(tests: PairTests, alpha: float, **given: Any) -> str:
    scores = np.array([[1, 0], [0, 0]])
    return board(scores, tests=tests, alpha=alpha, **given).pairs[0].relation


def test_alpha_is_the_decimal_as_written() -> None:
    assert exact_alpha(0.05) == Fraction(1, 20) != Fraction(0.05)
    assert exact_alpha(1e-5) == Fraction(1, 100_000)


@pytest.mark.parametrize(
    ("n", "alpha", "expected"),
    [
        (5, 0.0625, "better"),  # five wins: p = 1/16
        (5, 0.06249, "untestable"),
        (5, 0.06249999999999999, "untestable"),
        (4, 0.0625, "untestable"),
        (6, 0.0625, "better"),
    ],
)
def test_a_test_at_its_smallest_p_value(n: int, alpha: float, expected: str) -> None:
    assert relation(of_counts([(0, 1)], [(n, 3, 0)]), alpha) == expected


def test_testable_and_not_significant_is_tied() -> None:
    assert relation(of_counts([(0, 1)], [(4, 0, 1)]), 0.0625) == "tied"
    assert relation(of_counts([(0, 1)], [(4, 0, 1)]), 0.06) == "untestable"


def test_a_smallest_p_value_that_is_no_power_of_two() -> None:
    three = Fraction(3, 64)
    given: dict[str, Any] = {
        "attainable": [three],
        "attained": lambda i, x: three if three <= x else Fraction(0),
    }
    assert relation(of_fractions([Fraction(1, 2)], **given), 0.046875) == "tied"
    assert relation(of_fractions([Fraction(1, 2)], **given), 0.046874999999999) == "untestable"


def test_a_sampled_test_is_decided_by_its_interval() -> None:
    tests = replace(of_fractions([Fraction(1, 25)], know="bounds"), sampled=np.array([True]))
    for low, high, expected in ((0.03, 0.04999, "better"), (0.03, 0.06, "undecided"), (0.051, 0.06, "tied")):
        there = replace(
            tests, p_low=np.array([low]), p_high=np.array([high]), p=np.array([(low + high) / 2]),
            log10_low=np.log10([low]),
        )  # fmt: skip
        found = board(np.array([[1, 0], [0, 0]]), tests=there)
        assert found.pairs[0].relation == expected
        assert found.pairs[0].p_value_bounds_kind == "confidence"
        assert [warning.code for warning in found.warnings] == [
            "sampled",
            *(["alpha_within_bounds"] if expected == "undecided" else []),
        ]


@pytest.mark.parametrize(("alternative", "expected"), [("greater", "better"), ("less", "worse")])
def test_a_one_sided_test_knows_its_side(alternative: str, expected: str) -> None:
    tests = of_fractions([Fraction(1, 100)])
    assert relation(tests, 0.05, alternative=alternative, design="pairs") == expected


def test_a_pair_without_a_common_item_is_untestable() -> None:
    tests = of_counts([(0, 1)], [(0, 0, 0)])
    found = board(np.array([[1, 0], [0, 0]]), tests=tests).pairs[0]
    assert (found.relation, found.p_adjusted, found.n, found.min_attainable_p) == ("untestable", 1.0, 0, 1.0)
