"""Plans and prices."""

import itertools
import math
import tracemalloc
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.typing import NDArray

from exactperm.engine.joint import planner
from exactperm.engine.joint.form import JointForm, joint_form
from exactperm.engine.joint.grid import dp as grid_dp, grid, small, sum as grid_sum
from exactperm.engine.joint.grid.box import Extreme
from exactperm.engine.joint.grid.price import Allowance, allowance_of, deep_price, transform_price
from exactperm.engine.lattice import CanonicalForm, Integers, canonical_form
from exactperm.engine.one_sum import dp, enumeration, fft, methods
from exactperm.engine.one_sum.heavy_weights import window_length
from exactperm.engine.one_sum.methods import (
    EXACT_METHODS,
    FRACTION_METHODS,
    METHODS,
    cheapest_fraction,
    costs,
    plan,
)
from exactperm.engine.one_sum.spectrum import frequencies, spectrum
from exactperm.engine.one_sum.tilt import tilt_at
from exactperm.engine.plan import (
    Budget,
    Cost,
    FractionOverBudget,
    MethodDoesNotApply,
    NothingFits,
    OverBudget,
    TooManySteps,
    choose,
)
from exactperm.engine.probability import Alternative, Probability, Region, region
from tests.fuzz.test_deep_tails import log_binomial

# The planner: predictions before anything is allocated, what is refused, what is chosen.


PLENTY = Budget()


def posed(stay: list[int], alternative: Alternative = "two-sided") -> tuple[CanonicalForm, Region]:
    form = canonical_form(np.array(stay, dtype=np.int64))
    return form, region(form, sum(stay), alternative)


def by_method(stay: list[int], samples: int = 20_000) -> dict[str, Cost]:
    return {cost.method: cost for cost in costs(*posed(stay), samples)}


def random_stay(n: int, top: int) -> list[int]:
    values: list[int] = (np.random.default_rng(n).integers(1, top, n) * np.array([1, 1, -1] * n)[:n]).tolist()
    return values


@given(st.lists(st.integers(-(10**9), 10**9), min_size=0, max_size=60), st.integers(1, 10**7))
def test_predictions_are_positive_python_integers(stay: list[int], samples: int) -> None:
    for cost in costs(*posed(stay), samples):
        assert (type(cost.operations), type(cost.bytes)) == (int, int)
        assert cost.operations > 0
        assert cost.bytes >= 0
        assert cost.seconds > 0


