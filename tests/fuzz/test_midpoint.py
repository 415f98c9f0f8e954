"""Brackets of smooth statistics about their midpoint, against every swap."""

from __future__ import annotations

import math
from random import Random

import numpy as np
from hypothesis import given, strategies as st
from numpy.typing import NDArray

from exactperm.answers.test import Alternative
from exactperm.engine.plan import Budget, EngineError
from exactperm.errors import InvalidTest
from exactperm.inference.options import Options
from exactperm.inference.paired import run_test
from exactperm.statistics.midpoint import Strip
from exactperm.statistics.problems import Joint
from exactperm.statistics.reducers import reduce
from exactperm.statistics.remainder import Remainder, midpoint_of
from tests.fuzz.amount import GENERATED, examples
from tests.fuzz.midpoint_cases import midpoint_case, p_values


@examples(100)
@given(st.integers(0, 2**63))
def test_no_bracket_leaves_out_the_truth(seed: int) -> None:
    chance = Random(seed)
    case = midpoint_case(chance)
    side: Alternative = chance.choice(("two-sided", "greater", "less"))
    try:
        observed, values = case.differences()
    except (ZeroDivisionError, ValueError):
        return  # a swap without a value, which only the shared item prevents elsewhere
    GENERATED["midpoint cases"] += 1
    try:
        record = run_test(
            case.data, case.spec, Options(method="bounds", alternative=side, pmf="none"), Budget()
        )
    except (InvalidTest, EngineError):
        GENERATED["midpoint cases without a bracket"] += 1
        return
    least, greatest = p_values(observed, values, side)
    low, high = record.p_value_bounds
    if record.method.name == "bounds" and high < 0.9 and low > 0.0:
        GENERATED["midpoint cases with a bracket that says something"] += 1
    assert low <= greatest, (seed, low, greatest)
    assert high >= least, (seed, high, least)


@examples(100)
@given(st.integers(0, 2**63))
def test_no_more_swaps_than_proven_are_farther_from_the_linear_part(seed: int) -> None:
    """Bounds from almost nothing, which most swaps break, to those that none of these few can break."""
    chance = Random(seed)
    case = midpoint_case(chance)
    try:
        problem = reduce(case.data, case.spec)
    except InvalidTest:
        return
    midpoint = midpoint_of(problem) if isinstance(problem, Joint) else None
    log_odds = chance.choice((0.5, 1.0, 2.0, 3.0, 5.0, 8.0, 20.0))
    found = None if midpoint is None else midpoint.remainder(log_odds)
    if midpoint is None or found is None:
        return
    try:
        _, values = case.differences()
    except (ZeroDivisionError, ValueError):
        return
    GENERATED["remainders"] += 1
    moving = midpoint.differences[np.any(midpoint.differences, axis=1)]
    signs = 1 - 2 * np.array(np.meshgrid(*[[0, 1]] * len(moving), indexing="ij")).reshape(len(moving), -1)
    line = (found.slope @ moving.T @ signs) / 2.0
    t = np.array(values)
    off = _beyond(found, line, t)
    assert off.mean() <= math.exp(found.reaches.log_outside), (seed, off.mean(), found)
    if off.any():
        GENERATED["remainders that some swaps exceed"] += 1
    # Between two planes: any line, and of it those swaps that stay below one of its values.
    form = found.slope if chance.random() < 0.7 else np.array([chance.gauss(0.0, 1.0) for _ in found.slope])
    heights = np.abs(form @ moving.T @ signs) / 2.0
    most = float(chance.choice(np.unique(heights))) * chance.choice((1.0, 1.001))
    inside = midpoint.remainder(log_odds, Strip(form, most, midpoint.spread))
    if inside is None:
        return
    GENERATED["remainders in a strip"] += 1
    line = (inside.slope @ moving.T @ signs) / 2.0
    off = _beyond(inside, line, t) & (heights <= most)
    assert off.mean() <= math.exp(inside.reaches.log_outside), (seed, off.mean(), inside)
    if np.array_equal(inside.slope, found.slope) and inside.absolute < 0.5 * found.absolute:
        GENERATED["remainders that a strip halves"] += 1


def _beyond(found: Remainder, line: NDArray[np.float64], t: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which swaps are farther from the line than they should be; floats of the test are a little off as well."""
    allowed = found.relative * np.abs(line) + found.absolute + 1e-12 * (1.0 + np.abs(t))
    return np.asarray(np.abs(t / 2.0 - line) > allowed)
