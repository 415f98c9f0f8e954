"""Sums beyond 64 bits: both ways of counting them against brute force in Python integers, and the brackets."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from exactperm.engine.decimals import (
    digits_and_places,
    printed,
    shortest_decimals,
    takes_more_digits,
    wide_binaries,
)
from exactperm.engine.one_sum import wide_sums
from exactperm.engine.one_sum.wide_sums import WideForm, wide_form
from exactperm.engine.real import bounds
from exactperm.engine.real.rounded_form import real_problem

ALTERNATIVES = ("two-sided", "greater", "less")
Case = tuple[list[int], list[int] | None]


def drawn(seed: int) -> Case:
    rng = random.Random(seed)
    size = 2 ** rng.choice([3, 20, 56, 57, 58, 60, 100, 104, 300])
    stay = [rng.randint(-size, size) for _ in range(rng.randint(1, 8))]
    if rng.random() < 0.6:  # ties
        stay += [rng.choice(stay) * rng.choice([1, -1]) for _ in range(3)]
    if rng.random() < 0.5:
        return stay, None
    return stay, [rng.choice([x, -x, rng.randint(-size, size), 0]) for x in stay]


def exact_p(case: Case, alternative: str, *, absolute: bool) -> Fraction:
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
        pytest.skip("two arrays hold 114 bits")
    other = {"_listed": "_grouped", "_grouped": "_listed"}[way]
    monkeypatch.setattr(WideForm, other, lambda self: (1 << 200, 1))
    for alternative in ALTERNATIVES:
        for absolute in (False, True):
            truth = exact_p(case, alternative, absolute=absolute)
            for all_sums in (False, True)[: 1 + (way == "_listed")]:
                result = wide_sums.probability(
                    form,
                    alternative,  # type: ignore[arg-type]
                    absolute=absolute,
                    all_sums=all_sums,
                )
                assert result.fraction is not None
                assert Fraction(result.fraction[0], 1 << result.fraction[1]) == truth


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("off", [0, 3])
def test_brackets_hold_for_all_effects_so_near(seed: int, off: int) -> None:
    """`off`: what each effect was moved by before it came to the engine."""
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
                alternative,  # type: ignore[arg-type]
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
    parts = digits_and_places(np.array(numbers))
    assert parts is not None
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


def test_long_numbers_are_told_from_short_ones() -> None:
    rng = random.Random(8)
    numbers = [rng.gauss(0, 1) * 10.0 ** rng.randint(-30, 30) for _ in range(2000)]
    numbers += (
        [float(f"{x:.15g}") for x in numbers] + [float(f"{x:.16g}") for x in numbers] + [0.0, 5e-324, 1e300]
    )
    result = takes_more_digits(np.array(numbers))
    wanted = [abs(printed(x)[0]) >= 10**15 and not (x.is_integer() and abs(x) < 2**53) for x in numbers]
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
