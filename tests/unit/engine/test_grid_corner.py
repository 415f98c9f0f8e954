"""A region that is a corner of the support: the tilt towards it has no end, and nothing is proven by it."""

from __future__ import annotations

import math

import numpy as np

from exactperm.engine.joint.form import joint_form
from exactperm.engine.joint.grid import dp, small
from exactperm.statistics.expression import parse
from exactperm.statistics.quantity import Formula
from exactperm.statistics.sum_function import FunctionOf


def test_a_tilt_that_grows_without_end_is_no_answer() -> None:
    groups = {(-2, -3): 5, (-1, -2): 1, (3, -1): 7, (-2, -4): 3, (1, -3): 2, (2, 0): 2}
    stay = np.array([step for step, count in groups.items() for _ in range(count)])
    form = joint_form(stay, -stay)
    function = FunctionOf(Formula(parse("(x1-x2)*(x1-x2)", ["x1", "x2"])))
    extreme = function.deciding(stay, -stay, "two-sided", 1e12)
    right = dp.probability(form, extreme)
    result = small.small_probability(form, extreme, right.log_p)
    assert math.isinf(result.relative_error_bound) or math.isclose(result.log_p, right.log_p, rel_tol=1e-9)
