"""Statistics of several sums: rank reduction, the grid, the direct sum, enumeration and sampling."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from exactperm.engine.joint import enumeration, methods, monte_carlo
from exactperm.engine.joint.form import JointForm, joint_form
from exactperm.engine.joint.grid import dp, grid, small
from exactperm.engine.lattice import Integers
from exactperm.engine.probability import Probability

Counts = NDArray[np.int64]


def f1(tp: int, incorrect: int) -> Fraction:
    """F1 of the paper (eq. 15), 0 when nothing is there."""
    return Fraction(2 * tp, 2 * tp + incorrect) if 2 * tp + incorrect else Fraction(0)


class DifferenceOfF1:
    """|F1(U) - F1(V)| >= the observed one, decided in exact integers."""

    def __init__(self, u: Counts, v: Counts) -> None:
        self.target = abs(f1(*map(int, u.sum(axis=0))) - f1(*map(int, v.sum(axis=0))))

    def __call__(self, sums: Sequence[Integers]) -> NDArray[np.bool_]:
        tp, wrong, other_tp, other_wrong = (column.astype(object) for column in sums)
        top = 2 * tp * (2 * other_tp + other_wrong) - 2 * other_tp * (2 * tp + wrong)
        below = (2 * tp + wrong) * (2 * other_tp + other_wrong)
        reached = abs(top) * self.target.denominator >= self.target.numerator * below
        return np.asarray(reached & (below > 0), dtype=bool) | self._empty(sums)

    def _empty(self, sums: Sequence[Integers]) -> NDArray[np.bool_]:
        """Where a system has nothing at all its F1 is 0, and the other's decides."""
        tp, wrong, other_tp, other_wrong = np.broadcast_arrays(*sums)
        empty = (2 * tp + wrong == 0) | (2 * other_tp + other_wrong == 0)
        result = np.zeros(empty.shape, dtype=bool)
        for index in zip(*np.nonzero(empty), strict=True):
            here = f1(int(tp[index]), int(wrong[index]))
            there = f1(int(other_tp[index]), int(other_wrong[index]))
            result[index] = abs(here - there) >= self.target
        return result


def workload(generator: np.random.Generator, items: int, gap: float) -> tuple[Counts, Counts]:
    """Counts (tp, incorrect) per item of two systems, U better by about `gap`."""
    gold = generator.integers(1, 6, items)
    u = np.stack([generator.binomial(gold, 0.8), generator.integers(0, 3, items)], axis=1)
    v = np.stack([generator.binomial(gold, max(0.8 - gap, 0.02)), generator.integers(0, 3, items)], axis=1)
    return u.astype(np.int64), v.astype(np.int64)


def swapped_form(u: Counts, v: Counts) -> JointForm:
    """The form of the paper's four sums."""
    return joint_form(np.hstack([u, v]), np.hstack([v, u]))


def exact_p(u: Counts, v: Counts) -> Fraction:
    """The p-value by a dynamic program over integer pairs: every way to reach every pair, in integers."""
    total = u.sum(axis=0) + v.sum(axis=0)
    target = abs(f1(*map(int, u.sum(axis=0))) - f1(*map(int, v.sum(axis=0))))
    ways = {(0, 0): 1}
    for stay, swap in zip(u.tolist(), v.tolist(), strict=True):
        following: dict[tuple[int, int], int] = {}
        for (tp, wrong), number in ways.items():
            for step in (stay, swap):
                state = (tp + step[0], wrong + step[1])
                following[state] = following.get(state, 0) + number
        ways = following
    extreme = sum(
        number
        for (tp, wrong), number in ways.items()
        if abs(f1(tp, wrong) - f1(int(total[0]) - tp, int(total[1]) - wrong)) >= target
    )
    return Fraction(extreme, 2 ** len(u))


def error_of(result: Probability, truth: Fraction) -> float:
    """Relative error of a reported p-value."""
    return abs(float(Fraction(result.p) / truth - 1))


def test_f1_equals_brute_force_over_all_swaps() -> None:
    generator = np.random.default_rng(14)
    for items in range(1, 11):
        u, v = workload(generator, items, 0.1)
        decide = DifferenceOfF1(u, v)
        inside = 0
        for signs in itertools.product((False, True), repeat=items):
            flip = np.array(signs)[:, None]
            one, other = np.where(flip, v, u).sum(axis=0), np.where(flip, u, v).sum(axis=0)
            inside += abs(f1(*map(int, one)) - f1(*map(int, other))) >= decide.target
        truth = Fraction(int(inside), 2**items)
        form = swapped_form(u, v)
        assert error_of(methods.exactly("grid", form, decide), truth) < 1e-9
        counted = methods.exactly("enumeration", form, decide)
        assert counted.fraction is not None
        assert Fraction(counted.fraction[0], 2 ** counted.fraction[1]) == truth


