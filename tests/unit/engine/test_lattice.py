"""Numbers become integers without a change of meaning, and the canonical form keeps the null as it was."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st

from exactperm.engine.lattice import (
    EXACT_DOUBLE,
    MAX_TOTAL,
    LatticeOverflowError,
    canonical_form,
    decimal_lattice,
    exact_total,
    sum_by_cluster,
)
from exactperm.engine.one_sum.enumeration import subset_sums
from tests.unit.engine.cases import cases, posed
from tests.unit.engine.exact_null import Case


def integers(*values: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array(values, dtype=np.int64)


def reals(*values: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.array(values, dtype=np.float64)


@given(cases(max_items=10))
def test_the_canonical_form_has_the_very_law_of_the_sum(case: Case) -> None:
    form, _ = posed(case)
    listed = Counter([0])
    for stay, swap in case.pairs:
        listed = _spread(listed, stay, swap)
    sums = subset_sums(np.repeat(form.weights, form.counts))
    zeros = len(case.stay) - form.nonzero
    ours = Counter({form.offset + form.step * t: n << zeros for t, n in Counter(sums.tolist()).items()})
    assert ours == listed


def _spread(law: Counter[int], stay: int, swap: int) -> Counter[int]:
    after: Counter[int] = Counter()
    for total, ways in law.items():
        after[total + stay] += ways
        after[total + swap] += ways
    return after


@given(cases(max_items=30))
def test_weights_are_distinct_ascending_positive_and_without_a_common_factor(case: Case) -> None:
    form, _ = posed(case)
    weights = form.weights.tolist()
    assert weights == sorted(set(weights))
    assert form.items == len(case.stay)
    if weights:
        assert weights[0] > 0
        assert math.gcd(*weights) == 1
        assert form.counts.min() > 0
        assert form.range == sum(w * c for w, c in zip(weights, form.counts.tolist(), strict=True))


@pytest.mark.parametrize(
    ("stay", "swap"),
    [
        ([2**61], None),
        ([-(2**61)], None),
        ([2**60, 2**60], None),
        ([-(2**63)], None),
        ([2**60], [-(2**60)]),
        ([2**59] * 4, [2**59 - 1] * 4),
        ([-(2**63)], [2**63 - 1]),
    ],
)
def test_effects_that_do_not_fit_are_refused_and_never_wrapped(
    stay: list[int], swap: list[int] | None
) -> None:
    with pytest.raises(LatticeOverflowError):
        canonical_form(integers(*stay), None if swap is None else integers(*swap))


def test_the_largest_effects_that_fit_are_exact() -> None:
    half = MAX_TOTAL // 2
    form = canonical_form(integers(half - 2, -1))
    assert (form.offset, form.offset + form.step * form.range) == (1 - half, half - 1)


@given(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=20))
def test_totals_of_64_bit_integers_never_overflow(values: list[int]) -> None:
    assert exact_total(integers(*values)) == sum(values)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(-1000, 1000)), max_size=30))
def test_cluster_sums_are_what_a_dictionary_adds_up(rows: list[tuple[int, int]]) -> None:
    codes, values = integers(*(row[0] for row in rows)), integers(*(row[1] for row in rows))
    expected = [sum(value for code, value in rows if code == wanted) for wanted in range(5)]
    assert sum_by_cluster(values, codes, 5).tolist() == expected


decimals = st.integers(0, 6).flatmap(
    lambda places: st.lists(st.integers(-(10**6), 10**6), min_size=1, max_size=20).map(
        lambda tops: (places, tops)
    )
)


@given(decimals)
def test_decimals_come_back_as_the_integers_they_were_written_as(written: tuple[int, list[int]]) -> None:
    places, tops = written
    result = decimal_lattice(reals(*(float(f"{top}e-{places}") for top in tops)))
    assert result is not None
    unit, (column,) = result
    assert [unit * int(x) for x in column.tolist()] == [Fraction(top, 10**places) for top in tops]
    # The coarsest such lattice: one place fewer would lose something.
    assert unit == 1 or any(top * int(1 / unit) // 10**places % 10 for top in tops)


@pytest.mark.parametrize(
    ("values", "places"),
    [
        ((0.1, 0.2, 0.3), 1),
        ((0.85, 0.9, 1.0), 2),
        ((1e-15,), 15),
        ((0.0, -0.0), 0),
        ((123456789.125,), 3),
        ((1e22 / 1e22, 5e15), 0),
    ],
)
def test_the_number_of_decimals_is_that_of_the_shortest_print(values: tuple[float, ...], places: int) -> None:
    result = decimal_lattice(reals(*values))
    assert result is not None
    assert result[0] == Fraction(1, 10**places)


@pytest.mark.parametrize(
    "values",
    [(1 / 3,), (math.pi / 10,), (1e-16,), (0.1 + 0.2,), (float(EXACT_DOUBLE), 0.5), (1e300, 0.1), (5e-324,)],
)
def test_numbers_with_no_short_decimal_are_real_valued(values: tuple[float, ...]) -> None:
    assert decimal_lattice(reals(*values)) is None


@given(st.floats(allow_nan=False, allow_infinity=False), st.floats(-1e6, 1e6))
def test_a_lattice_never_moves_a_number(x: float, y: float) -> None:
    result = decimal_lattice(reals(x), reals(y))
    if result is not None:
        unit, (first, second) = result
        assert (float(int(first[0]) * unit), float(int(second[0]) * unit)) == (x, y)
