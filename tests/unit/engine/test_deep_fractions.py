"""Logarithms of fractions far below the least double, against ball arithmetic."""

import random
from fractions import Fraction

import flint

from exactperm.engine.probability import Probability, from_fraction, from_ratio


def error_of(found: Probability, value: flint.arb) -> float:
    """The relative error of exp(log_p)."""
    return abs(float((flint.arb(found.log_p) - value).exp() - 1))


def test_the_error_of_a_deep_fraction_is_within_its_bound() -> None:
    chance = random.Random(2)
    with flint.ctx.workprec(300):
        for _ in range(500):
            below = chance.choice([3, 6, 7, 10]) ** chance.randint(2_000, 60_000)
            top = chance.randint(1, 10 ** chance.randint(1, 30))
            ratio = from_ratio(Fraction(top, below))
            assert error_of(ratio, (flint.arb(top) / below).log()) <= ratio.relative_error_bound
            power = chance.randint(1_100, 200_000)
            binary = from_fraction(2 * top + 1, power)
            exact = flint.arb(2 * top + 1).log() - power * flint.arb(2).log()
            assert error_of(binary, exact) <= binary.relative_error_bound
