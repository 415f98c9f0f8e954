"""The oracle itself: its two ways agree, and it knows a wrong answer when it sees one."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings

from exactperm.engine.probability import Probability
from tests.unit.engine.cases import cases
from tests.unit.engine.exact_null import Case, Sums, check, counted, enumerated


@settings(max_examples=150)
@given(cases(max_items=9))
def test_counting_digits_gives_what_enumerating_every_assignment_gives(case: Case) -> None:
    assert counted(case) == enumerated(case)


def test_heavy_items_are_conditioned_upon_without_changing_the_count(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = [(3, -3), (5, 1), (40, -7), (2, 2), (900, 0), (1, -1)]
    whole = Sums(pairs)
    monkeypatch.setattr("tests.unit.engine.exact_null.MAX_BITS", 200)
    split = Sums(pairs)
    assert len(split.heavy) > 1
    reach = range(-100, 1000)
    assert [split.at_least(total) for total in reach] == [whole.at_least(total) for total in reach]


@pytest.mark.parametrize(
    "wrong",
    [
        Probability(math.log(0.1) + 2e-12, 1e-11),  # not close enough
        Probability(math.log(0.1) + 1e-14, 5e-15),  # close, but the certificate lies
        Probability(math.log(0.1), 1e-15, (1, 3)),  # another fraction
    ],
)
def test_the_check_refuses_what_breaks_a_promise(wrong: Probability) -> None:
    with pytest.raises(AssertionError):
        check(wrong, Fraction(1, 10), within=1e-12)
    check(Probability(math.log(0.1), 1e-15), Fraction(1, 10), within=1e-12)
