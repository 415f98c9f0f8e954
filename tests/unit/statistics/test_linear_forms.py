"""A formula over the values of its linear forms: the same values, from fewer sums."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from exactperm.statistics.decisions import exact_value
from exactperm.statistics.expression import parse
from exactperm.statistics.joint_problem import Joint
from exactperm.statistics.linear_forms import in_linear_forms
from exactperm.statistics.paired import Counts, Effects, StatisticSpec
from exactperm.statistics.quantity import Formula
from exactperm.statistics.reducers import reduce
from exactperm.statistics.sum_function import FunctionOf

EXPRESSIONS = {
    "2 * x1 / (2 * x1 + x2 + x3)": 2,
    "(x1 + x2) * (x2 + x1) - 3 * (x1 + x2)": 1,
    "(x1 + x2 + x3) / (x4 + x5)": 2,
    "(x1 - x2) / (x2 - x1) + abs(2 * x2 - 2 * x1)": 1,
    "log(x1 + 2 * x2 + 1) / (3 + x3 - x4)": 2,
    "(x1 + x2) / 7 - x1 / (x1 + x2)": 2,
    "x1 / x2": 2,
    "(x1 + x2) * (x1 - x2)": 2,
}


def problem_of(text: str, rows: int = 6) -> Joint:
    draw = np.random.default_rng(len(text))
    width = max(int(part[0]) for part in text.split("x")[1:])
    stay, swap = draw.integers(1, 30, (2, rows, width))
    found = reduce(Effects(stay, swap), StatisticSpec("expression", {"expression": text}))
    if not isinstance(found, Joint):
        node = parse(text, [f"x{index + 1}" for index in range(width)])
        found = Joint(text, stay, swap, FunctionOf(Formula(node)), rows)
    return found


@pytest.mark.parametrize(("text", "sums"), EXPRESSIONS.items())
def test_a_formula_over_its_forms_has_the_same_exact_values(text: str, sums: int) -> None:
    problem = problem_of(text)
    reduced = in_linear_forms(problem)
    assert np.linalg.matrix_rank(reduced.stay) <= sums
    assert isinstance(problem.function, FunctionOf)
    assert isinstance(reduced.function, FunctionOf)
    for before, after in zip((problem.stay, problem.swap), (reduced.stay, reduced.swap), strict=True):
        for row, values in zip(before.tolist(), after.tolist(), strict=True):
            one, other = (
                exact_value(problem.function.quantity, row),
                exact_value(reduced.function.quantity, values),
            )
            assert str(one) == str(other)
            if isinstance(one, Fraction):
                assert one == other


def test_f1_of_tp_fp_fn_depends_on_two_sums_of_each_system() -> None:
    draw = np.random.default_rng(1)
    names = ("tp", "fp", "fn")
    u, v = ({name: draw.integers(0, 40, 9) for name in names} for _ in range(2))
    for name in ("f1", "jaccard", "fbeta"):
        problem = reduce(Counts(u, v), StatisticSpec(name, {"beta": 2.0} if name == "fbeta" else {}))
        assert isinstance(problem, Joint)
        assert problem.stay.shape == (9, 6)
        assert in_linear_forms(problem).stay.shape == (9, 4)


def test_sums_that_are_their_own_forms_are_left_alone() -> None:
    problem = problem_of("x1 / x2 - x3 * x4")
    assert in_linear_forms(problem) is problem


def test_forms_whose_sums_would_not_fit_are_left_alone() -> None:
    stay = np.full((2, 3), 2**50, dtype=np.int64)
    node = parse("(x1 + x2 + x3) * (1024 * (x1 + x2 + x3) + 1)", ["x1", "x2", "x3"])
    huge = parse("x1 / (1024 * x1 + 1023 * x2 + 1021 * x3)", ["x1", "x2", "x3"])
    assert in_linear_forms(Joint("", stay, -stay, FunctionOf(Formula(node)), 2)).stay.shape == (2, 1)
    problem = Joint("", stay, -stay, FunctionOf(Formula(huge)), 2)
    assert in_linear_forms(problem) is problem
