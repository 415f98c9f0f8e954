"""Effects as integers: lattices of one and several sums, wide sums, corners of grids."""

import math
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.typing import NDArray

from exactperm.engine.joint import enumeration, law as joint_law
from exactperm.engine.joint.form import JointForm, columns_of, joint_form, lattice_of
from exactperm.engine.joint.grid import dp, grid, small, spectrum
from exactperm.engine.joint.grid.box import Extreme, bounding_box
from exactperm.engine.joint.grid.price import box_of, grid_cost
from exactperm.engine.joint.grid.screening import log_below, retained
from exactperm.engine.joint.grid.spectrum import products
from exactperm.engine.joint.tilt import tilted, untilted
from exactperm.engine.lattice import (
    EXACT_DOUBLE,
    MAX_TOTAL,
    Integers,
    LatticeOverflowError,
    canonical_form,
    decimal_lattice,
    digits_and_places,
    exact_total,
    needs_more_digits,
    shortest_decimal,
    shortest_decimals,
    sum_by_cluster,
    wide_binaries,
)
from exactperm.engine.one_sum import wide_sums
from exactperm.engine.one_sum.enumeration import subset_sums
from exactperm.engine.one_sum.wide_sums import WideForm, wide_form
from exactperm.engine.probability import Alternative
from exactperm.engine.real import bounds
from exactperm.engine.real.form import real_problem
from exactperm.statistics.expression import parse
from exactperm.statistics.quantity import Formula
from exactperm.statistics.sum_function import FunctionOf

from .cases import cases, posed
from .exact_null import Case

# Numbers become integers without a change of meaning, and the canonical form keeps the null as it was.


def integers(*values: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array(values, dtype=np.int64)


def reals(*values: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.array(values, dtype=np.float64)


@given(cases(max_items=10))
def test_the_canonical_form_has_the_very_law_of_the_sum(case: Case) -> None:
    form, _ = posed(case)
    listed = Counter([0])
    for stay, swap in case.pairs:
        listed = _spread(listed, stay, swap)
    sums = subset_sums(np.repeat(form.weights, form.counts))
    zeros = len(case.stay) - form.nonzero
    ours = Counter({form.offset + form.step * t: n << zeros for t, n in Counter(sums.tolist()).items()})
    assert ours == listed


def _spread(law: Counter[int], stay: int, swap: int) -> Counter[int]:
    after: Counter[int] = Counter()
    for total, ways in law.items():
        after[total + stay] += ways
        after[total + swap] += ways
    return after


@given(cases(max_items=30))
def test_weights_are_distinct_ascending_positive_and_without_a_common_factor(case: Case) -> None:
    form, _ = posed(case)
    weights = form.weights.tolist()
    assert weights == sorted(set(weights))
    assert form.items == len(case.stay)
    if weights:
        assert weights[0] > 0
        assert math.gcd(*weights) == 1
        assert form.counts.min() > 0
        assert form.range == sum(w * c for w, c in zip(weights, form.counts.tolist(), strict=True))


@pytest.mark.parametrize(
    ("stay", "swap"),
    [
        ([2**61], None),
        ([-(2**61)], None),
        ([2**60, 2**60], None),
        ([-(2**63)], None),
        ([2**60], [-(2**60)]),
        ([2**59] * 4, [2**59 - 1] * 4),
        ([-(2**63)], [2**63 - 1]),
    ],
)
def test_effects_that_do_not_fit_are_refused_and_never_wrapped(
    stay: list[int], swap: list[int] | None
) -> None:
    with pytest.raises(LatticeOverflowError):
        canonical_form(integers(*stay), None if swap is None else integers(*swap))


def test_the_largest_effects_that_fit_are_exact() -> None:
    half = MAX_TOTAL // 2
    form = canonical_form(integers(half - 2, -1))
    assert (form.offset, form.offset + form.step * form.range) == (1 - half, half - 1)


@given(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=20))
def test_totals_of_64_bit_integers_never_overflow(values: list[int]) -> None:
    assert exact_total(integers(*values)) == sum(values)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(-1000, 1000)), max_size=30))
def test_cluster_sums_are_those_of_a_dictionary(rows: list[tuple[int, int]]) -> None:
    codes, values = integers(*(row[0] for row in rows)), integers(*(row[1] for row in rows))
    expected = [sum(value for code, value in rows if code == wanted) for wanted in range(5)]
    assert sum_by_cluster(values, codes, 5).tolist() == expected


decimals = st.integers(0, 6).flatmap(
    lambda places: st.lists(st.integers(-(10**6), 10**6), min_size=1, max_size=20).map(
        lambda tops: (places, tops)
    )
)


