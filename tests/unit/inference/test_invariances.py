"""What must not matter does not, bit for bit: which system is called U, constants, scales, the order."""

from __future__ import annotations

import random
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from exactperm.answers.test import TestRecord
from tests.unit.engine.cases import ALTERNATIVES
from tests.unit.inference.run_shorthands import effects, same_answer, score

MIRRORED = {"two-sided": "two-sided", "greater": "less", "less": "greater"}
METHODS = ("auto", "fft", "dp", "rational")
STATISTICS = ("mean_difference", "sum_difference", "sign", "signed_rank")

# From close to a half to far in the tail, and long enough that windows are windows.
rows = st.one_of(
    st.lists(st.tuples(st.integers(0, 100), st.integers(0, 100)), min_size=1, max_size=40),
    st.lists(st.tuples(st.integers(0, 5), st.integers(3, 9)), min_size=1, max_size=80),
    st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=60).map(
        lambda pairs: [(int(a), int(b)) for a, b in pairs]
    ),
)
Rows = list[tuple[int, int]]
asked = st.sampled_from(ALTERNATIVES)


def columns(pairs: Rows) -> tuple[list[int], list[int]]:
    return [pair[0] for pair in pairs], [pair[1] for pair in pairs]


@pytest.mark.slow
@pytest.mark.parametrize("statistic", STATISTICS)
@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=25)
@given(pairs=rows)
def test_exchanging_u_and_v_keeps_the_two_sided_p_and_mirrors_the_one_sided(
    statistic: str, method: str, pairs: Rows
) -> None:
    u, v = columns(pairs)
    for alternative, mirrored in MIRRORED.items():
        one = score(u, v, statistic, alternative=alternative, method=method)
        other = score(v, u, statistic, alternative=mirrored, method=method)
        assert same_answer(one, other)
        assert one.statistic.observed == -other.statistic.observed
        assert (one.items.wins, one.items.losses) == (other.items.losses, other.items.wins)


@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=50)
@given(pairs=rows, alternative=asked)
def test_effects_with_stay_and_swap_exchanged_are_mirrored_too(
    method: str, pairs: Rows, alternative: str
) -> None:
    """-S under exchanged systems: stay becomes -stay and swap -swap."""
    stay, swap = columns(pairs)
    one = effects(stay, swap, alternative=alternative, method=method)
    other = effects([-x for x in stay], [-x for x in swap], alternative=MIRRORED[alternative], method=method)
    assert same_answer(one, other)


@pytest.mark.parametrize("statistic", STATISTICS)
@settings(max_examples=40)
@given(pairs=rows, constant=st.integers(-(10**6), 10**6), alternative=asked)
def test_a_constant_added_to_both_changes_nothing(
    statistic: str, pairs: Rows, constant: int, alternative: str
) -> None:
    u, v = columns(pairs)
    moved_u, moved_v = [x + constant for x in u], [x + constant for x in v]
    plain = score(u, v, statistic, alternative=alternative)
    assert same_answer(plain, score(moved_u, moved_v, statistic, alternative=alternative))


@settings(max_examples=80)
@given(pairs=rows, constant=st.integers(-(10**6), 10**6), places=st.integers(1, 4), alternative=asked)
def test_a_decimal_constant_added_to_decimals_changes_nothing(
    pairs: Rows, constant: int, places: int, alternative: str
) -> None:
    """The constant has more decimals than the scores: the lattice is finer, the test the same."""
    plain = score(*decimals(pairs, 2), alternative=alternative)
    shift = Decimal(constant).scaleb(-places)
    u, v = ([float(Decimal(x).scaleb(-2) + shift) for x in side] for side in columns(pairs))
    assert same_answer(plain, score(u, v, alternative=alternative))


def decimals(pairs: Rows, places: int) -> tuple[list[float], list[float]]:
    u, v = columns(pairs)
    return [float(f"{x}e{-places}") for x in u], [float(f"{x}e{-places}") for x in v]


@pytest.mark.parametrize("statistic", STATISTICS)
@settings(max_examples=40)
@given(pairs=rows, places=st.integers(-6, 12), alternative=asked)
def test_powers_of_ten_change_nothing(statistic: str, pairs: Rows, places: int, alternative: str) -> None:
    plain = score(*columns(pairs), statistic, alternative=alternative)
    assert same_answer(plain, score(*decimals(pairs, places), statistic, alternative=alternative))


@pytest.mark.parametrize("statistic", STATISTICS)
@settings(max_examples=40)
@given(pairs=rows, power=st.integers(-40, 40), alternative=asked)
def test_powers_of_two_change_nothing(statistic: str, pairs: Rows, power: int, alternative: str) -> None:
    u, v = columns(pairs)
    scaled_u, scaled_v = [x * 2.0**power for x in u], [x * 2.0**power for x in v]
    plain = score(u, v, statistic, alternative=alternative)
    assert same_answer(plain, score(scaled_u, scaled_v, statistic, alternative=alternative))


@settings(max_examples=60)
@given(pairs=rows, factor=st.integers(2, 10**6), alternative=asked)
def test_any_whole_factor_changes_nothing(pairs: Rows, factor: int, alternative: str) -> None:
    u, v = columns(pairs)
    plain = score(u, v, alternative=alternative)
    assert same_answer(
        plain, score([x * factor for x in u], [x * factor for x in v], alternative=alternative)
    )


@pytest.mark.parametrize("method", [*METHODS, "monte_carlo"])
@pytest.mark.parametrize("statistic", STATISTICS)
@settings(max_examples=20)
@given(pairs=rows, seed=st.integers(0, 10**6), alternative=asked)
def test_the_order_of_the_items_changes_nothing(
    method: str, statistic: str, pairs: Rows, seed: int, alternative: str
) -> None:
    shuffled = list(pairs)
    random.Random(seed).shuffle(shuffled)
    options: dict[str, Any] = {"alternative": alternative, "method": method, "samples": 500}
    one = score(*columns(pairs), statistic, **options)
    other = score(*columns(shuffled), statistic, **options)
    assert same_answer(one, other)
    assert one.statistic == other.statistic


@settings(max_examples=60)
@given(pairs=rows, extra=st.integers(1, 30), alternative=asked)
def test_items_on_which_the_systems_agree_change_nothing_of_a_sum(
    pairs: Rows, extra: int, alternative: str
) -> None:
    u, v = columns(pairs)
    for statistic in ("sum_difference", "sign", "signed_rank"):
        plain = score(u, v, statistic, alternative=alternative)
        assert same_answer(plain, score(u + [7] * extra, v + [7] * extra, statistic, alternative=alternative))


@settings(max_examples=60)
@given(pairs=rows, alternative=asked)
def test_the_mean_and_the_sum_are_one_test(pairs: Rows, alternative: str) -> None:
    u, v = columns(pairs)
    mean, total = (score(u, v, name, alternative=alternative) for name in STATISTICS[:2])
    assert same_answer(mean, total)


@settings(max_examples=60)
@given(pairs=rows, alternative=asked)
def test_integers_and_equal_floats_are_one_request(pairs: Rows, alternative: str) -> None:
    u, v = columns(pairs)

    def ask(a: list[int] | list[float], b: list[int] | list[float]) -> TestRecord:
        return score(a, b, alternative=alternative, pmf="summary")

    assert ask(u, v) == ask([float(x) for x in u], [float(x) for x in v])
