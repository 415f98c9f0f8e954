"""How far a difference of scores is from its linear part: sharp where it is known, and no bounds where there are none."""

from __future__ import annotations

import math

import numpy as np
import pytest

from exactperm.engine.rademacher import reach, reach_of_squares
from exactperm.statistics.expression import parse
from exactperm.statistics.joint_problem import Joint
from exactperm.statistics.paired import Counts, Pairing, StatisticSpec
from exactperm.statistics.reducers import reduce
from exactperm.statistics.reduction import difference_of_scores
from exactperm.statistics.remainder.remainder import Midpoint, midpoint_of


def midpoint(text: str, u: list[list[int]], v: list[list[int]]) -> Midpoint:
    names = ("a", "b", "c")[: len(u[0])]
    problem = difference_of_scores("expression", parse(text, names), np.array(u), np.array(v), Pairing())
    assert isinstance(problem, Joint)
    found = midpoint_of(problem)
    assert found is not None
    return found


@pytest.mark.parametrize("items", [1, 2, 5, 12])
@pytest.mark.parametrize("log_odds", [0.1, 0.7, 1.5, 3.0, 6.0, 12.0])
def test_sums_of_signs_reach_no_farther_than_proven(items: int, log_odds: float) -> None:
    generator = np.random.default_rng(items)
    signs = 1 - 2 * np.array(np.meshgrid(*[[0, 1]] * items, indexing="ij")).reshape(items, -1)
    for effects in (np.ones(items), generator.random(items), 2.0 ** -np.arange(items)):
        sums = np.abs(effects @ signs)
        beyond = sums > reach(log_odds) * np.linalg.norm(effects)
        assert beyond.mean() <= math.exp(-log_odds)
        forms = np.stack([effects, np.roll(effects, 1) * generator.choice((-1.0, 1.0), items)])
        squares = ((forms @ signs) ** 2).sum(axis=0)
        assert (squares > reach_of_squares(forms @ forms.T, 0.0, log_odds)).mean() <= math.exp(-log_odds)


def test_the_reach_is_nearly_that_of_the_normal_law() -> None:
    """P(|Z| >= 4.06) is 5e-5: a third of what is allowed for, and at the most that."""
    assert reach(math.log(1 / 1.57e-4)) == pytest.approx(4.06, abs=0.01)


def test_the_remainder_of_a_ratio_is_sharp() -> None:
    """f(m + s) - f(m - s) of a / b is L / (1 - beta**2), beta the relative deviation of b: known in closed form."""
    u, v = [[500, 1000], [3, 7], [2, 5]], [[500, 1000], [1, 4], [4, 9]]
    about = midpoint("a / b", u, v)
    found = about.remainder(math.log(100.0))
    assert found is not None
    half = 0.5 * np.array([[2, 3], [-2, -4]])
    most = reach(math.log(100.0)) * np.linalg.norm(half[:, 1]) / (1000 + (7 + 4 + 5 + 9) / 2)
    assert found.relative == pytest.approx(most**2 / (1 - most**2), rel=1e-5)
    assert found.absolute < 1e-12


@pytest.mark.parametrize(
    ("text", "u", "v"),
    [
        ("a / b", [[1, 2], [0, 3]], [[2, 1], [1, 0]]),  # b may be zero
        ("log(a) / b", [[1, 20], [0, 20]], [[2, 20], [3, 21]]),
        ("sqrt(a - 3) / b", [[1, 20], [3, 20]], [[2, 20], [3, 21]]),
    ],
)
def test_there_are_no_bounds_where_a_value_may_be_missing(
    text: str, u: list[list[int]], v: list[list[int]]
) -> None:
    assert midpoint(text, u, v).remainder(math.log(1e4)) is None


def test_a_corner_may_be_crossed_and_costs_what_it_is_off_by() -> None:
    rows = 4 * [[3, 0], [0, 2]]
    u, v = [[5_000, 5_000], *rows], [[5_000, 5_000], *[row[::-1] for row in rows]]
    about = midpoint("min(a / b, 1)", u, v)
    found = about.remainder(math.log(100.0))
    assert found is not None
    plain = midpoint("a / b", u, v).remainder(math.log(100.0))
    assert plain is not None
    # Half of the line, as the corner is at the midpoint.
    np.testing.assert_allclose(found.slope, plain.slope / 2.0, rtol=1e-2)
    far = midpoint("min(a / b, 2)", u, v).remainder(math.log(100.0))
    assert far is not None
    np.testing.assert_allclose(far.slope, plain.slope, rtol=1e-12)


def test_bleu_without_matches_has_no_bounds() -> None:
    names = (
        "sys_len",
        "ref_len",
        *(f"correct_{n}" for n in range(1, 5)),
        *(f"total_{n}" for n in range(1, 5)),
    )
    u, v = (
        {name: np.array([size]) for name, size in zip(names, row, strict=True)}
        for row in ((9, 9, 5, 3, 1, 0, 9, 8, 7, 6), (9, 9, 4, 3, 1, 0, 9, 8, 7, 6))
    )
    problem = reduce(Counts(u, v), StatisticSpec("bleu"))
    assert isinstance(problem, Joint)
    assert midpoint_of(problem) is None
