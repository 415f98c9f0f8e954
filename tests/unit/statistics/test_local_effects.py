"""The paper's own form: stay and swap effects and h of their sum."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st

from exactperm.statistics.additive_problem import Additive
from exactperm.statistics.local_effects import reduce_effects
from exactperm.statistics.paired import Effects, Pairing, StatisticSpec
from tests.refusals import refused_alone

numbers = st.integers(-500, 500)


def additive(data: Effects, wanted: StatisticSpec) -> Additive:
    problem = reduce_effects(data, wanted)
    assert isinstance(problem, Additive)
    return problem


def spec(expression: str) -> StatisticSpec:
    return StatisticSpec("expression", {"expression": expression})


@given(st.lists(st.tuples(numbers, numbers), min_size=1, max_size=20), st.integers(0, 3))
def test_effects_keep_their_values_on_one_common_lattice(rows: list[tuple[int, int]], places: int) -> None:
    stay, swap = (np.array([float(f"{row[side]}e-{places}") for row in rows]) for side in (0, 1))
    problem = additive(Effects(stay, swap), spec("x1"))
    assert problem.swap is not None
    for column, side in ((problem.stay, 0), (problem.swap, 1)):
        assert [problem.unit * int(x) for x in column] == [Fraction(row[side], 10**places) for row in rows]


@pytest.mark.parametrize(
    ("expression", "absolute"), [("x1", False), ("abs(x1)", True), (" abs( x1 ) ", True), ("x1 ", False)]
)
def test_h_is_the_identity_or_the_absolute_value(expression: str, *, absolute: bool) -> None:
    problem = additive(Effects(np.array([1, -2])), spec(expression))
    assert problem.absolute is absolute
    assert problem.swap is None


def test_without_an_expression_h_is_the_identity() -> None:
    assert not additive(Effects(np.array([1])), StatisticSpec("expression")).absolute


def test_stay_and_swap_are_summed_inside_each_cluster() -> None:
    pairing = Pairing(np.array([0, 1, 0]), 2)
    data = Effects(np.array([1, 2, 3]), np.array([10, 20, 30]), pairing)
    problem = additive(data, spec("x1"))
    assert problem.swap is not None
    assert (problem.stay.tolist(), problem.swap.tolist()) == ([4, 2], [40, 20])


@pytest.mark.parametrize(
    ("data", "expression", "pointer"),
    [
        (Effects(np.array([1])), "x2", "/statistic/expression"),
        (Effects(np.array([1])), "__import__('os')", "/statistic/expression"),
        (Effects(np.array([], dtype=np.int64)), "x1", "/stay"),
        (Effects(np.array([1, 2]), np.array([1])), "x1", "/swap"),
    ],
)
def test_effects_that_are_no_test_are_refused_with_a_pointer(
    data: Effects, expression: str, pointer: str
) -> None:
    with refused_alone(None, pointer):
        additive(data, spec(expression))