@given(decimals)
def test_decimals_come_back_as_the_integers_they_were_written_as(written: tuple[int, list[int]]) -> None:
    places, tops = written
    result: Any = decimal_lattice(reals(*(float(f"{top}e-{places}") for top in tops)))
    unit, (column,) = result
    assert [unit * int(x) for x in column.tolist()] == [Fraction(top, 10**places) for top in tops]
    # The coarsest such lattice: one place fewer would lose something.
    assert unit == 1 or any(top * int(1 / unit) // 10**places % 10 for top in tops)


@pytest.mark.parametrize(
    ("values", "places"),
    [
        ((0.1, 0.2, 0.3), 1),
        ((0.85, 0.9, 1.0), 2),
        ((1e-15,), 15),
        ((0.0, -0.0), 0),
        ((123456789.125,), 3),
        ((1e22 / 1e22, 5e15), 0),
    ],
)
def test_the_number_of_decimals_is_that_of_the_shortest_print(values: tuple[float, ...], places: int) -> None:
    result: Any = decimal_lattice(reals(*values))
    assert result[0] == Fraction(1, 10**places)


@pytest.mark.parametrize(
    "values",
    [(1 / 3,), (math.pi / 10,), (1e-16,), (0.1 + 0.2,), (float(EXACT_DOUBLE), 0.5), (1e300, 0.1), (5e-324,)],
)
def test_numbers_with_no_short_decimal_are_real_valued(values: tuple[float, ...]) -> None:
    assert decimal_lattice(reals(*values)) is None


@given(st.floats(allow_nan=False, allow_infinity=False), st.floats(-1e6, 1e6))
def test_a_lattice_never_moves_a_number(x: float, y: float) -> None:
    result = decimal_lattice(reals(x), reals(y))
    if result is not None:
        unit, (first, second) = result
        assert (float(int(first[0]) * unit), float(int(second[0]) * unit)) == (x, y)


# Bases of difference lattices in exact integers, the integers of `dp`, and which frequencies of a grid matter.


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
    result: Any = lattice_of(table, np.array([1, 4]))
    assert result.vectors.tolist() == [[1, 0], [0, 1]]


def test_the_reduced_box_of_correlated_sums_is_far_smaller_than_that_of_the_sums() -> None:
    draw = np.random.default_rng(2)
    one = draw.integers(-40, 41, 300)
    table = np.stack([one, 50 * one + draw.integers(-3, 4, 300)], axis=1)
    form = joint_form(table, np.zeros_like(table))
    plain = math.prod(int(np.abs(column).sum()) for column in table.T)
    assert math.prod((form.high - form.low + 1).tolist()) < plain / 20


def test_columns_are_distinguished_by_more_than_their_sign() -> None:
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
    result: Any = dp.fraction(form, product_of(stay.sum(axis=0).tolist()))
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
            apart, relative = spectrum._evaluate_retained(form, law, box.shape, half, flat)
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
        flat: Any = retained(form, law, box.shape, half, math.prod(half))
        assert len(flat) < math.prod(half)
        left_out = np.setdiff1d(np.arange(math.prod(half)), flat)
        some = np.sort(draw.choice(left_out, min(len(left_out), 20_000), replace=False))
        values, _ = spectrum._evaluate_retained(form, law, box.shape, half, some)
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

    def count(*wanted: Any) -> spectrum.Frequencies:
        computed.append(wanted)
        return once(*wanted)

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


# A region that is a corner of the support: the tilt towards it has no end, and nothing is proven by it.


def test_a_diverging_tilt_gives_no_answer() -> None:
    groups = {(-2, -3): 5, (-1, -2): 1, (3, -1): 7, (-2, -4): 3, (1, -3): 2, (2, 0): 2}
    stay = np.array([step for step, count in groups.items() for _ in range(count)])
    form = joint_form(stay, -stay)
    function = FunctionOf(Formula(parse("(x1-x2)*(x1-x2)", ["x1", "x2"])))
    extreme = function.deciding(stay, -stay, "two-sided", 1e12)
    right = dp.probability(form, extreme)
    result = small.small_probability(form, extreme, right.log_p)
    assert math.isinf(result.relative_error_bound) or math.isclose(result.log_p, right.log_p, rel_tol=1e-9)


# Sums beyond 64 bits: both ways of counting them against brute force in Python integers, and the brackets.


ALTERNATIVES: tuple[Alternative, ...] = ("two-sided", "greater", "less")
Case_of_wide_sums = tuple[list[int], list[int] | None]


def drawn(seed: int) -> Case_of_wide_sums:
    rng = random.Random(seed)
    size = 2 ** rng.choice([3, 20, 56, 57, 58, 60, 100, 104, 300])
    stay = [rng.randint(-size, size) for _ in range(rng.randint(1, 8))]
    if rng.random() < 0.6:  # ties
        stay += [rng.choice(stay) * rng.choice([1, -1]) for _ in range(3)]
    if rng.random() < 0.5:
        return stay, None
    return stay, [rng.choice([x, -x, rng.randint(-size, size), 0]) for x in stay]


def exact_p(case: Case_of_wide_sums, alternative: str, *, absolute: bool) -> Fraction:
    stay, swap = case
    sums = [0]
    for effect, other in zip(stay, swap or [-x for x in stay], strict=True):
        sums = [s + x for s in sums for x in (effect, other)]
    seen, size = sum(stay), abs if absolute else int
    inside = {
        "greater": [size(s) >= size(seen) for s in sums],
        "less": [size(s) <= size(seen) for s in sums],
        "two-sided": [abs(s) >= abs(seen) for s in sums],
    }[alternative]
    return Fraction(sum(inside), len(sums))


@pytest.mark.parametrize("way", ["_listed", "_grouped"])
@pytest.mark.parametrize("seed", range(60))
def test_both_ways_of_counting_are_exact(monkeypatch: pytest.MonkeyPatch, way: str, seed: int) -> None:
    case = drawn(seed)
    form = wide_form(*case)
    if way == "_listed" and form.reach.bit_length() > 114:
        return  # two arrays hold 114 bits
    other = {"_listed": "_grouped", "_grouped": "_listed"}[way]
    monkeypatch.setattr(WideForm, other, lambda self: (1 << 200, 1))
    for alternative in ALTERNATIVES:
        for absolute in (False, True):
            truth = exact_p(case, alternative, absolute=absolute)
            for all_sums in (False, True)[: 1 + (way == "_listed")]:
                result: Any = wide_sums.probability(
                    form,
                    alternative,
                    absolute=absolute,
                    all_sums=all_sums,
                )
                assert Fraction(result.fraction[0], 1 << result.fraction[1]) == truth


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("off", [0, 3])
def test_brackets_hold_for_all_effects_so_near(seed: int, off: int) -> None:
    """`off`: the shift of each effect before it reached the engine."""
    case = drawn(seed)
    rng = random.Random(seed)
    stay, swap = (
        None if side is None else np.array([x + rng.randint(-off, off) for x in side], dtype=object)
        for side in case
    )
    assert stay is not None
    for alternative in ALTERNATIVES:
        for absolute in (False, True):
            problem = real_problem(
                stay,
                swap,
                alternative,
                absolute=absolute,
                error=2 * off * len(stay),
            )
            result = bounds.bracket(*problem, precision=1e-3)
            truth = exact_p(case, alternative, absolute=absolute)
            assert Fraction(result.low) <= truth <= Fraction(result.high)


def test_decimals_are_those_that_python_prints() -> None:
    rng = random.Random(7)
    numbers = [float(f"{rng.randint(-999, 999)}e{rng.randint(-330, 300)}") for _ in range(500)]
    numbers += [float(f"{rng.randint(1, 10**15 - 1)}e{rng.randint(-25, 5)}") for _ in range(500)]
    parts: Any = digits_and_places(np.array(numbers))
    for number, digits, places in zip(numbers, *(part.tolist() for part in parts), strict=True):
        assert Fraction(digits) / Fraction(10) ** places == Fraction(repr(number))


def test_pricing_hundreds_of_thousands_of_weights_multiplies_no_counts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Their product has as many bits, and was made factor by factor: 56 s for 1.7 million decimals."""
    largest = [0]

    def product(counts: Iterator[int]) -> int:
        listed = list(counts)
        largest[0] = max(largest[0], len(listed))
        return math.prod(listed)

    monkeypatch.setattr(wide_sums, "math", SimpleNamespace(prod=product))
    few = wide_form([3**90 + k * 7 for k in range(200)], None)
    assert few.price()[0] > 2**100
    assert largest[0] == 100
    many = wide_form([3**90 + k * 7 for k in range(300_000)], None)
    assert many.price()[0] >= 2**200
    assert largest[0] == 100


def test_long_numbers_are_distinguished_from_short_ones() -> None:
    rng = random.Random(8)
    numbers = [rng.gauss(0, 1) * 10.0 ** rng.randint(-30, 30) for _ in range(2000)]
    numbers += (
        [float(f"{x:.15g}") for x in numbers] + [float(f"{x:.16g}") for x in numbers] + [0.0, 5e-324, 1e300]
    )
    result = needs_more_digits(np.array(numbers))
    wanted = [
        abs(shortest_decimal(x)[0]) >= 10**15 and not (x.is_integer() and abs(x) < 2**53) for x in numbers
    ]
    assert result.tolist() == wanted


def test_any_doubles_are_integers_over_a_power_of_two() -> None:
    column = np.array([0.1, 5e-324, -1e300, 0.0, 3.0])
    unit, (whole,) = wide_binaries(column)
    assert [unit * x for x in whole.tolist()] == [Fraction(x) for x in column.tolist()]


@pytest.mark.parametrize("narrow", ["<f4", "<f2", ">f4"])
def test_narrow_numbers_are_read_as_they_print(narrow: str) -> None:
    rng = np.random.default_rng(9)
    numbers = np.concatenate(
        [rng.normal(size=3000), 10.0 ** rng.uniform(-7, 3, 3000), np.arange(-50, 50) / 10]
    )
    numbers = numbers.astype(narrow)
    result = shortest_decimals(numbers.astype(np.float64), numbers.dtype)
    for number, read in zip(numbers, result.tolist(), strict=True):
        assert read == (float(number) if float(number).is_integer() else float(str(number)))
