"""`holm_discrete` against its definition, by enumeration; and what it is for."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from exactperm.errors import PlanTooLarge
from exactperm.inference.compare.pair_tests import PairTests
from tests.refusals import refused_alone
from tests.unit.inference.compare import definitions
from tests.unit.inference.compare.compare_shorthands import (
    all_pairs,
    attained,
    log10,
    of_counts,
    of_fractions,
    random_scores,
)
from tests.unit.inference.compare.test_adjustment import adjust


def truth(tests: PairTests) -> list[Fraction]:
    lookup = tests.attained
    assert lookup is not None
    p = [tests.fraction(i) or Fraction(0) for i in range(len(tests))]
    return definitions.holm_discrete(p, lookup)


def asked(tests: PairTests) -> PairTests:
    """The same tests, which can only be asked value by value."""
    return replace(tests, support=None)


def with_supports(rng: np.random.Generator, m: int, deep: int = 0) -> PairTests:
    """Tests with supports of any shape, p-values 2**-deep times smaller than ordinary ones, and shared keys."""
    shapes = []
    for _ in range(max(m // 3, 1)):
        cells = rng.integers(1, 60, int(rng.integers(2, 9)))
        heights = [Fraction(int(value), int(cells.sum())) for value in np.cumsum(np.sort(cells))]
        scale = Fraction(1, 2 ** int(rng.integers(0, deep + 1)))
        shapes.append(tuple(sorted({*(value * scale for value in heights), Fraction(1)})))
    which = rng.integers(0, len(shapes), m).tolist()
    supports = [shapes[k] for k in which]
    p = [support[int(rng.integers(len(support)))] for support in supports]
    return of_fractions(
        p,
        attainable=[support[0] for support in supports],
        attained=lambda i, x: attained(supports[i], x),
        null_key=lambda i: which[i],
        support=lambda i: supports[i],
    )


@pytest.mark.parametrize("terms", [50_000, 0])  # all in fractions; in doubles, as large families are
def test_by_enumeration(terms: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("exactperm.inference.compare.adjustment._FEW_TERMS", terms)
    rng = np.random.default_rng(terms + 1)
    for round_ in range(60):
        tests = (
            all_pairs(random_scores(rng, int(rng.integers(2, 9)), int(rng.integers(3, 40))))
            if round_ % 2
            else with_supports(rng, int(rng.integers(1, 25)))
        )
        expected = truth(tests)
        for alpha in {Fraction(1, 20), *(value for value in expected[:3] if value < 1)}:
            for given in (tests, asked(tests), replace(asked(tests), null_key=None)):
                found = adjust(given, "holm_discrete", alpha)
                assert found.rejected.tolist() == [value <= alpha for value in expected]
                assert np.allclose(found.p, [float(value) for value in expected], rtol=1e-13, atol=0)
                assert np.allclose(found.log10_p, np.log10(found.p), rtol=1e-12, atol=1e-13)
                assert all(
                    Fraction(low) <= value <= Fraction(high)
                    for low, value, high in zip(
                        found.low.tolist(), expected, found.high.tolist(), strict=True
                    )
                )
                assert not (found.hopeless & found.rejected).any()
                assert not found.open.any()


@pytest.mark.parametrize("terms", [50_000, 0])
def test_nothing_underflows(terms: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("exactperm.inference.compare.adjustment._FEW_TERMS", terms)
    tests = with_supports(np.random.default_rng(4), 30, deep=3_000)
    expected = truth(tests)
    assert sum(value < Fraction(1, 2**1100) for value in expected) > 3
    for given in (tests, asked(tests)):
        found = adjust(given, "holm_discrete")
        for value, low, p, high, log10_p in zip(
            expected,
            found.low.tolist(),
            found.p.tolist(),
            found.high.tolist(),
            found.log10_p.tolist(),
            strict=True,
        ):
            assert Fraction(low) <= value <= Fraction(high)
            assert low <= p <= high
            assert 0 < p <= 1
            assert log10_p == pytest.approx(log10(value), rel=1e-12, abs=1e-12)


def test_never_larger_than_holm_and_often_smaller() -> None:
    rng = np.random.default_rng(8)
    smaller = 0
    for _ in range(30):
        tests = all_pairs(random_scores(rng, 6, 30))
        discrete, holm = adjust(tests, "holm_discrete"), adjust(tests, "holm")
        assert (discrete.p <= holm.p).all()
        smaller += int((discrete.p < holm.p).sum())
    assert smaller > 50


def test_the_familywise_error_is_at_most_alpha_for_every_outcome_of_three_systems() -> None:
    """All 2**n swaps of common signs: the three tests' nulls hold together, and are dependent."""
    rng = np.random.default_rng(3)
    alpha = Fraction(1, 4)
    for _ in range(4):
        scores = rng.integers(0, 2, (3, 7))
        signs = 1 - 2 * ((np.arange(128)[:, None] >> np.arange(7)) & 1)
        wrong = 0
        for sign in signs:
            counts = []
            for u, v in combinations(range(3), 2):
                difference = sign * (scores[u] - scores[v])
                counts.append(tuple(int((difference == side).sum()) for side in (1, 0, -1)))
            tests = of_counts(list(combinations(range(3), 2)), counts)  # type: ignore[arg-type]
            wrong += bool(adjust(tests, "holm_discrete", alpha).rejected.any())
        assert Fraction(wrong, 128) <= alpha


def test_refused_where_a_null_is_not_known_exactly() -> None:
    tests = of_counts([(0, 1), (0, 2)], [(5, 0, 1), (7, 0, 0)])
    for unknown in (
        replace(tests, attained=None),
        replace(tests, fraction=lambda i: None if i else Fraction(1, 8)),
    ):
        with refused_alone("null_not_exact", "/adjust"):
            adjust(unknown, "holm_discrete")


def test_refused_where_it_would_look_up_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("exactperm.inference.compare.adjustment._MOST_CALLS", 3)
    tests = of_counts([(0, 1), (0, 2)], [(5, 0, 1), (7, 0, 0)])
    adjust(tests, "holm_discrete")
    with refused_alone(None, "/adjust", error=PlanTooLarge):
        adjust(asked(tests), "holm_discrete")
