"""Decimals tie as they are written: 0.1 + 0.2 is 0.3, whatever the doubles say."""

from __future__ import annotations

import functools
import itertools
import operator
from fractions import Fraction

import pytest
from hypothesis import given, settings, strategies as st

from tests.unit.engine.cases import ALTERNATIVES
from tests.unit.engine.exact_null import Case, exact_p
from tests.unit.inference.run_shorthands import check_record, effects, score

# Differences in tenths; in doubles some reassigned sums that tie with the observed one fall short of it.
BROKEN_IN_FLOATS = [
    [8, 4, -8],
    [5, -7, 3, 2],
    [1, 3, -1, -1],
    [-6, 2, 3, 1, 4],
    [8, -6, 6, 4, -7],
    [3, 5, -5, -8, 5, 2],
]


def added(values: list[float]) -> float:
    """One addition after the other; from Python 3.12 on, sum() compensates its rounding."""
    return functools.reduce(operator.add, values)


def float_p(tenths: list[int], *, one_sided: bool) -> Fraction:
    """What adding doubles one by one and comparing with >= gives."""
    values = [t / 10 for t in tenths]
    observed = added(values)
    inside = 0
    for signs in itertools.product((1, -1), repeat=len(values)):
        total = added([s * x for s, x in zip(signs, values, strict=True)])
        inside += total >= observed if one_sided else abs(total) >= abs(observed)
    return Fraction(inside, 2 ** len(values))


@pytest.mark.parametrize("tenths", BROKEN_IN_FLOATS, ids=str)
@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize("method", ["auto", "fft", "dp", "rational"])
def test_sums_that_tie_on_paper_tie(tenths: list[int], alternative: str, method: str) -> None:
    u = [max(t, 0) / 10 for t in tenths]
    v = [max(-t, 0) / 10 for t in tenths]
    truth = exact_p(Case(tuple(tenths), None, alternative))  # type: ignore[arg-type]
    check_record(score(u, v, alternative=alternative, method=method), truth)
    check_record(effects([t / 10 for t in tenths], alternative=alternative, method=method), truth)


@pytest.mark.parametrize("tenths", BROKEN_IN_FLOATS, ids=str)
def test_summing_doubles_would_have_missed_those_ties(tenths: list[int]) -> None:
    assert float_p(tenths, one_sided=True) != exact_p(Case(tuple(tenths), None, "greater"))
    assert float_p(tenths, one_sided=False) != exact_p(Case(tuple(tenths)))


def test_0_1_plus_0_2_ties_with_0_3() -> None:
    """Observed 0.3 - 0.1 - 0.2 is zero, so all but three of the eight sums reach it."""
    record = score([0.3, 0.0, 0.0], [0.0, 0.1, 0.2], alternative="greater", exact_fraction=True)
    assert record.p_value == 5 / 8
    assert record.statistic.observed == 0.0


@pytest.mark.slow
@settings(max_examples=150)
@given(
    places=st.integers(1, 6),
    rows=st.lists(st.tuples(st.integers(-40, 40), st.integers(-40, 40)), min_size=1, max_size=12),
    alternative=st.sampled_from(ALTERNATIVES),
)
def test_decimals_of_any_length_get_the_p_value_of_their_integers(
    places: int, rows: list[tuple[int, int]], alternative: str
) -> None:
    u, v = ([float(f"{row[side]}e-{places}") for row in rows] for side in (0, 1))
    truth = exact_p(Case(tuple(a - b for a, b in rows), None, alternative))  # type: ignore[arg-type]
    check_record(score(u, v, alternative=alternative), truth)


def test_real_valued_scores_get_the_p_value_of_the_doubles_as_they_are() -> None:
    """No decimal holds thirds; the doubles are integers over a power of two, and are taken at that."""
    u, v = [1 / 3, 2 / 3, 5 / 7, 1 / 9, 2 / 11], [1 / 7, 1 / 5, 3 / 4, 1 / 13, 1 / 17]
    d = [Fraction(a) - Fraction(b) for a, b in zip(u, v, strict=True)]
    observed = abs(sum(d, Fraction(0)))
    inside = sum(
        abs(sum((s * x for s, x in zip(signs, d, strict=True)), Fraction(0))) >= observed
        for signs in itertools.product((1, -1), repeat=5)
    )
    assert score(u, v).p_value == inside / 32
