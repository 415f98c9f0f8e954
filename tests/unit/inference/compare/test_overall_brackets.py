"""Macro averages over many unequal data sets: brackets that hold the exact p-value, known from two halves of the sets."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate

import numpy as np
import pytest

from exactperm.engine.plan import Budget
from exactperm.inference.compare.compare import prepare_compare
from exactperm.inference.compare.comparison import Comparison
from exactperm.inference.options import Options
from exactperm.statistics.paired import StatisticSpec
from exactperm.statistics.systems import Systems

# Primes: 1 / (8 n) of all of them have no common unit that 60 bits hold.
SIZES = [997, 991, 983, 977, 971, 967, 953, 947]


def comparison(discordant: Sequence[tuple[int, int]], scale: int = 1, **options: object) -> Comparison:
    """Two systems: in data set d, u alone is right on the first number of items, and v on the second."""
    sets: dict[str | None, Systems] = {}
    for at, (size, (up, down)) in enumerate(zip(SIZES, discordant, strict=True)):
        u, v = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)
        u[:up], v[up : up + down] = scale, scale
        sets[f"d{at}"] = Systems("scores", {"u": u, "v": v})
    given = Options(higher_is_better=True, **options)  # type: ignore[arg-type]
    return Comparison(sets, StatisticSpec("mean_difference"), given, design="pairs", pairs=(("u", "v"),))


def law(weights: Sequence[int], counts: Sequence[int]) -> list[tuple[int, int]]:
    """The values of sum w (2 B - c), B of Binomial(c, 1/2), ascending, with their numbers of exchanges."""
    values = {0: 1}
    for w, c in zip(weights, counts, strict=True):
        more: dict[int, int] = {}
        for value, ways in values.items():
            for heads in range(c + 1):
                at = value + w * (2 * heads - c)
                more[at] = more.get(at, 0) + ways * math.comb(c, heads)
        values = more
    return sorted(values.items())


def upper_tail(weights: Sequence[int], counts: Sequence[int], least: int) -> Fraction:
    """P(sum >= least), exactly: for each value of one half, how many of the other are large enough."""
    middle = len(weights) // 2
    one, other = law(weights[:middle], counts[:middle]), law(weights[middle:], counts[middle:])
    values = [value for value, _ in other]
    above = list(accumulate((ways for _, ways in reversed(other)), initial=0))[::-1]
    extreme = sum(ways * above[bisect_left(values, least - value)] for value, ways in one)
    return Fraction(extreme, 2 ** sum(counts))


CASES = [
    [(9, 6), (7, 4), (5, 8), (9, 3), (6, 5), (4, 5), (7, 2), (8, 3)],
    [(13, 1), (11, 0), (12, 1), (10, 2), (11, 1), (12, 0), (13, 0), (11, 2)],
    [(5, 6), (6, 5), (7, 7), (4, 5), (6, 6), (5, 5), (6, 5), (5, 6)],
]


@pytest.mark.parametrize("scale", [1, 3])
@pytest.mark.parametrize("discordant", CASES, ids=["plain", "deep", "near one"])
def test_brackets_hold_the_exact_p_value(discordant: list[tuple[int, int]], scale: int) -> None:
    common = math.lcm(*SIZES)
    weights, counts = [common // size for size in SIZES], [up + down for up, down in discordant]
    observed = sum(w * (up - down) for w, (up, down) in zip(weights, discordant, strict=True))
    known = min(2 * upper_tail(weights, counts, abs(observed)), Fraction(1))
    for alternative, truth in (
        ("two-sided", known),
        ("greater", upper_tail(weights, counts, observed)),
        ("less", upper_tail(weights, counts, -observed)),
    ):
        asked = comparison(discordant, scale, precision=5e-4, alternative=alternative)
        board = prepare_compare(asked, Budget()).boards[-1]
        assert board.planned.methods == ("bounds",)
        tests = board.solve()
        assert not tests.exact[0]
        assert tests.fraction(0) is None
        assert Fraction(float(tests.p_low[0])) <= truth <= Fraction(float(tests.p_high[0]))
        assert tests.p_high[0] <= tests.p_low[0] * (1 + 5e-4)
        assert tests.log10_low[0] <= math.log10(truth) <= tests.log10_high[0]
        assert tests.difference[0] == float(Fraction(scale * observed, len(SIZES) * common))
        assert (tests.wins[0], tests.losses[0]) == tuple(map(sum, zip(*discordant, strict=True)))
        assert tests.n[0] == sum(SIZES)
        assert tests.ties[0] == sum(SIZES) - sum(counts)
        assert tests.attainable[0] == pytest.approx(
            ((alternative == "two-sided") - sum(counts)) * math.log10(2.0)
        )


def test_lower_is_better_turns_sides_and_not_p_values() -> None:
    plain = prepare_compare(comparison(CASES[0]), Budget()).boards[-1].solve()
    asked = comparison(CASES[0])
    turned = Comparison(
        asked.datasets, asked.spec, Options(higher_is_better=False), design="pairs", pairs=asked.pairs
    )
    tests = prepare_compare(turned, Budget()).boards[-1].solve()
    assert (tests.wins[0], tests.losses[0]) == (plain.losses[0], plain.wins[0])
    assert (tests.sign[0], tests.difference[0], tests.p[0]) == (
        -plain.sign[0],
        plain.difference[0],
        plain.p[0],
    )


def test_equal_sizes_stay_exact() -> None:
    """The weights of data sets of one size are equal: macro and micro are one test, without a bracket."""
    rng = np.random.default_rng(8)
    sets: dict[str | None, Systems] = {
        f"d{at}": Systems("scores", {name: rng.integers(0, 2, 400) for name in "uv"}) for at in range(14)
    }
    found = []
    for aggregate in ("macro", "micro"):
        asked = Comparison(
            sets,
            StatisticSpec("mean_difference"),
            Options(higher_is_better=True),
            aggregate=aggregate,
        )
        found.append(prepare_compare(asked, Budget()).boards[-1].solve())
    macro, micro = found
    assert macro.exact[0]
    assert micro.exact[0]
    assert macro.p[0] == pytest.approx(micro.p[0], rel=1e-11)
    assert macro.difference[0] == pytest.approx(micro.difference[0], rel=1e-14)


def test_grouped_effects_are_the_single_tests() -> None:
    """What pairs on lattices do in groups is what a single test does item by item."""
    rng = np.random.default_rng(11)
    sets: dict[str | None, Systems] = {
        f"d{at}": Systems("scores", {name: rng.integers(0, 6, size) for name in "uv"})
        for at, size in enumerate(SIZES)
    }
    asked = Comparison(sets, StatisticSpec("mean_difference"), Options(higher_is_better=True))
    grouped = prepare_compare(asked, Budget()).boards[-1].solve()
    by_name = Options(higher_is_better=True, method="bounds")
    asked = Comparison(sets, StatisticSpec("mean_difference"), by_name)
    single = prepare_compare(asked, Budget()).boards[-1].solve()
    assert grouped.method == single.method == ("bounds",)
    for name in ("n", "wins", "ties", "losses", "sign", "difference", "attainable"):
        assert getattr(grouped, name)[0] == pytest.approx(getattr(single, name)[0]), name
    assert grouped.p_low[0] <= single.p_high[0]
    assert single.p_low[0] <= grouped.p_high[0]
    assert (
        [code for _, code, _ in grouped.notes]
        == [code for _, code, _ in single.notes]
        == ["weights_too_fine"]
    )
