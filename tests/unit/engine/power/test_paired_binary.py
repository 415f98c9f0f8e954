"""Power of the paired test of right or wrong: published figures, and every outcome counted in fractions."""

from fractions import Fraction
from math import comb

import numpy as np
import pytest

from exactperm.engine.power.paired_binary import PairedBinary, critical_counts
from exactperm.engine.power.sample_size import OutOfReachError, detectable_difference, sample_size
from exactperm.engine.probability import Alternative


@pytest.mark.parametrize(
    ("items", "p10", "p01", "power"),
    [(200, 0.15, 0.10, 0.2497449), (1319, 0.08, 0.05, 0.8425310), (100, 0.5, 0.3, 0.5693193)],
)
def test_two_sided_power_is_that_of_gpower(items: int, p10: float, p01: float, power: float) -> None:
    assert PairedBinary(p10, p01).power(items) == pytest.approx(power, abs=5e-8)


def test_one_sided_power_and_its_level_are_those_of_gpower() -> None:
    design = PairedBinary(0.32, 0.08, 0.05, "greater")
    assert (design.power(50), design.level(50)) == pytest.approx((0.839357, 0.032579), abs=5e-7)


def _counted(items: int, p10: Fraction, p01: Fraction, alpha: Fraction, *, two_sided: bool) -> Fraction:
    """The chance of every table whose exact p-value is at most alpha."""
    power = Fraction(0)
    for wins in range(items + 1):
        for losses in range(items + 1 - wins):
            flips = wins + losses
            extreme = [
                b
                for b in range(flips + 1)
                if (abs(2 * b - flips) >= abs(wins - losses) if two_sided else b >= wins)
            ]
            if Fraction(sum(comb(flips, b) for b in extreme), 2**flips) <= alpha:
                ways = comb(items, wins) * comb(items - wins, losses)
                power += ways * p10**wins * p01**losses * (1 - p10 - p01) ** (items - flips)
    return power


@pytest.mark.parametrize("alternative", ["two-sided", "greater"])
@pytest.mark.parametrize("alpha", [Fraction(1, 16), Fraction(1, 8), Fraction(3, 64)])
def test_power_is_the_chance_of_all_tables_that_are_significant(
    alternative: Alternative, alpha: Fraction
) -> None:
    p10, p01 = Fraction(7, 16), Fraction(3, 16)
    design = PairedBinary(float(p10), float(p01), float(alpha), alternative)
    for items in (1, 4, 5, 8, 11):
        expected = _counted(items, p10, p01, alpha, two_sided=alternative == "two-sided")
        assert design.power(items) == pytest.approx(float(expected), abs=1e-12)
        half = (p10 + p01) / 2
        level = _counted(items, half, half, alpha, two_sided=alternative == "two-sided")
        assert design.level(items) == pytest.approx(float(level), abs=1e-12)


def test_levels_that_are_met_exactly_are_met() -> None:
    flips = np.arange(9)
    most = critical_counts(flips, 0.0625)
    for k, c in zip(flips.tolist(), most.tolist(), strict=True):
        tails = [Fraction(sum(comb(k, i) for i in range(j + 1)), 2**k) for j in range(k + 1)]
        assert c == sum(tail <= Fraction(1, 16) for tail in tails) - 1


@pytest.mark.parametrize(
    ("p10", "p01", "alpha", "alternative", "power"),
    [
        (0.7, 0.3, 0.05, "two-sided", 0.8),
        (0.9, 0.1, 0.01, "greater", 0.9),
        (0.62, 0.38, 0.0625, "two-sided", 0.7),
        (0.3, 0.1, 0.2, "greater", 0.5),
        (0.08, 0.02, 0.05, "two-sided", 0.9),
    ],
)
def test_first_and_lasting_sizes_are_those_of_a_search_through_all(
    p10: float, p01: float, alpha: float, alternative: Alternative, power: float
) -> None:
    design = PairedBinary(p10, p01, alpha, alternative)
    found = sample_size(design, power)
    powers = [design.power(items) for items in range(1, 4 * found.always)]
    assert found.smallest == next(n for n, value in enumerate(powers, 1) if value >= power)
    assert found.always == 1 + max(n for n, value in enumerate(powers, 1) if value < power)


def test_power_goes_up_and_down_where_every_item_is_discordant() -> None:
    found = sample_size(PairedBinary(0.65, 0.35), 0.8)
    assert found.smallest < found.always


def test_detectable_difference_has_the_power_and_nothing_smaller_has() -> None:
    found = detectable_difference(0.13, 1319, 0.8, alpha=0.05, alternative="two-sided")
    assert PairedBinary((0.13 + found) / 2, (0.13 - found) / 2).power(1319) == pytest.approx(0.8, abs=1e-9)
    less = found * (1 - 1e-6)
    assert PairedBinary((0.13 + less) / 2, (0.13 - less) / 2).power(1319) < 0.8


def test_what_no_number_of_items_shows_is_out_of_reach() -> None:
    with pytest.raises(OutOfReachError):
        sample_size(PairedBinary(0.1, 0.1), 0.8)
    with pytest.raises(OutOfReachError):
        detectable_difference(0.05, 20, 0.8, alpha=0.05, alternative="two-sided")
