"""Bases of difference lattices in exact integers, the integers of `dp`, and which frequencies of a grid matter."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from exactperm.engine.joint import enumeration, law as joint_law
from exactperm.engine.joint.form import JointForm, joint_form
from exactperm.engine.joint.grid import dp, grid, spectrum
from exactperm.engine.joint.grid.box import Extreme, bounding_box
from exactperm.engine.joint.grid.price import box_of, grid_cost
from exactperm.engine.joint.grid.product import products
from exactperm.engine.joint.grid.screening import log_below, retained
from exactperm.engine.joint.lattice import columns_of, lattice_of
from exactperm.engine.joint.tilt import tilted, untilted
from exactperm.engine.lattice import Integers, LatticeOverflowError


@pytest.mark.parametrize("size", [3, 100, 10**4, 10**7, 10**10, 10**13])
def test_coordinates_times_basis_are_the_differences_or_there_is_no_basis(size: int) -> None:
    draw = np.random.default_rng(size)
    reduced = 0
    for _ in range(40):
        rows, width = int(draw.integers(1, 9)), int(draw.integers(1, 6))
        table = np.unique(draw.integers(-size, size + 1, (rows, width)), axis=0)
        if draw.random() < 0.5:
            # More vectors than dimensions: combinations of the first few.
            table = np.unique(draw.integers(-2, 3, (rows + 4, len(table[:3]))) @ table[:3], axis=0)
        table = table[table.any(axis=1)]
        if not len(table):
            continue
        result = lattice_of(table, np.ones(len(table), dtype=np.int64))
        if result is not None:
            reduced += 1
            exact = result.vectors.astype(object) @ result.basis.astype(object)
            assert (exact == table.astype(object)).all()
            assert result.vectors.shape[1] == np.linalg.matrix_rank(table.astype(np.float64))
    assert reduced or size > 10**10


def test_independent_vectors_are_their_own_basis() -> None:
    table = np.array([[10**9, 7, 3], [5, 10**12, 1]])
    result = lattice_of(table, np.array([1, 4]))
    assert result is not None
    assert result.vectors.tolist() == [[1, 0], [0, 1]]


def test_the_reduced_box_of_correlated_sums_is_far_smaller_than_that_of_the_sums() -> None:
    draw = np.random.default_rng(2)
    one = draw.integers(-40, 41, 300)
    table = np.stack([one, 50 * one + draw.integers(-3, 4, 300)], axis=1)
    form = joint_form(table, np.zeros_like(table))
    plain = math.prod(int(np.abs(column).sum()) for column in table.T)
    assert math.prod((form.high - form.low + 1).tolist()) < plain / 20


def test_columns_are_told_apart_by_more_than_their_sign() -> None:
    table = np.array([[1, -1, 0, 2, 1], [-3, 3, 0, 5, -3]])
    result = columns_of(table)
    assert result.table.shape == (2, 2)
    assert (result.sign * result.table[:, result.index] == table).all()


def test_the_observed_sums_are_a_point_of_the_lattice() -> None:
    draw = np.random.default_rng(4)
    for _ in range(60):
        size = 10 ** int(draw.integers(1, 12))
        stay, swap = draw.integers(-size, size + 1, (2, int(draw.integers(1, 8)), int(draw.integers(1, 6))))
        form = joint_form(stay, swap)
        assert form.states(form.observed[None, :])[0].tolist() == stay.sum(axis=0).tolist()


def test_sums_beyond_an_int64_are_refused() -> None:
    huge = np.array([[2**59, 1], [2**59, 1], [2**59, 2]])
    with pytest.raises(LatticeOverflowError):
        joint_form(huge, -huge)


def product_of(observed: Sequence[int]) -> Extreme:
    """|x1 x2| >= the observed one."""
    least = abs(int(observed[0]) * int(observed[1]))

    def extreme(sums: Sequence[Integers]) -> NDArray[np.bool_]:
        return np.asarray(np.abs(sums[0] * sums[1]) >= least)

    return extreme


def counted(stay: Integers, swap: Integers) -> Fraction:
    """P(|x1 x2| >= the observed one) by a dynamic program in Python integers."""
    ways = {(0, 0): 1}
    for one, other in zip(stay.tolist(), swap.tolist(), strict=True):
        following: dict[tuple[int, int], int] = {}
        for (x, y), number in ways.items():
            for step in (one, other):
                state = (x + step[0], y + step[1])
                following[state] = following.get(state, 0) + number
        ways = following
    least = abs(int(stay[:, 0].sum()) * int(stay[:, 1].sum()))
    inside = sum(number for (x, y), number in ways.items() if abs(x * y) >= least)
    return Fraction(inside, 2 ** len(stay))


@pytest.mark.parametrize("items", [20, 53, 54, 62, 63, 130])
def test_dp_counts_in_integers_at_any_number_of_items(items: int) -> None:
    draw = np.random.default_rng(items)
    stay, swap = draw.integers(-1, 3, (2, items, 2))
    form = joint_form(stay, swap)
    result = dp.fraction(form, product_of(stay.sum(axis=0).tolist()))
    assert result.fraction is not None
    assert Fraction(result.fraction[0], 2 ** result.fraction[1]) == counted(stay, swap)


def test_a_small_product_over_the_grid_agrees_with_single_frequencies_within_both_bounds() -> None:
    draw = np.random.default_rng(5)
    for theta in (0.0, 0.02):
        for width in (1, 2, 3):
            stay, swap = draw.integers(0, 4, (2, 24, width))
            form = joint_form(stay, swap)
            law = tilted(form, np.full(width, theta)) if theta else untilted(form)
            box = bounding_box(form, law, 1e-17)
            half = (*box.shape[:-1], box.shape[-1] // 2 + 1)
            ones = np.ones(half[-1])
            whole = products(form, law, box.shape, log_below(math.prod(half)), ones)
            flat = np.arange(math.prod(half))
            apart, relative = spectrum._apart(form, law, box.shape, half, flat)
            off = float(np.linalg.norm(whole.values.reshape(-1) - apart))
            assert off <= whole.error + relative * float(np.linalg.norm(apart))
            assert off < 1e-12


@pytest.mark.slow
def test_frequencies_that_are_left_out_are_negligible() -> None:
    draw = np.random.default_rng(6)
    for items, top, width in ((400, 3, 2), (150, 12, 2), (250, 2, 3)):
        stay, swap = draw.integers(0, top + 1, (2, items, width))
        form = joint_form(stay, swap)
        law, box = untilted(form), box_of(form)
        half = (*box.shape[:-1], box.shape[-1] // 2 + 1)
        flat = retained(form, law, box.shape, half, math.prod(half))
        assert flat is not None
        assert len(flat) < math.prod(half)
        left_out = np.setdiff1d(np.arange(math.prod(half)), flat)
        some = np.sort(draw.choice(left_out, min(len(left_out), 20_000), replace=False))
        values, _ = spectrum._apart(form, law, box.shape, half, some)
        assert float(np.abs(values).max()) < math.exp(-log_below(math.prod(half)))


def test_few_items_on_a_large_grid_are_priced_by_the_frequencies_that_stay() -> None:
    draw = np.random.default_rng(7)
    stay, swap = draw.integers(0, 21, (2, 30, 3))
    form = joint_form(stay, swap)
    cells = box_of(form).cells
    nanoseconds, held = grid_cost(form, 20.0)
    # All frequencies of the half grid, each times all groups, at a nanosecond at the least.
    assert nanoseconds > 0.5 * cells * len(form.counts)
    assert held > 8 * cells


def test_the_picture_takes_its_frequencies_from_the_p_value(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = np.random.default_rng(8)
    stay, swap = draw.integers(0, 9, (2, 80, 2))
    form = joint_form(stay, swap)
    computed: list[object] = []
    once = spectrum._frequencies

    def count(*wanted: object) -> spectrum.Frequencies:
        computed.append(wanted)
        return once(*wanted)  # type: ignore[arg-type]

    monkeypatch.setattr(spectrum, "_frequencies", count)
    grid.probability(form, product_of(stay.sum(axis=0).tolist()))
    look = joint_law.plan_law(form, 10.0, 20.0, gridded=True)
    assert look.way == "box"
    values, masses = joint_law.law_of(form, lambda sums: (sums[0] * sums[1]).astype(np.float64), look, 0)
    assert len(computed) == 1
    assert abs(float(masses.sum()) - 1.0) < 1e-9
    assert len(values) == len(masses)


def test_blocks_of_enumeration_cover_every_choice_once() -> None:
    draw = np.random.default_rng(9)
    for items, repeats in ((17, 1), (3, 40), (1, 5000)):
        rows = draw.integers(-5, 6, (items, 9)) * 2 + 1
        stay = np.repeat(rows, repeats, axis=0)
        form = joint_form(stay, np.zeros_like(stay))
        result = enumeration.probability(form, lambda states: np.ones(len(states), dtype=bool))
        assert result.fraction == (1, 0)


def brute_form() -> JointForm:
    """Three vectors whose normal form has entries beyond an int64."""
    draw = np.random.default_rng(10)
    return joint_form(*draw.integers(0, 10**9, (2, 3, 6)))


def test_a_form_of_huge_determinant_lists_its_own_states() -> None:
    form = brute_form()
    coordinates, _ = enumeration.listed(form)
    assert form.states(form.observed[None, :])[0].tolist() in form.states(coordinates).tolist()