@pytest.mark.slow
@pytest.mark.parametrize("gap", [0.0, 0.05, 0.3, 0.78])
def test_f1_agrees_with_the_integer_dynamic_program_up_to_200_items(gap: float) -> None:
    generator = np.random.default_rng(int(1000 * gap))
    for items in (17, 60, 200):
        u, v = workload(generator, items, gap)
        truth = exact_p(u, v)
        form, decide = swapped_form(u, v), DifferenceOfF1(u, v)
        for result in (grid.probability(form, decide), dp.probability(form, decide)):
            assert error_of(result, truth) < 1e-9
            assert error_of(result, truth) <= result.relative_error_bound


def test_the_tilted_grid_keeps_its_digits_where_the_direct_sum_is_too_large() -> None:
    generator = np.random.default_rng(8)
    u, v = workload(generator, 300, 0.45)
    form, decide = swapped_form(u, v), DifferenceOfF1(u, v)
    direct = dp.probability(form, decide)
    assert direct.p < 1e-9
    tilted = small.small_probability(form, decide, math.log(1e-9))
    assert abs(tilted.p / direct.p - 1) < 1e-8
    assert abs(tilted.p / direct.p - 1) <= tilted.relative_error_bound + direct.relative_error_bound


def test_the_paper_s_four_sums_of_f1_have_rank_two_and_shared_references_rank_one() -> None:
    generator = np.random.default_rng(2)
    u, v = workload(generator, 50, 0.1)
    assert swapped_form(u, v).rank == 2
    words = generator.integers(3, 9, 50)
    errors_u, errors_v = generator.integers(0, 4, (2, 50))
    with_words = [np.stack([errors, words], axis=1) for errors in (errors_u, errors_v)]
    assert swapped_form(*with_words).rank == 1
    assert swapped_form(with_words[0], with_words[0]).rank == 0


def test_every_state_that_swaps_can_reach_is_on_the_reduced_lattice() -> None:
    generator = np.random.default_rng(3)
    for _ in range(50):
        items, sums = int(generator.integers(1, 9)), int(generator.integers(1, 5))
        stay = generator.integers(-4, 5, (items, sums)) * 2
        swap = generator.integers(-4, 5, (items, sums)) * 2
        form = joint_form(stay, swap)
        reached = sorted(
            tuple(np.where(np.array(signs)[:, None], swap, stay).sum(axis=0).tolist())
            for signs in itertools.product((False, True), repeat=items)
        )
        coordinates, ways = enumeration.listed(form)
        repeats = ways * 2 ** (items - form.nonzero)
        listed = sorted(
            tuple(state)
            for state, number in zip(form.states(coordinates).tolist(), repeats.tolist(), strict=True)
            for _ in range(number)
        )
        assert listed == reached


def test_sampling_by_items_and_by_groups_follow_the_exact_probability() -> None:
    generator = np.random.default_rng(5)
    for items, values in ((40, 40), (2000, 2)):
        u = generator.integers(0, values, (items, 3))
        v = generator.integers(0, values, (items, 3))
        form = joint_form(np.hstack([u, v]), np.hstack([v, u]))
        states = np.concatenate(list(monte_carlo.draws(form, 40_000, 1)))
        total = (u.sum(axis=0) + v.sum(axis=0)) / 2
        spread = np.sqrt((((u - v) / 2) ** 2).sum(axis=0))
        assert np.all(np.abs(states[:, :3].mean(axis=0) - total) < 5 * spread / math.sqrt(40_000))
        assert np.allclose(states[:, :3].std(axis=0) / spread, 1.0, atol=0.02)
        assert np.all(states[:, :3] + states[:, 3:] == u.sum(axis=0) + v.sum(axis=0))


def test_a_seed_gives_the_same_sample_however_many_samples_follow() -> None:
    generator = np.random.default_rng(6)
    u, v = generator.integers(0, 9, (2, 30, 2))
    form = swapped_form(u, v)
    short = np.concatenate(list(monte_carlo.draws(form, 5_000, 7)))
    long = np.concatenate(list(monte_carlo.draws(form, 20_000, 7)))
    assert np.array_equal(short, long[:5_000])


def test_three_sums_are_solved_on_a_grid_of_rank_three() -> None:
    generator = np.random.default_rng(9)
    u, v = generator.integers(0, 3, (2, 9, 3))
    form = joint_form(np.hstack([u, v]), np.hstack([v, u]))
    assert form.rank == 3

    def product(sums: Sequence[Integers]) -> NDArray[np.bool_]:
        return np.asarray(np.abs(sums[0] * sums[1] - sums[2] * sums[3]) >= observed)

    start = u.sum(axis=0).tolist() + v.sum(axis=0).tolist()
    observed = abs(start[0] * start[1] - start[2] * start[3])
    counted = enumeration.probability(form, lambda states: product(list(states.T)))
    for result in (grid.probability(form, product), dp.probability(form, product)):
        assert abs(result.p / counted.p - 1) < 1e-11