@pytest.mark.parametrize("method", ["fft", "dp", "rational", "monte_carlo"])
def test_more_items_are_never_predicted_to_cost_less(method: str) -> None:
    """The same eight weights, a thousand items to a thousand million; no data of that size exists."""
    predicted = []
    for each in (125, 1_250, 125_000, 125_000_000):
        weights = np.arange(1, 9, dtype=np.int64)
        form = CanonicalForm(0, 1, weights, np.full(8, each, dtype=np.int64), 8 * each)
        tail = region(form, 3 * form.range // 4, "greater")
        predicted += [cost for cost in costs(form, tail, 20_000) if cost.method == method]
    for smaller, larger in itertools.pairwise(predicted):
        assert smaller.operations <= larger.operations
        assert smaller.bytes <= larger.bytes
    assert 2 * predicted[0].operations < predicted[-1].operations


@pytest.mark.parametrize("method", ["fft", "dp", "rational"])
def test_larger_weights_are_never_predicted_to_cost_less(method: str) -> None:
    predicted = [by_method(random_stay(50, 10**k))[method] for k in (1, 2, 4, 6, 9)]
    for smaller, larger in itertools.pairwise(predicted):
        assert smaller.operations < larger.operations
        assert smaller.bytes < larger.bytes


@pytest.mark.parametrize(
    ("method", "lengths"), [("enumeration", (16, 20, 24, 28)), ("meet_in_the_middle", (28, 36, 44, 52))]
)
def test_enumerating_is_predicted_to_grow_exponentially(method: str, lengths: tuple[int, ...]) -> None:
    predicted = [by_method(random_stay(n, 9))[method] for n in lengths]
    for smaller, larger in itertools.pairwise(predicted):
        assert larger.operations >= 15 * smaller.operations
        assert larger.bytes == 16 * smaller.bytes


@pytest.mark.parametrize("weights", [[10**9 - k for k in range(40)], [10**9] * 10_000, list(range(1, 2001))])
def test_a_prediction_does_not_allocate_the_predicted_size(weights: list[int]) -> None:
    form, tail = posed(weights)
    plan(form, tail, PLENTY, method="auto", samples=10**7)
    tracemalloc.start()
    try:
        costs(form, tail, 10**7)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # The distinct weights themselves, a few times over.
    assert peak < 100_000 + 200 * len(form.weights)


@pytest.mark.parametrize("method", EXACT_METHODS)
def test_a_method_over_the_budget_is_refused_with_its_cost_and_what_would_fit(method: str) -> None:
    form, tail = posed(random_stay(24, 1000))
    cost = next(cost for cost in costs(form, tail, 0) if cost.method == method)
    for budget in (Budget(operations=cost.operations - 1), Budget(bytes=cost.bytes - 1)):
        with pytest.raises(OverBudget) as caught:
            plan(form, tail, budget, method=method, samples=100)
        assert (caught.value.cost, caught.value.budget) == (cost, budget)
        fitting = [other.method for other in costs(form, tail, 100) if other.fits(budget)]
        assert [name for name in caught.value.fitting if name != "bounds"] == fitting
    at_the_limit = Budget(cost.operations, cost.bytes)
    assert plan(form, tail, at_the_limit, method=method, samples=100).chosen.method == method


@pytest.mark.parametrize("method", ["enumeration", "meet_in_the_middle"])
def test_enumerating_a_thousand_items_is_refused_before_two_to_the_n_is_written_out(method: str) -> None:
    with pytest.raises(TooManySteps, match="1000") as caught:
        plan(*posed([1] * 1000), PLENTY, method=method, samples=100)
    assert len(caught.value.reason) < 300


@pytest.mark.parametrize("method", ["grid", "magic", ""])
def test_a_method_that_does_not_apply_is_refused_by_name(method: str) -> None:
    with pytest.raises(MethodDoesNotApply) as caught:
        plan(*posed([1, 2, 3]), PLENTY, method=method, samples=100)
    assert caught.value.method == method
    assert set(caught.value.applicable) == set(METHODS)


@settings(max_examples=200)
@given(
    st.lists(st.integers(-(10**6), 10**6), min_size=0, max_size=60),
    st.integers(1, 10**11),
    st.integers(1, 2**32),
)
def test_auto_samples_only_where_nothing_exact_fits(stay: list[int], operations: int, bytes_: int) -> None:
    form, tail = posed(stay)
    budget = Budget(operations, bytes_)
    candidates = costs(form, tail, 1)
    exact = [cost for cost in candidates if cost.exact and cost.fits(budget)]
    if not exact and not candidates[-1].fits(budget):
        return  # see the next test
    chosen = plan(form, tail, budget, method="auto", samples=1)
    assert chosen.chosen.exact == bool(exact)
    assert chosen.chosen.fits(budget)
    if exact:
        assert chosen.chosen.seconds == min(cost.seconds for cost in exact)
    assert {cost.method for cost in (chosen.chosen, *chosen.others)} == {cost.method for cost in candidates}
    assert chosen.reason


def test_auto_does_not_run_what_does_not_fit_either() -> None:
    """A budget holds on every path: sampling that is planned over it is refused like anything else."""
    form, tail = posed(random_stay(1000, 10**9))
    budget = Budget(operations=10**6, bytes=10**6)
    assert not any(cost.fits(budget) for cost in costs(form, tail, 10**7))
    with pytest.raises(NothingFits):
        plan(form, tail, budget, method="auto", samples=10**7)


def made(method: str, operations: int, bytes_: int = 1) -> Cost:
    return Cost(method, operations, bytes_)


def test_a_plan_that_is_asked_for_says_of_every_other_method_whether_it_would_fit() -> None:
    candidates = (made("monte_carlo", 5), made("bounds", 4), made("fft", 3), made("dp", 20))
    sampled = choose(candidates, Budget(10, 10), method="monte_carlo")
    text = {cost.method: sampled.reason_against(cost) for cost in sampled.others}
    assert text == {
        "fft": "fits, but was not requested",
        "dp": "over the budget",
        "bounds": "a rigorous bracket: where no exact method fits, or the cheapest takes long",
    }
    exact = choose(candidates, Budget(100, 10), method="auto")
    assert exact.chosen.method == "fft"
    assert {cost.method: exact.reason_against(cost) for cost in exact.others}[
        "dp"
    ] == "about 6.67 times the cost"


@pytest.mark.parametrize(
    ("allowed", "method"), [(100, "fft"), (29, "dp"), (19, "bounds"), (9, "monte_carlo"), (4, None)]
)
def test_an_exact_method_comes_before_a_bracket_and_a_bracket_before_sampling(
    allowed: int, method: str | None
) -> None:
    """Sorted by kind and then by time, in any input order and with any cost of the inexact ones."""
    candidates = (made("monte_carlo", 5), made("bounds", 10), Cost("dp", 20, 1, 2.0), Cost("fft", 30, 1, 0.5))
    budget = Budget(allowed, 1)
    if method is None:
        with pytest.raises(NothingFits) as caught:
            choose(candidates, budget, method="auto")
        assert caught.value.cost.method == "monte_carlo"
    else:
        assert choose(candidates, budget, method="auto").chosen.method == method


SECOND = 10**9


@pytest.mark.parametrize(
    ("exact", "bracket", "decisive", "preferred"),
    [
        (12 * SECOND, SECOND // 25, True, True),
        (12 * SECOND, SECOND // 25, False, False),
        (SECOND // 2, SECOND // 1000, True, False),
        (12 * SECOND, SECOND, True, False),
    ],
)
def test_a_bracket_that_decides_at_once_comes_before_an_exact_answer_that_takes_long(
    exact: int, bracket: int, decisive: bool, preferred: bool
) -> None:
    candidates = (made("dp", exact), made("bounds", bracket), made("monte_carlo", 5))
    chosen = choose(candidates, Budget(10**12, 1), method="auto", decisive=decisive)
    assert chosen.chosen.method == ("bounds" if preferred else "dp")
    if preferred:
        assert [cost.method for cost in chosen.attempts] == ["bounds", "dp", "monte_carlo"]
        assert "dp, the cheapest exact method, would take about 12.0 s, 300 times as long" in chosen.reason
    for wanted in candidates:
        plan_ = choose(candidates, Budget(10**12, 1), method=wanted.method, decisive=True)
        assert (plan_.chosen, plan_.attempts) == (wanted, (wanted,))


def test_a_refusal_lists_what_would_fit_or_says_that_nothing_would() -> None:
    candidates = (made("fft", 30), made("dp", 2, 50), made("monte_carlo", 5))
    endless = {"enumeration": "That is 2**n."}
    for budget, fitting in ((Budget(9, 9), ("monte_carlo",)), (Budget(3, 3), ())):
        with pytest.raises(OverBudget) as over:
            choose(candidates, budget, method="fft")
        assert over.value.fitting == fitting
        with pytest.raises(TooManySteps) as endless_:
            choose(candidates, budget, method="enumeration", endless=endless)
        assert (endless_.value.reason, endless_.value.fitting) == ("That is 2**n.", fitting)
    with pytest.raises(MethodDoesNotApply) as other:
        choose(candidates, Budget(9, 9), method="rational", endless=endless)
    assert other.value.applicable == ("dp", "fft", "monte_carlo", "enumeration")


def test_a_method_that_is_asked_for_runs_even_where_another_is_cheaper() -> None:
    form, tail = posed(random_stay(20, 50))
    for method in METHODS:
        assert plan(form, tail, PLENTY, method=method, samples=100).chosen.method == method


def test_an_exact_fraction_comes_from_the_cheapest_method_that_has_one() -> None:
    form, tail = posed(random_stay(20, 50))
    cost = cheapest_fraction(form, tail, PLENTY)
    able = [other for other in costs(form, tail, 0) if other.method in FRACTION_METHODS]
    assert cost.seconds == min(other.seconds for other in able)
    with pytest.raises(FractionOverBudget) as caught:
        cheapest_fraction(form, tail, Budget(operations=10))
    assert set(caught.value.costs) == set(able)


MEASURED: list[tuple[str, Callable[[CanonicalForm, Region], Probability], list[int]]] = [
    ("fft", fft.probability, random_stay(300, 50)),
    ("fft", fft.probability, random_stay(200, 20_000)),
    ("fft", fft.probability, random_stay(3000, 1000)),
    ("fft", fft.probability, [*random_stay(100, 9), 10**6]),
    ("dp", dp.probability, random_stay(100, 3000)),
    ("dp", dp.probability, [1] * 5000),
    ("enumeration", enumeration.probability, random_stay(18, 10**6)),
    ("meet_in_the_middle", enumeration.probability_by_halves, random_stay(34, 10**6)),
]


@pytest.mark.parametrize(("method", "run", "stay"), MEASURED, ids=[f"{m} {len(s)}" for m, _, s in MEASURED])
def test_a_run_stays_within_the_bytes_that_were_predicted(
    method: str, run: Callable[[CanonicalForm, Region], Probability], stay: list[int]
) -> None:
    form, tail = posed(stay)
    predicted = by_method(stay)[method].bytes
    tracemalloc.start()
    try:
        run(form, tail)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # A quarter of a megabyte of Python objects is no array.
    assert peak <= predicted + 250_000


ONE_LESS = [10**6 + k * k for k in range(19)]


def middle(weights: list[int], observed: int) -> tuple[CanonicalForm, Region]:
    form = canonical_form(np.array(weights, dtype=np.int64))
    return form, region(form, observed, "less", absolute=True)


@pytest.mark.parametrize("observed", [ONE_LESS[0], 10**6 * 12, sum(ONE_LESS) - 1])
def test_a_middle_is_predicted_with_the_cells_that_it_takes(observed: int) -> None:
    """An interval that touches neither end took the whole range, and was predicted to take none (numerics D1)."""
    form, tail = middle([*ONE_LESS, 1], observed)
    assert not any(low == 0 or high == form.range for low, high in tail.intervals)
    predicted = next(cost for cost in costs(form, tail, 0) if cost.method == "dp")
    tracemalloc.start()
    try:
        dp.probability(form, tail)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak <= predicted.bytes + 250_000
    assert predicted.bytes <= 3 * peak + 2_000_000
    additions = dp.additions(form, dp.cells_of(form, tail))
    assert predicted.operations >= additions


def test_a_middle_takes_at_most_half_the_range_in_cells_with_any_weights() -> None:
    form, tail = middle([10**9 + k for k in range(40)], 1)
    assert dp.cells_of(form, tail) <= form.range // 2 + 1
    (cost,) = (cost for cost in costs(form, tail, 0) if cost.method == "dp")
    assert not cost.fits(PLENTY)


def test_distinct_weights_are_predicted_to_cost_what_equal_ones_do() -> None:
    """They differ in the cells reached before the others come, and in nothing else (numerics D6)."""
    alike, distinct = ([98_765] * 30 + [98_764] * 30), list(range(98_735, 98_795))
    first, second = by_method(alike)["dp"].operations, by_method(distinct)["dp"].operations
    assert max(first, second) < 1.1 * min(first, second)


def test_sampling_needs_the_same_few_bytes_for_any_number_of_samples() -> None:
    form, tail = posed(random_stay(1000, 50))
    predicted = {cost.bytes for samples in (1, 10**4, 10**6) for cost in costs(form, tail, samples)[-1:]}
    assert len(predicted) == 1
    tracemalloc.start()
    try:
        methods.sampled_probability(form, tail, samples=30_000, seed=0)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak <= predicted.pop() + 250_000


@pytest.mark.parametrize("seed", range(60))
def test_a_choice_made_without_the_prices_of_others_is_the_cheapest_of_all(seed: int) -> None:
    generator = np.random.default_rng(seed)
    items, largest = int(generator.integers(2, 900)), int(generator.integers(1, 12))
    form = canonical_form(generator.integers(-largest, largest + 1, items))
    observed = form.offset + form.step * int(form.range // 2 + generator.normal() * math.sqrt(form.variance))
    chosen = plan(form, region(form, observed, "greater"), Budget(), method="auto", samples=1_000, alpha=0.05)
    assert chosen.chosen.exact
    assert chosen.chosen.method not in {other.method for other in chosen.others}
    exact = [other for other in chosen.others if other.exact]
    assert {"fft", "dp", "rational"} <= {chosen.chosen.method, *(other.method for other in exact)}
    assert all(chosen.chosen.seconds <= other.seconds for other in exact)


# The grid keeps to its price: in transforms, in states that are decided, in additions and in bytes; and stays right.


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

    monkeypatch.setattr(small, "run_sum", counted)
    return done


@pytest.mark.parametrize("items", [1_000, 2_000, 3_000])
@pytest.mark.parametrize("far", [0.2, 0.4, 0.8])
def test_a_ring_takes_no_more_transforms_than_some_times_the_plan(
    transformed: list[float], items: int, far: float
) -> None:
    """The grid failed to prove an answer after 1.2 to 1.8 s, with 0.2 s planned."""
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
def test_a_ring_proves_its_probability(items: int, far: float) -> None:
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


def test_lobes_that_are_not_mirror_images_are_both_solved() -> None:
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


def test_the_grid_adds_up_directly_only_as_planned(monkeypatch: pytest.MonkeyPatch) -> None:
    """900 items and one giant: 23 s of additions followed a transform of 0.3 s that proved nothing."""
    generator = np.random.default_rng(3)
    stay = generator.integers(0, 3, (900, 2))
    stay[0] = (10**6, 3)
    form = joint_form(stay, np.zeros_like(stay))
    assert grid_dp.operations(form) > 400_000_000

    def additions(form: JointForm, extreme: Extreme) -> None:
        raise AssertionError("added up directly")

    monkeypatch.setattr(grid_dp, "probability", additions)
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
        result = grid_dp.probability(form, every)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert result.log_p == pytest.approx(0.0, abs=1e-12)
    assert peak <= costs["dp"].bytes


def test_the_allowed_time_is_a_multiple_of_the_plan() -> None:
    form, _ = ring(3_000, 0.5)
    deep, allowed = deep_price(form), allowance_of(form)
    assert deep.transforms < allowed.nanoseconds <= 3.0 * max(deep.transforms, FLOOR_NS)
    assert deep.states < allowed.states


@pytest.mark.parametrize(
    ("items", "residue", "divisor", "spread", "share"),
    [(300, 10_007, 37, 50, 0.2), (1_000, 30_011, 333, 20, 0.3), (600, 200_003, 1_009, 100, 0.1)],
)
def test_frequencies_left_of_weights_on_two_lattices_are_predicted(
    items: int, residue: int, divisor: int, spread: int, share: float
) -> None:
    """Right and wrong with a covariate: most weights share a divisor, and the angles follow from two."""
    random = np.random.default_rng(0)
    along = divisor * random.integers(-spread, spread + 1, items)
    across = residue * random.choice([-1, 0, 1], items, p=[share / 2, 1 - share, share / 2])
    form = canonical_form(along + across)
    length = window_length(form)
    left = len(spectrum(form, tilt_at(form, 0.0), length).frequencies)
    assert left > 500
    assert left / 4 < frequencies(form, length)[2] < left * 2
