"""Expressions over the sums of effects become additive problems where they can, joint ones where not."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from exactperm.statistics.additive_problem import Additive
from exactperm.statistics.joint_problem import Joint
from exactperm.statistics.paired import Effects, StatisticSpec
from exactperm.statistics.reducers import reduce
from tests.refusals import refused


def effects(stay: object, swap: object = None) -> Effects:
    return Effects(np.array(stay), None if swap is None else np.array(swap))


def test_a_linear_expression_of_effects_is_additive() -> None:
    problem = reduce(
        effects([[0.1, 2], [0.3, 1]]), StatisticSpec("expression", {"expression": "x1 - x2 / 4"})
    )
    assert isinstance(problem, Additive)
    assert problem.swap is None
    assert [problem.unit * int(x) for x in problem.stay] == [Fraction(-2, 5), Fraction(1, 20)]


def test_the_absolute_value_of_a_linear_expression_is_additive_too() -> None:
    spec = StatisticSpec("expression", {"expression": "abs( 2*x1 )"})
    problem = reduce(effects([3, -1], [-3, 2]), spec)
    assert isinstance(problem, Additive)
    assert problem.absolute
    assert problem.swap is not None
    assert problem.swap.tolist() == [-6, 4]


def test_other_expressions_of_effects_are_joint_over_their_sums() -> None:
    spec = StatisticSpec("expression", {"expression": "x1/(x1+0.5*x2) - x3/(x3+0.5*x4)"})
    stay, swap = [[3, 1, 2, 2], [2, 2, 2, 0]], [[2, 2, 3, 1], [2, 0, 2, 2]]
    problem = reduce(effects(stay, swap), spec)
    assert isinstance(problem, Joint)
    assert (problem.stay.tolist(), problem.swap.tolist()) == (stay, swap)
    (value,) = problem.function.values(list(np.array([[5], [3], [4], [2]])))
    assert value == pytest.approx(10 / 13 - 8 / 10)


@pytest.mark.parametrize(
    ("data", "text", "pointer", "code"),
    [
        (effects([1, 2]), "x2", "/statistic/expression", "unknown_name"),
        (effects([1, -1]), "1/x1", "/statistic/expression", "undefined_statistic"),
        (effects([[1, 2]], [1]), "x1", "/swap", "width_mismatch"),
        (effects([], []), "x1", "/stay", "empty"),
    ],
)
def test_effects_that_make_no_test_are_refused(data: Effects, text: str, pointer: str, code: str) -> None:
    with refused(code, pointer):
        reduce(data, StatisticSpec("expression", {"expression": text}))
