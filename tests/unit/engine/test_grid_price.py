"""The grid keeps to its price: in transforms, in states that are decided, in additions and in bytes; and stays right."""

from __future__ import annotations

import math
import tracemalloc
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from exactperm.engine.joint import planner
from exactperm.engine.joint.form import JointForm, joint_form
from exactperm.engine.joint.grid import dp, grid, small, sum as grid_sum, tilted
from exactperm.engine.joint.grid.allowance import Allowance
from exactperm.engine.joint.grid.box import Extreme
from exactperm.engine.joint.grid.price import allowance_of, deep_price, transform_price
from exactperm.engine.lattice import Integers
from tests.fuzz.deep_cases import log_binomial

# Both are allowed whatever was planned.
FLOOR_NS = 1e8


def ring(items: int, far: float) -> tuple[JointForm, Extreme]:
    """x^2 + y^2 at least as observed, of +-1 steps: a region all round the mean."""
    generator = np.random.default_rng(items)
    shares = 0.5 + 0.5 * far * np.array([math.cos(1.0), math.sin(1.0)])
    stay = np.where(generator.random((items, 2)) < shares, 1, -1).astype(np.int64)
    aim = int((stay.sum(axis=0) ** 2).sum())

    def extreme(sums: Sequence[Integers]) -> NDArray[np.bool_]:
        return np.asarray(sums[0] * sums[0] + sums[1] * sums[1] >= aim)

    return joint_form(stay, -stay), extreme


@pytest.fixture
def transformed(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Predicted nanoseconds of every tilted transform that is really done."""
    done: list[float] = []
    plain = grid_sum.run_sum

    def counted(form: JointForm, law: Any, box: Any, runs: Any) -> tuple[float, float, float]:
        done.append(transform_price(form, law, box)[0])
        return plain(form, law, box, runs)

    monkeypatch.setattr(tilted, "run_sum", counted)
    return done


@pytest.mark.parametrize("items", [1_000, 2_000, 3_000])
@pytest.mark.parametrize("far", [0.2, 0.4, 0.8])
def test_a_ring_takes_no_more_transforms_than_some_times_the_plan(
    transformed: list[float], items: int, far: float
) -> None:
    """The grid proved nothing after 1.2 to 1.8 s where 0.2 were planned."""
    form, extreme = ring(items, far)
    small.small_probability(form, extreme, -39.0)
    assert sum(transformed) <= 3.0 * max(deep_price(form).transforms, FLOOR_NS)


def test_an_allowance_that_is_spent_ends_the_search(transformed: list[float]) -> None:
    form, extreme = ring(1_000, 0.3)
    assert math.isinf(
        small.small_probability(form, extreme, -39.0, None, Allowance(0.0)).relative_error_bound
    )
    assert transformed == []
    nothing = small.small_probability(form, extreme, -39.0, None, Allowance(math.inf, 10.0))
    assert math.isinf(nothing.relative_error_bound)
    assert transformed == []


@pytest.mark.parametrize(("items", "far"), [(300, 0.2), (600, 0.2), (300, 0.7), (300, 0.9)])
def test_what_a_ring_proves_is_its_probability(items: int, far: float) -> None:
    """Items whose steps agree and those whose steps differ are two independent binomials: no code of the engine's."""
    form, extreme = ring(items, far)
    result = small.small_probability(form, extreme, -39.0, None, Allowance())
    agreeing, differing = sorted(form.counts.tolist())
    logs = [log_binomial(count).astype(np.float64) for count in (agreeing, differing)]
    one, other = (2 * np.arange(count + 1) - count for count in (agreeing, differing))
    inside = extreme([one[:, None] + other[None, :], one[:, None] - other[None, :]])
    both = (logs[0][:, None] + logs[1][None, :])[inside]
    truth = float(both.max()) + math.log(math.fsum(np.exp(both - both.max()).tolist()))
    assert result.relative_error_bound <= 1e-6
    assert abs(result.log_p - truth) <= result.relative_error_bound + 1e-9


def test_mirror_images_are_solved_once_and_give_what_both_give(
    transformed: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    form, extreme = ring(600, 0.2)
    once = small.small_probability(form, extreme, -39.0, None, Allowance())
    number = len(transformed)
    monkeypatch.setattr(small, "_mirror_images", lambda form, lobes: False)
    both = small.small_probability(form, extreme, -39.0, None, Allowance())
    assert len(transformed) > 2 * number
    assert abs(once.log_p - both.log_p) <= once.relative_error_bound + both.relative_error_bound <= 1e-6


def test_lobes_that_are_no_mirror_images_are_both_solved() -> None:
    """|x| large on one side and |x| larger on the other, y free: the sum of two tails of one binomial."""
    items = 1_000
    stay = np.ones((items, 2), dtype=np.int64)
    stay[:, 1] = np.where(np.arange(items) % 2, 1, -1)
    form = joint_form(stay, -stay)

    def extreme(sums: Sequence[Integers]) -> NDArray[np.bool_]:
        return np.asarray(np.broadcast_to((sums[0] >= 300) | (sums[0] <= -302), np.broadcast(*sums).shape))

    result = small.small_probability(form, extreme, -39.0)
    upper = sum(math.comb(items, k) for k in range(650, items + 1))
    lower = sum(math.comb(items, k) for k in range(350))
    truth = Fraction(upper + lower, 2**items)
    log_truth = math.log(truth.numerator) - math.log(truth.denominator)
    assert result.relative_error_bound <= 1e-6
    assert abs(result.log_p - log_truth) <= result.relative_error_bound + 1e-12


def test_the_grid_does_not_add_up_directly_what_it_did_not_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    """900 items and one giant: 23 s of additions followed a transform of 0.3 s that proved nothing."""
    generator = np.random.default_rng(3)
    stay = generator.integers(0, 3, (900, 2))
    stay[0] = (10**6, 3)
    form = joint_form(stay, np.zeros_like(stay))
    assert dp.operations(form) > 400_000_000

    def additions(form: JointForm, extreme: Extreme) -> None:
        raise AssertionError("added up directly")

    monkeypatch.setattr(dp, "probability", additions)
    monkeypatch.setattr(grid, "small_probability", lambda *_: small.UNPROVEN)

    def none(sums: Sequence[Integers]) -> NDArray[np.bool_]:
        return np.zeros(np.broadcast(*sums).shape, dtype=bool)

    assert math.isinf(grid.probability(form, none).relative_error_bound)


def test_dp_holds_no_more_than_its_price_says() -> None:
    """Python's numbers of all cells took five times the array."""
    stay = np.zeros((70, 2), dtype=np.int64)
    stay[:, 0], stay[:, 1] = 1 + np.arange(70) % 3, np.arange(70) % 40
    form = joint_form(stay, np.zeros_like(stay))
    costs = {cost.method: cost for cost in planner.costs(form, 10, 10.0)}

    def every(sums: Sequence[Integers]) -> NDArray[np.bool_]:
        return np.ones(np.broadcast(*sums).shape, dtype=bool)

    tracemalloc.start()
    try:
        result = dp.probability(form, every)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert result.log_p == pytest.approx(0.0, abs=1e-12)
    assert peak <= costs["dp"].bytes


def test_what_is_allowed_is_some_times_the_plan() -> None:
    form, _ = ring(3_000, 0.5)
    deep, allowed = deep_price(form), allowance_of(form)
    assert deep.transforms < allowed.nanoseconds <= 3.0 * max(deep.transforms, FLOOR_NS)
    assert deep.states < allowed.states
