"""Ranges of formulas over boxes of sums hold every value in the box, and nothing where one may be undefined."""

from __future__ import annotations

import itertools
from random import Random

import numpy as np
import pytest

from exactperm.engine.probability import Alternative
from exactperm.errors import InvalidTest
from exactperm.statistics.expression import parse
from exactperm.statistics.quantity import Formula
from exactperm.statistics.sum_function import FunctionOf, range_of
from tests.fuzz.expressions import small

SIDES: tuple[Alternative, ...] = ("greater", "less", "two-sided")


@pytest.mark.parametrize(
    "text", ["min(1/a, 3) + b", "abs(1/a) + b", "max(log(a), 1) + b", "exp(sqrt(a)) + b", "exp(-1/a) + b"]
)
def test_what_may_be_undefined_has_no_bounds(text: str) -> None:
    node = parse(text, ("a", "b"))
    found = range_of(node, [np.array([-2.0]), np.array([50.0])], [np.array([2.0]), np.array([60.0])])
    assert (found.low[0], found.high[0]) == (-np.inf, np.inf)


@pytest.mark.parametrize("start", range(40))
def test_boxes_are_settled_as_their_states_are(start: int) -> None:
    random = Random(start)
    for _ in range(10):
        case = small(random, rational=random.random() < 0.5)
        names = [f"x{index + 1}" for index in range(len(case.stay[0]))]
        try:
            function = FunctionOf(Formula(parse(case.expression, names)))
        except InvalidTest:
            continue
        low = [random.randint(-4, 3) for _ in names]
        high = [one + random.randint(0, 4) for one in low]
        states = np.array(list(itertools.product(*map(range, low, [one + 1 for one in high]))))
        observed = np.array([random.randint(-4, 8) for _ in names])
        box = [[np.array([float(end)]) for end in ends] for ends in (low, high)]
        for side in SIDES:
            yes, no = function.settled(box[0], box[1], observed, side)
            extreme = function.extreme(list(states.T), observed, side)
            assert not yes[0] or extreme.all(), (case.expression, low, high, observed, side)
            assert not no[0] or not extreme.any(), (case.expression, low, high, observed, side)
